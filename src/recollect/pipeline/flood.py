"""A flood of memories that say nearly the same: the first few stay, the rest is put away with a note.

Whoever repeats one thing a hundred times in other words would fill every answer with it. In come the memories that an
owner got in the last hour; one that says what several before it in that hour said already is archived as `flooded`. Two
say the same when their vectors are nearly one, or, while one has none, when their words are. Nothing older is ever
touched, nor what a person confirmed; nobody who writes is refused, and what a person put back stays.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from recollect.clock import Clock
from recollect.errors import Conflict, NotFound
from recollect.model import Memory, Scope
from recollect.store.port import Store
from recollect.store.searchtext import query_terms

if TYPE_CHECKING:
    from recollect.store.port import Matrix

FLOODED = "flooded"  # in `meta`, and in the audit
HOUR = timedelta(hours=1)
SEVERAL = 3  # so many others must have said it before
SAME = 0.98  # the cosine above which two say the same
_SAME_WORDS = 0.9  # of all words of the two, those that both have
_MOST = 1_000  # memories looked at: of more than these, the last


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
    return untouched and FLOODED not in memory.meta


class _Likes:
    """What came so far, to be held against what comes next."""

    def __init__(self) -> None:
        self._vectors: dict[int, list[Matrix]] = {}  # by how many a text has: long ones have several
        self._words: list[frozenset[str]] = []
        self._bare: list[frozenset[str]] = []  # of those without a vector

    def repeats(self, vectors: Matrix | None, text: str) -> int:
        """How many of those before say nearly the same; it is one of them from here on."""
        words = frozenset(query_terms(text))
        if vectors is None or not len(vectors):
            count = sum(_same_words(words, other) for other in self._words)
            self._bare.append(words)
        else:
            alike = self._vectors.setdefault(len(vectors), [])
            count = _near(vectors, alike) + sum(_same_words(words, other) for other in self._bare)
            alike.append(vectors)
        self._words.append(words)
        return count


def _near(vectors: Matrix, others: list[Matrix]) -> int:
    """How many others are near in every part."""
    import numpy as np

    if not others:
        return 0
    cosines = np.einsum("opd,pd->op", np.stack(others), vectors)
    return int((cosines.min(axis=1) > SAME).sum())


def _same_words(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one) and len(one & other) >= _SAME_WORDS * len(one | other)
