"""The ledger in SQLite: what language models were paid, debited before the call and corrected after it.

Looking at the caps and debiting is one write transaction, so many processes together never pass a cap. A charge that is
never settled, because its process died or the call failed, stays spent.
"""

from __future__ import annotations

from datetime import UTC, datetime

from recollect.clock import from_iso, iso
from recollect.errors import NotFound, ScopeError
from recollect.model import Scope
from recollect.store.ports.distill import Caps, Charge, Spending, Unanswered
from recollect.store.rows.tx import Database, Tx, ensure_project

_ROUNDING = 1e-9  # USD; what adding up floats may be off by


class RowLedger:
    """The ledger in SQLite."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def reserve(self, scope: Scope, charge: Charge, caps: Caps) -> int | None:
        """Debit the charge and return its ticket; None, and nothing debited, when it would pass a cap."""
        if scope.project is not None and charge.project not in (None, scope.project):
            raise ScopeError("the charge belongs to another project")
        with self._db.write(scope) as tx:
            rows = tx.ensure()
            project = None if charge.project is None else ensure_project(tx, rows.owner, charge.project)
            params: dict[str, object] = {
                "owner": rows.owner,
                "project": project,
                "day": _day(charge.at),
                "use": charge.use,
                "model": charge.model,
                "input": charge.input,
                "output": charge.output,
                "usd": charge.usd,
                "at": iso(charge.at),
            }
            if not _allowed(tx, params, charge, caps):
                return None
            return int(tx.row("ledger.reserve", params)[0])

    def settle(self, scope: Scope, ticket: int, charge: Charge) -> None:
        """Put the real figures in the place of the debited ones; the first time holds."""
        with self._db.write(scope) as tx:
            rows = tx.rows
            found = rows and tx.run("ledger.charge", {**rows.params(), "ticket": ticket}).fetchone()
            if not found:
                raise NotFound(f"no charge {ticket}")
            figures = {"input": charge.input, "output": charge.output, "usd": charge.usd}
            tx.run("ledger.settle", {"ticket": ticket, **figures})

    def spent(self, scope: Scope, *, since: datetime) -> list[Spending]:
        """What was spent from the day of `since` on, by day, project, use and model."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            found = tx.run("ledger.spent", {**rows.params(), "day": _day(since)})
            return [Spending(*row) for row in found]

    def unanswered(self, scope: Scope, *, model: str, since: datetime) -> Unanswered:
        """The calls to a model after the last one it answered, from the day of `since` on."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return Unanswered(0, None)
            params = {**rows.params(), "model": model, "day": _day(since)}
            calls, last = tx.row("ledger.unanswered", params)
            return Unanswered(calls, last and from_iso(last))


def _allowed(tx: Tx, params: dict[str, object], charge: Charge, caps: Caps) -> bool:
    tokens, usd, project_usd = tx.row("ledger.totals", params)
    if tokens + charge.input + charge.output > caps.tokens:
        return False
    if usd + charge.usd > caps.usd + _ROUNDING:
        return False
    return caps.project_usd is None or project_usd + charge.usd <= caps.project_usd + _ROUNDING


def _day(moment: datetime) -> str:
    return moment.astimezone(UTC).date().isoformat()
