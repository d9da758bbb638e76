"""Search in PostgreSQL: bm25 over the owner's own words, cosine over the owner's own vectors.

The vectors of an owner who goes on asking are kept in this process and compared here; each transaction takes them only
if their stamp is the one that it sees. Behind it, what changed is read first; before it, or while another thread reads,
the database compares. So nobody waits, and nobody is answered from what their transaction does not see.

The database compares all of them up to `EXACT`, and above it asks the approximate index, for more until enough of what
it gives passes the filter; what it cannot give is looked for exactly. So a scope gets its true neighbours whatever its
share of the table is.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from recollect.model import Scope, Tier
from recollect.store.port import Filter, Match, TermWeights
from recollect.store.postgres.database import QUERIES, STEPS, Database, PostgresTx, Sizes
from recollect.store.postgres.halfvec import Halfvec, read_sent
from recollect.store.rows.search import RowSearch, most_holding, search_filter, seen_of, visible
from recollect.store.rows.tx import Rows, Tx
from recollect.store.rows.vectormemory import VECTOR_MEMORY_BYTES, Place, VectorMemory
from recollect.store.searchtext import WEAKER_SHARE
from recollect.store.stems import stems

if TYPE_CHECKING:
    from recollect.store.port import Matrix
    from recollect.store.rows.matrix import VectorView

_REMEMBERED = 200_000  # words of owners whose frequency is kept in mind: 50 MB of them at the most
_FIRST_LOOK = 64  # how many of the best documents are held against the filter at first
_MORE = 8  # times as many where it leaves out much, and each time that too few of them pass
_SHARING = 4_096  # documents that share a word and are listed at once: to find the best, all have to be looked at
EXACT = 20_000  # vectors of one owner and tier up to which the database compares all of them
SHARE = 0.1  # of all vectors, from which the approximate index finds an owner's without going through all others
_SPREAD = 4  # vectors asked of that index for each document wanted: some have several
KEPT = 200_000  # vectors of one owner and tier up to which they are kept in this process, where there is room: 320 MB
LATER = 20_000  # … from which they are read beside the questions: it takes longer than to answer one
_STAMP, _DROPPED, _VECTORED = 0, 1, 2  # what `search.changed` says beside the vectors
_FLOATS = 4 * 384  # bytes that a vector takes here, about
_QUICK = 200  # vectors that are read as soon as a query is answered
_UNREAD = -1  # before every stamp


class PostgresSearch(RowSearch):
    """The legs of recall over one database."""

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
        self.memory = VectorMemory(vector_memory)
        self._kept, self._later = kept, later
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
            words = _words(terms)
            if rows is None or not words or not _size(tx, tier)[0]:
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
            sizes = rows and _sizes(tx, tier)
            if rows is None or not sizes or not sizes.vectors:
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
            view = self._view(tx, tier)
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
            view = self._view(tx, tier)
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
            found = tx.rows and _sizes(tx, tier)
            return found.vectored if found else 0

    def _nearest(self, tx: Tx, tier: Tier, query: Matrix, sizes: Sizes, limit: int) -> list[tuple[int, float]]:
        """The nearest documents: among the vectors at hand, else by the approximate index where that is right."""
        view = self._view(tx, tier)
        if view is not None and view.dim == len(query):
            return view.search(query, limit)
        params: dict[str, object] = {"tier": tier, "query": Halfvec.of(query), "limit": limit, "weaker": WEAKER_SHARE}
        if sizes.vectors > self.exact:
            found = _nearby(tx, params, sizes.vectors)
            if len(found) >= min(limit, sizes.vectored):
                return found[:limit]
        name = "search.nearest_plain" if sizes.vectored == sizes.vectors else "search.nearest"
        return tx.run(name, params).fetchall()

    def _view(self, tx: Tx, tier: Tier) -> VectorView | None:
        """The owner's vectors as this transaction sees them; None when the database is to compare. Looked for once."""
        assert isinstance(tx, PostgresTx)
        if tier not in tx.views:
            sizes = _sizes(tx, tier)
            few = sizes is not None and 0 < sizes.vectors <= self._kept
            tx.views[tier] = self._found_view(tx, tier, sizes) if sizes is not None and few else None
        return tx.views[tier]

    def _found_view(self, tx: PostgresTx, tier: Tier, sizes: Sizes) -> VectorView | None:
        assert tx.rows is not None
        place = self.memory.ask((sizes.server, tx.rows.owner, tier))
        matrix = place.matrix
        if matrix is not None and matrix.view.stamp >= sizes.stamp:
            view = matrix.view
            return view if view.stamp == sizes.stamp else None  # a transaction from before the last change
        if matrix is None and not self.memory.is_worth(place, sizes.vectors * _FLOATS, at_once=sizes.vectors <= _QUICK):
            return None
        if not place.lock.acquire(blocking=False):
            return None
        try:
            if matrix is not None or sizes.vectors <= self._later:
                return _brought_up(tx, tier, place)
        finally:
            place.lock.release()
            self.memory.make_room(place)
        threading.Thread(target=self._read, args=(tx.scope, tier, place), name="recollect-vectors").start()
        return None

    def _read(self, scope: Scope, tier: Tier, place: Place) -> None:
        """Read an owner's vectors for questions to come; if that fails, another one tries."""
        if not place.lock.acquire(blocking=False):
            return
        try:
            with self._db.read(scope) as tx:
                _brought_up(tx, tier, place)
        except Exception as error:  # nobody waits for this thread, and the database still compares
            logging.getLogger(__name__).warning("vectors could not be read: %s", type(error).__name__)
        finally:
            place.lock.release()
            self.memory.make_room(place)

    def _by_words(
        self, tx: Tx, rows: Rows, tier: Tier, words: list[str], rarest: int | None, look: int
    ) -> list[tuple[int, float]]:
        """The best by words, whatever the filter says of them."""
        size, length = _size(tx, tier)
        asked: dict[str, object] = {"tier": tier, "steps": list(STEPS[tier]), "length": length, "look": look}
        best = self._counted(tx, rows, tier, words, asked, size, rarest)
        if best is not None:
            return best
        holding = self._holding(tx, rows, tier, words, size)
        words = _telling(words, holding, size)
        if rarest is not None:
            words = sorted((word for word in words if holding[word]), key=holding.__getitem__)[:rarest]
        if not words:
            return []
        asked |= {"words": words, "weights": [max(1e-6, _weight(size, holding[word])) for word in words]}
        return tx.run("search.words", asked).fetchall()

    def _holding(self, tx: Tx, rows: Rows, tier: Tier, words: Sequence[str], size: int) -> dict[str, int]:
        """How many documents hold each word, remembered while the owner has about as many."""
        found = self._known(rows, tier, words, size)
        missing = [word for word in words if word not in found]
        if missing:
            counts = dict(tx.run("search.holding", {"tier": tier, "words": missing}).fetchall())
            found |= {word: min(counts.get(place, 0), size) for place, word in enumerate(missing, 1)}
            self._remember(rows, tier, {word: found[word] for word in missing}, size)
        return found

    def _counted(
        self,
        tx: Tx,
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


def _sizes(tx: Tx, tier: Tier) -> Sizes | None:
    """How much the owner has of a tier; asked once in a transaction, of all tiers."""
    assert isinstance(tx, PostgresTx)
    sizes = tx.take_sizes(tx.run("search.sizes").fetchall()) if tx.sizes is None else tx.sizes
    return sizes.get(tier)


def _size(tx: Tx, tier: Tier) -> tuple[int, float]:
    """How many documents the owner has, and how many words they have on average."""
    found = _sizes(tx, tier)
    documents, words = (found.rows, found.words) if found else (0, 0)
    return documents, max(1.0, words / documents) if documents else 1.0


def _brought_up(tx: Tx, tier: Tier, place: Place) -> VectorView | None:
    """What a place holds, after what changed was read into it; None when this transaction cannot tell."""
    assert isinstance(tx, PostgresTx)
    if tx.rows is None:  # gone meanwhile
        return None
    import numpy as np

    from recollect.store.rows.matrix import VectorMatrix

    matrix = place.matrix
    seen = _UNREAD if matrix is None else matrix.view.stamp
    rows = tx.raw("search.changed", {"tier": tier, "seen": seen})
    told = {row[1]: row[0] for row in rows if row[3] is None}
    sent = read_sent([row for row in rows if row[3] is not None])
    if not told or told[_STAMP] < seen or sent is None:
        return None  # another thread read further than this transaction sees, or the vectors are of two models
    there = None
    if matrix is None or (sent.dim and sent.dim != matrix.dim):
        if matrix is not None:  # of another model: of those before nothing is there, and all are read
            place.matrix = None
            return _brought_up(tx, tier, place)
        matrix = VectorMatrix(sent.dim, scaled=True)
    elif told[_DROPPED] > seen or len(np.union1d(matrix.view.docs, sent.docs)) != told[_VECTORED]:
        ((stamp, left),) = tx.raw("search.vectored", {"tier": tier})
        if stamp != told[_STAMP]:
            return None  # changed again in between: next time
        there = np.frombuffer(left or b"", dtype=">i8").astype(np.int64)
    matrix.put(told[_STAMP], sent.docs, sent.leading, sent.heights, sent.blocks(), only=there)
    place.matrix = matrix
    return matrix.view


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
