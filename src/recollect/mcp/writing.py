"""The tools that write: what an agent saves is the assistant's word, and what it forgets can be brought back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.errors import NotFound
from recollect.inject.quote import label
from recollect.mcp import rows

if TYPE_CHECKING:
    from recollect.facade import Recollect

# What became of a memory, and how the others it concerns stand to it.
_OUTCOMES = {
    "added": ("added", "this holds instead of it"),
    "known": ("known already", "beside"),
    "merged": ("kept as one with what says nearly the same", "with"),
    "superseding": ("added, in place of an older one", "in place of"),
    "disputed": ("added, but disputed: another memory says otherwise", "against"),
    "withheld": ("not kept: the user took this away before", "beside"),
}


def save(memory: Recollect, given: dict[str, Any]) -> str:
    """Keep one thing, without its secrets; says what became of it."""
    settled, taken = memory.keep({**given, "origin": "assistant"})
    kept = settled.memory
    place = f"in {label(kept.project)}" if kept.project else "for every project"
    became, beside = _OUTCOMES[settled.outcome]
    lines = [f"[{became}: {kept.id} · {kept.kind} · {place}]"]
    lines += [f"[{beside} {other.id}]\n> {rows.line(other.content)}" for other in settled.others]
    if taken:
        lines.append(f"[{taken} secrets were taken out of it before it was kept]")
    return rows.page(lines) if settled.others else "\n".join(lines)


def forget(memory: Recollect, given: dict[str, Any]) -> str:
    """Take memories away softly; one that is gone already is no failure."""
    lines = []
    for id_ in given["ids"]:
        kept = memory.store.memories.get(memory.scope, id_)
        if kept is None:
            raise NotFound(f"no memory {label(id_, 60)} here", hint="memory_search shows ids.")
        if kept.deleted_at is None:
            memory.forget(kept.id, soft=True)
        lines.append(f"[forgotten: {kept.id}; `recollect undo {kept.id}` brings it back]")
    return "\n".join(lines)
