"""An owner's words of one tier in memory: which documents hold each, how often, and how long they are.

In: documents with their lexemes as PostgreSQL sends them, and which documents are left. Out: a `Lexicon`, everything
bm25 needs as it is after one change, and never changed itself: whoever has it goes on with it while the next is made.

Most documents stand in lists, one for each word. What came since stands beside them, until there is enough of it to
make the lists again; what is gone stays in the lists until then, and is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from itertools import chain, count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recollect.store.postgres.lexemes import STEPS
from recollect.store.rows.best import is_of_many, least, reached

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.model import Tier

    Sent = tuple[int, int, bytes]  # a document, how many words it has, its lexemes

K1, B = 1.2, 0.75  # of bm25, as FTS5 has them
RECENT = 64  # documents beside the lists, and such as are gone, until the lists are made again
_BETWEEN = b"\0\0\0"  # what ends a lexeme as it is sent: a NUL, and that it has no positions
_HEAD = 4  # bytes before the first: how many there are
_WORD_BYTES = 160  # that a word takes beside its list, about
_SHORT = 65_536  # words whose numbers fit 16 bits
_RECENT_BYTES = 4_096  # … and a document beside the lists


class Recent(NamedTuple):
    """The documents beside the lists: how many words each has, and for each word which of them hold it, and how often.

    Never changed, as the lists are: by word, so that a question looks at those that share one of its words, not at all.
    """

    sizes: Mapping[int, int]
    held: Mapping[str, tuple[tuple[int, float], ...]]

    def brought_up(self, sent: Sequence[Sent], read: Reader) -> Recent:
        """The next ones: these documents in place of what they had."""
        again = self.sizes.keys() & {doc for doc, _, _ in sent}
        before = self.without(again) if again else self
        sizes, held = dict(before.sizes), dict(before.held)
        for doc, size, lexemes in sent:
            sizes[doc] = size
            for word, times in read.words(lexemes).items():
                held[word] = (*held.get(word, ()), (doc, times))
        return Recent(sizes, held)

    def without(self, gone: Set[int]) -> Recent:
        left = ((word, tuple(one for one in docs if one[0] not in gone)) for word, docs in self.held.items())
        return Recent(
            {doc: size for doc, size in self.sizes.items() if doc not in gone},
            {word: docs for word, docs in left if docs},
        )


NONE = Recent({}, {})


class Lists(NamedTuple):
    """For each word, by its number, the places of the documents that hold it, one word after the other."""

    numbers: dict[str, int]
    starts: list[int]  # where a word's places begin; one more for the end of the last
    places: NDArray[np.int32]
    times: NDArray[np.float32]
    docs: NDArray[np.int64]  # at each place
    sizes: NDArray[np.float64]  # how many words each has


class Lexicon:
    """The words at one moment; `stamp` says which."""

    def __init__(self, stamp: int, lists: Lists, recent: Recent = NONE, live: NDArray[np.bool_] | None = None) -> None:
        self.stamp = stamp
        self._lists = lists
        self._recent = recent
        self._live = live  # which places still count; None: all

    @property
    def size(self) -> int:
        lists = self._lists
        arrays = (lists.places, lists.times, lists.docs, lists.sizes)
        words = _WORD_BYTES * len(lists.numbers) + _RECENT_BYTES * len(self._recent.sizes)
        return words + sum(array.nbytes for array in arrays)

    @property
    def docs(self) -> NDArray[np.int64]:
        """The documents that are here."""
        docs = self._lists.docs if self._live is None else self._lists.docs[self._live]
        return np.concatenate((docs, np.array(list(self._recent.sizes), dtype=np.int64)))

    def holding(self, words: Sequence[str]) -> dict[str, int]:
        """How many documents hold each word."""
        return {word: len(self._places(word)[0]) + len(self._recent.held.get(word, ())) for word in words}

    def best(
        self, words: Sequence[str], weights: Sequence[float], length: float, limit: int
    ) -> list[tuple[int, float]]:
        """The best documents by bm25, best first, ties by document; `length` is how many words they have on average."""
        found = self._in_lists(words, weights, length, limit)
        sizes, held = self._recent
        scores: dict[int, float] = {}
        for word, weight in zip(words, weights, strict=True):
            for doc, times in held.get(word, ()):
                long = K1 * (1 - B + B * sizes[doc] / length)
                scores[doc] = scores.get(doc, 0.0) + weight * times * (K1 + 1) / (times + long)
        if not scores:
            return found
        return sorted((*found, *scores.items()), key=lambda one: (-one[1], one[0]))[:limit]

    def _in_lists(
        self, words: Sequence[str], weights: Sequence[float], length: float, limit: int
    ) -> list[tuple[int, float]]:
        held = [self._places(word) for word in words]
        places = np.concatenate([places for places, _ in held]) if held else np.zeros(0, dtype=np.int32)
        if not len(places):
            return []
        times = np.concatenate([times for _, times in held])
        weight = np.repeat(weights, [len(places) for places, _ in held])
        long = K1 * (1 - B + (B / length) * self._lists.sizes[places])
        scores = np.bincount(places, weight * times * (K1 + 1) / (times + long))
        enough = reached(scores, limit) if is_of_many(scores, limit) else 0.0
        best = np.flatnonzero(scores >= enough if enough else scores > 0.0)
        scores = scores[best]
        if limit < len(best):
            few = scores >= least(scores, limit)
            best, scores = best[few], scores[few]
        docs = self._lists.docs[best]
        order = np.lexsort((docs, -scores))[:limit]
        return list(zip(docs[order].tolist(), scores[order].tolist(), strict=True))

    def _places(self, word: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Where the documents in the lists are that hold a word, and how often each does."""
        lists = self._lists
        number = lists.numbers.get(word)
        if number is None:
            return lists.places[:0], lists.times[:0]
        span = slice(lists.starts[number], lists.starts[number + 1])
        places, times = lists.places[span], lists.times[span]
        if self._live is None:
            return places, times
        live = self._live[places]
        return places[live], times[live]

    def brought_up(
        self, stamp: int, sent: Sequence[Sent], read: Reader, only: NDArray[np.int64] | None = None
    ) -> Lexicon:
        """The next one: these documents in place of what they had; with `only`, whatever is not among them is gone."""
        docs = [doc for doc, _, _ in sent]
        live = ~np.isin(self._lists.docs, docs)
        if self._live is not None:
            live &= self._live
        recent = self._recent.brought_up(sent, read)
        if only is not None:
            live &= np.isin(self._lists.docs, only)
            if gone := recent.sizes.keys() - only.tolist():
                recent = recent.without(gone)
        if len(recent.sizes) + len(live) - int(live.sum()) > RECENT:
            return Lexicon(stamp, _joined(self._lists, live, recent))
        return Lexicon(stamp, self._lists, recent, None if live.all() else live)


