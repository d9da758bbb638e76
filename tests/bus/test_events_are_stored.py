"""From Redis to the memory: what an event becomes, whoever publishes it and by which way (S1.36-S1.44, S1.73)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect
from recollect.bus.canonical import canonical
from recollect.bus.message import parse
from recollect.bus.publish import Publisher
from recollect.model import Scope
from recollect.pipeline.cleaning import privacy_of
from tests.bus.conftest import AT, Bus, event, until

KEY = "sk-ant-api03-" + "A1b2C3d4" * 12


def test_published_on_the_channel_kept_in_the_stream_stored_and_recalled(bus: Bus) -> None:
    """S1.73: conversation, Redis, ingestion, storage; and what was said is found."""
    consumer = bus.consumer(bridge=True)
    consumer.start()
    assert consumer.bridge is not None
    until(lambda: consumer.bridge.listening)
    heard = bus.redis.publish(
        bus.settings.redis_channel, json.dumps(event("The staging database moved to port 5433.", role="user"))
    )
    assert heard == 1
    until(lambda: bus.said())
    assert bus.said() == ["The staging database moved to port 5433."]
    found = bus.of().recall("where is the staging database", mode="lexical")
    assert "port 5433" in found.hits[0].content
    assert bus.of("bob").recall("where is the staging database", mode="lexical").hits == ()
    until(lambda: bus.stream.figures().lag == 0)
    assert consumer.health()["listening"] is True


def test_a_message_keeps_its_session_role_and_time(bus: Bus) -> None:
    bus.add(event("Which port?", role="user"), event("5433.", role="assistant", timestamp="2026-11-15T14:00:01+02:00"))
    bus.drain()
    first, second = bus.store.sessions.history(Scope("local", "ann"), "chat:1")
    assert (first.role, first.origin, first.occurred_at) == ("user", "user", AT)
    assert (second.role, second.occurred_at.isoformat()) == ("assistant", "2026-11-15T12:00:01+00:00")


def test_a_message_without_a_session_belongs_to_its_day(bus: Bus) -> None:
    bus.add(event("Hello there.", session_id=None))
    bus.drain()
    assert bus.said("redis:2026-11-15") == ["Hello there."]


@pytest.mark.parametrize("kind", ["fact", "decision", "lesson", "event", "reference", "topic", "skill_idea", "note"])
def test_another_event_becomes_a_memory_of_its_kind(bus: Bus, kind: str) -> None:
    bus.add(event("Backups run at three in the morning.", f"memory.{kind}", tags=["ops"], importance=0.9, host="db1"))
    bus.drain()
    (memory,) = bus.of().memories()
    assert (memory.kind, memory.origin, memory.trust, memory.tags) == (kind, "import", "quoted", ("ops",))
    assert (memory.importance, memory.occurred_at) == (0.9, AT)
    assert memory.meta["source"] == "chat"
    assert memory.meta["published"] == {"host": "db1"}


def test_nobody_saw_the_user_want_it_so_it_is_a_note(bus: Bus) -> None:
    bus.add(event("Ann prefers tabs.", "memory.preference"))
    bus.drain()
    (memory,) = bus.of().memories()
    assert (memory.kind, memory.trust, memory.meta["asked_kind"]) == ("note", "quoted", "preference")


def test_a_context_is_a_project(bus: Bus) -> None:
    bus.add(event("Tests run with make test.", "memory.fact", context_id="shop"))
    bus.drain()
    assert [one.project for one in bus.of(project="shop").memories()] == ["shop"]
    assert bus.of(project="other").memories() == []


def test_secrets_are_taken_out_of_a_memory(bus: Bus) -> None:
    bus.add(event(f"The key is {KEY}", "memory.note", host=f"db of {KEY}"))
    bus.drain()
    (memory,) = bus.of().memories()
    assert KEY not in f"{memory.content} {memory.meta}"


@pytest.mark.parametrize("named", [{}, {"id": "m1"}], ids=["by what it says", "by its id"])
def test_secrets_are_taken_out_of_what_was_said_and_it_is_one_event_on_every_machine(
    bus: Bus, tmp_path: Path, named: dict[str, str]
) -> None:
    """Each worker's machine has a key of its own for its marks; what one had stored is known to the other."""
    said = event(f"The key is {KEY}", role="user", more={"note": f"not {KEY}"}, **named)
    bus.add(said)
    bus.drain()
    elsewhere = replace(bus.settings, data_dir=tmp_path / "elsewhere")
    bus.add(said)
    bus.drain(bus.consumer(lambda scope: Recollect(bus.store, scope, elsewhere, background=False)))
    (kept,) = bus.said()
    assert kept.startswith("The key is [REDACTED:")
    assert KEY not in repr(list(bus.of().export()))


@pytest.mark.parametrize("kind", ["conversation.message", "memory.note"])
def test_no_id_is_made_of_a_secret_without_a_key(bus: Bus, kind: str) -> None:
    """Else who has the rows could try which secret it was."""
    privacy = privacy_of(bus.settings)

    def key(content: str, **more: Any) -> str:
        return parse(json.dumps(event(content, kind, **more)).encode(), arrived=AT).key(privacy)

    one, other = "Tr0ub4dor42", "Qu1ckf0xJ4mps"
    assert key(f"the password is {one}", note=[f"not {KEY}"]) == key(f"the password is {other}", note=[f"not {KEY}"])
    assert key("the walrus", why=f"password: {one}") == key("the walrus", why=f"password: {other}")
    assert key("the walrus") == hashlib.sha256(canonical(event("the walrus", kind))).hexdigest()[:32]


def test_every_user_has_their_own(bus: Bus) -> None:
    bus.add(event("Mine.", user_id="ann"), event("Yours.", user_id="bob"))
    bus.drain()
    assert (bus.said(user="ann"), bus.said(user="bob")) == (["Mine."], ["Yours."])


def test_the_publisher_sends_what_the_consumer_takes(bus: Bus) -> None:
    with Publisher(bus.url, user="ann", source="test", settings=bus.settings) as publisher:
        publisher.said("Where do we deploy?", session="chat:1", timestamp="2026-11-15T12:00:00Z")
        publisher.said("To Frankfurt.", role="assistant", session="chat:1")
        publisher.told("Production runs in Frankfurt.", "fact", tags=["ops"])
        assert publisher.announce(publisher.event("memory.note", "nobody hears this")) == 0
    bus.drain()
    assert bus.said() == ["Where do we deploy?", "To Frankfurt."]
    assert [one.content for one in bus.of().memories()] == ["Production runs in Frankfurt."]


def test_several_bridges_add_an_event_once(bus: Bus) -> None:
    bridges = [bus.consumer(bridge=True).bridge for _ in range(3)]
    for bridge in bridges:
        assert bridge is not None
        bridge.start(wait=5)
    for number in range(20):
        assert bus.redis.publish(bus.settings.redis_channel, json.dumps(event(f"Number {number}."))) == 3
    until(lambda: bus.counts["bridged"] + bus.counts["heard_twice"] == 60)
    assert bus.redis.xlen(bus.settings.redis_stream) == 20
