"""P21: whatever happens between a publisher and the store, each event has its effect, and has it once.

A machine publishes, publishes again, lets readers end at every point, lets others take over, trims and replays all of
it in another order; in the end the store holds what was published, told by a model that knows nothing of streams.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from recollect import Scope
from recollect.bus.consumer import Consumer
from tests.bus.conftest import AT, Bus, event
from tests.flow.memory_fixture import IN_A_FILE

WORDS = ("walrus", "heron", "otter", "badger", "lynx", "marten", "stoat", "ibis", "newt", "toad", "crane", "viper")
NUMBERS = st.integers(0, len(WORDS) - 1)


class Delivery(RuleBasedStateMachine):
    """Readers are `Consumer`s driven step by step: between two steps any of them can end."""

    def __init__(self, bus: Bus) -> None:
        super().__init__()
        self.bus = bus
        self.user = secrets.token_hex(6)
        name = f"p21:{self.user}"
        self.settings = replace(bus.settings, redis_stream=name, redis_channel=name, redis_keep=0)
        self.published: list[bytes] = []
        self.said: set[tuple[str, str, str]] = set()
        self.told: set[tuple[str, str]] = set()
        self.readers: list[Consumer] = []

    def payload(self, kind: str, number: int, again: int, named: bool) -> dict[str, Any]:
        metadata = {
            "source": "p21",
            "timestamp": f"2026-11-15T12:{again:02}:{number:02}Z",
            "session_id": f"s:{number % 3}",
        }
        content = (
            f"The {WORDS[number]} said it at {again}." if kind == "conversation.message" else f"{WORDS[number]} house"
        )
        made = {"event_type": kind, "content": content, "user_id": self.user, "metadata": metadata}
        return {**made, "id": f"{kind}-{number}-{again}"} if named else made

    @initialize()
    def begin(self) -> None:
        self.reader().stream.ensure()

    def reader(self) -> Consumer:
        self.readers.append(self.bus.consumer(settings=self.settings))
        return self.readers[-1]

    @rule(number=NUMBERS, again=st.integers(0, 2), named=st.booleans())
    def publish_something_said(self, number: int, again: int, named: bool) -> None:
        payload = self.payload("conversation.message", number, again, named)
        self.said.add((f"s:{number % 3}", payload["content"], str(named)))
        self.send(json.dumps(payload).encode())

    @rule(number=NUMBERS)
    def publish_something_to_remember(self, number: int) -> None:
        payload = self.payload("memory.fact", number, 0, True)
        self.told.add(("fact", payload["content"]))
        self.send(json.dumps(payload).encode())

    def send(self, event: bytes) -> None:
        self.published.append(event)
        self.readers[0].stream.add(event)

    @precondition(lambda self: self.published)
    @rule(data=st.data())
    def publish_again(self, data: st.DataObject) -> None:
        self.readers[0].stream.add(data.draw(st.sampled_from(self.published)))

    @precondition(lambda self: self.published)
    @rule(seed=st.randoms(use_true_random=False))
    def replay_everything_in_another_order(self, seed: Any) -> None:
        for again in seed.sample(self.published, len(self.published)):
            self.readers[0].stream.add(again)

    @rule(which=st.integers(0, 3))
    def do_a_round(self, which: int) -> None:
        self.readers[which % len(self.readers)].step(0)

    @rule()
    def end_after_reading(self) -> None:
        ending = self.reader()
        ending.take()
        ending._hand = {}

    @rule()
    def end_after_storing(self) -> None:
        ending = self.reader()
        ending.take()
        ending.stream.done = lambda ids: None  # type: ignore[method-assign]
        ending.work()
        ending._stored = []

    @rule()
    def end_in_the_middle(self) -> None:
        ending = self.reader()
        ending.take()
        half = list(ending._hand)[len(ending._hand) // 2 :]
        for id_ in half:
            del ending._hand[id_]
        ending.work()

    @rule()
    def take_over(self) -> None:
        """As if long enough had passed: all that is pending is one reader's, and stored."""
        taking = self.reader()
        for _ in range(200):
            entry = taking.stream.take_over(taking.name, 0.0)
            if entry is None:
                break
            taking._hand = {entry.id: entry._replace(deliveries=1)}
            taking.work()

    @rule()
    def trim(self) -> None:
        self.readers[0].stream.trim()

    def teardown(self) -> None:
        self.take_over()
        last = self.reader()
        while last.stream.figures().lag:
            last.step(0)
        scope = Scope("local", self.user)
        histories = [self.bus.store.sessions.history(scope, f"s:{n}") for n in range(3)]
        kept = [(one.session, one.text, one.occurred_at) for events in histories for one in events]
        assert len(kept) == len(self.said)
        assert {(session, text) for session, text, _ in kept} == {(session, text) for session, text, _ in self.said}
        assert all(at.date() == AT.date() for _, _, at in kept)
        memories = self.bus.of(self.user).memories()
        assert sorted((one.kind, one.content) for one in memories) == sorted(self.told)
        assert all("said" not in one.meta for one in memories), "once said is once said"
        assert last.stream.dead() == []
        self.bus.redis.delete(self.settings.redis_stream)
        for reader in self.readers:
            reader.stream.redis.close()
        self.bus._consumers.clear()


