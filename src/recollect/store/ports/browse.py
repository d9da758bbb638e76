"""Looking through sessions: lists with filters, one session page by page, and what is new since a moment.

A port and its values. Every answer is bounded, however many sessions there are and however long one is: a page of a
session is read by positions, and a long text is cut where it is read. Like every port it begins with a scope.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from recollect.distill.digest import Digest
    from recollect.model import Event, Scope, Session
    from recollect.store.ports.capture import Seen

MOST_CHOICES = 200  # agents, projects or outcomes that are told
LOOK = 2_000  # rows of one kind that are gone through at once for what is new
Thing = Literal["event", "memory", "gist", "task", "shown", "more"]


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Which sessions are meant. Empty fields do not narrow; times are those of a session's last event."""

    flavor: str | None = None
    project: str | None = None  # NO_PROJECT: those of none
    outcome: str | None = None
    since: datetime | None = None
    until: datetime | None = None  # before it
    words: tuple[str, ...] = ()  # all of them stand in its title, its goal or its id, in capitals or not


class Listed(NamedTuple):
    """A session in a list: its digest, if it has one, and how many sessions were started from it."""

    session: Session
    digest: Digest | None
    children: int


class Child(NamedTuple):
    """A session that was started from another, and what it was for."""

    session: Session
    goal: str | None


@dataclass(frozen=True, slots=True)
class Choices:
    """What sessions can be narrowed to, and how many there are of each; the most first."""

    flavors: Mapping[str, int] = field(default_factory=dict)
    projects: Mapping[str, int] = field(default_factory=dict)  # NO_PROJECT for those of none
    outcomes: Mapping[str, int] = field(default_factory=dict)


class Passage(NamedTuple):
    """An event as a page shows it: its text, perhaps cut, how many characters it has, and which turn it is of."""

    event: Event
    chars: int
    turn: int

    @property
    def is_cut(self) -> bool:
        return len(self.event.text) < self.chars


@dataclass(frozen=True, slots=True)
class Extent:
    """How long a session is, of what it is made, by which ways it came, and what was read of its transcripts."""

    events: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)
    ways: Mapping[str, int] = field(default_factory=dict)
    transcripts: tuple[Seen, ...] = ()


class Mark(NamedTuple):
    """A moment in what an owner's store takes in: the last row of each kind, and times in microseconds."""

    event: int = 0
    memory: int = 0
    gist: int = 0
    task: int = 0
    shown: int = 0


class New(NamedTuple):
    """One thing that came: an event, a memory, a gist, a task that ended, a memory that was shown to an agent.

    Or `more`: that there were `chars` more of a kind. `id` names it among all, `at` is when it came in, `kind` is the
    kind of event, memory or task, who made a gist, or to whom a memory was shown; `meta` is an event's, or tells more.
    """

    thing: Thing
    id: str
    at: datetime
    kind: str
    text: str
    chars: int
    session: str | None
    meta: Mapping[str, Any]
    mark: Mark  # where to go on after it


class Browse(Protocol):
    """What a person looks through."""

    def sessions(self, scope: Scope, where: SessionFilter, *, limit: int, offset: int = 0) -> list[Listed]:
        """Sessions, the latest first."""
        ...

    def days(self, scope: Scope, where: SessionFilter) -> dict[str, int]:
        """How many sessions had their last event on which day, in UTC; days without any are left out."""
        ...

    def choices(self, scope: Scope, *, most: int = MOST_CHOICES) -> Choices: ...
    def children(self, scope: Scope, parents: Sequence[str], *, limit: int) -> list[Child]:
        """Sessions that were started from these, in the order they began."""
        ...

    def extent(self, scope: Scope, session: str) -> Extent: ...
    def passages(self, scope: Scope, session: str, *, after: int, first: int, most: int) -> list[Passage]:
        """The first events after a position, each with at most so many characters of its text."""
        ...

    def matching(
        self, scope: Scope, session: str, words: Sequence[str], *, limit: int, after: int = -1
    ) -> list[Passage]:
        """Events after a position with all of these words in their text, in capitals or not (of ASCII letters)."""
        ...

    def media(self, scope: Scope, session: str, body_hash: str) -> str | None:
        """Of what type a body of a session is; None when the session has none of that name."""
        ...

    def mark(self, scope: Scope, *, at: datetime) -> Mark:
        """Now: nothing that is there already is new."""
        ...

    def last(self, scope: Scope, *, since: datetime, limit: int, most: int) -> list[New]:
        """The last events and memories there are, so many of each, and what else came after a moment."""
        ...

    def since(self, scope: Scope, mark: Mark, *, limit: int, most: int) -> tuple[list[New], Mark]:
        """What came after a mark, in order, with at most so many characters of a text; and where to go on.

        Of very much the latest `limit` of a kind are given, with one that says how many more there were. What is found
        by its time alone (all but events and memories) may come in later than its time says: ask again from before.
        """
        ...
