"""Search in SQLite: bm25 over the owner's own words in FTS5, exact cosine over the owner's own vectors.

Both legs apply the filter before they count to their limit: a narrow filter still gets the best that it lets through.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.model import Scope, Tier
from recollect.store.ports.memories import Filter
from recollect.store.ports.search import Match, TermWeights
from recollect.store.rows.search import COMMON, FEW, RowSearch, most_holding, search_filter, seen_of, visible
from recollect.store.rows.tx import Rows, Tx
from recollect.store.rows.vectormemory import VECTOR_MEMORY_BYTES, VectorMemory
from recollect.store.rows.vectors import active_model
from recollect.store.sqlite.database import Database, SqliteTx, owned
from recollect.store.stems import stems

if TYPE_CHECKING:
    from recollect.store.ports.search import Matrix
    from recollect.store.rows.matrix import VectorView

_NEWEST = 5_000  # documents that are weighed where they are found by common words alone
_REMEMBERED = 200_000  # words whose stem and frequency are kept in mind: 50 MB of them at the most
_WIDER = 16  # times the limit: how many of the best are held against a filter that leaves out much
_FIRST_LOOK = 64  # how many of the nearest vectors are held against the filter at first
_MORE = 8  # times as many where it leaves out much, and each time that too few of them pass


class SqliteSearch(RowSearch):
    """The legs of recall over one database, with the vectors of recently asked scopes kept in memory."""

    def __init__(self, database: Database, vector_memory: int = VECTOR_MEMORY_BYTES) -> None:
        super().__init__(database)
        self.memory = VectorMemory(vector_memory)
        self._frequencies: OrderedDict[tuple[str, str], tuple[int, int]] = OrderedDict()
        self._stems: dict[str, tuple[str, ...]] = {}

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
            if rows is None or not terms or not self._size(tx, rows.owner, tier):
                return []
            words = self._telling(tx, rows.owner, tier, self._phrases(tx, rows.owner, terms))
            if rarest is not None:
                words = self._rarest(tx, rows.owner, tier, words)[:rarest]
            if not words:
                return []
            match = " OR ".join(words)
            oldest = self._oldest(tx, rows.owner, tier, words, match)
            asked = {"match": match, "limit": limit, "from": oldest}
            if where is None:
                return seen_of(tx, rows, tier, [Match(*row) for row in tx.run(f"search.words_{tier}", asked)])
            params = {**search_filter(tx, rows, where), **asked}
            look = _NEWEST if oldest else self._look(tx, rows, tier, words, where, limit)
            if look:
                found = tx.run(f"search.best_{tier}", {**params, "look": look}).fetchall()
                if len(found) == limit or (found and found[0][-1] < look):
                    return [Match(*row[:-1]) for row in found]
            return [Match(*row) for row in tx.run(f"search.lexical_{tier}", params)]

    def _oldest(self, tx: Tx, owner: int, tier: Tier, words: Sequence[str], match: str) -> int:
        """The first document that is looked at, of very many found by common words alone ("the"); 0: all are."""
        size = self._size(tx, owner, tier)
        if size <= COMMON * _NEWEST or any(self._holding(tx, tier, word, size) <= size // COMMON for word in words):
            return 0
        return tx.one(f"search.newest_{tier}", {"match": match, "newer": _NEWEST - 1}) or 0

    def _look(self, tx: Tx, rows: Rows, tier: Tier, words: Sequence[str], where: Filter, limit: int) -> int:
        """How many of the best are held against the filter at first; 0: all, where few match or few of them pass."""
        narrow = (where.tags, where.project, where.session, where.since, where.until, where.as_of, where.pinned)
        some = [one for one in (where.kinds, where.flavors, where.trusts) if one]
        if not rows.any_project or any(narrow) or where.min_importance is not None or len(some) > 1:
            return 0
        look = limit * (_WIDER if some else 2)
        size = self._size(tx, rows.owner, tier)
        return look if sum(self._holding(tx, tier, word, size) for word in words) > look else 0

    def weigh(self, scope: Scope, tier: Tier, terms: Sequence[str]) -> TermWeights:
        """The terms' inverse document frequencies: as FTS5 counts them (among all owners' rows), and smoothed (own)."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return TermWeights(0.0, 0.0, 0.0)
            size = self._size(tx, rows.owner, tier)
            everyone = max(size, self._size(tx, 0, tier))
            phrases = self._phrases(tx, rows.owner, terms)
            holding = [self._holding(tx, tier, phrase, size) for phrase in phrases]
        smooth = [math.log1p((size - n + 0.5) / (n + 0.5)) for n in holding]
        return TermWeights(
            scored=sum(max(1e-6, math.log((everyone - n + 0.5) / (n + 0.5))) for n in holding if n),
            known=sum(weight for weight, n in zip(smooth, holding, strict=True) if n),
            asked=sum(smooth),
        )

    def semantic(self, scope: Scope, tier: Tier, query: Matrix, where: Filter | None, limit: int) -> list[Match]:
        """The best matches by meaning: exact, widened until `limit` of them pass the filter or all were looked at."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            view = self._view(tx, rows.owner, tier) if rows else None
            if not rows or view is None:
                return []
            if where is None:
                return seen_of(tx, rows, tier, [Match(doc, score) for doc, score in view.search(query, limit)])
            params = search_filter(tx, rows, where)
            look = max(limit, _FIRST_LOOK) * (_MORE if where.selects else 1)
            while True:
                nearest = view.search(query, look)
                docs = tx.many([doc for doc, _ in nearest])
                allowed = {row[0]: row for row in tx.run(f"search.allowed_{tier}", {**params, "docs": docs})}
                if len(allowed) >= limit or len(nearest) < look:
                    found = [Match(doc, score, *allowed[doc][1:]) for doc, score in nearest if doc in allowed]
                    return found[:limit]
                look *= _MORE

    def cosines(self, scope: Scope, tier: Tier, query: Matrix, docs: Sequence[int]) -> dict[int, float]:
        """How near the question each of these documents is."""
        view, seen = self._seen(scope, tier, docs)
        return view.cosines(query, seen) if view is not None else {}

    def vectors(self, scope: Scope, tier: Tier, docs: Sequence[int]) -> dict[int, Matrix]:
        """The vectors of these documents."""
        view, seen = self._seen(scope, tier, docs)
        return view.vectors(seen) if view is not None else {}

    def _phrases(self, tx: Tx, owner: int, terms: Sequence[str]) -> list[str]:
        """The terms as this owner's words in the index; of those with one stem ('paint painting') only one."""
        if len(self._stems) > _REMEMBERED:
            self._stems.clear()
        found: dict[str, None] = {}
        for term in terms:
            words = self._stems.get(term)  # another thread may empty the dict at any time
            if words is None:
                words = self._stems[term] = tuple(stems(term))
            if words:
                found[f'"{owned(owner, words)}"'] = None
        return list(found)

    def _telling(self, tx: Tx, owner: int, tier: Tier, phrases: list[str]) -> list[str]:
        """Without common words, if two others are left.

        Others that no text holds at all find nothing, and then the common ones have to.
        """
        size = self._size(tx, owner, tier)
        if size < FEW:
            return phrases
        held = {phrase: self._holding(tx, tier, phrase, size) for phrase in phrases}
        rare = [phrase for phrase in phrases if held[phrase] <= most_holding(size)]
        return rare if len(rare) >= 2 and any(held[phrase] for phrase in rare) else phrases

    def _rarest(self, tx: Tx, owner: int, tier: Tier, phrases: list[str]) -> list[str]:
        """Those that some text holds, the rarest first."""
        size = self._size(tx, owner, tier)
        holding = {phrase: self._holding(tx, tier, phrase, size) for phrase in phrases}
        return sorted((phrase for phrase in phrases if holding[phrase]), key=holding.__getitem__)

    def _size(self, tx: Tx, owner: int, tier: Tier) -> int:
        """How many documents an owner has; 0: everybody. Asked once in a transaction, of all tiers."""
        assert isinstance(tx, SqliteTx)
        if tx.sizes is None:
            assert tx.rows is not None
            found = tx.run("search.sizes", {"owner": tx.rows.owner})
            tx.sizes = {(of, whose): size for of, whose, size in found}
        return tx.sizes.get((tier, owner), 0)

    def population(self, scope: Scope, tier: Tier) -> int:
        """How many documents of this owner have vectors: the more there are, the better the best of them looks."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            view = self._view(tx, rows.owner, tier) if rows else None
            return len(view) if view is not None else 0

    def _seen(self, scope: Scope, tier: Tier, docs: Sequence[int]) -> tuple[VectorView | None, list[int]]:
        """The vectors of the scope's owner, and those of the documents that the scope may see."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None or not docs:
                return None, []
            return self._view(tx, rows.owner, tier), visible(tx, rows, tier, docs)

    def _view(self, tx: Tx, owner: int, tier: Tier) -> VectorView | None:
        """The vectors of an owner and tier, as of this transaction or newer; None when there are none."""
        assert isinstance(tx, SqliteTx)
        if tier not in tx.views:
            tx.views[tier] = self._found_view(tx, owner, tier) if self._size(tx, owner, tier) else None
        return tx.views[tier]

    def _found_view(self, tx: Tx, owner: int, tier: Tier) -> VectorView | None:
        from recollect.store.rows.matrix import VectorMatrix

        model = active_model(tx)
        if model is None:
            return None
        params: dict[str, object] = {"owner": owner, "model": model[0], "tier": tier}
        epoch, seq = tx.row("search.vector_state", params)
        place = self.memory.ask((owner, model[0], tier))
        with place.lock:
            matrix = place.matrix
            # One of a later epoch was read by who sees a later moment: what it has no more is forgotten, and what is
            # new in it does not pass the filter here.
            if matrix is None or matrix.epoch < epoch:
                matrix = place.matrix = VectorMatrix(model[2], epoch=epoch)
            grows = matrix.epoch == epoch and matrix.view.stamp < seq
            if grows:
                matrix.add(tx.run("search.new_vectors", {**params, "seq": matrix.view.stamp}).fetchall())
            view = matrix.view
        if grows:
            self.memory.make_room(place)
        return view

    def _holding(self, tx: Tx, tier: Tier, phrase: str, size: int) -> int:
        """How many documents hold a word, remembered while the owner has about as many."""
        known = self._frequencies.get((tier, phrase))
        if known is not None and abs(known[0] - size) <= size // 20:
            return min(known[1], size)
        holding = tx.one(f"search.count_{tier}", {"match": phrase}) or 0
        holding = min(holding, size)  # rows may have come since `size` was read
        self._frequencies[(tier, phrase)] = (size, holding)
        while len(self._frequencies) > _REMEMBERED:
            self._frequencies.popitem(last=False)
        return holding
