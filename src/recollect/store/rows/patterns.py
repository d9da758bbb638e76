"""Patterns in rows: what is looked for has a column, everything else is one JSON text.

Whoever changes a pattern says which version they saw, so that nobody's decision is lost. Evidence is written only for
sessions that are there, in the transaction that looks: one that was just forgotten leaves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from datetime import datetime
from typing import Any

from recollect.clock import from_iso, iso
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.model import Scope
from recollect.store.ports.learn import (
    LEAST_USERS,
    MOST_SIGHTINGS,
    PATTERN_STATES,
    ROLLOUT_STATES,
    CommonPattern,
    Pattern,
    PatternVersion,
    Rollout,
    Sighting,
)
from recollect.store.rows.tx import Database, Rows, Tx

_FORGOTTEN = "(its words were forgotten)"
_TIMES = ("first_seen", "last_seen", "decided_at")
_LISTS = ("flavors", "projects", "aliases", "decided_flavors", "events", "made", "held_back")
_COLUMNS = {  # what stands in columns of its own
    Pattern: ("id", "state", "version"),
    PatternVersion: ("version", "at"),
    Sighting: ("session", "at"),
    Rollout: ("id", "pattern", "state", "begun_at", "ended_at"),
}


class RowPatterns:
    """The catalogue of every owner."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def get(self, scope: Scope, pattern_id: str) -> Pattern | None:
        with self._db.read(scope) as tx:
            return _found(tx, pattern_id)

    def find(self, scope: Scope, *, state: str | None = None, limit: int, offset: int = 0) -> list[Pattern]:
        if state is not None and state not in PATTERN_STATES:
            raise InvalidInput(f"patterns are never {state[:40]!r}", hint="States: " + ", ".join(PATTERN_STATES))
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return []
            params = {**_seen(tx, tx.rows), "state": state, "limit": limit, "offset": offset}
            return [_pattern(row) for row in tx.run("patterns.find", params)]

    def put(
        self,
        scope: Scope,
        pattern: Pattern,
        *,
        at: datetime,
        was: int | None,
        told: Sequence[PatternVersion] = (),
        evidence: Sequence[Sighting] | None = None,
    ) -> Pattern:
        with self._db.write(scope) as tx:
            owner = tx.ensure().owner
            if was is not None and _found(tx, pattern.id) is None:
                raise NotFound(f"no pattern {pattern.id[:60]}")
            if tx.one("patterns.version", {"owner": owner, "id": pattern.id}) != was:
                raise Conflict(
                    f"pattern {pattern.id} was changed in the meantime", hint="Look at it again, then decide."
                )
            home = _home(pattern)
            if scope.project is not None and home not in (None, scope.project):
                raise InvalidInput("the sessions of this pattern are not all in this project")
            kept = {"owner": owner, "id": pattern.id, "state": pattern.state, "version": pattern.version, "home": home}
            tx.run("patterns.put", {**kept, "content": _content(pattern), "at": iso(at)})
            for one in told:
                version = {"owner": owner, "pattern": pattern.id, "version": one.version, "at": iso(one.at)}
                tx.run("patterns.put_version", {**version, "content": _content(one)})
            if evidence is not None:
                _put_evidence(tx, tx.ensure(), pattern.id, evidence)
        return pattern

    def versions(self, scope: Scope, pattern_id: str) -> list[PatternVersion]:
        with self._db.read(scope) as tx:
            if _found(tx, pattern_id) is None or tx.rows is None:
                return []
            rows = tx.run("patterns.versions", {"owner": tx.rows.owner, "pattern": pattern_id}).fetchall()
        return [_version(row) for row in rows]

    def evidence(self, scope: Scope, pattern_id: str, *, limit: int = MOST_SIGHTINGS) -> list[Sighting]:
        with self._db.read(scope) as tx:
            if _found(tx, pattern_id) is None or tx.rows is None:
                return []
            params = {"owner": tx.rows.owner, "pattern": pattern_id, "limit": limit}
            rows = tx.run("patterns.evidence", params).fetchall()
        return [_sighting(row) for row in rows]

    def drop(self, scope: Scope, pattern_id: str) -> bool:
        with self._db.write(scope) as tx:
            if _found(tx, pattern_id) is None or tx.rows is None:
                return False
            _drop(tx, tx.rows.owner, pattern_id)
            return True

    def put_rollout(self, scope: Scope, rollout: Rollout) -> None:
        if rollout.state not in ROLLOUT_STATES:
            raise InvalidInput(f"a roll-out is never {rollout.state[:40]!r}")
        with self._db.write(scope) as tx:
            if _found(tx, rollout.pattern) is None or tx.rows is None:
                raise NotFound(f"no pattern {rollout.pattern[:60]}")
            times = {"begun_at": iso(rollout.begun_at), "ended_at": rollout.ended_at and iso(rollout.ended_at)}
            named = {"owner": tx.rows.owner, "id": rollout.id, "pattern": rollout.pattern, "state": rollout.state}
            tx.run("patterns.put_rollout", {**named, **times, "content": _content(rollout)})

    def rollouts(self, scope: Scope, pattern_id: str | None = None) -> list[Rollout]:
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return []
            rows = tx.run("patterns.rollouts", {**_seen(tx, tx.rows), "pattern": pattern_id}).fetchall()
        return [
            Rollout(
                **_values(Rollout, content),
                id=id_,
                pattern=pattern,
                state=state,
                begun_at=from_iso(begun),
                ended_at=ended and from_iso(ended),
            )
            for id_, pattern, state, content, begun, ended in rows
        ]

    def share(self, scope: Scope, on: bool, *, at: datetime) -> bool:
        with self._db.read(scope) as tx:
            shares = tx.rows is not None and tx.one("patterns.shares", {"owner": tx.rows.owner}) is not None
        if shares == on:
            return False
        with self._db.write(scope) as tx:
            owner = tx.ensure().owner
            tx.run("patterns.share" if on else "patterns.unshare", {"owner": owner, **({"at": iso(at)} if on else {})})
        return True

    def common(self, scope: Scope, k: int) -> list[CommonPattern]:
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return []
            params = {"owner": tx.rows.owner, "tenant": scope.tenant, "k": max(k, LEAST_USERS)}
            found = tx.run("patterns.common", params).fetchall()
        return [CommonPattern(*row) for row in found]


