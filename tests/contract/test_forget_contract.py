"""Forget: what is named is gone everywhere, what is not named stays, and no replay or import brings it back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest

from recollect.errors import NotFound
from recollect.model import TIERS, Scope
from recollect.store import copies, portable
from recollect.store.copies import Copy
from recollect.store.port import Store
from recollect.store.ports.keeping import Held, Receipt
from recollect.store.ports.memories import Filter
from tests.contract.samples import (
    ANN,
    BOB,
    EVE,
    LATER,
    T0,
    by_meaning,
    by_words,
    embed_waiting,
    event,
    gist,
    memory,
    minute,
    shown,
    talk,
    texts,
)

EVERYTHING = Filter(now=LATER, archived=True, history=True)


def fill(store: Store, scope: Scope, session: str, word: str) -> str:
    """A session with a gist and a memory of it, all saying `word`; returns the memory's id."""
    store.sessions.append(scope, talk(session, f"{word} one", f"assistant: {word} two", f"{word} three"))
    store.sessions.ensure(scope, session, at=T0, title=f"{word} title", meta={"note": word})
    store.gists.put(scope, gist(session, f"{word} gist", 2))
    kept = memory(f"{word} memory", project=scope.project, session=session, why=f"{word} why", tags=(word,))
    store.memories.add(scope, kept)
    second = replace(kept, content=f"{word} memory, reworded")
    store.memories.update(scope, second, at=minute(1), note="edit")
    return kept.id


def seen(store: Store, scope: Scope) -> str:
    """Everything a scope can get out of the store, as one text; in no order, since others' texts may move ranks."""
    out = [repr(record) for record in portable.export(store, scope, now=LATER)]
    for tier in TIERS:
        for leg in (by_words, by_meaning):
            query = "walrus penguin harbour tulip one two three gist memory"
            out += texts(shown(store, scope, tier, leg(store, scope, tier, query, EVERYTHING)))
    return "\n".join(sorted(out))


def test_a_forgotten_memory_is_gone_and_others_stay(store: Store) -> None:
    gone = fill(store, ANN, "chat:1", "walrus")
    stays = fill(store, ANN, "chat:2", "penguin")
    embed_waiting(store)
    receipt = store.keeping.forget_memory(ANN, gone, at=LATER)
    assert (receipt.counts, receipt.complete) == ({"memories": 1}, not receipt.remains)
    assert (store.memories.get(ANN, gone), store.memories.versions(ANN, gone)) == (None, [])
    assert len(by_meaning(store, ANN, "memory", "walrus")) == len(by_words(store, ANN, "memory", "penguin")) == 1
    assert by_words(store, ANN, "memory", "walrus") == []
    assert store.memories.get(ANN, stays) is not None
    assert len(store.sessions.history(ANN, "chat:1")) == 3


def test_a_forgotten_session_takes_all_that_came_from_it(store: Store) -> None:
    gone = fill(store, ANN, "chat:1", "walrus")
    fill(store, ANN, "chat:2", "penguin")
    embed_waiting(store)
    assert "walrus" in seen(store, ANN)
    receipt = store.keeping.forget_session(ANN, "chat:1", at=LATER)
    assert receipt.complete is not bool(receipt.remains)
    assert receipt.counts == {"sessions": 1, "events": 3, "turns": 2, "gists": 1, "memories": 1}
    assert store.sessions.get(ANN, "chat:1") is None
    assert store.sessions.history(ANN, "chat:1") == []
    assert store.gists.get(ANN, "chat:1") is None
    assert store.memories.get(ANN, gone) is None
    assert "walrus" not in seen(store, ANN)
    assert seen(store, ANN).count("penguin one") >= 2


def test_forgetting_all_of_an_owner_leaves_the_others(store: Store) -> None:
    fill(store, ANN, "chat:1", "walrus")
    fill(store, ANN.within("apollo"), "chat:2", "harbour")
    fill(store, BOB, "chat:1", "penguin")
    fill(store, EVE, "chat:1", "tulip")
    embed_waiting(store)
    others = seen(store, BOB), seen(store, EVE)
    receipt = store.keeping.forget_all(ANN, at=LATER)
    assert receipt.complete is not bool(receipt.remains)
    assert receipt.counts == {"sessions": 2, "events": 6, "turns": 4, "gists": 2, "memories": 2}
    assert [record["type"] for record in portable.export(store, ANN, now=LATER)] == ["recollect"]
    assert (seen(store, BOB), seen(store, EVE)) == others
    counts = store.keeping.health(deep=False).counts
    assert (counts["sessions"], counts["events"], counts["memories"]) == (2, 6, 2)


