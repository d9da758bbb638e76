"""Feedback, injections and own weights in rows. What is said of a memory is written only while the memory is there.

An owner's weights are read by every recall, so they are kept at hand for a minute; who changes them here sees it at
once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from threading import Lock
from time import monotonic
from typing import Any

from recollect.clock import from_iso, iso
from recollect.errors import InvalidInput, NotFound
from recollect.model import Scope
from recollect.store.ports.use import (
    DIGEST,
    MOST_FEEDBACK,
    MOST_INJECTIONS,
    SHOWN,
    SOURCES,
    VERDICTS,
    Feedback,
    Injection,
    OwnRanking,
    Verdict,
)
from recollect.store.rows.audit import audit
from recollect.store.rows.tx import Database, Rows, Tx

KEPT_SECONDS = 60.0
_MOST_KEPT = 10_000  # owners


class RowUse:
    """How useful every owner's memories proved."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._lock = Lock()
        self._rankings: dict[tuple[str, str], tuple[float, OwnRanking | None]] = {}

    # -- feedback ------------------------------------------------------------------------------------------------------

    def give(self, scope: Scope, feedback: Feedback) -> None:
        _check(feedback)
        with self._db.write(scope) as tx:
            rows = _require(tx, feedback.memory)
            row = {**_row(rows.owner, feedback), "note": feedback.note, "now": iso(tx.terms.clock())}
            if not tx.one("use.give", row):
                return  # somebody whose word counts more said so
            tx.run("use.trim", {"owner": rows.owner, "memory": feedback.memory, "most": MOST_FEEDBACK})
            details = {"verdict": feedback.verdict, "source": feedback.source}
            audit(tx, rows.owner, feedback.at, "feedback", feedback.memory, details)

    def take_back(
        self,
        scope: Scope,
        memory_id: str,
        verdict: str,
        session: str | None = None,
        *,
        at: datetime,
        source: str | None = None,
    ) -> bool:
        with self._db.write(scope) as tx:
            rows = _require(tx, memory_id)
            named = {"owner": rows.owner, "memory": memory_id, "verdict": verdict, "session": session or ""}
            whose = {"anybodys": source is None, "source": source or ""}
            if not tx.one("use.take_back", {**named, **whose}):
                return False
            audit(tx, rows.owner, at, "feedback", memory_id, {"verdict": verdict, "taken": "back"})
        return True

    def feedback(self, scope: Scope, memory_id: str) -> list[Feedback]:
        return self._told(scope, "feedback", {"memory": memory_id})

    def every(self, scope: Scope, *, limit: int, offset: int = 0) -> list[Feedback]:
        return self._told(scope, "every", {"limit": limit, "offset": offset})

    def _told(self, scope: Scope, query: str, params: Mapping[str, object]) -> list[Feedback]:
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return []
            return [_feedback(row) for row in tx.run(f"use.{query}", {**tx.rows.params(), **params})]

    def verdicts(self, scope: Scope, ids: Sequence[str]) -> dict[str, list[Verdict]]:
        found: dict[str, list[Verdict]] = {}
        with self._db.read(scope) as tx:
            if tx.rows is None or not ids or not tx.has("feedback"):
                return {}
            for memory, verdict, at in tx.run("use.verdicts", {**tx.rows.params(), "ids": json.dumps(list(ids))}):
                found.setdefault(memory, []).append(Verdict(verdict, from_iso(at)))
        return found

    def derive(self, scope: Scope, session: str, shown: Sequence[Feedback]) -> None:
        for one in shown:
            _check(one)
        with self._db.write(scope) as tx:
            if tx.rows is None or not tx.one("keeping.session", {**tx.rows.params(), "id": session}):
                return
            owner, of = tx.rows.owner, {"session": session, "source": DIGEST}
            wanted = {(one.memory, one.verdict): iso(one.at) for one in shown if one.session == session}
            there = {
                (memory, verdict): at
                for memory, verdict, at in tx.run("use.derived", {"owner": owner, **of}).fetchall()
            }
            for (memory, verdict), at in there.items():
                if wanted.get((memory, verdict)) != at:
                    tx.run("use.drop_derived", {"owner": owner, "memory": memory, "verdict": verdict, **of})
            for (memory, verdict), at in wanted.items():
                if there.get((memory, verdict)) != at and _is_there(tx, memory):
                    tx.run("use.derive", {"owner": owner, "memory": memory, "verdict": verdict, "at": at, **of})
                    tx.run("use.trim", {"owner": owner, "memory": memory, "most": MOST_FEEDBACK})

    # -- injections ----------------------------------------------------------------------------------------------------

    def laid(self, scope: Scope, blocks: Mapping[str, Sequence[str]], *, at: datetime, before: datetime) -> None:
        with self._db.write(scope) as tx:
            owner = tx.ensure().owner
            tx.run("use.drop_blocks", {"owner": owner, "before": iso(before)})
            for block, ids in blocks.items():
                tx.run("use.put_block", {"owner": owner, "block": block, "ids": json.dumps(list(ids)), "at": iso(at)})

    def names(self, scope: Scope, blocks: Sequence[str]) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return {}
            for block in dict.fromkeys(blocks):
                row = tx.run("use.block", {"owner": tx.rows.owner, "block": block}).fetchone()
                ids = tuple(json.loads(row[0])) if row else ()
                if kept := [id_ for id_ in ids if _is_there(tx, id_)]:
                    found[block] = tuple(kept)
        return found

    def ids(self, scope: Scope) -> list[str]:
        with self._db.read(scope) as tx:
            return [] if tx.rows is None else [id_ for (id_,) in tx.run("use.ids", tx.rows.params())]

    def inject(self, scope: Scope, injections: Sequence[Injection], *, before: datetime) -> int:
        new = 0
        with self._db.write(scope) as tx:
            if tx.rows is None:
                return 0
            rows = tx.rows
            tx.run("use.drop_injections", {"owner": rows.owner, "before": iso(before)})
            here: dict[str, bool] = {}
            for one in injections:
                if one.event not in SHOWN:
                    raise InvalidInput(f"a memory is not shown at {one.event[:40]!r}")
                if one.session not in here:
                    here[one.session] = bool(tx.one("keeping.session", {**rows.params(), "id": one.session}))
                if here[one.session] and one.at >= before and _is_there(tx, one.memory):
                    new += bool(tx.one("use.inject", {"owner": rows.owner, **_columns(one)}))
        return new

    def injections(
        self, scope: Scope, *, memory: str | None = None, session: str | None = None, limit: int = MOST_INJECTIONS
    ) -> list[Injection]:
        if memory is not None and session is not None:
            both = self.injections(scope, memory=memory, limit=2**31)
            return [one for one in both if one.session == session][:limit]
        query = "injections_of" if memory is not None else "injections_in" if session is not None else "injections"
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return []
            params = {**tx.rows.params(), "memory": memory, "session": session, "limit": limit}
            return [
                Injection(id_, of, from_iso(at), host, event, block)
                for id_, of, at, host, event, block in tx.run(f"use.{query}", params)
            ]

    # -- weights -------------------------------------------------------------------------------------------------------

    def ranking(self, scope: Scope) -> OwnRanking | None:
        whose = (scope.tenant, scope.user)
        known = self._rankings.get(whose)
        if known is not None and monotonic() - known[0] < KEPT_SECONDS:
            return known[1]
        with self._db.read(scope) as tx:
            row = None if tx.rows is None else tx.run("use.ranking", {"owner": tx.rows.owner}).fetchone()
        found = None if row is None else _ranking(*row)
        self._keep(whose, found)
        return found

    def put_ranking(self, scope: Scope, ranking: OwnRanking | None, *, at: datetime) -> bool:
        with self._db.write(scope) as tx:
            if ranking is None:
                gone = tx.rows is not None and bool(tx.one("use.drop_ranking", {"owner": tx.rows.owner}))
                if gone and tx.rows is not None:
                    audit(tx, tx.rows.owner, at, "ranking", "weights", {"change": "reset"})
            else:
                owner, gone = tx.ensure().owner, True
                content = json.dumps({"weights": dict(ranking.weights), "figures": dict(ranking.figures)})
                tx.run("use.put_ranking", {"owner": owner, "content": content, "at": iso(ranking.at)})
                audit(tx, owner, at, "ranking", "weights", {"change": "fit"})
        self._keep((scope.tenant, scope.user), ranking)
        return gone

    def let_go(self, scope: Scope | None = None) -> None:
        """Read the owner's weights, or everybody's, again when they are asked for."""
        with self._lock:
            if scope is None:
                self._rankings.clear()
            else:
                self._rankings.pop((scope.tenant, scope.user), None)

    def _keep(self, whose: tuple[str, str], ranking: OwnRanking | None) -> None:
        with self._lock:
            while len(self._rankings) >= _MOST_KEPT:
                self._rankings.pop(next(iter(self._rankings)))
            self._rankings[whose] = (monotonic(), ranking)


