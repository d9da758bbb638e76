"""T34: who does not have a tenant's secret cannot write into its memory, and old events cannot be sent again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import Scope
from recollect.bus import signing
from recollect.bus.canonical import canonical
from recollect.bus.errors import BusUnavailable
from recollect.bus.publish import Publisher
from recollect.bus.signing import Keyring, Signer, sign
from tests.bus.conftest import Bus, event, until

SECRETS = {"acme": "a" * 32, "globex": "g" * 40}


@pytest.fixture
def keys_file(tmp_path: Path) -> Path:
    file = tmp_path / "redis-keys.json"
    quiet = {"secret": "q" * 32, "speak": False}
    write(file, {"acme": {"main": SECRETS["acme"], "quiet": quiet}, "globex": {"main": SECRETS["globex"]}})
    return file


@pytest.fixture
def strict(bus: Bus, keys_file: Path) -> Bus:
    """Only signed events are taken."""
    bus.settings = replace(bus.settings, redis_keys_file=keys_file, redis_require_signature=True)
    return bus


def write(file: Path, keys: Any) -> None:
    file.write_text(json.dumps(keys))
    file.chmod(0o600)


def signer(tenant: str = "acme", key: str = "main") -> Signer:
    return Signer(tenant, key, SECRETS[tenant].encode())


def signed(payload: dict[str, Any] | None = None, *, by: Signer | None = None, ago: float = 0.0) -> dict[str, Any]:
    return sign(payload or event(), by or signer(), at=datetime.now(UTC) - timedelta(seconds=ago))


def test_a_signed_event_is_its_tenants(strict: Bus) -> None:
    with Publisher(strict.url, user="ann", settings=strict.settings, signer=signer()) as publisher:
        publisher.said("Signed and sealed.", session="chat:1")
    strict.drain()
    assert strict.said(tenant="acme") == ["Signed and sealed."]
    assert strict.said(tenant="local") == []
    noted = strict.store.audit.find(Scope("acme", "ann"), limit=10)
    assert {(one.action, one.key) for one in noted} == {("record", "bus:main")}, "the audit tells whose key signed it"


def test_unsigned_wrong_tenant_replayed_and_truncated_are_dead_letters(strict: Bus) -> None:
    """T34: 0 accepted, 4 dead letters; the one honest event is stored once."""
    honest = signed(event("Honest."))
    strict.add(honest)
    strict.drain()
    strict.add(
        event("unsigned"),
        {**signed(event("wrong tenant")), "tenant": "globex"},
        honest,
        json.dumps(signed(event("truncated"))).encode()[:-40],
    )
    strict.drain()
    assert [letter.code for letter in reversed(strict.stream.dead())] == ["forged", "forged", "replayed", "bad_message"]
    assert all(letter.attempts == 1 for letter in strict.stream.dead())
    assert strict.said(tenant="acme") == ["Honest."]
    assert (strict.said(tenant="globex"), strict.said(tenant="local")) == ([], [])
    assert strict.counts == {"stored": 1, "dead": 4}


@pytest.mark.parametrize(
    "change",
    [
        {"content": "changed"},
        {"user_id": "bob"},
        {"key": "other"},
        {"key": "quiet"},
        {"tenant": "nobody"},
        {"nonce": "0" * 32},
        {"sent_at": "2026-11-15T12:00:00Z"},
        {"signature": "0" * 64},
        {"signature": ""},
        {"signature": "é" * 64},
        {"id": "added"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_is_changed_breaks_the_signature(strict: Bus, change: dict[str, Any]) -> None:
    strict.add({**signed(), **change})
    strict.drain()
    assert [letter.code for letter in strict.stream.dead()] == ["forged"]
    assert strict.counts == {"dead": 1}


@pytest.mark.parametrize("ago", [301, 86_400, -301], ids=["late", "very late", "early"])
def test_what_was_signed_at_another_time_is_refused(strict: Bus, ago: float) -> None:
    strict.add(signed(ago=ago))
    strict.drain()
    assert [letter.code for letter in strict.stream.dead()] == ["replayed"]


def test_what_waited_in_the_stream_for_long_is_as_fresh_as_it_was(strict: Bus) -> None:
    """Freshness is of the arrival: a group that was away for a day takes all of it."""
    strict.add(signed(event("Waited.")))
    late = strict.consumer(clock=lambda: datetime.now(UTC) + timedelta(days=1))
    strict.drain(late)
    assert strict.said(tenant="acme") == ["Waited."]


def test_an_entry_given_again_is_no_replay(strict: Bus) -> None:
    strict.add(signed(event("Once.")))
    gone = strict.consumer()
    gone.stream.ensure()
    gone.take()
    gone.work()  # the nonce is known, the event stored and acknowledged
    again = signed(event("Twice."))
    strict.add(again)
    gone.take()
    assert gone._accept(next(iter(gone._hand.values()))) is not None  # the nonce is known, and the reader ends
    strict.drain()
    assert strict.said(tenant="acme") == ["Once.", "Twice."]
    assert strict.stream.dead() == []


def test_a_made_up_id_cannot_make_the_future_fresh(strict: Bus) -> None:
    future = datetime.now(UTC) + timedelta(days=365)
    payload = json.dumps(sign(event(), signer(), at=future))
    strict.redis.xadd(strict.settings.redis_stream, {"event": payload}, id=f"{int(future.timestamp() * 1000)}-0")
    strict.add(signed(event("Later ones still come.")))
    strict.drain()
    assert [letter.code for letter in strict.stream.dead()] == ["replayed"]
    assert strict.said(tenant="acme") == ["Later ones still come."]


def test_a_key_that_may_not_speak_makes_no_words_of_the_user(strict: Bus) -> None:
    strict.add(signed(event("I always want tabs.", role="user"), by=Signer("acme", "quiet", b"q" * 32)))
    strict.drain()
    (kept,) = strict.store.sessions.history(strict.of(tenant="acme").scope, "chat:1")
    assert (kept.role, kept.origin) == ("user", "import")


def test_a_requeued_event_may_be_old_but_not_forged(strict: Bus, keys_file: Path) -> None:
    """A key that was missing is added later; its event is put back, though it is no longer fresh."""
    late = Signer("acme", "late", b"l" * 32)
    old = signed(event("Requeued."), by=late, ago=3_600)
    strict.add(old, {**signed(event("forged"), by=late), "content": "changed"})
    strict.drain()
    write(keys_file, {"acme": {"late": "l" * 32}})
    strict.add(old)
    strict.drain()
    assert [letter.code for letter in strict.stream.dead()] == ["replayed", "forged", "forged"]
    assert strict.said(tenant="acme") == []
    for letter in strict.stream.dead()[1:]:
        strict.stream.requeue(letter.id)
    strict.drain()
    assert strict.said(tenant="acme") == ["Requeued."]
    assert [letter.code for letter in strict.stream.dead()] == ["forged", "replayed"]


def test_keys_change_while_everything_runs(strict: Bus, keys_file: Path) -> None:
    reader = strict.consumer()
    strict.add(signed(event("Before.")))
    strict.drain(reader)
    write(keys_file, {"acme": {"next": "n" * 32}})
    strict.add(signed(event("old key")), signed(event("After."), by=Signer("acme", "next", b"n" * 32)))
    strict.drain(reader)
    assert strict.said(tenant="acme") == ["Before.", "After."]
    assert len(strict.stream.dead()) == 1


@pytest.mark.parametrize("keys", ["{", "[]", '{"a": "b"}', '{"a": {"k": "short"}}', '{"a": {"k": {"secret": 1}}}'])
def test_a_file_of_keys_that_is_none_is_told(tmp_path: Path, keys: str) -> None:
    file = tmp_path / "keys.json"
    file.write_text(keys)
    file.chmod(0o600)
    with pytest.raises(BusUnavailable, match="not what it should be"):
        Keyring(file).find("a", "k")


@pytest.mark.parametrize("mode", [0o644, 0o660])
def test_a_file_of_keys_that_others_can_read_or_change_is_refused(keys_file: Path, mode: int) -> None:
    keys_file.chmod(mode)
    with pytest.raises(BusUnavailable, match="others may"):
        Keyring(keys_file).find("acme")


def test_what_a_container_engine_mounts_need_not_be_private(keys_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there for one container alone, with whatever mode it has outside; to be changed by nobody all the same."""
    monkeypatch.setattr(signing, "MOUNTED", keys_file.parent)
    keys_file.chmod(0o444)
    assert Keyring(keys_file).find("acme", "main") is not None
    keys_file.chmod(0o666)
    with pytest.raises(BusUnavailable, match="others may"):
        Keyring(keys_file).find("acme")


