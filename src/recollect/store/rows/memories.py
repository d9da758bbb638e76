"""Memories in SQLite: kept once per scope and text, changed only by who has read the newest version."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from recollect.clock import from_iso, iso
from recollect.errors import Conflict, NotFound, ScopeError, StoreCorrupt
from recollect.model import SAID, Evidence, Memory, MemoryVersion, Scope
from recollect.store.ports.memories import Filter, Weighing
from recollect.store.rows import index
from recollect.store.rows.audit import audit
from recollect.store.rows.quotas import take
from recollect.store.rows.releasing import release, wordings_of
from recollect.store.rows.tasks import put_flood_watch
from recollect.store.rows.tx import Database, Rows, Tx, ensure_project, project_row
from recollect.text import content_hash, dedup_key

_EMPTY = "[]"
_PROJECT = 3  # of the columns of `memory_rows`
_WORDED = ("kind", "content", "why", "tags", "importance", "confidence")
_INDEXED = ("content", "why", "tags")
_AUDITED = 100  # ids noted of what was changed in one step
_WEIGHTS = ("kind", "importance", "recency", "decay", "own", "confirmed")  # of `Weighing`
_PIECES = 3  # pieces of text looked for at once
_INSIDE = 4  # times as many are read as are wanted: in some the piece stands inside a word
_WILD = re.compile(r"[!%_]")


class RowMemories:
    """Memories and their versions in SQLite."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(
        self,
        scope: Scope,
        memory: Memory,
        versions: Sequence[MemoryVersion] = (),
        *,
        replacing: Sequence[Memory] = (),
    ) -> tuple[Memory, bool]:
        """Keep a memory; when this project already knows the text, return that one and False.

        Those it is `replacing` end where it begins, in one step; one that changed since it was read is a Conflict.
        What was distilled is not kept when the user took the same away before.
        """
        with self._db.write(scope, keyed=True) as tx:
            kept = _add(tx, scope, memory, versions)
            if kept[1]:
                for replaced in replacing:
                    _end(tx, tx.ensure().owner, replaced, memory)
        return kept

    def add_many(self, scope: Scope, memories: Sequence[tuple[Memory, Sequence[MemoryVersion]]]) -> list[bool]:
        """Keep many memories with their versions in one transaction; False for one that is not kept, as in `add`."""
        with self._db.write(scope) as tx:
            return [_add(tx, scope, memory, versions)[1] for memory, versions in memories]

    def get(self, scope: Scope, memory_id: str) -> Memory | None:
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return None
            found = tx.run("memories.get", {**rows.params(), "id": memory_id}).fetchone()
            return None if found is None else memory_of(found)

    def get_many(self, scope: Scope, memory_ids: Iterable[str]) -> dict[str, Memory]:
        """Those of these memories that are there, by id."""
        wanted = list(dict.fromkeys(memory_ids))
        with self._db.read(scope) as tx:
            if tx.rows is None or not wanted:
                return {}
            found = tx.run("memories.get_many", {**tx.rows.params(), "ids": json.dumps(wanted)})
            return {memory.id: memory for memory in map(memory_of, found)}

    def find(self, scope: Scope, where: Filter, *, limit: int, offset: int = 0) -> list[Memory]:
        """Memories the filter lets through, the newest first."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            params = {**filter_params(tx, rows, where), "limit": limit, "offset": offset}
            query = _finding(where)
            few = tx.tagged(rows.owner, where.tags) if where.tags and query == "find" else None
            if few is not None:
                query, params = "find_given", {**params, "docs": tx.many(few)}
            return [memory_of(row) for row in tx.run(f"memories.{query}", params)]

    def forgotten(self, scope: Scope, where: Filter, *, limit: int, offset: int = 0) -> list[Memory]:
        """What was softly forgotten and still has its text, as far as the filter lets it through, the latest first."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            params = {**filter_params(tx, rows, where), "limit": limit, "offset": offset}
            return [memory_of(row) for row in tx.run("memories.forgotten", params)]

    def weightiest(self, scope: Scope, weighing: Weighing, *, now: datetime, limit: int) -> list[Memory]:
        """The weightiest of what agents may be told before they ask in the scope's project, and of what has none."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            weights = {name: getattr(weighing, name) for name in _WEIGHTS}
            params = {**rows.params(), **weights, "kinds": json.dumps(dict(weighing.kinds)), "now": iso(now)}
            return [memory_of(row) for row in tx.run("memories.weightiest", {**params, "limit": limit})]

    def beginning(self, scope: Scope, words: Sequence[str], *, look: int, limit: int) -> list[Memory]:
        """The newest memories with words that begin so, among the newest `look`; of many words the first three count.

        What is archived or superseded is not among them.
        """
        pieces = [*words[:_PIECES], *[""] * _PIECES][:_PIECES]
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None or not any(pieces):
                return []
            params = {**rows.params(), "look": look, "limit": limit * _INSIDE}
            params |= {name: contained(piece) for name, piece in zip(("one", "two", "three"), pieces, strict=True)}
            found = [memory_of(row) for row in tx.run("memories.beginning", params)]
        begins = [re.compile(rf"(?<!\w){re.escape(piece)}", re.IGNORECASE) for piece in pieces if piece]
        return [one for one in found if all(each.search(one.content) for each in begins)][:limit]

    def update(self, scope: Scope, memory: Memory, *, at: datetime, note: str) -> Memory:
        """Write the changed memory if nobody changed it since version `memory.version`; the old wording is kept.

        When it is deleted, what was merged into it holds again.
        """
        with self._db.write(scope) as tx:
            rows = tx.rows
            if rows is None:
                raise NotFound(f"no memory {memory.id}")
            left = list(wordings_of(tx, rows.owner, memory.id)) if memory.deleted_at is not None else []
            rewrite(tx, rows, memory, at)
            audit(tx, rows.owner, at, note, memory.id, {"version": memory.version + 1})
            release(tx, rows.owner, left, at)
        return replace(memory, version=memory.version + 1)

    def change(
        self,
        scope: Scope,
        memories: Sequence[Memory],
        *,
        adding: Sequence[Memory] = (),
        at: datetime,
        note: str,
        subject: str | None = None,
    ) -> bool:
        """Write several changed memories, then add others, in one step that the audit has as one.

        One that changed since it was read, or one to add whose text or id is there already, is a Conflict; then, and
        when one to add is what the user took away before (False), nothing is changed.
        """
        with self._db.write(scope, keyed=True) as tx:
            for one in adding:
                check_project(scope, one)
            rows = tx.ensure() if adding else tx.rows
            if rows is None:
                raise NotFound(f"no memory {memories[0].id}" if memories else "no memory")
            if any(_is_taken_away(tx, rows.owner, one) for one in adding):
                return False
            for memory in sorted(memories, key=lambda one: one.superseded_at is None and one.deleted_at is None):
                rewrite(tx, rows, memory, at)
            for memory in adding:
                _add_one(tx, rows.owner, memory)
            if memories:
                ids = [memory.id for memory in memories]
                details = {"memories": ids[:_AUDITED], "count": len(ids)}
                audit(tx, rows.owner, at, note, subject or ids[0], details)
        return True

    def versions(self, scope: Scope, memory_id: str) -> list[MemoryVersion]:
        """How the memory read before, oldest first."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            return [
                MemoryVersion(
                    memory_id, number, kind, content, why, tuple(json.loads(tags)), imp, conf, from_iso(until)
                )
                for number, kind, content, why, tags, imp, conf, until in tx.run(
                    "memories.versions", {**rows.params(), "id": memory_id}
                )
            ]

    def of_session(self, scope: Scope, session: str) -> list[Memory]:
        """What was made from a session and is not deleted, superseded or not, oldest first."""
        return self._all(scope, "of_session", {"session": session})

    def in_slot(self, scope: Scope, slot: str, *, history: bool = False) -> list[Memory]:
        """What this scope holds true of a slot, newest first; with `history`, what it held true too."""
        return self._all(scope, "in_slot", {"slot": slot, "history": history})

    def like(self, scope: Scope, memory: Memory) -> list[Memory]:
        """What the same project has with the same text, superseded or not; what holds comes first."""
        key = bytes.fromhex(dedup_key(memory.content))
        return self._all(scope, "like", {"dedup_key": key, "project_name": memory.project})

    def replaced(self, scope: Scope, memory_id: str) -> list[Memory]:
        """What a memory took the place of, the latest first."""
        return self._all(scope, "replaced", {"id": memory_id})

    def from_source(self, scope: Scope, source: str, *, deleted: bool = False) -> list[Memory]:
        """What came from a session, an origin or a maker, or was said by it too; `deleted`: what of it is deleted."""
        return self._all(scope, "from_source", {"source": source, "deleted": deleted})

    def newest(self, scope: Scope, *, since: datetime, limit: int) -> list[tuple[int, Memory]]:
        """What was recorded since and is not deleted, the last first, each with the store's own number for it."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            params = {**rows.params(), "since": iso(since), "limit": limit}
            return [(int(row[0]), memory_of(row)) for row in tx.run("memories.newest", params)]

    def marks(self, scope: Scope, *, now: datetime) -> dict[str | None, str]:
        """For each project with memories, and for those of none, what changes whenever one of them does or expires."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return {}
            found = tx.run("memories.marks", {**rows.params(), "now": iso(now)})
            return {project: ":".join(map(str, numbers)) for project, *numbers in found}

    def _all(self, scope: Scope, query: str, params: Mapping[str, object]) -> list[Memory]:
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            return [memory_of(row) for row in tx.run(f"memories.{query}", {**rows.params(), **params})]

    def touch(self, scope: Scope, ids: Mapping[str, int], *, at: datetime) -> None:
        """Count reads."""
        with self._db.write(scope) as tx:
            rows = tx.rows
            if rows is None:
                return
            tx.run("memories.touch", {**rows.params(), "reads": json.dumps(dict(ids)), "at": iso(at)})


