"""A memory can be put into another project: one step, checked like any change, and never out of a narrower scope."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.errors import Conflict, ScopeError
from recollect.store.port import Store
from recollect.store.ports.memories import Filter
from tests.contract.samples import ANN, LATER, NOW, by_words, embed_waiting, memory, minute, shown, texts

SHOP, FARM = ANN.within("shop"), ANN.within("farm")


def put(store: Store, kept: object, project: str | None) -> None:
    store.memories.change(ANN, [replace(kept, project=project)], at=minute(1), note="to_project")  # type: ignore[type-var]


def test_it_is_seen_where_it_belongs_now_and_found_there_by_words(store: Store) -> None:
    kept, _ = store.memories.add(ANN, memory("the till opens with key 7", project="shop"))
    embed_waiting(store)
    put(store, kept, "farm")
    now = store.memories.get(FARM, kept.id)
    assert now is not None
    assert (now.project, now.version, now.content) == ("farm", 2, kept.content)
    assert store.memories.get(SHOP, kept.id) is None
    assert texts(shown(store, FARM, "memory", by_words(store, FARM, "memory", "till key"))) == [kept.content]
    assert by_words(store, SHOP, "memory", "till key") == []
    assert store.memories.find(ANN, Filter(now=LATER, project="farm"), limit=5) == [now]
    put(store, now, None)
    assert store.memories.get(SHOP, kept.id) == store.memories.get(FARM, kept.id) != None  # noqa: E711
    assert store.vectors.pending() == 0


def test_what_the_other_project_says_already_is_a_conflict(store: Store) -> None:
    kept, _ = store.memories.add(ANN, memory("the till opens with key 7", project="shop"))
    store.memories.add(ANN, memory("The till opens with key 7", project="farm"))
    with pytest.raises(Conflict):
        put(store, kept, "farm")
    assert store.memories.get(ANN, kept.id) == kept


def test_out_of_a_project_nothing_is_moved(store: Store) -> None:
    kept, _ = store.memories.add(ANN, memory("the till opens with key 7", project="shop"))
    common, _ = store.memories.add(ANN, memory("the house is blue"))
    for one, project in ((kept, "farm"), (kept, None), (common, "shop"), (common, "farm")):
        for write in (store.memories.update, lambda scope, one, **how: store.memories.change(scope, [one], **how)):
            with pytest.raises(ScopeError):
                write(SHOP, replace(one, project=project), at=minute(1), note="to_project")
    assert store.memories.find(ANN, NOW, limit=5) == sorted((kept, common), key=lambda one: one.id)


def test_whoever_changed_it_meanwhile_is_not_overwritten(store: Store) -> None:
    kept, _ = store.memories.add(ANN, memory("the till opens with key 7", project="shop"))
    store.memories.update(ANN, replace(kept, why="so"), at=minute(1), note="update")
    with pytest.raises(Conflict):
        put(store, kept, "farm")
    now = store.memories.get(ANN, kept.id)
    assert now is not None
    assert now.project == "shop"


def test_the_audit_has_it(store: Store) -> None:
    kept, _ = store.memories.add(ANN, memory("the till opens with key 7", project="shop"))
    put(store, kept, "farm")
    assert [one.action for one in store.audit.find(ANN, limit=5, subject=kept.id)] == ["to_project", "remember"]