def test_events_wait_until_the_keys_can_be_read(strict: Bus, keys_file: Path) -> None:
    """A broken file is the operator's, not the event's: nothing is buried for it."""
    whole = keys_file.read_text()
    keys_file.write_text("{")
    strict.add(signed(event("Patient.")))
    reader = strict.consumer()
    reader.start()
    until(lambda: strict.counts["waited"] >= 1)
    keys_file.write_text(whole + " ")
    until(lambda: strict.counts["stored"] == 1)
    assert strict.stream.dead() == []


def spoilt(file: Path, how: str) -> None:
    if how == "open":
        file.chmod(0o644)
    elif how == "cut":
        file.write_text('{"acme": {"main": "' + SECRETS["acme"])
    else:
        file.unlink()


@pytest.mark.parametrize(("how", "hint"), [("open", "chmod 600"), ("cut", '"backend"'), ("gone", "redis_keys_file")])
def test_a_bus_that_waits_for_its_keys_says_so(
    strict: Bus, keys_file: Path, how: str, hint: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Once, with what to do and without a word of the event; how much waits meanwhile is told as it grows."""
    whole = keys_file.read_text()
    spoilt(keys_file, how)
    strict.add(signed(event("Patient walrus.")))
    reader = strict.consumer()
    reader.start()
    until(lambda: reader.health()["last_error"] == "KeysUnreadable", 3)
    strict.add(signed(event("Another walrus.")), signed(event("A third walrus.")))
    until(lambda: reader.health()["lag"] == 3)
    until(lambda: strict.counts["waited"] >= 3)
    (said,) = [record.getMessage() for record in caplog.records if "bus waits" in record.getMessage()]
    assert "KeysUnreadable" in said
    assert hint in said
    assert "walrus" not in said
    assert SECRETS["acme"] not in said
    write(keys_file, json.loads(whole))
    until(lambda: len(strict.said(tenant="acme")) == 3)
    until(lambda: reader.health()["last_error"] is None)
    until(lambda: reader.health()["lag"] == 0)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_openssl_signs_what_we_verify(strict: Bus) -> None:
    """The form is plain enough for a shell: see docs/redis.md."""
    made = signed(event("Signed by a shell."))
    bare = {name: value for name, value in made.items() if name != "signature"}
    done = subprocess.run(
        ["openssl", "dgst", "-sha256", "-hmac", SECRETS["acme"], "-r"],
        input=canonical(bare),
        capture_output=True,
        check=True,
        env=dict(os.environ),
    )
    strict.add({**bare, "signature": done.stdout.split()[0].decode()})
    strict.drain()
    assert strict.said(tenant="acme") == ["Signed by a shell."]


def test_a_vector_for_other_languages() -> None:
    """What clients in other languages are tested with."""
    payload = {
        "event_type": "conversation.message",
        "content": "Grüße",
        "user_id": "ann",
        "metadata": {"source": "chat", "timestamp": "2026-11-16T09:30:00Z", "n": 1.0},
    }
    at = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)
    made = sign(payload, Signer("acme", "main", b"0123456789abcdef0123456789abcdef"), at=at, nonce="n" * 16)
    assert made["sent_at"] == "2026-11-16T09:30:00.000000Z"
    assert made["signature"] == "f7eef9f29ac69b28bf84a03ed74de22c3dfcb8d8b2617b7f15103c94b0418515"