class Reader:
    """Makes words of the lexemes of one owner and tier: each is `head`, the word, `~` and in which step it counts."""

    def __init__(self, tier: Tier, head: str) -> None:
        self._steps = STEPS[tier]
        self._head = len(head.encode())

    def all(self, stamp: int, sent: Sequence[Sent]) -> Lexicon:
        """Many documents at once, none of them twice."""
        each = [_lexemes(lexemes) for _, _, lexemes in sent]
        found: defaultdict[bytes, int] = defaultdict(count().__next__)  # the lexemes there are, each with a number
        told = np.fromiter(map(found.__getitem__, chain.from_iterable(each)), dtype=np.int64)
        numbers: dict[str, int] = {}
        word_of, times_of = np.empty(len(found), dtype=np.int64), np.empty(len(found), dtype=np.float32)
        for lexeme, number in found.items():
            word, times = self._read(lexeme)
            word_of[number], times_of[number] = numbers.setdefault(word, len(numbers)), times
        places = np.repeat(np.arange(len(sent), dtype=np.int32), [len(lexemes) for lexemes in each])
        docs = np.array([doc for doc, _, _ in sent], dtype=np.int64)
        sizes = np.array([size for _, size, _ in sent], dtype=np.float64)
        return Lexicon(stamp, _listed(numbers, word_of[told], places, times_of[told], docs, sizes))

    def words(self, sent: bytes) -> dict[str, float]:
        """How often a document holds each of its words."""
        return dict(map(self._read, _lexemes(sent)))

    def _read(self, lexeme: bytes) -> tuple[str, float]:
        word, _, step = lexeme[self._head :].decode().rpartition("~")
        return word, self._steps[int(step) - 1]


def _lexemes(sent: bytes) -> list[bytes]:
    return sent[_HEAD : -len(_BETWEEN)].split(_BETWEEN) if len(sent) > _HEAD else []


def _listed(
    numbers: dict[str, int],
    words: NDArray[np.int64],
    places: NDArray[np.int32],
    times: NDArray[np.float32],
    docs: NDArray[np.int64],
    sizes: NDArray[np.float64],
) -> Lists:
    """Lists of what is known in any order: a word's number, a place that holds it, how often."""
    short = words.astype(np.uint16) if len(numbers) <= _SHORT else words  # sorted in an eighth of the time
    order = np.argsort(short, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(words, minlength=len(numbers)))))
    return Lists(numbers, starts.tolist(), places[order], times[order], docs, sizes)


def _joined(lists: Lists, live: NDArray[np.bool_], recent: Recent) -> Lists:
    """The lists without what is gone, and with what stood beside them."""
    numbers = dict(lists.numbers)
    words = np.repeat(np.arange(len(numbers)), np.diff(lists.starts))
    kept = live[lists.places]
    at = np.cumsum(live, dtype=np.int32) - 1  # where each that is left goes
    place_of = {doc: place for place, doc in enumerate(recent.sizes, int(live.sum()))}
    more = [
        (numbers.setdefault(word, len(numbers)), place_of[doc], times)
        for word, docs in recent.held.items()
        for doc, times in docs
    ]
    new_words, new_places, new_times = zip(*more, strict=True) if more else ((), (), ())
    return _listed(
        numbers,
        np.concatenate((words[kept], np.array(new_words, dtype=np.int64))),
        np.concatenate((at[lists.places[kept]], np.array(new_places, dtype=np.int32))),
        np.concatenate((lists.times[kept], np.array(new_times, dtype=np.float32))),
        np.concatenate((lists.docs[live], np.array(list(recent.sizes), dtype=np.int64))),
        np.concatenate((lists.sizes[live], np.array(list(recent.sizes.values()), dtype=np.float64))),
    )
