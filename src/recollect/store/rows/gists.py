"""Gists in SQLite: one a session, made by one at a time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from recollect.clock import from_iso, iso
from recollect.errors import NotFound
from recollect.model import Gist, Scope
from recollect.store.rows import index
from recollect.store.rows.tx import Database, Rows, Tx


class RowGists:
    """Gists in SQLite."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def get(self, scope: Scope, session: str) -> Gist | None:
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return None
            found = tx.run("gists.get", {**rows.params(), "id": session}).fetchone()
            return None if found is None else _gist(found)

    def recent(self, scope: Scope, *, exclude_session: str | None, limit: int) -> list[Gist]:
        """The latest gists, newest first."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            params = {**rows.params(), "exclude_session": exclude_session, "limit": limit}
            return [_gist(row) for row in tx.run("gists.recent", params)]

    def put(self, scope: Scope, gist: Gist) -> None:
        """Store the session's gist, replacing the one before."""
        with self._db.write(scope) as tx:
            rows = tx.ensure()
            session, project = _session(tx, rows, gist.session)
            old = tx.one("gists.row", {"session": session})
            if old is not None:
                index.drop(tx, "gist", old, vectors=False)
            params: dict[str, object] = {
                "owner": rows.owner,
                "session": session,
                "project": project,
                "content": gist.content,
                "covers": gist.covers,
                "maker": gist.maker,
                "occurred_at": iso(gist.occurred_at),
                "created_at": iso(gist.created_at),
            }
            doc = tx.row("gists.put", params)[0]
            index.add(tx, "gist", doc)

    def unsummarized(self, scope: Scope, session: str) -> int:
        """How many events the gist does not cover yet."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return 0
            try:
                row, _ = _session(tx, rows, session)
            except NotFound:
                return 0
            return tx.one("gists.unsummarized", {"session": row}) or 0

    def due(self, scope: Scope, *, after: int, quiet_since: datetime) -> list[str]:
        """Sessions that have grown by `after` events since their gist, or have grown at all and gone quiet."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            params = {**rows.params(), "after": after, "quiet_since": iso(quiet_since)}
            return [row[0] for row in tx.run("gists.due", params)]

    def lease(self, scope: Scope, session: str, *, now: datetime, until: datetime) -> bool:
        """Take the right to make this session's gist; False while somebody else has it."""
        with self._db.write(scope) as tx:
            row, _ = _session(tx, tx.ensure(), session)
            params = {"session": row, "now": iso(now), "until": iso(until)}
            return tx.run("gists.lease", params).fetchone() is not None

    def release(self, scope: Scope, session: str) -> None:
        with self._db.write(scope) as tx:
            row, _ = _session(tx, tx.ensure(), session)
            tx.run("gists.release", {"session": row})


def _session(tx: Tx, rows: Rows, session: str) -> tuple[int, int | None]:
    found = tx.run("gists.session", {**rows.params(), "id": session}).fetchone()
    if found is None:
        raise NotFound(f"no session {session}")
    return found[0], found[1]


def _gist(row: tuple[Any, ...]) -> Gist:
    session, content, covers, occurred, created, maker, project = row
    return Gist(session, content, covers, from_iso(occurred), from_iso(created), maker, project)
