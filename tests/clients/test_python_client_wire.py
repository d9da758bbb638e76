"""Whatever a server answers, a client returns a value or raises one of our errors: in time, in little memory, and
without handing its key to anybody. Both clients, over real sockets.
"""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.client import AsyncClient, Client, reading, wire
from recollect.client.address import Address
from recollect.client.reading import read
from recollect.client.wire import Request, Trouble
from recollect.errors import (
    Conflict,
    InvalidInput,
    InvalidKey,
    NotAllowed,
    NotFound,
    QuotaExceeded,
    RecollectError,
    StoreBusy,
    StoreFull,
    StoreUnavailable,
)
from tests.clients.hostile_fixture import Hostile, answer
from tests.clients.places_fixture import Waited

KEY = "rk_live_never-to-be-seen-anywhere-0123456789"
ID = "01a1e3f8-25e7-7776-8b41-3ba18ed3f554"
WHEN = "2026-11-16T10:47:33.095428Z"
MEMORY = {
    "id": ID,
    "kind": "note",
    "content": "Deploys run on Tuesdays.",
    "why": None,
    "tags": ["ops"],
    "importance": 0.4,
    "confidence": 1,
    "origin": "user",
    "trust": "user",
    "project": None,
    "session": None,
    "version": 1,
    "source_type": "api",
    "source_id": None,
    "metadata": {},
    "meta": {},
    "anchors": [],
    "evidence": [{"session": "s", "event": None, "start": 0, "end": 3}],
    "maker": "said",
    "slot": None,
    "occurred_at": WHEN,
    "recorded_at": WHEN,
    "accessed_at": None,
    "access_count": 0,
    "confirmed_at": None,
    "expires_at": None,
    "superseded_by": None,
    "superseded_at": None,
    "archived_at": None,
    "deleted_at": None,
}
PARTS = {"lexical": 1.0, "semantic": None, "importance": 0.4, "recency": 1.0, "final": 0.8}
HIT = {
    "id": ID,
    "tier": "memory",
    "content": "x",
    "content_type": "note",
    "score": 0.8,
    "parts": PARTS,
    "age_days": 0,
    "age": "just now",
    "origin": "user",
    "trust": "user",
    "tags": [],
    "importance": 0.4,
    "session": None,
    "context_id": None,
    "why": None,
    "created_at": WHEN,
    "occurred_at": WHEN,
    "superseded_by": None,
    "notes": [],
    "evidence": [],
}
FOUND = {"results": [HIT], "count": 1, "abstained": False, "mode": "lexical", "facets": None}


@pytest.fixture(params=[Client, AsyncClient], ids=["client", "async-client"])
def asking(request: pytest.FixtureRequest, hostile: Hostile) -> Iterator[Callable[..., Any]]:
    """Opens a client of the hostile server."""
    made: list[Any] = []

    def open_client(**given: Any) -> Any:
        given = {"timeout": 5.0, "tries": 1, "key": KEY, **given}
        one = request.param(hostile.url, **given)
        made.append(Waited(one) if isinstance(one, AsyncClient) else one)
        return made[-1]

    yield open_client
    for one in made:
        one.close()


# -- answers that are none ---------------------------------------------------------------------------------------------


def half(wire_: socket.socket) -> None:
    wire_.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + json.dumps(MEMORY).encode()[:100])


def silence(wire_: socket.socket) -> None:
    pass


