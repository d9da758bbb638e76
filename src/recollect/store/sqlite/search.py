"""Search in SQLite: bm25 over the owner's own words in FTS5, exact cosine over the owner's own vectors.

Both legs apply the filter before they count to their limit: a narrow filter still gets the best that it lets through.
"""

from __future__ import annotations

import json
import math
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from recollect.clock import from_iso
from recollect.errors import StoreCorrupt
from recollect.model import Scope, Tier
from recollect.store.port import Document, Filter, Match, Surroundings, TermWeights
from recollect.store.rows import index
from recollect.store.rows.memories import filter_params, memory_of
from recollect.store.rows.tx import Rows, Tx
from recollect.store.sqlite.database import Database, owned
from recollect.store.sqlite.vectors import active_model
from recollect.store.stems import stems
from recollect.text import content_hash

if TYPE_CHECKING:
    from recollect.store.port import Matrix
    from recollect.store.sqlite.matrix import VectorMatrix

MATRIX_CACHE_BYTES = 512 * 1024 * 1024
_FEW = 200  # documents under which every word is looked for
_REMEMBERED = 10_000  # terms whose stem and frequency are kept in mind
_FIRST_LOOK = 64  # how many of the nearest vectors are held against the filter at first


class SqliteSearch:
    """The legs of recall over one database, with the vectors of recently asked scopes kept in memory."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._matrices: OrderedDict[tuple[int, int, str], VectorMatrix] = OrderedDict()
        self._frequencies: OrderedDict[tuple[str, str], tuple[int, int]] = OrderedDict()
        self._stems: dict[str, tuple[str, ...]] = {}
        self._lock = threading.Lock()

    def lexical(self, scope: Scope, tier: Tier, terms: Sequence[str], where: Filter, limit: int) -> list[Match]:
        """The best matches by words."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None or not terms:
                return []
            words = self._telling(tx, rows.owner, tier, self._phrases(tx, rows.owner, terms))
            if not words:
                return []
            params = {**_filter(tx, rows, where), "match": " OR ".join(words), "limit": limit}
            return [Match(*row) for row in tx.run(f"search.lexical_{tier}", params)]

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

    def semantic(self, scope: Scope, tier: Tier, query: Matrix, where: Filter, limit: int) -> list[Match]:
        """The best matches by meaning: exact, widened until `limit` of them pass the filter or all were looked at."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            matrix = self._matrix(tx, rows.owner, tier) if rows else None
            if not rows or matrix is None:
                return []
            params = _filter(tx, rows, where)
            look = max(limit, _FIRST_LOOK)
            while True:
                nearest = matrix.search(query, look)
                docs = json.dumps([doc for doc, _ in nearest])
                allowed = {row[0]: row for row in tx.run(f"search.allowed_{tier}", {**params, "docs": docs})}
                if len(allowed) >= limit or len(nearest) < look:
                    found = [Match(doc, score, *allowed[doc][1:]) for doc, score in nearest if doc in allowed]
                    return found[:limit]
                look *= 8

    def cosines(self, scope: Scope, tier: Tier, query: Matrix, docs: Sequence[int]) -> dict[int, float]:
        """How near the question each of these documents is."""
        matrix, seen = self._seen(scope, tier, docs)
        return matrix.cosines(query, seen) if matrix is not None else {}

    def vectors(self, scope: Scope, tier: Tier, docs: Sequence[int]) -> dict[int, Matrix]:
        """The vectors of these documents."""
        matrix, seen = self._seen(scope, tier, docs)
        return matrix.vectors(seen) if matrix is not None else {}

    def documents(self, scope: Scope, tier: Tier, docs: Sequence[int]) -> list[Document]:
        """The documents themselves, in the order asked for; one that fails its hash is left out."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            params: dict[str, object] = {**rows.params(), "docs": json.dumps(list(docs))}
            found = list(tx.run(f"search.documents_{tier}", params))
            if tier == "memory":
                made = {row[0]: _memory_document(row) for row in found}
            elif tier == "gist":
                made = {row[0]: _gist_document(row) for row in found}
            else:
                events = _events_by_turn(tx, params)
                made = {row[0]: _turn_document(row, events[row[0]]) for row in found if row[0] in events}
        return [document for doc in docs if (document := made.get(doc)) is not None]

    def around(self, scope: Scope, docs: Sequence[int]) -> list[Surroundings]:
        """The turns beside each of these turns."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None or not docs:
                return []
            params = {**rows.params(), "docs": json.dumps(list(docs))}
            return [Surroundings(*row) for row in tx.run("search.around", params)]

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
        """Without words that a fifth of all texts hold, if two others are left: they cost most and say least."""
        size = self._size(tx, owner, tier)
        if size < _FEW:
            return phrases
        rare = [phrase for phrase in phrases if self._holding(tx, tier, phrase, size) <= size // 5]
        return rare if len(rare) >= 2 else phrases

    def _size(self, tx: Tx, owner: int, tier: Tier) -> int:
        return tx.one("search.size", {"tier": tier, "owner": owner}) or 0

    def population(self, scope: Scope, tier: Tier) -> int:
        """How many documents of this owner have vectors: the more there are, the better the best of them looks."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            matrix = self._matrix(tx, rows.owner, tier) if rows else None
            return len(matrix) if matrix is not None else 0

    def _seen(self, scope: Scope, tier: Tier, docs: Sequence[int]) -> tuple[VectorMatrix | None, list[int]]:
        """The matrix of the scope's owner, and those of the documents that the scope may see."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None or not docs:
                return None, []
            seen = list(docs)  # the matrix holds this owner's documents only; a project narrows them further
            if not rows.any_project:
                params = {**rows.params(), "docs": json.dumps(seen)}
                seen = [row[0] for row in tx.run(f"search.visible_{tier}", params)]
            return self._matrix(tx, rows.owner, tier), seen

    def _matrix(self, tx: Tx, owner: int, tier: Tier) -> VectorMatrix | None:
        """The up-to-date matrix of an owner and tier; None when it has no vectors."""
        from recollect.store.sqlite.matrix import VectorMatrix

        model = active_model(tx)
        if model is None:
            return None
        params: dict[str, object] = {"owner": owner, "model": model[0], "tier": tier}
        epoch, seq = tx.row("search.vector_state", params)
        with self._lock:
            key = (owner, model[0], tier)
            matrix = self._matrices.get(key)
            if matrix is None or matrix.epoch != epoch:
                matrix = self._matrices[key] = VectorMatrix(model[2], epoch)
            if matrix.seq < seq:
                matrix.add(list(tx.run("search.new_vectors", {**params, "seq": matrix.seq})))
            self._matrices.move_to_end(key)
            while len(self._matrices) > 1 and sum(m.size for m in self._matrices.values()) > MATRIX_CACHE_BYTES:
                self._matrices.popitem(last=False)
        return matrix

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


def _filter(tx: Tx, rows: Rows, where: Filter) -> dict[str, object]:
    return {
        **filter_params(tx, rows, where),
        "session_row": _session_row(tx, rows.owner, where.session),
        "exclude_row": _session_row(tx, rows.owner, where.exclude_session),
    }


def _session_row(tx: Tx, owner: int, session: str | None) -> int | None:
    """The session's row number: None for no session, -1 (matches nothing) for an unknown one."""
    if session is None:
        return None
    return tx.one("search.session_row", {"owner": owner, "id": session}) or -1


