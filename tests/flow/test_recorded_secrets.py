"""What programs record is cleaned like what is swept: secrets, what is private, and by choice what is personal (T25).

Whatever way a message comes, nothing of a secret is in a row, an answer, a title or the id of the event; and the same
message is the same event, cleaned or not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.capture.exchange import events_of
from recollect.capture.privacy import Privacy
from recollect.capture.redact import Redactor
from recollect.ids import stable_key
from recollect.wrap import remembering
from tests.flow.chat_fixture import ChatClient, Service
from tests.flow.chat_fixture import chat_service as chat_service

pytestmark = pytest.mark.usefixtures("each_store")

AT = "2026-03-01T10:00:00Z"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "kLmNoPqRsTuVwXyZ"
OTHER = "ghp_" + "z9Y8x7W6v5U4t3S2r1Q0" + "PoNmLkJiHgFeDcBa"
AWS = "AKIA" + "IOSFODNN7EXAMPLQ"
MAIL = "ann.walrus@example.org"
MARK = re.compile(r"\[REDACTED:[a-z-]+:[0-9a-f]{8}\]")

WAYS: dict[str, Callable[[Recollect, str], object]] = {
    "record": lambda memory, text: memory.record("s", "user", text),
    "record at a time": lambda memory, text: memory.record("s", "assistant", text, AT),
    "record with a key": lambda memory, text: memory.record("s", "tool", text, key="m1"),
    "record_many": lambda memory, text: memory.record_many([("s", "user", text), ("s", "system", text)]),
    "meta": lambda memory, text: memory.record_many(
        [{"session": "s", "role": "user", "content": "hello", "meta": {"page": [{text: f"see {text}"}]}}]
    ),
    "title": lambda memory, text: memory.ensure_session("s", text),
}


def everything(memory: Recollect) -> str:
    """All that is kept, as it would be given out."""
    return repr(list(memory.export()))


@pytest.mark.parametrize("way", WAYS)
def test_no_secret_is_kept_whatever_way_it_is_recorded(memory: Recollect, way: str) -> None:
    WAYS[way](memory, f"Deploy with {TOKEN} and {AWS}, please")
    assert MARK.search(everything(memory))
    assert [secret for secret in (TOKEN, AWS) if secret in everything(memory)] == []


def test_a_cleaned_message_is_found_and_shown_without_its_secret(memory: Recollect) -> None:
    memory.record("s", "user", f"The walrus deploys with {TOKEN} on Fridays")
    (hit,) = memory.recall("when does the walrus deploy").hits
    context = memory.context("when does the walrus deploy").text
    assert MARK.search(hit.content)
    assert MARK.search(context)
    assert TOKEN not in hit.content + context + memory.history("s")[0].text
    assert memory.recall(TOKEN, abstain=True).hits == ()


def test_what_is_marked_private_or_was_put_there_by_us_is_not_kept(memory: Recollect) -> None:
    memory.remember("The walrus deploys on Fridays")
    context = memory.context("when does the walrus deploy").text
    memory.record("s", "user", f"{context}\nSo when? <private>the vault is at 12 Elm Street</private> Thanks.")
    (event,) = memory.history("s")
    assert event.text == "[recalled by Recollect]\n\nSo when? [private] Thanks."


@pytest.mark.parametrize("personal", [False, True], ids=["kept", "taken out"])
def test_what_is_personal_goes_where_the_settings_say_so(opened: Callable[..., Recollect], personal: bool) -> None:
    memory = opened(redact_personal=personal)
    memory.record("s", "user", f"Write to {MAIL} about it", AT)
    memory.ensure_session("s", f"A letter to {MAIL}")
    assert (MAIL not in everything(memory)) is personal
    assert (memory.history("s")[0].text == f"Write to {MAIL} about it") is not personal


def test_a_chat_with_a_memory_beside_it_is_recorded_without_its_secrets(
    memory: Recollect, chat_service: Service
) -> None:
    chat_service.says = f"I set {AWS} for you."
    with ChatClient(chat_service.url) as client:
        remembering(client, memory, "s").chat.completions.create(messages=[{"role": "user", "content": f"Use {TOKEN}"}])
    assert f"Use {TOKEN}" in str(chat_service.asked[-1]), "the model is told all of it"
    assert [bool(MARK.search(event.text)) for event in memory.history("s")] == [True, True]
    assert [secret for secret in (TOKEN, AWS) if secret in everything(memory)] == []


# -- one message, one event --------------------------------------------------------------------------------------------


def test_a_message_with_a_secret_given_again_is_the_same_event(memory: Recollect) -> None:
    batch = [("s", "user", f"It is {TOKEN}", AT), ("s", "user", f"It is {OTHER}", AT), ("s", "assistant", "ok", AT)]
    ids = memory.record_many(batch)
    assert len(set(ids)) == 3
    assert memory.record_many(batch) == ids
    assert memory.record("s", "user", f"It is {TOKEN}", AT) == ids[0]
    assert len(memory.history("s")) == 3


def test_it_is_the_same_event_on_every_machine() -> None:
    """Servers of one database have keys of their own for the marks; what is sent to another one is no other event."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    here, there = (Privacy(Redactor(key * 32)) for key in (b"a", b"b"))
    said = [("s", "user", f"It is {TOKEN}", AT)]
    (one,), (other,) = events_of(said, now=now, privacy=here), events_of(said, now=now, privacy=there)
    assert one.text != other.text
    assert one.key == other.key


def test_the_id_of_an_event_tells_nothing_of_the_secret(memory: Recollect) -> None:
    """Who has the rows cannot try which secret it was: there is no hash of one without a key."""
    text = "the password is Tr0ub4dor42"
    kept = memory.record("s", "user", text, AT)
    plain = stable_key("recorded", "s", "user_prompt", "said", "user", "2026-03-01T10:00:00.000000Z", text, "1")
    assert "Tr0ub4dor42" not in memory.history("s")[0].text
    assert kept != plain
    assert kept == memory.record("s", "user", "the password is Qu1ckf0xJ4mps", AT)


def test_a_message_without_a_secret_has_the_id_it_always_had(memory: Recollect) -> None:
    kept = memory.record("s", "user", "hello", AT)
    assert kept == stable_key(
        "recorded", "s", "user_prompt", "said", "user", "2026-03-01T10:00:00.000000Z", "hello", "1"
    )


@pytest.fixture
def bytes_of(tmp_path: Path) -> Callable[[], bytes]:
    """All that lies in the data directory."""
    return lambda: b"".join(file.read_bytes() for file in (tmp_path / "data").rglob("*") if file.is_file())


def test_no_byte_of_it_lies_in_the_data_directory(
    opened: Callable[..., Recollect], bytes_of: Callable[[], bytes]
) -> None:
    memory = opened()
    memory.record("s", "user", f"The walrus deploys with {TOKEN}")
    memory.ensure_session("s", f"About {AWS}")
    memory.close()
    assert [secret for secret in (TOKEN, AWS) if secret.encode()[-16:] in bytes_of()] == []
