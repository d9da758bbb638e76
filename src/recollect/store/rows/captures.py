"""What was read of agents' files: events and costs into the rows, each once, and the record of what every file held."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from recollect.clock import from_iso, iso
from recollect.errors import ScopeError
from recollect.model import DELEGATED, Cost, Event, Scope, Session
from recollect.store.ports.capture import Covered, Ingested, Seen
from recollect.store.rows.appending import Appending, Fate, as_json, session_key, set_facts
from recollect.store.rows.bodies import RowBodies
from recollect.store.rows.quotas import take
from recollect.store.rows.tasks import put_work_of
from recollect.store.rows.tx import Database, Rows, Tx, ensure_project

_KEY_BYTES = 16


class RowCaptures:
    """Captured sessions in SQLite."""

    def __init__(self, database: Database, bodies: RowBodies) -> None:
        self._db = database
        self._bodies = bodies

    def ingest(
        self,
        scope: Scope,
        about: Session,
        events: Sequence[Event],
        costs: Sequence[Cost] = (),
        *,
        transcript: Seen | None = None,
        changes: bool = True,
    ) -> Ingested:
        """Everything in one transaction. The session's project is the one given when it has none yet.

        Without `changes`, an event that is known stays as it is. With a transcript, what was read of it is written down
        in the same transaction: either both are there or none.
        """
        with self._db.write(scope) as tx:
            rows = tx.ensure()
            if _is_forgotten(tx, rows.owner, about):
                if transcript is not None:
                    _note(tx, rows.owner, replace(transcript, state="withheld", withheld=transcript.turns))
                return Ingested(forgotten=len(events))
            file = _transcript_row(tx, rows.owner, transcript)
            appending = Appending(tx, rows, events, changes=changes, transcript=file)
            fates = Counter(self._add(appending, event) for event in events)
            appending.finish()
            grew = bool(fates["added"] or fates["changed"])
            put_work_of(tx, rows.owner, {event.session for event in events} if grew else ())
            take(tx, rows.owner, ingests=grew)
            row = _session_row(tx, rows, about)
            if row is not None:
                _set_project(tx, rows.owner, row, about.project)
                set_facts(tx, row, about)
                paid = sum(_add_cost(tx, rows.owner, row, cost) for cost in costs)
                if paid or fates["changed"]:  # its digest knows the last event, and is out of date all the same
                    tx.run("capture.digest_again", {"session": row})
                    tx.run("signals.drop", {"session": row})
            if transcript is not None and transcript.state != "reading":
                _note(tx, rows.owner, transcript)
        return Ingested(fates["added"], fates["changed"], fates["known"], fates["forgotten"])

    def _add(self, appending: Appending, event: Event) -> Fate:
        """One event and its bodies: those of a known one stay as they are, evicted or not."""
        fate = appending.add(event)
        for body in event.bodies:
            if fate in ("added", "changed"):
                self._bodies.keep(appending.tx, appending.rows.owner, body)
            elif fate == "known" and not self._bodies.knows(appending.tx, appending.rows.owner, body):
                self._bodies.keep(appending.tx, appending.rows.owner, body)  # the event came by an import
                appending.link(event)
            elif fate == "known":
                self._bodies.mend(appending.tx, appending.rows.owner, body)
        return fate

    def seen(self, scope: Scope, name: str) -> Seen | None:
        _owner_wide(scope)
        with self._db.read(scope) as tx:
            rows = tx.rows
            found = rows and tx.run("capture.seen", {"owner": rows.owner, "name": name}).fetchone()
            return read_seen(found) if found else None

    def note(self, scope: Scope, seen: Seen) -> None:
        """Write down what was read of a transcript."""
        _owner_wide(scope)
        with self._db.write(scope) as tx:
            _note(tx, tx.ensure().owner, seen)

    def coverage(self, scope: Scope) -> list[Covered]:
        """Every transcript that was read, held against the events that are there now."""
        _owner_wide(scope)
        with self._db.snapshot(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            known = [read_seen(row) for row in tx.run("capture.all_seen", {"owner": rows.owner})]
            return [_covered(tx, rows.owner, seen) for seen in known]

    def costs(self, scope: Scope, session: str) -> list[Cost]:
        with self._db.read(scope) as tx:
            rows = tx.rows
            row = rows and tx.one("capture.session_row", {**rows.params(), "id": session})
            if not row:
                return []
            return [
                Cost(key.hex(), session, from_iso(at), *rest)
                for key, at, *rest in tx.run("capture.costs", {"session": row})
            ]

    def injected(self, scope: Scope, hashes: Sequence[str], *, at: datetime) -> None:
        """Remember blocks that were put before an agent, by the hash of their folded text."""
        with self._db.write(scope) as tx:
            owner = tx.ensure().owner
            for text_hash in hashes:
                params = {"owner": owner, "hash": bytes.fromhex(text_hash), "at": iso(at)}
                tx.run("capture.add_injected", params)

    def was_injected(self, scope: Scope, text_hash: str) -> bool:
        with self._db.read(scope) as tx:
            rows = tx.rows
            params = {"owner": rows.owner if rows else 0, "hash": bytes.fromhex(text_hash)}
            return tx.run("capture.was_injected", params).fetchone() is not None


def _owner_wide(scope: Scope) -> None:
    if scope.project is not None:
        raise ScopeError("agents' files are an owner's, not a project's")


def _is_forgotten(tx: Tx, owner: int, session: Session) -> bool:
    """Whether the session, or the one it worked for, was forgotten: asked in the transaction that would add to it."""
    family = [session.id]
    if session.parent and session.relation in DELEGATED:
        family.append(session.parent)
    keys = [{"owner": owner, "key": session_key(name)} for name in family]
    return any(tx.run("capture.is_buried", key).fetchone() for key in keys)


def _transcript_row(tx: Tx, owner: int, seen: Seen | None) -> int | None:
    if seen is None:
        return None
    params = {"owner": owner, "name": seen.name, "flavor": seen.flavor, "session": seen.session, "way": seen.way}
    return int(tx.row("capture.add_transcript", {**params, "read_at": iso(seen.read_at)})[0])


def _session_row(tx: Tx, rows: Rows, session: Session) -> int | None:
    """The session's row; a session of which nothing was kept is not made."""
    return tx.one("capture.session_row", {**rows.params(), "id": session.id})


