"""How the service is: whether work gets done, never whether the process is alive.

It is stuck when the store does not answer within two seconds, or when a task, an event of the bus or a text without a
vector has waited for longer than `health_stuck_seconds` and nothing of its kind was done. It says so with 503 until
that is over. It is degraded while something is not as it should be and the rest gets done: no model, no connection to
the bus, something that failed for good.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from recollect.clock import iso
from recollect.errors import RecollectError
from recollect.version import __version__

if TYPE_CHECKING:
    from recollect.http.asked import Asked
    from recollect.serving import Serving

OK, DEGRADED, STUCK = "ok", "degraded", "stuck"
SECONDS = 2.0  # how long the store may take
FRESH = 1.0  # how long what it said is said again: a monitor that asks often costs nothing


class Health:
    """Asks the store once, however many want to know."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="recollect-health")  # its own, however busy others are
        self._asking: asyncio.Future[dict[str, Any]] | None = None
        self._told: tuple[float, dict[str, Any]] | None = None

    async def tell(self, serving: Serving, role: str, who: Asked | None) -> dict[str, Any]:
        """The answer; without a key only what tells nothing of anybody."""
        figures = await self._figures(serving)
        told = {"status": figures["status"], "version": __version__, "role": role, "queue": figures["queue"]}
        if who is None:
            return told
        return {**told, **figures["more"], **await asyncio.to_thread(_of_owner, serving, who)}

    async def _figures(self, serving: Serving) -> dict[str, Any]:
        if self._told is not None and time.monotonic() < self._told[0] + FRESH:
            return self._told[1]
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().run_in_executor(self._thread, self._ask, serving)
        try:
            found = await asyncio.wait_for(asyncio.shield(self._asking), SECONDS)
        except (TimeoutError, RecollectError) as error:
            why = "the store does not answer" if isinstance(error, TimeoutError) else error.code
            return {"status": STUCK, "queue": None, "more": {"problem": why}}
        self._told = (time.monotonic(), found)
        return found

    def _ask(self, serving: Serving) -> dict[str, Any]:
        store, settings = serving.store, serving.settings
        backlog, pending = store.tasks.backlog(at=serving.clock()), store.vectors.pending()
        embedder = serving.meaning.embedder()
        fits = embedder is not None and serving.meaning.fits(embedder)
        wanted = settings.embedder != "none"
        bus = None if serving.bus is None else serving.bus.health()
        late = settings.health_stuck_seconds
        waited = max(backlog.oldest_seconds, serving.standstill(), _stalled(bus))
        stuck = bool(late) and waited > late
        degraded = (wanted and not fits) or backlog.dead > 0 or _ails(bus, late)
        queue = {
            "waiting": backlog.waiting,
            "running": backlog.running,
            "dead": backlog.dead,
            "oldest_seconds": round(backlog.oldest_seconds, 1),
        }
        model = {
            "name": embedder.name if embedder else None,
            "dim": embedder.dim if embedder else None,
            "ready": fits,
            "problem": None if fits or not wanted else serving.meaning.missing or "its vectors do not fit the store's",
        }
        more = {
            "model": model,
            "store": "postgres" if settings.database_url else "sqlite",
            "pending_vectors": pending,
            "last_write_at": None if serving.last_write_at is None else iso(serving.last_write_at),
            **({} if bus is None else {"bus": bus}),
        }
        return {"status": STUCK if stuck else DEGRADED if degraded else OK, "queue": queue, "more": more}


def _stalled(bus: Mapping[str, Any] | None) -> float:
    """How long its oldest event has waited while none was stored; a backlog that gets less is no standstill."""
    if bus is None or not bus.get("connected"):
        return 0.0
    oldest = float(bus.get("oldest_seconds", 0.0))
    return min(oldest, float(bus.get("stalled_seconds", oldest)))


def _ails(bus: Mapping[str, Any] | None, late: float) -> bool:
    """Whether Redis is away, an event could not be stored, or one has waited for too long."""
    if bus is None:
        return False
    return not bus.get("connected") or bool(bus.get("dead")) or (bool(late) and bus.get("oldest_seconds", 0.0) > late)


def _of_owner(serving: Serving, who: Asked) -> dict[str, Any]:
    """What the one who asks has, and what language models may still cost them."""
    from recollect.store.ports.memories import Filter

    scope = who.grant.scope
    try:
        store = serving.store
        held, tally = store.stats.held(scope), store.stats.tally(scope, Filter(now=serving.clock()), by="month", most=1)
        counts = {"memories": tally.memories, "sessions": held.sessions, "turns": held.turns}
        return {"counts": counts, **_budget(serving, who)}
    except RecollectError as error:
        return {"counts": None, "problem": error.code}


def _budget(serving: Serving, who: Asked) -> dict[str, Any]:
    settings = serving.settings
    if settings.llm == "none":
        return {}
    day = serving.clock().replace(hour=0, minute=0, second=0, microsecond=0)
    spent = serving.store.ledger.spent(who.grant.scope.within(None), since=day)
    tokens, usd = sum(row.input + row.output for row in spent), sum(row.usd for row in spent)
    left = {"tokens": max(0, settings.llm_daily_tokens - tokens), "usd": max(0.0, settings.llm_daily_usd - usd)}
    return {"budget": {"left": left, "tokens": settings.llm_daily_tokens, "usd": settings.llm_daily_usd}}
