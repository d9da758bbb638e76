"""What every store says of its vectors: which model they are of, how many texts wait for one, and whose come next."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

from recollect.errors import ModelMismatch
from recollect.model import TIERS, Tier
from recollect.store.rows.tx import Database, Tx

SLICE = 16  # texts of one owner that are taken together; the queries have it, too
Owner = TypeVar("Owner", bound=Hashable)
Queued = tuple[Owner, Tier, int, int]  # whose it is, the tier, the document and its ticket


def in_turn(found: Iterable[Queued[Owner]], limit: int) -> list[Queued[Owner]]:
    """So many of what waits, in turn by owner, a slice of each at a time; what is one owner's stays in its order.

    Whoever has little is first: a text that was just written does not wait for an import. Among those who have as much,
    memories come before gists before turns, and the newest first. Slices keep what is done for one owner together.
    """
    by_owner: dict[Owner, list[Queued[Owner]]] = {}
    for one in found:
        by_owner.setdefault(one[0], []).append(one)
    slices: list[tuple[int, int, int, int, list[Queued[Owner]]]] = []
    for mine in by_owner.values():
        for start in range(0, len(mine), SLICE):
            part = mine[start : start + SLICE]
            _, tier, doc, _ = part[0]
            slices.append((start, len(part), TIERS.index(tier), -doc, part))
    slices.sort(key=lambda row: row[:4])
    return [one for *_, part in slices for one in part][:limit]


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

    def pending(self, most: int | None = None) -> int:
        """How many texts wait for a vector; counted no further than `most`."""
        with self._db.read(None) as tx:
            return tx.one("vectors.pending", {"most": -1 if most is None else most}) or 0
