"""Sessions and what happened in them: events are added once, grouped into turns, searchable at once."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from recollect.clock import from_iso, iso
from recollect.errors import ScopeError, StoreCorrupt
from recollect.model import Event, Scope, Session, Turn
from recollect.store.sql import load_queries
from recollect.store.sqlite import index, scoping
from recollect.store.sqlite.database import Database
from recollect.text import content_hash

_Q = load_queries(Path(__file__).parent / "queries" / "sessions.sql")
_FLAVOR = re.compile(r"([a-z][a-z0-9_-]{0,31}):.")


def flavor_of(session: str) -> str:
    """The agent named before the colon of a session id; `chat` when there is none."""
    match = _FLAVOR.match(session)
    return match[1] if match else "chat"


class SqliteSessions:
    """Sessions, events and turns in SQLite."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def ensure(
        self,
        scope: Scope,
        session: str,
        *,
        at: datetime,
        until: datetime | None = None,
        title: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Session:
        """The session, made if absent and lasting from `at` to `until` at least; title and meta are set when given."""
        with self._db.write() as connection:
            rows = scoping.ensure(connection, scope)
            row, _ = _ensure_session(connection, rows, session, iso(at))
            if until is not None:
                connection.execute(_Q["stretch_session"], {"session": row, "at": iso(at), "until": iso(until)})
            if title is not None:
                connection.execute(_Q["set_title"], {"session": row, "title": title})
            if meta is not None:
                connection.execute(_Q["set_meta"], {"session": row, "meta": json.dumps(dict(meta), ensure_ascii=False)})
        found = self.get(scope.within(None), session)
        assert found is not None
        return found

    def get(self, scope: Scope, session: str) -> Session | None:
        with self._db.read() as connection:
            rows = scoping.find(connection, scope)
            if rows is None:
                return None
            found = connection.execute(_Q["session"], {**_visible(rows), "id": session}).fetchone()
            return None if found is None else _session(found)

    def find(self, scope: Scope, *, limit: int, offset: int = 0) -> list[Session]:
        """Sessions, the latest first."""
        with self._db.read() as connection:
            rows = scoping.find(connection, scope)
            if rows is None:
                return []
            params = {**_visible(rows), "limit": limit, "offset": offset}
            return [_session(row) for row in connection.execute(_Q["sessions"], params)]

    def append(self, scope: Scope, events: Sequence[Event]) -> list[bool]:
        """Add events in order, in one transaction; False for one that was there before or was forgotten."""
        with self._db.write() as connection:
            rows = scoping.ensure(connection, scope)
            open_sessions: dict[str, _Appending] = {}
            added = []
            for event in events:
                key = bytes.fromhex(event.key)
                new = not scoping.one(connection, _Q["is_known"], {"owner": rows.owner, "key": key})
                added.append(new)
                if new:
                    if event.session not in open_sessions:
                        open_sessions[event.session] = _begin(connection, rows, event)
                    _append(connection, rows.owner, open_sessions[event.session], event, key)
            for session in open_sessions.values():
                for turn in session.changed:
                    index.add(connection, "turn", turn)
        return added

    def history(self, scope: Scope, session: str, *, last: int | None = None, after: int = -1) -> list[Event]:
        """What was said, oldest first: all of it, the last n, or what came after a position."""
        with self._db.read() as connection:
            rows = scoping.find(connection, scope)
            found = rows and _find_session(connection, rows, session)
            if not found:
                return []
            params = {"session": found[0], "after": after, "last": -1 if last is None else last}
            return [_event(session, row) for row in connection.execute(_Q["history"], params)]

    def turn(self, scope: Scope, turn_id: str) -> Turn | None:
        """A turn by the key of its first event."""
        try:
            key = bytes.fromhex(turn_id)
        except ValueError:
            return None
        with self._db.read() as connection:
            rows = scoping.find(connection, scope)
            if rows is None:
                return None
            found = connection.execute(_Q["turn_by_key"], {**rows.params(), "key": key}).fetchone()
            if found is None:
                return None
            events = list(connection.execute(_Q["turn_events"], {"turn": found[0]}))
            for _, text, event, text_hash in events:
                _check(found[1], event, text, text_hash)
            user, agent = index.turn_texts([event[:2] for event in events])
            return Turn(turn_id.lower(), found[1], found[2], user, agent, from_iso(found[3]))


