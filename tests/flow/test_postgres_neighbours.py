"""A scope gets its true neighbours in PostgreSQL, whatever share of the table is its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import psycopg
import pytest

from recollect.model import Scope
from recollect.settings import Settings
from recollect.store.ports.memories import Filter
from recollect.store.postgres.neighbours import make_index
from recollect.store.postgres.search import PostgresSearch, _nearby_query
from recollect.store.postgres.store import PostgresStore
from recollect.store.postgres.tx import QUERIES, PostgresTx
from recollect.store.postgres.vectors import as_text
from recollect.store.rows.vectormemory import WORTH
from tests.contract.samples import LATER, memory

pytestmark = pytest.mark.slow

DIM, TOTAL = 32, 4_000
SHARES = {"half": TOTAL // 2, "hundredth": TOTAL // 100, "seven": 7, "rest": TOTAL // 2 - TOTAL // 100 - 7}
MODEL = ("clustered", DIM)
NOW = Filter(now=LATER)
RARE = (1001, 1500, 1999)


def vectors(count: int, seed: int) -> np.ndarray:
    """Directions around forty topics, as texts lie."""
    random = np.random.default_rng(seed)
    topics = np.random.default_rng(1).normal(size=(40, DIM))
    found = topics[random.integers(0, 40, count)] + 0.7 * random.normal(size=(count, DIM))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def filled(postgres: object) -> Iterator[tuple[str, PostgresStore]]:
    url = postgres.empty_database()  # type: ignore[attr-defined]
    store = PostgresStore(Settings(database_url=url))
    for number, (user, count) in enumerate(SHARES.items()):
        given = [
            (memory(f"{user} {at}", id=f"{user}-{at}", tags=("rare",) if at in RARE else ()), ()) for at in range(count)
        ]
        store.memories.add_many(Scope("acme", user), given)
        waiting = store.vectors.waiting(count)
        found = vectors(count, number)
        store.vectors.put(MODEL, [(item, found[at : at + 1]) for at, item in enumerate(waiting)])
    with psycopg.connect(url, autocommit=True) as owner:
        assert make_index(owner, exact=1_000) is not None
    yield url, store
    store.close()


@pytest.mark.parametrize("user", ["half", "hundredth", "seven"])
def test_ten_of_the_nearest_are_the_true_ones(filled: tuple[str, PostgresStore], user: str) -> None:
    _, store = filled
    scope, planned = Scope("acme", user), PostgresSearch(store.database, exact=1_000, kept=0)
    exact = PostgresSearch(store.database, exact=TOTAL, kept=0)
    right = wanted = 0
    for query in vectors(25, 99):
        truth = [match.doc for match in exact.semantic(scope, "memory", query, NOW, 10)]
        found = [match.doc for match in planned.semantic(scope, "memory", query, NOW, 10)]
        assert len(found) == min(10, SHARES[user]), "exactly as many as asked for, or all"
        right += len(set(found) & set(truth))
        wanted += len(truth)
    assert right >= 0.95 * wanted


def test_the_index_is_asked_for_the_large_owner_and_not_for_the_small(
    filled: tuple[str, PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    run = PostgresTx.run
    monkeypatch.setattr(
        PostgresTx, "run", lambda tx, query, params={}: (asked.append(query), run(tx, query, params))[1]
    )
    planned, query = PostgresSearch(filled[1].database, exact=1_000, kept=0), vectors(1, 7)[0]
    for user, expected in (
        ("hundredth", "search.nearest_plain"),
        ("seven", "search.nearest_plain"),
        ("half", "search.nearby"),
    ):
        asked.clear()
        planned.semantic(Scope("acme", user), "memory", query, NOW, 10)
        near = [name for name in asked if name.startswith("search.near")]
        assert len(near) == 1
        assert near[0].startswith(expected)


def test_the_vectors_of_a_large_owner_who_goes_on_asking_are_read_beside_the_questions(
    filled: tuple[str, PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asks is answered by the database until they are there, and by them from then on."""
    scope, reading = Scope("acme", "half"), threading.Event()
    kept = PostgresSearch(filled[1].database, exact=1_000, later=1_000)
    exact = PostgresSearch(filled[1].database, exact=TOTAL, kept=0)
    asked: list[str] = []
    run, raw = PostgresTx.run, PostgresTx.raw

    def slow(tx: PostgresTx, query: str, params: Mapping[str, object]) -> list[tuple[Any, ...]]:
        assert query != "search.every_vector" or reading.wait(30)
        return raw(tx, query, params)

    monkeypatch.setattr(
        PostgresTx, "run", lambda tx, query, params={}: (asked.append(query), run(tx, query, params))[1]
    )
    monkeypatch.setattr(PostgresTx, "raw", slow)
    queries = vectors(WORTH + 2, 31)
    for query in queries[: WORTH + 1]:
        assert len(kept.semantic(scope, "memory", query, NOW, 10)) == 10
        assert len(kept.memory) == 0
    reading.set()
    until = time.monotonic() + 30
    while not len(kept.memory):
        assert time.monotonic() < until
        time.sleep(0.01)
    asked.clear()
    found = kept.semantic(scope, "memory", queries[-1], NOW, 10)
    assert not [name for name in asked if name.startswith("search.near")]
    truth = exact.semantic(scope, "memory", queries[-1], NOW, 10)
    assert [match.doc for match in found] == [match.doc for match in truth]


def test_what_is_asked_of_the_index_is_answered_by_it(filled: tuple[str, PostgresStore]) -> None:
    database = filled[1].database
    with database.read(Scope("acme", "half")) as tx:
        found = tx.run("search.indexes").fetchone()
        tx.run("search.careful")
        query = QUERIES[_nearby_query(found[0], found[1])]
        params = {"tenant": "acme", "owner": tx.rows.owner, "tier": "memory", "limit": 40}
        params["query"] = as_text(vectors(1, 7)[0])
        plan = " ".join(row[0] for row in tx.connection.execute(f"EXPLAIN {query}", params))
    assert "vectors_hnsw_" in plan
    assert "Seq Scan" not in plan


def test_a_narrow_filter_still_gets_all_it_lets_through(filled: tuple[str, PostgresStore]) -> None:
    """The index gives what is near; when too little of it passes, everything is looked at."""
    _, store = filled
    scope, planned = Scope("acme", "half"), PostgresSearch(store.database, exact=1_000, kept=0)
    found = planned.semantic(scope, "memory", vectors(1, 55)[0], replace(NOW, tags=("rare",)), 10)
    documents = store.search.documents(scope, "memory", [match.doc for match in found])
    assert sorted(document.id for document in documents) == [f"half-{at}" for at in RARE]


def test_without_a_large_owner_no_index_is_made(postgres_url: str) -> None:
    store = PostgresStore(Settings(database_url=postgres_url))
    store.memories.add(Scope("acme", "ann"), memory("a walrus"))
    store.vectors.put(MODEL, [(store.vectors.waiting(1)[0], vectors(1, 1))])
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        assert make_index(owner) is None
    store.close()
