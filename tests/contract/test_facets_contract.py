"""Facets tell what is there now: whatever was written, by whom and from where, and however often they were asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.errors import NotFound
from recollect.model import Memory, Scope
from recollect.store.port import Store
from recollect.store.ports.memories import Filter
from recollect.store.ports.stats import Facets
from recollect.store.postgres.store import PostgresStore
from recollect.store.rows import facets
from recollect.store.sqlite.store import SqliteStore
from tests.contract.samples import ANN, BOB, LATER, NOW, T0, memory, talk

EVERYTHING = replace(NOW, archived=True, history=True)
FILTERS: dict[str, Filter] = {
    "all": NOW,
    "everything": EVERYTHING,
    "kind": replace(NOW, kinds=("decision",)),
    "tag": replace(NOW, tags=("paint",)),
    "project": replace(NOW, project="shop"),
    "agent": replace(NOW, flavors=("claude",)),
    "trust": replace(NOW, trusts=("quoted",)),
}


def counted(store: Store, scope: Scope, where: Filter) -> Facets:
    """The same counts from the memories themselves."""
    found = store.memories.find(scope, where, limit=1_000)
    flavors = {one.id: one.flavor for one in store.sessions.find(scope, limit=1_000)}
    lists = (
        [one.kind for one in found],
        [tag for one in found for tag in one.tags],
        [one.project for one in found if one.project],
        [flavors[one.session] for one in found if one.session in flavors],
        [one.trust for one in found],
    )
    told = (dict(sorted(Counter(each).items(), key=lambda item: (-item[1], item[0]))) for each in lists)
    return Facets(len(found), True, *told)


def as_listed(found: Facets) -> tuple[object, ...]:
    """With the order of each list, which `==` of two mappings does not look at."""
    lists = (found.kinds, found.tags, found.projects, found.agents, found.trusts)
    return (found.memories, found.complete, *(list(each.items()) for each in lists))


def agree(store: Store, scope: Scope = ANN, where: Filter | None = None) -> None:
    for one in FILTERS.values() if where is None else (where,):
        for _ in range(2):  # as they are counted, and as they were kept
            assert as_listed(store.stats.facets(scope, one, look=1_000)) == as_listed(counted(store, scope, one))


def only(store: Store, scope: Scope = ANN) -> Memory:
    return store.memories.find(scope, EVERYTHING, limit=1)[0]


def changed(**values: object) -> Callable[[Store], object]:
    return lambda store: store.memories.update(ANN, replace(only(store), **values), at=LATER, note="edit")  # type: ignore[arg-type]


def forgotten_session(store: Store) -> object:
    return store.keeping.forget_session(ANN, "claude:1", at=LATER)


CHANGES: dict[str, Callable[[Store], object]] = {
    "added": lambda store: store.memories.add(ANN, memory("another", kind="decision", tags=("door",))),
    "added elsewhere": lambda store: store.memories.add(ANN.within("shop"), memory("the till", project="shop")),
    "tagged": changed(tags=("door", "paint", "Żółw", '"],["')),
    "of another kind": changed(kind="decision"),
    "archived": changed(archived_at=LATER),
    "superseded": changed(superseded_at=T0 + timedelta(days=1)),
    "forgotten": lambda store: store.keeping.forget_memory(ANN, only(store).id, at=LATER),
    "its session forgotten": forgotten_session,
    "all forgotten": lambda store: store.keeping.forget_all(ANN, at=LATER),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_written_is_counted_at_once(store: Store, change: Callable[[Store], object]) -> None:
    store.sessions.append(ANN, talk("claude:1", "hello"))
    store.memories.add(ANN, memory("the door is blue", tags=("paint",), session="claude:1", meta={"pinned": "x"}))
    agree(store)
    change(store)
    agree(store)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(sorted(CHANGES)), max_size=6), scope=st.sampled_from([ANN, ANN.within("shop")]))
def test_after_any_changes_the_facets_are_those_of_the_memories(
    new_store: Callable[[], Store], steps: list[str], scope: Scope
) -> None:
    store = new_store()
    store.sessions.append(ANN, talk("claude:1", "hello"))
    for step in steps:
        store.memories.add(ANN, memory(f"the door is blue {step}", tags=("paint", step), session="claude:1"))
        CHANGES[step](store)
        agree(store, scope)


def test_what_expires_is_no_longer_counted_and_nothing_was_written(store: Store) -> None:
    store.memories.add(ANN, memory("until noon", tags=("lunch",), expires_at=LATER + timedelta(hours=1)))
    store.memories.add(ANN, memory("until dusk", expires_at=LATER + timedelta(hours=8)))
    hours = {0: 2, 0.99: 2, 1: 1, 7.9: 1, 8: 0, 0.5: 2}  # the last: somebody set the clock back
    for passed, left in hours.items():
        where = replace(NOW, now=LATER + timedelta(hours=passed))
        found = store.stats.facets(ANN, where, look=100)
        assert (found.memories, "lunch" in found.tags) == (left, left == 2), passed


def test_it_is_counted_again_only_after_a_change(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[int] = []
    count = facets._count
    monkeypatch.setattr(facets, "_count", lambda *given: (times.append(1), count(*given))[1])
    store.memories.add(ANN, memory("the door is blue"))
    store.memories.add(BOB, memory("the barn is red"))
    for expected in (1, 1):
        assert store.stats.facets(ANN, NOW, look=100).memories == 1
        assert len(times) == expected
    store.memories.add(ANN, memory("the till is red"))
    for expected in (2, 2):
        assert store.stats.facets(ANN, NOW, look=100).memories == 2
        assert len(times) == expected


def test_nobody_is_told_what_was_counted_for_another(store: Store) -> None:
    store.memories.add(ANN, memory("the door is blue", tags=("paint",)))
    store.memories.add(ANN.within("shop"), memory("the till is red", project="shop", tags=("till",)))
    store.memories.add(BOB, memory("the barn is red", tags=("barn",)))
    for _ in range(2):
        assert store.stats.facets(ANN, NOW, look=100).tags == {"paint": 1, "till": 1}
        assert store.stats.facets(ANN.within("shop"), NOW, look=100).tags == {"paint": 1, "till": 1}
        assert store.stats.facets(ANN.within("mill"), NOW, look=100).tags == {"paint": 1}
        assert store.stats.facets(ANN, replace(NOW, project="shop"), look=100).tags == {"till": 1}
        assert store.stats.facets(BOB, NOW, look=100).tags == {"barn": 1}
        assert store.stats.facets(ANN, NOW, look=1).memories == 1
        assert len(store.stats.facets(ANN, NOW, look=100, most=1).tags) == 1


def test_who_is_not_in_a_context_is_not_told_what_a_member_was(store: Store) -> None:
    context = store.contexts.create(ANN, "team", at=T0).id
    store.memories.add(ANN.in_context(context), memory("the door is blue", tags=("paint",), confidence=1.0))
    for _ in range(2):
        assert store.stats.facets(ANN.in_context(context), NOW, look=100).tags == {"paint": 1}
        with pytest.raises(NotFound):
            store.stats.facets(BOB.in_context(context), NOW, look=100)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_what_another_process_writes_is_counted_at_once(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    here: Store
    there: Store
    if kind == "sqlite":
        here, there = SqliteStore(tmp_path), SqliteStore(tmp_path)
    else:
        stores = request.getfixturevalue("emptied")
        stores.give(1)
        here, there = PostgresStore(stores.settings(1)), PostgresStore(stores.settings(1))
    try:
        for number in range(1, 4):
            assert there.memories.add(ANN, memory(f"fact {number}", tags=(f"tag {number}",)))[1]
            assert here.stats.facets(ANN, NOW, look=100).memories == number
            assert here.stats.facets(ANN, NOW, look=100) == there.stats.facets(ANN, NOW, look=100)
        there.keeping.forget_memory(ANN, only(there).id, at=LATER)
        assert here.stats.facets(ANN, NOW, look=100).memories == 2
    finally:
        here.close()
        there.close()
