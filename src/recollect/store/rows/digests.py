"""Digests: one a session, kept as JSON, due again when the session grew or the rules changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.clock import iso
from recollect.errors import NotFound
from recollect.model import Scope
from recollect.store.rows.appending import as_json
from recollect.store.rows.tx import Database

if TYPE_CHECKING:
    from recollect.distill.digest import Digest


class RowDigests:
    """Digests in SQLite."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def get(self, scope: Scope, session: str) -> Digest | None:
        from recollect.distill.digest import Digest

        with self._db.read(scope) as tx:
            rows = tx.rows
            row = rows and tx.one("capture.session_row", {**rows.params(), "id": session})
            found = row and tx.run("capture.digest", {"session": row}).fetchone()
            return Digest.from_dict(json.loads(found[0])) if found else None

    def put(self, scope: Scope, digest: Digest, *, covers: int, at: datetime, health: int | None = None) -> None:
        """Keep a digest in the place of the one before; `covers` is the position of the last event it knows.

        `health` is how well the session went, where that was computed too.
        """
        with self._db.write(scope) as tx:
            rows = tx.rows
            row = rows and tx.one("capture.session_row", {**rows.params(), "id": digest.session})
            if not rows or not row:
                raise NotFound(f"no session {digest.session}")
            tx.run(
                "capture.put_digest",
                {
                    "session": row,
                    "owner": rows.owner,
                    "version": digest.version,
                    "covers": covers,
                    "outcome": digest.outcome,
                    "content": as_json(digest.as_dict()),
                    "made_at": iso(at),
                    "health": health,
                },
            )

    def due(self, scope: Scope, *, version: int) -> list[str]:
        """Captured sessions whose digest is missing, of an older version, or does not know their last event."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            return [row[0] for row in tx.run("capture.digests_due", {**rows.params(), "version": version})]

    def unscored(self, scope: Scope, *, limit: int) -> list[Digest]:
        """Some digests whose session has no health yet."""
        from recollect.distill.digest import Digest

        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            found = tx.run("capture.unscored", {**rows.params(), "limit": limit})
            return [Digest.from_dict(json.loads(content)) for (content,) in found]

    def score(self, scope: Scope, health: Mapping[str, int]) -> None:
        """Put down how well sessions went, for those whose digest does not tell it yet."""
        with self._db.write(scope) as tx:
            rows = tx.rows
            for session, points in health.items() if rows is not None else ():
                assert rows is not None
                tx.run("capture.score", {**rows.params(), "id": session, "health": points})