def test_forgetting_a_project_leaves_the_rest_of_the_owner(store: Store) -> None:
    fill(store, ANN, "chat:1", "walrus")
    fill(store, ANN.within("apollo"), "chat:2", "harbour")
    fill(store, ANN.within("zeus"), "chat:3", "tulip")
    fill(store, BOB.within("apollo"), "chat:2", "penguin")
    embed_waiting(store)
    receipt = store.keeping.forget_all(ANN.within("apollo"), at=LATER)
    assert receipt.counts == {"sessions": 1, "events": 3, "turns": 2, "gists": 1, "memories": 1}
    left = seen(store, ANN)
    assert "harbour" not in left
    assert "apollo" not in left
    assert "walrus" in left
    assert "tulip" in left
    assert "penguin" in seen(store, BOB)


def test_a_receipt_lists_the_backups_that_may_hold_it_and_never_where_they_are(store: Store) -> None:
    """P13: with the day by which each is to be deleted."""
    one = fill(store, ANN, "chat:1", "walrus")
    assert store.keeping.forget_memory(ANN, one, at=LATER).backups == ()
    copy = Copy("b1", "/srv/secret-place/copy", "host", T0, LATER, 10, "00")
    copies.note(store.notes, copy)
    store.notes.put("backup:broken", "not what was written")
    receipt = store.keeping.forget_session(ANN, "chat:1", at=LATER)
    assert receipt.backups == (Held("b1", T0, LATER),)
    assert "secret-place" not in repr(receipt)
    store.notes.drop("backup:broken")


def test_nothing_to_forget_is_an_empty_receipt(store: Store) -> None:
    assert sum(store.keeping.forget_all(ANN, at=LATER).counts.values()) == 0
    fill(store, ANN, "chat:1", "walrus")
    assert sum(store.keeping.forget_all(ANN.within("unused"), at=LATER).counts.values()) == 0
    assert "walrus" in seen(store, ANN)


FORGETS: dict[str, Callable[[Store, Scope, str], Receipt]] = {
    "memory": lambda store, scope, memory_id: store.keeping.forget_memory(scope, memory_id, at=LATER),
    "session": lambda store, scope, _: store.keeping.forget_session(scope, "chat:1", at=LATER),
}


@pytest.mark.parametrize("what", sorted(FORGETS))
@pytest.mark.parametrize("scope", [BOB, EVE, Scope("never", "seen"), ANN.within("zeus")], ids=repr)
def test_what_is_not_of_this_scope_cannot_be_forgotten(store: Store, what: str, scope: Scope) -> None:
    mine = fill(store, ANN.within("apollo"), "chat:1", "walrus")
    fill(store, BOB, "chat:bob", "penguin")
    before = seen(store, ANN)
    with pytest.raises(NotFound):
        FORGETS[what](store, scope, mine)
    assert seen(store, ANN) == before


@pytest.mark.parametrize("what", sorted(FORGETS))
def test_forgetting_twice_is_not_found(store: Store, what: str) -> None:
    mine = fill(store, ANN, "chat:1", "walrus")
    FORGETS[what](store, ANN, mine)
    with pytest.raises(NotFound):
        FORGETS[what](store, ANN, mine)


WAYS: dict[str, Callable[[Store, str], object]] = {
    "memory": lambda store, memory_id: store.keeping.forget_memory(ANN, memory_id, at=LATER),
    "session": lambda store, _: store.keeping.forget_session(ANN, "chat:1", at=LATER),
    "all": lambda store, _: store.keeping.forget_all(ANN, at=LATER),
}


