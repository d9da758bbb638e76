"""Vectors as pgvector sends and takes them: half floats in network order behind their number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from psycopg.adapt import Dumper
from psycopg.pq import Format

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.store.ports.search import Matrix

_HEAD = 4  # bytes before the halves: how many there are, and two that are kept free
_BLOCK = 512  # rows


class Halfvec(bytes):
    """A vector on its way into a query, where it stands as `:name::halfvec`."""

    @classmethod
    def of(cls, vector: Matrix) -> Halfvec:
        return cls(len(vector).to_bytes(2, "big") + b"\0\0" + vector.astype(">f2").tobytes())


class HalfvecDumper(Dumper):
    """Sent as it is. It names no type: its number differs from database to database, and the cast says it."""

    format = Format.BINARY

    def dump(self, obj: Any) -> bytes:
        return bytes(obj)


@dataclass(frozen=True, slots=True)
class Sent:
    """Documents in order: which, how many of their rows are the user's, how many rows they have, and the rows."""

    dim: int
    docs: NDArray[np.int64]
    leading: NDArray[np.int64]
    heights: NDArray[np.int64]
    vectors: list[bytes]

    def blocks(self) -> Iterator[NDArray[np.float16]]:
        """The rows, some at a time: all at once they would be copied twice."""
        import numpy as np

        for start in range(0, len(self.vectors), _BLOCK):
            sent = b"".join(self.vectors[start : start + _BLOCK])
            rows = np.frombuffer(sent, dtype=">u2").reshape(-1, _HEAD // 2 + self.dim)
            yield rows[:, _HEAD // 2 :].astype(np.uint16).view(np.float16)


def read_sent(rows: list[tuple[int, int, bool, bytes]]) -> Sent | None:
    """From document, place, whose words and vector of each row, in any order; None when not all are of one size."""
    import numpy as np

    if not rows:
        none = np.zeros(0, dtype=np.int64)
        return Sent(0, none, none, none, [])
    rows.sort(key=itemgetter(0, 1))
    every, _, by_user, vectors = zip(*rows, strict=True)
    sizes = set(map(len, vectors))
    if len(sizes) > 1:
        return None
    docs, first, heights = np.unique(np.array(every, dtype=np.int64), return_index=True, return_counts=True)
    leading = np.add.reduceat(np.array(by_user, dtype=np.int64), first)
    return Sent((sizes.pop() - _HEAD) // 2, docs, leading, heights, list(vectors))
