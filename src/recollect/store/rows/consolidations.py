"""Consolidating in rows: each step is taken, noted and audited in one transaction, and can be taken back.

A step changes a memory only in the version it was thought out with, so that whoever edits meanwhile wins. Undoing gives
each changed field back that is still as the step left it: what others changed since is theirs. How often a memory was
read is never touched, and its version only counts up.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from recollect.clock import from_iso, iso
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.model import Memory, Scope
from recollect.store.ports.memories import Filter
from recollect.store.ports.relations import (
    KEPT,
    REWRITING,
    STEP_KINDS,
    Fields,
    Relation,
    Rollup,
    Run,
    Step,
    Undone,
    fields_of,
    with_fields,
)
from recollect.store.rows.audit import audit
from recollect.store.rows.memories import filter_params, memory_of, params_of, rewrite
from recollect.store.rows.tx import Database, Rows, Tx, project_row


class RowConsolidations:
    """Relations, the journal and roll-ups of every owner."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def apply(self, scope: Scope, run: Run, steps: Sequence[Step], *, at: datetime) -> list[bool]:
        if unknown := [step.kind for step in steps if step.kind not in STEP_KINDS]:
            raise InvalidInput(f"there are no steps of the kind {unknown[0][:40]!r}")
        with self._db.write(scope) as tx:
            rows = tx.rows
            if rows is None:
                return [False] * len(steps)
            there = _run(tx, rows, run.id)
            if there is not None and there.undone_at is not None:
                raise Conflict(f"run {run.id} was undone")
            number = tx.one("consolidations.last_number", {"owner": rows.owner, "run": run.id}) or 0
            counts = Counter(dict(there.counts if there else {}))
            taken = []
            for step in steps:
                taken.append(_take(tx, rows, run.id, step, at))
                if taken[-1]:
                    number += 1
                    counts[step.kind] += 1
                    _note_step(tx, rows.owner, run.id, replace(step, number=number))
            if any(taken):
                _put_run(tx, rows.owner, replace(run, counts=dict(counts), project=scope.project))
                tx.run("consolidations.tidy", {**_seen(tx, rows), "before": iso(at - KEPT)})
        return taken

    def runs(self, scope: Scope, *, limit: int, offset: int = 0) -> list[Run]:
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return []
            found = tx.run("consolidations.runs", {**_seen(tx, tx.rows), "limit": limit, "offset": offset})
            return [_run_of(row) for row in found]

    def steps(self, scope: Scope, run_id: str) -> list[Step]:
        with self._db.read(scope) as tx:
            rows = tx.rows
            return [] if rows is None or _run(tx, rows, run_id) is None else _steps(tx, rows.owner, run_id)

    def undo(self, scope: Scope, run_id: str, *, at: datetime) -> Undone:
        with self._db.write(scope) as tx:
            rows = tx.rows
            run = None if rows is None else _run(tx, rows, run_id)
            if rows is None or run is None:
                raise NotFound(f"no run {run_id[:60]}", hint="`recollect consolidate --history` lists them.")
            if run.undone_at is not None:
                raise Conflict(f"run {run_id[:60]} was undone before")
            kept = []
            for step in reversed(steps := _steps(tx, rows.owner, run_id)):
                if not _take_back(tx, rows, run_id, step, at):
                    kept.append(step.subject)
            tx.run("consolidations.mark_undone", {"owner": rows.owner, "id": run_id, "at": iso(at)})
            audit(tx, rows.owner, at, "undo", run_id, {"steps": len(steps), "kept": len(kept)})
        return Undone(replace(run, undone_at=at), len(steps) - len(kept), tuple(reversed(kept)))

    def refused(self, scope: Scope) -> set[tuple[str, str, str]]:
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return set()
            found = tx.run("consolidations.refused", tx.rows.params())
            return {(kind, subject, other) for kind, subject, other in found}

    def relations(self, scope: Scope, memory_ids: Sequence[str] | None = None) -> list[Relation]:
        with self._db.read(scope) as tx:
            if tx.rows is None or memory_ids == []:
                return []
            if memory_ids is None:
                found = tx.run("consolidations.relations", tx.rows.params())
            else:
                asked = json.dumps(list(memory_ids))
                found = tx.run("consolidations.relations_of", {**tx.rows.params(), "ids": asked})
            return [Relation(source, target, kind, run, from_iso(at)) for source, target, kind, run, at in found]

    def beyond(self, scope: Scope, memory_ids: Sequence[str], where: Filter, limit: int) -> list[tuple[str, int]]:
        with self._db.read(scope) as tx:
            if tx.rows is None or not memory_ids or not tx.has("relations"):
                return []
            asked = {"ids": json.dumps(list(memory_ids)), "limit": limit}
            found = tx.run("consolidations.beyond", {**filter_params(tx, tx.rows, where), **asked})
            return [(source, int(doc)) for source, doc in found]

    def rollups(self, scope: Scope) -> list[Rollup]:
        with self._db.read(scope) as tx:
            if tx.rows is None:
                return []
            return [_rollup_of(row) for row in tx.run("consolidations.rollups", _seen(tx, tx.rows))]


