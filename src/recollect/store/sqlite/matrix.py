"""A scope's vectors in memory: read once, then only what is new; searched exactly.

Rows of one document lie side by side, and a document's score is its best row's. Rows of a document whose vectors were
replaced stay behind, unused, until the next full reading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.store.port import Matrix


class VectorMatrix:
    """The vectors of one owner, model and tier."""

    def __init__(self, dim: int, epoch: int) -> None:
        self.dim = dim
        self.epoch = epoch
        self.seq = 0
        self._rows: Matrix = np.zeros((64, dim), dtype=np.float32)
        self._used = 0
        self._spans: dict[int, tuple[int, int]] = {}
        self._bounds: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._docs: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    @property
    def size(self) -> int:
        return self._rows.nbytes

    def add(self, rows: list[tuple[int, int, bytes]]) -> None:
        """Take in (seq, doc, float16 vectors) in order of seq."""
        if not rows:
            return
        block = np.frombuffer(b"".join(row[2] for row in rows), dtype=np.float16).reshape(-1, self.dim)
        self._reserve(len(block))
        self._rows[self._used : self._used + len(block)] = block
        for seq, doc, blob in rows:
            height = len(blob) // (2 * self.dim)
            self._spans.pop(doc, None)  # so that spans stay in the order of their rows
            self._spans[doc] = (self._used, self._used + height)
            self._used += height
            self.seq = seq
        self._bounds = np.array([edge for span in self._spans.values() for edge in span], dtype=np.int64)
        self._docs = np.fromiter(self._spans.keys(), np.int64, len(self._spans))

    def search(self, query: Matrix, limit: int) -> list[tuple[int, float]]:
        """The best documents and their cosines, best first; ties by document."""
        if not len(self._docs):
            return []
        scores = self._scores(query)
        every = np.arange(len(scores))
        best = np.argpartition(-scores, limit - 1)[:limit] if limit < len(scores) else every
        best = best[np.lexsort((self._docs[best], -scores[best]))]
        return list(zip(self._docs[best].tolist(), scores[best].tolist(), strict=True))

    def cosines(self, query: Matrix, docs: list[int]) -> dict[int, float]:
        """The cosine of each given document that has vectors."""
        spans = {doc: self._spans[doc] for doc in docs if doc in self._spans}
        return {doc: float((self._rows[start:end] @ query).max()) for doc, (start, end) in spans.items()}

    def vectors(self, docs: list[int]) -> dict[int, Matrix]:
        """The vectors of each given document that has some."""
        return {doc: self._rows[slice(*self._spans[doc])] for doc in docs if doc in self._spans}

    def _scores(self, query: Matrix) -> Matrix:
        flat: Matrix = self._rows[: self._used] @ query
        if self._used == len(self._docs):
            return flat  # one row a document, nothing replaced: order of rows is order of documents
        # Every second stretch of rows, from a start to an end, is a document; what lies between is nobody's any more.
        padded = np.append(flat, np.float32(-1.0))
        scores: Matrix = np.maximum.reduceat(padded, self._bounds)[::2]
        return scores

    def _reserve(self, more: int) -> None:
        if self._used + more > len(self._rows):
            bigger = np.zeros((max(2 * len(self._rows), self._used + more), self.dim), dtype=np.float32)
            bigger[: self._used] = self._rows[: self._used]
            self._rows = bigger