def forget_use_of(tx: Tx, owner: int, memory_id: str) -> None:
    """Take away what was said of a memory, and where it was shown."""
    for query in ("forget_memory", "forget_shown"):
        tx.run(f"use.{query}", {"owner": owner, "id": memory_id})


def forget_use_in(tx: Tx, owner: int, session: str) -> None:
    """The same of all that was said and shown in a session."""
    for query in ("forget_session", "forget_shown_in"):
        tx.run(f"use.{query}", {"owner": owner, "id": session})


def forget_weights(tx: Tx, owner: int) -> None:
    """Take away an owner's own weights, and which memories stood in which text."""
    tx.run("use.drop_ranking", {"owner": owner}).fetchall()
    tx.run("use.forget_blocks", {"owner": owner})


def _check(feedback: Feedback) -> None:
    if feedback.verdict not in VERDICTS:
        raise InvalidInput(f"unknown verdict {feedback.verdict[:40]!r}", hint="Verdicts: " + ", ".join(VERDICTS))
    if feedback.source not in SOURCES:
        raise InvalidInput(f"feedback is never from {feedback.source[:40]!r}")


def _require(tx: Tx, memory_id: str) -> Rows:
    if tx.rows is None or not _is_there(tx, memory_id):
        raise NotFound(f"no memory {memory_id[:60]}", hint="`recollect list` shows ids.")
    return tx.rows


def _is_there(tx: Tx, memory_id: str) -> bool:
    assert tx.rows is not None
    return bool(tx.one("keeping.memory", {**tx.rows.params(), "id": memory_id}))


def _row(owner: int, feedback: Feedback) -> dict[str, object]:
    return {
        "owner": owner,
        "memory": feedback.memory,
        "verdict": feedback.verdict,
        "session": feedback.session or "",
        "source": feedback.source,
        "at": iso(feedback.at),
    }


def _columns(one: Injection) -> dict[str, object]:
    names = ("session", "memory", "host", "event", "block")
    return {**{name: getattr(one, name) for name in names}, "at": iso(one.at)}


def _feedback(row: Sequence[Any]) -> Feedback:
    memory, verdict, at, session, source, note = row
    return Feedback(memory, verdict, from_iso(at), session or None, source, note)


def _ranking(content: str, at: str) -> OwnRanking:
    told = json.loads(content)
    return OwnRanking({name: float(value) for name, value in told["weights"].items()}, from_iso(at), told["figures"])
