"""A memory kept in the wrong project is put into the right one, with its history; what holds there is worked out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect import Recollect, Scope
from recollect.errors import Conflict, InvalidInput, NotAllowed, NotFound, ScopeError

ANN = Scope("local", "ann")
pytestmark = pytest.mark.usefixtures("each_store")
Open = Callable[..., Recollect]


def test_it_is_told_where_it_belongs_and_nowhere_else(opened: Open) -> None:
    memory, shop, farm = opened(ANN), opened(ANN.within("shop")), opened(ANN.within("farm"))
    kept = farm.remember("The till opens with key 7", "fact", tags=["till"])
    memory.pin(kept.id)
    now = memory.to_project(kept.id, "shop")
    assert (now.project, now.tags, now.pinned, now.id) == ("shop", ("till",), True, kept.id)
    assert kept.id in shop.standing().ids
    assert kept.id not in farm.standing().ids
    assert [hit.id for hit in shop.recall("till key").hits] == [kept.id]
    assert farm.recall("till key").hits == ()
    assert memory.to_project(kept.id, None).project is None
    assert kept.id in farm.standing().ids


def test_its_history_goes_with_it(opened: Open, clock: Callable[..., None]) -> None:
    memory, farm = opened(ANN), opened(ANN.within("farm"))
    old = farm.remember("The port of postgres is 5433", "fact")
    clock.move(days=1)  # type: ignore[attr-defined]
    new = farm.remember("The port of postgres is 5544", "fact")
    assert memory.get(old.id).superseded_by == new.id
    memory.to_project(new.id, "shop")
    assert [one.id for one in memory.belief(new.id).superseded] == [old.id]
    assert (memory.get(old.id).project, memory.get(old.id).superseded_by) == ("shop", new.id)
    assert farm.memories(9, history=True, archived=True) == []


def test_what_holds_there_is_worked_out_again(opened: Open, clock: Callable[..., None]) -> None:
    memory, shop, farm = opened(ANN), opened(ANN.within("shop")), opened(ANN.within("farm"))
    there = shop.remember("The port of postgres is 5433", "fact")
    clock.move(days=1)  # type: ignore[attr-defined]
    kept = farm.remember("The port of postgres is 5544", "fact")
    assert memory.get(there.id).superseded_at is None
    memory.to_project(kept.id, "shop")
    assert memory.get(there.id).superseded_by == kept.id


def test_a_dispute_is_left_behind(opened: Open) -> None:
    memory, farm = opened(ANN), opened(ANN.within("farm"))
    one = farm.remember("The port of postgres is 5433", "fact")
    other = farm.remember("The port of postgres is 5544", "fact")
    assert [each.id for each in memory.belief(one.id).disputes] == [other.id]
    memory.to_project(other.id, "shop")
    assert memory.belief(one.id).disputes == memory.belief(other.id).disputes == ()


def test_what_says_the_same_there_already_is_told(opened: Open) -> None:
    memory, shop, farm = opened(ANN), opened(ANN.within("shop")), opened(ANN.within("farm"))
    shop.remember("The till opens with key 7")
    kept = farm.remember("The till opens with key 7")
    with pytest.raises(Conflict, match="says the same"):
        memory.to_project(kept.id, "shop")
    assert memory.get(kept.id) == kept


def test_only_what_holds_is_put_elsewhere_by_who_sees_it_and_speaks(opened: Open) -> None:
    memory, farm = opened(ANN), opened(ANN.within("farm"))
    kept = farm.remember("The till opens with key 7")
    for project in ("shop", None, "farm"):
        with pytest.raises(ScopeError):
            farm.to_project(kept.id, project)
    with pytest.raises(InvalidInput):
        memory.to_project(kept.id, "  ")
    with pytest.raises(NotFound):
        opened(Scope("local", "bob")).to_project(kept.id, "shop")
    with pytest.raises(Conflict):
        memory.to_project(kept.id, "shop", expected_version=kept.version + 1)
    mute = Recollect(memory.store, ANN, memory.settings, background=False, hosted=True, speaks=False)
    with pytest.raises(NotAllowed):
        mute.to_project(kept.id, "shop")
    memory.supersede(kept.id, "The till opens with key 8")
    with pytest.raises(InvalidInput, match="superseded"):
        memory.to_project(kept.id, "shop")
    memory.forget(kept.id, soft=True)
    with pytest.raises(NotFound):
        memory.to_project(kept.id, "shop")


def test_putting_it_where_it_is_changes_nothing(opened: Open) -> None:
    memory = opened(ANN)
    kept = memory.remember("The till opens with key 7")
    assert memory.to_project(kept.id, None) == kept


def test_what_was_softly_forgotten_is_listed_and_can_be_brought_back(opened: Open) -> None:
    memory, shop = opened(ANN), opened(ANN.within("shop"))
    kept = shop.remember("The till opens with key 7", "fact")
    memory.archive(kept.id)
    memory.forget(kept.id, soft=True)
    assert [one.id for one in memory.forgotten()] == [one.id for one in shop.forgotten(5, kinds=["fact"])] == [kept.id]
    assert memory.forgotten(5, 1) == memory.forgotten(kinds=["lesson"]) == []
    assert opened(Scope("local", "bob")).forgotten() == opened(ANN.within("farm")).forgotten() == []
    memory.restore(kept.id)
    assert memory.forgotten() == []
