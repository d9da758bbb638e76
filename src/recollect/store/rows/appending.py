"""The one way events come in: each once, in order, grouped into turns, searchable when the transaction ends.

Whatever brings them (a program, a hook, a sweep, an import), the key decides: an event that is there already is left
alone, or changed when its agent wrote it anew (a message that was still being streamed); what was forgotten stays so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any, Literal, NamedTuple

from recollect.clock import iso
from recollect.errors import ScopeError
from recollect.ids import stable_key
from recollect.model import Event, Session
from recollect.store.rows import index
from recollect.store.rows.tx import Rows, Tx
from recollect.text import content_hash

Fate = Literal["added", "changed", "known", "forgotten"]
_FLAVOR = re.compile(r"([a-z][a-z0-9_-]{0,31}):.")


def flavor_of(session: str) -> str:
    """The agent named before the colon of a session id; `chat` when there is none."""
    match = _FLAVOR.match(session)
    return match[1] if match else "chat"


@dataclass(slots=True)
class _Place:
    """Where a session stands while events are added to it."""

    row: int
    project: int | None
    position: int
    turn: int | None
    ordinal: int
    started: str
    ended: str


class _Known(NamedTuple):
    """An event that is there."""

    row: int
    turn: int
    text_hash: bytes


@dataclass(slots=True)
class Appending:
    """Events coming in, within one write transaction: `add` each of those that are coming, then `finish`."""

    tx: Tx
    rows: Rows
    coming: InitVar[Sequence[Event]]
    changes: bool = False  # whether an event that is known may be written anew
    transcript: int | None = None
    _known: dict[bytes, _Known] = field(init=False)
    _buried: frozenset[bytes] = field(init=False)
    _places: dict[str, _Place] = field(default_factory=dict)
    _touched: dict[int, int] = field(default_factory=dict)  # turn -> characters it grew by

    def __post_init__(self, coming: Sequence[Event]) -> None:
        """Which of them are there, and which were forgotten, is looked up for all of them at once."""
        keys = [bytes.fromhex(event.key).hex() for event in coming]
        params = {"owner": self.rows.owner, "keys": json.dumps(keys)}
        known, buried = (list(self.tx.run(f"sessions.{what}_events", params)) for what in ("known", "buried"))
        self._known = {bytes.fromhex(key): _Known(*more) for key, *more in known}
        self._buried = frozenset(bytes.fromhex(key) for (key,) in buried)

    def add(self, event: Event) -> Fate:
        """Take one event in; the events of a session must come in their order."""
        key = bytes.fromhex(event.key)
        known = self._known.get(key)
        if known is not None:
            return self._change(event, key, known) if self.changes else "known"
        if key in self._buried:
            return "forgotten"
        self._insert(event, key)
        return "added"

    def link(self, event: Event) -> None:
        """The bodies of an event that is there, as its own."""
        self._link_bodies(self._known[bytes.fromhex(event.key)].row, event)

    def finish(self) -> None:
        """Make what was added searchable."""
        for place in self._places.values():
            params = {"session": place.row, "at": place.started, "until": place.ended}
            self.tx.run("sessions.stretch_session", params)
        for turn, chars in self._touched.items():
            self.tx.run("sessions.lengthen_turn", {"turn": turn, "chars": chars})
            index.add(self.tx, "turn", turn)

    def _insert(self, event: Event, key: bytes) -> None:
        at = iso(event.occurred_at)
        place = self._places.get(event.session) or self._begin(event.session, at)
        place.position += 1
        place.started, place.ended = min(place.started, at), max(place.ended, at)
        if event.role == "user" and place.turn is not None and place.ordinal == 0 and self._is_silent(place.turn):
            self._touch(place.turn)
            self.tx.run("sessions.rename_turn", {"turn": place.turn, "key": key, "occurred_at": at})
        elif event.role == "user" or place.turn is None:
            place.ordinal += 1
            place.turn = self._open_turn(place, key, at)
        turn = place.turn
        self._touch(turn)
        self._touched[turn] += len(event.text)
        raw, text_hash = event.raw, bytes.fromhex(content_hash(event.text))
        (row,) = self.tx.row(
            "sessions.add_event",
            {
                "owner": self.rows.owner,
                "key": key,
                "session": place.row,
                "turn": turn,
                "position": place.position,
                "kind": event.kind,
                "role": event.role,
                "origin": event.origin,
                "text": event.text,
                "text_hash": text_hash,
                "occurred_at": at,
                "recorded_at": iso(event.recorded_at),
                "meta": as_json(event.meta),
                "way": event.way,
                "transcript": self.transcript,
                "raw_at": raw.at if raw and self.transcript else None,
                "raw_size": raw.size if raw and self.transcript else None,
            },
        )
        self._known[key] = _Known(row, turn, text_hash)
        self._link_bodies(row, event)

    def _link_bodies(self, row: int, event: Event) -> None:
        for body in event.bodies:
            params = {"event": row, "owner": self.rows.owner, "hash": bytes.fromhex(body.hash)}
            self.tx.run("sessions.add_event_body", params)

    def _is_silent(self, turn: int) -> bool:
        """Whether nobody has said anything in a turn: what a host injects before the first prompt is no turn itself."""
        return not self.tx.one("sessions.has_words", {"turn": turn})

    def _open_turn(self, place: _Place, key: bytes, at: str) -> int:
        params: dict[str, object] = {"owner": self.rows.owner, "session": place.row, "project": place.project}
        params |= {"key": key, "ordinal": place.ordinal, "occurred_at": at}
        turn = int(self.tx.row("sessions.add_turn", params)[0])
        self._touched[turn] = 0
        return turn

    def _touch(self, turn: int) -> None:
        """A turn that is about to change leaves the index first, while its rows are still what was indexed."""
        if turn not in self._touched:
            index.drop(self.tx, "turn", turn, vectors=False)
            self._touched[turn] = 0

    def _change(self, event: Event, key: bytes, known: _Known) -> Fate:
        new_hash, row, turn = bytes.fromhex(content_hash(event.text)), known.row, known.turn
        if new_hash == known.text_hash:
            return "known"
        self._touch(turn)
        old = self.tx.one("sessions.event_length", {"row": row}) or 0
        self._touched[turn] += len(event.text) - old
        params = {"row": row, "text": event.text, "text_hash": new_hash, "meta": as_json(event.meta)}
        self.tx.run("sessions.change_event", params)
        self.tx.run("sessions.drop_event_bodies", {"row": row})
        self._known[key] = known._replace(text_hash=new_hash)
        self._link_bodies(row, event)
        return "changed"

    def _begin(self, session: str, at: str) -> _Place:
        row, project = ensure_session(self.tx, self.rows, session, at)
        position = self.tx.one("sessions.last_position", {"session": row})
        found = self.tx.run("sessions.last_turn", {"session": row}).fetchone()
        turn, ordinal = found or (None, -1)
        place = _Place(row, project, -1 if position is None else position, turn, ordinal, at, at)
        self._places[session] = place
        return place


def ensure_session(tx: Tx, rows: Rows, session: str, at: str) -> tuple[int, int | None]:
    params = {"owner": rows.owner, "id": session, "flavor": flavor_of(session), "project": rows.project, "at": at}
    tx.run("sessions.add_session", params)
    row, project = tx.row("sessions.session_row", {"owner": rows.owner, "id": session})
    require_project(rows, project, session)
    return row, project


def require_project(rows: Rows, project: int | None, session: str) -> None:
    """ScopeError when a session is of another project than the one that is written to."""
    if not rows.any_project and project not in (None, rows.project):
        raise ScopeError(f"session {session} belongs to another project")


def session_key(session: str) -> bytes:
    """What stays of a forgotten session: a hash of its id."""
    return bytes.fromhex(stable_key("session", session))


def set_facts(tx: Tx, row: int, facts: Session) -> None:
    """What is known about a session now; what is not known leaves what was."""
    models, meta = tx.row("sessions.facts", {"session": row})
    tx.run(
        "sessions.set_facts",
        {
            "session": row,
            "title": facts.title,
            "parent": facts.parent,
            "relation": facts.relation,
            "cwd": facts.cwd,
            "branch": facts.branch,
            "commit": facts.commit,
            "models": json.dumps(sorted({*json.loads(models), *facts.models})),
            "agent_version": facts.agent_version,
            "interactive": None if facts.interactive is None else int(facts.interactive),
            "meta": as_json(_merged(json.loads(meta), facts.meta)),
        },
    )


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """A merge as of RFC 7396: what is new wins, None takes away, objects are merged inside."""
    merged = dict(old)
    for name, value in new.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, Mapping):
            inner = merged.get(name)
            merged[name] = _merged(inner if isinstance(inner, Mapping) else {}, value)
        else:
            merged[name] = value
    return merged


def as_json(value: Mapping[str, Any]) -> str:
    """An object as JSON text; lone surrogates are escaped, so that any text can be held."""
    return json.dumps(value, default=str, separators=(",", ":")) if value else "{}"