# -- forgetting --------------------------------------------------------------------------------------------------------


def forget_related(tx: Tx, owner: int, memory_id: str) -> None:
    """Take away what memories have to do with one that goes, and what the journal holds of it."""
    for query in ("forget_relations", "forget_steps"):
        tx.run(f"consolidations.{query}", {"owner": owner, "id": memory_id})


def forget_covering(tx: Tx, owner: int, session: str) -> None:
    """Take away roll-ups in which words of a session may stand, and how they read before."""
    for query in ("forget_covering", "forget_covering_steps"):
        tx.run(f"consolidations.{query}", {"owner": owner, "session": session})


def forget_consolidations(tx: Tx, rows: Rows) -> None:
    """Take away every roll-up and run of the owner, or those of a project alone."""
    for query in ("forget_rollups", "forget_rollup_steps", "forget_steps_of_runs", "forget_runs"):
        tx.run(f"consolidations.{query}", _seen(tx, rows))


# -- taking steps ------------------------------------------------------------------------------------------------------


def _take(tx: Tx, rows: Rows, run: str, step: Step, at: datetime) -> bool:
    """Take a step; False when it does not fit any more, and then nothing is changed."""
    for memory_id, version in step.needs:
        memory = _memory(tx, rows, memory_id)
        if memory is None or memory.version != version or memory.deleted_at is not None:
            return False
    if step.kind in REWRITING:
        memory = _memory(tx, rows, step.subject)
        if memory is None or fields_of(memory, step.before) != step.before:
            return False
        after = with_fields(memory, step.after)
        if _would_double(tx, rows.owner, memory, after):
            return False
        rewrite(tx, rows, after, at)
        details = {"run": run, **({"into": step.other} if step.other else {})}
        audit(tx, rows.owner, at, step.kind, step.subject, details)
    elif step.kind == "relate":
        _relate(tx, rows.owner, step.subject, _added(step.before, step.after), _added(step.after, step.before))
    else:
        _put_rollup(tx, rows.owner, step, step.after)
    return True


def _take_back(tx: Tx, rows: Rows, run: str, step: Step, at: datetime) -> bool:
    """Give back what a step changed; False when nothing of it is as the step left it."""
    if step.kind in REWRITING:
        return _restore(tx, rows, run, step, at)
    if step.kind == "relate":
        _relate(tx, rows.owner, step.subject, _added(step.after, step.before), _added(step.before, step.after))
        return True
    named = {"owner": rows.owner, "home": step.other, "period": step.subject}
    found = tx.run("consolidations.rollup", named).fetchone()
    if (found and iso(_rollup_of(found).made_at)) != step.after.get("made_at"):
        return False
    _put_rollup(tx, rows.owner, step, step.before)
    return True


def _restore(tx: Tx, rows: Rows, run: str, step: Step, at: datetime) -> bool:
    memory = _memory(tx, rows, step.subject)
    if memory is None:
        return False
    now = fields_of(memory, step.after)
    ours = {name: step.before[name] for name, value in step.after.items() if now[name] == value}
    back = with_fields(memory, ours)
    if not ours or _would_double(tx, rows.owner, memory, back):
        return False
    rewrite(tx, rows, back, at)
    accessed = memory.accessed_at and iso(memory.accessed_at)  # being put back is no read
    tx.run("consolidations.set_accessed", {"owner": rows.owner, "id": memory.id, "accessed_at": accessed})
    audit(tx, rows.owner, at, "reinstate", step.subject, {"run": run})
    return True


