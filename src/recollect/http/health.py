"""How the service is: whether work gets done, never whether the process is alive.

It is stuck when the store does not answer within two seconds, or when a task or a text without a vector has waited for
longer than `health_stuck_seconds`. It says so with 503 until that is over.
"""

from __future__ import annotations

import asyncio
import time
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
        self._vectors = Progress()

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
        waited = self._vectors.waited(pending if fits else 0)
        wanted = settings.embedder != "none"
        late = settings.health_stuck_seconds
        stuck = bool(late) and max(backlog.oldest_seconds, waited) > late
        degraded = (wanted and not fits) or backlog.dead > 0
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
            **({"bus": serving.bus.health()} if serving.bus is not None else {}),
        }
        return {"status": STUCK if stuck else DEGRADED if degraded else OK, "queue": queue, "more": more}


class Progress:
    """How long something has been waiting without anything being done: a queue that moves is not stuck."""

    def __init__(self) -> None:
        self._last = 0
        self._since = time.monotonic()

    def waited(self, pending: int) -> float:
        """Seconds since fewer waited than at the look before, or none; however many more came in between."""
        moved = pending == 0 or pending < self._last or self._last == 0
        self._last = pending
        if moved:
            self._since = time.monotonic()
            return 0.0
        return time.monotonic() - self._since


def _of_owner(serving: Serving, who: Asked) -> dict[str, Any]:
    """What the one who asks has, and what language models may still cost them."""
    from recollect.store.port import Filter

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