def contained(text: str) -> str:
    """The pattern of what holds this text somewhere; nothing in it is a sign of patterns."""
    return f"%{_WILD.sub(lambda found: '!' + found[0], text)}%"


def tombstone_key(memory_id: str) -> bytes:
    """What stays of a forgotten memory: its id, so that an import cannot bring it back."""
    return b"memory:" + memory_id.encode()


def tombstone_of_source(evidence: str) -> bytes | None:
    """What stays of a forgotten memory that was distilled: where it came from, so that it is not distilled again."""
    return None if evidence == "[]" else b"source:" + hashlib.sha256(evidence.encode()).digest()


def _is_taken_away(tx: Tx, owner: int, memory: Memory) -> bool:
    """Whether this memory was forgotten, or, if nobody said it but we, another that was made from the same words."""
    keys = [tombstone_key(memory.id)]
    evidence = evidence_text(memory)
    if memory.maker != SAID and (source := tombstone_of_source(evidence)):
        keys.append(source)
        if tx.one("memories.is_deleted", {"owner": owner, "evidence": evidence, "id": memory.id}):
            return True
    return any(tx.one("memories.is_forgotten", {"owner": owner, "key": key}) for key in keys)


def _add(tx: Tx, scope: Scope, memory: Memory, versions: Sequence[MemoryVersion]) -> tuple[Memory, bool]:
    check_project(scope, memory)
    rows = tx.ensure()
    project = None if memory.project is None else ensure_project(tx, rows.owner, memory.project)
    if memory.deleted_at is None and memory.superseded_at is None:
        twin = tx.run("memories.twin", {**params_of(memory), "owner": rows.owner, "project": project or 0}).fetchone()
        if twin is not None:
            return memory_of(twin), False
    if _is_taken_away(tx, rows.owner, memory):
        return memory, False
    known = tx.run("memories.get", {**Rows(rows.owner, None).params(), "id": memory.id}).fetchone()
    if known is not None:
        return memory_of(known), False
    doc = _insert(tx, rows.owner, memory, project)
    for old in versions:
        tx.run("memories.add_version", {"memory": doc, **version_params(old)})
    return memory, True