def _would_double(tx: Tx, owner: int, memory: Memory, back: Memory) -> bool:
    """Whether another memory says the same by now, where this one would hold again."""
    if memory.superseded_at is None or back.superseded_at is not None or back.deleted_at is not None:
        return False
    project = project_row(tx, owner, memory.project) or 0
    return tx.run("memories.twin", {**params_of(back), "owner": owner, "project": project}).fetchone() is not None


def _relate(tx: Tx, owner: int, source: str, adding: Sequence[Any], dropping: Sequence[Any]) -> None:
    for target, kind, run, _ in dropping:
        named = {"owner": owner, "from_id": source, "to_id": target, "kind": kind, "run": run}
        tx.run("consolidations.drop_relation", named)
    for target, kind, run, at in adding:
        named = {"owner": owner, "from_id": source, "to_id": target, "kind": kind, "run": run}
        tx.run("consolidations.put_relation", {**named, "at": at})


def _added(before: Fields, after: Fields) -> list[Any]:
    """Relations that are there after and not before, as [target, kind, run, at]."""
    known = [list(one) for one in before.get("relations", ())]
    return [list(one) for one in after.get("relations", ()) if list(one) not in known]


def _put_rollup(tx: Tx, owner: int, step: Step, told: Fields) -> None:
    named = {"owner": owner, "home": step.other, "period": step.subject}
    if not told:
        tx.run("consolidations.drop_rollup", named)
        return
    values = {name: told[name] for name in ("content", "maker", "made_at")}
    tx.run("consolidations.put_rollup", {**named, **values, "covers": _json(told["covers"])})


def _note_step(tx: Tx, owner: int, run: str, step: Step) -> None:
    after = step.after
    if step.kind == "rollup":  # how it reads now stands in its own row: what is forgotten there is forgotten
        after = {name: value for name, value in after.items() if name == "made_at"}
    tx.run(
        "consolidations.put_step",
        {
            "owner": owner,
            "run": run,
            "number": step.number,
            "kind": step.kind,
            "subject": step.subject,
            "other": step.other,
            "content": _json({"before": dict(step.before), "after": dict(after)}),
        },
    )


# -- values ------------------------------------------------------------------------------------------------------------


def _memory(tx: Tx, rows: Rows, memory_id: str) -> Memory | None:
    found = tx.run("memories.get", {**rows.params(), "id": memory_id}).fetchone()
    return None if found is None else memory_of(found)


def _seen(tx: Tx, rows: Rows) -> dict[str, object]:
    return {"owner": rows.owner, "any_project": rows.any_project, "home": tx.scope.project if tx.scope else None}


def _run(tx: Tx, rows: Rows, run_id: str) -> Run | None:
    found = tx.run("consolidations.run", {**_seen(tx, rows), "id": run_id}).fetchone()
    return None if found is None else _run_of(found)


def _run_of(row: Sequence[Any]) -> Run:
    id_, home, content, made_at, undone_at = row
    told: Mapping[str, Any] = json.loads(content)
    values = {name: told[name] for name in ("memories", "counts", "by") if name in told}
    return Run(id_, from_iso(made_at), **values, project=home or None, undone_at=undone_at and from_iso(undone_at))


def _put_run(tx: Tx, owner: int, run: Run) -> None:
    told = {"memories": run.memories, "counts": dict(run.counts), "by": run.by}
    named = {"owner": owner, "id": run.id, "home": run.project or "", "made_at": iso(run.made_at)}
    tx.run("consolidations.put_run", {**named, "content": _json(told)})


def _steps(tx: Tx, owner: int, run_id: str) -> list[Step]:
    found = tx.run("consolidations.steps", {"owner": owner, "run": run_id}).fetchall()
    return [
        Step(kind, subject, other, **json.loads(content), number=number)
        for number, kind, subject, other, content in found
    ]


def _rollup_of(row: Sequence[Any]) -> Rollup:
    period, content, covers, made_at, home, maker = row
    told = {session: (int(upto), str(made)) for session, (upto, made) in json.loads(covers).items()}
    return Rollup(period, content, told, from_iso(made_at), home or None, maker)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
