"""An owner's vectors of one tier in memory: read once, then only what changed.

They are kept as they are stored, in float16, and compared as such. Of whom is asked again and again they are kept in
eight bits a number as well: those are compared first, in a third of the time, and only what might be among the nearest
after that is compared exactly. How much eight bits can be wrong by is known, so nothing is missed (decision 30).

In: documents with their vectors as float16, and which documents are left. Out: a `VectorView`, everything a search
needs as it is after one change, and never changed itself: whoever has it goes on with it while the next is made.

Rows of one document lie side by side, first those of what the user said, then those of what answered; each side's
cosine is its best row's. Rows of what was replaced or is gone stay behind, unused, until they are a fifth of all.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import simsimd

from recollect.store.rows.best import is_of_many, least, reached
from recollect.store.searchtext import WEAKER_SHARE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.store.ports.search import Matrix

    Halves = NDArray[np.float16]
    Codes = NDArray[np.int8]

FEW = 4_096  # rows up to which all are compared exactly: anything else takes longer
AGAIN = 3  # questions until it is worth making eight bits of all rows
_BLOCK = 512
_SLACK = 0.05  # float16 changes the length of a unit vector by less than this
_ROUNDED = 1e-5  # what adding up in floats can be wrong by
_SPARE = 64  # rows that nobody counts


class Coarse:
    """Rows in eight bits a number, each with the step that a number stands for; made when they are first asked for."""

    def __init__(self, dim: int) -> None:
        self.asked = 0
        self._codes: Codes = np.empty((0, dim), dtype=np.int8)
        self._steps: Matrix = np.empty(0, dtype=np.float32)
        self._used = 0
        self._error = 0.0
        self._lock = threading.Lock()

    def of(self, rows: Halves, factors: Matrix) -> tuple[Codes, Matrix, float]:
        """The first so many rows in eight bits, their steps, and how far from one of them its code is at the most."""
        with self._lock:
            if self._used < len(rows):
                self._take_in(rows, factors)
            return self._codes[: len(rows)], self._steps[: len(rows)], self._error

    def _take_in(self, rows: Halves, factors: Matrix) -> None:
        if len(rows) > len(self._codes):
            room = _room(len(rows))
            self._codes = _grown(self._codes, self._used, room)
            self._steps = _grown(self._steps, self._used, room)
        while self._used < len(rows):
            part = slice(self._used, min(self._used + _BLOCK, len(rows)))
            whole = rows[part].astype(np.float32) * factors[part, None]
            self._codes[part], self._steps[part], error = coded(whole)
            self._error = max(self._error, error)
            self._used = part.stop


class Asked(NamedTuple):
    """A question as rows are compared with: rounded as they are, and what makes it of length one."""

    halves: Halves
    factor: float


class VectorView:
    """The vectors at one moment; `stamp` says which."""

    def __init__(
        self,
        rows: Halves,
        factors: Matrix,
        coarse: Coarse,
        docs: NDArray[np.int64],
        bounds: NDArray[np.int64],
        stamp: int,
        *,
        scaled: bool,
    ) -> None:
        self.rows = rows
        self.factors = factors  # by which each row is multiplied
        self.docs = docs
        self.bounds = bounds  # of each document: its first row, the first of the answer, and the one after its last
        self.stamp = stamp
        self.scaled = scaled
        self.live = int((bounds[:, 2] - bounds[:, 0]).sum())  # rows that are some document's
        self._coarse = coarse
        self._order = np.argsort(docs, kind="stable")
        self._sorted = docs[self._order]
        self._latest: tuple[Matrix, Matrix] | None = None
        self._latest_asked: tuple[Matrix, Asked] | None = None

    def __len__(self) -> int:
        return len(self.docs)

    @property
    def dim(self) -> int:
        return int(self.rows.shape[1])

    def search(self, query: Matrix, limit: int) -> list[tuple[int, float]]:
        """The best documents and their cosines, best first; ties by document."""
        asked = self._asked(query)
        places = self._likely(asked, limit)
        if places is None:
            docs, scores = self.docs, self._scores(query)
        else:
            docs, scores = self.docs[places], self._cosines(asked, places)
        best = np.arange(len(scores)) if limit >= len(scores) else np.flatnonzero(scores >= least(scores, limit))
        best = best[np.lexsort((docs[best], -scores[best]))][:limit]
        return list(zip(docs[best].tolist(), scores[best].tolist(), strict=True))

    def cosines(self, query: Matrix, docs: Sequence[int]) -> dict[int, float]:
        """The cosine of each given document that has vectors."""
        known, places = self._places(docs)
        if not known:
            return {}
        latest = self._latest
        if latest is not None and latest[0] is query:  # all were compared when it was searched
            found = latest[1][places]
        else:
            found = self._cosines(self._asked(query), places)
        return dict(zip(known, found.tolist(), strict=True))

    def vectors(self, docs: Sequence[int]) -> dict[int, Matrix]:
        """The vectors of each given document that has some."""
        known, places = self._places(docs)
        if not known:
            return {}
        rows, bounds = _gathered(self.bounds[places])
        whole = self.rows[rows].astype(np.float32) * self.factors[rows, None]
        return {doc: whole[first:after] for doc, (first, _, after) in zip(known, bounds.tolist(), strict=True)}

    def _places(self, docs: Sequence[int]) -> tuple[list[int], NDArray[np.int64]]:
        """Those of the documents that are here, and where."""
        asked = np.array(docs, dtype=np.int64)
        if not len(self.docs):
            return [], asked[:0]
        at = np.minimum(np.searchsorted(self._sorted, asked), len(self._sorted) - 1)
        here = self._sorted[at] == asked
        return asked[here].tolist(), self._order[at[here]]

    def _likely(self, asked: Asked, limit: int) -> NDArray[np.int64] | None:
        """Where the documents are that may be the nearest, as far as eight bits tell; None: all have to be compared."""
        if len(self.rows) <= FEW or not is_of_many(self.docs, limit):
            return None
        self._coarse.asked += 1
        if self._coarse.asked < AGAIN:
            return None
        codes, steps, error = self._coarse.of(self.rows, self.factors)
        whole = asked.halves.astype(np.float32) * np.float32(asked.factor)
        step = np.abs(whole).max() / np.float32(127)
        if not step:
            return None
        code = np.rint(whole / step)
        missed = whole - code * step
        wrong = float(np.sqrt(np.dot(missed, missed)))
        flat = np.empty(len(codes), dtype=np.float32)
        np.multiply(_products(codes, code.astype(np.int8)), steps, out=flat, casting="same_kind")
        near = self._of_documents(flat, self.bounds, self.live)
        # Each row is off by `error` times the question's length, and the question by `wrong` times the row's, which is
        # one but for what rounding made of it. What a document is given for its rows is off by no more than they are.
        off = error * float(np.sqrt(np.dot(whole, whole))) + wrong * (1.0 + _SLACK + error) + _ROUNDED
        return np.flatnonzero(near >= reached(near, limit) - np.float32(2 * off / step))

    def _scores(self, query: Matrix) -> Matrix:
        """The cosine of every document; remembered for the question at hand, which asks for more and more."""
        latest = self._latest
        if latest is None or latest[0] is not query:
            latest = self._latest = (query, self._cosines(self._asked(query)))
        return latest[1]

    def _asked(self, query: Matrix) -> Asked:
        """The question as it is compared; remembered, since the question at hand is compared several times."""
        latest = self._latest_asked
        if latest is None or latest[0] is not query:
            latest = self._latest_asked = (query, _rounded(query, scaled=self.scaled))
        return latest[1]

    def _cosines(self, asked: Asked, places: NDArray[np.int64] | None = None) -> Matrix:
        """The cosines of the documents at these places, or of all."""
        if places is None:
            return self._of_documents(_dot(self.rows, asked) * self.factors, self.bounds, self.live)
        if self.live == len(self.bounds):  # a row each
            rows = self.bounds[places, 0]
            found: Matrix = _dot(self.rows[rows], asked) * self.factors[rows]
            return found
        rows, bounds = _gathered(self.bounds[places])
        return self._of_documents(_dot(self.rows[rows], asked) * self.factors[rows], bounds, len(rows))

    def _of_documents(self, flat: Matrix, bounds: NDArray[np.int64], live: int) -> Matrix:
        """What each document is given for its rows."""
        if live == len(bounds):  # a row each
            return flat if len(flat) == live else flat[bounds[:, 0]]
        # Stretches from a start to an end; an empty one (nothing said, or nothing answered) takes the other's value.
        padded = np.append(flat, np.float32(-1.0))
        sides = np.maximum.reduceat(padded, bounds.ravel()).reshape(-1, 3)
        user, agent = sides[:, 0], sides[:, 1]
        user = np.where(bounds[:, 0] < bounds[:, 1], user, agent)
        agent = np.where(bounds[:, 1] < bounds[:, 2], agent, user)
        both = (1 - WEAKER_SHARE) * np.maximum(user, agent) + WEAKER_SHARE * np.minimum(user, agent)
        return both.astype(np.float32, copy=False)


class VectorMatrix:
    """The vectors of one owner, model and tier, and room for more.

    `scaled`: every vector is brought to length one, and so is a question after it was rounded like them, as pgvector
    does it. Otherwise they are taken as they are, and one that is not of length one is damaged.
    """

    def __init__(self, dim: int, *, epoch: int = 0, scaled: bool = False) -> None:
        self.dim = dim
        self.epoch = epoch
        self.scaled = scaled
        self._rows: Halves = np.empty((0, dim), dtype=np.float16)
        self._factors: Matrix = np.empty(0, dtype=np.float32)
        self._coarse = Coarse(dim)
        self._used = 0
        empty: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._show(0, empty, empty.reshape(0, 3))

    @property
    def size(self) -> int:
        """Bytes; those of the codes count before they are made, so that there is room for them."""
        codes = len(self._rows) * (self.dim + self._factors.itemsize) if self._used > FEW else 0
        return self._rows.nbytes + self._factors.nbytes + codes

    def add(self, rows: list[tuple[int, int, int, bytes]]) -> None:
        """Take in (seq, doc, leading, float16 vectors) in order of seq. One thread at a time."""
        if not rows:
            return
        halves = np.frombuffer(b"".join(row[3] for row in rows), dtype=np.float16).reshape(-1, self.dim)
        _, docs, leading, heights = np.array(
            [(seq, doc, first, len(blob) // (2 * self.dim)) for seq, doc, first, blob in rows], dtype=np.int64
        ).T
        self.put(rows[-1][0], docs, leading, heights, [halves])

    def put(
        self,
        stamp: int,
        docs: NDArray[np.int64],
        leading: NDArray[np.int64],
        heights: NDArray[np.int64],
        halves: Iterable[NDArray[np.float16]],
        only: NDArray[np.int64] | None = None,
    ) -> None:
        """Take in documents in place of what they had: how many rows are the user's, how many there are, the rows.

        The rows come in as many pieces as is best. With `only`, whatever is not among these documents is let go of. One
        thread at a time.
        """
        stay = ~np.isin(self.view.docs, docs)
        if only is not None:
            stay &= np.isin(self.view.docs, only)
        ends = self._used + np.cumsum(heights)
        self._reserve(int(heights.sum()))
        for piece in halves:
            self._take_in(piece)
        bounds = np.stack((ends - heights, ends - heights + leading, ends), axis=1)
        self._show(
            stamp, np.concatenate((self.view.docs[stay], docs)), np.concatenate((self.view.bounds[stay], bounds))
        )

    def _show(self, stamp: int, docs: NDArray[np.int64], bounds: NDArray[np.int64]) -> None:
        """Make the next view; those who have an older one keep its rows."""
        live = int((bounds[:, 2] - bounds[:, 0]).sum())
        if self._used > live * 5 // 4 + _SPARE:
            places, bounds = _gathered(bounds)
            self._rows, self._factors, self._used = self._rows[places], self._factors[places], live
            self._coarse = Coarse(self.dim)
        rows, factors = self._rows[: self._used], self._factors[: self._used]
        self.view = VectorView(rows, factors, self._coarse, docs, bounds, stamp, scaled=self.scaled)

    def _take_in(self, halves: Halves) -> None:
        """Copy rows in. A damaged one becomes zeros: it must not win every question."""
        into = slice(self._used, self._used + len(halves))
        self._rows[into] = halves
        lengths = _lengths(self._rows[into])
        good = (np.isfinite(lengths) & (lengths > 0.0)) if self.scaled else np.abs(lengths - 1.0) < _SLACK
        self._rows[into][~good] = 0.0
        self._factors[into] = np.divide(1.0, lengths, out=np.ones_like(lengths), where=good) if self.scaled else 1.0
        self._used = into.stop

    def _reserve(self, more: int) -> None:
        if self._used + more > len(self._rows):
            room = _room(self._used + more)
            self._rows = _grown(self._rows, self._used, room)
            self._factors = _grown(self._factors, self._used, room)


def _rounded(query: Matrix, *, scaled: bool) -> Asked:
    halves = query.astype(np.float16)
    if not scaled:
        return Asked(halves, 1.0)
    (length,) = _lengths(halves[None, :])
    return Asked(halves, 1.0 / length) if 0.0 < length < np.inf else Asked(np.zeros_like(halves), 0.0)


def coded(rows: Matrix) -> tuple[Codes, Matrix, float]:
    """Rows in eight bits a number, the step of each row, and how far from one of them its code is at the most."""
    steps = np.maximum(rows.max(axis=1), -rows.min(axis=1)) / np.float32(127)
    codes = np.rint(rows / np.where(steps, steps, 1)[:, None])
    error = rows - codes * steps[:, None]
    return codes.astype(np.int8), steps, float(np.sqrt(np.einsum("ij,ij->i", error, error).max()))


def _room(rows: int) -> int:
    """A little more than is needed: a server keeps many of them, and one that grows is copied seldom."""
    return rows * 9 // 8 + _SPARE


def _grown(array: Any, used: int, room: int) -> Any:
    grown = np.empty((room, *array.shape[1:]), dtype=array.dtype)
    grown[:used] = array[:used]
    return grown


def _lengths(rows: Halves) -> NDArray[np.float64]:
    return np.sqrt(_products(rows, rows))


def _gathered(bounds: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of some documents one after the other, and their bounds among these."""
    heights = bounds[:, 2] - bounds[:, 0]
    shifts = bounds[:, 0] - (np.cumsum(heights) - heights)
    return np.arange(heights.sum()) + np.repeat(shifts, heights), bounds - shifts[:, None]


def _dot(rows: Halves, asked: Asked) -> Matrix:
    """Each row times the question."""
    return (_products(rows, asked.halves) * asked.factor).astype(np.float32)


def _products(rows: Halves | Codes, other: Halves | Codes) -> NDArray[np.float64]:
    """Each row times another, or times one and the same."""
    if not len(rows):
        return np.empty(0)
    return np.asarray(simsimd.dot(rows, other), dtype=np.float64)  # type: ignore[arg-type, unused-ignore]
