"""An owner's words of one tier in memory: which documents hold each, how often, and how long they are.

In: documents with their lexemes as PostgreSQL sends them, and which documents are left. Out: a `Lexicon`, everything
bm25 needs as it is after one change, and never changed itself: whoever has it goes on with it while the next is made.

Most documents stand in lists, one for each word. What came since stands beside them, each with its own words, until
there is enough of it to make the lists again; what is gone stays in the lists until then, and is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recollect.store.postgres.lexemes import STEPS

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
    """A document beside the lists: how many words it has, and how often it holds each of them."""

    size: int
    words: Mapping[str, float]


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

    def __init__(
        self, stamp: int, lists: Lists, recent: Mapping[int, Recent], live: NDArray[np.bool_] | None = None
    ) -> None:
        self.stamp = stamp
        self._lists = lists
        self._recent = recent
        self._live = live  # which places still count; None: all

    @property
    def size(self) -> int:
        lists = self._lists
        arrays = (lists.places, lists.times, lists.docs, lists.sizes)
        words = _WORD_BYTES * len(lists.numbers) + _RECENT_BYTES * len(self._recent)
        return words + sum(array.nbytes for array in arrays)

    @property
    def docs(self) -> NDArray[np.int64]:
        """The documents that are here."""
        docs = self._lists.docs if self._live is None else self._lists.docs[self._live]
        return np.concatenate((docs, np.fromiter(self._recent, dtype=np.int64, count=len(self._recent))))

    def holding(self, words: Sequence[str]) -> dict[str, int]:
        """How many documents hold each word."""
        return {
            word: len(self._places(word)[0]) + sum(word in one.words for one in self._recent.values()) for word in words
        }

    def best(
        self, words: Sequence[str], weights: Sequence[float], length: float, limit: int
    ) -> list[tuple[int, float]]:
        """The best documents by bm25, best first, ties by document; `length` is how many words they have on average."""
        found = self._in_lists(words, weights, length, limit)
        for doc, one in self._recent.items():
            weighed = zip(words, weights, strict=True)
            shared = [(one.words[word], weight) for word, weight in weighed if word in one.words]
            if shared:
                long = K1 * (1 - B + B * one.size / length)
                found.append((doc, sum(weight * times * (K1 + 1) / (times + long) for times, weight in shared)))
        if self._recent:
            found.sort(key=lambda one: (-one[1], one[0]))
        return found[:limit]

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
        best = np.flatnonzero(scores)
        scores = scores[best]
        if limit < len(best):
            few = scores >= np.partition(scores, len(best) - limit)[len(best) - limit]
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
        recent = {**self._recent, **{doc: Recent(size, read.words(lexemes)) for doc, size, lexemes in sent}}
        if only is not None:
            live &= np.isin(self._lists.docs, only)
            left = set(only.tolist())
            recent = {doc: one for doc, one in recent.items() if doc in left}
        if len(recent) + len(live) - int(live.sum()) > RECENT:
            return Lexicon(stamp, _joined(self._lists, live, recent), {})
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
        return Lexicon(stamp, _listed(numbers, word_of[told], places, times_of[told], docs, sizes), {})

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


def _joined(lists: Lists, live: NDArray[np.bool_], recent: Mapping[int, Recent]) -> Lists:
    """The lists without what is gone, and with what stood beside them."""
    numbers = dict(lists.numbers)
    words = np.repeat(np.arange(len(numbers)), np.diff(lists.starts))
    kept = live[lists.places]
    at = np.cumsum(live, dtype=np.int32) - 1  # where each that is left goes
    first = int(live.sum())
    more = [
        (numbers.setdefault(word, len(numbers)), place, times)
        for place, one in enumerate(recent.values(), first)
        for word, times in one.words.items()
    ]
    new_words, new_places, new_times = zip(*more, strict=True) if more else ((), (), ())
    return _listed(
        numbers,
        np.concatenate((words[kept], np.array(new_words, dtype=np.int64))),
        np.concatenate((at[lists.places[kept]], np.array(new_places, dtype=np.int32))),
        np.concatenate((lists.times[kept], np.array(new_times, dtype=np.float32))),
        np.concatenate((lists.docs[live], np.fromiter(recent, dtype=np.int64, count=len(recent)))),
        np.concatenate((lists.sizes[live], np.array([one.size for one in recent.values()], dtype=np.float64))),
    )
