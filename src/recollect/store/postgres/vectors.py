"""Vectors in PostgreSQL: derived from the texts, of one model at a time, a row each beside the text they stand for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from recollect.model import TIERS, Scope, Tier
from recollect.store.ports.search import Waiting
from recollect.store.postgres.database import Database
from recollect.store.rows import index
from recollect.store.rows.tx import Tx
from recollect.store.rows.vectors import Queued, RowVectors, activate, in_turn
from recollect.store.searchtext import embedded_texts

if TYPE_CHECKING:
    from recollect.store.ports.search import Matrix


def as_text(vector: Matrix) -> str:
    """A vector as pgvector reads it."""
    return "[" + ",".join(f"{value:.7g}" for value in vector.tolist()) + "]"


class PostgresVectors(RowVectors):
    """The queue of texts without a vector, and the vectors."""

    _db: Database

    def model(self) -> tuple[str, int] | None:
        """Name and dimension of the model the vectors are of; None while there are none. Every question asks it."""
        asking = self._db.asking
        if asking is not None and asking.rows is not None:
            return asking.model
        found = self._db.alone("vectors.active") if asking is None else asking.run("vectors.active").fetchone()
        return None if found is None else (found[1], found[2])

    def waiting(self, limit: int) -> list[Waiting]:
        """Texts without a vector, in turn by owner: memories before gists before turns, the newest first."""
        queued: list[Queued[Scope]] = []
        with self._db.read(None) as tx:
            for tier in TIERS:
                rows = tx.run("vectors.waiting", {"tier": tier, "limit": limit})
                queued += [(Scope.of_owner(tenant, user), tier, doc, ticket) for tenant, user, doc, ticket in rows]
        found = in_turn(queued, limit)
        by_owner: dict[Scope, list[int]] = defaultdict(list)
        for place, (scope, *_) in enumerate(found):
            by_owner[scope].append(place)
        made: dict[int, Waiting] = {}
        for scope, places in by_owner.items():
            with self._db.read(scope) as tx:
                texts = {
                    tier: _texts(tx, tier, [found[at][2] for at in places if found[at][1] == tier]) for tier in TIERS
                }
                for place in places:
                    _, tier, doc, ticket = found[place]
                    made[place] = Waiting(tier, doc, ticket, *texts[tier][doc])
        return [made[place] for place in range(len(found))]

    def put(self, model: tuple[str, int], vectors: Iterable[tuple[Waiting, Matrix]]) -> int:
        """Store vectors made by `model`; one made for a text that has changed since stays queued."""
        given = list(vectors)
        with self._db.write(None) as tx:
            active = activate(tx, model)
        stored = 0
        for scope, items in self._by_owner(given).items():
            with self._db.write(scope) as tx:
                stored += _put(tx, active, items)
        return stored

    def _by_owner(self, given: list[tuple[Waiting, Matrix]]) -> dict[Scope, list[tuple[Waiting, Matrix]]]:
        """What was made, by whose it is; what was forgotten, or done by somebody else, in the meantime is nobody's."""
        owners: dict[tuple[Tier, int], Scope] = {}
        with self._db.read(None) as tx:
            for tier in TIERS:
                docs = [item.doc for item, _ in given if item.tier == tier]
                if docs:
                    rows = tx.run("vectors.whose", {"tier": tier, "docs": tx.many(docs)})
                    owners |= {(tier, doc): Scope.of_owner(tenant, user) for doc, tenant, user in rows}
        found: dict[Scope, list[tuple[Waiting, Matrix]]] = defaultdict(list)
        for item, matrix in given:
            scope = owners.get((item.tier, item.doc))
            if scope is not None:
                found[scope].append((item, matrix))
        return found

    def restart(self) -> int:
        """Drop every vector and queue every text: the next model to write becomes the store's."""
        for scope in self._db.owners():
            with self._db.write(scope) as tx:
                for step in ("clear", "clear_counts", "queue_all"):
                    tx.run(f"vectors.{step}")
        with self._db.write(None) as tx:
            tx.run("vectors.deactivate")
        return self.pending()


def _texts(tx: Tx, tier: Tier, docs: list[int]) -> dict[int, tuple[tuple[str, ...], int]]:
    """What is embedded of each row, and how much of it the user said."""
    if not docs:
        return {}
    rows = tx.run(f"vectors.{tier}_texts", {"docs": tx.many(docs)}).fetchall()
    if tier != "turn":
        found = dict(rows)
        return {doc: ((found.get(doc, " "),), 1) for doc in docs}
    said: dict[int, list[tuple[str, str]]] = {doc: [] for doc in docs}
    for doc, who, text in rows:
        said[doc].append((who, text))
    return {doc: embedded_texts(*index.turn_texts(spoken)) for doc, spoken in said.items()}


def _put(tx: Tx, model: int, items: list[tuple[Waiting, Matrix]]) -> int:
    """Store the vectors of one owner's documents, those that still wait, in a few statements."""
    if tx.rows is None:
        return 0
    stored = 0
    for tier in TIERS:
        mine = {item.doc: (item, matrix) for item, matrix in items if item.tier == tier}
        if not mine:
            continue
        key: dict[str, object] = {"tier": tier, "docs": tx.many(list(mine))}
        still = [row[0] for row in tx.run("vectors.still_waiting", key)]
        old = tx.run("vectors.drop_old", {"tier": tier, "docs": tx.many(still)}).fetchall()
        rows = [row for doc in still for row in _rows(*mine[doc])]
        docs, places, by_user, texts = map(list, zip(*rows, strict=True)) if rows else ([], [], [], [])
        known = len({doc for (doc,) in old})
        # First the count, which gives the stamp: other processes find what changed by it.
        stamp = tx.one("vectors.count", {"tier": tier, "docs": len(still) - known, "vectors": len(rows) - len(old)})
        given = {"tier": tier, "model": model, "docs": docs, "places": places, "by_user": by_user, "vectors": texts}
        tx.run("vectors.add", {**given, "stamp": stamp})
        tickets = [mine[doc][0].ticket for doc in still]
        tx.run("vectors.done", {"tier": tier, "docs": tx.many(still), "tickets": tickets})
        stored += len(still)
    return stored


def _rows(item: Waiting, matrix: Matrix) -> list[tuple[int, int, bool, str]]:
    vectors = matrix.reshape(-1, matrix.shape[-1])
    return [(item.doc, place, place < item.leading, as_text(row)) for place, row in enumerate(vectors)]