ANSWERS: dict[str, Any] = {
    "half an answer": half,
    "no answer": silence,
    "no HTTP": lambda wire_: wire_.sendall(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "a page": answer(200, b"<html>Sign in</html>", Content_Type="text/html"),
    "nothing": answer(200, b""),
    "half JSON": answer(200, b'{"id": "'),
    "not UTF-8": answer(200, b'{"id": "\xff\xfe"}'),
    "NaN": answer(200, b'{"id": NaN}'),
    "an endless number": answer(200, b"1" * 100_000),
    "very deep": answer(200, b"[" * 100_000 + b"]" * 100_000),
    "a list": answer(200, []),
    "null": answer(200, None),
    "a text": answer(200, "hello"),
    "another object": answer(200, {"id": ID}),
    "packed": answer(200, gzip.compress(json.dumps(MEMORY).encode()), Content_Encoding="gzip"),
    "500 with a page": answer(500, b"<html>oops</html>", Content_Type="text/html"),
    "an error of lists": answer(500, {"error": ["no"]}),
    "an error of numbers": answer(400, {"error": {"code": 1, "message": 2, "hint": 3, "fields": 4}}),
    "teapot": answer(418, {"error": {"code": "teapot", "message": "short and stout"}}),
    "redirect": answer(302, b"", Location="http://127.0.0.1:9/steal"),
    "not modified": answer(304, b""),
}


@pytest.mark.parametrize("script", ANSWERS.values(), ids=ANSWERS)
def test_what_is_no_answer_is_an_error_of_ours(asking: Callable[..., Any], hostile: Hostile, script: Any) -> None:
    hostile.answers = [script]
    for ask in (
        lambda one: one.get(ID),
        lambda one: one.recall("x"),
        lambda one: one.health(),
        lambda one: one.forget(ID),
    ):
        with pytest.raises(RecollectError) as raised:
            ask(asking())
        assert KEY not in f"{raised.value} {raised.value.hint} {raised.value.__cause__!r}"
    with pytest.raises(RecollectError):
        list(asking().export())


def _with_one_wrong(body: Any, paths: list[tuple[Any, ...]], value: Any, place: int) -> Any:
    copy = json.loads(json.dumps(body))
    path = paths[place % len(paths)]
    inner = copy
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return copy


def _paths(body: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    steps = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    return [path for name, inner in steps for path in ((*here, name), *_paths(inner, (*here, name)))]


PAGE = {"memories": [MEMORY], "next_cursor": "x"}
SESSION = {
    "id": "s",
    "flavor": "chat",
    "title": None,
    "project": None,
    "started_at": WHEN,
    "ended_at": None,
    "turns": 1,
    "parent": None,
    "relation": "root",
    "cwd": None,
    "branch": None,
    "commit": None,
    "models": ["m"],
    "agent_version": None,
    "interactive": True,
    "outcome": None,
}
EVENT = {
    "id": "e",
    "session": "s",
    "kind": "user_prompt",
    "role": "user",
    "origin": "user",
    "content": "hi",
    "occurred_at": WHEN,
    "recorded_at": WHEN,
    "position": 0,
    "metadata": {},
}
GIST = {
    "session": "s",
    "content": "c",
    "covers": 1,
    "occurred_at": WHEN,
    "created_at": WHEN,
    "maker": "m",
    "project": None,
}
READERS: dict[str, tuple[Any, Any]] = {
    "memory": (reading.memory, MEMORY),
    "page": (reading.page("memories", reading.memory), PAGE),
    "recall": (reading.recall("q"), FOUND),
    "context": (
        reading.context,
        {"context": "c", "token_count": 1, "metadata": {"ids": [ID], "count": 1, "abstained": False, "mode": "hybrid"}},
    ),
    "session": (reading.session, SESSION),
    "history": (reading.history, {"session": "s", "events": [EVENT], "next_after": 3}),
    "gist": (reading.gist, {"session": "s", "gist": GIST, "unsummarized": 0}),
    "versions": (
        reading.versions,
        {
            "id": ID,
            "versions": [
                {
                    **{n: MEMORY[n] for n in ("version", "kind", "content", "tags", "importance", "confidence")},
                    "why": None,
                    "until": WHEN,
                }
            ],
        },
    ),
    "receipt": (
        reading.receipt,
        {
            "counts": {"memories": 1},
            "complete": True,
            "remains": ["x"],
            "backups": [{"id": "b", "made_at": WHEN, "expires_at": WHEN}],
        },
    ),
    "health": (
        reading.health,
        {"status": "ok", "counts": {"memories": 1}, "model": {"name": "m", "dim": 3}, "pending_vectors": 2},
    ),
    "messages": (reading.messages, {"messages": [{"role": "user", "content": "x"}]}),
    "ids": (reading.ids, {"ids": ["x"]}),
}


@pytest.mark.parametrize("name", READERS)
@given(
    value=st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.text(max_size=5),
        st.just([]),
        st.just({}),
    ),
    place=st.integers(0, 10_000),
)
def test_an_answer_with_one_wrong_part_is_read_or_refused(name: str, value: Any, place: int) -> None:
    how, body = READERS[name]
    read(how, body)
    wrong = _with_one_wrong(body, _paths(body), value, place)
    with suppress(StoreUnavailable):  # and no other error
        read(how, wrong)


UNREAD = {  # what no value of ours has
    *("recall results age_days", "recall results importance", "recall count", "recall facets", "memory source_type"),
    *("page memories source_type", "context metadata count", "history session", "gist session", "gist unsummarized"),
    *("health counts", "health model"),  # a server that is stuck tells neither
}


@pytest.mark.parametrize("name", READERS)
def test_a_part_of_another_type_is_refused(name: str) -> None:
    how, body = READERS[name]
    for path in _paths(body):
        value = body
        for step in path:
            value = value[step]
        others: list[Any] = [7] if isinstance(value, str) else [True, "7", {}] if isinstance(value, int | float) else []
        others += ["x", 7] if isinstance(value, dict | list) else []
        for wrong in [other for other in others if not (isinstance(value, bool) and other is True)]:
            try:
                read(how, _with_one_wrong(body, [path], wrong, 0))
            except StoreUnavailable:
                continue
            assert " ".join([name, *(step for step in path if isinstance(step, str))]) in UNREAD, (path, wrong)


@pytest.mark.parametrize("name", READERS)
def test_an_answer_without_a_part_that_is_needed_is_refused(name: str) -> None:
    how, body = READERS[name]
    for field in [field for field in body if body[field] is not None]:
        partial = {name_: value for name_, value in body.items() if name_ != field}
        try:
            whole, less = read(how, body), read(how, partial)
        except StoreUnavailable:
            continue
        assert field in (
            "next_cursor",
            "next_after",
            "counts",
            "model",
            "pending_vectors",
            "started_at",
            "interactive",
            "count",
            "session",
            "source_type",
            "unsummarized",
        ), (field, whole, less)


# -- bounded in size, time and trust -----------------------------------------------------------------------------------


def test_a_redirect_is_not_followed(asking: Callable[..., Any], hostile: Hostile) -> None:
    for status in (301, 302, 303, 307, 308):
        hostile.asked.clear()
        hostile.answers = [answer(status, b"", Location=f"{hostile.url}/elsewhere")]
        with pytest.raises(StoreUnavailable, match="redirect"):
            asking().remember("Deploys run on Tuesdays.")
        assert len(hostile.asked) == 1


def test_an_answer_that_does_not_end_is_cut_off(asking: Callable[..., Any], hostile: Hostile) -> None:
    sent = []

    def flood(wire_: socket.socket) -> None:
        wire_.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n")
        for _ in range(1_600):
            wire_.sendall(b"x" * 65_536)
            sent.append(65_536)

    hostile.answers = [flood]
    with pytest.raises(StoreUnavailable, match="larger than"):
        asking(timeout=30.0).get(ID)
    hostile.closing.wait(0.2)
    assert sum(sent) < 40 * 1_048_576


def test_a_line_of_an_export_that_does_not_end_is_cut_off(asking: Callable[..., Any], hostile: Hostile) -> None:
    def flood(wire_: socket.socket) -> None:
        wire_.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n")
        for _ in range(1_600):
            wire_.sendall(b"x" * 65_536)

    hostile.answers = [flood]
    with pytest.raises(StoreUnavailable):
        list(asking(timeout=30.0).export())


def test_an_export_that_breaks_off_is_no_whole_export(asking: Callable[..., Any], hostile: Hostile) -> None:
    line = b'{"type":"recollect","format":1}\n'
    hostile.answers = [
        lambda wire_: wire_.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n" + line + b"\r\n")
    ]
    with pytest.raises(StoreUnavailable):
        list(asking().export())


@pytest.mark.timed
def test_a_slow_drip_is_not_waited_for(asking: Callable[..., Any], hostile: Hostile) -> None:
    def drip(wire_: socket.socket) -> None:
        wire_.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while not hostile.closing.wait(0.05):
            wire_.sendall(b" ")

    hostile.answers = [drip]
    began = time.monotonic()
    with pytest.raises(StoreUnavailable, match="in time"):
        asking(timeout=0.5).get(ID)
    assert time.monotonic() - began < 5


@pytest.mark.timed
def test_a_server_that_says_nothing_is_not_waited_for(asking: Callable[..., Any], hostile: Hostile) -> None:
    hostile.answers = [lambda wire_: hostile.closing.wait(30) and None]
    began = time.monotonic()
    with pytest.raises(StoreUnavailable, match="in time"):
        asking(timeout=0.3).get(ID)
    assert time.monotonic() - began < 5


def test_nobody_there_is_told_with_what_to_do(hostile: Hostile) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Client(f"http://127.0.0.1:{port}", key=KEY, tries=1) as client, pytest.raises(StoreUnavailable) as raised:
        client.whoami()
    assert "recollect serve" in str(raised.value.hint)


def test_the_words_of_a_server_are_harmless(asking: Callable[..., Any], hostile: Hostile) -> None:
    told = {"code": "not_found", "message": "\x1b[31mred\x1b[0m\nline " + "x" * 5_000, "hint": "\x1b]0;title\x07do it"}
    hostile.answers = [answer(404, {"error": told})]
    with pytest.raises(NotFound) as raised:
        asking().get(ID)
    assert str(raised.value).startswith("red line xxx")
    assert len(str(raised.value)) <= 500
    assert raised.value.hint == "do it"


def test_the_key_is_shown_nowhere(asking: Callable[..., Any], hostile: Hostile) -> None:
    client = asking()
    hostile.answers = [answer(200, {"tenant": "t"})]
    client.whoami()
    assert hostile.heads("authorization") == [f"Bearer {KEY}"]
    address = Address("http://127.0.0.1", "http://127.0.0.1", KEY, here=True)
    shown = [repr(client), repr(address), repr(wire.sent(address, Request("GET", ("whoami",))))]
    assert KEY not in "".join(shown)
    assert KEY not in hostile.asked[0].split(b"\r\n")[0].decode()


# -- errors by their code ----------------------------------------------------------------------------------------------

CODES = {
    (422, "invalid_input"): InvalidInput,
    (413, "too_large"): InvalidInput,
    (415, "not_json"): InvalidInput,
    (422, "idempotency_mismatch"): InvalidInput,
    (401, "invalid_key"): InvalidKey,
    (403, "not_allowed"): NotAllowed,
    (403, "something_new"): NotAllowed,
    (404, "not_found"): NotFound,
    (409, "conflict"): Conflict,
    (409, "in_progress"): StoreBusy,
    (429, "quota_exceeded"): QuotaExceeded,
    (429, "too_many_requests"): QuotaExceeded,
    (503, "store_busy"): StoreBusy,
    (503, "store_full"): StoreFull,
    (503, "unavailable"): StoreUnavailable,
    (500, "internal"): StoreUnavailable,
}


@pytest.mark.parametrize(("said", "kind"), CODES.items(), ids=[code for _, code in CODES])
def test_a_refusal_is_the_error_it_is_in_this_process(
    asking: Callable[..., Any], hostile: Hostile, said: tuple[int, str], kind: type[RecollectError]
) -> None:
    status, code = said
    hostile.answers = [answer(status, {"error": {"code": code, "message": "why it is so", "hint": "what to do"}})]
    with pytest.raises(kind) as raised:
        asking().get(ID)
    assert type(raised.value) is kind
    assert (str(raised.value), raised.value.hint) == ("why it is so", "what to do")


def test_a_refused_request_names_the_field(asking: Callable[..., Any], hostile: Hostile) -> None:
    problem = {"field": "body.tags.3", "problem": "too long"}
    hostile.answers = [
        answer(422, {"error": {"code": "invalid_input", "message": "it does not fit", "fields": [problem]}})
    ]
    with pytest.raises(InvalidInput, match=r"it does not fit \(body.tags.3 too long\)"):
        asking().get(ID)


# -- another try -------------------------------------------------------------------------------------------------------

TAKEN = {"ids": ["e1"], "accepted": 1, "tasks": []}
PASSING: dict[str, Any] = {
    "broken off": half,
    "hung up": silence,
    "500": answer(500, {"error": {"code": "internal", "message": "x"}}),
    "502": answer(502, b"bad gateway"),
    "503": answer(503, {"error": {"code": "store_busy", "message": "x"}}, Retry_After="0"),
    "429": answer(429, {"error": {"code": "too_many_requests", "message": "x"}}, Retry_After="0"),
    "still done": answer(409, {"error": {"code": "in_progress", "message": "x"}}, Retry_After="0"),
}


@pytest.mark.parametrize("trouble", PASSING.values(), ids=PASSING)
def test_what_may_pass_is_tried_again_under_one_key(asking: Callable[..., Any], hostile: Hostile, trouble: Any) -> None:
    hostile.answers = [trouble, trouble, answer(202, TAKEN)]
    assert asking(tries=3).record("s", "user", "hello") == "e1"
    keys = hostile.heads("idempotency-key")
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert keys[0]


def test_a_message_without_a_name_is_given_one_before_it_is_sent(asking: Callable[..., Any], hostile: Hostile) -> None:
    """The same at each try, another for each message; one with a name or a time of its own keeps that."""
    hostile.answers = [PASSING["503"], answer(202, {"ids": ["e1", "e2", "e3"], "accepted": 3})]
    plain, timed = ("s", "user", "hello"), ("s", "user", "hello", "2026-11-15T12:00:00Z")
    asking(tries=2).record_many([plain, plain, timed])
    first, again = (json.loads(one.split(b"\r\n\r\n", 1)[1])["events"] for one in hostile.asked)
    assert first == again
    assert first[0]["key"] != first[1]["key"]
    assert "key" not in first[2]


def test_reading_is_tried_again_too_and_bears_no_key(asking: Callable[..., Any], hostile: Hostile) -> None:
    hostile.answers = [silence, answer(200, FOUND)]
    assert asking(tries=2).recall("x").hits[0].id == ID
    assert hostile.heads("idempotency-key") == ["", ""]


def test_two_writes_are_two(asking: Callable[..., Any], hostile: Hostile) -> None:
    hostile.answers = [answer(202, TAKEN)]
    client = asking()
    client.record("s", "user", "hello")
    client.record("s", "user", "hello")
    assert len(set(hostile.heads("idempotency-key"))) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422])
