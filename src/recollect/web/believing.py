"""Everything the page of a memory shows: how it reads and read before, the words it rests on, and what became of it.

In: a memory of the person who looks. Out: one value with plain fields; templates do no more than lay them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from recollect.inject.selection import INJECTABLE, STANDING
from recollect.model import Memory, MemoryVersion
from recollect.recall.belief import Belief, cited
from recollect.recall.related import Related
from recollect.store.ports.audit import Entry
from recollect.web.marking import Change, around, changes
from recollect.web.paths import at_event, session_address

if TYPE_CHECKING:
    from recollect.facade import Recollect

ROOM = 320  # characters shown on each side of what is quoted
MOST_VERSIONS = 20  # that are shown, the newest
MOST_EVIDENCE = 12
MOST_RELATED = 30
_INJECTED = 20  # times it was told that are known of
_QUOTED = (
    "It is only quoted, so agents see it when they ask and are never told it by themselves. Confirm it to change that."
)
_AUDITED, _LOOKED_AT = 20, 20_000  # entries of the audit that are shown, and how far back they are looked for


class Passage(NamedTuple):
    """Quoted words inside what was said around them; no text when that is not here any more."""

    session: str
    address: str
    origin: str | None = None
    at: datetime | None = None
    before: str = ""
    quoted: str | None = None
    after: str = ""


class Edition(NamedTuple):
    """How a memory read up to a time, and what was then changed."""

    old: MemoryVersion
    words: Sequence[Change]
    also: Sequence[tuple[str, str, str]]  # a field, what it was, what it became


@dataclass(frozen=True, slots=True)
class View:
    """A memory, and all that is known about it."""

    memory: Memory
    belief: Belief
    passages: Sequence[Passage]
    more_passages: int
    editions: Sequence[Edition]
    more_editions: int
    related: Sequence[Related]
    entries: Sequence[Entry]
    told: bool  # whether it may be put before an agent that did not ask
    told_why: str
    told_count: str  # how often it was, as far as that is kept


def view_of(memory: Recollect, belief: Belief) -> View:
    """What the page of a memory shows."""
    kept = belief.memory
    audited = memory.scope.project is None  # the audit is an owner's
    told, why = standing_of(kept, memory.filter().now)
    return View(
        memory=kept,
        belief=belief,
        passages=passages_of(memory, kept),
        more_passages=max(0, len(kept.evidence) - MOST_EVIDENCE),
        editions=editions_of(kept, belief.versions),
        more_editions=max(0, len(belief.versions) - MOST_VERSIONS),
        related=() if kept.deleted_at else related_of(belief),
        entries=memory.store.audit.find(memory.scope, limit=_AUDITED, subject=kept.id, look=_LOOKED_AT)
        if audited
        else (),
        told=told,
        told_why=why,
        told_count=_times(belief),
    )


def related_of(belief: Belief) -> tuple[Related, ...]:
    """What it has to do with, without those that the page tells of as its past or its future."""
    line = {one.id for one in (*belief.superseded, *belief.merged, *belief.successors)}
    return tuple(one for one in belief.relations if one.memory.id not in line)[:MOST_RELATED]


def _times(belief: Belief) -> str:
    number = len(belief.usage.injections) if belief.usage is not None else 0
    if number == 0:
        return "never"
    return "once" if number == 1 else f"{number:,} times{' or more' if number >= _INJECTED else ''}"


def passages_of(memory: Recollect, kept: Memory) -> list[Passage]:
    """The words a memory rests on, with what stands around them."""
    few = replace(kept, evidence=kept.evidence[:MOST_EVIDENCE])
    events = cited(memory.store, memory.scope, few)
    found = []
    for span in few.evidence:
        event = events.get((span.session, span.event or ""))
        if event is None:
            found.append(Passage(span.session, session_address(span.session)))
            continue
        begin = span.start or 0
        end = len(event.text) if span.end is None else span.end
        if span.start is None and span.end is None:
            end = min(end, 2 * ROOM)  # all of it is meant: its beginning stands for it
        words = around(event.text, begin, end, ROOM)
        found.append(Passage(span.session, at_event(span.session, event.key), event.origin, event.occurred_at, *words))
    return found


def editions_of(kept: Memory, versions: Sequence[MemoryVersion]) -> list[Edition]:
    """How it read before, the newest first, each with what was changed then."""
    newer: list[MemoryVersion | Memory] = [*versions[1:], kept]
    pairs = list(zip(versions, newer, strict=False))[-MOST_VERSIONS:]
    return [Edition(old, changes(old.content, new.content), _others(old, new)) for old, new in reversed(pairs)]


def standing_of(memory: Memory, now: datetime) -> tuple[bool, str]:
    """Whether agents may be told it at the start of a session, and why or why not."""
    if memory.deleted_at is not None:
        return False, "It is forgotten."
    if memory.superseded_at is not None:
        return False, "Another memory has taken its place; agents are told that one."
    if memory.archived_at is not None:
        return False, "It is archived, so agents are not told it. Put it back to change that."
    if memory.expires_at is not None and memory.expires_at <= now:
        return False, "Its time is over."
    if memory.trust not in INJECTABLE:
        return False, _QUOTED
    if memory.kind not in STANDING:
        return False, f"Agents are not told of a {memory.kind} before they ask."
    where = "in its project" if memory.project else "in every project"
    first = "Pinned: agents are told it first" if memory.pinned else "Agents may be told it"
    return True, f"{first} when a session starts {where}, as far as it fits."


def _others(old: MemoryVersion, new: MemoryVersion | Memory) -> list[tuple[str, str, str]]:
    told = [
        ("Kind", old.kind, new.kind),
        ("Why", old.why or "–", new.why or "–"),
        ("Tags", ", ".join(old.tags) or "–", ", ".join(new.tags) or "–"),
        ("Importance", f"{old.importance:g}", f"{new.importance:g}"),
        ("Confidence", f"{old.confidence:g}", f"{new.confidence:g}"),
    ]
    return [row for row in told if row[1] != row[2]]
