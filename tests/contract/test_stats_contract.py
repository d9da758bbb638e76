"""Figures of what a scope sees: what the filter lets through is counted, nothing of anybody else (S1.104)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from recollect.store.port import Store
from recollect.store.ports.stats import Facets, Held, Named, Tally
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


def test_memories_are_counted_by_what_they_can_be_narrowed_by(store: Store) -> None:
    store.sessions.append(ANN, talk("claude:1", "hello"))
    keep(store)
    seen = memory("seen there", session="claude:1", origin="tool", tags=("paint",), meta={"pinned": "x"})
    store.memories.add(ANN, seen)
    found = store.stats.facets(ANN, WHERE, look=100)
    assert found == Facets(
        memories=4,
        complete=True,
        kinds={"fact": 3, "decision": 1},
        tags={"paint": 3, "door": 1},
        projects={"shop": 1},
        agents={"claude": 1},
        trusts={"user": 3, "quoted": 1},
    )
    assert store.stats.facets(ANN, replace(WHERE, flavors=("claude",)), look=100).memories == 1
    assert store.stats.facets(ANN, replace(WHERE, pinned=True), look=100).trusts == {"quoted": 1}
    assert store.stats.facets(ANN, replace(WHERE, tags=("door",)), look=100).tags == {"door": 1, "paint": 1}
    assert store.stats.facets(ANN.within("other"), WHERE, look=100).projects == {}
    assert store.stats.facets(ANN, WHERE, look=100, most=1).tags == {"paint": 3}


def test_only_the_newest_are_looked_at_and_that_is_said(store: Store) -> None:
    keep(store)
    found = store.stats.facets(ANN, WHERE, look=2)
    assert (found.memories, found.complete) == (2, False)
    assert "door" not in found.tags
    assert not store.stats.facets(ANN, WHERE, look=3).complete  # there may be a fourth
    assert store.stats.facets(ANN, WHERE, look=4).complete


def test_names_are_found_as_they_are_typed(store: Store) -> None:
    keep(store)
    store.memories.add(ANN, memory("odd", tags=("100%", "PAINTER", "a_b")))
    assert store.stats.named(ANN, "pa", look=100, most=5) == Named(("paint", "PAINTER"), ())
    assert store.stats.named(ANN, "ho", look=100, most=5) == Named((), ("shop",))
    assert store.stats.named(ANN, "%", look=100, most=5) == Named()
    assert store.stats.named(ANN, "a_", look=100, most=5).tags == ("a_b",)
    assert store.stats.named(ANN, "do", look=2, most=5) == Named()  # the door is older
    assert store.stats.named(ANN, "pa", look=100, most=1).tags == ("paint",)
    for stranger in (BOB, EVE):
        assert store.stats.named(stranger, "pa", look=100, most=5) == Named()
        assert store.stats.facets(stranger, WHERE, look=100) == Facets()
