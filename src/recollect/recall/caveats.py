"""What to know before relying on a hit: that another memory says otherwise, or that what it rests on is gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.model import Hit, Memory, Scope
from recollect.store.port import Store

if TYPE_CHECKING:
    from recollect.recall.validity import Look

_MOST = 3


def disputes(store: Store, scope: Scope, memory: Memory) -> tuple[str, ...]:
    """A note for each memory that says otherwise and still holds."""
    ids = memory.meta.get("disputes")
    if not isinstance(ids, list) or memory.superseded_at is not None:
        return ()
    others = [store.memories.get(scope, id_) for id_ in ids[:_MOST] if isinstance(id_, str)]
    return tuple(
        f"disputed by {other.id}"
        for other in others
        if other is not None and other.deleted_at is None and other.superseded_at is None
    )


def grounded(hits: tuple[Hit, ...], memories: Mapping[str, Memory | None], look: Look) -> tuple[Hit, ...]:
    """The hits with what a look at the repository tells; those that rest on something gone fall behind."""
    from recollect.recall.validity import GONE

    told = []
    for hit in hits:
        memory = memories.get(hit.id)
        found = look(memory) if memory is not None and memory.anchors and memory.superseded_at is None else ()
        gone = any(one.gone for one in found)
        score = hit.score * GONE if gone else hit.score
        notes = (*hit.notes, *(one.note for one in found), *(("score halved",) if gone else ()))
        told.append(replace(hit, score=score, parts=replace(hit.parts, final=score), notes=notes))
    return tuple(sorted(told, key=lambda hit: -hit.score))