@pytest.mark.parametrize("way", sorted(WAYS))
@pytest.mark.parametrize("when", [T0, LATER, T0.replace(year=9999)], ids=["before", "at the forgetting", "dated 9999"])
def test_no_replay_brings_it_back(store: Store, way: str, when: datetime) -> None:
    """T28, T32: tombstones beat appending again and importing an old export, whatever dates it bears."""
    events = [replace(one, occurred_at=when) for one in talk("chat:1", "walrus one", "assistant: walrus two")]
    store.sessions.append(ANN, events)
    store.sessions.ensure(ANN, "chat:1", at=T0, title="walrus title", meta={"note": "walrus"})
    store.gists.put(ANN, gist("chat:1", "walrus gist", 1))
    kept = memory("walrus memory", session="chat:1")
    store.memories.add(ANN, kept)
    dump = list(portable.export(store, ANN, now=LATER))
    WAYS[way](store, kept.id)
    before = seen(store, ANN)
    again = store.sessions.append(ANN, events)
    assert again == [False, False]
    assert store.memories.add(ANN, kept)[1] is False
    portable.load(store, ANN, dump)
    portable.load(store, ANN, dump)
    store.keeping.rebuild()
    assert store.memories.get(ANN, kept.id) is None
    assert seen(store, ANN) == before
    if way != "memory":
        assert "walrus" not in before
        assert store.sessions.find(ANN, limit=9) == []


def test_an_import_into_another_owner_is_not_stopped_by_somebody_s_forgetting(store: Store) -> None:
    fill(store, ANN, "chat:1", "walrus")
    dump = list(portable.export(store, ANN, now=LATER))
    store.keeping.forget_all(ANN, at=LATER)
    portable.load(store, BOB, dump)
    assert list(portable.export(store, BOB, now=LATER)) == dump


def test_a_forgotten_session_can_go_on_with_new_events(store: Store) -> None:
    fill(store, ANN, "chat:1", "walrus")
    store.keeping.forget_session(ANN, "chat:1", at=LATER)
    assert store.keeping.forgotten(ANN, "chat:1") == LATER
    assert store.sessions.append(ANN, [event("chat:1", 50, "penguin")]) == [True]
    assert [one.text for one in store.sessions.history(ANN, "chat:1")] == ["penguin"]
    session = store.sessions.get(ANN, "chat:1")
    assert session is not None
    assert session.title is None


@pytest.mark.parametrize("scope", [BOB, EVE, Scope("never", "seen")], ids=repr)
def test_only_its_owner_knows_that_a_session_was_forgotten(store: Store, scope: Scope) -> None:
    fill(store, ANN, "chat:1", "walrus")
    assert store.keeping.forgotten(ANN, "chat:1") is None
    store.keeping.forget_session(ANN, "chat:1", at=LATER)
    assert store.keeping.forgotten(scope, "chat:1") is None


def test_the_same_thing_may_be_said_again_after_it_was_forgotten(store: Store) -> None:
    gone = fill(store, ANN, "chat:1", "walrus")
    store.keeping.forget_memory(ANN, gone, at=LATER)
    assert store.memories.add(ANN, memory("walrus memory"))[1] is True


def test_what_superseded_a_forgotten_memory_is_no_longer_linked_to_it(store: Store) -> None:
    new = memory("the pool is number 4")
    old = memory("the pool is number 3", superseded_by=new.id, superseded_at=minute(1))
    store.memories.add(ANN, new)
    store.memories.add(ANN, old)
    store.keeping.forget_memory(ANN, new.id, at=LATER)
    left = store.memories.get(ANN, old.id)
    assert left is not None
    assert left.superseded_by is None


def test_forgotten_vectors_are_gone_from_an_index_already_in_memory(store: Store) -> None:
    gone = fill(store, ANN, "chat:1", "walrus")
    fill(store, ANN, "chat:2", "penguin")
    embed_waiting(store)
    docs = {tier: [match.doc for match in by_meaning(store, ANN, tier, "walrus")] for tier in TIERS}
    store.keeping.forget_memory(ANN, gone, at=LATER)
    store.keeping.forget_session(ANN, "chat:1", at=LATER)
    for tier in TIERS:
        left = {match.doc for match in by_meaning(store, ANN, tier, "walrus")}
        assert left < set(docs[tier])
        assert set(store.search.vectors(ANN, tier, docs[tier])) == left
    assert store.vectors.pending() == 0
