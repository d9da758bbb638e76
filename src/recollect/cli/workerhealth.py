"""Whether a worker gets its work done, for whoever asks its port, in the words of a service's /health.

It is stuck when the store does not answer within two seconds, and when for longer than `health_stuck_seconds` tasks
were due and it ended none, or events waited and it stored none. A queue that moves is not stuck, however long it is;
without Redis it is degraded, for tasks go on.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

from recollect.version import __version__

if TYPE_CHECKING:
    from recollect.bus.consumer import Consumer
    from recollect.metrics import Metrics
    from recollect.settings import Settings

_ENDS = ("done", "failed", "dead")  # a task that is put off, or somebody else's by now, has not moved


class WorkerHealth:
    """The verdict on one worker; `bus` is what takes events from Redis, once it was started."""

    def __init__(self, metrics: Metrics, settings: Settings, clock: Callable[[], float] = monotonic) -> None:
        self.metrics = metrics
        self.bus: Consumer | None = None
        self._late = settings.health_stuck_seconds or float("inf")
        self._clock = clock
        self._ended_at = clock()

    def ended(self, outcome: str) -> None:
        """A task came to this end."""
        if outcome in _ENDS:
            self._ended_at = self._clock()

    def tell(self) -> tuple[bool, dict[str, Any]]:
        """Whether work gets done, and how it is; nobody's name or words."""
        queue = self.metrics.read("queue")
        bus = None if self.bus is None else self.bus.health()
        told = {"version": __version__, "role": "worker", **({} if bus is None else {"bus": bus})}
        problem = self._problem(queue, bus)
        if problem is not None:
            return False, {"status": "stuck", "problem": problem, **told}
        return True, {"status": "degraded" if _is_degraded(queue or {}, bus or {}) else "ok", **told}

    def _problem(self, queue: Any, bus: Any) -> str | None:
        if queue is None:
            return "the store does not answer"
        if min(queue["queue_oldest_seconds"], self._clock() - self._ended_at) > self._late:
            return "tasks are due, and none ends"
        if bus is not None and bus["connected"] and bus["stalled_seconds"] > self._late:
            return "events wait, and none is stored"
        return None


def _is_degraded(queue: Any, bus: Any) -> bool:
    away = bool(bus) and not bus["connected"]
    return bool(queue.get("queue_dead") or bus.get("dead") or bus.get("last_error") or away)
