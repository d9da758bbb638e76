"""Vectors in SQLite: derived from the texts, of one model at a time, float16 beside the rows they stand for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from recollect.model import TIERS, Tier
from recollect.store.ports.search import Waiting
from recollect.store.rows import index
from recollect.store.rows.tx import Tx
from recollect.store.rows.vectors import Queued, RowVectors, activate, in_turn
from recollect.store.searchtext import embedded_texts

if TYPE_CHECKING:
    from recollect.store.ports.search import Matrix


class SqliteVectors(RowVectors):
    """The queue of texts without a vector, and the vectors."""

    def waiting(self, limit: int) -> list[Waiting]:
        """Texts without a vector, in turn by owner: memories before gists before turns, the newest first."""
        found: list[Queued[int]] = []
        with self._db.read(None) as tx:
            for tier in TIERS:
                rows = tx.run("vectors.waiting", {"tier": tier, "limit": limit})
                found += [(owner, tier, doc, ticket) for owner, doc, ticket in rows]
            chosen = in_turn(found, limit)
            return [Waiting(tier, doc, ticket, *_texts(tx, tier, doc)) for _, tier, doc, ticket in chosen]

    def put(self, model: tuple[str, int], vectors: Iterable[tuple[Waiting, Matrix]]) -> int:
        """Store vectors made by `model`; one made for a text that has changed since stays queued."""
        with self._db.write(None) as tx:
            active = activate(tx, model)
            return sum(_put(tx, active, item, matrix) for item, matrix in vectors)

    def restart(self) -> int:
        """Drop every vector and queue every text: the next model to write becomes the store's."""
        with self._db.write(None) as tx:
            tx.run("vectors.clear")
            tx.run("vectors.deactivate")
            tx.run("vectors.rise_epochs")
            tx.run("vectors.queue_all")
            return tx.one("vectors.pending", {"most": -1}) or 0


def _texts(tx: Tx, tier: Tier, doc: int) -> tuple[tuple[str, ...], int]:
    """What is embedded of a row, and how much of it the user said."""
    rows = list(tx.run(f"vectors.{tier}_text", {"doc": doc}))
    if tier == "turn":
        return embedded_texts(*index.turn_texts(rows))
    return ((str(rows[0][0]) if rows else " "),), 1


def _put(tx: Tx, model: int, item: Waiting, matrix: Matrix) -> bool:
    import numpy as np

    key: dict[str, object] = {"tier": item.tier, "doc": item.doc}
    owner = tx.one("vectors.owner", key)
    if owner is None:
        return False  # forgotten, or done by somebody else, in the meantime
    seq = tx.one("vectors.last_seq", {"owner": owner, "model": model, "tier": item.tier}) or 0
    tx.run("vectors.drop_old", key)
    blob = np.ascontiguousarray(matrix, dtype=np.float16).tobytes()
    params = {**key, "owner": owner, "model": model, "seq": seq + 1, "leading": item.leading, "vector": blob}
    tx.run("vectors.add", params)
    tx.run("vectors.done", {**key, "ticket": item.ticket})
    return True