@IN_A_FILE
def test_every_event_has_its_effect_once(bus: Bus) -> None:
    run_state_machine_as_test(lambda: Delivery(bus), settings=settings(max_examples=40, stateful_step_count=30))


@pytest.mark.soak
def test_every_event_has_its_effect_once_however_long_it_goes_on(bus: Bus) -> None:
    """P21: 300 runs of 50 steps, on each store."""
    run_state_machine_as_test(lambda: Delivery(bus), settings=settings(max_examples=300, stateful_step_count=50))


# -- what a replay must not bring back ---------------------------------------------------------------------------------

BLUE = event("The staging port is 5433.", "memory.fact", timestamp="2026-11-15T10:00:00Z")
GREEN = event("The staging port is 5544.", "memory.fact", timestamp="2026-11-15T11:00:00Z")
SAID = event("Which port is it?", timestamp="2026-11-15T10:30:00Z")


def digest(bus: Bus) -> list[str]:
    """All that ann has, but when it was written."""
    kept = []
    for record in bus.of().export():
        kept.append(json.dumps({k: v for k, v in record.items() if k not in ("exported_at", "at")}, default=str))
    return sorted(kept)


@pytest.mark.parametrize("known", [False, True], ids=["new", "known before"])
def test_an_event_replayed_after_what_came_later_changes_nothing(bus: Bus, known: bool) -> None:
    """The older value does not come back, and nothing is said twice, also where the text was known from elsewhere."""
    if known:
        bus.of().remember(BLUE["content"], "fact", occurred_at="2026-11-15T09:00:00Z")
        bus.of().remember("Otters hold hands.", "note", origin="import", occurred_at="2026-11-15T09:00:00Z")
    otters = event("Otters hold hands.", "memory.note", timestamp="2026-11-15T09:30:00Z")
    bus.add(BLUE, GREEN, SAID, otters)
    bus.drain()
    once = digest(bus)
    assert len(once) >= 4
    for _ in range(3):
        bus.add(otters, SAID, BLUE, SAID, BLUE, GREEN)
        bus.drain()
    assert digest(bus) == once
    assert bus.stream.dead() == []


def test_what_the_user_took_away_stays_away(bus: Bus) -> None:
    bus.add(BLUE, SAID)
    bus.drain()
    (memory,) = bus.of().memories()
    bus.of().forget(memory.id)
    bus.of().forget(session="chat:1")
    bus.add(BLUE, SAID, BLUE)
    bus.drain()
    assert bus.of().memories() == []
    assert bus.said() == []
    assert bus.stream.dead() == []
