"""Reads are counted in memory and written down now and then: a recall must not wait for a disk, nor fail for one.

What cannot be written down now is kept for the next time. What is lost when a process is killed are counts, never
content.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC
from time import monotonic

from recollect.clock import Clock
from recollect.errors import StoreError, StoreReadOnly
from recollect.model import Recall, Scope
from recollect.store.port import Store
from recollect.store.ports.insights import RecallDay
from recollect.text import dedup_key

_FULL = 64
_MOST = 100_000  # what is kept for a store that takes nothing


class Reads:
    """Counts which memories were returned. `full`: how many of them are written down by whoever reads one more."""

    def __init__(self, store: Store, scope: Scope, clock: Clock, *, full: int = _FULL) -> None:
        self._full = full
        self._store = store
        self._scope = scope
        self._clock = clock
        self._counts: Counter[str] = Counter()
        self._shown: set[str] = set()
        self._asked: dict[str, RecallDay] = {}
        self._lock = threading.Lock()

    def add(self, ids: Iterable[str]) -> None:
        """These were read once more."""
        with self._lock:
            self._counts.update(ids)
            full = len(self._counts) >= self._full
        if full:
            with suppress(StoreError):  # an answer must not fail for its count: the next one tries again
                self.write()

    def asked(self, found: Recall) -> None:
        """The memory was asked once more, and this is what it said."""
        given = sum(hit.tier == "memory" for hit in found.hits)
        day = self._clock().astimezone(UTC).date().isoformat()
        with self._lock:
            self._asked[day] = _added(self._asked.get(day), RecallDay(day, 1, int(found.abstained), given))

    def shown(self, text: str) -> None:
        """This block was put before an agent: when it comes back in a transcript it is nothing new."""
        if text.strip():
            with self._lock:
                self._shown.add(dedup_key(text))

    def write(self) -> None:
        """Write the counts into the store; where it can only be read, nobody counts."""
        with suppress(StoreReadOnly):
            self._write()

    def _write(self) -> None:
        with self._lock:
            counts, self._counts = self._counts, Counter()
            shown, self._shown = self._shown, set()
            asked, self._asked = self._asked, {}
        try:
            if shown:
                self._store.captures.injected(self._scope, sorted(shown), at=self._clock())
                shown = set()
            if counts:
                self._store.memories.touch(self._scope, counts, at=self._clock())
                counts = Counter()
            if asked:
                self._store.insights.count_recalls(self._scope.within(None), list(asked.values()))
        except StoreReadOnly:
            raise
        except StoreError:
            self._keep(counts, shown, asked)
            raise

    def _keep(self, counts: Counter[str], shown: set[str], asked: dict[str, RecallDay]) -> None:
        """Put back what could not be written down."""
        with self._lock:
            if len(self._counts) + len(counts) <= _MOST:
                self._counts.update(counts)
            if len(self._shown) + len(shown) <= _MOST:
                self._shown |= shown
            for day, one in asked.items():
                self._asked[day] = _added(self._asked.get(day), one)


class Rounds:
    """Who writes down their counts when: everybody once in a round of so many seconds, and about as many at a time.

    Written down all at once, those who ask then wait for it, though most of the time nobody has to.
    """

    def __init__(self, everybody: Callable[[], Sequence[Reads]], seconds: float) -> None:
        self._everybody, self._seconds = everybody, seconds
        self._left: deque[Reads] = deque()
        self._each = 0.0  # how many a second
        self._begun_at = monotonic()

    def few(self, seconds: float) -> list[Reads]:
        """Those whose turn comes within so many seconds."""
        if not self._left and monotonic() - self._begun_at >= self._seconds:
            self._left.extend(self._everybody())
            self._each, self._begun_at = len(self._left) / self._seconds, monotonic()
        number = min(len(self._left), math.ceil(self._each * seconds))
        return [self._left.popleft() for _ in range(number)]


def _added(known: RecallDay | None, more: RecallDay) -> RecallDay:
    """What was counted on a day, and more of the same day."""
    if known is None:
        return more
    return RecallDay(more.day, *(one + two for one, two in zip(known[1:], more[1:], strict=True)))
