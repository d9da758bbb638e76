"""What is worth saying before anybody asks: the standing memories of a project, the best first.

In come memories of any kind; out come at most 24 that a user said or that were checked, that are current, and none of
which says what a better one says, or what the agent's own files say already. What a person pinned comes first. Then
preferences and rules weigh most, then decisions, lessons, facts; then importance, how recent it is, whether it is the
project's own, whether the user confirmed it, and how useful it proved. How often it was recalled does not count: what
is shown often would be shown ever more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from recollect.clock import age_days
from recollect.inject.sameness import Known, Sense, repeats, sense
from recollect.model import Memory
from recollect.store.ports.memories import Weighing

INJECTABLE = ("user", "checked")  # what is only quoted is never put before an agent by itself
WEIGHTS = {"preference": 1.0, "decision": 0.8, "lesson": 0.7, "fact": 0.6, "note": 0.5, "reference": 0.4}
STANDING = tuple(WEIGHTS)
MOST = 24
_KIND, _IMPORTANCE, _RECENCY, _OWN, _CONFIRMED = 0.4, 0.3, 0.15, 0.1, 0.05
_USE = 0.1
_DECAY = 0.01  # a day
# The same for a store, which weighs many at once.
WEIGHING = Weighing(WEIGHTS, _KIND, _IMPORTANCE, _RECENCY, _DECAY, _OWN, _CONFIRMED)


@dataclass(frozen=True, slots=True)
class Selection:
    """Memories to say, the best first, as of a day; `ailment` is what to know about Recollect itself.

    `suggestion` is one thing to say before all of them, as it is shown. `notes` are what to know before relying on a
    memory, by its id. Where those of several projects stand together (`mixed`), each names its own.
    """

    memories: tuple[Memory, ...]
    at: datetime
    ailment: str | None = None
    mixed: bool = False
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    suggestion: str | None = None


def ranked(
    memories: Iterable[Memory], at: datetime, useful: Mapping[str, float] = MappingProxyType({})
) -> list[Memory]:
    """Those that may be said at all, the best first; `useful` is how useful some proved, from -1 to 1, by their ids."""

    def place(memory: Memory) -> tuple[object, ...]:
        told = worth(memory, at) + _USE * useful.get(memory.id, 0.0)
        return not memory.pinned, -told, -memory.occurred_at.timestamp(), memory.id

    return sorted((memory for memory in memories if is_injectable(memory, at)), key=place)


def select(
    best: Iterable[Memory],
    at: datetime,
    *,
    known: Known | None = None,
    shown: Known | None = None,
    ailment: str | None = None,
    mixed: bool = False,
    most: int = MOST,
    said: Callable[[str], Sense] = sense,
) -> Selection:
    """Of memories in their order, those that are worth saying beside each other.

    That is without what the agent's own files say (`known`), and what we put before it elsewhere (`shown`); the latter
    has its place among the best all the same, so that nothing worse moves up for it.
    """
    kept = _different(best, known or Known(), most, said)
    fresh = [memory for memory, its in kept if shown is None or not shown.says(its)]
    return Selection(tuple(fresh), at, ailment, mixed)


def is_injectable(memory: Memory, at: datetime) -> bool:
    """Whether a memory may be put before an agent that did not ask."""
    current = memory.deleted_at is None and memory.archived_at is None and memory.superseded_at is None
    expired = memory.expires_at is not None and memory.expires_at <= at
    trusted = memory.trust in INJECTABLE and memory.kind in WEIGHTS
    return trusted and current and not expired and bool(memory.content.strip())


def worth(memory: Memory, at: datetime) -> float:
    """How much a memory deserves to be said, from 0 to 1."""
    recency = 1 / (1 + _DECAY * age_days(memory.occurred_at, at))
    return (
        _KIND * WEIGHTS[memory.kind]
        + _IMPORTANCE * memory.importance
        + _RECENCY * recency
        + _OWN * (memory.project is not None)
        + _CONFIRMED * (memory.confirmed_at is not None)
    )  # fmt: skip


def _different(
    best: Iterable[Memory], known: Known, most: int, said: Callable[[str], Sense]
) -> list[tuple[Memory, Sense]]:
    """The first that say something of their own."""
    kept: list[tuple[Memory, Sense]] = []
    for memory in best:
        if len(kept) >= most:
            break
        its = said(memory.content)
        if not known.says(its) and not any(repeats(its, other) for _, other in kept):
            kept.append((memory, its))
    return kept
