"""Why a memory is believed: the words it rests on and who said them, how it read before, and what says otherwise.

A memory comes in; everything the store knows about where it comes from and how it stands goes out, as values.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from recollect.distill.values.sayings import Saying, sayings_of
from recollect.model import Event, Evidence, Memory, MemoryVersion, Scope
from recollect.recall.related import Related, related
from recollect.recall.usefulness import Usage
from recollect.recall.validity import Finding, Look
from recollect.store.port import Store

_CHAIN = 100  # memories of a line of succession that are followed


@dataclass(frozen=True, slots=True)
class Quote:
    """The very words of one span, who said them and when; no text when they are not there any more."""

    span: Evidence
    origin: str | None = None
    at: datetime | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Belief:
    """A memory, and all that speaks for it and against it."""

    memory: Memory
    quotes: tuple[Quote, ...]
    said: tuple[Saying, ...]
    versions: tuple[MemoryVersion, ...]
    superseded: tuple[Memory, ...]  # what it took the place of, directly or not; the latest first
    merged: tuple[Memory, ...]  # other wordings of it
    successors: tuple[Memory, ...]
    disputes: tuple[Memory, ...]
    findings: tuple[Finding, ...]  # what became of what it names
    usage: Usage | None = None  # how useful it proved
    relations: tuple[Related, ...] = ()  # other memories it has to do with, as consolidating found


def belief(store: Store, scope: Scope, memory: Memory, look: Look | None = None) -> Belief:
    """Everything about why a memory is believed."""
    before = _replaced(store, scope, memory)
    return Belief(
        memory=memory,
        quotes=quotes(store, scope, memory),
        said=tuple(sayings_of(memory)),
        versions=tuple(store.memories.versions(scope, memory.id)),
        superseded=tuple(one for one in before if "merged" not in one.meta),
        merged=tuple(one for one in before if "merged" in one.meta),
        successors=_successors(store, scope, memory),
        disputes=_disputes(store, scope, memory),
        findings=look(memory) if look is not None else (),
        relations=related(store, scope, memory.id),
    )


def quotes(store: Store, scope: Scope, memory: Memory) -> tuple[Quote, ...]:
    """The words of every span a memory cites, exactly as they stand in the events."""
    events = cited(store, scope, memory)
    found = []
    for span in memory.evidence:
        event = events.get((span.session, span.event or ""))
        if event is None:
            found.append(Quote(span))
        else:
            found.append(Quote(span, event.origin, event.occurred_at, event.text[span.start or 0 : span.end]))
    return tuple(found)


def cited(store: Store, scope: Scope, memory: Memory) -> dict[tuple[str, str], Event]:
    """The events a memory cites that are still there, by session and key."""
    events = store.sessions.events(scope, [span.event for span in memory.evidence if span.event])
    return {(event.session, event.key): event for event in events}


def _disputes(store: Store, scope: Scope, memory: Memory) -> tuple[Memory, ...]:
    ids = memory.meta.get("disputes")
    others = [store.memories.get(scope, id_) for id_ in ids if isinstance(id_, str)] if isinstance(ids, list) else []
    return tuple(one for one in others if one is not None and one.deleted_at is None and one.superseded_at is None)


def _replaced(store: Store, scope: Scope, memory: Memory) -> list[Memory]:
    """What it took the place of, and what that had taken the place of."""
    chain: list[Memory] = []
    seen, asked = {memory.id}, [memory.id]
    for id_ in asked:  # grows while it is gone through
        for one in store.memories.replaced(scope, id_):
            if one.id not in seen and len(chain) < _CHAIN:
                seen.add(one.id)
                asked.append(one.id)
                chain.append(one)
    return chain


def _successors(store: Store, scope: Scope, memory: Memory) -> tuple[Memory, ...]:
    """What took its place, and what took the place of that."""
    chain: list[Memory] = []
    seen, current = {memory.id}, memory
    while current.superseded_by and current.superseded_by not in seen and len(chain) < _CHAIN:
        seen.add(current.superseded_by)
        following = store.memories.get(scope, current.superseded_by)
        if following is None:
            break
        chain.append(following)
        current = following
    return tuple(chain)
