"""Search by meaning through a vector engine, where an owner has so many vectors that comparing all of them is slow.

The engine names candidates. Their cosines come from the store's own vectors, whose they are from its rows, and what the
engine has not followed yet is compared too; so an engine that is behind, or wrong, costs neighbours, never truth. When
it fails, is far behind, or gives less than there is, the store compares everything, as without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from recollect.model import Scope, Tier
from recollect.store.engines.following import Dialect, Follower, key_of, vectors_of
from recollect.store.engines.port import EngineFailed
from recollect.store.ports.memories import Filter
from recollect.store.ports.search import Match, Search
from recollect.store.rows.search import search_filter, visible
from recollect.store.rows.tx import Database, Tx
from recollect.store.searchtext import WEAKER_SHARE

if TYPE_CHECKING:
    from recollect.store.ports.search import Matrix

_FIRST_LOOK = 64  # how many of the nearest documents are held against the filter at first
_LAST_LOOK = 1_024  # … and at last: a filter that lets less through is for the store itself
_SPARE = 2  # times as many candidates as are looked at: an engine's order is not quite ours
BEHIND = 2_000  # documents not followed yet, up to which they are compared beside the engine


class EngineSearch:
    """The store's search, with its leg of meaning over an engine for owners with at least `least` documents."""

    def __init__(self, inner: Search, database: Database, dialect: Dialect, follower: Follower, least: int) -> None:
        self._inner = inner
        self._db = database
        self._dialect = dialect
        self._follower = follower
        self._least = least

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def semantic(self, scope: Scope, tier: Tier, query: Matrix, where: Filter, limit: int) -> list[Match]:
        """The best matches by meaning."""
        try:
            found = self._through_engine(scope, tier, query, where, limit)
        except EngineFailed as error:
            self._follower.failed(error)
            found = None
        return self._inner.semantic(scope, tier, query, where, limit) if found is None else found

    def cosines(self, scope: Scope, tier: Tier, query: Matrix, docs: Sequence[int]) -> dict[int, float]:
        """How near the question each of these documents is."""
        with self._db.read(scope) as tx:
            if tx.rows is not None and self._is_large(tx, tier):
                return self._cosines(tx, tier, query, visible(tx, tx.rows, tier, docs)) if docs else {}
        return self._inner.cosines(scope, tier, query, docs)

    def vectors(self, scope: Scope, tier: Tier, docs: Sequence[int]) -> dict[int, Matrix]:
        """The vectors of these documents."""
        with self._db.read(scope) as tx:
            if tx.rows is not None and self._is_large(tx, tier):
                seen = visible(tx, tx.rows, tier, docs) if docs else []
                return {doc: vectors for doc, (_, vectors) in self._stored(tx, tier, seen).items()}
        return self._inner.vectors(scope, tier, docs)

    def population(self, scope: Scope, tier: Tier) -> int:
        """How many documents of this owner have vectors; for a large one, how many are to have them."""
        with self._db.read(scope) as tx:
            if tx.rows is not None and self._is_large(tx, tier):
                return _documents(tx, tier)
        return self._inner.population(scope, tier)

    def _through_engine(self, scope: Scope, tier: Tier, query: Matrix, where: Filter, limit: int) -> list[Match] | None:
        """The matches, or None when the store is to look itself."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            size = 0 if rows is None else _documents(tx, tier)
            if rows is None or not size or size < self._least:
                return None
            index = self._follower.index(tx)
            missed = [row[0] for row in tx.run("engine.changed", _of(tx, tier) | {"limit": BEHIND + 1})]
            if len(missed) > BEHIND:
                self._follower.trouble = f"the vector engine is more than {BEHIND:,} documents behind"
                return None
            params = search_filter(tx, rows, where)
            look = max(limit, _FIRST_LOOK)
            while look <= max(limit, _LAST_LOOK):
                candidates = index.search(key_of(rows.owner), tier, query, look * _SPARE)
                near = self._cosines(tx, tier, query, list({doc for doc, _ in candidates} | set(missed)))
                if len(near) < min(look, size):
                    return None  # fewer than there are: the engine does not know all of them
                nearest = sorted(near.items(), key=lambda one: (-one[1], one[0]))[:look]
                docs = tx.many([doc for doc, _ in nearest])
                allowed = {row[0]: row for row in tx.run(f"search.allowed_{tier}", {**params, "docs": docs})}
                if len(allowed) >= limit or len(near) >= size:
                    found = [Match(doc, score, *allowed[doc][1:]) for doc, score in nearest if doc in allowed]
                    return found[:limit]
                look *= 4
        return None

    def _is_large(self, tx: Tx, tier: Tier) -> bool:
        return _documents(tx, tier) >= self._least

    def _cosines(self, tx: Tx, tier: Tier, query: Matrix, docs: Sequence[int]) -> dict[int, float]:
        stored = self._stored(tx, tier, docs)
        if not stored:
            return {}
        import numpy as np

        rows = np.concatenate([vectors for _, vectors in stored.values()])
        if self._dialect.scaled:
            query = query.astype(np.float16).astype(np.float32)
        every = rows @ query
        if self._dialect.scaled:
            every = every / (np.linalg.norm(rows, axis=1) * np.linalg.norm(query))
        found, start = {}, 0
        for doc, (leading, vectors) in stored.items():
            found[doc] = _blend(every[start : start + leading], every[start + leading : start + len(vectors)])
            start += len(vectors)
        return found

    def _stored(self, tx: Tx, tier: Tier, docs: Sequence[int]) -> dict[int, tuple[int, Matrix]]:
        """Of each of these documents of this owner, how many vectors are of what the user said, and all of them."""
        model = tx.run("vectors.active").fetchone()
        if model is None or not docs:
            return {}
        rows = tx.run("engine.candidates", _of(tx, tier) | {"docs": tx.many(docs)})
        return {doc: (leading, vectors_of(blob, model[2], self._dialect.half)) for _, doc, leading, blob in rows}


def _of(tx: Tx, tier: Tier) -> dict[str, object]:
    assert tx.rows is not None
    return {"owner": tx.rows.owner, "tier": tier}


def _documents(tx: Tx, tier: Tier) -> int:
    return tx.one("search.size", _of(tx, tier)) or 0


def _blend(said: Matrix, heard: Matrix) -> float:
    """The cosine of a document: its nearer side's, and a share of the other's."""
    sides = [float(side.max()) for side in (said, heard) if len(side)]
    return (1 - WEAKER_SHARE) * max(sides) + WEAKER_SHARE * min(sides)
