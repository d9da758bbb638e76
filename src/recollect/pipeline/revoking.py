"""Revoking a source: everything that came from a session, an origin or a maker is taken away softly, as one step.

A name comes in; how many memories were deleted and how many only lost some of their support goes out. What others said
too stays, trusted no more than they are; what the source had ended holds again. `reinstate` gives all of it back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from recollect.clock import Clock, iso
from recollect.distill.values.holding import APART, BY_RULE, DISPUTES, MERGED, REVOKED, spans_of, written_span
from recollect.distill.values.sayings import SAID_META, Saying, sayings_of, with_sayings
from recollect.errors import NotFound
from recollect.model import Memory, Scope
from recollect.pipeline.settling import rehold, retried
from recollect.store.port import Store


@dataclass(frozen=True, slots=True)
class Revoked:
    """What was taken away, and what stays with less behind it."""

    deleted: tuple[Memory, ...]
    lowered: tuple[Memory, ...]

    @property
    def counts(self) -> dict[str, int]:
        return {"memories": len(self.deleted), "lowered": len(self.lowered)}


def would_revoke(store: Store, scope: Scope, source: str, now: datetime) -> Revoked:
    """What revoking a source would take away."""
    after = [_without(memory, source, now) for memory in store.memories.from_source(scope, source)]
    gone = tuple(memory for memory in after if memory.deleted_at is not None)
    return Revoked(gone, tuple(memory for memory in after if memory.deleted_at is None))


def revoke(store: Store, scope: Scope, source: str, clock: Clock) -> Revoked:
    """Take away what came from a source, in one step; NotFound when nothing did."""

    def once() -> Revoked:
        revoked = would_revoke(store, scope, source, clock())
        changes = {memory.id: memory for memory in (*revoked.deleted, *revoked.lowered)}
        if not changes:
            raise NotFound(
                f"nothing remembered here came from {source[:60]}",
                hint="A source is a session, an origin (web, tool, import …) or a maker (rules, or a model's name).",
            )
        rehold(store, scope, clock, changes, note="revoke", subject=source)
        return revoked

    return retried(once)


def reinstate(store: Store, scope: Scope, source: str, clock: Clock) -> tuple[Memory, ...]:
    """Give back what revoking a source took away, as long as its text is there."""

    def once() -> tuple[Memory, ...]:
        found = [
            memory
            for deleted in (True, False)
            for memory in store.memories.from_source(scope, source, deleted=deleted)
            if _mark(memory).get("source") == source and memory.content
        ]
        if not found:
            raise NotFound(f"no deleted memory or revoked source {source[:60]} that can be brought back")
        changes = {memory.id: _with_again(memory) for memory in found}
        rehold(store, scope, clock, changes, note="reinstate", subject=source)
        return tuple(changes.values())

    return retried(once)


def bring_back(store: Store, scope: Scope, memory_id: str, clock: Clock) -> Memory:
    """A memory that was superseded, merged, archived or deleted, back as one of its own; NotFound when it is none.

    What was superseded stands apart from then on: rules do not end it again. What was quarantined is not again.
    """

    def once() -> Memory:
        memory = store.memories.get(scope, memory_id)
        if memory is None or not memory.content or not _is_away(memory):
            raise NotFound(
                f"no superseded, merged, archived or deleted memory {memory_id[:60]} that can be brought back",
                hint="What was softly forgotten can be brought back for some days.",
            )
        if memory.deleted_at is not None:
            mark = {name: value for name, value in memory.meta.items() if name != REVOKED}
            restored = replace(memory, deleted_at=None, meta=mark)
            rehold(store, scope, clock, {memory_id: restored}, note="restore")
        elif memory.superseded_at is not None:
            store.memories.change(scope, _apart(store, scope, memory), at=clock(), note="reinstate")
        else:
            store.memories.update(scope, replace(memory, archived_at=None), at=clock(), note="reinstate")
        return store.memories.get(scope, memory_id) or memory

    return retried(once)


def _is_away(memory: Memory) -> bool:
    return any(at is not None for at in (memory.deleted_at, memory.superseded_at, memory.archived_at))


def _apart(store: Store, scope: Scope, memory: Memory) -> list[Memory]:
    """The memory on its own again; what it was merged into gives back the evidence it had from it."""
    mark = memory.meta.get(MERGED)
    lent = spans_of(mark.get("lent")) if isinstance(mark, dict) else []
    meta = {name: value for name, value in memory.meta.items() if name not in (MERGED, BY_RULE, DISPUTES)}
    back = replace(memory, superseded_by=None, superseded_at=None, slot=None, meta={**meta, APART: True})
    into = store.memories.get(scope, memory.superseded_by) if lent and memory.superseded_by else None
    if into is None:
        return [back]
    return [back, replace(into, evidence=tuple(span for span in into.evidence if span not in lent))]


def _without(memory: Memory, source: str, now: datetime) -> Memory:
    """A memory without what a source said and shows; deleted when nothing else is behind it."""
    said = sayings_of(memory)
    left = [saying for saying in said if not _from(saying, source)]
    evidence = tuple(span for span in memory.evidence if span.session != source)
    mark: dict[str, Any] = {"source": source, "at": iso(now)}
    if not left or (memory.evidence and not evidence and len(left) == len(said)):
        return replace(memory, deleted_at=now, meta={**memory.meta, REVOKED: mark})
    mark["kind"] = memory.kind
    mark["evidence"] = [written_span(span) for span in memory.evidence if span not in evidence]
    if len(left) < len(said):
        mark[SAID_META] = with_sayings(memory, said).meta.get(SAID_META)
    lowered = with_sayings(memory, left)
    return replace(lowered, evidence=evidence, meta={**lowered.meta, REVOKED: mark})


def _with_again(memory: Memory) -> Memory:
    """A memory with what was revoked of it."""
    mark = _mark(memory)
    meta = {name: value for name, value in memory.meta.items() if name != REVOKED}
    if memory.deleted_at is not None:
        return replace(memory, deleted_at=None, meta=meta)
    whole = replace(memory, meta={**meta, SAID_META: mark[SAID_META]} if mark.get(SAID_META) else meta)
    again = with_sayings(whole, sayings_of(whole))
    kind = "preference" if mark.get("kind") == "preference" and again.trust == "user" else memory.kind
    return replace(again, kind=kind, evidence=(*memory.evidence, *spans_of(mark.get("evidence"))))


def _from(saying: Saying, source: str) -> bool:
    """Whether a source said this; that a user confirmed it is the user's own word."""
    if saying.confirmed:
        return source == "user"
    return source in (saying.session, saying.origin, saying.maker)


def _mark(memory: Memory) -> dict[str, Any]:
    mark = memory.meta.get(REVOKED)
    return mark if isinstance(mark, dict) else {}
