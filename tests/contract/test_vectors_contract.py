"""Vectors: every text waits until it has one, a changed text waits again, and all are of one model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recollect.errors import ModelMismatch
from recollect.models.tiny import TinyEmbedder
from recollect.store.port import Store
from recollect.store.ports.search import Waiting
from tests.contract.samples import (
    ANN,
    BOB,
    EVE,
    LATER,
    MODEL,
    NOW,
    TINY,
    by_meaning,
    embed_waiting,
    event,
    gist,
    memory,
    minute,
    shown,
    talk,
    texts,
)


def put(store: Store, *items: Waiting, embedder: TinyEmbedder = TINY) -> int:
    return store.vectors.put((embedder.name, embedder.dim), [(item, embedder.embed(item.texts)) for item in items])


def test_memories_wait_before_gists_before_turns_the_newest_first(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "first turn", "second turn"))
    store.gists.put(ANN, gist("chat:1", "the gist"))
    store.memories.add(ANN, memory("memory one"))
    store.memories.add(BOB, memory("memory two"))
    waiting = store.vectors.waiting(10)
    assert [(item.tier, item.texts[0]) for item in waiting] == [
        ("memory", "memory two"),
        ("memory", "memory one"),
        ("gist", "the gist"),
        ("turn", "second turn"),
        ("turn", "first turn"),
    ]
    assert store.vectors.pending() == 5
    assert [store.vectors.pending(most) for most in (0, 1, 5, 6)] == [0, 1, 5, 5]
    assert store.vectors.waiting(3) == waiting[:3]
    assert store.vectors.waiting(0) == []


def test_nobodys_import_is_before_everybody_elses_texts(store: Store) -> None:
    """P47: a slice of each owner's, the newest of each, whoever has little first, whatever tier it is of."""
    store.sessions.append(EVE, talk("chat:1", "eve's only turn"))
    store.memories.add(BOB, memory("bob's only memory"))
    for number in range(40):
        store.memories.add(ANN, memory(f"ann's memory {number}"))
    first = [item.texts[0] for item in store.vectors.waiting(5)]
    assert first == [
        "bob's only memory",
        "eve's only turn",
        "ann's memory 39",
        "ann's memory 38",
        "ann's memory 37",
    ]
    assert len(store.vectors.waiting(30)) == 30, "who has many gets what the others leave"
    for number in range(40):
        store.memories.add(BOB, memory(f"bob's memory {number}"))
    both = [item.texts[0].partition("'")[0] for item in store.vectors.waiting(33)]
    assert both == ["eve", *["bob"] * 16, *["ann"] * 16], "two who import take turns"
    assert embed_waiting(store) == 82


def test_a_turn_is_embedded_with_its_answer(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "where is it?", "assistant: in the attic"))
    waiting = store.vectors.waiting(1)[0]
    assert (waiting.texts, waiting.leading) == (("where is it?", "in the attic"), 1)


def test_a_text_with_its_vector_no_longer_waits(store: Store) -> None:
    store.memories.add(ANN, memory("one"))
    store.memories.add(ANN, memory("two"))
    assert store.vectors.model() is None
    assert put(store, store.vectors.waiting(1)[0]) == 1
    assert store.vectors.model() == MODEL
    assert [item.texts for item in store.vectors.waiting(9)] == [("one",)]
    assert store.vectors.pending() == 1
    assert embed_waiting(store) == 1
    assert store.vectors.waiting(9) == []


def test_a_vector_comes_back_as_near_as_it_was_put(store: Store) -> None:
    store.memories.add(ANN, memory("the ferry leaves at noon"))
    embed_waiting(store)
    query = TINY.embed(["the ferry leaves at noon"])[0]
    match = by_meaning(store, ANN, "memory", "the ferry leaves at noon")[0]
    kept = store.search.vectors(ANN, "memory", [match.doc])[match.doc]
    assert kept.shape == (1, TINY.dim)
    assert np.allclose(kept[0], query, atol=1e-3)
    assert match.score == pytest.approx(1.0, abs=1e-3)
    assert store.search.cosines(ANN, "memory", query, [match.doc])[match.doc] == pytest.approx(1.0, abs=1e-3)


def test_a_text_may_have_several_vectors_and_its_best_counts(store: Store) -> None:
    store.memories.add(ANN, memory("long text"))
    store.memories.add(ANN, memory("short text"))
    short, long = store.vectors.waiting(2)
    rows = TINY.embed(["penguins in winter", "walrus", "harbour seals"])
    store.vectors.put(MODEL, [(replace(long, leading=3), rows), (short, TINY.embed(["gardening"]))])
    matches = by_meaning(store, ANN, "memory", "walrus")
    assert [match.doc for match in matches] == [long.doc, short.doc]
    assert matches[0].score == pytest.approx(1.0, abs=1e-3)
    assert store.search.vectors(ANN, "memory", [long.doc])[long.doc].shape == (3, TINY.dim)


def test_a_text_that_changed_meanwhile_stays_queued(store: Store) -> None:
    first = memory("about walruses")
    store.memories.add(ANN, first)
    taken = store.vectors.waiting(1)[0]
    store.memories.update(ANN, replace(first, content="about penguins"), at=minute(1), note="edit")
    put(store, taken)
    assert [item.texts for item in store.vectors.waiting(9)] == [("about penguins",)]
    embed_waiting(store)
    assert by_meaning(store, ANN, "memory", "about penguins")[0].score == pytest.approx(1.0, abs=1e-3)


