"""What was softly forgotten is listed as long as its text is there: its owner's own, the latest first."""

from __future__ import annotations

from dataclasses import replace

from recollect.model import Scope
from recollect.store.port import Store
from recollect.store.ports.keeping import Ages
from recollect.store.ports.memories import Filter
from tests.contract.samples import ANN, BOB, EVE, LATER, memory, minute

EVERY = Filter(now=LATER, archived=True, history=True)


def listed(store: Store, scope: Scope = ANN, where: Filter = EVERY, **page: int) -> list[str]:
    return [one.content for one in store.memories.forgotten(scope, where, **{"limit": 50, **page})]


def forget(store: Store, content: str, at: float, scope: Scope = ANN, **given: object) -> str:
    kept, _ = store.memories.add(scope, memory(content, **given))
    store.memories.update(scope, replace(kept, deleted_at=minute(at)), at=minute(at), note="delete")
    return kept.id


def test_the_latest_comes_first_and_what_holds_is_not_among_it(store: Store) -> None:
    store.memories.add(ANN, memory("the door is blue"))
    for number in (2, 3, 1):
        forget(store, f"door {number}", number)
    assert listed(store) == ["door 3", "door 2", "door 1"]
    assert listed(store, limit=1, offset=1) == ["door 2"]


def test_it_is_narrowed_like_any_other_list(store: Store) -> None:
    forget(store, "the till", 1, project="shop", kind="decision", tags=("till",))
    forget(store, "the barn", 2, project="farm")
    forget(store, "an old one", 3, archived_at=minute(0))
    assert listed(store, where=replace(EVERY, project="shop")) == ["the till"]
    assert listed(store, where=replace(EVERY, kinds=("fact",))) == ["an old one", "the barn"]
    assert listed(store, where=replace(EVERY, tags=("till",))) == ["the till"]
    assert listed(store, where=Filter(now=LATER)) == ["the barn", "the till"]


def test_a_project_sees_its_own_and_what_belongs_to_none(store: Store) -> None:
    forget(store, "the till", 1, project="shop")
    forget(store, "the barn", 2, project="farm")
    forget(store, "the house", 3)
    assert listed(store, ANN.within("shop")) == ["the house", "the till"]


def test_nobody_sees_what_others_forgot(store: Store) -> None:
    forget(store, "the walrus", 1)
    assert listed(store, BOB) == listed(store, EVE) == []


def test_what_is_redacted_or_purged_is_not_there(store: Store) -> None:
    forget(store, "the walrus", 1)
    kept = forget(store, "the seal", 5)
    for steps, left in ((("redact",), ["the seal"]), (("purge",), ["the seal"])):
        ages = Ages(minute(0), 0, redact_before=minute(3), purge_before=minute(3))
        store.keeping.upkeep(now=LATER, ages=ages, steps=steps)
        assert listed(store) == left
    store.keeping.forget_memory(ANN, kept, at=LATER)
    assert listed(store) == []
