"""Figures of what a scope sees: what the filter lets through is counted, nothing of anybody else (S1.104)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from recollect.store.port import Store
from recollect.store.statsport import Held, Tally
from tests.contract.samples import ANN, BOB, EVE, MODEL, NOW, TINY, memory, talk

MARCH, APRIL = datetime(2026, 3, 2, 23, 59, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
WHERE = replace(NOW, now=datetime(2026, 5, 1, tzinfo=UTC))


def keep(store: Store) -> None:
    store.memories.add(ANN, memory("the door is blue", tags=("paint", "door"), occurred_at=MARCH, session="chat:1"))
    store.memories.add(ANN, memory("we paint on Monday", kind="decision", tags=("paint",), occurred_at=APRIL))
    store.memories.add(ANN.within("shop"), memory("the till is red", project="shop", occurred_at=APRIL))


def test_memories_are_counted_by_kind_tag_session_and_time(store: Store) -> None:
    keep(store)
    found = store.stats.tally(ANN, WHERE, by="month")
    assert found == Tally(
        memories=3,
        tokens=4 + 5 + 4,
        kinds={"fact": 2, "decision": 1},
        tags={"paint": 2, "door": 1},
        sessions={"chat:1": 1},
        periods={"2026-04": 2, "2026-03": 1},
    )
    assert list(found.periods) == ["2026-04", "2026-03"]
    days = store.stats.tally(ANN, WHERE, by="day")
    assert days.periods == {"2026-04-01": 2, "2026-03-02": 1}


def test_the_filter_and_the_project_narrow_what_is_counted(store: Store) -> None:
    keep(store)
    assert store.stats.tally(ANN, replace(WHERE, kinds=("decision",)), by="day").kinds == {"decision": 1}
    assert store.stats.tally(ANN, replace(WHERE, tags=("door",)), by="day").tags == {"paint": 1, "door": 1}
    assert store.stats.tally(ANN, replace(WHERE, until=MARCH), by="day").memories == 1
    assert store.stats.tally(ANN.within("other"), WHERE, by="day").memories == 2
    assert store.stats.tally(ANN.within("shop"), WHERE, by="day").memories == 3


def test_only_the_commonest_values_are_told(store: Store) -> None:
    for number in range(12):
        tags = (f"tag {number:02}", "all") if number != 7 else ("tag 07",)
        store.memories.add(ANN, memory(f"fact {number}", tags=tags, session=f"chat:{number:02}"))
    found = store.stats.tally(ANN, WHERE, by="day", most=3)
    assert found.tags == {"all": 11, "tag 00": 1, "tag 01": 1}
    assert list(found.sessions) == ["chat:00", "chat:01", "chat:02"]
    assert found.memories == 12


def test_what_nobody_wrote_is_nothing(store: Store) -> None:
    keep(store)
    for stranger in (BOB, EVE):
        assert store.stats.tally(stranger, WHERE, by="day") == Tally()
        assert store.stats.held(stranger) == Held()


def test_sessions_turns_and_waiting_texts_are_counted(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "hello", "assistant: hi", "bye"))
    store.sessions.append(ANN.within("shop"), talk("chat:2", "a till"))
    store.sessions.append(BOB, talk("chat:3", "mine"))
    assert store.stats.held(ANN) == Held(sessions=2, turns=3, pending=3)
    assert store.stats.held(ANN.within("other")) == Held(sessions=1, turns=2, pending=3)
    waiting = store.vectors.waiting(10)
    store.vectors.put(MODEL, [(one, TINY.embed(list(one.texts))) for one in waiting])
    assert store.stats.held(ANN).pending == 0