def test_a_slow_worker_with_an_old_text_does_not_end_the_wait(store: Store) -> None:
    """Two workers take the same text; one is done, the text changes, then the slow one comes with the old vector."""
    store.sessions.append(ANN, talk("chat:1", "about walruses"))
    slow = store.vectors.waiting(1)[0]
    put(store, store.vectors.waiting(1)[0])
    store.sessions.append(ANN, talk("chat:1", "assistant: and penguins", first=1))
    put(store, slow)
    assert [item.texts for item in store.vectors.waiting(9)] == [("about walruses", "and penguins")]


def test_a_vector_for_something_forgotten_is_dropped(store: Store) -> None:
    gone = memory("forget me")
    store.memories.add(ANN, gone)
    taken = store.vectors.waiting(1)[0]
    store.keeping.forget_memory(ANN, gone.id, at=LATER)
    assert put(store, taken) == 0
    assert store.vectors.pending() == 0
    assert store.search.vectors(ANN, "memory", [taken.doc]) == {}


def test_a_turn_that_grew_gets_its_new_vector_where_the_old_one_was_cached(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "where do walruses live?", "what is for lunch?"))
    embed_waiting(store)
    before = by_meaning(store, ANN, "turn", "soup with dumplings")[0]
    store.sessions.append(ANN, talk("chat:1", "assistant: soup with dumplings", first=2))
    embed_waiting(store)
    after = by_meaning(store, ANN, "turn", "soup with dumplings")
    assert texts(shown(store, ANN, "turn", after[:1])) == ["user: what is for lunch?\nassistant: soup with dumplings"]
    assert after[0].score > max(0.6, before.score)
    assert len(after) == 2
    assert store.search.vectors(ANN, "turn", [after[0].doc])[after[0].doc].shape == (2, TINY.dim)


def test_scores_beside_a_replaced_vector_stay_exact(store: Store) -> None:
    """A negative cosine must not be lifted to zero by the place where an old vector was."""
    for number in range(6):
        store.sessions.append(ANN, [event(f"chat:{number}", number, f"topic number {number}")])
    embed_waiting(store)
    query = TINY.embed(["walrus"])[0]
    docs = [match.doc for match in store.search.semantic(ANN, "turn", query, NOW, 50)]
    for number in (1, 3):
        store.sessions.append(ANN, [event(f"chat:{number}", 10 + number, "more of it", "assistant")])
    away = [(item, -query[np.newaxis]) for item in store.vectors.waiting(9)]
    store.vectors.put(MODEL, away)
    scores = {match.doc: match.score for match in store.search.semantic(ANN, "turn", query, NOW, 50)}
    assert sorted(scores) == sorted(docs)
    assert scores == pytest.approx(store.search.cosines(ANN, "turn", query, docs), abs=1e-5)
    assert min(scores.values()) == pytest.approx(-1.0, abs=1e-3)


@pytest.mark.parametrize(
    "other", [TinyEmbedder(32), type("Named", (), {"name": "other", "dim": 64})()], ids=["dim", "name"]
)
def test_vectors_of_another_model_are_refused(store: Store, other: TinyEmbedder) -> None:
    store.memories.add(ANN, memory("one"))
    embed_waiting(store)
    store.memories.add(ANN, memory("two"))
    item = store.vectors.waiting(1)[0]
    with pytest.raises(ModelMismatch):
        store.vectors.put((other.name, other.dim), [(item, np.ones((1, other.dim), dtype=np.float32))])
    assert store.vectors.pending() == 1
    assert store.vectors.model() == MODEL


def test_restart_queues_everything_for_the_next_model(store: Store) -> None:
    gone = memory("deleted")
    store.memories.add(ANN, memory("about penguins"))
    store.memories.add(ANN, gone)
    store.sessions.append(ANN, talk("chat:1", "a turn"))
    store.gists.put(ANN, gist("chat:1", "a gist"))
    embed_waiting(store)
    assert by_meaning(store, ANN, "memory", "penguins")
    store.memories.update(ANN, replace(gone, deleted_at=LATER), at=LATER, note="delete")
    assert store.vectors.restart() == 3
    assert (store.vectors.model(), store.vectors.pending()) == (None, 3)
    assert by_meaning(store, ANN, "memory", "penguins") == []
    smaller = TinyEmbedder(32)
    assert embed_waiting(store, smaller) == 3
    assert store.vectors.model() == ("tiny", 32)
    assert len(store.search.semantic(ANN, "memory", smaller.embed(["penguins"])[0], NOW, 9)) == 1
    assert store.vectors.restart() == 3


def test_a_deleted_memory_neither_waits_nor_has_vectors(store: Store) -> None:
    one, two = memory("one walrus"), memory("two walruses")
    store.memories.add(ANN, one)
    embed_waiting(store)
    doc = by_meaning(store, ANN, "memory", "walrus")[0].doc
    store.memories.add(ANN, two)
    for item in (one, two):
        store.memories.update(ANN, replace(item, deleted_at=LATER), at=LATER, note="delete")
    assert store.vectors.pending() == 0
    assert store.search.vectors(ANN, "memory", [doc]) == {}
    assert by_meaning(store, ANN, "memory", "walrus") == []