def _set_project(tx: Tx, owner: int, row: int, name: str | None) -> None:
    if name is None:
        return
    project = ensure_project(tx, owner, name)
    if tx.run("sessions.set_project", {"session": row, "project": project}).fetchone():
        tx.run("sessions.set_turn_projects", {"session": row, "project": project})


def _add_cost(tx: Tx, owner: int, row: int, cost: Cost) -> int:
    """Keep a cost; returns 1 if it is new or larger than the one there was."""
    params = {name: getattr(cost, name) for name in _COST_FIELDS}
    params |= {"owner": owner, "key": bytes.fromhex(cost.key), "session": row, "at": iso(cost.at)}
    return 1 if tx.run("capture.add_cost", params).fetchone() else 0


_COST_FIELDS = (
    *("model", "input", "cache_read", "cache_write_5m", "cache_write_1h", "output", "reasoning", "usd", "usd_source"),
)


def _note(tx: Tx, owner: int, seen: Seen) -> None:
    tx.run(
        "capture.note",
        {
            "owner": owner,
            "name": seen.name,
            "flavor": seen.flavor,
            "session": seen.session,
            "state": seen.state,
            "error": seen.error,
            "fingerprint": seen.fingerprint,
            "complete_to": seen.complete_to,
            "turns": bytes.fromhex("".join(seen.turns)),
            "withheld": bytes.fromhex("".join(seen.withheld)),
            "counts": as_json(dict(seen.counts)),
            "way": seen.way,
            "read_at": iso(seen.read_at),
        },
    )


def read_seen(row: tuple[Any, ...]) -> Seen:
    """What was read of a transcript, from its columns."""
    name, flavor, session, state, read_at, way, error, fingerprint, complete_to, turns, withheld, counts, _ = row
    return Seen(
        *(name, flavor, session, state, from_iso(read_at), way, error, fingerprint, complete_to),
        _keys(turns),
        _keys(withheld),
        json.loads(counts),
    )


def _keys(packed: bytes) -> tuple[str, ...]:
    return tuple(packed[at : at + _KEY_BYTES].hex() for at in range(0, len(packed), _KEY_BYTES))


def _covered(tx: Tx, owner: int, seen: Seen) -> Covered:
    ways: dict[str, str] = {}
    missing, forgotten, withheld = [], 0, set(seen.withheld)
    for key in seen.turns:
        params = {"owner": owner, "key": bytes.fromhex(key)}
        way = tx.run("capture.way_of", params).fetchone()
        if way is not None:
            ways[key] = way[0]
        elif tx.run("capture.is_buried", params).fetchone():
            forgotten += 1
        elif key not in withheld:
            missing.append(key)
    return Covered(seen, len(ways), forgotten, tuple(missing), ways)