@dataclass(slots=True)
class _Appending:
    """Where a session stands while events are added to it."""

    row: int
    project: int | None
    position: int
    turn: int | None
    ordinal: int
    changed: dict[int, None] = field(default_factory=dict)


def _visible(rows: scoping.Rows) -> dict[str, object]:
    return {"owner": rows.owner, "any_project": rows.any_project, "project": rows.project}


def _find_session(connection: apsw.Connection, rows: scoping.Rows, session: str) -> tuple[int, int | None] | None:
    found = connection.execute(_Q["session_row"], {"owner": rows.owner, "id": session}).fetchone()
    if found is None or not (rows.any_project or found[1] in (None, rows.project)):
        return None
    return found[0], found[1]


def _ensure_session(connection: apsw.Connection, rows: scoping.Rows, session: str, at: str) -> tuple[int, int | None]:
    params = {"owner": rows.owner, "id": session, "flavor": flavor_of(session), "project": rows.project, "at": at}
    connection.execute(_Q["add_session"], params)
    row, project = scoping.row(connection, _Q["session_row"], {"owner": rows.owner, "id": session})
    if not rows.any_project and project not in (None, rows.project):
        raise ScopeError(f"session {session} belongs to another project")
    return row, project


def _begin(connection: apsw.Connection, rows: scoping.Rows, event: Event) -> _Appending:
    row, project = _ensure_session(connection, rows, event.session, iso(event.occurred_at))
    position = scoping.one(connection, _Q["last_position"], {"session": row})
    turn, ordinal = connection.execute(_Q["last_turn"], {"session": row}).fetchone() or (None, -1)
    return _Appending(row, project, -1 if position is None else position, turn, ordinal)


def _append(connection: apsw.Connection, owner: int, session: _Appending, event: Event, key: bytes) -> None:
    at = iso(event.occurred_at)
    session.position += 1
    if event.role == "user" or session.turn is None:
        session.ordinal += 1
        params: dict[str, object] = {"owner": owner, "session": session.row, "project": session.project, "key": key}
        params |= {"ordinal": session.ordinal, "occurred_at": at}
        session.turn = int(scoping.row(connection, _Q["add_turn"], params)[0])
    elif session.turn not in session.changed:
        index.drop(connection, "turn", session.turn, vectors=False)
    session.changed[session.turn] = None
    connection.execute(
        _Q["add_event"],
        {
            "owner": owner,
            "key": key,
            "session": session.row,
            "turn": session.turn,
            "position": session.position,
            "kind": event.kind,
            "role": event.role,
            "origin": event.origin,
            "text": event.text,
            "text_hash": bytes.fromhex(content_hash(event.text)),
            "occurred_at": at,
            "recorded_at": iso(event.recorded_at),
            "meta": json.dumps(dict(event.meta)),
        },
    )
    connection.execute(_Q["lengthen_turn"], {"turn": session.turn, "chars": len(event.text)})
    connection.execute(_Q["stretch_session"], {"session": session.row, "at": at, "until": at})


def _session(row: tuple[Any, ...]) -> Session:
    id_, flavor, title, project, started, ended, turns, meta = row
    return Session(id_, flavor, title, project, from_iso(started), from_iso(ended), turns, json.loads(meta))


def _check(session: str, key: bytes, text: str, text_hash: bytes) -> None:
    if bytes.fromhex(content_hash(text)) != text_hash:
        raise StoreCorrupt(
            f"event {key.hex()} of session {session} does not match its hash",
            hint="The file was changed from outside. `recollect doctor --deep` lists every such row.",
        )


def _event(session: str, row: tuple[Any, ...]) -> Event:
    key, kind, role, origin, text, text_hash, occurred, recorded, position, meta = row
    _check(session, key, text, text_hash)
    return Event(
        key.hex(), session, kind, role, origin, text, from_iso(occurred), from_iso(recorded), position, json.loads(meta)
    )
