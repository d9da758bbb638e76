"""An owner's vectors of one tier in memory: read once, then only what changed.

Up to `EXACT` rows all of them are compared. Of more, the signs of their numbers are compared first, a bit each, and
only those few that agree best with the question are compared exactly: reading all of them takes longer than everything
else in an answer (decision 23).

In: documents with their vectors as float16, and which documents are left. Out: a `VectorView`, everything a search
needs as it is after one change, and never changed itself: whoever has it goes on with it while the next is made.

Rows of one document lie side by side, first those of what the user said, then those of what answered; each side's
cosine is its best row's. Rows of what was replaced or is gone stay behind, unused, until they are a fifth of all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from recollect.store.searchtext import WEAKER_SHARE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.store.port import Matrix

    Signs = NDArray[np.uint64]

EXACT = 20_000  # rows up to which all are compared
_SPREAD = 125  # of just as many rows, how many are compared for the nearest one (`compared`)
_BLOCK = 512
_NEAR = 16_384  # signs that are compared in one go: they stay in the cache of the processor
_SLACK = 0.05  # float16 changes the length of a unit vector by less than this
_FEW = 64  # rows that nobody counts


def compared(rows: int, limit: float) -> int:
    """Of so many rows, how many have to be compared to find the nearest `limit` but for two or three in a thousand.

    Measured by bench/signs.py: the number grows with the wanted slower than they do, and hardly with the rows.
    """
    number: float = _SPREAD * limit ** (2 / 3) * (rows / EXACT) ** (1 / 4)
    return round(number)


class VectorView:
    """The vectors at one moment; `stamp` says which."""

    def __init__(
        self,
        rows: Matrix,
        signs: Signs,
        docs: NDArray[np.int64],
        bounds: NDArray[np.int64],
        stamp: int,
        *,
        scaled: bool,
    ) -> None:
        self.rows = rows
        self.signs = signs  # of the rows: 64 in a number, the first numbers of all rows side by side
        self.docs = docs
        self.bounds = bounds  # of each document: its first row, the first of the answer, and the one after its last
        self.stamp = stamp
        self.scaled = scaled
        self.live = int((bounds[:, 2] - bounds[:, 0]).sum())  # rows that are some document's
        self._firsts, self._afters = np.ascontiguousarray(bounds[:, 0]), np.ascontiguousarray(bounds[:, 2])
        self._order = np.argsort(docs, kind="stable")
        self._sorted = docs[self._order]
        self._latest: tuple[Matrix, Matrix] | None = None

    def __len__(self) -> int:
        return len(self.docs)

    @property
    def dim(self) -> int:
        return int(self.rows.shape[1])

    def search(self, query: Matrix, limit: int) -> list[tuple[int, float]]:
        """The best documents and their cosines, best first; ties by document."""
        places = self._likely(query, limit)
        if places is None:
            docs, scores = self.docs, self._scores(query)
        else:
            docs, scores = self.docs[places], self._cosines(self._asked(query), places)
        if limit < len(scores):
            least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            best = np.flatnonzero(scores >= least)
        else:
            best = np.arange(len(scores))
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
        spans = self.bounds[places].tolist()
        return {doc: self.rows[first:after] for doc, (first, _, after) in zip(known, spans, strict=True)}

    def _places(self, docs: Sequence[int]) -> tuple[list[int], NDArray[np.int64]]:
        """Those of the documents that are here, and where."""
        asked = np.array(docs, dtype=np.int64)
        if not len(self.docs):
            return [], asked[:0]
        at = np.minimum(np.searchsorted(self._sorted, asked), len(self._sorted) - 1)
        here = self._sorted[at] == asked
        return asked[here].tolist(), self._order[at[here]]

    def _likely(self, query: Matrix, limit: int) -> NDArray[np.int64] | None:
        """Where the documents are whose signs agree best with the question's; None: all have to be compared."""
        wanted = compared(len(self.rows), limit * self.live / max(1, len(self.docs)))
        if len(self.rows) <= EXACT or wanted > len(self.rows) // 2:
            return None
        differ = _differing(self.signs, _signs(self._asked(query)[None, :])[:, 0])
        most = int(np.searchsorted(np.cumsum(np.bincount(differ)), wanted))
        found = np.flatnonzero(differ <= most)
        places = np.searchsorted(self._firsts, found, side="right") - 1
        places = places[(places >= 0) & (found < self._afters[places])]
        if self.live > len(self.docs):  # rows of one document lie side by side, so it is found once, and again at once
            places = places[np.diff(places, prepend=-1) > 0]
        return places if len(places) >= min(limit, len(self.docs)) else None

    def _scores(self, query: Matrix) -> Matrix:
        """The cosine of every document; remembered for the question at hand, which asks for more and more."""
        latest = self._latest
        if latest is None or latest[0] is not query:
            latest = self._latest = (query, self._cosines(self._asked(query)))
        return latest[1]

    def _asked(self, query: Matrix) -> Matrix:
        return _halved(query) if self.scaled else query

    def _cosines(self, query: Matrix, places: NDArray[np.int64] | None = None) -> Matrix:
        """The cosines of the documents at these places, or of all."""
        bounds, live = self.bounds, self.live
        if places is None:
            flat = _dot(self.rows, query)
        else:
            rows, bounds = _gathered(bounds[places])
            flat, live = _dot(self.rows, query, rows), len(rows)
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
        self._buffer: Matrix = np.empty((0, dim), dtype=np.float32)
        self._signs = _signs(self._buffer)
        self._used = 0
        empty: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.view = VectorView(self._buffer, self._signs, empty, empty.reshape(0, 3), 0, scaled=scaled)

    @property
    def size(self) -> int:
        return self._buffer.nbytes + self._signs.nbytes

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
        if self._used > live * 5 // 4 + _FEW:
            places, bounds = _gathered(bounds)
            self._buffer, self._signs, self._used = self._buffer[places], self._signs[:, places], live
        rows, signs = self._buffer[: self._used], self._signs[:, : self._used]
        self.view = VectorView(rows, signs, docs, bounds, stamp, scaled=self.scaled)

    def _take_in(self, halves: NDArray[np.float16]) -> None:
        """Copy rows in, a few at a time: they are made whole while they are near."""
        for start in range(0, len(halves), _BLOCK):
            part = halves[start : start + _BLOCK]
            into = self._buffer[self._used : self._used + len(part)]
            into[...] = part
            (_scale if self.scaled else _check)(into)
            self._signs[:, self._used : self._used + len(part)] = _signs(into)
            self._used += len(part)

    def _reserve(self, more: int) -> None:
        if self._used + more > len(self._buffer):
            # A little more than is needed: a server keeps many of them, and one that grows is copied seldom.
            room = (self._used + more) * 9 // 8 + _FEW
            buffer: Matrix = np.empty((room, self.dim), dtype=np.float32)
            buffer[: self._used] = self._buffer[: self._used]
            signs: Signs = np.empty((len(self._signs), room), dtype=np.uint64)
            signs[:, : self._used] = self._signs[:, : self._used]
            self._buffer, self._signs = buffer, signs


