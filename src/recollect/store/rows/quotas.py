"""Quotas: how much one owner may have, held to in the very transaction that writes, so never passed by many at once.

An ingest is one call that brings something new in: a memory said, messages recorded, a session captured. What is
distilled of it counts as a memory, not as another ingest; what was there already counts for nothing. Days are UTC and
only go forward: a clock that is set back gives nobody a second day.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from recollect.clock import iso
from recollect.errors import InvalidInput, QuotaExceeded
from recollect.model import Scope
from recollect.store.ports.access import Limits, Quota
from recollect.store.rows.audit import audit
from recollect.store.rows.tx import Database, Tx

_MORE = "or let the operator raise it: recollect quota set"


def take(tx: Tx, owner: int, *, ingests: int = 0, memories: int = 0) -> None:
    """Count what this transaction brings in; QuotaExceeded, and nothing of it is kept, when that is too much."""
    if not ingests and not memories:
        return
    params = {"owner": owner, "day": _day(tx.terms.clock()), "by": int(ingests)}
    day, today, own_memories, own_ingests, kept = tx.row("quotas.take", params)
    limits = _limits(tx.terms.limits, own_memories, own_ingests)
    if ingests and limits.ingests and today > limits.ingests:
        left = max(0, limits.ingests - (today - ingests))
        raise QuotaExceeded(
            f"the limit is {limits.ingests:,} for ingests a day; {left:,} left on {day}",
            hint=f"It begins again at {_midnight(day):%Y-%m-%d %H:%M} UTC; {_MORE} --ingests N.",
            what="ingests",
            limit=limits.ingests,
            left=left,
        )
    if memories and limits.memories and kept + memories > limits.memories:
        left = max(0, limits.memories - kept)
        raise QuotaExceeded(
            f"the limit is {limits.memories:,} for memories; {left:,} left",
            hint=f"Forget what is not needed (recollect forget), {_MORE} --memories N.",
            what="memories",
            limit=limits.memories,
            left=left,
        )


class RowQuotas:
    """The limits of owners, and what they used."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def get(self, scope: Scope) -> Quota:
        with self._db.read(scope) as tx:
            today = _day(tx.terms.clock())
            rows = tx.rows
            found = None if rows is None else tx.run("quotas.get", {"owner": rows.owner}).fetchone()
            last, taken, memories, ingests, kept = found or (None, 0, None, None, 0)
            day = max(last or today, today)
            limits = _limits(tx.terms.limits, memories, ingests)
            return Quota(limits, (memories, ingests), kept, taken if last == day else 0, _midnight(day))

    def set(self, scope: Scope, *, memories: int | None, ingests: int | None, at: datetime) -> Quota:
        """Limits for this owner alone: 0 is without end, None is what everybody has."""
        for limit in (memories, ingests):
            if limit is not None and not 0 <= limit < 2**53:
                raise InvalidInput("a limit is a whole number, 0 for without end")
        with self._db.write(scope) as tx:
            owner = tx.ensure().owner
            limits = {"memories": memories, "ingests": ingests}
            tx.run("quotas.set", {"owner": owner, **limits})
            audit(tx, owner, at, "quota", "limits", limits)
        return self.get(scope)


def _limits(common: Limits, memories: int | None, ingests: int | None) -> Limits:
    return Limits(
        common.memories if memories is None else memories,
        common.ingests if ingests is None else ingests,
    )


def _day(moment: datetime) -> str:
    return iso(moment)[:10]


def _midnight(day: str) -> datetime:
    """When a day is over."""
    return datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(days=1)
