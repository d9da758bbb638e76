"""What settling stands on: many memories changed in one step, and the ways to find what has to do with each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from recollect.errors import Conflict, NotFound, ScopeError
from recollect.model import Evidence, Memory
from recollect.store.port import Store
from recollect.store.ports.memories import Filter
from tests.contract.samples import ANN, BOB, LATER, NOW, by_words, memory, minute, shown, texts


def add(store: Store, content: str, **changes: Any) -> Memory:
    return store.memories.add(ANN, memory(content, **changes))[0]


def held(store: Store) -> list[str]:
    return sorted(one.content for one in store.memories.find(ANN, NOW, limit=50))


def test_changes_and_additions_are_one_step(store: Store) -> None:
    old, other, new = add(store, "port 5433"), add(store, "port 1"), memory("port 5544")
    ended = replace(old, superseded_by=new.id, superseded_at=minute(1))
    assert store.memories.change(ANN, [ended, replace(other, why="w")], adding=[new], at=minute(2), note="settle")
    assert held(store) == ["port 1", "port 5544"]
    assert store.memories.get(ANN, old.id) == replace(ended, version=2)
    assert store.memories.get(ANN, other.id) == replace(other, why="w", version=2)
    assert [one.version for one in store.memories.versions(ANN, other.id)] == [1]
    assert [one.id for one in store.memories.replaced(ANN, new.id)] == [old.id]


def test_a_text_may_be_said_again_by_what_ends_it(store: Store) -> None:
    first = add(store, "port 5433")
    again = memory("Port 5433", occurred_at=minute(9))
    ended = replace(first, superseded_by=again.id, superseded_at=minute(9))
    assert store.memories.change(ANN, [ended], adding=[again], at=minute(9), note="settle")
    assert held(store) == ["Port 5433"]
    assert [one.id for one in store.memories.like(ANN, again)] == [again.id, first.id]


@pytest.mark.parametrize("wrong", ["old version", "same text", "same id", "not there"])
def test_all_of_it_or_nothing(store: Store, wrong: str) -> None:
    one, two = add(store, "one"), add(store, "two")
    changes = [replace(one, content="uno")]
    adding = [memory("three")]
    if wrong == "old version":
        changes.append(replace(two, why="w", version=7))
    elif wrong == "same text":
        adding.append(memory("TWO"))
    elif wrong == "same id":
        adding.append(memory("four", id=two.id))
    else:
        changes.append(memory("never added"))
    with pytest.raises((Conflict, NotFound)):
        store.memories.change(ANN, changes, adding=adding, at=minute(1), note="settle")
    assert held(store) == ["one", "two"]
    assert store.memories.get(ANN, one.id) == one
    assert texts(shown(store, ANN, "memory", by_words(store, ANN, "memory", "uno three"))) == []


def test_what_the_user_took_away_is_not_added_and_then_nothing_else_changes(store: Store) -> None:
    made = memory("made of words", maker="rules", evidence=(Evidence("s", "e", 0, 4),))
    store.memories.add(ANN, made)
    store.keeping.forget_memory(ANN, made.id, at=minute(1))
    other = add(store, "other")
    again = replace(made, id=memory("x").id)
    assert not store.memories.change(ANN, [replace(other, why="w")], adding=[again], at=minute(2), note="settle")
    assert store.memories.get(ANN, other.id) == other


def test_nobody_changes_or_adds_what_is_foreign(store: Store) -> None:
    mine = add(store, "mine", project="apollo")
    for scope in (BOB, ANN.within("zeus")):
        with pytest.raises(NotFound):
            store.memories.change(scope, [replace(mine, why="theirs")], at=minute(1), note="settle")
        assert store.memories.replaced(scope, mine.id) == []
        assert store.memories.like(scope, mine) == []
    with pytest.raises(ScopeError):
        store.memories.change(ANN.within("zeus"), [], adding=[memory("x", project="apollo")], at=LATER, note="settle")
    assert store.memories.get(ANN, mine.id) == mine


def test_deleting_many_takes_them_out_of_search_and_back(store: Store) -> None:
    many = [add(store, f"walrus {number}") for number in range(5)]
    gone = [replace(one, deleted_at=minute(1)) for one in many]
    assert store.memories.change(ANN, gone, at=minute(1), note="revoke", subject="web")
    assert by_words(store, ANN, "memory", "walrus") == []
    assert store.vectors.pending() == 0
    back = [replace(one, version=2) for one in many]
    assert store.memories.change(ANN, back, at=minute(2), note="reinstate", subject="web")
    assert len(by_words(store, ANN, "memory", "walrus")) == 5
    assert store.vectors.pending() == 5


def test_what_is_searched_stays_searchable_when_only_its_standing_changes(store: Store) -> None:
    one = add(store, "walrus", tags=("sea",))
    store.memories.change(ANN, [replace(one, trust="user", meta={"disputes": ["x"]})], at=minute(1), note="settle")
    assert texts(shown(store, ANN, "memory", by_words(store, ANN, "memory", "walrus sea"))) == ["walrus"]


def test_a_slot_tells_what_holds_and_with_history_what_held(store: Store) -> None:
    add(store, "now", slot="postgres|port", occurred_at=minute(5))
    add(store, "then", slot="postgres|port", superseded_at=minute(5), superseded_by="x")
    add(store, "gone", slot="postgres|port", deleted_at=minute(5))
    add(store, "other", slot="redis|port")
    assert [one.content for one in store.memories.in_slot(ANN, "postgres|port")] == ["now"]
    assert [one.content for one in store.memories.in_slot(ANN, "postgres|port", history=True)] == ["now", "then"]


def test_the_same_text_is_found_in_just_its_project(store: Store) -> None:
    mine = add(store, "tabs")
    add(store, "tabs", project="apollo")
    add(store, "Tabs", superseded_at=minute(1), superseded_by=mine.id)
    add(store, "TABS", deleted_at=minute(1))
    assert [one.content for one in store.memories.like(ANN, memory("  tABS "))] == ["tabs", "Tabs"]
    assert [one.project for one in store.memories.like(ANN, memory("tabs", project="apollo"))] == ["apollo"]
    assert store.memories.like(ANN, memory("tabs", project="zeus")) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("codex:1", ["cites it", "of session 1", "said by it too"]),
        ("web", ["from the web", "said on the web too"]),
        ("rules", ["made by rules"]),
        ("codex:2", []),
        ("%", []),
        ("", []),
    ],
)
def test_what_came_from_a_source_is_found(store: Store, source: str, found: list[str]) -> None:
    said = {"at": "2026-03-01", "trust": "quoted", "origin": "assistant", "maker": "said", "session": "codex:1"}
    add(store, "of session 1", session="codex:1")
    add(store, "cites it", evidence=(Evidence("codex:3"), Evidence("codex:1", "ab", 1, 2)))
    add(store, "said by it too", meta={"said": [said]})
    add(store, "from the web", origin="web", trust="quoted")
    add(store, "said on the web too", meta={"said": [{**said, "session": "x", "origin": "web"}]})
    add(store, "made by rules", maker="rules")
    add(store, "odd", meta={"said": "codex", "revoked": 7})
    add(store, "deleted", session="codex:1", deleted_at=minute(1))
    add(store, "revoked", deleted_at=minute(1), meta={"revoked": {"source": "codex:1"}})
    assert sorted(one.content for one in store.memories.from_source(ANN, source)) == found
    assert store.memories.from_source(BOB, source) == []
    gone = sorted(one.content for one in store.memories.from_source(ANN, source, deleted=True))
    assert gone == (["deleted", "revoked"] if source == "codex:1" else [])


def test_a_change_of_time_session_and_trust_is_written(store: Store) -> None:
    one = add(store, "one")
    changed = replace(
        *(one,), occurred_at=minute(-5), session="s", origin="tool", trust="checked", maker="m", confirmed_at=LATER
    )
    store.memories.change(ANN, [changed], at=minute(1), note="settle")
    assert store.memories.get(ANN, one.id) == replace(changed, version=2)
    assert store.memories.find(ANN, Filter(now=LATER, as_of=minute(-4)), limit=5) == [replace(changed, version=2)]
