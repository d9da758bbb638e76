"""Figures by day in any store: what is counted is what is there, of this owner, within the window (S4.19, S1.104)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from recollect.distill.digest import digest_of
from recollect.ids import stable_key
from recollect.model import Cost, Scope, Session
from recollect.store.port import Store
from recollect.store.ports.capture import Seen
from recollect.store.ports.insights import (
    KEPT_DAYS,
    FlavorCoverage,
    MemoryDay,
    Names,
    Newest,
    Read,
    RecallDay,
    SessionDay,
    Storage,
    Taken,
    TaskCount,
    TierSize,
    Window,
)
from tests.contract.samples import ANN, BOB, EVE, event, memory

FIRST = datetime(2026, 3, 2, tzinfo=UTC)
WEEK = Window(FIRST, FIRST + timedelta(days=7))


def at(day: int, hour: int = 12) -> datetime:
    return FIRST + timedelta(days=day, hours=hour)


def ran(store: Store, session: str, day: int, *, scope: Scope = ANN, **about: Any) -> Session:
    """A session of one turn that began on that day."""
    flavor = session.partition(":")[0]
    told = Session(session, flavor, **about)
    said = replace(event(session, 0, "hello", occurred_at=at(day)), kind="user_prompt", way="sweep")
    store.captures.ingest(scope, told, [said])
    return told


def paid(key: str, session: str, day: int, **took: Any) -> Cost:
    return Cost(stable_key(key), session, at(day), **{"model": "opus", "input": 100, "output": 10, **took})


# -- memories ----------------------------------------------------------------------------------------------------------


def keep(store: Store) -> None:
    store.memories.add(ANN, memory("the door is blue", tags=("paint", "door"), occurred_at=at(0, 0)))
    store.memories.add(ANN, memory("the wall is red", tags=("paint",), occurred_at=at(0, 23)))
    store.memories.add(ANN, memory("we paint on Monday", kind="decision", occurred_at=at(2)))
    store.memories.add(ANN, memory("the till is red", project="shop", occurred_at=at(6)))
    store.memories.add(ANN, memory("long ago", occurred_at=at(-1, 23)))
    store.memories.add(ANN, memory("to come", occurred_at=at(7, 0)))


def test_memories_are_counted_by_day_and_kind(store: Store) -> None:
    keep(store)
    assert store.insights.memories(ANN, WEEK) == [
        MemoryDay("2026-03-02", "fact", 2),
        MemoryDay("2026-03-04", "decision", 1),
        MemoryDay("2026-03-08", "fact", 1),
    ]


def test_memories_of_weeks_count_together_and_end_with_the_window(store: Store) -> None:
    keep(store)
    two = Window(FIRST - timedelta(days=7), FIRST + timedelta(days=6), step=7)
    assert store.insights.memories(ANN, two) == [
        MemoryDay("2026-02-23", "fact", 1),
        MemoryDay("2026-03-02", "decision", 1),
        MemoryDay("2026-03-02", "fact", 2),
    ]


def test_a_project_narrows_what_is_counted(store: Store) -> None:
    keep(store)
    assert store.insights.memories(ANN, replace(WEEK, project="shop")) == [MemoryDay("2026-03-08", "fact", 1)]
    assert store.insights.memories(ANN, replace(WEEK, project="nowhere")) == []
    inside = store.insights.memories(ANN.within("other"), WEEK)
    assert sum(one.memories for one in inside) == 3
    assert store.insights.newest(ANN, replace(WEEK, project="shop")).memories == 1


def test_what_does_not_hold_any_more_is_not_counted(store: Store) -> None:
    one, _ = store.memories.add(ANN, memory("the door is blue", occurred_at=at(0)))
    two, _ = store.memories.add(ANN, memory("the wall is red", occurred_at=at(0)))
    store.memories.update(ANN, replace(one, archived_at=at(1)), at=at(1), note="archive")
    store.memories.update(ANN, replace(two, deleted_at=at(1)), at=at(1), note="delete")
    assert store.insights.memories(ANN, WEEK) == []
    assert store.insights.newest(ANN, WEEK) == Newest()


def test_the_newest_memories_tell_their_tags_and_reads(store: Store) -> None:
    keep(store)
    door = store.memories.find(ANN, _all(), limit=10)[-2]
    store.memories.touch(ANN, {door.id: 3}, at=at(8))
    found = store.insights.newest(ANN, WEEK)
    assert (found.memories, found.read, found.reads) == (4, 1, 3)
    assert list(found.tags.items()) == [("paint", 2), ("door", 1)]
    assert found.most_read == (Read(door.id, door.content, 3),)
    assert store.insights.newest(ANN, WEEK, limit=2).memories == 2


def _all() -> Any:
    from recollect.store.ports.memories import Filter

    return Filter(now=at(30))


# -- sessions and what they cost ---------------------------------------------------------------------------------------


def test_sessions_are_counted_by_day_agent_and_outcome_with_their_health(store: Store) -> None:
    one = ran(store, "claude:1", 0, project="shop")
    ran(store, "claude:2", 0, project="shop")
    ran(store, "codex:1", 3)
    ran(store, "codex:0", -1)
    store.digests.put(ANN, digest_of(one, (), ()), covers=0, at=at(1), health=80)
    assert store.insights.sessions(ANN, WEEK) == [
        SessionDay("2026-03-02", "claude", "unknown", 2, 1, 80),
        SessionDay("2026-03-05", "codex", "unknown", 1, 0, 0),
    ]
    weeks = replace(WEEK, since=FIRST - timedelta(days=7), step=7)
    assert [(one.day, one.sessions) for one in store.insights.sessions(ANN, weeks)] == [
        ("2026-02-23", 1),
        ("2026-03-02", 2),
        ("2026-03-02", 1),
    ]
    assert [day.flavor for day in store.insights.sessions(ANN, replace(WEEK, flavor="codex"))] == ["codex"]
    assert [day.flavor for day in store.insights.sessions(ANN, replace(WEEK, project="shop"))] == ["claude"]
    assert [day.flavor for day in store.insights.sessions(ANN.within("other"), WEEK)] == ["codex"]


def test_health_is_put_down_for_digests_that_have_none(store: Store) -> None:
    one, two = ran(store, "claude:1", 0), ran(store, "claude:2", 0, project="shop")
    for told in (one, two):
        store.digests.put(ANN, digest_of(told, (), ()), covers=0, at=at(1))
    assert {digest.session for digest in store.digests.unscored(ANN, limit=10)} == {"claude:1", "claude:2"}
    assert [digest.session for digest in store.digests.unscored(ANN.within("other"), limit=10)] == ["claude:1"]
    store.digests.score(ANN, {"claude:1": 70, "claude:2": 90, "claude:unknown": 1})
    assert store.digests.unscored(ANN, limit=10) == []
    assert sum(day.points for day in store.insights.sessions(ANN, WEEK)) == 160
    store.digests.score(ANN, {"claude:1": 5})
    assert sum(day.points for day in store.insights.sessions(ANN, WEEK)) == 160, "what is known stays"


def test_costs_are_summed_by_day_agent_project_and_model(store: Store) -> None:
    told = ran(store, "claude:1", 0, project="shop")
    costs = [
        paid("a", told.id, 0, usd=0.5, cache_read=1_000),
        paid("b", told.id, 0, usd=0.25, cache_write_5m=10, cache_write_1h=5),
        paid("c", told.id, 1, model=None),
        paid("d", told.id, 9, usd=1.0),
    ]
    store.captures.ingest(ANN, told, [], costs)
    assert store.insights.costs(ANN, WEEK) == [
        Taken("agent", "claude", "2026-03-02", 2, 200, 1_000, 15, 20, 0.75, 2),
        Taken("agent", "claude", "2026-03-03", 1, 100, 0, 0, 10, 0.0, 0),
        Taken("project", "shop", "", 3, 300, 1_000, 15, 30, 0.75, 2),
        Taken("model", "", "", 1, 100, 0, 0, 10, 0.0, 0),
        Taken("model", "opus", "", 2, 200, 1_000, 15, 20, 0.75, 2),
    ]
    assert store.insights.costs(ANN, WEEK)[0].tokens == 1_235
    weeks = replace(WEEK, until=FIRST + timedelta(days=14), step=7)
    by_week = [one for one in store.insights.costs(ANN, weeks) if one.of == "agent"]
    assert [(one.day, one.requests, one.usd) for one in by_week] == [("2026-03-02", 3, 0.75), ("2026-03-09", 1, 1.0)]
    assert store.insights.costs(ANN, replace(WEEK, flavor="codex")) == []
    assert store.insights.costs(ANN, replace(WEEK, project="other")) == []
    assert store.insights.costs(ANN.within("other"), WEEK) == []


def test_a_cost_that_grows_is_counted_once_and_as_it_is_now(store: Store) -> None:
    told = ran(store, "claude:1", 0)
    store.captures.ingest(ANN, told, [], [paid("a", told.id, 0, usd=0.5)])
    store.captures.ingest(ANN, told, [], [paid("a", told.id, 1, usd=0.75, output=20)])
    figures = (1, 100, 0, 0, 20, 0.75, 1)
    assert store.insights.costs(ANN, WEEK) == [
        Taken("agent", "claude", "2026-03-03", *figures),
        Taken("project", "", "", *figures),
        Taken("model", "opus", "", *figures),
    ]


def test_costs_go_with_their_session_and_follow_its_project(store: Store) -> None:
    told = ran(store, "claude:1", 0)
    store.captures.ingest(ANN, told, [], [paid("a", told.id, 0), paid("b", told.id, 0)])
    store.captures.ingest(ANN, replace(told, project="shop"), [])
    assert [one.name for one in store.insights.costs(ANN, WEEK) if one.of == "project"] == ["shop"]
    store.keeping.forget_session(ANN, told.id, at=at(2))
    assert store.insights.costs(ANN, WEEK) == []


# -- coverage ----------------------------------------------------------------------------------------------------------


def test_coverage_counts_each_turn_once_and_tells_what_is_missing(store: Store) -> None:
    there, gone, out, twice = (stable_key("turn", name) for name in "abcd")
    told = Session("claude:1", "claude", project="shop")
    said = [
        replace(event("claude:1", 0, "hello", key=there, occurred_at=at(0)), kind="user_prompt", way="sweep"),
        replace(event("claude:1", 1, "again", key=twice, occurred_at=at(0)), kind="user_prompt", way="sweep"),
    ]
    file = Seen("/logs/1", "claude", "claude:1", "read", at(0), turns=(there, gone, out, twice), withheld=(out,))
    copy = Seen("/logs/2", "claude", "claude:1", "read", at(0), turns=(twice,))
    empty = Seen("/logs/3", "claude", None, "empty", at(0))
    store.captures.ingest(ANN, told, said, transcript=file)
    store.captures.note(ANN, copy)
    store.captures.note(ANN, empty)
    (found,) = store.insights.coverage(ANN, WEEK)
    assert found == FlavorCoverage("claude", 2, 4, 2, 1)
    assert found.missing == 1
    assert store.insights.coverage(ANN, replace(WEEK, flavor="codex")) == []
    assert store.insights.coverage(ANN, replace(WEEK, project="other")) == []
    assert store.insights.coverage(ANN.within("shop"), WEEK) == [], "agents' files are an owner's"
    assert [one.files for one in store.insights.coverage(ANN, WEEK, files=1)] == [1]


# -- how often it was asked --------------------------------------------------------------------------------------------


def test_questions_are_added_up_by_day(store: Store) -> None:
    keep(store)
    store.insights.count_recalls(ANN, [RecallDay("2026-03-02", 3, 1, 5), RecallDay("2026-03-03", 1, 1, 0)])
    store.insights.count_recalls(ANN, [RecallDay("2026-03-02", 2, 0, 2)])
    assert store.insights.recalls(ANN, WEEK) == [
        RecallDay("2026-03-02", 5, 1, 7),
        RecallDay("2026-03-03", 1, 1, 0),
    ]


def test_what_was_asked_long_ago_goes(store: Store) -> None:
    keep(store)
    old = (FIRST - timedelta(days=KEPT_DAYS + 1)).date().isoformat()
    store.insights.count_recalls(ANN, [RecallDay(old, 1, 0, 0)])
    ever = Window(FIRST - timedelta(days=2_000), WEEK.until)
    assert len(store.insights.recalls(ANN, ever)) == 1
    store.insights.count_recalls(ANN, [RecallDay("2026-03-02", 1, 0, 0)])
    assert [one.day for one in store.insights.recalls(ANN, ever)] == ["2026-03-02"]


def test_whoever_keeps_nothing_is_not_counted(store: Store) -> None:
    store.insights.count_recalls(BOB, [RecallDay("2026-03-02", 1, 0, 0)])
    assert store.insights.recalls(BOB, WEEK) == []


# -- what it takes -----------------------------------------------------------------------------------------------------


def test_storage_tells_documents_by_tier_and_what_waits(store: Store) -> None:
    keep(store)
    ran(store, "claude:1", 0)
    found = store.insights.storage(ANN)
    assert found.tiers == (TierSize("memory", 6, 6), TierSize("gist", 0, 0), TierSize("turn", 1, 1))
    assert (found.bodies, found.body_bytes, found.evicted) == (0, 0, 0)
    assert store.insights.storage(ANN.within("shop")) == Storage()
    assert store.insights.database_bytes() > 10_000


def test_tasks_are_counted_by_kind_and_state(store: Store) -> None:
    keep(store)
    for session in ("claude:1", "claude:2"):
        store.tasks.put(ANN, "distill", session, at=at(0))
    store.tasks.put(ANN, "gist", "claude:1", at=at(0))
    assert store.insights.tasks(ANN) == [TaskCount("distill", "waiting", 2), TaskCount("gist", "waiting", 1)]


def test_agents_and_projects_are_named(store: Store) -> None:
    ran(store, "claude:1", 0, project="shop")
    ran(store, "codex:1", 0)
    assert store.insights.names(ANN) == Names(("claude", "codex"), ("shop",))
    assert store.insights.names(ANN.within("other")) == Names(("codex",), ())


# -- whose it is -------------------------------------------------------------------------------------------------------


def test_nobody_is_told_anything_of_others(store: Store) -> None:
    keep(store)
    told = ran(store, "claude:1", 0, project="shop")
    store.captures.ingest(ANN, told, [], [paid("a", told.id, 0, usd=1.0)])
    store.insights.count_recalls(ANN, [RecallDay("2026-03-02", 1, 0, 0)])
    store.tasks.put(ANN, "distill", "claude:1", at=at(0))
    store.memories.add(BOB, memory("mine", occurred_at=at(20)))
    for stranger in (BOB, EVE):
        seen = store.insights
        assert seen.memories(stranger, WEEK) == seen.sessions(stranger, WEEK) == seen.costs(stranger, WEEK) == []
        assert seen.recalls(stranger, WEEK) == seen.tasks(stranger) == seen.coverage(stranger, WEEK) == []
        assert seen.newest(stranger, WEEK) == Newest()
        assert seen.names(stranger) == Names()


def test_forgetting_everything_takes_the_figures_along(store: Store) -> None:
    keep(store)
    told = ran(store, "claude:1", 0, project="shop")
    store.captures.ingest(ANN, told, [], [paid("a", told.id, 0, usd=1.0)])
    store.insights.count_recalls(ANN, [RecallDay("2026-03-02", 1, 0, 0)])
    store.keeping.forget_all(ANN, at=at(1))
    seen = store.insights
    assert seen.memories(ANN, WEEK) == seen.sessions(ANN, WEEK) == seen.costs(ANN, WEEK) == []
    assert seen.recalls(ANN, WEEK) == seen.coverage(ANN, WEEK) == []
    assert seen.names(ANN) == Names()
