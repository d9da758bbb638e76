"""The audit: what was done to what, by whom, in the transaction that did it; never content. Only ever added to.

Every owner has a chain of their own: a row's hash is made, with a key that is not in the database, of the row and of
the hash before it. So a row that is changed, taken out, put in or moved shows; what was cut off at the end, or written
anew by who has the key, is seen by the anchor. A chain an owner, not one for all, because writers of one owner take
turns anyway and those of different owners never have to wait for each other, and because nobody needs to see another's
rows to follow their own.
"""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from recollect.clock import from_iso, iso
from recollect.errors import ScopeError
from recollect.model import KEEPER, Scope
from recollect.store import anchor as anchors
from recollect.store.anchor import Anchors, Point
from recollect.store.ports.audit import Chain, Entry, Verdict
from recollect.store.rows.tx import Database, Tx
from recollect.store.signing import Signer
from recollect.store.terms import Terms

DONE = "done"
UPKEEP = "upkeep"  # who acts when nobody does: the store looks after itself
_PAGE = 5_000


class Note(NamedTuple):
    """One thing that was done, before it is a row."""

    at: datetime
    action: str
    subject: str
    details: Mapping[str, object]


class _Head(NamedTuple):
    """Where an owner's chain stands, and whose it is."""

    tenant: str
    user: str
    number: int
    hash: bytes


class _Row(NamedTuple):
    """A row of a chain, as the queries give it."""

    number: int
    at: str
    action: str
    subject: str
    details: str
    actor: str
    key_id: str | None
    result: str
    duration_ms: int
    signed_by: str
    prev: bytes
    hash: bytes

    def told(self, tenant: str, user: str) -> bytes:
        """All that is signed of it, in one form: nothing that differs between stores."""
        return json.dumps([tenant, user, *self[:10]], separators=(",", ":")).encode()


def audit(
    tx: Tx,
    owner: int,
    at: datetime,
    action: str,
    subject: str,
    details: Mapping[str, object],
    *,
    actor: str | None = None,
) -> None:
    """Note what was done to what, in the transaction that does it. Never content."""
    audit_many(tx, owner, [Note(at, action, subject, details)], actor=actor)


def audit_many(
    tx: Tx,
    owner: int,
    notes: Sequence[Note],
    *,
    actor: str | None = None,
    result: str = DONE,
    duration_ms: int | None = None,
) -> None:
    """Note several things, in their order."""
    if not notes:
        return
    scope, signer = tx.scope, tx.terms.signer
    signed_by, key = signer.name, signer.keys[signer.name]
    head = tx.heads.get(owner) if tx.heads is not None else None
    head = head or _head(tx, owner, signer)
    by = actor or (UPKEEP if scope is None else _actor(scope))
    took = round((time.perf_counter() - tx.began) * 1000) if duration_ms is None else duration_ms
    rows = []
    for note in notes:
        row = _Row(
            head.number + 1,
            iso(note.at),
            note.action,
            note.subject,
            json.dumps(dict(note.details)),
            by,
            scope.key if scope else None,
            result,
            took,
            signed_by,
            head.hash,
            b"",
        )
        signed = hmac.digest(key, row.prev + row.told(head.tenant, head.user), "sha256")
        head = _Head(head.tenant, head.user, row.number, signed)
        rows.append({**row._asdict(), "owner": owner, "hash": signed})
    tx.put_notes(rows)
    if tx.heads is not None:
        tx.heads[owner] = head


def _actor(scope: Scope) -> str:
    if scope.by is None:
        return scope.user
    return UPKEEP if scope.by == KEEPER else "/".join(scope.by)


def _head(tx: Tx, owner: int, signer: Signer) -> _Head:
    """The last row of the chain; before the first, a signature over what was noted before there was a chain."""
    tenant, user, number, last = tx.row("audit.head", {"owner": owner})
    if number is not None:
        return _Head(tenant, user, number, last)
    before = tx.run("audit.before", {"owner": owner})
    return _Head(tenant, user, 0, _genesis(signer.keys[signer.name], tenant, user, before))


def _genesis(key: bytes, tenant: str, user: str, before: Any) -> bytes:
    told = hmac.new(key, json.dumps(["audit", tenant, user]).encode(), "sha256")
    for row in before:
        told.update(json.dumps(list(row)).encode())
    return told.digest()


