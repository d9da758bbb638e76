"""Search in PostgreSQL: bm25 over the owner's own words, cosine over the owner's own vectors.

The words and vectors of an owner who goes on asking are kept in this process and compared here (`athand`). Otherwise
the database looks for them. It compares all vectors up to `EXACT`, and above it asks the approximate index, for more
until enough of what it gives passes the filter; what it cannot give is looked for exactly. So a scope gets its true
neighbours whatever its share of the table is.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from recollect.model import Scope, Tier
from recollect.store.ports.memories import Filter
from recollect.store.ports.search import Match, TermWeights
from recollect.store.postgres.athand import KEPT, LATER, AtHand
from recollect.store.postgres.database import Database
from recollect.store.postgres.halfvec import Halfvec
from recollect.store.postgres.lexemes import STEPS
from recollect.store.postgres.tx import QUERIES, PostgresTx, Sizes
from recollect.store.rows.search import RowSearch, most_holding, search_filter, seen_of, visible
from recollect.store.rows.tx import Rows, Tx
from recollect.store.rows.vectormemory import VECTOR_MEMORY_BYTES
from recollect.store.searchtext import WEAKER_SHARE
from recollect.store.stems import stems

if TYPE_CHECKING:
    from recollect.store.ports.search import Matrix

_REMEMBERED = 200_000  # words of owners whose frequency is kept in mind: 50 MB of them at the most
_FIRST_LOOK = 64  # how many of the best documents are held against the filter at first
_MORE = 8  # times as many where it leaves out much, and each time that too few of them pass
_SHARING = 4_096  # documents that share a word and are listed at once: to find the best, all have to be looked at
EXACT = 20_000  # vectors of one owner and tier up to which the database compares all of them
SHARE = 0.1  # of all vectors, from which the approximate index finds an owner's without going through all others
_SPREAD = 4  # vectors asked of that index for each document wanted: some have several


class PostgresSearch(RowSearch):
    """The legs of recall over one database."""

    _db: Database

    def __init__(
        self,
        database: Database,
        *,
        exact: int = EXACT,
        vector_memory: int = VECTOR_MEMORY_BYTES,
        kept: int = KEPT,
        later: int = LATER,
    ) -> None:
        super().__init__(database)
        self.exact = exact
        self._at_hand = AtHand(database, vector_memory, kept=kept, later=later)
        self.memory = self._at_hand.memory
        self._frequencies: OrderedDict[tuple[int, str, str], tuple[int, int]] = OrderedDict()
        self._lock = threading.Lock()

    def lexical(
        self,
        scope: Scope,
        tier: Tier,
        terms: Sequence[str],
        where: Filter | None,
        limit: int,
        *,
        rarest: int | None = None,
    ) -> list[Match]:
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None or not _size(tx, tier)[0]:
                return []
            words = _words(terms)
            if not words:
                return []
            if where is None:
                best = self._by_words(tx, rows, tier, words, rarest, limit)
                return seen_of(tx, rows, tier, [Match(*one) for one in best])
            ranked = partial(self._by_words, tx, rows, tier, words, rarest)
            return _passing(tx, tier, search_filter(tx, rows, where), ranked, limit, max(limit, _SHARING))

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

    def semantic(self, scope: Scope, tier: Tier, query: Matrix, where: Filter | None, limit: int) -> list[Match]:
        """The best matches by meaning, widened until `limit` of them pass the filter or all were looked at."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            sizes = tx.size_of(tier)
            if not sizes.vectors:
                return []
            if where is None:
                near = self._nearest(tx, tier, query, sizes, limit)
                return seen_of(tx, rows, tier, [Match(*one) for one in near])
            ranked = partial(self._nearest, tx, tier, query, sizes)
            look = max(limit, _FIRST_LOOK) * (_MORE if where.selects else 1)
            return _passing(tx, tier, search_filter(tx, rows, where), ranked, limit, look)

    def cosines(self, scope: Scope, tier: Tier, query: Matrix, docs: Sequence[int]) -> dict[int, float]:
        """How near the question each of these documents is."""
        with self._db.read(scope) as tx:
            if tx.rows is None or not docs:
                return {}
            seen = visible(tx, tx.rows, tier, docs)
            view = self._at_hand.vectors(tx, tier)
            if view is not None and view.dim == len(query):
                return view.cosines(query, seen)
            params = {"tier": tier, "docs": tx.many(seen), "query": Halfvec.of(query), "weaker": WEAKER_SHARE}
            return dict(tx.run("search.cosines", params).fetchall())

    def vectors(self, scope: Scope, tier: Tier, docs: Sequence[int]) -> dict[int, Matrix]:
        """The vectors of these documents."""
        import numpy as np

        with self._db.read(scope) as tx:
            if tx.rows is None or not docs:
                return {}
            seen = visible(tx, tx.rows, tier, docs)
            view = self._at_hand.vectors(tx, tier)
            if view is not None:
                return view.vectors(seen)
            found: dict[int, list[bytes]] = defaultdict(list)
            for doc, sent in tx.run("search.vectors", {"tier": tier, "docs": tx.many(seen)}).fetchall():
                found[doc].append(sent[4:])  # after the dimension and what pgvector keeps free
        return {
            doc: np.frombuffer(b"".join(rows), dtype=">f2").astype(np.float32).reshape(len(rows), -1)
            for doc, rows in found.items()
        }

    def population(self, scope: Scope, tier: Tier) -> int:
        """How many documents of this owner have vectors: the more there are, the better the best of them looks."""
        with self._db.read(scope) as tx:
            return tx.size_of(tier).vectored if tx.rows else 0

    def _nearest(self, tx: PostgresTx, tier: Tier, query: Matrix, sizes: Sizes, limit: int) -> list[tuple[int, float]]:
        """The nearest documents: among the vectors at hand, else by the approximate index where that is right."""
        view = self._at_hand.vectors(tx, tier)
        if view is not None and view.dim == len(query):
            return view.search(query, limit)
        params: dict[str, object] = {"tier": tier, "query": Halfvec.of(query), "limit": limit, "weaker": WEAKER_SHARE}
        if sizes.vectors > self.exact:
            found = _nearby(tx, params, sizes.vectors)
            if len(found) >= min(limit, sizes.vectored):
                return found[:limit]
        name = "search.nearest_plain" if sizes.vectored == sizes.vectors else "search.nearest"
        return tx.run(name, params).fetchall()

    def _by_words(
        self, tx: PostgresTx, rows: Rows, tier: Tier, words: list[str], rarest: int | None, look: int
    ) -> list[tuple[int, float]]:
        """The best by words, whatever the filter says of them."""
        size, length = _size(tx, tier)
        lexicon = self._at_hand.words(tx, tier)
        asked: dict[str, object] = {"tier": tier, "steps": list(STEPS[tier]), "length": length, "look": look}
        best = self._counted(tx, rows, tier, words, asked, size, rarest) if lexicon is None else None
        if best is not None:
            return best
        holding = self._holding(tx, rows, tier, words, size)
        words = _telling(words, holding, size)
        if rarest is not None:
            words = sorted((word for word in words if holding[word]), key=holding.__getitem__)[:rarest]
        if not words:
            return []
        weights = [max(1e-6, _weight(size, holding[word])) for word in words]
        if lexicon is not None:
            return lexicon.best(words, weights, length, look)
        return tx.run("search.words", {**asked, "words": words, "weights": weights}).fetchall()

    def _holding(self, tx: PostgresTx, rows: Rows, tier: Tier, words: Sequence[str], size: int) -> dict[str, int]:
        """How many documents hold each word; where the database counts, remembered while there are about as many."""
        lexicon = self._at_hand.words(tx, tier)
        if lexicon is not None:  # it may be newer than the size, where nothing holds both to one moment
            return {word: min(held, size) for word, held in lexicon.holding(words).items()}
        found = self._known(rows, tier, words, size)
        missing = [word for word in words if word not in found]
        if missing:
            counts = dict(tx.run("search.holding", {"tier": tier, "words": missing}).fetchall())
            found |= {word: min(counts.get(place, 0), size) for place, word in enumerate(missing, 1)}
            self._remember(rows, tier, {word: found[word] for word in missing}, size)
        return found

    def _counted(
        self,
        tx: PostgresTx,
        rows: Rows,
        tier: Tier,
        words: Sequence[str],
        asked: Mapping[str, object],
        size: int,
        rarest: int | None,
    ) -> list[tuple[int, float]] | None:
        """The best by words, counted in the same query; None: all were counted before, or too few of them tell much."""
        known = self._known(rows, tier, words, size)
        most = _most(words, size)
        looked = [word for word in words if known.get(word, 0) <= most]
        if len(known) == len(words) or (most < size and len(looked) < 2):
            return None
        more = {"words": looked, "size": size, "most": most, "rarest": rarest}
        found = tx.run("search.words_counted", {**asked, **more}).fetchall()
        held = {-place: int(count) for place, count in found if place < 0}
        counts = {word: held.get(place, 0) for place, word in enumerate(looked, 1)}
        self._remember(rows, tier, counts, size)
        rare = [count for count in counts.values() if count <= most]
        if most < size and (len(rare) < 2 or not any(rare)):
            return None  # too few are left, or such as find nothing: all of them count
        return sorted((row for row in found if row[0] > 0), key=lambda row: (-row[1], row[0]))

    def _known(self, rows: Rows, tier: Tier, words: Sequence[str], size: int) -> dict[str, int]:
        """How many documents hold each of those words that were counted when the owner had about as many."""
        found: dict[str, int] = {}
        for word in words:
            known = self._frequencies.get((rows.owner, tier, word))
            if known is not None and abs(known[0] - size) <= size // 20:
                found[word] = min(known[1], size)
        return found

    def _remember(self, rows: Rows, tier: Tier, counts: Mapping[str, int], size: int) -> None:
        with self._lock:
            self._frequencies |= {(rows.owner, tier, word): (size, held) for word, held in counts.items()}
            while len(self._frequencies) > _REMEMBERED:
                self._frequencies.popitem(last=False)


