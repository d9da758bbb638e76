"""Consolidating: steps are taken whole or not at all and given back exactly; what is forgotten is in no journal."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from recollect.clock import iso
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.model import Memory, Scope
from recollect.store.port import Store
from recollect.store.ports.keeping import Ages
from recollect.store.ports.memories import Filter
from recollect.store.ports.relations import Relation, Run, Step
from tests.contract.samples import ANN, BOB, EVE, LATER, T0, gist, memory, talk

RUN = Run("run-1", LATER, memories=9, by="ann")


def keep(store: Store, content: str, scope: Scope = ANN, **changes: Any) -> Memory:
    kept, new = store.memories.add(scope, memory(content, **changes))
    assert new
    return kept


def merging(loser: Memory, kept: Memory, run: str = RUN.id) -> Step:
    after = {
        "superseded_by": kept.id,
        "superseded_at": iso(loser.occurred_at),
        "meta.merged": {"into": kept.id, "lent": [], "run": run},
    }
    needs = ((loser.id, loser.version), (kept.id, kept.version))
    return Step("merge", loser.id, kept.id, dict.fromkeys(after), after, needs)


def demoting(one: Memory) -> Step:
    needs = ((one.id, one.version),)
    return Step("demote", one.id, "", {"archived_at": None}, {"archived_at": iso(LATER)}, needs)


def relating(source: Memory, *targets: Memory, before: tuple[Relation, ...] = (), run: str = RUN.id) -> Step:
    there = [[one.target, one.kind, one.run, iso(one.at or LATER)] for one in before]
    made = [[one.id, "same_subject", run, iso(LATER)] for one in targets]
    return Step("relate", source.id, "", {"relations": there}, {"relations": made})


def rolling(period: str, content: str, *sessions: str, before: Step | None = None, project: str = "") -> Step:
    covers = {session: [3, iso(T0)] for session in sessions}
    made = {"content": content, "covers": covers, "maker": "extractive", "made_at": iso(LATER)}
    return Step("rollup", period, project, before.after if before else {}, made if sessions else {})


def stored(store: Store, scope: Scope = ANN) -> dict[str, Memory]:
    """Every memory as it is but for its version and how often it was read."""
    where = Filter(now=LATER, archived=True, history=True)
    return {one.id: replace(one, version=0) for one in store.memories.find(scope, where, limit=99)}


def journal(store: Store, run: str = RUN.id, scope: Scope = ANN) -> str:
    return json.dumps(
        [[one.subject, one.other, one.before, one.after] for one in store.consolidations.steps(scope, run)]
    )


def test_what_was_done_is_given_back_exactly(store: Store) -> None:
    one = keep(store, "the port is 5433", meta={"z": 1, "a": [None, "ü"]}, tags=("t",))
    other = keep(store, "the port is now 5433")
    stale = keep(store, "somebody looked at it")
    store.memories.touch(ANN, {stale.id: 3}, at=T0)
    before = stored(store)
    first = rolling("2026-11", "walrus", "s1")
    steps = [merging(one, other), demoting(stale), relating(one, other), first]
    assert store.consolidations.apply(ANN, RUN, steps, at=LATER) == [True] * 4
    after = stored(store)
    assert (after[one.id].superseded_by, after[stale.id].archived_at) == (other.id, LATER)
    assert after[one.id].meta["merged"]["run"] == RUN.id
    assert after[other.id] == before[other.id]
    assert [one.key for one in store.consolidations.relations(ANN)] == [(one.id, other.id, "same_subject")]
    assert [(one.period, one.content, dict(one.covers)) for one in store.consolidations.rollups(ANN)] == [
        ("2026-11", "walrus", {"s1": (3, iso(T0))})
    ]
    [run] = store.consolidations.runs(ANN, limit=9)
    assert (run.changed, run.counts) == (2, {"merge": 1, "demote": 1, "relate": 1, "rollup": 1})
    undone = store.consolidations.undo(ANN, RUN.id, at=LATER)
    assert (undone.restored, undone.kept) == (4, ())
    assert stored(store) == before
    assert list(stored(store)[one.id].meta) == list(before[one.id].meta), "in the same order"
    assert store.consolidations.relations(ANN) == []
    assert store.consolidations.rollups(ANN) == []
    assert store.consolidations.refused(ANN) == {("merge", one.id, other.id), ("demote", stale.id, "")}
    with pytest.raises(Conflict, match="before"):
        store.consolidations.undo(ANN, RUN.id, at=LATER)
    with pytest.raises(Conflict, match="undone"):
        store.consolidations.apply(ANN, RUN, [demoting(stale)], at=LATER)


def test_every_change_is_in_the_audit(store: Store) -> None:
    """P32."""
    one, other, stale = (keep(store, text) for text in ("one thing", "one thing more", "another"))
    store.consolidations.apply(ANN, RUN, [merging(one, other), demoting(stale)], at=LATER)
    store.consolidations.undo(ANN, RUN.id, at=LATER)
    noted = [(entry.action, entry.subject) for entry in store.audit.find(ANN, limit=5)]
    assert noted == [
        ("undo", RUN.id),
        ("reinstate", one.id),
        ("reinstate", stale.id),
        ("demote", stale.id),
        ("merge", one.id),
    ]
    assert store.audit.verify(ANN).whole


@pytest.mark.parametrize("which", ["what is merged", "what stays"])
def test_who_edits_meanwhile_wins(store: Store, which: str) -> None:
    """P31."""
    one, other = keep(store, "one thing"), keep(store, "one thing more")
    third = keep(store, "untouched")
    edited = one if which == "what is merged" else other
    store.memories.update(ANN, replace(edited, content="edited"), at=LATER, note="update")
    before = stored(store)
    assert store.consolidations.apply(ANN, RUN, [merging(one, other), demoting(third)], at=LATER) == [False, True]
    assert {**stored(store), third.id: before[third.id]} == before
    assert [step.kind for step in store.consolidations.steps(ANN, RUN.id)] == ["demote"]


@pytest.mark.parametrize("how", ["soft", "hard"])
def test_what_is_gone_meanwhile_is_not_touched(store: Store, how: str) -> None:
    one, other = keep(store, "one thing"), keep(store, "one thing more")
    if how == "hard":
        store.keeping.forget_memory(ANN, other.id, at=LATER)
    else:
        store.memories.update(ANN, replace(other, deleted_at=LATER), at=LATER, note="delete")
    before = stored(store)
    assert store.consolidations.apply(ANN, RUN, [merging(one, other)], at=LATER) == [False]
    assert stored(store) == before
    assert store.consolidations.runs(ANN, limit=9) == [], "of a run that did nothing, nothing is noted"


def test_undoing_leaves_to_others_what_they_changed_since(store: Store) -> None:
    one, other, stale = (keep(store, text) for text in ("one thing", "one thing more", "another"))
    store.consolidations.apply(ANN, RUN, [merging(one, other), demoting(stale)], at=LATER)
    merged, away = store.memories.get(ANN, one.id), store.memories.get(ANN, stale.id)
    assert merged is not None
    assert away is not None
    store.memories.update(ANN, replace(merged, content="edited", importance=0.9), at=LATER, note="update")
    store.memories.update(ANN, replace(away, archived_at=None), at=LATER, note="archive")
    undone = store.consolidations.undo(ANN, RUN.id, at=LATER)
    assert (undone.restored, undone.kept) == (1, (stale.id,))
    back = stored(store)[one.id]
    assert (back.superseded_at, back.content, back.importance, "merged" in back.meta) == (None, "edited", 0.9, False)


def test_undoing_makes_no_second_memory_of_one_text(store: Store) -> None:
    one, other = keep(store, "one thing"), keep(store, "one thing more")
    store.consolidations.apply(ANN, RUN, [merging(one, other)], at=LATER)
    again = keep(store, "One  THING")
    undone = store.consolidations.undo(ANN, RUN.id, at=LATER)
    assert (undone.restored, undone.kept) == (0, (one.id,))
    assert [found.id for found in store.memories.find(ANN, Filter(now=LATER), limit=9)] == sorted([other.id, again.id])


def test_a_run_goes_on_in_several_transactions(store: Store) -> None:
    stale = [keep(store, f"thing number {number}") for number in range(3)]
    for one in stale:
        store.consolidations.apply(ANN, RUN, [demoting(one)], at=LATER)
    [run] = store.consolidations.runs(ANN, limit=9)
    assert (run.counts, run.memories, run.by) == ({"demote": 3}, 9, "ann")
    assert [step.number for step in store.consolidations.steps(ANN, RUN.id)] == [1, 2, 3]
    assert store.consolidations.undo(ANN, RUN.id, at=LATER).restored == 3


def test_runs_are_undone_in_any_order(store: Store) -> None:
    one, other, third = (keep(store, f"thing {name}") for name in ("a", "b", "c"))
    before = stored(store)
    store.consolidations.apply(ANN, RUN, [relating(one, other), rolling("2026-11", "first", "s1")], at=LATER)
    there = tuple(store.consolidations.relations(ANN, [one.id]))
    second = replace(RUN, id="run-2", made_at=LATER + timedelta(days=1))
    former = rolling("2026-11", "first", "s1")
    made = replace(rolling("2026-11", "second", "s1", "s2", before=former))
    made = replace(made, after={**made.after, "made_at": iso(second.made_at)})
    store.consolidations.apply(
        ANN, second, [relating(one, third, before=there, run="run-2"), made, demoting(third)], at=LATER
    )
    assert [run.id for run in store.consolidations.runs(ANN, limit=9)] == ["run-2", "run-1"]
    assert [run.id for run in store.consolidations.runs(ANN, limit=1, offset=1)] == ["run-1"]
    store.consolidations.undo(ANN, "run-2", at=LATER)
    assert [(found.target, found.run) for found in store.consolidations.relations(ANN)] == [(other.id, "run-1")]
    assert [found.content for found in store.consolidations.rollups(ANN)] == ["first"]
    store.consolidations.undo(ANN, "run-1", at=LATER)
    assert (store.consolidations.relations(ANN), store.consolidations.rollups(ANN)) == ([], [])
    assert stored(store) == before


def test_relations_are_between_memories_that_are_there(store: Store) -> None:
    one, other, third = (keep(store, f"thing {name}") for name in ("a", "b", "c"))
    store.consolidations.apply(ANN, RUN, [relating(one, other, third), relating(other, third)], at=LATER)
    assert len(store.consolidations.relations(ANN)) == 3
    assert {found.key for found in store.consolidations.relations(ANN, [third.id])} == {
        (one.id, third.id, "same_subject"),
        (other.id, third.id, "same_subject"),
    }
    store.memories.update(ANN, replace(third, deleted_at=LATER), at=LATER, note="delete")
    assert [found.target for found in store.consolidations.relations(ANN)] == [other.id]
    gone = memory("never kept")
    store.consolidations.apply(ANN, RUN, [relating(one, gone, run="x")], at=LATER)
    assert gone.id not in {found.target for found in store.consolidations.relations(ANN)}
    assert store.consolidations.relations(ANN, []) == []


def test_they_are_their_owners_own(store: Store) -> None:
    one, other = keep(store, "one thing"), keep(store, "one thing more")
    steps = [merging(one, other), relating(one, other), rolling("2026-11", "walrus", "s1")]
    store.consolidations.apply(ANN, RUN, steps, at=LATER)
    for stranger in (BOB, EVE, ANN.within("unknown")):
        keep(store, "something of theirs", scope=stranger, project=stranger.project)
        assert store.consolidations.runs(stranger, limit=9) == []
        assert store.consolidations.steps(stranger, RUN.id) == []
        assert store.consolidations.refused(stranger) == set()
        with pytest.raises(NotFound):
            store.consolidations.undo(stranger, RUN.id, at=LATER)
        if stranger.project is None:
            assert store.consolidations.relations(stranger) == []
            assert store.consolidations.relations(stranger, [one.id]) == []
            assert store.consolidations.rollups(stranger) == []
            assert store.consolidations.apply(stranger, replace(RUN, id="x"), [merging(one, other)], at=LATER) == [
                False
            ]


def test_in_a_project_there_is_what_was_done_in_it(store: Store) -> None:
    tide, moon = ANN.within("tide"), ANN.within("moon")
    kept = {
        name: [keep(store, f"{name} {n}", scope=ANN.within(name), project=name) for n in "ab"]
        for name in ("tide", "moon")
    }
    for name, scope in (("tide", tide), ("moon", moon)):
        first, second = kept[name]
        steps = [relating(first, second, run=name), demoting(second), rolling("2026-11", name, name, project=name)]
        store.consolidations.apply(scope, replace(RUN, id=name), steps, at=LATER)
    assert [run.id for run in store.consolidations.runs(tide, limit=9)] == ["tide"]
    assert {one.source for one in store.consolidations.relations(tide)} == {kept["tide"][0].id}
    assert [one.content for one in store.consolidations.rollups(tide)] == ["tide"]
    assert {run.id for run in store.consolidations.runs(ANN, limit=9)} == {"moon", "tide"}
    assert len(store.consolidations.relations(ANN)) == len(store.consolidations.rollups(ANN)) == 2
    with pytest.raises(NotFound):
        store.consolidations.undo(tide, "moon", at=LATER)
    assert store.consolidations.apply(tide, replace(RUN, id="new"), [demoting(kept["moon"][0])], at=LATER) == [False]
    store.keeping.forget_all(tide, at=LATER)
    assert [run.id for run in store.consolidations.runs(ANN, limit=9)] == ["moon"]
    assert [one.content for one in store.consolidations.rollups(ANN)] == ["moon"]


def test_what_was_undone_everywhere_is_not_wanted_in_a_project(store: Store) -> None:
    kept = {name: keep(store, name, scope=ANN.within(name), project=name) for name in ("tide", "moon")}
    store.consolidations.apply(ANN, RUN, [demoting(one) for one in kept.values()], at=LATER)
    store.consolidations.undo(ANN, RUN.id, at=LATER)
    assert store.consolidations.refused(ANN.within("tide")) == {("demote", kept["tide"].id, "")}


def test_what_is_forgotten_is_in_no_journal(store: Store) -> None:
    secret, other = keep(store, "a walrus", meta={"walrus": "w"}), keep(store, "a walrus more")
    store.sessions.append(ANN, [*talk("s1", "a walrus said"), *talk("s2", "another")])
    store.gists.put(ANN, gist("s1", "a walrus"))
    steps = [merging(secret, other), relating(secret, other), relating(other, secret)]
    steps += [rolling("2026-11", "of a walrus", "s1", "s2"), rolling("2026-W46", "tulip", "s2")]
    store.consolidations.apply(ANN, RUN, steps, at=LATER)
    old = rolling("2026-11", "of a walrus", "s1", "s2")
    second = replace(RUN, id="run-2")
    store.consolidations.apply(ANN, second, [rolling("2026-11", "of a tulip", "s2", before=old)], at=LATER)
    assert "walrus" in journal(store, "run-2")
    store.keeping.forget_memory(ANN, secret.id, at=LATER)
    assert store.consolidations.relations(ANN) == []
    assert secret.id not in [step.subject for step in store.consolidations.steps(ANN, RUN.id)]
    store.keeping.forget_session(ANN, "s1", at=LATER)
    assert "walrus" not in journal(store) + journal(store, "run-2")
    assert [one.content for one in store.consolidations.rollups(ANN)] == ["of a tulip", "tulip"]
    undone = store.consolidations.undo(ANN, "run-2", at=LATER)
    assert (undone.restored, undone.kept) == (0, ())
    store.consolidations.undo(ANN, RUN.id, at=LATER)
    assert all("walrus" not in one.content for one in store.consolidations.rollups(ANN))
    assert store.memories.get(ANN, secret.id) is None
    assert store.consolidations.relations(ANN) == []


def test_what_is_redacted_is_in_no_journal(store: Store) -> None:
    one, other = keep(store, "one thing"), keep(store, "one thing more")
    store.consolidations.apply(ANN, RUN, [merging(one, other), relating(one, other)], at=LATER)
    merged = store.memories.get(ANN, one.id)
    assert merged is not None
    store.memories.update(ANN, replace(merged, deleted_at=LATER), at=LATER, note="delete")
    soon, long_ago = LATER + timedelta(days=1), T0 - timedelta(days=999)
    ages = Ages(long_ago, 0, redact_before=soon, purge_before=long_ago)
    assert store.keeping.upkeep(now=soon, ages=ages).redacted == 1
    assert store.consolidations.steps(ANN, RUN.id) == []
    assert store.consolidations.relations(ANN) == []


def test_forgetting_everything_takes_all_of_it(store: Store) -> None:
    for scope in (ANN, BOB):
        one, other = keep(store, "one thing", scope=scope), keep(store, "one thing more", scope=scope)
        steps = [merging(one, other), relating(one, other), rolling("2026-11", "walrus", "s1")]
        store.consolidations.apply(scope, RUN, steps, at=LATER)
    store.keeping.forget_all(ANN, at=LATER)
    assert (store.consolidations.runs(ANN, limit=9), store.consolidations.rollups(ANN)) == ([], [])
    assert store.consolidations.steps(ANN, RUN.id) == []
    assert len(store.consolidations.steps(BOB, RUN.id)) == 3
    assert len(store.consolidations.rollups(BOB)) == len(store.consolidations.relations(BOB)) == 1


def test_old_runs_let_go_what_is_made_again_and_keep_what_they_did_to_memories(store: Store) -> None:
    one, other = keep(store, "one thing"), keep(store, "one thing more")
    steps = [merging(one, other), relating(one, other), rolling("2026-11", "walrus", "s1")]
    store.consolidations.apply(ANN, RUN, steps, at=LATER)
    for days, left in ((29, 3), (31, 1)):
        later = replace(RUN, id=f"after {days}", made_at=LATER + timedelta(days=days))
        store.consolidations.apply(ANN, later, [demoting(keep(store, f"thing {days}"))], at=later.made_at)
        assert len(store.consolidations.steps(ANN, RUN.id)) == left
    assert [step.kind for step in store.consolidations.steps(ANN, RUN.id)] == ["merge"]
    assert store.consolidations.undo(ANN, RUN.id, at=LATER).restored == 1


def test_a_step_changes_nothing_but_what_consolidating_may(store: Store) -> None:
    one = keep(store, "one thing", trust="quoted", origin="web")
    for step in (
        Step("demote", one.id, "", {"trust": "quoted"}, {"trust": "user"}),
        Step("demote", one.id, "", {"content": one.content}, {"content": "another"}),
        Step("delete", one.id),
    ):
        with pytest.raises(InvalidInput):
            store.consolidations.apply(ANN, RUN, [step], at=LATER)
    assert store.memories.get(ANN, one.id) == one
