"""Everything of every owner from one store into another, as it is: sessions, memories, what was forgotten, the audit.

Two open stores come in; per owner, what was moved and whether both hold the same goes out. Rows are copied, not said
again: only their numbers are new. What is derived is made again in the target: the words at once, the vectors by
whoever embeds. A session with all its rows is one transaction, so is a page of memories; every row is known by its own
name, so that a move that was killed goes on where it was. An owner who has anything in the target already, and not from
this source, is left alone unless they are to be merged.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, Protocol

from recollect.clock import iso
from recollect.errors import InvalidInput, StoreCorrupt
from recollect.ids import uuid7
from recollect.model import Scope
from recollect.store.port import Store
from recollect.store.rows import index
from recollect.store.rows.appending import session_key
from recollect.store.rows.bodies import unpacked
from recollect.store.rows.memories import tombstone_key
from recollect.store.rows.tables import EVIDENCE, LEARNED, NOTED, VERSIONS, Shapes, Tables
from recollect.store.rows.tx import Database, Tx

# A column of numbers of this name tells a row of that table.
NAMED = {
    "project": "projects",
    "transcript": "transcripts",
    "session": "sessions",
    "turn": "turns",
    "event": "events",
    "memory": "memories",
}
# What differs between stores and says nothing: their own numbers and clocks, and who is just making something.
OWN = {"sessions": {"gist_leased"}, "bodies": {"born", "stored"}}
PREFIX = "move:"
_EVENTS, _PAGE = 2_000, 500

Progress = Callable[[int, int | None], None]


class Movable(Store, Protocol):
    """A store whose rows can be moved."""

    @property
    def database(self) -> Database: ...
    @property
    def tables(self) -> Tables: ...


@dataclass(slots=True)
class Moved:
    """What became of one owner: moved, there (nothing was left to do), merged, differs, planned or refused."""

    tenant: str
    user: str
    state: str
    counts: dict[str, int] = field(default_factory=dict)
    digest: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a store holds of an owner, table by table: how many rows, and a number that only the same rows give."""

    rows: Mapping[str, int]
    sums: Mapping[str, int]

    @property
    def digest(self) -> str:
        told = json.dumps([[name, self.rows[name], f"{self.sums[name]:x}"] for name in sorted(self.rows)])
        return sha256(told.encode()).hexdigest()

    def differing(self, other: Contents) -> list[str]:
        """The tables whose rows are not the same."""
        names = sorted({*self.rows, *other.rows})
        return [name for name in names if self._told(name) != other._told(name)]

    def _told(self, name: str) -> tuple[int, int]:
        return self.rows.get(name, 0), self.sums.get(name, 0)


def move(
    source: Movable,
    target: Movable,
    *,
    now: datetime,
    merge: bool = False,
    dry_run: bool = False,
    progress: Progress = lambda step, total: None,
) -> list[Moved]:
    """Move every owner; an owner that is refused does not keep the others from being moved."""
    shapes = common(source.tables.shapes(), target.tables.shapes())
    origin = _identity(source) if not dry_run else (source.notes.get("store_id") or "")
    if origin and origin == target.notes.get("store_id"):
        raise InvalidInput("source and target are the same store")
    owners = source.tables.owners()
    total = sum(_size(source, scope) for scope in owners)
    progress(0, total)
    return [
        _Owner(source, target, scope, shapes, origin, now, lambda step: progress(step, None)).move(merge, dry_run)
        for scope in owners
    ]


def contents(store: Movable, scope: Scope, shapes: Shapes) -> Contents:
    """What a store holds of an owner in these tables and columns, in a form that is the same in every store."""
    return _Reading(store, scope, shapes).contents()


def _identity(store: Movable) -> str:
    """The name of a store, given to it when it is first asked for."""
    for _ in range(2):
        known = store.notes.get("store_id")
        if known or store.notes.swap("store_id", None, made := uuid7()):
            return known or made
    return store.notes.get("store_id") or ""


