"""Work that takes longer than a page: begun by a form, done in a thread, looked at by whoever comes back.

One of a name at a time for each owner, a few at once in all. What it came to is kept until it is done again or the
process ends: whatever must last is in the store by then. With several processes only the one that began it tells how
far it is.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.clock import Clock
from recollect.errors import Conflict, RecollectError
from recollect.model import Scope

AT_ONCE, EACH = 4, 2  # in all, and of one tenant
KEPT = 200  # ended ones that are remembered

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class Run:
    """Something that is being done or was done."""

    begun_at: datetime
    done: int = 0
    total: int = 0
    ended_at: datetime | None = None
    result: Any = None
    error: str | None = None

    @property
    def running(self) -> bool:
        return self.ended_at is None


class Work:
    """What runs beside the pages of one process."""

    def __init__(self) -> None:
        self._runs: OrderedDict[tuple[str, str, str], Run] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, scope: Scope, name: str, do: Callable[[Progress], Any], clock: Clock) -> Run:
        """Begin it, unless it runs already; Conflict when too much else does."""
        key = (scope.tenant, scope.user, name)
        with self._lock:
            there = self._runs.get(key)
            if there is not None and there.running:
                return there
            tenants = [tenant for (tenant, *_), run in self._runs.items() if run.running]
            if len(tenants) >= AT_ONCE or tenants.count(scope.tenant) >= EACH:
                raise Conflict("others are being looked after at the moment", hint="Try again in a minute.")
            run = self._runs[key] = Run(clock())
            self._runs.move_to_end(key)
            ended = [one for one, each in self._runs.items() if not each.running]
            for one in ended[: max(0, len(ended) - KEPT)]:
                del self._runs[one]
        threading.Thread(target=_do, args=(run, do, clock), name=f"recollect-{name}", daemon=True).start()
        return run

    def of(self, scope: Scope, name: str) -> Run | None:
        """The latest of a name."""
        with self._lock:
            return self._runs.get((scope.tenant, scope.user, name))


def _do(run: Run, do: Callable[[Progress], Any], clock: Clock) -> None:
    def progress(done: int, total: int) -> None:
        run.done, run.total = done, total

    try:
        run.result = do(progress)
    except RecollectError as error:
        run.error = str(error)
    except Exception as error:  # nothing beside the pages may end with a stack on a terminal
        logging.getLogger(__name__).error("work beside the pages failed: %s", type(error).__name__)
        run.error = "this failed here"
    finally:
        run.ended_at = clock()