def forget_evidence(tx: Tx, owner: int, session: str) -> int:
    """Take away what a session shows; returns how many patterns went with it."""
    gone = 0
    shown = tx.run("patterns.shown_by", {"owner": owner, "session": session}).fetchall()
    tx.run("patterns.forget_session", {"owner": owner, "session": session})
    for pattern, state, version, others in shown:
        if is_lost(state, version, others=bool(others)):
            _drop(tx, owner, pattern)
            gone += 1
        else:
            _reword(tx, owner, pattern)
    return gone


def is_lost(state: str, version: int, *, others: bool) -> bool:
    """Whether a pattern goes with a session that shows it.

    What nobody decided on and nobody worded may hold the session's words: it goes, and is found again if others show
    it. Of what a person decided on, only what was approved stays when nothing shows it any more.
    """
    return (state == "candidate" and version == 1) or (state != "approved" and not others)


def reworded(
    pattern: Pattern, versions: Sequence[PatternVersion], evidence: Sequence[Sighting]
) -> tuple[Pattern, list[PatternVersion]]:
    """A pattern and its versions without words that may be of a session that was forgotten.

    What was approved is the reviewer's, and so is what a person worded; all else is said as a session shows it that is
    still there (`evidence`, the newest first).
    """
    if pattern.state == "approved":
        return pattern, list(versions)
    found = {text for one in versions if one.actor is None for text in (one.statement, one.rule)}
    if not pattern.edited:
        found |= {pattern.statement, pattern.rule, *(text for one in versions for text in (one.statement, one.rule))}
    shown = next((one.statement for one in evidence if one.statement), _FORGOTTEN)

    def said(one: Pattern | PatternVersion) -> dict[str, Any]:
        return {
            "statement": shown if one.statement in found else one.statement,
            "rule": None if one.rule in found else one.rule,
        }

    return replace(pattern, key=pattern.id, **said(pattern)), [replace(one, **said(one)) for one in versions]


