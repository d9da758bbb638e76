"""What every store says of its vectors: which model they are of, and how many texts wait for one."""

from __future__ import annotations

from recollect.errors import ModelMismatch
from recollect.store.rows.tx import Database, Tx


def active_model(tx: Tx) -> tuple[int, str, int] | None:
    """Row, name and dimension of the model the vectors are of."""
    row = tx.run("vectors.active").fetchone()
    return None if row is None else (row[0], row[1], row[2])


def activate(tx: Tx, model: tuple[str, int]) -> int:
    """The row of the model; the first that writes becomes the store's, another is a ModelMismatch."""
    name, dim = model
    active = active_model(tx)
    if active is None:
        tx.run("vectors.add_model", {"name": name, "dim": dim})
        tx.run("vectors.activate", {"name": name, "dim": dim})
        active = active_model(tx)
    assert active is not None
    if active[1:] != model:
        raise ModelMismatch(
            f"the vectors here are of {active[1]} ({active[2]}), not {name} ({dim})",
            hint="Run `recollect reembed` to make them again with the configured embedder.",
        )
    return active[0]


class RowVectors:
    """The model of the vectors and the length of the queue."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def model(self) -> tuple[str, int] | None:
        """Name and dimension of the model the vectors are of; None while there are none."""
        with self._db.read(None) as tx:
            found = active_model(tx)
        return None if found is None else found[1:]

    def pending(self) -> int:
        """How many texts wait for a vector."""
        with self._db.read(None) as tx:
            return tx.one("vectors.pending") or 0
