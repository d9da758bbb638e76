"""Taking away and looking after: forget takes every row that can hold something of its subject, upkeep is idempotent.

What stays of what was forgotten is a tombstone of ids, so that no replay brings it back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import sha256

from recollect.clock import from_iso, iso
from recollect.errors import NotFound
from recollect.model import SAID, Scope
from recollect.store import copies
from recollect.store.ports.keeping import UPKEEP, Ages, Receipt, Upkeep, another_wording
from recollect.store.rows import index
from recollect.store.rows.answers import forget_answers
from recollect.store.rows.appending import session_key
from recollect.store.rows.audit import UPKEEP as ITSELF
from recollect.store.rows.audit import audit
from recollect.store.rows.bodies import RowBodies
from recollect.store.rows.consolidations import forget_consolidations, forget_covering, forget_related
from recollect.store.rows.memories import tombstone_key, tombstone_of_source
from recollect.store.rows.patterns import forget_evidence, forget_patterns
from recollect.store.rows.releasing import Wordings, all_wordings, release, wordings_of
from recollect.store.rows.tasks import forget_tasks
from recollect.store.rows.tx import Database, Tx
from recollect.store.rows.use import RowUse, forget_use_in, forget_use_of, forget_weights


class RowKeeping(ABC):
    """Forgetting and upkeep; how bytes go from the files, and how the store is, is for each database to say."""

    def __init__(self, database: Database, bodies: RowBodies, use: RowUse) -> None:
        self._db = database
        self._bodies = bodies
        self._use = use

    def forget_memory(self, scope: Scope, memory_id: str, *, at: datetime, with_merged: bool = False) -> Receipt:
        """One memory. What was merged into it goes `with_merged` too; else it holds again, and the receipt names it."""
        with self._db.write(scope) as tx:
            rows = tx.rows
            row = rows and tx.one("keeping.memory", {**rows.params(), "id": memory_id})
            if not rows or not row:
                raise NotFound(f"no memory {memory_id}")
            counts: Counter[str] = Counter()
            left: list[Wordings] = []
            for id_ in [memory_id, *(all_wordings(tx, rows.owner, memory_id) if with_merged else ())]:
                each = tx.one("keeping.memory", {**rows.params(), "id": id_})
                counts.update(_forget_memory(tx, rows.owner, each, id_, iso(at), left) if each else {})
            back = release(tx, rows.owner, left, at)
            forget_answers(tx, rows.owner)
            audit(tx, rows.owner, at, "forget", memory_id, counts)
            self._mark_deleted(tx)
        receipt = self._receipt(counts)
        said = tuple(map(another_wording, back))
        return replace(receipt, complete=receipt.complete and not said, remains=(*receipt.remains, *said))

    def forget_session(self, scope: Scope, session: str, *, at: datetime) -> Receipt:
        """The session and its subagents: their events, turns, gists, and the memories made from them."""
        with self._db.write(scope) as tx:
            rows = tx.rows
            row = rows and tx.one("keeping.session", {**rows.params(), "id": session})
            if not rows or not row:
                raise NotFound(f"no session {session}")
            below = list(tx.run("keeping.subagents", {**rows.params(), "id": session}))
            counts: Counter[str] = Counter()
            left: list[Wordings] = []
            for each, name in [(row, session), *below]:
                counts.update(_forget_session(tx, rows.owner, each, name, iso(at), left))
            release(tx, rows.owner, left, at)
            tx.run("keeping.drop_unused_projects", {"owner": rows.owner})
            forget_answers(tx, rows.owner)
            audit(tx, rows.owner, at, "forget", "session", counts)
            self._mark_deleted(tx)
            files = self._bodies.sweep_unreferenced(tx, rows.owner)
        self._bodies.remove(scope, rows.owner, files)
        return self._receipt(counts)

    def would_forget(self, scope: Scope, session: str) -> dict[str, int]:
        """How much would go with a session, counted as it would be taken away."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            row = rows and tx.one("keeping.session", {**rows.params(), "id": session})
            if not rows or not row:
                raise NotFound(f"no session {session}")
            counts: Counter[str] = Counter()
            for each, name in [(row, session), *tx.run("keeping.subagents", {**rows.params(), "id": session})]:
                made = tx.run("keeping.memories_of_session", {"owner": rows.owner, "id": name}).fetchall()
                events = tx.one("keeping.count_events", {"session": each}) or 0
                counts.update({"sessions": 1, "events": events, "memories": len(made)})
        return dict(counts)

    def forget_all(self, scope: Scope, *, at: datetime) -> Receipt:
        """Everything of the owner; in a scope with a project, everything of that project."""
        with self._db.write(scope) as tx:
            rows = tx.rows
            if rows is None:
                return Receipt({}, True)
            counts: Counter[str] = Counter()
            left: list[Wordings] = []
            for row, session in list(tx.run("keeping.sessions_of_owner", rows.params())):
                counts.update(_forget_session(tx, rows.owner, row, session, iso(at), left))
            for row, memory_id in list(tx.run("keeping.memories_of_owner", rows.params())):
                counts.update(_forget_memory(tx, rows.owner, row, memory_id, iso(at), left))
            release(tx, rows.owner, left, at)
            if gone := forget_patterns(tx, rows):
                counts["patterns"] += gone
            forget_consolidations(tx, rows)
            tx.run("keeping.drop_projects", rows.params())
            forget_answers(tx, rows.owner, everything=rows.any_project)
            if rows.any_project:
                forget_tasks(tx, rows.owner)
                tx.run("keeping.drop_transcripts", {"owner": rows.owner})
                tx.run("keeping.drop_injected", {"owner": rows.owner})
                tx.run("insights.forget_recalls", {"owner": rows.owner})
                forget_weights(tx, rows.owner)
            audit(tx, rows.owner, at, "forget", "everything", counts)
            self._mark_deleted(tx)
            files = self._bodies.sweep_unreferenced(tx, rows.owner)
        self._use.let_go(scope)
        self._bodies.remove(scope, rows.owner, files)
        return self._receipt(counts)

    def forgotten(self, scope: Scope, session: str) -> datetime | None:
        """When a session of this id was forgotten, if it was."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return None
            params = {"owner": rows.owner, "key": session_key(session)}
            found = tx.run("keeping.buried", params).fetchone()
            return None if found is None else from_iso(found[0])

    def upkeep(
        self,
        *,
        now: datetime,
        ages: Ages,
        steps: Collection[str] = UPKEEP,
        dry_run: bool = False,
        stop: Callable[[], bool] = lambda: False,
    ) -> Upkeep:
        """Archive what is old and unread or ended long ago, redact and then purge what was deleted.

        One owner after the other, each wholly or not at all; `stop` is asked between them. With `dry_run` everything is
        counted and nothing is changed.
        """
        total: Counter[str] = Counter()
        for scope in self._db.owners():
            if stop():
                break
            try:
                with self._db.write(scope) as tx:
                    done = _upkeep(tx, now, ages, steps)
                    total.update(done)
                    if done["redacted"] or done["purged"]:
                        self._mark_deleted(tx)
                    if dry_run:
                        raise _NotMeant
            except _NotMeant:
                continue
        if not dry_run:
            self._scrub()
        return Upkeep(**total)

    def _receipt(self, counts: Mapping[str, int]) -> Receipt:
        remains = self._scrub()
        with self._db.read(None) as tx:
            noted = dict(tx.run("notes.all", {"prefix": copies.PREFIX}))
        return Receipt(counts, not remains, remains, copies.held(copies.listed(noted)))

    def _mark_deleted(self, tx: Tx) -> None:
        """Within a transaction that deletes content: note that its bytes are to go from the files too."""
        tx.run("keeping.scrub_due")

    def scrub_due(self) -> bool:
        """Whether bytes of what was deleted may still lie in the files."""
        with self._db.read(None) as tx:
            return tx.run("keeping.is_scrub_due").fetchone() is not None

    def _scrubbed(self, scrub: Callable[[], bool]) -> bool:
        """Have the files written anew; what is deleted in the meantime stays due, and so does all when it fails."""
        with self._db.write(None) as tx:
            tx.run("keeping.scrub_begins")
            tx.run("keeping.scrub_undue")
        if not scrub():
            return False
        with self._db.write(None) as tx:
            tx.run("keeping.scrub_done")
        return True

    @abstractmethod
    def _scrub(self) -> tuple[str, ...]:
        """Leave no byte of what was deleted, as far as that can be done now; says where some may be left."""


class _NotMeant(Exception):
    """Ends a transaction that was only to be counted."""


def _upkeep(tx: Tx, now: datetime, ages: Ages, steps: Collection[str]) -> Counter[str]:
    done: Counter[str] = Counter()
    params = {"now": iso(now), "before": iso(ages.archive_before)}
    for step, query in (("archive", "to_archive"), ("expire", "to_expire")):
        if step in steps:
            given = {**params, "reads": ages.archive_reads} if step == "archive" else params
            found = list(tx.run(f"keeping.{query}", given))
            for owner, memory_id in found:
                audit(tx, owner, now, step, memory_id, {}, actor=ITSELF)
            done[f"{step}d"] += len(found)
    if "redact" in steps:
        done["redacted"] += _redact(tx, now, ages.redact_before)
    for row, owner, memory_id in (
        list(tx.run("keeping.to_purge", {"before": iso(ages.purge_before)})) if "purge" in steps else ()
    ):
        left: list[Wordings] = []
        _forget_memory(tx, owner, row, memory_id, iso(now), left)
        release(tx, owner, left, now)
        audit(tx, owner, now, "purge", memory_id, {}, actor=ITSELF)
        done["purged"] += 1
    return done


def _forget_memory(tx: Tx, owner: int, row: int, memory_id: str, at: str, left: list[Wordings]) -> dict[str, int]:
    """Take a memory away; what was merged into it is added to `left`."""
    left += wordings_of(tx, owner, memory_id)
    if tx.one("keeping.is_indexed", {"row": row}):
        index.drop(tx, "memory", row, vectors=True)
    _bury_source(tx, owner, row, at)
    tx.run("keeping.drop_versions", {"row": row})
    tx.run("keeping.drop_memory", {"row": row})
    tx.run("keeping.unlink", {"owner": owner, "id": memory_id})
    forget_related(tx, owner, memory_id)
    forget_use_of(tx, owner, memory_id)
    tx.run("keeping.bury", {"owner": owner, "key": tombstone_key(memory_id), "at": at})
    return {"memories": 1}


def _bury_source(tx: Tx, owner: int, row: int, at: str) -> None:
    """What was distilled from these words is not to be distilled from them again."""
    found = tx.run("keeping.distilled_from", {"row": row, "said": SAID}).fetchone()
    if found and (key := tombstone_of_source(found[0])):
        tx.run("keeping.bury", {"owner": owner, "key": key, "at": at})


def _forget_session(tx: Tx, owner: int, row: int, session: str, at: str, left: list[Wordings]) -> dict[str, int]:
    turns = [found[0] for found in tx.run("keeping.turns_of_session", {"session": row})]
    gists = [found[0] for found in tx.run("keeping.gist_of_session", {"session": row})]
    memories = list(tx.run("keeping.memories_of_session", {"owner": owner, "id": session}))
    events = tx.one("keeping.count_events", {"session": row}) or 0
    for turn in turns:
        index.drop(tx, "turn", turn, vectors=True)
    for gist in gists:
        index.drop(tx, "gist", gist, vectors=True)
    for memory, memory_id in memories:
        _forget_memory(tx, owner, memory, memory_id, at, left)
    tx.run("keeping.bury_events", {"session": row, "at": at})
    tx.run("keeping.bury", {"owner": owner, "key": session_key(session), "at": at})
    tx.run("keeping.drop_transcripts_of", {"owner": owner, "id": session})
    forget_tasks(tx, owner, session)
    forget_evidence(tx, owner, session)
    forget_covering(tx, owner, session)
    forget_use_in(tx, owner, session)
    for step in (
        "drop_costs",
        "drop_digest",
        "drop_signals",
        "drop_distillation",
        "drop_events",
        "drop_turns",
        "drop_gist",
        "drop_session",
    ):
        tx.run(f"keeping.{step}", {"session": row})
    return {"sessions": 1, "events": events, "turns": len(turns), "gists": len(gists), "memories": len(memories)}


def _redact(tx: Tx, now: datetime, before: datetime) -> int:
    found = list(tx.run("keeping.to_redact", {"before": iso(before)}))
    for row, owner, memory_id in found:
        tx.run("keeping.drop_versions", {"row": row})
        _bury_source(tx, owner, row, iso(now))
        tx.run("keeping.redact", {"row": row, "empty_hash": sha256(b"").digest()})
        forget_related(tx, owner, memory_id)
        forget_use_of(tx, owner, memory_id)  # a note may quote it
        audit(tx, owner, now, "redact", memory_id, {}, actor=ITSELF)
    return len(found)
