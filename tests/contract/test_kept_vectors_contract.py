"""A process keeps vectors of whom it is asked for; what another process changes is in the very next answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.ids import uuid7
from recollect.model import Memory, Scope, Tier
from recollect.models.tiny import TinyEmbedder
from recollect.store.port import Store
from recollect.store.ports.search import Search
from recollect.store.postgres.search import PostgresSearch
from recollect.store.postgres.store import PostgresStore
from recollect.store.sqlite.search import SqliteSearch
from recollect.store.sqlite.store import SqliteStore
from tests.contract.changes import added_and_embedded, all_forgotten, deleted, forgotten, told
from tests.contract.samples import ANN, LATER, NOW, TINY, by_meaning, embed_waiting, memory, minute, shown, talk, texts

SMALLER = TinyEmbedder(32)
FIRST = ("the walrus sleeps on ice", "a harbour full of seals", "penguins walk in winter")


def kept(store: Store) -> int:
    """How many owners' and tiers' vectors a store has at hand."""
    return len(store.search.memory)  # type: ignore[attr-defined]


def afresh(store: Store) -> Search:
    """A search that keeps nothing yet; on PostgreSQL one that never does."""
    if isinstance(store, SqliteStore):
        return SqliteSearch(store.database)
    assert isinstance(store, PostgresStore)
    return PostgresSearch(store.database, kept=0)


def found(store: Store, query: str = "walrus") -> list[str]:
    return texts(shown(store, ANN, "memory", by_meaning(store, ANN, "memory", query)))


@pytest.fixture
def first(store: Store, other: Store) -> list[Memory]:
    """Three memories that both processes were asked for, and keep."""
    made = told(store, *FIRST)
    for process in (store, other):
        before = kept(process)
        assert sorted(found(process)) == sorted(FIRST)
        assert kept(process) == before + 1, "or nothing is proved here"
    return made


def rewritten(store: Store, first: list[Memory]) -> None:
    store.memories.update(ANN, replace(first[1], content="the walrus it is"), at=LATER, note="edit")
    embed_waiting(store)


def exchanged(store: Store, first: list[Memory]) -> None:
    """As many as before: counting them tells nothing."""
    forgotten(store, first)
    added_and_embedded(store, first)


def forgotten_and_told_anew(store: Store, first: list[Memory]) -> None:
    all_forgotten(store, first)
    added_and_embedded(store, first)


def embedded_again(store: Store, first: list[Memory]) -> None:
    store.vectors.restart()
    added_and_embedded(store, first)


CHANGES = (
    added_and_embedded,
    deleted,
    forgotten,
    rewritten,
    exchanged,
    all_forgotten,
    forgotten_and_told_anew,
    embedded_again,
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_another_process_changed_is_in_the_next_answer(
    store: Store, other: Store, first: list[Memory], change: Callable[[Store, list[Memory]], None]
) -> None:
    query = TINY.embed(["walrus"])[0]
    docs = [match.doc for match in store.search.semantic(ANN, "memory", query, NOW, 9)]
    change(other, first)
    for process in (store, other):
        truth = afresh(process).semantic(ANN, "memory", query, NOW, 9)
        told = process.search.semantic(ANN, "memory", query, NOW, 9)
        assert [match.doc for match in told] == [match.doc for match in truth]
        assert [match.score for match in told] == pytest.approx([match.score for match in truth], abs=1e-5)
        docs = sorted({*docs, *(match.doc for match in truth)})
        assert process.search.population(ANN, "memory") == len(truth)
        assert sorted(process.search.vectors(ANN, "memory", docs)) == sorted(match.doc for match in truth)
        cosines = process.search.cosines(ANN, "memory", query, docs)
        assert cosines == pytest.approx({match.doc: match.score for match in truth}, abs=1e-5)


def test_vectors_of_another_model_take_the_place_of_the_first(store: Store, other: Store, first: list[Memory]) -> None:
    other.vectors.restart()
    assert found(store) == []
    embed_waiting(other, SMALLER)
    query = SMALLER.embed([FIRST[0]])[0]
    for process in (store, other):
        best = process.search.semantic(ANN, "memory", query, NOW, 9)
        assert len(best) == 3
        assert best[0].score == pytest.approx(1.0, abs=1e-3)
        (rows,) = process.search.vectors(ANN, "memory", [best[0].doc]).values()
        assert rows.shape == (1, 32)


def test_what_is_deleted_and_added_while_nobody_asks_is_told_apart(store: Store, other: Store) -> None:
    """A process that was away for many changes finds all of them, and nothing that went."""
    made = [memory(f"the walrus number {number}") for number in range(60)]
    for one in made[:30]:
        store.memories.add(ANN, one)
    embed_waiting(store)
    assert len(found(store)) == 30
    for number, one in enumerate(made[30:]):
        other.memories.add(ANN, one)
        embed_waiting(other)
        other.keeping.forget_memory(ANN, made[number].id, at=LATER)
    assert sorted(found(store)) == sorted(one.content for one in made[30:])


STEPS = st.tuples(st.sampled_from(("add", "say", "forget", "rewrite", "embed", "restart", "ask")), st.integers(0, 99))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=15)
@given(steps=st.lists(STEPS, max_size=30))
def test_answers_are_those_of_an_exact_look_whatever_went_before(
    store: Store, other: Store, steps: list[tuple[str, int]]
) -> None:
    """Two processes change and ask in any order; each answer is that of comparing everything in the database."""
    made: list[Memory] = []
    scope = Scope("acme", uuid7())  # the stores are the same in every example
    for number, (step, chosen) in enumerate([("add", 0), ("embed", 0), *steps, ("embed", 0), ("ask", 0), ("ask", 1)]):
        process = (store, other)[chosen % 2]
        if step == "add":
            made.append(memory(f"walrus {number} of {chosen} seals"))
            process.memories.add(scope, made[-1])
        elif step == "say":
            lines = (f"is it {chosen}? or {number}?", f"assistant: {number}")
            process.sessions.append(scope, talk(f"chat:{chosen % 3}", *lines, first=2 * number))
        elif step == "forget" and made:
            process.keeping.forget_memory(scope, made.pop(chosen % len(made)).id, at=LATER)
        elif step == "rewrite" and made:
            at = chosen % len(made)
            kept_now = process.memories.get(scope, made[at].id)
            assert kept_now is not None
            process.memories.update(
                scope, replace(kept_now, content=f"penguin {number}"), at=minute(number), note="edit"
            )
        elif step == "embed":
            embed_waiting(process)
        elif step == "restart" and chosen < 20:
            process.vectors.restart()
        elif step == "ask":
            same_as_exact(process, scope, f"walrus {chosen}")


def same_as_exact(process: Store, scope: Scope, asked: str) -> None:
    query = TINY.embed([asked])[0]
    tiers: tuple[Tier, ...] = ("memory", "turn")
    for tier in tiers:
        told = process.search.semantic(scope, tier, query, NOW, 50)
        truth = afresh(process).semantic(scope, tier, query, NOW, 50)
        scores: dict[int, Any] = {match.doc: match.score for match in truth}
        assert {match.doc: match.score for match in told} == pytest.approx(scores, abs=1e-5)
        assert [match.score for match in told] == sorted((match.score for match in told), reverse=True)
