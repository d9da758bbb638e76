"""What a scope holds, in figures: how many memories of which kind, tag, session and time, and what waits.

In: a scope and a filter. Out: counts, each list of them bounded. Nothing here returns content.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from recollect.model import Scope
    from recollect.store.ports.memories import Filter

Period = Literal["day", "month"]
MOST = 50  # values of one facet that are told
WITHHELD = "withheld:"  # before the reason, among the counts of a transcript


@dataclass(frozen=True, slots=True)
class Tally:
    """The memories a filter lets through: how many, about how many tokens they take, and how many of each."""

    memories: int = 0
    tokens: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, int] = field(default_factory=dict)  # those borne most often
    sessions: Mapping[str, int] = field(default_factory=dict)  # those most memories come from
    periods: Mapping[str, int] = field(default_factory=dict)  # days or months in UTC, the latest first


class Held(NamedTuple):
    """What else a scope holds. `pending` are texts of the owner, in any project, that wait for their vector."""

    sessions: int = 0
    turns: int = 0
    pending: int = 0


class Source(NamedTuple):
    """An agent or a project: how many sessions there are of it, and when the latest ended."""

    name: str
    sessions: int
    last: datetime


class Withheld(NamedTuple):
    """What was taken out of one agent's sessions before they were stored, by its reason, and how often."""

    agent: str
    what: str
    times: int


@dataclass(frozen=True, slots=True)
class Captured:
    """Where a scope's sessions came from, what of them was not kept, and how many bodies lie beside them."""

    agents: tuple[Source, ...] = ()  # most sessions first
    projects: tuple[Source, ...] = ()  # the latest first
    withheld: tuple[Withheld, ...] = ()
    bodies: int = 0
    body_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Facets:
    """The memories a filter lets through among the newest, and how many of them there are of each; most first.

    Not `complete`: there are more memories than were looked at.
    """

    memories: int = 0
    complete: bool = True
    kinds: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, int] = field(default_factory=dict)
    projects: Mapping[str, int] = field(default_factory=dict)
    agents: Mapping[str, int] = field(default_factory=dict)  # by the flavor of the session they come from
    trusts: Mapping[str, int] = field(default_factory=dict)


class Named(NamedTuple):
    """Tags that begin with what somebody types, most borne first, and projects that hold it."""

    tags: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()


class Stats(Protocol):
    """Counts of what a scope sees."""

    def tally(self, scope: Scope, where: Filter, *, by: Period, most: int = MOST) -> Tally: ...
    def held(self, scope: Scope) -> Held: ...
    def captured(self, scope: Scope, *, most: int = 200) -> Captured: ...
    def facets(self, scope: Scope, where: Filter, *, look: int, most: int = MOST) -> Facets: ...
    def named(self, scope: Scope, beginning: str, *, look: int, most: int) -> Named: ...
