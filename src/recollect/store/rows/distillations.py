"""Distillations: how far each session was read for memories; due again when it grew or the rules changed."""

from __future__ import annotations

import json

from recollect.clock import from_iso, iso
from recollect.errors import NotFound
from recollect.model import Scope
from recollect.store.ports.distill import Distillation
from recollect.store.rows.tx import Database


class RowDistillations:
    """Distillations in SQLite."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def get(self, scope: Scope, session: str) -> Distillation | None:
        with self._db.read(scope) as tx:
            rows = tx.rows
            row = rows and tx.one("distill.session_row", {**rows.params(), "id": session})
            found = row and tx.run("distill.get", {"session": row}).fetchone()
            if not found:
                return None
            version, covers, asked, kept, refused, made_at = found
            return Distillation(session, version, covers, from_iso(made_at), asked, kept, json.loads(refused))

    def put(self, scope: Scope, distillation: Distillation) -> None:
        """Note what was made of a session in the place of what was noted before."""
        with self._db.write(scope) as tx:
            rows = tx.rows
            row = rows and tx.one("distill.session_row", {**rows.params(), "id": distillation.session})
            if not rows or not row:
                raise NotFound(f"no session {distillation.session}")
            tx.run(
                "distill.put",
                {
                    "session": row,
                    "owner": rows.owner,
                    "version": distillation.version,
                    "covers": distillation.covers,
                    "asked": distillation.asked,
                    "kept": distillation.kept,
                    "refused": json.dumps(dict(distillation.refused), sort_keys=True),
                    "made_at": iso(distillation.made_at),
                },
            )

    def due(self, scope: Scope, *, version: int) -> list[str]:
        """Sessions of people that were never distilled, by older rules, or not to their last event."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            return [row[0] for row in tx.run("distill.due", {**rows.params(), "version": version})]
