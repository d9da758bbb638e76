"""How the memory is, in a few lines: counts, capture, search, budget. No remembered text stands in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.capture.spool import Spool
from recollect.clock import age_label, now
from recollect.inject.quote import label
from recollect.mcp.allowance import Allowance

if TYPE_CHECKING:
    from recollect.facade import Recollect

_MANY = 1_000


def status(memory: Recollect, allowance: Allowance) -> str:
    """One line a matter."""
    project = label(memory.scope.project) if memory.scope.project else "none: every project is seen"
    return "\n".join(
        f"[{name}: {text}]"
        for name, text in (
            ("project", project),
            ("memory", _counts(memory)),
            ("capture", _capture(memory)),
            ("search", _search(memory)),
            ("language model", _budget(memory)),
            ("writes by agents", f"{allowance.left()} of {allowance.per_hour} left this hour"),
        )
    )


def _counts(memory: Recollect) -> str:
    sessions, kept = memory.sessions(_MANY), memory.memories(_MANY)
    turns = sum(session.turns for session in sessions)
    newest = f"; the newest {age_label(kept[0].occurred_at, now())}" if kept else ""
    runs = _many(len(sessions), "session", "sessions")
    return f"{_many(len(kept), 'memory', 'memories')}{newest}; {runs}, {turns:,} turns"


def _many(count: int, one: str, several: str) -> str:
    if count >= _MANY:
        return f"{_MANY:,} or more {several}"
    return f"{count:,} {one if count == 1 else several}"


def _capture(memory: Recollect) -> str:
    spool = Spool(memory.settings.data_dir.absolute())
    parts = [f"{len(spool.waiting()):,} records of hooks wait"]
    parts += [f"{missed:,} could not be left"] if (missed := spool.missed()) else []
    parts += [f"{refused:,} were refused"] if (refused := spool.refused()) else []
    last = max((one.ended_at for one in memory.sessions(1) if one.ended_at), default=None)
    return "; ".join([*parts, f"the last session was active {age_label(last, now())}" if last else "no session yet"])


def _budget(memory: Recollect) -> str:
    settings = memory.settings
    if settings.llm == "none":
        return "none is asked"
    today = now().replace(hour=0, minute=0, second=0, microsecond=0)
    spent = memory.store.ledger.spent(memory.scope.within(None), since=today)
    tokens, usd = sum(one.input + one.output for one in spent), sum(one.usd for one in spent)
    return (
        f"{tokens:,} of {settings.llm_daily_tokens:,} tokens and "
        f"{usd:.2f} of {settings.llm_daily_usd:.2f} USD spent today"
    )


def _search(memory: Recollect) -> str:
    model, waiting = memory.store.vectors.model(), memory.store.vectors.pending()
    if memory.settings.embedder == "none":
        return "by words alone (the embedder is set to none)"
    if model is None:
        return f"by words alone until texts are embedded; {waiting:,} wait"
    return f"by words and meaning ({label(model[0], 80)})" + (f"; {waiting:,} texts wait" if waiting else "")
