"""Search in PostgreSQL: bm25 over the owner's own words, cosine over the owner's own vectors.

Vectors are compared exactly up to `EXACT` of them, and above it through the approximate index, asked for more until
enough of what it gives passes the filter; what it cannot give is looked for exactly. So a scope gets its true
neighbours whatever its share of the table is.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.model import Scope, Tier
from recollect.store.port import Filter, Match, TermWeights
from recollect.store.postgres.database import QUERIES, STEPS, Database, PostgresTx
from recollect.store.postgres.vectors import as_text
from recollect.store.rows.search import RowSearch, search_filter, visible
from recollect.store.rows.tx import Rows, Tx
from recollect.store.searchtext import WEAKER_SHARE
from recollect.store.stems import stems

if TYPE_CHECKING:
    from recollect.store.port import Matrix

_FEW = 200  # documents under which every word is looked for
_REMEMBERED = 10_000  # words whose frequency is kept in mind
_FIRST_LOOK = 64  # how many of the nearest documents are held against the filter at first
EXACT = 20_000  # vectors of one owner and tier up to which all of them are compared
SHARE = 0.1  # of all vectors, from which the approximate index finds an owner's without going through all others
_SPREAD = 4  # vectors asked of that index for each document wanted: some have several


class PostgresSearch(RowSearch):
    """The legs of recall over one database."""

    def __init__(self, database: Database, *, exact: int = EXACT) -> None:
        super().__init__(database)
        self.exact = exact
        self._frequencies: OrderedDict[tuple[int, str, str], tuple[int, int]] = OrderedDict()
        self._lock = threading.Lock()

    def lexical(self, scope: Scope, tier: Tier, terms: Sequence[str], where: Filter, limit: int) -> list[Match]:
        """The best matches by words."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            words = _words(terms)
            if rows is None or not words:
                return []
            size, length = _size(tx, tier)
            if not size:
                return []
            holding = self._holding(tx, rows, tier, words, size)
            words = _telling(words, holding, size)
            params = {
                **search_filter(tx, rows, where),
                "tier": tier,
                "words": words,
                "weights": [max(1e-6, _weight(size, holding[word])) for word in words],
                "steps": list(STEPS[tier]),
                "length": length,
            }
            look = max(4 * limit, _FIRST_LOOK)
            while True:
                found = [Match(*row) for row in tx.run(f"search.lexical_{tier}", {**params, "look": look})]
                if len(found) >= limit or look >= size:
                    return found[:limit]
                look *= 8

    def weigh(self, scope: Scope, tier: Tier, terms: Sequence[str]) -> TermWeights:
        """The terms' inverse document frequencies among the owner's own documents: as bm25 has them, and smoothed."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return TermWeights(0.0, 0.0, 0.0)
            size, _ = _size(tx, tier)
            words = _words(terms) if size else []
            found = self._holding(tx, rows, tier, words, size)
        holding = [found[word] for word in words]
        smooth = [math.log1p((size - n + 0.5) / (n + 0.5)) for n in holding]
        return TermWeights(
            scored=sum(max(1e-6, _weight(size, n)) for n in holding if n),
            known=sum(weight for weight, n in zip(smooth, holding, strict=True) if n),
            asked=sum(smooth),
        )

    def semantic(self, scope: Scope, tier: Tier, query: Matrix, where: Filter, limit: int) -> list[Match]:
        """The best matches by meaning, widened until `limit` of them pass the filter or all were looked at."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            sizes = rows and _sizes(tx, tier)
            if rows is None or not sizes or not sizes[3]:
                return []
            params = search_filter(tx, rows, where)
            look = max(limit, _FIRST_LOOK)
            while True:
                nearest = self._nearest(tx, tier, query, look, *sizes[2:])
                docs = tx.many([doc for doc, _ in nearest])
                allowed = {row[0]: row for row in tx.run(f"search.allowed_{tier}", {**params, "docs": docs})}
                if len(allowed) >= limit or len(nearest) < look:
                    found = [Match(doc, score, *allowed[doc][1:]) for doc, score in nearest if doc in allowed]
                    return found[:limit]
                look *= 8

    def cosines(self, scope: Scope, tier: Tier, query: Matrix, docs: Sequence[int]) -> dict[int, float]:
        """How near the question each of these documents is."""
        with self._db.read(scope) as tx:
            if tx.rows is None or not docs:
                return {}
            seen = visible(tx, tx.rows, tier, docs)
            params = {"tier": tier, "docs": tx.many(seen), "query": as_text(query), "weaker": WEAKER_SHARE}
            return dict(tx.run("search.cosines", params).fetchall())

    def vectors(self, scope: Scope, tier: Tier, docs: Sequence[int]) -> dict[int, Matrix]:
        """The vectors of these documents."""
        import numpy as np

        with self._db.read(scope) as tx:
            if tx.rows is None or not docs:
                return {}
            seen = visible(tx, tx.rows, tier, docs)
            found: dict[int, list[bytes]] = defaultdict(list)
            for doc, sent in tx.run("search.vectors", {"tier": tier, "docs": tx.many(seen)}):
                found[doc].append(sent[4:])  # after the dimension and what pgvector keeps free
        return {
            doc: np.frombuffer(b"".join(rows), dtype=">f2").astype(np.float32).reshape(len(rows), -1)
            for doc, rows in found.items()
        }

    def population(self, scope: Scope, tier: Tier) -> int:
        """How many documents of this owner have vectors: the more there are, the better the best of them looks."""
        with self._db.read(scope) as tx:
            found = tx.rows and _sizes(tx, tier)
            return int(found[2]) if found else 0

    def _nearest(
        self, tx: Tx, tier: Tier, query: Matrix, limit: int, documents: int, vectors: int
    ) -> list[tuple[int, float]]:
        """The nearest documents, by the approximate index where that is both faster and right, else exactly."""
        params: dict[str, object] = {"tier": tier, "query": as_text(query), "limit": limit, "weaker": WEAKER_SHARE}
        if vectors > self.exact:
            found = _nearby(tx, params, vectors)
            if len(found) >= min(limit, documents):
                return found[:limit]
        name = "search.nearest_plain" if documents == vectors else "search.nearest"
        return [(doc, score) for doc, score in tx.run(name, params)]

    def _holding(self, tx: Tx, rows: Rows, tier: Tier, words: Sequence[str], size: int) -> dict[str, int]:
        """How many documents hold each word, remembered while the owner has about as many."""
        found: dict[str, int] = {}
        for word in words:
            known = self._frequencies.get((rows.owner, tier, word))
            if known is not None and abs(known[0] - size) <= size // 20:
                found[word] = min(known[1], size)
        missing = [word for word in words if word not in found]
        if missing:
            params = {"tier": tier, "words": missing, "steps": list(STEPS[tier])}
            counts = dict(tx.run("search.holding", params).fetchall())
            found |= {word: min(counts.get(place, 0), size) for place, word in enumerate(missing, 1)}
            with self._lock:
                self._frequencies |= {(rows.owner, tier, word): (size, found[word]) for word in missing}
                while len(self._frequencies) > _REMEMBERED:
                    self._frequencies.popitem(last=False)
        return found