def common(source: Shapes, target: Shapes) -> dict[str, dict[str, str]]:
    """The tables and columns that both have; a kind that one of them knows better holds for both."""
    return {
        table: {
            name: kind if kind != "text" else target[table][name]
            for name, kind in columns.items()
            if name in target[table]
        }
        for table, columns in source.items()
        if table in target
    }


def _size(store: Movable, scope: Scope) -> int:
    with store.database.read(scope) as tx:
        return sum(1 for table in ("sessions", "memories") for _ in store.tables.read(tx, table, ("row",)))


def _is_reference(column: str, kind: str) -> bool:
    return column in NAMED and kind == "number"


class _Reading:
    """The rows of one owner, with names in the place of numbers."""

    def __init__(self, store: Movable, scope: Scope, shapes: Shapes) -> None:
        self._store, self._scope, self._shapes = store, scope, shapes
        self._names: dict[str, dict[int, object]] = {}
        self._rows: Counter[str] = Counter()
        self._sums: Counter[str] = Counter()

    def contents(self) -> Contents:
        with self._store.database.snapshot(self._scope) as tx:
            for table, name in (("projects", "name"), ("transcripts", "name"), ("sessions", "id"), ("memories", "id")):
                self._names[table] = dict(self._store.tables.read(tx, table, ("row", name)))
            family = _family(self._shapes)
            for table in self._shapes:
                if table not in family:
                    self._add(table, self._store.tables.read(tx, table, self._columns(table)))
            sessions = list(self._names["sessions"])
            for at in range(0, len(sessions), _PAGE):
                self._add_sessions(tx, family, sessions[at : at + _PAGE])
        return Contents(dict(self._rows), {name: value % (1 << 256) for name, value in self._sums.items()})

    def _add_sessions(self, tx: Tx, family: Sequence[str], sessions: Sequence[int]) -> None:
        read = self._store.tables.read
        turns = list(read(tx, "turns", ("row", "session", "ordinal"), "session", sessions))
        self._names["turns"] = {row: (self._names["sessions"][session], number) for row, session, number in turns}
        self._names["events"] = dict(read(tx, "events", ("row", "key"), "session", sessions))
        for table in family:
            columns = self._columns(table)
            if self._shapes[table].get("session") == "number":
                self._add(table, read(tx, table, columns, "session", sessions))
            else:
                events = list(self._names["events"])
                self._add(table, read(tx, table, columns, "event", events) if events else ())

    def _columns(self, table: str) -> list[str]:
        left_out = OWN.get(table, set())
        return [name for name in sorted(self._shapes[table]) if name != "row" and name not in left_out]

    def _add(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        columns = self._columns(table)
        shape = self._shapes[table]
        for row in rows:
            told = [self._plain(name, shape[name], value) for name, value in zip(columns, row, strict=True)]
            self._rows[table] += 1
            self._sums[table] += int.from_bytes(sha256(repr(told).encode("utf-8", "surrogatepass")).digest(), "big")

    def _plain(self, column: str, kind: str, value: Any) -> object:
        if value is None:
            return None
        if _is_reference(column, kind):
            return self._names[NAMED[column]].get(value)
        if kind == "json":
            return json.loads(value)
        if isinstance(value, bool):
            return int(value)
        return float(value) if kind == "real" else value


def _family(shapes: Shapes) -> list[str]:
    """The tables of what is in a session, each after those it refers to."""
    of_session = [table for table, columns in shapes.items() if columns.get("session") == "number"]
    of_event = [table for table, columns in shapes.items() if columns.get("event") == "number"]
    first = [table for table in ("turns", "events") if table in of_session]
    return [*first, *(t for t in of_session if t not in first), *(t for t in of_event if t not in of_session)]


class _Owner:
    """The move of one owner."""

    def __init__(
        self,
        source: Movable,
        target: Movable,
        scope: Scope,
        shapes: dict[str, dict[str, str]],
        origin: str,
        now: datetime,
        advance: Callable[[int], None],
    ) -> None:
        self._source, self._target, self._scope, self._shapes, self._now = source, target, scope, shapes, now
        self._advance = advance
        self._note = f"{PREFIX}{origin}:{sha256(json.dumps([scope.tenant, scope.user]).encode()).hexdigest()[:32]}"
        self._family = _family(shapes)
        self._numbers: dict[str, dict[int, int]] = {}
        self._counts: Counter[str] = Counter()
        self._notes: list[str] = []

    def move(self, merge: bool, dry_run: bool) -> Moved:
        moved = Moved(self._scope.tenant, self._scope.user, "refused")
        refusal, done = self._refusal(merge)
        before = self._contents(self._source)
        if dry_run:
            state = "refused" if refusal else "planned"
            return replace(moved, state=state, counts=dict(before.rows), notes=[refusal] if refusal else [])
        if done and not merge and self._contents(self._target).digest == before.digest:
            self._advance(_size(self._source, self._scope))
            return replace(moved, state="there", counts=dict(before.rows), digest=before.digest)
        if refusal:
            return replace(moved, notes=[refusal])
        self._begin()
        self._copy(merge)
        return self._finish(moved, merge)

    def _contents(self, store: Movable) -> Contents:
        return contents(store, self._scope, self._shapes)

    def _refusal(self, merge: bool) -> tuple[str, bool]:
        """Why this owner may not be moved, if so; and whether they were moved before."""
        noted = json.loads(self._target.notes.get(self._note) or "{}")
        done = noted.get("state") == "done"
        if merge or (noted and not done):
            return "", done
        with self._target.database.read(self._scope) as tx:
            there = any(
                next(iter(self._target.tables.read(tx, table, (next(iter(columns)),))), None) is not None
                for table, columns in self._shapes.items()
            )
        if done:
            return "they were moved before, and one side has changed since: --merge adds what is missing", True
        return ("they have something in the target already: --merge adds to it" if there else ""), False

    def _begin(self) -> None:
        self._target.notes.put(self._note, json.dumps({"state": "begun", "at": iso(self._now)}))
        with self._target.database.write(self._scope) as tx:
            tx.ensure()
        self._clock = self._target.bodies.tick(self._now) - self._source.bodies.tick(self._now)

    def _finish(self, moved: Moved, merge: bool) -> Moved:
        ours, theirs = self._contents(self._source), self._contents(self._target)
        differing = ours.differing(theirs)
        state = "moved" if not differing else "merged" if merge else "differs"
        if state == "differs":
            self._notes.append(
                f"not the same in both: {', '.join(differing)}; stop writing to the source and run it with --merge"
            )
        self._target.notes.put(self._note, json.dumps({"state": "done", "at": iso(self._now), "digest": theirs.digest}))
        return replace(moved, state=state, counts=dict(self._counts), digest=theirs.digest, notes=self._notes)

    # -- copying ---------------------------------------------------------------------------------------------------

    def _copy(self, merge: bool) -> None:
        self._forgotten = self._newly_forgotten()
        self._unlearned = self._newly_unlearned()
        for table in ("projects", "transcripts"):
            self._copy_plain(table)
            self._number(table, "name")
        self._copy_sessions()
        self._copy_memories()
        special = {"projects", "transcripts", "sessions", "memories", VERSIONS, "bodies", *self._family}
        for table in self._shapes:
            if table not in special:
                self._copy_plain(table)

    def _newly_forgotten(self) -> set[bytes]:
        """What was forgotten in the target and not in the source: it stays forgotten."""
        found = []
        for store in (self._target, self._source):
            with store.database.read(self._scope) as tx:
                found.append({bytes(key) for (key,) in store.tables.read(tx, "tombstones", ("key",))})
        return found[0] - found[1]

    def _number(self, table: str, name: str) -> None:
        """Which row of the source is which row of the target, by name."""
        with self._source.database.read(self._scope) as ours, self._target.database.read(self._scope) as theirs:
            rows = {key: row for row, key in self._target.tables.read(theirs, table, ("row", name))}
            found = self._source.tables.read(ours, table, ("row", name))
            self._numbers[table] = {row: rows[key] for row, key in found if key in rows}

    def _copy_plain(self, table: str) -> None:
        """Every row of a table that the target has not, in one transaction."""
        columns = [name for name in self._shapes[table] if name != "row"]
        with self._source.database.snapshot(self._scope) as tx:
            rows = [self._with_numbers(table, columns, row) for row in self._source.tables.read(tx, table, columns)]
        if table in LEARNED:
            rows = [row for row in rows if self._is_to_stay(table, dict(zip(columns, row, strict=True)))]
        if table in NOTED:
            rows = [row for row in rows if not self._tells_forgotten(table, dict(zip(columns, row, strict=True)))]
        if not rows:
            return
        with self._target.database.write(self._scope) as tx:
            there = Counter(self._told(table, columns, row) for row in self._target.tables.read(tx, table, columns))
            missing = []
            for row in rows:
                told = self._told(table, columns, row)
                if there[told]:
                    there[told] -= 1
                else:
                    missing.append(row)
            before = sum(1 for _ in self._target.tables.read(tx, table, columns[:1]))
            self._insert(tx, table, columns, missing)
            added = sum(1 for _ in self._target.tables.read(tx, table, columns[:1])) - before
        self._counts[table] += added
        if added < len(missing):
            self._notes.append(f"{len(missing) - added} of {table} are in the target otherwise, and stay so")

    def _is_to_stay(self, table: str, row: Mapping[str, Any]) -> bool:
        """Whether nothing of a learned row was forgotten in the target."""
        if table == EVIDENCE and session_key(row["session"]) in self._forgotten:
            return False
        return row[LEARNED[table]] not in self._unlearned

    def _tells_forgotten(self, table: str, row: Mapping[str, Any]) -> bool:
        """Whether a row that was noted is about a memory or a session that was forgotten in the target."""
        for name in NOTED[table] if self._forgotten else ():
            if name in ("content", "covers"):
                told = json.loads(row[name])
                covers = told if name == "covers" else (told.get("before") or {}).get("covers") or {}
                if any(session_key(session) in self._forgotten for session in covers):
                    return True
            elif (session_key if name == "session" else tombstone_key)(row[name]) in self._forgotten:
                return True
        return False

    def _newly_unlearned(self) -> set[str]:
        """Patterns that go with sessions that were forgotten in the target: but for approved ones they may hold words
        of them. Rows are copied, not said again, so what forgetting there would have reworded is found anew instead.
        """
        if not self._forgotten or EVIDENCE not in self._shapes:
            return set()
        with self._source.database.read(self._scope) as tx:
            states = dict(self._source.tables.read(tx, "patterns", ("id", "state")))
            gone: dict[str, list[bool]] = {}
            for pattern, session in self._source.tables.read(tx, EVIDENCE, ("pattern", "session")):
                gone.setdefault(pattern, []).append(session_key(session) in self._forgotten)
        return {
            pattern for pattern, lost in gone.items() if any(lost) and states.get(pattern, "approved") != "approved"
        }

    def _told(self, table: str, columns: Sequence[str], row: Sequence[Any]) -> bytes:
        shape = self._shapes[table]
        values = [
            json.loads(value)
            if shape[name] == "json" and value is not None
            else int(value)
            if isinstance(value, bool)
            else value
            for name, value in zip(columns, row, strict=True)
        ]
        return sha256(repr(values).encode("utf-8", "surrogatepass")).digest()

    def _with_numbers(self, table: str, columns: Sequence[str], row: Sequence[Any]) -> list[Any]:
        """A row of the source with the target's numbers in it."""
        shape = self._shapes[table]
        return [
            self._numbers[NAMED[name]].get(value)
            if value is not None and _is_reference(name, shape[name])
            else value + self._clock
            if (table, name) == ("bodies", "born")
            else None
            if (table, name) == ("sessions", "gist_leased")
            else value
            for name, value in zip(columns, row, strict=True)
        ]

    def _insert(self, tx: Tx, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[int]:
        """Put rows in, with new numbers where the table has them; returns those."""
        if not rows:
            return []
        numbers: list[int] = []
        if "row" in self._shapes[table]:
            numbers = self._target.tables.numbers(tx, table, len(rows))
            columns = ("row", *columns)
            rows = [(number, *row) for number, row in zip(numbers, rows, strict=True)]
        self._target.tables.add(tx, table, columns, rows)
        return numbers

    # -- sessions --------------------------------------------------------------------------------------------------

    def _copy_sessions(self) -> None:
        with self._target.database.read(self._scope) as tx:
            there = {name for (name,) in self._target.tables.read(tx, "sessions", ("id",))}
        for batch in self._batches():
            new = [row for row, name in batch if name not in there and session_key(name) not in self._forgotten]
            if new:
                self._copy_new(new)
            for _, name in batch:
                if name in there:
                    self._top_up(name)
            self._advance(len(batch))

    def _batches(self) -> Iterator[list[tuple[int, str]]]:
        """Sessions, as many at a time as have some thousand events."""
        with self._source.database.snapshot(self._scope) as tx:
            sessions = list(self._source.tables.read(tx, "sessions", ("row", "id")))
            sizes = Counter(row for (row,) in self._source.tables.read(tx, "events", ("session",)))
        batch: list[tuple[int, str]] = []
        size = 0
        for row, name in sessions:
            batch.append((row, name))
            size += 1 + sizes[row]
            if size >= _EVENTS:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _copy_new(self, sessions: list[int]) -> None:
        with self._source.database.snapshot(self._scope) as ours, self._target.database.write(self._scope) as theirs:
            self._numbers["sessions"] = self._copy_rows(ours, theirs, "sessions", "row", sessions)
            for table in self._family:
                by = "session" if self._shapes[table].get("session") == "number" else "event"
                wanted = sessions if by == "session" else list(self._numbers["events"])
                numbers = self._copy_rows(ours, theirs, table, by, wanted)
                if table in NAMED.values():
                    self._numbers[table] = numbers
                if table == "gists":
                    self._numbers["gists"] = numbers
            self._copy_bodies(ours, theirs, list(self._numbers["events"]))
            index.add_many(theirs, "turn", list(self._numbers["turns"].values()))
            index.add_many(theirs, "gist", list(self._numbers.get("gists", {}).values()))

    def _copy_rows(self, ours: Tx, theirs: Tx, table: str, by: str, wanted: Sequence[int]) -> dict[int, int]:
        """Rows of the source into the target; returns which became which."""
        if not wanted:
            return {}
        columns = [name for name in self._shapes[table] if name != "row"]
        numbered = "row" in self._shapes[table]
        asked = ["row", *columns] if numbered else columns
        found = list(self._source.tables.read(ours, table, asked, by, wanted))
        rows = [self._with_numbers(table, columns, row[1:] if numbered else row) for row in found]
        numbers = self._insert(theirs, table, columns, rows)
        self._counts[table] += len(rows)
        return dict(zip((row[0] for row in found), numbers, strict=True)) if numbered else {}

    def _copy_bodies(self, ours: Tx, theirs: Tx, events: list[int]) -> None:
        """The bodies that these events name, unless they are there; one that is damaged is moved without its bytes."""
        if not events:
            return
        assert ours.rows is not None
        assert theirs.rows is not None
        hashes = {
            bytes(found) for (found,) in self._source.tables.read(ours, "event_bodies", ("hash",), "event", events)
        }
        there = {bytes(found) for (found,) in self._target.tables.read(theirs, "bodies", ("hash",))}
        wanted = sorted(hashes - there)
        if not wanted:
            return
        columns = list(self._shapes["bodies"])
        found = list(self._source.tables.read(ours, "bodies", columns, "hash", wanted))
        self._insert(theirs, "bodies", columns, [self._with_numbers("bodies", columns, row) for row in found])
        self._counts["bodies"] += len(found)
        for row in found:
            body_hash = bytes(row[columns.index("hash")])
            stored = self._source.tables.body(ours, ours.rows.owner, body_hash)
            if stored is not None and self._is_whole(stored, body_hash):
                self._target.tables.put_body(theirs, theirs.rows.owner, body_hash, stored)

    def _is_whole(self, stored: bytes, body_hash: bytes) -> bool:
        try:
            unpacked(stored, body_hash.hex())
        except StoreCorrupt:
            self._notes.append(f"the body {body_hash.hex()} is damaged in the source: its bytes were not moved")
            return False
        return True

    def _top_up(self, name: str) -> None:
        """Events of a session that is there already, and that the target has not: it grew, or was merged."""
        theirs = {event.key for event in self._target.sessions.history(self._scope, name)}
        ours = self._source.sessions.history(self._scope, name)
        missing = [
            event for event in ours if event.key not in theirs and bytes.fromhex(event.key) not in self._forgotten
        ]
        about = self._source.sessions.get(self._scope, name)
        if not missing or about is None:
            return
        filled = [
            replace(
                event, bodies=tuple(b._replace(data=self._source.bodies.get(self._scope, b.hash)) for b in event.bodies)
            )
            for event in missing
        ]
        costs = self._source.captures.costs(self._scope, name)
        done = self._target.captures.ingest(self._scope, about, filled, costs, changes=False)
        self._counts["events"] += done.added

    # -- memories --------------------------------------------------------------------------------------------------

    def _copy_memories(self) -> None:
        columns = [name for name in self._shapes["memories"] if name != "row"]
        id_at, version_at = 1 + columns.index("id"), 1 + columns.index("version")
        with self._source.database.snapshot(self._scope) as tx:
            rows = [row for (row,) in self._source.tables.read(tx, "memories", ("row",))]
        for start in range(0, len(rows), _PAGE):
            page = rows[start : start + _PAGE]
            with (
                self._source.database.snapshot(self._scope) as ours,
                self._target.database.write(self._scope) as theirs,
            ):
                found = list(self._source.tables.read(ours, "memories", ["row", *columns], "row", page))
                ids = [row[id_at] for row in found]
                there = dict(self._target.tables.read(theirs, "memories", ("id", "version"), "id", ids))
                newer = [row[id_at] for row in found if row[id_at] in there and row[version_at] > there[row[id_at]]]
                self._take_out(theirs, newer)
                new = [
                    row
                    for row in found
                    if (row[id_at] not in there or row[id_at] in newer)
                    and tombstone_key(row[id_at]) not in self._forgotten
                ]
                self._add_memories(ours, theirs, columns, new)
            self._advance(len(page))

    def _take_out(self, tx: Tx, ids: list[str]) -> None:
        """Memories that are to be put in anew, as they were changed in the source since."""
        if not ids:
            return
        wanted = list(self._target.tables.read(tx, "memories", ("row", "deleted_at"), "id", ids))
        for row, deleted_at in wanted:
            if deleted_at is None:
                index.drop(tx, "memory", row, vectors=True)
            tx.run("keeping.drop_versions", {"row": row})
            tx.run("keeping.drop_memory", {"row": row})

    def _add_memories(self, ours: Tx, theirs: Tx, columns: list[str], found: list[tuple[Any, ...]]) -> None:
        if not found:
            return
        rows = [self._with_numbers("memories", columns, row[1:]) for row in found]
        numbers = self._insert(theirs, "memories", columns, rows)
        kept = {row for (row,) in self._target.tables.read(theirs, "memories", ("row",), "row", numbers)}
        self._numbers["memories"] = {
            row[0]: number for row, number in zip(found, numbers, strict=True) if number in kept
        }
        if self._numbers["memories"]:
            self._copy_rows(ours, theirs, VERSIONS, "memory", list(self._numbers["memories"]))
        self._counts["memories"] += len(kept)
        if len(kept) < len(found):
            self._notes.append(f"{len(found) - len(kept)} memories are in the target already with the same words")
        deleted = columns.index("deleted_at")
        live = [n for n, row in zip(numbers, rows, strict=True) if n in kept and row[deleted] is None]
        index.add_many(theirs, "memory", live)
