"""How the bus is can be told from outside: what it waits for, how long it has done nothing, what it brought in."""

from __future__ import annotations

import inspect
import re
import threading

import pytest

from recollect import Recollect, Scope
from recollect.bus import bridge, consumer
from recollect.errors import StoreFull
from recollect.metrics import EVENTS, Metrics
from tests.bus.conftest import Bus, event, until


def test_a_store_that_is_away_is_told_once_and_no_more_when_it_is_back(
    bus: Bus, caplog: pytest.LogCaptureFixture
) -> None:
    full = threading.Event()
    full.set()

    def memory_of(scope: Scope) -> Recollect:
        if full.is_set():
            raise StoreFull("no room for the walrus")
        return bus.memory(scope)

    reader = bus.consumer(memory_of)
    reader.start()
    bus.add(event("Patient."))
    until(lambda: bus.counts["waited"] >= 3)
    assert reader.health()["last_error"] == "StoreFull"
    assert [record.getMessage() for record in caplog.records] == ["the bus waits: StoreFull"]
    full.clear()
    until(lambda: bus.said() == ["Patient."])
    until(lambda: reader.health()["last_error"] is None)


def test_it_is_known_for_how_long_it_had_something_to_do_and_did_nothing(bus: Bus) -> None:
    held = threading.Event()

    def memory_of(scope: Scope) -> Recollect:
        held.wait(20)
        return bus.memory(scope)

    reader = bus.consumer(memory_of)
    reader.start()
    until(lambda: reader.health()["connected"])
    reader._well_at -= 1_000
    until(lambda: reader.health()["stalled_seconds"] < 10)  # nothing is to be done: all is well
    bus.add(event("It takes long."))
    until(lambda: reader._hand)
    reader._well_at -= 1_000
    assert reader.health()["stalled_seconds"] >= 1_000
    held.set()
    until(lambda: bus.said() == ["It takes long."])
    until(lambda: reader.health()["stalled_seconds"] < 10)


def test_the_age_of_the_oldest_event_is_told_to_monitors(bus: Bus) -> None:
    bus.redis.xadd(bus.settings.redis_stream, {"event": "{}"}, id="1000-0")
    assert bus.consumer().gauges()["bus_oldest_seconds"] > 1_000_000


def test_what_came_by_the_bus_is_counted_as_brought_in(bus: Bus) -> None:
    metrics = Metrics()
    reader = bus.consumer(count=metrics.bus)
    fact = event("The staging port is 5433.", "memory.fact")
    bus.add(event("We deploy on Fridays."), fact, fact, b"no event")
    bus.drain(reader)
    found = metrics.render()[0].decode().splitlines()
    for outcome, number in {"stored": 1, "added": 1, "known": 1, "dead": 1}.items():
        assert f'recollect_bus_messages_total{{outcome="{outcome}"}} {number}.0' in found
    assert 'recollect_ingested_total{way="bus"} 2.0' in found


def test_what_becomes_of_an_event_is_said_by_a_word_that_monitors_know() -> None:
    told = {word for one in (bridge, consumer) for word in counted(inspect.getsource(one))}
    assert {"dead", "failed", "waited", "bridged", "heard_twice", "taken_over"} <= told <= set(EVENTS)


def counted(source: str) -> list[str]:
    calls = re.findall(r"_count\(([^)]*), 1\)", source)
    return [word for call in calls for word in re.findall(r'"(\w+)"', call)]
