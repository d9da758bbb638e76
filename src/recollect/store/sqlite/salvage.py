"""What can still be read of a damaged database, into a fresh store. Only rows that verify are kept.

The damaged file is not touched: a copy of it (with its write-ahead log) is read, first as SQLite reads it, then page
by page for the rows that no tree leads to any more. Texts must match their hashes, everything else must be a value
that could be stored. Names that are lost with their page are read from the index that has them too; the data of an
owner whose name is lost both ways goes to tenant `recovered`, never to somebody else.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw

from recollect.errors import RecollectError
from recollect.model import Scope
from recollect.store import portable
from recollect.store.learnedrecords import parse_pattern
from recollect.store.sql import load_queries
from recollect.store.sqlite.leafpages import Column, Layout, scattered_rows
from recollect.store.sqlite.store import SqliteStore
from recollect.text import content_hash

Row = dict[str, Any]
Records = dict[int, list[dict[str, Any]]]  # exported records by owner

_Q = load_queries(Path(__file__).parent / "queries" / "salvage.sql")
_BROKEN = (apsw.Error, UnicodeDecodeError, MemoryError)
_TABLES = ("owners", "projects", "sessions", "events", "gists", "memories", "memory_versions", "tombstones")
_JSON = ("tags", "evidence", "anchors", "meta", "models")


def salvage(damaged: Path, target: SqliteStore) -> dict[str, int]:
    """Read all that can be read of `damaged` into the empty `target`; counts what was saved, and what was `lost`."""
    with tempfile.TemporaryDirectory(prefix=".salvage-", dir=target.database.path.parent) as folder:
        copy = Path(folder) / "damaged.db"
        for suffix in ("", "-wal"):
            source = damaged.with_name(damaged.name + suffix)
            if source.exists():
                shutil.copyfile(source, copy.with_name(copy.name + suffix))
        with contextlib.closing(_Reading(copy, _layouts(target))) as reading:
            return _Saving(reading, target).run()


class _Reading:
    """A damaged file, read around what is broken."""

    def __init__(self, path: Path, layouts: Mapping[str, Layout]) -> None:
        self._connection = apsw.Connection(str(path))
        with contextlib.suppress(*_BROKEN):  # into the copy, so that its pages are the newest
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        for pragma, value in (("trusted_schema", 0), ("cell_size_check", 1), ("query_only", 1)):
            with contextlib.suppress(*_BROKEN):
                self._connection.pragma(pragma, value)
        self._scattered: dict[str, list[Row]] = defaultdict(list)
        for name, row in scattered_rows(path, layouts):
            self._scattered[name].append(row)

    def close(self) -> None:
        self._connection.close(True)

    def table(self, name: str) -> Iterator[Row]:
        """Every readable row of a table: those SQLite can reach, then those that only their page still knows."""
        names, seen = _columns(_Q[name]), set()
        with contextlib.suppress(*_BROKEN):
            for row in self._connection.execute(_Q[name]):
                seen.add(row[:2])
                yield dict(zip(names, row, strict=True))
        for scattered in self._scattered[name]:
            if (scattered[names[0]], scattered[names[1]]) not in seen:
                yield {column: scattered[column] for column in names}
        for named in self._named(name):
            yield dict(zip(names, named, strict=False))

    def _named(self, name: str) -> Iterator[tuple[Any, ...]]:
        with contextlib.suppress(*_BROKEN):
            if f"names_of_{name}" in _Q:
                yield from self._connection.execute(_Q[f"names_of_{name}"])


class _Saving:
    """One salvage: the names first, then the records of each owner, loaded like an import."""

    def __init__(self, reading: _Reading, target: SqliteStore) -> None:
        self._reading = reading
        self._target = target
        self._lost = 0
        self._owners: dict[int, Scope] = {}
        self._projects: dict[int, str] = {}
        self._sessions: dict[int, str] = {}

    def run(self) -> dict[str, int]:
        self._names()
        records: Records = defaultdict(list)
        self._add_sessions(records)
        self._add_events(records)
        self._add_gists(records)
        self._add_memories(records)
        self._add_feedback(records)
        self._add_patterns(records)
        self._bury()
        for owner, found in records.items():
            self._load(self._scope(owner), found)
        self._share()
        counts = self._target.keeping.health(deep=False).counts
        return {
            **{name: counts[name] for name in ("sessions", "events", "gists", "memories")},
            "lost": self._lost,
        }

    def _load(self, scope: Scope, records: list[dict[str, Any]]) -> None:
        """All at once; when one of them is refused, one by one, without that one."""
        try:
            portable.load(self._target, scope, records)
        except RecollectError:
            for record in records:
                try:
                    portable.load(self._target, scope, [record])
                except RecollectError:
                    self._lost += 1

    def _names(self) -> None:
        for row in self._reading.table("owners"):
            with contextlib.suppress(RecollectError):
                self._owners.setdefault(row["row"], Scope.of_owner(row["tenant"], row["user"]))
        for row in self._reading.table("projects"):
            if isinstance(row["name"], str):
                self._projects.setdefault(row["row"], row["name"])

    def _scope(self, owner: int) -> Scope:
        return self._owners.get(owner) or Scope("recovered", f"owner-{owner}")

    def _add_sessions(self, records: Records) -> None:
        for row in self._reading.table("sessions"):
            known = row["row"] in self._sessions
            self._sessions.setdefault(row["row"], row["id"])
            if not known and "started_at" in row:
                record = {
                    "type": "session",
                    **_without(row, "row", "owner", "commit_id"),
                    "project": self._project(row),
                }
                record["commit"] = row["commit_id"]
                self._keep(records, row["owner"], record)

    def _add_events(self, records: Records) -> None:
        by_session: dict[tuple[int, int], list[Row]] = defaultdict(list)
        for row in self._reading.table("events"):
            if _matches(row["text"], row["text_hash"]) and isinstance(row["key"], bytes):
                by_session[(row["owner"], row["session"])].append(row)
            else:
                self._lost += 1
        for (owner, session), rows in by_session.items():
            for row in sorted(rows, key=lambda one: one["position"]):
                record = {"type": "event", **row, "key": row["key"].hex(), "session": self._session(session)}
                self._keep(records, owner, _without(record, "row", "owner", "position", "text_hash"))

    def _add_gists(self, records: Records) -> None:
        for row in self._reading.table("gists"):
            record = {"type": "gist", **row, "session": self._session(row["session"])}
            self._keep(records, row["owner"], _without(record, "row", "owner"))

    def _add_memories(self, records: Records) -> None:
        versions: dict[int, dict[int, Row]] = defaultdict(dict)
        for row in self._reading.table("memory_versions"):
            with contextlib.suppress(ValueError, TypeError):
                versions[row["memory"]][row["version"]] = {**_without(row, "memory"), "tags": json.loads(row["tags"])}
        for row in self._reading.table("memories"):
            if not _matches(row["content"], row["content_hash"]):
                self._lost += 1
            elif row["content"]:  # else: forgotten, and its text removed already
                old = [versions[row["row"]][number] for number in sorted(versions[row["row"]])]
                record = {"type": "memory", **row, "project": self._project(row), "versions": old}
                self._keep(records, row["owner"], _without(record, "row", "owner", "content_hash"))

    def _add_feedback(self, records: Records) -> None:
        for row in self._reading.table("feedback"):
            record = {"type": "feedback", **row, "session": row["session"] or None}
            self._keep(records, row["owner"], _without(record, "owner"))

    def _add_patterns(self, records: Records) -> None:
        """Patterns with all that belongs to them; a part that cannot be read is left out."""
        parts: dict[tuple[int, str, str], list[Row]] = defaultdict(list)
        for table, name in (
            ("pattern_versions", "versions"),
            ("pattern_evidence", "evidence"),
            ("rollouts", "rollouts"),
        ):
            for row in self._reading.table(table):
                with contextlib.suppress(ValueError, TypeError):
                    told = {**json.loads(row["content"]), **_without(row, "owner", "pattern", "content")}
                    told |= {"pattern": row["pattern"]} if name == "rollouts" else {}
                    parts[row["owner"], row["pattern"], name].append(told)
        for row in self._reading.table("patterns"):
            try:
                about = {**json.loads(row["content"]), **_without(row, "owner", "content")}
                names = ("versions", "evidence", "rollouts")
                record = {"type": "pattern", **about, **{name: parts[row["owner"], row["id"], name] for name in names}}
                parse_pattern(record)
                records[row["owner"]].append(record)
            except (RecollectError, ValueError, TypeError, KeyError, AttributeError):
                self._lost += 1

    def _keep(self, records: Records, owner: int, record: dict[str, Any]) -> None:
        """Add a record if it is one that could have been exported."""
        try:
            parsed = {name: json.loads(value) if name in _JSON else value for name, value in record.items()}
            checks = {"event": portable.parse_event, "gist": portable.parse_gist, "feedback": portable.parse_feedback}
            check = checks.get(record["type"])
            if record["type"] == "memory":
                portable.parse_memory(parsed, self._scope(owner))
            elif check is not None:
                check(parsed)
            records[owner].append(parsed)
        except (RecollectError, ValueError, TypeError, KeyError, AttributeError):
            self._lost += 1

    def _project(self, row: Row) -> str | None:
        return None if row["project"] is None else self._projects.get(row["project"], f"recovered-{row['project']}")

    def _session(self, row: int) -> str:
        return self._sessions.get(row) or f"recovered-{row}"

    def _share(self) -> None:
        """Shared contexts and who is in them: only members whose name another row has too, so that no stranger is."""
        known = {(scope.tenant, scope.user) for scope in self._owners.values()}
        for name, query in (("contexts", "contexts.add"), ("members", "contexts.put_member")):
            for row in self._reading.table(name):
                scope = self._scope(row["owner"])
                named = (row["member_tenant"], row["member"]) in known if name == "members" else True
                if scope.by is None or not named:
                    self._lost += 1
                    continue
                try:
                    with self._target.database.write(scope) as tx:
                        tx.run(query, {**row, "owner": tx.ensure().owner})
                except RecollectError:
                    self._lost += 1

    def _bury(self) -> None:
        """What was forgotten stays forgotten: its keys are taken over too."""
        for row in self._reading.table("tombstones"):
            if isinstance(row["key"], bytes) and isinstance(row["at"], str):
                with self._target.database.write(self._scope(row["owner"])) as tx:
                    tx.run("salvage.bury", {"owner": tx.ensure().owner, "key": row["key"], "at": row["at"]})


def _layouts(target: SqliteStore) -> dict[str, Layout]:
    """How the tables are made, by the schema of the fresh store."""
    found = {}
    with target.database.read(None) as tx:
        for table in _TABLES:
            numbered = bool(tx.one("salvage.has_rowid", {"table": table}))
            columns = [
                Column(name, kind, bool(required), numbered and bool(key))
                for name, kind, required, key in tx.run("salvage.columns", {"table": table})
            ]
            found[table] = Layout(columns, numbered)
    return found


def _columns(query: str) -> list[str]:
    """What a query selects, by name."""
    return [column.strip() for column in query[len("SELECT") : query.index("FROM ")].split(",")]


def _without(row: Row, *names: str) -> Row:
    return {name: value for name, value in row.items() if name not in names}


def _matches(text: object, digest: object) -> bool:
    return isinstance(text, str) and bytes.fromhex(content_hash(text)) == digest


def quarantine(database: Path, stamp: str) -> Path:
    """Move a damaged database and its log aside, under a name that tells when; returns where it is now."""
    aside = database.with_name(f"{database.name}.quarantine-{stamp}")
    for suffix in ("", "-wal", "-shm", "-journal"):
        source = database.with_name(database.name + suffix)
        if source.exists():
            source.replace(aside.with_name(aside.name + suffix))
    return aside
