"""Vectors in SQLite: derived from the texts, of one model at a time, float16 beside the rows they stand for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from recollect.errors import ModelMismatch
from recollect.model import TIERS, Tier
from recollect.store.port import Waiting
from recollect.store.searchtext import embedded_texts
from recollect.store.sql import load_queries
from recollect.store.sqlite import index, scoping
from recollect.store.sqlite.database import Database

if TYPE_CHECKING:
    from recollect.store.port import Matrix

_Q = load_queries(Path(__file__).parent / "queries" / "vectors.sql")


def active_model(connection: apsw.Connection) -> tuple[int, str, int] | None:
    """Row, name and dimension of the model the vectors are of."""
    row = connection.execute(_Q["active"]).fetchone()
    return None if row is None else (row[0], row[1], row[2])


class SqliteVectors:
    """The queue of texts without a vector, and the vectors."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def model(self) -> tuple[str, int] | None:
        """Name and dimension of the model the vectors are of; None while there are none."""
        with self._db.read() as connection:
            found = active_model(connection)
        return None if found is None else found[1:]

    def pending(self) -> int:
        """How many texts wait for a vector."""
        with self._db.read() as connection:
            return scoping.one(connection, _Q["pending"], {}) or 0

    def waiting(self, limit: int) -> list[Waiting]:
        """Texts without a vector: memories before gists before turns, the newest first."""
        found: list[Waiting] = []
        with self._db.read() as connection:
            for tier in TIERS:
                rows = list(connection.execute(_Q["waiting"], {"tier": tier, "limit": limit - len(found)}))
                found += [Waiting(tier, doc, ticket, *_texts(connection, tier, doc)) for doc, ticket in rows]
                if len(found) >= limit:
                    break
        return found

    def put(self, model: tuple[str, int], vectors: Iterable[tuple[Waiting, Matrix]]) -> int:
        """Store vectors made by `model`; one made for a text that has changed since stays queued."""
        name, dim = model
        with self._db.write() as connection:
            active = active_model(connection)
            if active is None:
                connection.execute(_Q["add_model"], {"name": name, "dim": dim})
                connection.execute(_Q["activate"], {"name": name, "dim": dim})
                active = active_model(connection)
            assert active is not None
            if active[1:] != model:
                raise ModelMismatch(
                    f"the vectors here are of {active[1]} ({active[2]}), not {name} ({dim})",
                    hint="Run `recollect reembed` to make them again with the configured embedder.",
                )
            return sum(_put(connection, active[0], item, matrix) for item, matrix in vectors)

    def restart(self) -> int:
        """Drop every vector and queue every text: the next model to write becomes the store's."""
        with self._db.write() as connection:
            connection.execute(_Q["clear"])
            connection.execute(_Q["deactivate"])
            connection.execute(_Q["rise_epochs"])
            connection.execute(_Q["queue_all"])
            return scoping.one(connection, _Q["pending"], {}) or 0


def _texts(connection: apsw.Connection, tier: Tier, doc: int) -> tuple[tuple[str, ...], int]:
    """What is embedded of a row, and how much of it the user said."""
    rows = list(connection.execute(_Q[f"{tier}_text"], {"doc": doc}))
    if tier == "turn":
        return embedded_texts(*index.turn_texts(rows))
    return ((str(rows[0][0]) if rows else " "),), 1


def _put(connection: apsw.Connection, model: int, item: Waiting, matrix: Matrix) -> bool:
    import numpy as np

    key: dict[str, object] = {"tier": item.tier, "doc": item.doc}
    owner = scoping.one(connection, _Q["owner"], key)
    if owner is None:
        return False  # forgotten, or done by somebody else, in the meantime
    seq = scoping.one(connection, _Q["last_seq"], {"owner": owner, "model": model, "tier": item.tier}) or 0
    connection.execute(_Q["drop_old"], key)
    blob = np.ascontiguousarray(matrix, dtype=np.float16).tobytes()
    connection.execute(
        _Q["add"], {**key, "owner": owner, "model": model, "seq": seq + 1, "leading": item.leading, "vector": blob}
    )
    connection.execute(_Q["done"], {**key, "ticket": item.ticket})
    return True