def _reword(tx: Tx, owner: int, pattern_id: str) -> None:
    whole = {"owner": owner, "any_project": True, "home": None}
    pattern = _pattern(tx.run("patterns.get", {**whole, "id": pattern_id}).fetchone())
    named = {"owner": owner, "pattern": pattern_id}
    rows = tx.run("patterns.versions", named).fetchall()
    shown = tx.run("patterns.evidence", {**named, "limit": MOST_SIGHTINGS}).fetchall()
    new, versions = reworded(pattern, [_version(row) for row in rows], [_sighting(row) for row in shown])
    if new is pattern:
        return
    tx.run("patterns.reword", {"owner": owner, "id": pattern_id, "content": _content(new)})
    for one in versions:
        tx.run("patterns.reword_version", {**named, "version": one.version, "content": _content(one)})


def forget_patterns(tx: Tx, rows: Rows) -> int:
    """Take away every pattern of the owner, or those of a project alone; returns how many."""
    home = tx.scope.project if tx.scope else None
    found = tx.run("patterns.of_scope", {"owner": rows.owner, "any_project": rows.any_project, "home": home}).fetchall()
    for (pattern,) in found:
        _drop(tx, rows.owner, pattern)
    if rows.any_project:
        tx.run("patterns.unshare", {"owner": rows.owner})
    return len(found)


def _drop(tx: Tx, owner: int, pattern: str) -> None:
    tx.run("patterns.drop_evidence", {"owner": owner, "pattern": pattern})
    for query in ("drop_versions", "drop_rollouts", "drop"):
        tx.run(f"patterns.{query}", {"owner": owner, "id": pattern})


def _home(pattern: Pattern) -> str | None:
    """The project all of its sessions are in; nothing when they are in several, None when they are in none."""
    return (pattern.projects[0] if len(pattern.projects) == 1 else "") if pattern.projects else None


def _put_evidence(tx: Tx, rows: Rows, pattern: str, evidence: Sequence[Sighting]) -> None:
    tx.run("patterns.drop_evidence", {"owner": rows.owner, "pattern": pattern})
    newest = sorted(evidence, key=lambda one: (one.at, one.session), reverse=True)[:MOST_SIGHTINGS]
    for one in newest:
        if tx.one("keeping.session", {**rows.params(), "id": one.session}):
            row = {"owner": rows.owner, "pattern": pattern, "session": one.session, "at": iso(one.at)}
            tx.run("patterns.put_evidence", {**row, "content": _content(one)})


def _seen(tx: Tx, rows: Rows) -> dict[str, object]:
    return {"owner": rows.owner, "any_project": rows.any_project, "home": tx.scope.project if tx.scope else None}


def _found(tx: Tx, pattern_id: str) -> Pattern | None:
    if tx.rows is None:
        return None
    row = tx.run("patterns.get", {**_seen(tx, tx.rows), "id": pattern_id}).fetchone()
    return None if row is None else _pattern(row)


def _pattern(row: Sequence[Any]) -> Pattern:
    id_, state, version, content = row
    return Pattern(**_values(Pattern, content), id=id_, state=state, version=version)


def _version(row: Sequence[Any]) -> PatternVersion:
    version, content, at = row
    return PatternVersion(**_values(PatternVersion, content), version=version, at=from_iso(at))


def _sighting(row: Sequence[Any]) -> Sighting:
    session, content, at = row
    return Sighting(**_values(Sighting, content), session=session, at=from_iso(at))


def _content(value: Pattern | PatternVersion | Sighting | Rollout) -> str:
    """What has no column of its own, as JSON."""
    given = {name: one for name, one in asdict(value).items() if name not in _COLUMNS[type(value)]}
    return json.dumps(
        {name: iso(one) if isinstance(one, datetime) else one for name, one in given.items()}, separators=(",", ":")
    )


def _values(kind: type[Any], content: str) -> dict[str, Any]:
    """The same back; what a later version wrote and this one does not know is left out."""
    told: Mapping[str, Any] = json.loads(content)
    known = {one.name for one in fields(kind)} - set(_COLUMNS[kind])
    return {name: _value(name, one) for name, one in told.items() if name in known}


def _value(name: str, value: Any) -> Any:
    if name in _TIMES:
        return value and from_iso(value)
    return tuple(value) if name in _LISTS else value