def _memory_document(row: tuple[Any, ...]) -> Document | None:
    try:
        memory = memory_of(row)
    except StoreCorrupt:
        return None
    return Document(
        tier="memory",
        doc=row[0],
        id=memory.id,
        session=memory.session,
        project=memory.project,
        content=memory.content,
        origin=memory.origin,
        occurred_at=memory.occurred_at,
        importance=memory.importance,
        memory=memory,
    )


def _gist_document(row: tuple[Any, ...]) -> Document:
    doc, session, project, content, occurred = row
    return Document("gist", doc, session, session, project, content, "assistant", from_iso(occurred))


def _events_by_turn(tx: Tx, params: dict[str, object]) -> dict[int, list[tuple[str, str]]]:
    events: dict[int, list[tuple[str, str]]] = defaultdict(list)
    damaged = set()
    for turn, role, text, digest in tx.run("search.turn_events", params):
        events[turn].append((role, text))
        if bytes.fromhex(content_hash(text)) != digest:
            damaged.add(turn)
    return {turn: rows for turn, rows in events.items() if turn not in damaged}


def _turn_document(row: tuple[Any, ...], events: list[tuple[str, str]]) -> Document:
    doc, key, session, project, occurred, _ = row
    user, agent = index.turn_texts(events)
    content = f"user: {user}\nassistant: {agent}" if user and agent else user or agent
    return Document(
        "turn", doc, key.hex(), session, project, content, "user" if user else "assistant", from_iso(occurred)
    )