def _check(rows: Matrix) -> None:
    """Make zeros of those that are no longer of length one: a damaged one must not win every question."""
    with np.errstate(invalid="ignore", over="ignore"):
        rows[~(np.abs(_lengths(rows) - 1.0) < _SLACK)] = 0.0


def _scale(rows: Matrix) -> None:
    """Bring them to length one; one that cannot be is zeros."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        lengths = _lengths(rows)
        rows /= lengths[:, None]
    rows[~(np.isfinite(lengths) & (lengths > 0.0))] = 0.0


def _lengths(rows: Matrix) -> Matrix:
    found: Matrix = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return found


def _halved(query: Matrix) -> Matrix:
    """A question as it is compared with halves: rounded as they are, and of length one again."""
    found: Matrix = query.astype(np.float16).astype(np.float32)
    length = math.sqrt(np.dot(found, found))
    return found / np.float32(length) if 0.0 < length < math.inf else np.zeros_like(found)


def _gathered(bounds: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of some documents one after the other, and their bounds among these."""
    heights = bounds[:, 2] - bounds[:, 0]
    shifts = bounds[:, 0] - (np.cumsum(heights) - heights)
    return np.arange(heights.sum()) + np.repeat(shifts, heights), bounds - shifts[:, None]


def _signs(rows: Matrix) -> Signs:
    """A bit for each number of a row: whether it is more than zero."""
    packed = np.packbits(rows > 0.0, axis=1)
    whole = np.zeros((len(rows), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    whole[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(whole.view(np.uint64).T)


def _differing(signs: Signs, asked: Signs) -> NDArray[np.uint16]:
    """How many signs of each row are not the question's."""
    out = np.zeros(signs.shape[1], dtype=np.uint16)
    for start in range(0, len(out), _NEAR):
        part = out[start : start + _NEAR]
        for number, ours in zip(signs, asked, strict=True):
            part += np.bitwise_count(number[start : start + _NEAR] ^ ours)
    return out


def _dot(rows: Matrix, query: Matrix, which: NDArray[np.int64] | None = None) -> Matrix:
    """Each row times the question, row by row: that reads them once, in half the time of one product of them all."""
    out: Matrix = np.empty(len(rows) if which is None else len(which), dtype=np.float32)
    if which is None:
        np.vecdot(rows, query, out=out)
        return out
    for start in range(0, len(out), _BLOCK):
        part = slice(start, start + _BLOCK)
        np.vecdot(rows[which[part]], query, out=out[part])
    return out
