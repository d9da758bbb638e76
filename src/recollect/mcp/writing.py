"""The tools that write: what an agent saves is the assistant's word, and what it forgets can be brought back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInput, NotFound
from recollect.inject.quote import label
from recollect.mcp import rows
from recollect.mcp.tools import VERDICTS

if TYPE_CHECKING:
    from recollect.facade import Recollect

_NOTE_CHARS = 1_000
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
    """Keep one thing, without its secrets, or a verdict on some; says what became of it."""
    if "verdict" in given or "ids" in given:
        return _feedback(memory, given)
    settled, taken = memory.keep({**given, "origin": "assistant"})
    kept = settled.memory
    place = f"in {label(kept.project)}" if kept.project else "for every project"
    became, beside = _OUTCOMES[settled.outcome]
    lines = [f"[{became}: {kept.id} · {kept.kind} · {place}]"]
    lines += [f"[{beside} {other.id}]\n> {rows.line(other.content)}" for other in settled.others]
    if taken:
        lines.append(f"[{taken} secrets were taken out of it before it was kept]")
    return rows.page(lines) if settled.others else "\n".join(lines)


def _feedback(memory: Recollect, given: dict[str, Any]) -> str:
    """What the agent says of the use of memories: its own word, once a memory and verdict."""
    if "verdict" not in given or "ids" not in given:
        raise InvalidInput("a verdict needs ids, and ids a verdict", hint="helpful, harmful or cited.")
    if extra := sorted(given.keys() - {"ids", "verdict", "content"}):
        raise InvalidInput(f"a verdict has no {extra[0]}", hint="It takes ids, verdict, and why in content.")
    if given["verdict"] not in VERDICTS:
        raise InvalidInput(f"unknown verdict {given['verdict'][:40]!r}", hint="Verdicts: " + ", ".join(VERDICTS))
    known = [memory.get(id_).id for id_ in given["ids"]]  # all or none
    lines = []
    for id_ in known:
        told = memory.feedback(id_, given["verdict"], note=given["content"][:_NOTE_CHARS], source="agent")
        lines.append(f"[{given['verdict']}: {id_} · useful {told.usefulness:+.2f} of 1]")
    return "\n".join(lines)


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
