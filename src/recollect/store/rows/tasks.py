"""The queue in rows: a task is found among all owners', but claimed, ended and dropped in its own owner's name.

A claim is one UPDATE that only holds while the task is still due, so of many workers one gets it. Whoever ends a task
must name the claim they hold: one that was given to somebody else in the meantime is not theirs to end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from recollect.clock import from_iso, iso
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.ids import uuid7
from recollect.model import Scope
from recollect.store.ports.queue import ATTEMPTS, TASK_KINDS, TASK_STATES, Backlog, Task
from recollect.store.rows.tx import Database, Tx

LOST = f"the worker was lost {ATTEMPTS} times"
_MORE = 8  # candidates looked at beyond those that are wanted: others claim at the same time
_ROUNDS = 3
_ERROR_CHARS = 300
SETTLING = timedelta(seconds=5)  # many that come at once are looked at once, and by then most have a vector


def put_task(tx: Tx, owner: int, kind: str, subject: str, *, at: datetime, due_at: datetime | None = None) -> str:
    """A task, in the transaction that makes it needed."""
    params: dict[str, object] = {"owner": owner, "id": uuid7(), "kind": kind, "subject": subject}
    return str(tx.row("tasks.put", {**params, "at": iso(at), "due_at": iso(due_at or at)})[0])


def put_work_of(tx: Tx, owner: int, sessions: Iterable[str]) -> None:
    """What is to be done with sessions that grew, where somebody works through the queue."""
    if tx.terms.queued:
        at = tx.terms.clock()
        for session in sorted(sessions):  # in one order, so that no two transactions wait for each other
            for kind in ("distill", "gist"):
                put_task(tx, owner, kind, session, at=at)


def put_flood_watch(tx: Tx, owner: int) -> None:
    """That new memories are to be looked at together, where somebody works through the queue."""
    if tx.terms.queued:
        at = tx.terms.clock()
        put_task(tx, owner, "flood", "", at=at, due_at=at + SETTLING)


def forget_tasks(tx: Tx, owner: int, session: str | None = None) -> None:
    """Take away what was to be done with a session, or with anything of the owner's."""
    tx.run("tasks.forget", {"owner": owner, "subject": session})


