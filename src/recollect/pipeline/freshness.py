"""What was written a moment ago has no vector yet: it is found by its words, and a little later by its meaning.

Whoever asks in that moment and would hear nothing waits for it: shortly, where only a few texts wait and vectors are
being made, and only some at a time. All others are answered at once. An answer that may lack something says so.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from recollect.model import Recall, Scope
from recollect.pipeline.standstill import Standstill
from recollect.store.port import Store

FEW = 16  # texts that wait, of everybody; for more of them nobody waits
SECONDS = 0.3  # how long somebody waits at most
SHARE = 4  # of so many requests that are worked on at once, one may wait
STILL = 10.0  # seconds after which a queue that does not move is nothing to wait for
LATELY = 60.0  # seconds for which an answer to somebody who wrote is checked, though something was found
_AGAIN = 0.05  # another process may make the vectors
_MOMENT = 0.1  # seconds for which a look is good for others
_MOST = 10_000


class Freshness:
    """Lets questions wait for the vectors of one store.

    `fits`: whether there is a model that makes them; `at_once`: how many requests are worked on at the same time.
    """

    def __init__(self, store: Store, standstill: Standstill, fits: Callable[[], bool], at_once: int) -> None:
        self._store = store
        self._standstill, self._fits = standstill, fits
        self._wrote: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._lock = threading.Lock()
        self._moved = threading.Condition()
        self._looked = (-_MOMENT, 0)  # when, and how many waited
        self._places = threading.BoundedSemaphore(max(1, at_once // SHARE))

    def wrote(self, scope: Scope) -> None:
        """Something of this owner was written through this process."""
        owner = (scope.tenant, scope.user)
        with self._lock:
            self._wrote[owner] = time.monotonic()
            self._wrote.move_to_end(owner)
            while len(self._wrote) > _MOST:
                self._wrote.popitem(last=False)

    def embedded(self) -> None:
        """Vectors were made."""
        with self._moved:
            self._moved.notify_all()

    def answer(self, scope: Scope, ask: Callable[[], Recall]) -> Recall:
        """What is found; asked once more when nothing was, and the vectors came meanwhile."""
        wrote = self._when(scope)
        found = ask()
        if found.hits and wrote is None:
            return found
        queued = self._queued(lately=wrote is not None)
        if (wrote is None and not 0 < queued <= FEW) or not self._fits():
            return found
        waiting = self._store.stats.held(scope).pending if queued else 0
        if not waiting:
            self._settled(scope, wrote)
            return found if found.hits or wrote is None else ask()  # it may have come while it was asked for
        return ask() if not found.hits and queued <= FEW and self._comes(scope) else _noted(found, waiting)

    def _queued(self, *, lately: bool) -> int:
        """How many texts of everybody wait, as far as one more than a few; asked anew for whoever wrote lately.

        For all others it is what somebody was told a moment ago: many who ask at once cost one look.
        """
        at, known = self._looked
        if not lately and time.monotonic() < at + _MOMENT:
            return known
        known = self._store.vectors.pending(FEW + 1)
        self._looked = (time.monotonic(), known)
        return known

    def _when(self, scope: Scope) -> float | None:
        """When this owner wrote something that may have no vector yet; None: not lately."""
        with self._lock:
            wrote = self._wrote.get((scope.tenant, scope.user))
        return None if wrote is None or time.monotonic() > wrote + LATELY else wrote

    def _settled(self, scope: Scope, wrote: float | None) -> None:
        """All that was written by then has its vector."""
        with self._lock:
            if self._wrote.get((scope.tenant, scope.user)) == wrote:
                self._wrote.pop((scope.tenant, scope.user), None)

    def _comes(self, scope: Scope) -> bool:
        """Whether all that waits of this owner got its vector within a moment."""
        if self._standstill.seconds > STILL or not self._places.acquire(blocking=False):
            return False
        try:
            until = time.monotonic() + SECONDS
            while self._store.stats.held(scope).pending:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                with self._moved:
                    self._moved.wait(min(left, _AGAIN))
            return True
        finally:
            self._places.release()


def _noted(found: Recall, waiting: int) -> Recall:
    few = "1 text has" if waiting == 1 else f"{waiting:,} texts have"
    said = f"{few} no vector yet and can be found by words alone until then"
    return replace(found, note=f"{found.note}; {said}" if found.note else said)
