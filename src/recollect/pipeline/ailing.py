"""What an agent should be told about Recollect itself: one line when it is ill, nothing when it is well.

A memory that silently stopped is worse than none, because it is believed. So the start of a session says it: records
that nobody reads, records that were refused, or no budget left for the language model that was asked for.
"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from recollect.capture.spool import REFUSED, Spool
from recollect.errors import RecollectError
from recollect.model import Scope
from recollect.settings import Settings
from recollect.store.port import Store
from recollect.unread import LATE, late

RECENT = timedelta(days=3)
_NEARLY = 0.95  # of a budget: a call is paid for at its worst before it is made, so the last bit is never spent


def ailment(store: Store, scope: Scope, settings: Settings, now: datetime) -> str | None:
    """The worst that is wrong, and what to do, in one line."""
    spool = Spool(settings.data_dir.absolute())
    waiting = _waiting(spool)
    if waiting:
        return f"{waiting} {LATE}"
    refused = _newer_than(spool.folder / REFUSED, RECENT)
    if refused:
        return f"{refused} hook records were refused in the last days; run `recollect doctor`."
    if settings.llm != "none" and _is_spent(store, scope, settings, now):
        return "today's budget for the language model is spent; memories are made by rules until tomorrow (UTC)."
    return None


def _waiting(spool: Spool) -> int:
    """How many records wait that somebody should have read by now."""
    try:
        waiting = spool.waiting() if spool.folder.is_dir() else []
    except (RecollectError, OSError):
        return 0
    return late((path.name for path in waiting), time.time())


def _newer_than(folder: Path, age: timedelta) -> int:
    with suppress(OSError):
        return sum(0 <= _age(path) < age.total_seconds() for path in folder.iterdir())
    return 0


def _age(path: Path) -> float:
    try:
        return time.time() - path.lstat().st_mtime
    except OSError:
        return -1.0


def _is_spent(store: Store, scope: Scope, settings: Settings, now: datetime) -> bool:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    spent = store.ledger.spent(scope.within(None), since=midnight)
    used = (
        (sum(one.input + one.output for one in spent), settings.llm_daily_tokens),
        (sum(one.usd for one in spent), settings.llm_daily_usd),
    )
    return any(cap and amount >= _NEARLY * cap for amount, cap in used)
