"""What is an event and what is not, to the last field; the form that is signed is the same in every language."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.bus.canonical import canonical, read
from recollect.bus.errors import BadMessage
from recollect.bus.message import MAX_BYTES, TYPES, Message, parse
from recollect.bus.storing import memory_id
from recollect.capture.privacy import Privacy
from recollect.capture.redact import Redactor
from recollect.ids import is_uuid
from recollect.model import Scope
from tests.bus.conftest import AT, event

PRIVACY = Privacy(Redactor(b"k" * 32))


def parsed(payload: Any) -> Message:
    return parse(payload if isinstance(payload, bytes) else json.dumps(payload).encode(), arrived=AT)


def key(payload: Any) -> str:
    return parsed(payload).key(PRIVACY)


def without(name: str, **more: Any) -> dict[str, Any]:
    payload = event(**more)
    (payload if name in payload else payload["metadata"]).pop(name)
    return payload


@pytest.mark.parametrize("type_", TYPES)
def test_every_type_is_taken(type_: str) -> None:
    assert parsed(event("Something.", type_)).type == type_


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (b"", "has no field"),
        (b"{", "not JSON"),
        (json.dumps(event()).encode()[:-9], "not JSON"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b"[]", "not an object"),
        (b'"text"', "not an object"),
        (b"null", "not an object"),
        (b"[" * 100_000, "too many levels|not JSON"),
        (b'{"content": 1e999}', "too large"),
        (b'{"content": NaN}', "not a number"),
        (b'{"content": ' + b"9" * 5_000 + b"}", "not JSON"),
        (b'{"id": "a", "id": "b"}', "twice"),
        (b" " * (MAX_BYTES + 1), "larger than"),
        (event(event_type="conversation.other"), "event_type"),
        (event(event_type=["conversation.message"]), "event_type"),
        (without("event_type"), "event_type"),
        (without("content"), "content"),
        (event(""), "content"),
        (event(" \n"), "content"),
        (event(7), "content"),  # type: ignore[arg-type]
        (event("\ud800"), "half of a character"),
        (event("x" * 10_001, "memory.fact"), "10,001 characters"),
        (event("a\x00b", "memory.fact"), "cannot be stored"),
        (without("user_id"), "user_id"),
        (event(user_id=""), "user_id"),
        (event(user_id="a\nb"), "user_id"),
        (event(user_id="x" * 256), "user_id"),
        (event(user_id=1), "user_id"),
        (event(id=""), "id"),
        (event(id=5), "id"),
        ({**event(), "extra": 1}, "unknown field 'extra'"),
        ({**event(), "metadata": "x"}, "metadata"),
        ({**event(), "metadata": None}, "metadata"),
        (without("source"), "metadata.source"),
        (without("timestamp"), "metadata.timestamp"),
        (event(timestamp="yesterday"), "metadata.timestamp"),
        (event(timestamp="2026-11-15T12:00:00"), "metadata.timestamp"),
        (event(timestamp=1_763_208_000), "metadata.timestamp"),
        (event(timestamp=(AT + timedelta(days=2)).isoformat()), "in the future"),
        (event(session_id="x" * 256), "metadata.session_id"),
        (event(context_id=""), "metadata.context_id"),
        (event(role="root"), "metadata.role"),
        (event(role=["user"]), "metadata.role"),
        (event("Text.", "memory.note", tags="ops"), "tags"),
        (event("Text.", "memory.note", tags=["x" * 51]), "tag"),
        (event("Text.", "memory.note", importance=2), "importance"),
        (event("Text.", "memory.note", importance=True), "importance"),
        (event(deep=[[[[[1]]]]]), "more than 5 levels"),
        (event(big="x" * 60_000), "larger than 51,200"),
        ({**event(), "signature": "00"}, "needs tenant"),
        ({**event(), "tenant": "acme"}, "needs key"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_anything_else_is_refused_with_its_reason(payload: Any, words: str) -> None:
    with pytest.raises(BadMessage, match=words):
        parsed(payload)


def test_the_same_event_has_the_same_key_however_it_is_written() -> None:
    one = event("Ärger", extra={"b": 1.0, "a": 2})
    other = json.dumps(dict(reversed(one.items())), ensure_ascii=False, indent=2).encode()
    assert key(one) == key(other)
    assert key(one) != key(event("Ärger", extra={"b": 1.5, "a": 2}))


def test_an_id_is_the_key_whatever_else_changes() -> None:
    assert key(event("One.", id="7")) == key(event("Other.", id="7"))
    assert key(event("One.", id="7")) != key(event("One.", id="8"))


def test_a_message_is_as_long_as_a_conversation_has_them() -> None:
    assert len(parsed(event("x" * 500_000)).content) == 500_000


def test_the_id_of_a_memory_is_a_uuid_of_its_owner_and_event() -> None:
    message, scopes = parsed(event("Fact.", "memory.fact")), [Scope(*names) for names in ("ax", "ay", "bx", "ax")]
    ids = {memory_id(scope, message, message.key(PRIVACY)) for scope in scopes}
    assert len(ids) == 3
    assert all(is_uuid(one) and one[14] == "7" and one[19] in "89ab" for one in ids)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, "x"]}, '{"a":[true,null,"x"],"b":1}'),
        ({"\U0001f600": 1, "\ufb33": 2}, '{"\U0001f600":1,"\ufb33":2}'),  # the order of UTF-16, not of code points
        ({}, "{}"),
        ([], "[]"),
        (1.0, "1"),
        (-0.0, "0"),
        (0.000001, "0.000001"),
        (1e-7, "1e-7"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e21, "1e+21"),
        (10**21, "1e+21"),
        (5e-324, "5e-324"),
        ('"\\\b\f\n\r\t\x01\x7fé', '"\\"\\\\\\b\\f\\n\\r\\t\\u0001\x7fé"'),
    ],
)
def test_the_form_that_is_signed(value: Any, text: str) -> None:
    assert canonical(value) == text.encode()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(-(2.0**53), 2.0**53)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(JSON)
def test_the_form_means_the_same_and_is_its_own_form(value: Any) -> None:
    assert read(canonical(value)) == value
    assert canonical(read(canonical(value))) == canonical(value)


@given(st.binary(max_size=200))
def test_no_bytes_do_anything_but_be_refused(noise: bytes) -> None:
    with pytest.raises(BadMessage):
        parsed(noise)
