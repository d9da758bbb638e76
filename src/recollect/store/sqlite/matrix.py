"""A scope's vectors in memory: read once, then only what is new; searched exactly.

Rows of one document lie side by side, first those of what the user said, then those of what answered; each side's
cosine is its best row's. Readers take one finished state, so a search never sees half of an addition. Rows of a
document whose vectors were replaced stay behind, unused, until the next full reading.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recollect.store.searchtext import WEAKER_SHARE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.store.port import Matrix

_BLOCK = 512
_SLACK = 0.05  # float16 changes the length of a unit vector by less than this
Span = tuple[int, int, int]  # first row, first row of the answer, first row of the next document


@dataclass(frozen=True, slots=True)
class _State:
    """Everything a search needs, made before it is shown."""

    rows: Matrix
    docs: NDArray[np.int64]
    order: dict[int, int]  # document -> its place in `docs`
    spans: dict[int, Span]
    bounds: NDArray[np.int64]  # the spans one after the other, three to a document
    plain: bool  # one row a document and nothing replaced: the order of rows is the order of documents


class VectorMatrix:
    """The vectors of one owner, model and tier."""

    def __init__(self, dim: int, epoch: int) -> None:
        self.dim = dim
        self.epoch = epoch
        self.seq = 0
        self._buffer: Matrix = np.zeros((64, dim), dtype=np.float32)
        self._used = 0
        empty: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._state = _State(self._buffer[:0], empty, {}, {}, empty, True)
        self._latest: tuple[Matrix, _State, Matrix] | None = None

    def __len__(self) -> int:
        return len(self._state.docs)

    @property
    def size(self) -> int:
        return self._buffer.nbytes

    def add(self, rows: list[tuple[int, int, int, bytes]]) -> None:
        """Take in (seq, doc, leading, float16 vectors) in order of seq. One thread at a time."""
        if not rows:
            return
        block = _sound(np.frombuffer(b"".join(row[3] for row in rows), dtype=np.float16).reshape(-1, self.dim))
        self._reserve(len(block))
        self._buffer[self._used : self._used + len(block)] = block
        spans = dict(self._state.spans)
        for _, doc, leading, blob in rows:
            height = len(blob) // (2 * self.dim)
            spans.pop(doc, None)  # so that spans stay in the order of their rows
            spans[doc] = (self._used, self._used + leading, self._used + height)
            self._used += height
        bounds = np.array(list(spans.values()), dtype=np.int64).reshape(-1, 3)
        docs = np.fromiter(spans, np.int64, len(spans))
        plain = self._used == len(spans)
        order = {doc: place for place, doc in enumerate(spans)}
        self._state = _State(self._buffer[: self._used], docs, order, spans, bounds, plain)
        self.seq = rows[-1][0]

    def search(self, query: Matrix, limit: int) -> list[tuple[int, float]]:
        """The best documents and their cosines, best first; ties by document."""
        state = self._state
        if not len(state.docs):
            return []
        scores = self._scores(state, query)
        every = np.arange(len(scores))
        best = np.argpartition(-scores, limit - 1)[:limit] if limit < len(scores) else every
        best = best[np.lexsort((state.docs[best], -scores[best]))]
        return list(zip(state.docs[best].tolist(), scores[best].tolist(), strict=True))

    def cosines(self, query: Matrix, docs: list[int]) -> dict[int, float]:
        """The cosine of each given document that has vectors."""
        state = self._state
        known = [doc for doc in docs if doc in state.order]
        if not known:
            return {}
        scores = self._scores(state, query)
        return dict(zip(known, scores[[state.order[doc] for doc in known]].tolist(), strict=True))

    def vectors(self, docs: list[int]) -> dict[int, Matrix]:
        """The vectors of each given document that has some."""
        state = self._state
        return {doc: state.rows[state.spans[doc][0] : state.spans[doc][2]] for doc in docs if doc in state.spans}

    def _scores(self, state: _State, query: Matrix) -> Matrix:
        """The cosine of every document; remembered for the question at hand, which asks more than once."""
        latest = self._latest
        if latest is None or latest[0] is not query or latest[1] is not state:
            latest = self._latest = (query, state, _cosines(state, query))
        return latest[2]

    def _reserve(self, more: int) -> None:
        if self._used + more > len(self._buffer):
            # A little more than is needed: a server keeps many of them, and one that grows is copied seldom.
            bigger = np.zeros(((self._used + more) * 9 // 8 + 64, self.dim), dtype=np.float32)
            bigger[: self._used] = self._buffer[: self._used]
            self._buffer = bigger


def _sound(block: NDArray[np.float16]) -> Matrix:
    """The vectors, those no longer of length one as zeros: a damaged one must not win every question."""
    wide = block.astype(np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))
        wide[~(np.abs(lengths - 1.0) < _SLACK)] = 0.0
    return wide


def _dot(rows: Matrix, query: Matrix) -> Matrix:
    """rows @ query in blocks too small for the BLAS to start threads over: waiting for a second core costs more."""
    out: Matrix = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), _BLOCK):
        np.dot(rows[start : start + _BLOCK], query, out=out[start : start + _BLOCK])
    return out


def _cosines(state: _State, query: Matrix) -> Matrix:
    flat = _dot(state.rows, query)
    if state.plain:
        return flat
    # Stretches from a start to an end; an empty one (nothing said, or nothing answered) takes the other side's value.
    padded = np.append(flat, np.float32(-1.0))
    sides = np.maximum.reduceat(padded, state.bounds.ravel()).reshape(-1, 3)
    user, agent = sides[:, 0], sides[:, 1]
    user = np.where(state.bounds[:, 0] < state.bounds[:, 1], user, agent)
    agent = np.where(state.bounds[:, 1] < state.bounds[:, 2], agent, user)
    both = (1 - WEAKER_SHARE) * np.maximum(user, agent) + WEAKER_SHARE * np.minimum(user, agent)
    return both.astype(np.float32, copy=False)
