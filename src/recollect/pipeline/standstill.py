"""How long texts have waited for a vector while none of them got one: a queue that moves does not stand still.

In: looks at what waits, however often. It moves when something that waited at the look before waits no longer, which is
known by name while few wait and by number when many do. What came in between is no reason to say that it stands still.
"""

from __future__ import annotations

import threading
import time

from recollect.store.ports.search import Vectors

LOOK = 64  # texts that are known by name


class Standstill:
    """Looks at one store's queue."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._lock = threading.Lock()
        self._named: frozenset[tuple[str, int, int]] = frozenset()
        self._pending = 0
        self._since = time.monotonic()

    @property
    def pending(self) -> int:
        """How many waited at the last look."""
        return self._pending

    @property
    def seconds(self) -> float:
        """For how long nothing has moved, as of the last look."""
        return time.monotonic() - self._since if self._pending else 0.0

    def look(self) -> float:
        """Look, and say for how many seconds nothing has moved; 0 when nothing waits."""
        found = [(one.tier, one.doc, one.ticket) for one in self._vectors.waiting(LOOK + 1)]
        pending = len(found) if len(found) <= LOOK else self._vectors.pending()
        with self._lock:
            if self._has_moved(pending, frozenset(found)):
                self._since = time.monotonic()
            self._named, self._pending = frozenset(found), pending
            return time.monotonic() - self._since

    def moved(self) -> None:
        """Something was done, or nothing is to be done: it begins anew."""
        with self._lock:
            self._since = time.monotonic()

    def _has_moved(self, pending: int, named: frozenset[tuple[str, int, int]]) -> bool:
        if not pending or pending < self._pending or not self._pending:
            return True
        return max(pending, self._pending) <= LOOK and not self._named <= named
