"""What a hit or a memory looks like in a list: its text in pieces, where it comes from, and why it ranked.

In: hits of recall, or memories. Out: cards, which hold everything a template shows of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from markupsafe import Markup

from recollect.model import Evidence, Hit, Memory
from recollect.recall.profile import Profile
from recollect.text import one_line
from recollect.web.marking import Piece, excerpt, marked
from recollect.web.paths import at_event, memory_address, project_label, session_address
from recollect.web.plots import parts_bar

SHOWN = {"memory": 700, "gist": 600, "turn": 420}  # characters of a hit that are shown
_MOST_EVIDENCE = 3
_LOOKED_AT = 20_000  # characters of a turn in which the words asked for are looked for


class Share(NamedTuple):
    """One part of a score: what it is called, its value, how much that weighs, and what it adds."""

    name: str
    value: str
    weight: str
    adds: float


class Source(NamedTuple):
    """Where a card's words stand in a transcript."""

    label: str
    address: str


@dataclass(frozen=True, slots=True)
class Card:
    """One hit, or one memory."""

    id: str
    tier: str
    what: str  # the kind of a memory, else the tier
    pieces: Sequence[Piece]
    at: datetime
    origin: str
    trust: str | None
    address: str | None  # its own page, or the transcript
    sources: Sequence[Source] = ()
    why: str | None = None
    tags: Sequence[str] = ()
    project: str | None = None
    home: str = ""  # the project in little room
    notes: Sequence[str] = ()
    context: str | None = None
    superseded: bool = False
    archived: bool = False
    forgotten_at: datetime | None = None
    pinned: bool = False
    score: float | None = None
    bar: Markup | None = None
    parts: Sequence[Share] = ()


def card_of_hit(hit: Hit, words: re.Pattern[str] | None, profile: Profile) -> Card:
    """A hit, with why it ranked."""
    parts = shares(hit, profile)
    text = hit.content if hit.tier == "memory" else one_line(hit.content[:_LOOKED_AT])
    told = ", ".join(f"{part.name.lower()} {part.adds:.2f}" for part in parts)
    return Card(
        id=hit.id,
        tier=hit.tier,
        what=hit.kind or hit.tier,
        pieces=marked(excerpt(text, words, SHOWN[hit.tier]), words),
        at=hit.occurred_at,
        origin=hit.origin,
        trust=hit.trust if hit.tier == "memory" else None,
        address=_address(hit),
        sources=() if hit.context else sources_of(hit.evidence),
        why=hit.why,
        tags=hit.tags,
        project=hit.project,
        home=project_label(hit.project or ""),
        notes=hit.notes,
        context=hit.context,
        superseded=hit.superseded_by is not None,
        score=hit.score,
        bar=parts_bar([(part.name, part.adds) for part in parts], f"Why it ranked: {told}"),
        parts=parts,
    )


def card_of_memory(memory: Memory, words: re.Pattern[str] | None = None) -> Card:
    """A memory in a list that is not ranked."""
    return Card(
        id=memory.id,
        tier="memory",
        what=memory.kind,
        pieces=marked(excerpt(memory.content, words, SHOWN["memory"]), words),
        at=memory.occurred_at,
        origin=memory.origin,
        trust=memory.trust,
        address=memory_address(memory.id),
        sources=sources_of(memory.evidence),
        why=memory.why,
        tags=memory.tags,
        project=memory.project,
        home=project_label(memory.project or ""),
        superseded=memory.superseded_at is not None,
        archived=memory.archived_at is not None,
        forgotten_at=memory.deleted_at,
        pinned=memory.pinned,
    )


def shares(hit: Hit, profile: Profile) -> list[Share]:
    """What a score is made of. What words and meaning add is what the rest does not."""
    parts = hit.parts
    importance, recency = profile.importance * parts.importance, profile.recency * parts.recency
    use = profile.use * parts.use
    fits = max(0.0, parts.final - importance - recency - use)
    meaning = "meaning not looked at" if parts.semantic is None else f"meaning {parts.semantic:.2f}"
    found = [
        Share("Fit", f"words {parts.lexical:.2f}, {meaning}", f"{profile.similarity:.0%}", fits),
        Share("Importance", f"{parts.importance:.2f}", f"{profile.importance:.0%}", importance),
        Share("Recency", f"{parts.recency:.2f}", f"{profile.recency:.0%}", recency),
    ]
    return [*found, Share("Use", f"{parts.use:+.2f}", f"{profile.use:.0%}", use)] if parts.use else found


def sources_of(evidence: Sequence[Evidence]) -> list[Source]:
    """The first few places a card's words stand in."""
    places = dict.fromkeys((span.session, span.event) for span in evidence if span.session)
    return [
        Source(_agent(session), at_event(session, event) if event else session_address(session))
        for session, event in list(places)[:_MOST_EVIDENCE]
    ]


def _address(hit: Hit) -> str | None:
    if hit.tier == "memory":
        return memory_address(hit.id)
    if hit.session is None or hit.context is not None:
        return None  # a transcript of others is not one's own
    return at_event(hit.session, hit.id) if hit.tier == "turn" else session_address(hit.session)


def _agent(session: str) -> str:
    agent, colon, _ = session.partition(":")
    return agent if colon and agent else session