def check_project(scope: Scope, memory: Memory) -> None:
    """ScopeError for a memory of another project than the scope's."""
    if scope.project is not None and memory.project not in (None, scope.project):
        raise ScopeError("the memory belongs to another project")


def _add_one(tx: Tx, owner: int, memory: Memory) -> None:
    project = None if memory.project is None else ensure_project(tx, owner, memory.project)
    try:
        _insert(tx, owner, memory, project)
    except tx.violated:
        raise Conflict("another memory here says the same") from None


def _insert(tx: Tx, owner: int, memory: Memory, project: int | None) -> int:
    take(tx, owner, ingests=memory.maker == SAID, memories=memory.deleted_at is None)
    params = {**params_of(memory), "owner": owner, "project": project}
    doc = int(tx.row("memories.add", params)[0])
    if memory.deleted_at is None:
        index.add(tx, "memory", doc)
        put_flood_watch(tx, owner)
    audit(tx, owner, tx.terms.clock(), "remember", memory.id, {"kind": memory.kind})
    return doc


def rewrite(tx: Tx, rows: Rows, memory: Memory, at: datetime) -> None:
    """The row of a memory as it is now; its old wording is kept, and what is searched is made again if it changed.

    It may be of another project then, if the scope is not of one itself.
    """
    found = tx.run("memories.get", {**rows.params(), "id": memory.id}).fetchone()
    if found is None:
        raise NotFound(f"no memory {memory.id}")
    before = memory_of(found)
    if before.version != memory.version:
        raise Conflict(f"memory {memory.id} is at version {before.version}, not {memory.version}")
    project = found[_PROJECT]
    if memory.project != before.project:
        if not rows.any_project:
            raise ScopeError("out of a project nothing is put into another")
        project = None if memory.project is None else ensure_project(tx, rows.owner, memory.project)
    was, is_ = before.deleted_at is None, memory.deleted_at is None
    again = was != is_ or any(getattr(before, name) != getattr(memory, name) for name in _INDEXED)
    take(tx, rows.owner, memories=is_ and not was)
    if again and was:
        index.drop(tx, "memory", found[0], vectors=not is_)
    if any(getattr(before, name) != getattr(memory, name) for name in _WORDED):
        tx.run("memories.keep_version", {"row": found[0], "until": iso(at)})
    try:
        tx.run("memories.update", {**params_of(memory), "project": project, "row": found[0], "at": iso(at)})
    except tx.violated:
        raise Conflict("another memory here says the same", hint="Supersede or forget one of them.") from None
    if again and is_:
        index.add(tx, "memory", found[0])