class RowAudit:
    """Reading the audit, and telling whether it is whole."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def note(
        self,
        scope: Scope,
        action: str,
        subject: str,
        *,
        at: datetime,
        result: str = DONE,
        duration_ms: int = 0,
        details: Mapping[str, object] | None = None,
    ) -> None:
        """Note what no other write does: a read, or what was refused or failed."""
        with self._db.write(scope) as tx:
            one = Note(at, action, subject, details or {})
            audit_many(tx, tx.ensure().owner, [one], result=result, duration_ms=duration_ms)

    def find(
        self,
        scope: Scope,
        *,
        limit: int,
        offset: int = 0,
        action: str | None = None,
        subject: str | None = None,
        look: int | None = None,
    ) -> list[Entry]:
        """What was noted, the newest first; with `look`, among the last so many alone."""
        with self._db.read(scope) as tx:
            if scope.project is not None:
                raise ScopeError("the audit is an owner's, not a project's")
            rows = tx.rows
            if rows is None:
                return []
            narrowed = {"action": action, "subject": subject, "limit": limit, "offset": offset}
            query, last = ("audit.find", {}) if look is None else ("audit.lately", {"look": look})
            return [_entry(row) for row in tx.run(query, {"owner": rows.owner, **narrowed, **last})]

    def verify(self, scope: Scope | None = None, *, anchor: Path | None = None) -> Verdict:
        """Every owner's chain, or one owner's: how long it is, and the first thing wrong with it.

        `anchor` is a copy of the anchor from elsewhere; without one, the store's own is used.
        """
        terms = self._terms()
        held = anchors.read(anchor or terms.anchor, terms.signer, must_exist=anchor is not None)
        chains = [self._chain(one, held, terms.signer) for one in self._owners(held, scope)]
        return Verdict(tuple(chains), held.faults)

    def anchor(self, *, at: datetime, file: Path | None = None) -> int:
        """Write down how far every chain has come since the last time; returns how many had grown."""
        terms = self._terms()
        target = file or terms.anchor
        held = anchors.read(target, terms.signer).points
        points = []
        for scope in self._owners(Anchors({})):
            head = self._last(scope)
            if head is not None and head.number not in held.get((head.tenant, head.user), {}):
                points.append(Point(head.tenant, head.user, head.number, head.hash.hex(), iso(at)))
        anchors.append(target, points, terms.signer)
        return len(points)

    def _terms(self) -> Terms:
        with self._db.read(None) as tx:
            return tx.terms

    def _owners(self, held: Anchors, scope: Scope | None = None) -> list[Scope]:
        """Whose chains there are or were."""
        if scope is not None:
            return [scope.within(None)]
        with self._db.read(None) as tx:
            there = [(tenant, user) for tenant, user in tx.run("audit.owners")]
        return [Scope.of_owner(*owner) for owner in [*there, *sorted(set(held.points) - set(there))]]

    def _last(self, scope: Scope) -> _Head | None:
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return None
            tenant, user, number, last = tx.row("audit.head", {"owner": tx.rows.owner})
            return None if number is None else _Head(tenant, user, number, last)

    def _chain(self, scope: Scope, held: Anchors, signer: Signer) -> Chain:
        points = held.points.get((scope.tenant, scope.user), {})
        with self._db.snapshot(scope) as tx:
            owner = tx.rows.owner if tx.rows else None
            before = [] if owner is None else list(tx.run("audit.before", {"owner": owner}))
            walked = _Walk(scope.tenant, scope.user, signer, points)
            fault = None if owner is None else walked.run(_pages(tx, owner), before)
        last = max(points, default=0)
        if fault is None and last > walked.number:
            gone = f"row {last} is" if last == walked.number + 1 else f"rows {walked.number + 1:,} to {last:,} are"
            fault = f"{gone} missing at the end: the anchor of {points[last].at} has them"
        return Chain(scope.tenant, scope.user, walked.number, len(before), last, fault)


class _Walk:
    """One chain, followed from its first row; ends at the first that is wrong."""

    def __init__(self, tenant: str, user: str, signer: Signer, points: Mapping[int, Point]) -> None:
        self._whose = (tenant, user)
        self._signer = signer
        self._points = points
        self.number = 0
        self._hash: bytes | None = None

    def run(self, rows: Iterator[_Row], before: Sequence[Any]) -> str | None:
        """What is wrong first, in words; None when all is well."""
        for row in rows:
            fault = self._fault(row, before)
            if fault is not None:
                return fault
            self.number, self._hash = row.number, bytes(row.hash)
        return None

    def _fault(self, row: _Row, before: Sequence[Any]) -> str | None:
        expected = self.number + 1
        if row.number != expected:
            return f"row {expected:,} is missing" if row.number > expected else f"row {row.number:,} was put in"
        key = self._signer.keys.get(row.signed_by)
        if key is None:
            return f"row {expected:,} is signed with the key {row.signed_by[:20]}, which is not here"
        prev = _genesis(key, *self._whose, before) if self._hash is None else self._hash
        if not hmac.compare_digest(bytes(row.prev), prev):
            first = "what was noted before the chain began was changed"
            return first if self._hash is None else f"row {expected:,} does not follow the one before it"
        if not hmac.compare_digest(hmac.digest(key, prev + row.told(*self._whose), "sha256"), bytes(row.hash)):
            return f"row {expected:,} was changed"
        point = self._points.get(expected)
        if point is not None and point.hash != bytes(row.hash).hex():
            return f"row {expected:,} is not the one that was anchored at {point.at}"
        return None


def _pages(tx: Tx, owner: int) -> Iterator[_Row]:
    """Every row of a chain, in order, and not all of them in memory at once."""
    after = {"number": -(2**62), "row": 0}
    while True:
        page = tx.run("audit.page", {"owner": owner, **after, "limit": _PAGE}).fetchall()
        for row in page:
            yield _Row(*row[:-1])
        if len(page) < _PAGE:
            return
        after = {"number": page[-1][0], "row": page[-1][-1]}


def _entry(row: Sequence[Any]) -> Entry:
    number, at, action, subject, details, actor, key_id, result, duration, session = row
    return Entry(number, from_iso(at), action, subject, json.loads(details), actor, key_id, result, duration, session)
