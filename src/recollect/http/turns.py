"""Turns: so many requests are worked on at once, so many of one tenant, and whoever waits is served in turn by tenant.

A tenant that sends very much waits behind itself; another one that sends little finds room, or the next that gets free.
A turn that lasts long (a large batch, a question that waits for a vector) steps aside, where there is room for it, and
no longer keeps others waiting: so few can be worked on at once, which is quickest for all, and none of them is in the
way. All of it runs in the event loop, so nothing needs a lock.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque

WAITING = 1_000  # requests of one tenant that may wait
SECONDS = 10.0  # how long one may wait
LONG = 0.1  # seconds after which a turn steps aside


class Crowded(Exception):
    """There is no room; `own`: the tenant itself has taken it."""

    def __init__(self, *, own: bool) -> None:
        super().__init__("no room")
        self.own = own


class Turn:
    """A turn that is taken; it must be given back."""

    __slots__ = ("_turns", "aside", "tenant", "timer")

    def __init__(self, turns: Turns, tenant: str) -> None:
        self._turns, self.tenant = turns, tenant
        self.aside = False  # it does not count any more
        self.timer: asyncio.TimerHandle | None = None  # when it is looked at whether it can step aside

    def give(self) -> None:
        """It is over: the next begins."""
        self._turns.end(self)


class Turns:
    """Room for `total` requests, at most `each` of one tenant; and aside for `beside` that last long, one a tenant."""

    def __init__(
        self, total: int, each: int, *, beside: int = 0, waiting: int = WAITING, seconds: float = SECONDS
    ) -> None:
        self._total, self._each = total, min(each, total)
        self._beside, self._aside = beside, set[str]()  # whose turns are aside
        self._most, self._seconds = waiting, seconds
        self._running: Counter[str] = Counter()
        self._busy = 0
        self._queues: OrderedDict[str, deque[asyncio.Future[Turn]]] = OrderedDict()  # served longest ago first

    @property
    def busy(self) -> int:
        """How many are being worked on, without those aside."""
        return self._busy

    async def take(self, tenant: str) -> Turn:
        """Wait for a turn; Crowded when too many wait already, or for too long."""
        if tenant not in self._queues and self._busy < self._total and self._running[tenant] < self._each:
            return self._begun(tenant)
        queue = self._queues.setdefault(tenant, deque())
        if len(queue) >= self._most:
            raise Crowded(own=True)
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[Turn] = loop.create_future()
        queue.append(turn)
        late = loop.call_later(self._seconds, _give_up, turn)
        try:
            return await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                turn.result().give()  # it came just as nobody waited any more
            else:
                self._leave(tenant, turn)
            if isinstance(error, TimeoutError):
                raise Crowded(own=self._running[tenant] >= self._each) from None
            raise
        finally:
            late.cancel()

    def end(self, turn: Turn) -> None:
        """A turn is over."""
        if turn.timer is not None:
            turn.timer.cancel()
        if turn.aside:
            self._aside.discard(turn.tenant)
        else:
            self._make_room(turn.tenant)

    def _make_room(self, tenant: str) -> None:
        """One counts no longer: whoever has room now begins."""
        self._busy -= 1
        self._running[tenant] -= 1
        if not self._running[tenant]:
            del self._running[tenant]
        while self._busy < self._total and (found := self._next()) is not None:
            waiting, whose = found
            waiting.set_result(self._begun(whose))

    def _next(self) -> tuple[asyncio.Future[Turn], str] | None:
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
                return turn, tenant
        return None

    def _leave(self, tenant: str, turn: asyncio.Future[Turn]) -> None:
        queue = self._queues.get(tenant)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._queues[tenant]

    def _begun(self, tenant: str) -> Turn:
        self._busy += 1
        self._running[tenant] += 1
        turn = Turn(self, tenant)
        if self._beside:
            self._look_later(turn)
        return turn

    def _look_later(self, turn: Turn) -> None:
        turn.timer = asyncio.get_running_loop().call_later(LONG, self._step_aside, turn)

    def _step_aside(self, turn: Turn) -> None:
        if len(self._aside) >= self._beside or turn.tenant in self._aside:
            self._look_later(turn)
            return
        turn.timer, turn.aside = None, True
        self._aside.add(turn.tenant)
        self._make_room(turn.tenant)


def _give_up(turn: asyncio.Future[Turn]) -> None:
    if not turn.done():
        turn.set_exception(TimeoutError())