def _words(terms: Sequence[str]) -> list[str]:
    """The stems of the terms, each once."""
    return list(dict.fromkeys(stem for term in terms for stem in stems(term)))


def _passing(
    tx: Tx,
    tier: Tier,
    params: Mapping[str, object],
    ranked: Callable[[int], list[tuple[int, float]]],
    limit: int,
    look: int,
) -> list[Match]:
    """The best that pass the filter: of so many that are ranked, then of more, until enough pass or none is left."""
    while True:
        best, found = ranked(look), list[Match]()
        at, step = 0, max(limit, _FIRST_LOOK)
        while len(found) < limit and at < len(best):
            some = best[at : at + step]
            answer = tx.run(f"search.allowed_{tier}", {**params, "docs": tx.many([doc for doc, _ in some])})
            allowed = {row[0]: row[1:] for row in answer.fetchall()}
            found += [Match(doc, score, *allowed[doc]) for doc, score in some if doc in allowed]
            at, step = at + step, step * _MORE
        if len(found) >= limit or len(best) < look:
            return found[:limit]
        look *= _MORE


def _telling(words: list[str], holding: dict[str, int], size: int) -> list[str]:
    """Without common words, if two others are left.

    Others that no text holds at all find nothing, and then the common ones have to.
    """
    rare = [word for word in words if holding[word] <= _most(words, size)]
    return rare if len(rare) >= 2 and any(holding[word] for word in rare) else words


