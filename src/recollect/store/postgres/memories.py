"""Memories in PostgreSQL: as everywhere, but many of them are written at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from recollect.model import SAID, Memory, MemoryVersion, Scope
from recollect.store.postgres.lexemes import entry
from recollect.store.rows.audit import Note, audit_many
from recollect.store.rows.memories import (
    RowMemories,
    check_project,
    evidence_text,
    params_of,
    tombstone_key,
    tombstone_of_source,
    version_params,
)
from recollect.store.rows.quotas import take
from recollect.store.rows.tasks import put_flood_watch
from recollect.store.rows.tx import Tx, ensure_project
from recollect.text import dedup_key


class PostgresMemories(RowMemories):
    """Memories and their versions in PostgreSQL."""

    def add_many(self, scope: Scope, memories: Sequence[tuple[Memory, Sequence[MemoryVersion]]]) -> list[bool]:
        """Keep many memories in a few statements, whatever their number; the same ones as one `add` after the other."""
        for memory, _ in memories:
            check_project(scope, memory)
        with self._db.write(scope) as tx:
            owner = tx.ensure().owner
            names = {memory.project for memory, _ in memories if memory.project is not None}
            projects = {name: ensure_project(tx, owner, name) for name in sorted(names)}
            fresh = _fresh(tx, [memory for memory, _ in memories], projects)
            kept = [given for given, new in zip(memories, fresh, strict=True) if new]
            if kept:
                _insert(tx, owner, kept, projects)
        return fresh


def _fresh(tx: Tx, memories: Sequence[Memory], projects: Mapping[str, int]) -> list[bool]:
    """Which of the memories are to be kept: not there yet, by id or by text, and not taken away before."""
    keys = [_key(memory, projects) for memory in memories]
    gone = {tombstone_key(memory.id) for memory in memories}
    gone |= {source for memory in memories if (source := _source(memory))}
    ids = _firsts(tx.run("memories.known_ids", {"ids": [memory.id for memory in memories]}))
    texts = set(map(tuple, tx.run("memories.known_texts", {"keys": [key for _, key in keys]}).fetchall()))
    buried = _firsts(tx.run("memories.buried", {"keys": list(gone)}))
    evidence = [evidence_text(memory) for memory in memories if _source(memory)]
    deleted = _firsts(tx.run("memories.deleted_evidence", {"evidence": evidence})) if evidence else set()
    fresh: list[bool] = []
    for memory, key in zip(memories, keys, strict=True):
        source = _source(memory)
        live = memory.deleted_at is None and memory.superseded_at is None
        new = memory.id not in ids and not (live and key in texts) and tombstone_key(memory.id) not in buried
        new = new and not (source and (source in buried or evidence_text(memory) in deleted))
        fresh.append(new)
        if new:
            ids.add(memory.id)
            if live:
                texts.add(key)
            if memory.deleted_at is not None and source:
                deleted.add(evidence_text(memory))
    return fresh


def _firsts(rows: Iterable[Sequence[object]]) -> set[object]:
    return {row[0] for row in rows}


def _key(memory: Memory, projects: Mapping[str, int]) -> tuple[int, bytes]:
    project = projects[memory.project] if memory.project is not None else 0
    return project, bytes.fromhex(dedup_key(memory.content))


def _source(memory: Memory) -> bytes | None:
    return None if memory.maker == SAID else tombstone_of_source(evidence_text(memory))


def _insert(
    tx: Tx, owner: int, memories: Sequence[tuple[Memory, Sequence[MemoryVersion]]], projects: Mapping[str, int]
) -> None:
    said = sum(memory.maker == SAID for memory, _ in memories)
    take(tx, owner, ingests=said, memories=sum(memory.deleted_at is None for memory, _ in memories))
    docs = [row[0] for row in tx.run("memories.numbers", {"count": len(memories)})]
    rows, words, versions, size = [], [], [], 0
    for doc, (memory, old) in zip(docs, memories, strict=True):
        project = None if memory.project is None else projects[memory.project]
        rows.append({**params_of(memory), "row": doc, "project": project})
        versions += [{**version_params(one), "memory": doc} for one in old]
        if memory.deleted_at is None:
            texts = {"content": memory.content, "extra": " ".join([memory.why or "", *memory.tags])}
            lexemes, length = entry("memory", owner, texts)
            words.append({"doc": doc, "size": length, "search": " ".join([f"'{lexeme}'" for lexeme in lexemes])})
            size += length
    tx.run("memories.add_rows", {"rows": _as_json(rows)})
    if versions:
        tx.run("memories.add_versions", {"rows": _as_json(versions)})
    if words:
        stamp = tx.one("index.count", {"tier": "memory", "by": len(words), "size": size})
        tx.run("memories.add_words", {"rows": _as_json(words), "stamp": stamp})
        put_flood_watch(tx, owner)
    now = tx.terms.clock()
    audit_many(tx, owner, [Note(now, "remember", memory.id, {"kind": memory.kind}) for memory, _ in memories])


def _as_json(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as one JSON text; bytes as PostgreSQL writes them."""
    return json.dumps(rows, ensure_ascii=False, default=lambda value: f"\\x{value.hex()}")
