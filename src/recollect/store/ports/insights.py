"""What a store tells of some days in figures: memories made, sessions run, what they cost, how often it was asked.

A port and its values. In: a scope and a window. Out: counts by day, each list of them bounded; the texts among them are
names, tags and a few memories that were read most. Like every port it begins with a scope.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol

from recollect.model import Scope

NEWEST = 500  # memories whose tags and reads are looked at
FILES = 200  # transcripts that are held against the store
MOST = 20_000  # rows of one answer
KEPT_DAYS = 730  # for which it is kept how often it was asked


@dataclass(frozen=True, slots=True)
class Window:
    """Which figures: of the days from `since` until before `until`, of one project and one agent, or of all.

    They are told by stretches of `step` days from the first on; the `day` of a figure is the first of its stretch.
    """

    since: datetime
    until: datetime
    project: str | None = None
    flavor: str | None = None
    step: int = 1


class MemoryDay(NamedTuple):
    """How many memories of a kind that hold now are of a stretch of days."""

    day: str
    kind: str
    memories: int


class Read(NamedTuple):
    """A memory and how often it was given back."""

    id: str
    content: str
    reads: int


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest memories of a window, at most NEWEST: what they are tagged with, and how many were ever read."""

    memories: int = 0
    read: int = 0
    reads: int = 0
    tags: Mapping[str, int] = field(default_factory=dict)  # those borne most often
    most_read: tuple[Read, ...] = ()


class SessionDay(NamedTuple):
    """Sessions that began in a stretch of days, of one agent and outcome; `points` is the health of the `scored`."""

    day: str
    flavor: str
    outcome: str
    sessions: int
    scored: int
    points: int


class Taken(NamedTuple):
    """What requests to models took, of one stretch of days and agent, one project, or one model.

    `usd` is of the `priced` ones; a project or model that is not known has the name "".
    """

    of: str  # agent, project or model
    name: str
    day: str  # "" but for agents
    requests: int
    input: int
    cache_read: int
    cache_write: int
    output: int
    usd: float
    priced: int

    @property
    def tokens(self) -> int:
        return self.input + self.cache_read + self.cache_write + self.output


class RecallDay(NamedTuple):
    """How often the memory was asked on one day, how often it abstained, and how many memories it gave back."""

    day: str
    recalls: int
    abstained: int
    memories: int


class FlavorCoverage(NamedTuple):
    """An agent's files that were looked at: the turns in them, those that are stored, those kept out on purpose."""

    flavor: str
    files: int
    turns: int
    stored: int
    kept_out: int

    @property
    def missing(self) -> int:
        return self.turns - self.stored - self.kept_out


class TierSize(NamedTuple):
    """How much there is of one tier, and how much of it waits for a vector."""

    tier: str
    documents: int
    pending: int


@dataclass(frozen=True, slots=True)
class Storage:
    """What an owner's memory takes: documents by tier, bodies beside the rows, and those that were evicted."""

    tiers: tuple[TierSize, ...] = ()
    bodies: int = 0
    body_bytes: int = 0
    evicted: int = 0


class TaskCount(NamedTuple):
    """Tasks of one kind that wait, run or are dead."""

    kind: str
    state: str
    tasks: int


class Names(NamedTuple):
    """The agents and projects that figures can be asked of."""

    flavors: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()


class Insights(Protocol):
    """Figures by day, of what a scope sees."""

    def memories(self, scope: Scope, window: Window) -> list[MemoryDay]:
        """Memories by kind; of all agents."""
        ...

    def newest(self, scope: Scope, window: Window, *, limit: int = NEWEST, most: int = 20) -> Newest: ...
    def sessions(self, scope: Scope, window: Window) -> list[SessionDay]: ...
    def costs(self, scope: Scope, window: Window) -> list[Taken]:
        """The same sum three times: by agent and day, by project, and by model."""
        ...

    def coverage(self, scope: Scope, window: Window, *, files: int = FILES) -> list[FlavorCoverage]:
        """By agent, of the newest files; in a scope with a project nothing is told of agents' files."""
        ...

    def recalls(self, scope: Scope, window: Window) -> list[RecallDay]:
        """Of all projects and agents: who asks is not kept."""
        ...

    def count_recalls(self, scope: Scope, counted: Sequence[RecallDay]) -> None:
        """Add to what was counted on these days; nothing for an owner who keeps nothing."""
        ...

    def storage(self, scope: Scope) -> Storage:
        """Of the whole owner; nothing in a scope with a project."""
        ...

    def tasks(self, scope: Scope) -> list[TaskCount]: ...
    def names(self, scope: Scope, *, most: int = 200) -> Names: ...
    def database_bytes(self) -> int:
        """What the whole store takes in the database: for whoever looks after it."""
        ...