def _most(words: Sequence[str], size: int) -> int:
    """How many documents may hold a word that tells something."""
    return size if len(words) <= 2 else most_holding(size)


def _weight(size: int, holding: int) -> float:
    return math.log((size - holding + 0.5) / (holding + 0.5))


def _size(tx: PostgresTx, tier: Tier) -> tuple[int, float]:
    """How many documents the owner has, and how many words they have on average."""
    found = tx.size_of(tier)
    return found.rows, max(1.0, found.words / found.rows) if found.rows else 1.0


def _nearby(tx: Tx, params: dict[str, object], vectors: int) -> list[tuple[int, float]]:
    """What the approximate index finds, with exact scores; nothing without one, or when few in it are the owner's."""
    found = tx.run("search.indexes").fetchone()
    if found is None or vectors < SHARE * found[2]:
        return []
    wanted = int(str(params["limit"]))
    tx.run("search.careful")
    near = tx.run(_nearby_query(found[0], found[1]), {**params, "limit": _SPREAD * wanted}).fetchall()
    docs = [row[0] for row in near]
    scores = dict(tx.run("search.cosines", {**params, "docs": tx.many(docs)}).fetchall())
    return sorted(scores.items(), key=lambda one: (-one[1], one[0]))


def _nearby_query(dim: int, model: int) -> str:
    """The name of the query that the index of this model can answer."""
    name = f"search.nearby_{dim}_{model}"
    if name not in QUERIES:
        QUERIES[name] = QUERIES["search.nearby"].replace("DIM", str(int(dim))).replace("MODEL", str(int(model)))
    return name