def test_what_will_not_pass_is_not_tried_again(asking: Callable[..., Any], hostile: Hostile, status: int) -> None:
    hostile.answers = [answer(status, {"error": {"code": "x", "message": "no"}})]
    with pytest.raises(RecollectError):
        asking(tries=3).get(ID)
    assert len(hostile.asked) == 1


def test_trying_ends(asking: Callable[..., Any], hostile: Hostile) -> None:
    hostile.answers = [silence]
    with pytest.raises(StoreUnavailable):
        asking(tries=3).get(ID)
    assert len(hostile.asked) == 3


@pytest.mark.timed
def test_nobody_waits_for_longer_than_a_while(asking: Callable[..., Any], hostile: Hostile) -> None:
    hostile.answers = [answer(429, {"error": {"code": "quota_exceeded", "message": "tomorrow"}}, Retry_After="43200")]
    began = time.monotonic()
    with pytest.raises(QuotaExceeded, match="tomorrow"):
        asking(tries=3).get(ID)
    assert len(hostile.asked) == 1
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("number", [1, 2, 3, 8])
def test_pauses_grow_and_are_bounded(number: int) -> None:
    pause = wire.pause(number, 10, Trouble(StoreUnavailable(), again=True))
    assert pause is not None
    expected = min(wire.LONGEST_WAIT, wire.BACKOFF_SECONDS * 2 ** (number - 1))
    assert 0.7 * expected <= pause <= 1.3 * expected


# -- what is sent ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a b", "/sessions/a%20b"),
        ("a/b", "/sessions/a%2Fb"),
        ("..", "/sessions/%2E%2E"),
        ("?x#y", "/sessions/%3Fx%23y"),
    ],
)
def test_a_name_is_one_part_of_a_path(name: str, path: str) -> None:
    assert Request("GET", ("sessions", name)).path == path


def test_reads_and_writes_may_have_addresses_of_their_own(hostile: Hostile) -> None:
    hostile.answers = [answer(200, FOUND)]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Client(hostile.url, write_url=f"http://127.0.0.1:{port}", key=KEY, tries=1) as client:
        assert client.recall("x").hits
        with pytest.raises(StoreUnavailable):
            client.record("s", "user", "hello")
    assert len(hostile.asked) == 1
