"""Turns: so many requests are worked on at once, so many of one tenant, and whoever waits is served in turn by tenant.

A tenant that sends very much waits behind itself; another one that sends little finds room, or the next that gets free.
All of it runs in the event loop, so nothing needs a lock.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque

WAITING = 1_000  # requests of one tenant that may wait
SECONDS = 10.0  # how long one may wait


class Crowded(Exception):
    """There is no room; `own`: the tenant itself has taken it."""

    def __init__(self, *, own: bool) -> None:
        super().__init__("no room")
        self.own = own


class Turns:
    """Room for `total` requests, at most `each` of one tenant."""

    def __init__(self, total: int, each: int, *, waiting: int = WAITING, seconds: float = SECONDS) -> None:
        self._total, self._each = total, min(each, total)
        self._most, self._seconds = waiting, seconds
        self._running: Counter[str] = Counter()
        self._busy = 0
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()  # served longest ago first

    @property
    def busy(self) -> int:
        """How many are being worked on."""
        return self._busy

    async def take(self, tenant: str) -> None:
        """Wait for a turn; Crowded when too many wait already, or for too long. Every turn taken must be given back."""
        if tenant not in self._queues and self._has_room(tenant):
            self._begin(tenant)
            return
        queue = self._queues.setdefault(tenant, deque())
        if len(queue) >= self._most:
            raise Crowded(own=True)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(turn)
        try:
            async with asyncio.timeout(self._seconds):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self.give(tenant)  # it came just as nobody waited any more
            else:
                self._leave(tenant, turn)
            if isinstance(error, TimeoutError):
                raise Crowded(own=self._running[tenant] >= self._each) from None
            raise

    def give(self, tenant: str) -> None:
        """A turn is over: the next begins."""
        self._busy -= 1
        self._running[tenant] -= 1
        if not self._running[tenant]:
            del self._running[tenant]
        while self._busy < self._total and (turn := self._next()) is not None:
            turn.set_result(None)

    def _next(self) -> asyncio.Future[None] | None:
        """Whose turn it is: the first in the queue of the tenant that was served longest ago."""
        for tenant in list(self._queues):
            if self._running[tenant] >= self._each:
                continue
            queue = self._queues[tenant]
            while queue and queue[0].done():
                queue.popleft()  # it went away, and has not said so yet
            turn = queue.popleft() if queue else None
            if queue:
                self._queues.move_to_end(tenant)
            else:
                del self._queues[tenant]
            if turn is not None:
                self._begin(tenant)
                return turn
        return None

    def _leave(self, tenant: str, turn: asyncio.Future[None]) -> None:
        queue = self._queues.get(tenant)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._queues[tenant]

    def _has_room(self, tenant: str) -> bool:
        return self._busy < self._total and self._running[tenant] < self._each

    def _begin(self, tenant: str) -> None:
        self._busy += 1
        self._running[tenant] += 1
