"""A flood of memories that say nearly the same: the first few stay, the rest is put away with a note.

Whoever repeats one thing a hundred times in other words would fill every answer with it. In come the memories that an
owner got in the last hour; one that says what several before it in that hour said already is archived as `flooded`. Two
say the same when their vectors are nearly one, or, while one has none, when their words are. Of a long text some of the
words stand for all, and words are held against the last few hundred memories alone: the work is bounded, whatever is
written. Nothing older is ever touched, nor what a person confirmed; nobody who writes is refused, and what a person put
back stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING
from zlib import crc32

from recollect.clock import Clock
from recollect.errors import Conflict, NotFound
from recollect.model import Memory, Scope
from recollect.store.port import Store

if TYPE_CHECKING:
    from recollect.store.ports.search import Matrix

FLOODED = "flooded"  # in `meta`, and in the audit
HOUR = timedelta(hours=1)
SEVERAL = 3  # so many others must have said it before
SAME = 0.98  # the cosine above which two say the same
_SAME_WORDS = 0.9  # of all words of the two, those that both have
_LONG = 800  # characters; a vector may stand for no more than these, so the words must be the same too
_MOST = 1_000  # memories looked at: of more than these, the last
_COMPARED = 300  # of those without a vector, the last so many are compared by their words
_WORDS = 200  # of a text that has more, these stand for it
_WORD = re.compile(r"\w+")


def hold_back(store: Store, scope: Scope, clock: Clock) -> int:
    """Archive what floods this owner's memory; returns how many memories that were."""
    scope, now = scope.within(None), clock()
    found = store.memories.newest(scope, since=now - HOUR, limit=_MOST)[::-1]  # in the order they came
    if len(found) <= SEVERAL:
        return 0
    vectors = store.search.vectors(scope, "memory", [doc for doc, _ in found])
    likes = _Likes()
    done = 0
    for doc, memory in found:
        repeats = likes.repeats(vectors.get(doc), memory.content) >= SEVERAL
        if repeats and _may_be_held_back(memory):
            away = replace(memory, archived_at=now, meta={**memory.meta, FLOODED: True})
            with suppress(Conflict, NotFound):  # changed or forgotten meanwhile: looked at again with the next
                store.memories.update(scope, away, at=now, note=FLOODED)
                done += 1
    return done


def _may_be_held_back(memory: Memory) -> bool:
    untouched = memory.archived_at is None and memory.superseded_at is None and memory.confirmed_at is None
    return untouched and FLOODED not in memory.meta and not memory.pinned


class _Likes:
    """What came so far, to be held against what comes next."""

    def __init__(self) -> None:
        self._vectors: Matrix | None = None  # room for all there may be; as many rows are filled as words are embedded
        self._embedded: list[frozenset[str]] = []  # the words of those with a vector, in the same order
        self._bare: list[frozenset[str]] = []  # of those without

    def repeats(self, vectors: Matrix | None, text: str) -> int:
        """How many of those before say nearly the same, up to several; it is one of them from here on."""
        words = _words(text)
        if vectors is None or not len(vectors):
            count = _alike(words, self._bare)
            count += _alike(words, self._embedded) if count < SEVERAL else 0
            self._bare.append(words)
            return count
        near = self._near(vectors[0])
        count = _alike(words, [self._embedded[place] for place in near]) if len(text) > _LONG else len(near)
        self._embedded.append(words)
        return count if count >= SEVERAL else count + _alike(words, self._bare)

    def _near(self, vector: Matrix) -> list[int]:
        """Which of those with a vector are nearly this one, which is put behind them."""
        import numpy as np

        if self._vectors is None:
            self._vectors = np.empty((_MOST, len(vector)), dtype=vector.dtype)
        count = len(self._embedded)
        near = np.flatnonzero(self._vectors[:count] @ vector > SAME)
        self._vectors[count] = vector
        return [int(place) for place in near]


def _words(text: str) -> frozenset[str]:
    """The words of a text; of very many, the same choice from all of it each time, so that choices can be compared."""
    words = frozenset(_WORD.findall(text.casefold()))
    return words if len(words) <= _WORDS else frozenset(sorted(words, key=lambda word: crc32(word.encode()))[:_WORDS])


def _alike(words: frozenset[str], others: Sequence[frozenset[str]]) -> int:
    """How many of the last of these have nearly the same words; from several on, how many more is not counted."""
    count = 0
    for other in others[-_COMPARED:]:
        count += _same_words(words, other)
        if count == SEVERAL:
            break
    return count


def _same_words(one: frozenset[str], other: frozenset[str]) -> bool:
    if not one or not _SAME_WORDS * len(one) <= len(other) <= len(one) / _SAME_WORDS:
        return False  # too many are only in one of them, whichever they are
    both = len(one & other)
    return both >= _SAME_WORDS * (len(one) + len(other) - both)