class RowTasks:
    """The queue of all owners."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def put(self, scope: Scope, kind: str, subject: str = "", *, at: datetime, due_at: datetime | None = None) -> str:
        if kind not in TASK_KINDS:
            raise InvalidInput(f"there are no tasks of the kind {kind[:40]!r}", hint="Kinds: " + ", ".join(TASK_KINDS))
        with self._db.touch(scope.within(None)) as tx:
            return put_task(tx, tx.ensure().owner, kind, subject, at=at, due_at=due_at)

    def claim(
        self, *, worker: str, at: datetime, until: datetime, kinds: Sequence[str] = (), limit: int = 1
    ) -> list[Task]:
        claimed: list[Task] = []
        lease = {"at": iso(at), "until": iso(until), "worker": worker, "most": ATTEMPTS, "lost": LOST}
        asked = {"at": iso(at), "kinds": json.dumps(list(kinds)) if kinds else None}
        fruitless = 0
        while len(claimed) < limit and fruitless < _ROUNDS:
            with self._db.read(None) as tx:
                due = tx.run("tasks.due", {**asked, "limit": limit - len(claimed) + _MORE}).fetchall()
            if not due:
                break
            before = len(claimed)
            for tenant, user, task_id, *_ in due:
                if len(claimed) == limit:
                    break
                task = self._claim(Scope.of_owner(tenant, user), str(task_id), lease)
                claimed += [task] if task else []
            fruitless = fruitless + 1 if len(claimed) == before else 0
        return claimed

    def _claim(self, scope: Scope, task_id: str, lease: dict[str, object]) -> Task | None:
        """The task, if it is still to be had."""
        with self._db.touch(scope) as tx:
            if tx.rows is None:
                return None
            row = tx.run("tasks.claim", {"owner": tx.rows.owner, "id": task_id, **lease}).fetchone()
            task = _task(scope, row) if row else None
        return task if task and task.state == "running" else None

    def extend(self, task: Task, *, until: datetime) -> bool:
        return self._held("extend", task, {"until": iso(until)})

    def finish(self, task: Task, *, at: datetime) -> bool:
        return self._held("finish", task, {"at": iso(at)})

    def fail(self, task: Task, *, at: datetime, error: str, again_at: datetime | None) -> bool:
        told = {"at": iso(at), "error": error[:_ERROR_CHARS], "again_at": again_at and iso(again_at)}
        return self._held("fail", task, told)

    def release(self, task: Task, *, at: datetime, due_at: datetime | None = None) -> bool:
        return self._held("release", task, {"at": iso(at), "due_at": iso(due_at or at)})

    def _held(self, query: str, task: Task, params: Mapping[str, object]) -> bool:
        """Change a task that is still in the caller's hands."""
        with self._db.touch(task.scope) as tx:
            if tx.rows is None:
                return False
            held = {"owner": tx.rows.owner, "id": task.id, "claim": task.claim}
            return tx.run(f"tasks.{query}", {**held, **params}).fetchone() is not None

    def find(
        self, scope: Scope, *, state: str | None = None, kind: str | None = None, limit: int, offset: int = 0
    ) -> list[Task]:
        _check_state(state)
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return []
            params = {**tx.rows.params(), "state": state, "kind": kind, "limit": limit, "offset": offset}
            return [_task(scope, row) for row in tx.run("tasks.find", params)]

    def get(self, scope: Scope, task_id: str) -> Task | None:
        with self._db.read(scope) as tx:
            return _found(tx, scope, task_id)

    def latest(self, scope: Scope, kind: str, subject: str) -> Task | None:
        with self._db.read(scope.within(None)) as tx:
            if tx.rows is None:
                return None
            asked = {"owner": tx.rows.owner, "kind": kind, "subject": subject}
            row = tx.run("tasks.open", asked).fetchone() or tx.run("tasks.ended", asked).fetchone()
            return None if row is None else _task(scope, row)

    def cancel(self, scope: Scope, task_id: str, *, at: datetime) -> Task:
        return self._change("cancel", scope, task_id, at, "cancelled")

    def requeue(self, scope: Scope, task_id: str, *, at: datetime) -> Task:
        try:
            return self._change("requeue", scope, task_id, at, "waiting")
        except _Twin:
            raise Conflict(
                f"what task {task_id} was to do waits already as another task",
                hint="`recollect tasks` lists it; there is nothing to do.",
            ) from None

    def _change(self, query: str, scope: Scope, task_id: str, at: datetime, wanted: str) -> Task:
        with self._db.touch(scope) as tx:
            if _found(tx, scope, task_id) is None or tx.rows is None:
                raise NotFound(f"no task {task_id[:60]}")
            try:
                tx.run(f"tasks.{query}", {"owner": tx.rows.owner, "id": task_id, "at": iso(at)})
            except tx.violated:
                raise _Twin from None
            task = _found(tx, scope, task_id)
        assert task is not None
        if task.state != wanted:
            raise Conflict(f"task {task_id} is {task.state}", hint="`recollect tasks` shows what became of it.")
        return task

    def everywhere(self, *, state: str | None = None, limit: int) -> list[Task]:
        _check_state(state)
        with self._db.read(None) as tx:
            found = tx.run("tasks.everywhere", {"state": state, "limit": limit}).fetchall()
        tasks = [self.get(Scope.of_owner(tenant, user), str(task_id)) for tenant, user, task_id in found]
        return [task for task in tasks if task is not None]

    def backlog(self, *, at: datetime) -> Backlog:
        counts = dict.fromkeys(("waiting", "running", "dead", "later"), 0)
        by_kind: dict[str, int] = {}
        oldest: datetime | None = None
        with self._db.read(None) as tx:
            found = tx.run("tasks.totals", {"at": iso(at)}).fetchall()
        for state, kind, later, count, first in found:
            counts["later" if later and state == "waiting" else state] += count
            if later or state == "dead":
                continue
            if state == "waiting":
                by_kind[kind] = by_kind.get(kind, 0) + count
            since = from_iso(first)
            oldest = since if oldest is None else min(oldest, since)
        age = 0.0 if oldest is None else max(0.0, (at - oldest).total_seconds())
        return Backlog(counts["waiting"], counts["running"], counts["dead"], age, by_kind, counts["later"])

    def tidy(self, *, before: datetime) -> int:
        return drop_before(self._db, "tasks.ended_before", "tasks.tidy", before)


def drop_before(database: Database, whose: str, drop: str, before: datetime) -> int:
    """Drop rows that are over, owner by owner; returns how many."""
    with database.read(None) as tx:
        owners = tx.run(whose, {"before": iso(before)}).fetchall()
    dropped = 0
    for tenant, user in owners:
        with database.touch(Scope.of_owner(tenant, user)) as tx:
            if tx.rows is not None:
                dropped += len(tx.run(drop, {"owner": tx.rows.owner, "before": iso(before)}).fetchall())
    return dropped


class _Twin(Exception):
    """The same work is waiting or running already."""


def _check_state(state: str | None) -> None:
    if state is not None and state not in TASK_STATES:
        raise InvalidInput(f"tasks are never {state[:40]!r}", hint="States: " + ", ".join(TASK_STATES))


def _found(tx: Tx, scope: Scope, task_id: str) -> Task | None:
    if tx.rows is None:
        return None
    row = tx.run("tasks.get", {**tx.rows.params(), "id": task_id}).fetchone()
    return None if row is None else _task(scope, row)


def _task(scope: Scope, row: Sequence[Any]) -> Task:
    """A row as a value; a task is its owner's, whatever project they asked in."""
    id_, kind, subject, state, attempts, due, worker, error, made, ended, claim = row
    due_at = from_iso(due)
    return Task(
        id=id_,
        scope=scope.within(None),
        kind=kind,
        subject=subject,
        state=state,
        attempts=attempts,
        due_at=due_at,
        leased_until=due_at if state == "running" else None,
        worker=worker,
        error=error,
        made_at=from_iso(made),
        ended_at=ended and from_iso(ended),
        claim=claim,
    )