def _end(tx: Tx, owner: int, old: Memory, new: Memory) -> None:
    """Note that what was true is so no longer: the newer memory is."""
    at = max(new.occurred_at, old.occurred_at)
    params = {"owner": owner, "id": old.id, "version": old.version, "by": new.id, "at": iso(at)}
    if not tx.one("memories.supersede", params):
        raise Conflict(f"memory {old.id} changed since it was read")
    audit(tx, owner, tx.terms.clock(), "supersede", old.id, {"by": new.id})


def evidence_text(memory: Memory) -> str:
    return json.dumps([_span(span) for span in memory.evidence])


def filter_params(tx: Tx, rows: Rows, where: Filter) -> dict[str, object]:
    """The filter as the queries bind it."""
    return {
        **rows.params(),
        "now": iso(where.now),
        "kinds": json.dumps(where.kinds) if where.kinds else None,
        "tags": json.dumps(where.tags) if where.tags else None,
        "project": project_row(tx, rows.owner, where.project),
        "session": where.session,
        "exclude_session": where.exclude_session,
        "min_importance": where.min_importance,
        "since": where.since and iso(where.since),
        "until": where.until and iso(where.until),
        "as_of": where.as_of and iso(where.as_of),
        "trusts": json.dumps(where.trusts) if where.trusts else None,
        "archived": where.archived,
        "history": where.history,
        "flavors": json.dumps(where.flavors) if where.flavors else None,
        "pinned": where.pinned,
    }


def _finding(where: Filter) -> str:
    """The query that finds what a filter lets through by the index that leaves the fewest rows to look at."""
    if where.pinned:
        return "find_pinned"
    if where.session is not None:
        return "find_of_session"
    return "find" if where.project is None else "find_of_project"


