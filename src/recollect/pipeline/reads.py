"""Reads are counted in memory and written down now and then: a recall must not wait for a disk.

What is lost when a process is killed are counts, never content.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

from recollect.clock import Clock
from recollect.errors import StoreReadOnly
from recollect.model import Scope
from recollect.store.port import Store
from recollect.text import dedup_key

_FULL = 64


class Reads:
    """Counts which memories were returned."""

    def __init__(self, store: Store, scope: Scope, clock: Clock) -> None:
        self._store = store
        self._scope = scope
        self._clock = clock
        self._counts: Counter[str] = Counter()
        self._shown: set[str] = set()
        self._lock = threading.Lock()

    def add(self, ids: Iterable[str]) -> None:
        """These were read once more."""
        with self._lock:
            self._counts.update(ids)
            full = len(self._counts) >= _FULL
        if full:
            self.write()

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
        if shown:
            self._store.captures.injected(self._scope, sorted(shown), at=self._clock())
        if counts:
            self._store.memories.touch(self._scope, counts, at=self._clock())