def _words(terms: Sequence[str]) -> list[str]:
    """The stems of the terms, each once."""
    return list(dict.fromkeys(stem for term in terms for stem in stems(term)))


def _telling(words: list[str], holding: dict[str, int], size: int) -> list[str]:
    """Without words that a fifth of all texts hold, if two others are left: they cost most and say least."""
    if size < _FEW:
        return words
    rare = [word for word in words if holding[word] <= size // 5]
    return rare if len(rare) >= 2 else words


def _weight(size: int, holding: int) -> float:
    return math.log((size - holding + 0.5) / (holding + 0.5))


def _sizes(tx: Tx, tier: Tier) -> tuple[int, ...] | None:
    """Documents, words, documents with vectors, vectors of the owner; asked once in a transaction."""
    assert isinstance(tx, PostgresTx)
    if tier not in tx.sizes:
        tx.sizes[tier] = tx.run("search.size", {"tier": tier}).fetchone()
    return tx.sizes[tier]


def _size(tx: Tx, tier: Tier) -> tuple[int, float]:
    """How many documents the owner has, and how many words they have on average."""
    found = _sizes(tx, tier)
    documents, words = (found[0], found[1]) if found else (0, 0)
    return documents, max(1.0, words / documents) if documents else 1.0


def _nearby(tx: Tx, params: dict[str, object], vectors: int) -> list[tuple[int, float]]:
    """What the approximate index finds, with exact scores; nothing without one, or when few in it are the owner's."""
    found = tx.run("search.indexes").fetchone()
    if found is None or vectors < SHARE * found[2]:
        return []
    wanted = int(str(params["limit"]))
    tx.run("search.careful")
    docs = [row[0] for row in tx.run(_nearby_query(found[0], found[1]), {**params, "limit": _SPREAD * wanted})]
    scores = dict(tx.run("search.cosines", {**params, "docs": tx.many(docs)}).fetchall())
    return sorted(scores.items(), key=lambda one: (-one[1], one[0]))


def _nearby_query(dim: int, model: int) -> str:
    """The name of the query that the index of this model can answer."""
    name = f"search.nearby_{dim}_{model}"
    if name not in QUERIES:
        QUERIES[name] = QUERIES["search.nearby"].replace("DIM", str(int(dim))).replace("MODEL", str(int(model)))
    return name