def memory_of(row: tuple[Any, ...]) -> Memory:
    """A row of `memory_rows` (its columns in their order) as a value; its text must match its hash."""
    (
        _, _, id_, _, kind, content, why, tags, importance, confidence, origin, session, evidence, anchors, meta, _,
        digest, occurred, recorded, accessed, reads, version, successor, superseded, expires, archived, deleted,
        trust, maker, slot, confirmed, project,
    ) = row  # fmt: skip
    if hashlib.sha256(content.encode()).digest() != digest:
        raise StoreCorrupt(
            f"memory {id_} does not match its hash",
            hint="The file was changed from outside. `recollect doctor --deep` lists every such row.",
        )
    return Memory(
        id=id_,
        kind=kind,
        content=content,
        project=project,
        origin=origin,
        occurred_at=_time(occurred),
        recorded_at=_time(recorded),
        why=why,
        tags=_tags(tags),
        importance=importance,
        confidence=confidence,
        session=session,
        evidence=() if evidence == _EMPTY else tuple(Evidence(**span) for span in json.loads(evidence)),
        anchors=() if anchors == _EMPTY else tuple(json.loads(anchors)),
        meta={} if meta == "{}" else json.loads(meta),
        version=version,
        accessed_at=None if accessed is None else _time(accessed),
        access_count=reads,
        superseded_by=successor,
        superseded_at=None if superseded is None else _time(superseded),
        expires_at=None if expires is None else _time(expires),
        archived_at=None if archived is None else _time(archived),
        deleted_at=None if deleted is None else _time(deleted),
        trust=trust,
        maker=maker,
        slot=slot,
        confirmed_at=None if confirmed is None else _time(confirmed),
    )


def _time(told: str | datetime) -> datetime:
    """A time in its stored form, or as a time already, where a database sent it as one."""
    return told if isinstance(told, datetime) else from_iso(told)


@lru_cache(maxsize=4_096)
def _tags(text: str) -> tuple[str, ...]:
    """The same few stand on many memories."""
    return tuple(json.loads(text))


def params_of(memory: Memory) -> dict[str, object]:
    return {
        "id": memory.id,
        "kind": memory.kind,
        "content": memory.content,
        "why": memory.why,
        "tags": json.dumps(memory.tags, ensure_ascii=False),
        "importance": memory.importance,
        "confidence": memory.confidence,
        "origin": memory.origin,
        "session": memory.session,
        "evidence": evidence_text(memory),
        "anchors": json.dumps(memory.anchors, ensure_ascii=False),
        "meta": json.dumps(dict(memory.meta), ensure_ascii=False),
        "dedup_key": bytes.fromhex(dedup_key(memory.content)),
        "content_hash": bytes.fromhex(content_hash(memory.content)),
        "occurred_at": iso(memory.occurred_at),
        "recorded_at": iso(memory.recorded_at),
        "accessed_at": memory.accessed_at and iso(memory.accessed_at),
        "access_count": memory.access_count,
        "version": memory.version,
        "superseded_by": memory.superseded_by,
        "superseded_at": memory.superseded_at and iso(memory.superseded_at),
        "expires_at": memory.expires_at and iso(memory.expires_at),
        "archived_at": memory.archived_at and iso(memory.archived_at),
        "deleted_at": memory.deleted_at and iso(memory.deleted_at),
        "trust": memory.trust,
        "maker": memory.maker,
        "slot": memory.slot,
        "confirmed_at": memory.confirmed_at and iso(memory.confirmed_at),
    }


def version_params(old: MemoryVersion) -> dict[str, object]:
    return {
        "version": old.version,
        "kind": old.kind,
        "content": old.content,
        "why": old.why,
        "tags": json.dumps(old.tags, ensure_ascii=False),
        "importance": old.importance,
        "confidence": old.confidence,
        "until": iso(old.until),
    }


def _span(span: Evidence) -> dict[str, object]:
    return {"session": span.session, "event": span.event, "start": span.start, "end": span.end}
