"""Sessions and what happened in them: events are added once, grouped into turns, searchable at once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from recollect.clock import from_iso, iso
from recollect.errors import StoreCorrupt
from recollect.model import Body, Event, Raw, Scope, Session, Turn
from recollect.store.rows import index
from recollect.store.rows.appending import Appending, as_json, ensure_session, require_project, set_facts
from recollect.store.rows.audit import Note, audit_many
from recollect.store.rows.quotas import take
from recollect.store.rows.tasks import put_work_of
from recollect.store.rows.tx import Database, Rows, Tx
from recollect.text import content_hash

_NO_TITLES: Mapping[str, str] = {}


class RowSessions:
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
        facts: Session | None = None,
    ) -> Session:
        """The session, made if absent and lasting from `at` to `until` at least; what else is given is set."""
        with self._db.write(scope) as tx:
            rows = tx.ensure()
            row, _ = ensure_session(tx, rows, session, iso(at))
            if until is not None:
                tx.run("sessions.stretch_session", {"session": row, "at": iso(at), "until": iso(until)})
            if title is not None:
                tx.run("sessions.set_title", {"session": row, "title": title})
            if meta is not None:
                tx.run("sessions.set_meta", {"session": row, "meta": as_json(meta)})
            if facts is not None:
                set_facts(tx, row, facts)
        found = self.get(scope.within(None), session)
        assert found is not None
        return found

    def get(self, scope: Scope, session: str) -> Session | None:
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return None
            found = tx.run("sessions.session", {**_visible(rows), "id": session}).fetchone()
            return None if found is None else read_session(found)

    def find(self, scope: Scope, *, limit: int, offset: int = 0) -> list[Session]:
        """Sessions, the latest first."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            params = {**_visible(rows), "limit": limit, "offset": offset}
            return [read_session(row) for row in tx.run("sessions.sessions", params)]

    def directories(self, scope: Scope) -> list[tuple[str | None, str]]:
        """Where sessions ran, each project and directory once, the latest first."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            return [(project, cwd) for project, cwd in tx.run("sessions.directories", _visible(rows))]

    def append(self, scope: Scope, events: Sequence[Event], titles: Mapping[str, str] = _NO_TITLES) -> list[bool]:
        """Add events in order, in one transaction; False for one that was there before or was forgotten.

        `titles` are what their sessions are called from then on. Each session that grew is noted in the audit: what
        programs record comes from outside, and with keys. What is swept of the agents' own files (`captures`) is not:
        the transcripts are noted there, file by file, and come from nobody but the user of the machine.
        """
        with self._db.write(scope) as tx:
            appending = Appending(tx, tx.ensure(), events)
            added = [appending.add(event) == "added" for event in events]
            appending.finish()
            owner = appending.rows.owner
            new = [event for event, was_added in zip(events, added, strict=True) if was_added]
            renamed = _rename(tx, appending.rows, titles)
            put_work_of(tx, owner, {event.session for event in new})
            take(tx, owner, ingests=bool(new))
            audit_many(tx, owner, _recorded(new, renamed, tx.terms.clock()))
        return added

    def history(
        self, scope: Scope, session: str, *, last: int | None = None, after: int = -1, first: int | None = None
    ) -> list[Event]:
        """What was said, oldest first: all of it, the last n, or what came after a position (the first n of it)."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            found = rows and find_session(tx, rows, session)
            if not found:
                return []
            params = {"session": found[0], "after": after, "last": -1 if last is None else last}
            if first is not None:
                params |= {"until": after + first}  # positions have no holes
            query = "sessions.history" if first is None else "sessions.history_page"
            return [_event(session, row) for row in tx.run(query, params)]

    def events(self, scope: Scope, keys: Sequence[str]) -> list[Event]:
        """Events by their keys, in the order asked for, whatever session they are of; what is not there is left out."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            wanted = list(dict.fromkeys(bytes.fromhex(key).hex() for key in keys if _is_key(key)))
            found = tx.run("sessions.events_by_key", {**rows.params(), "keys": json.dumps(wanted)})
            events = {row[1].hex(): _event(row[0], tuple(row[1:])) for row in found}
            return [events[key] for key in wanted if key in events]

    def turn(self, scope: Scope, turn_id: str) -> Turn | None:
        """A turn by the key of its first event."""
        try:
            key = bytes.fromhex(turn_id)
        except ValueError:
            return None
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return None
            found = tx.run("sessions.turn_by_key", {**rows.params(), "key": key}).fetchone()
            if found is None:
                return None
            events = list(tx.run("sessions.turn_events", {"turn": found[0]}))
            for _, text, event, text_hash in events:
                check_event(found[1], event, text, text_hash)
            user, agent = index.turn_texts([event[:2] for event in events])
            return Turn(turn_id.lower(), found[1], found[2], user, agent, from_iso(found[3]))


def _rename(tx: Tx, rows: Rows, titles: Mapping[str, str]) -> set[str]:
    """Give sessions their titles; which of them had another one. One of which nothing is kept gets none."""
    renamed = set()
    for session, title in titles.items():
        found = tx.run("sessions.session_row", {"owner": rows.owner, "id": session}).fetchone()
        if found is None:
            continue
        require_project(rows, found[1], session)
        if tx.run("sessions.rename", {"session": found[0], "title": title}).fetchone():
            renamed.add(session)
    return renamed


def _recorded(new: Sequence[Event], renamed: Collection[str], at: datetime) -> list[Note]:
    """What the audit says of sessions that grew or have another title.

    Their names are their users' own words and go when they are forgotten, so a session is told by its first new event.
    """
    first: dict[str, str] = {}
    for event in new:
        first.setdefault(event.session, event.key)
    events = Counter(event.session for event in new)
    notes = []
    for session in dict.fromkeys([*first, *sorted(renamed)]):
        title = {"title": True} if session in renamed else {}
        notes.append(Note(at, "record", first.get(session, "session"), {"events": events[session], **title}))
    return notes


def _is_key(text: str) -> bool:
    try:
        return bool(bytes.fromhex(text))
    except ValueError:
        return False


def _visible(rows: Rows) -> dict[str, object]:
    return {"owner": rows.owner, "any_project": rows.any_project, "project": rows.project}


def find_session(tx: Tx, rows: Rows, session: str) -> tuple[int, int | None] | None:
    """The row of a session and of its project, if the scope sees it."""
    found = tx.run("sessions.session_row", {"owner": rows.owner, "id": session}).fetchone()
    if found is None or not (rows.any_project or found[1] in (None, rows.project)):
        return None
    return found[0], found[1]


def read_session(row: tuple[Any, ...]) -> Session:
    """A session from its columns."""
    id_, flavor, title, project, started, ended, turns, meta, parent, relation, cwd, branch, commit, models, *rest = row
    version, interactive, outcome = rest
    return Session(
        *(id_, flavor, title, project, from_iso(started), from_iso(ended), turns, json.loads(meta), parent, relation),
        *(cwd, branch, commit, tuple(json.loads(models)), version, None if interactive is None else bool(interactive)),
        outcome,
    )


def check_event(session: str, key: bytes, text: str, text_hash: bytes) -> None:
    """StoreCorrupt when the text of an event is not what was written."""
    if bytes.fromhex(content_hash(text)) != text_hash:
        raise StoreCorrupt(
            f"event {key.hex()} of session {session} does not match its hash",
            hint="The file was changed from outside. `recollect doctor --deep` lists every such row.",
        )


def _event(session: str, row: tuple[Any, ...]) -> Event:
    """An event whose text is what was written."""
    check_event(session, row[0], row[4], row[5])
    return read_event(session, row)


def read_event(session: str, row: tuple[Any, ...]) -> Event:
    """An event from its columns, as they are."""
    (
        key,
        kind,
        role,
        origin,
        text,
        _,
        occurred,
        recorded,
        position,
        meta,
        way,
        path,
        raw_at,
        raw_size,
        bodies,
    ) = row
    return Event(
        *(key.hex(), session, kind, role, origin, text, from_iso(occurred), from_iso(recorded), position),
        json.loads(meta),
        way,
        None if path is None or raw_at is None else Raw(path, raw_at, raw_size),
        tuple(Body(*body) for body in json.loads(bodies)),
    )
