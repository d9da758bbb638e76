"""Taking away and looking after: forget leaves no byte, upkeep is idempotent, everything derived can be made again.

`forget` walks every table that can hold something of its subject. Deleted content is overwritten (secure_delete, FTS5
secure-delete) and the write-ahead log emptied; what stays is a tombstone of ids, so that no replay brings it back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import apsw

from recollect.clock import from_iso, iso
from recollect.errors import NotFound
from recollect.model import SAID, Scope
from recollect.store.port import Ages, Health, Receipt, Upkeep
from recollect.store.sql import load_queries
from recollect.store.sqlite import index, scoping
from recollect.store.sqlite.appending import session_key
from recollect.store.sqlite.bodies import SqliteBodies
from recollect.store.sqlite.database import WAL_ALARM_BYTES, Database
from recollect.store.sqlite.memories import audit, tombstone_key, tombstone_of_source
from recollect.store.sqlite.vectors import active_model

_Q = load_queries(Path(__file__).parent / "queries" / "keeping.sql")
_COUNTED = ("sessions", "events", "turns", "gists", "memories", "vectors", "pending")


class SqliteKeeping:
    """Forgetting, upkeep and health of one SQLite file."""

    def __init__(self, database: Database, bodies: SqliteBodies) -> None:
        self._db = database
        self._bodies = bodies

    def forget_memory(self, scope: Scope, memory_id: str, *, at: datetime) -> Receipt:
        with self._db.write() as connection:
            rows = scoping.find(connection, scope)
            row = rows and scoping.one(connection, _Q["memory"], {**rows.params(), "id": memory_id})
            if not rows or not row:
                raise NotFound(f"no memory {memory_id}")
            counts = _forget_memory(connection, rows.owner, row, memory_id, iso(at))
            audit(connection, rows.owner, at, "forget", memory_id, counts)
            connection.execute(_Q["scrub_due"])
        return Receipt(counts, self._scrub())

    def forget_session(self, scope: Scope, session: str, *, at: datetime) -> Receipt:
        """The session and its subagents: their events, turns, gists, and the memories made from them."""
        with self._db.write() as connection:
            rows = scoping.find(connection, scope)
            row = rows and scoping.one(connection, _Q["session"], {**rows.params(), "id": session})
            if not rows or not row:
                raise NotFound(f"no session {session}")
            below = list(connection.execute(_Q["subagents"], {**rows.params(), "id": session}))
            counts: Counter[str] = Counter()
            for each, name in [(row, session), *below]:
                counts.update(_forget_session(connection, rows.owner, each, name, iso(at)))
            connection.execute(_Q["drop_unused_projects"], {"owner": rows.owner})
            audit(connection, rows.owner, at, "forget", "session", counts)
            connection.execute(_Q["scrub_due"])
            files = self._bodies.sweep_unreferenced(connection, rows.owner)
        self._bodies.remove(rows.owner, files)
        return Receipt(counts, self._scrub())

    def forget_all(self, scope: Scope, *, at: datetime) -> Receipt:
        """Everything of the owner; in a scope with a project, everything of that project."""
        with self._db.write() as connection:
            rows = scoping.find(connection, scope)
            if rows is None:
                return Receipt({}, True)
            counts: Counter[str] = Counter()
            for row, session in list(connection.execute(_Q["sessions_of_owner"], rows.params())):
                counts.update(_forget_session(connection, rows.owner, row, session, iso(at)))
            for row, memory_id in list(connection.execute(_Q["memories_of_owner"], rows.params())):
                counts.update(_forget_memory(connection, rows.owner, row, memory_id, iso(at)))
            connection.execute(_Q["drop_projects"], rows.params())
            if rows.any_project:
                connection.execute(_Q["drop_transcripts"], {"owner": rows.owner})
                connection.execute(_Q["drop_injected"], {"owner": rows.owner})
            audit(connection, rows.owner, at, "forget", "everything", counts)
            connection.execute(_Q["scrub_due"])
            files = self._bodies.sweep_unreferenced(connection, rows.owner)
        self._bodies.remove(rows.owner, files)
        return Receipt(counts, self._scrub())

    def forgotten(self, scope: Scope, session: str) -> datetime | None:
        """When a session of this id was forgotten, if it was."""
        with self._db.read() as connection:
            rows = scoping.find(connection, scope)
            if rows is None:
                return None
            params = {"owner": rows.owner, "key": session_key(session)}
            found = connection.execute(_Q["buried"], params).fetchone()
            return None if found is None else from_iso(found[0])

    def upkeep(self, *, now: datetime, ages: Ages) -> Upkeep:
        """Archive what is old and unread, redact and then purge what was deleted; empty the write-ahead log."""
        with self._db.write() as connection:
            params = {"now": iso(now), "before": iso(ages.archive_before), "reads": ages.archive_reads}
            archived = list(connection.execute(_Q["to_archive"], params))
            for owner, memory_id in archived:
                audit(connection, owner, now, "archive", memory_id, {})
            redacted = _redact(connection, now, ages.redact_before)
            purged = list(connection.execute(_Q["to_purge"], {"before": iso(ages.purge_before)}))
            for row, owner, memory_id in purged:
                _forget_memory(connection, owner, row, memory_id, iso(now))
                audit(connection, owner, now, "purge", memory_id, {})
            if redacted or purged:
                connection.execute(_Q["scrub_due"])
        if not self._scrub():
            self._db.checkpoint()
        return Upkeep(len(archived), redacted, len(purged))

    def _scrub(self) -> bool:
        """Leave no byte of what was deleted, now or, when a reader or a full disk prevents it, at the next upkeep."""
        with self._db.read() as connection:
            due = connection.execute(_Q["is_scrub_due"]).fetchone()
        if due is None:
            return self._db.checkpoint()
        if not self._db.scrub():
            return False
        with self._db.write() as connection:
            connection.execute(_Q["scrub_done"])
        return self._db.checkpoint()

    def rebuild(self) -> Mapping[str, int]:
        """Make the full-text index again from the rows; readers see the old one until the new one is whole."""
        with self._db.write() as connection:
            return index.rebuild(connection)

    def health(self, *, deep: bool) -> Health:
        """Counts and sizes; with `deep`, every page, every index and every hash is checked."""
        with self._db.read() as connection:
            row = scoping.row(connection, _Q["counts"], {})
            model = active_model(connection)
        checks = self._checks() if deep else {}
        counts = dict(zip(_COUNTED, row, strict=True))
        sizes = {"database": self._db.path.stat().st_size, "wal": self._db.wal_bytes()}
        if sizes["wal"] > WAL_ALARM_BYTES:
            checks["wal"] = f"the write-ahead log has {sizes['wal']:,} bytes: a reader holds an old snapshot"
        if not self._db.wal:
            checks["sqlite"] = (
                f"SQLite {apsw.sqlite_lib_version()} can lose commits in WAL mode, so WAL is off: writes are slower"
            )
        return Health(counts, counts.pop("pending"), model and model[1:], sizes, checks)

    def _checks(self) -> dict[str, str]:
        """Everything wrong with the file, by name. PRAGMA integrity_check looks into the full-text indexes too."""
        checks = {}
        with self._db.fresh() as connection:
            verdict = [row[0] for row in connection.execute("PRAGMA integrity_check(5)")]
            if verdict != ["ok"]:
                checks["pages"] = "; ".join(verdict)
            for what in ("event", "memory"):
                rows = connection.execute(_Q[f"{what}_texts"])
                bad = [
                    _name(id_)
                    for id_, text, digest in rows
                    if not isinstance(text, bytes) or sha256(text).digest() != digest
                ]
                if bad:
                    checks[f"{what} hashes"] = f"{len(bad)} changed from outside: {', '.join(bad[:5])}"
        if bad := self._bodies.damaged():
            checks["bodies"] = f"{len(bad)} damaged or missing: {', '.join(bad[:5])}"
        return checks


def _name(id_: str | bytes) -> str:
    return id_.hex() if isinstance(id_, bytes) else id_


def _forget_memory(connection: apsw.Connection, owner: int, row: int, memory_id: str, at: str) -> dict[str, int]:
    if scoping.one(connection, _Q["is_indexed"], {"row": row}):
        index.drop(connection, "memory", row, vectors=True)
    _bury_source(connection, owner, row, at)
    connection.execute(_Q["drop_versions"], {"row": row})
    connection.execute(_Q["drop_memory"], {"row": row})
    connection.execute(_Q["unlink"], {"owner": owner, "id": memory_id})
    connection.execute(_Q["bury"], {"owner": owner, "key": tombstone_key(memory_id), "at": at})
    return {"memories": 1}


def _bury_source(connection: apsw.Connection, owner: int, row: int, at: str) -> None:
    """What was distilled from these words is not to be distilled from them again."""
    found = connection.execute(_Q["distilled_from"], {"row": row, "said": SAID}).fetchone()
    if found and (key := tombstone_of_source(found[0])):
        connection.execute(_Q["bury"], {"owner": owner, "key": key, "at": at})


def _forget_session(connection: apsw.Connection, owner: int, row: int, session: str, at: str) -> dict[str, int]:
    turns = [found[0] for found in connection.execute(_Q["turns_of_session"], {"session": row})]
    gists = [found[0] for found in connection.execute(_Q["gist_of_session"], {"session": row})]
    memories = list(connection.execute(_Q["memories_of_session"], {"owner": owner, "id": session}))
    events = scoping.one(connection, _Q["count_events"], {"session": row}) or 0
    for turn in turns:
        index.drop(connection, "turn", turn, vectors=True)
    for gist in gists:
        index.drop(connection, "gist", gist, vectors=True)
    for memory, memory_id in memories:
        _forget_memory(connection, owner, memory, memory_id, at)
    connection.execute(_Q["bury_events"], {"session": row, "at": at})
    connection.execute(_Q["bury"], {"owner": owner, "key": session_key(session), "at": at})
    connection.execute(_Q["drop_transcripts_of"], {"owner": owner, "id": session})
    for step in (
        "drop_costs",
        "drop_digest",
        "drop_distillation",
        "drop_events",
        "drop_turns",
        "drop_gist",
        "drop_session",
    ):
        connection.execute(_Q[step], {"session": row})
    return {"sessions": 1, "events": events, "turns": len(turns), "gists": len(gists), "memories": len(memories)}


def _redact(connection: apsw.Connection, now: datetime, before: datetime) -> int:
    found = list(connection.execute(_Q["to_redact"], {"before": iso(before)}))
    for row, owner, memory_id in found:
        connection.execute(_Q["drop_versions"], {"row": row})
        _bury_source(connection, owner, row, iso(now))
        connection.execute(_Q["redact"], {"row": row, "empty_hash": sha256(b"").digest()})
        audit(connection, owner, now, "redact", memory_id, {})
    return len(found)
