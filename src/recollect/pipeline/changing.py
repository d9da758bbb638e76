"""A memory that is there is changed, said anew or taken away: what the façade's verbs for one memory do.

In: the store, a memory or its name, and what is to be different. Out: how it stands then, or a receipt. Secrets are
taken out of new words first, and a memory whose words change belongs to whatever slot they tell of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from recollect.clock import iso
from recollect.distill.memory import check_may_supersede, check_preference, checked_changes, new_memory
from recollect.distill.values.holding import MERGED, spans_of
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.inject.selection import INJECTABLE, STANDING
from recollect.model import PINNED, Evidence, Memory, MemoryVersion, Scope
from recollect.pipeline.cleaning import without_secrets
from recollect.settings import Settings
from recollect.store.port import Store
from recollect.store.ports.keeping import Receipt, another_wording
from recollect.text import dedup_key

_WORDED = ("content", "kind", "why", "tags", "importance", "confidence")  # what a version keeps


def found(store: Store, scope: Scope, memory_id: str, *, deleted: bool = False) -> Memory:
    """One memory, or NotFound; softly forgotten ones only when `deleted`."""
    memory = store.memories.get(scope, memory_id)
    if memory is None or (memory.deleted_at is not None and not deleted):
        raise NotFound(f"no memory {memory_id[:60]}", hint="`recollect list` shows ids.")
    return memory


def changed(memory: Memory, changes: Mapping[str, Any], settings: Settings) -> Memory:
    """The memory with these changes, checked and without secrets."""
    clean, _ = without_secrets(changes, settings)
    new = replace(memory, **checked_changes(clean))
    check_preference(new.kind, new.trust)
    if new.content == memory.content:
        return new
    from recollect.pipeline.settling import slot_for

    return replace(new, slot=slot_for(replace(new, slot=None)))


def former(memory: Memory, versions: Iterable[MemoryVersion], number: int) -> dict[str, Any]:
    """What to change for a memory to read as in one of its versions; NotFound when it never had that one."""
    old = next((one for one in versions if one.version == number), None)
    if old is None:
        raise NotFound("this memory has no such version")
    return {name: getattr(old, name) for name in _WORDED if getattr(old, name) != getattr(memory, name)}


def pinned(memory: Memory, now: datetime, *, on: bool) -> Memory:
    """The memory as a person wants it told: first of all, or in its turn.

    Only what may be put before an agent at all can be pinned: a pin makes nothing more trusted than it is.
    """
    meta = {name: value for name, value in memory.meta.items() if name != PINNED}
    if not on:
        return replace(memory, meta=meta)
    if memory.superseded_at is not None:
        raise InvalidInput("this memory was superseded", hint="Pin the one that holds now.")
    if memory.trust not in INJECTABLE:
        raise InvalidInput(
            "what is only quoted is never put before an agent by itself",
            hint="If it is so, confirm it first: `recollect confirm ID`.",
        )
    if memory.kind not in STANDING:
        raise InvalidInput(
            f"agents are not told of a {memory.kind} before they ask", hint="Kinds they are: " + ", ".join(STANDING)
        )
    return replace(memory, meta={**meta, PINNED: iso(now)}, archived_at=None)


def said_anew(old: Memory, content: str, fields: Mapping[str, Any], settings: Settings, now: datetime) -> Memory:
    """A memory to take the place of another, like it but for what is given."""
    given = {"kind": old.kind, "tags": old.tags, "importance": old.importance, **fields, "content": content}
    clean, _ = without_secrets(given, settings)
    new = new_memory(clean, project=old.project, now=now)
    check_may_supersede(new, old)
    return new


def wordings(store: Store, scope: Scope, memory_id: str) -> list[Memory]:
    """The memories that were merged into one, also by way of others."""
    found: dict[str, Memory] = {}
    asked = [memory_id]
    for id_ in asked:  # grows while it is gone through
        merged = [one for one in store.memories.replaced(scope, id_) if MERGED in one.meta and one.id not in found]
        found |= {one.id: one for one in merged}
        asked += [one.id for one in merged]
    return list(found.values())


def forget_softly(store: Store, scope: Scope, memory: Memory, now: datetime, *, with_merged: bool) -> Receipt:
    """A memory that can be brought back, and `with_merged` its other wordings; else they hold again."""
    others = wordings(store, scope, memory.id)
    if with_merged and others:
        store.memories.change(scope, [replace(one, deleted_at=now) for one in others], at=now, note="delete")
    store.memories.update(scope, replace(memory, deleted_at=now), at=now, note="delete")
    stand = [store.memories.get(scope, one.id) for one in others]
    back = [one for one in stand if one is not None and one.superseded_at is None and one.deleted_at is None]
    counts = {"memories": 1 + (len(others) if with_merged else 0)}
    return Receipt(counts, complete=False, remains=tuple(another_wording(one.id) for one in back))


def take_apart(store: Store, scope: Scope, memory: Memory, now: datetime) -> None:
    """What was merged into a memory that reads otherwise now holds again, unless that still says or contradicts it."""
    from recollect.learn.givingback import is_covered, released

    merged = [one for one in store.memories.replaced(scope, memory.id) if MERGED in one.meta]
    back: dict[str, Memory] = {}
    lent: list[Evidence] = []
    for one in merged:
        doubled = any(like.superseded_at is None for like in store.memories.like(scope, one))
        if one.archived_at is None and not doubled and not is_covered(one, memory):
            back.setdefault(dedup_key(one.content), released(one))
            mark = one.meta[MERGED]
            lent += spans_of(mark.get("lent")) if isinstance(mark, Mapping) else []
    if not back:
        return
    bare = replace(memory, evidence=tuple(span for span in memory.evidence if span not in lent))
    changes = [*back.values(), *([bare] if bare != memory else [])]
    with suppress(Conflict):  # somebody changed one of them just now: the next consolidation looks again
        store.memories.change(scope, changes, at=now, note="reinstate", subject=memory.id)


def forget_said(store: Store, scope: Scope, settings: Settings, session: str | None, now: datetime) -> Receipt:
    """A session, or without one everything in scope, taken away for good, with what hooks told of it."""
    from recollect.pipeline.drain import forget_records

    if session is None:
        from recollect.pipeline.rolling import Rolling

        left = Rolling(store, scope, settings, lambda: now).take_all_back()
        receipt = store.keeping.forget_all(scope, at=now)
        if left:
            receipt = replace(receipt, complete=False, remains=(*receipt.remains, *left))
    else:
        receipt = store.keeping.forget_session(scope, session, at=now)
    forget_records(settings, session=session, project=scope.project)
    return receipt
