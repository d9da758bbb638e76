"""What a store keeps of what was learned: patterns as they were reviewed, what shows them, where their rules were put.

A port and its values. A pattern begins as a candidate that detecting found; every later word on it is a version, with
who said it and why. What shows a pattern is kept by session, so that it goes with the session. Like every port it
begins with a scope: in a project, only patterns that are seen in that project alone, or in none, are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from recollect.model import Scope

PATTERN_STATES = ("candidate", "approved", "rejected", "retired", "merged")
ROLLOUT_STATES = ("begun", "in", "out")
TARGETS = ("agents-md", "claude-md", "skill", "memory")
MOST_SIGHTINGS = 200  # sessions kept as evidence of one pattern, the newest


@dataclass(frozen=True, slots=True)
class Pattern:
    """Something that repeats, as it was found and as a person worded it.

    What is counted is refreshed each time it is found again; the wording of one that was decided on is a person's. The
    `decided_…` values are what it rested on when it was last decided on.
    """

    id: str
    kind: str
    key: str
    statement: str
    trust: str  # user, outcome or observed: who or what vouches for it
    first_seen: datetime
    last_seen: datetime
    rule: str | None = None
    state: str = "candidate"
    version: int = 1
    signals: int = 0
    sessions: int = 0
    flavors: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    seconds: float = 0.0
    tokens: int = 0
    usd: float | None = None
    score: float = 0.0
    aliases: tuple[str, ...] = ()  # ids by which it may be found too
    edited: bool = False  # whether a person worded it
    reviewer: str | None = None
    reason: str | None = None
    decided_at: datetime | None = None
    decided_sessions: int = 0
    decided_flavors: tuple[str, ...] = ()
    merged_into: str | None = None

    @property
    def cross_flavor(self) -> bool:
        return len(self.flavors) > 1

    @property
    def ids(self) -> frozenset[str]:
        """Every id it goes by."""
        return frozenset((self.id, *self.aliases))


@dataclass(frozen=True, slots=True)
class PatternVersion:
    """What was done to a pattern, by whom and why, and how it read from then on; version 1 is how it was found."""

    version: int
    change: str  # found, refreshed, approve, edit, reject, merge, retire, reopened
    state: str
    statement: str
    rule: str | None
    actor: str | None
    reason: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Sighting:
    """What one session shows of a pattern."""

    session: str
    flavor: str
    project: str | None
    at: datetime
    origin: str = "other"
    count: int = 1
    statement: str = ""
    events: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rollout:
    """A pattern that was put before agents: what of it, where, by whom, and what is needed to take it back.

    `begun` until it is there, `in` while it is, `out` when it was taken back. `made` are the file and the directories
    that were made for it.
    """

    id: str
    pattern: str
    version: int  # of the pattern
    target: str  # one of TARGETS
    place: str  # the file, or the id of the memory
    begun_at: datetime
    project: str | None = None  # None: of the user, wherever they work
    state: str = "begun"
    text: str = ""
    made: tuple[str, ...] = ()
    by: str | None = None
    held_back: tuple[str, ...] = ()  # projects that are measured as a control
    ended_at: datetime | None = None
    reason: str | None = None  # why it was taken back


LEAST_USERS = 5  # what fewer have seen is nobody else's to know


@dataclass(frozen=True, slots=True)
class CommonPattern:
    """What many users have seen, and no word that fewer of them approved."""

    id: str  # the fingerprint: of kind and key, the same for everybody
    kind: str
    users: int
    approved: int | None = None  # users who approved it; None when fewer than are told of
    statement: str | None = None
    rule: str | None = None


class Patterns(Protocol):
    """The catalogue of what was learned."""

    def get(self, scope: Scope, pattern_id: str) -> Pattern | None: ...
    def find(self, scope: Scope, *, state: str | None = None, limit: int, offset: int = 0) -> list[Pattern]:
        """Patterns in the order of their ids."""
        ...

    def put(
        self,
        scope: Scope,
        pattern: Pattern,
        *,
        at: datetime,
        was: int | None,
        told: Sequence[PatternVersion] = (),
        evidence: Sequence[Sighting] | None = None,
    ) -> Pattern:
        """Keep a pattern, what was done to it, and what shows it, in one step.

        `was` is the version it had, None for a new one; Conflict when it has another. `evidence` takes the place of
        what there was; of many, the newest are kept, and of sessions that are not there, none.
        """
        ...

    def versions(self, scope: Scope, pattern_id: str) -> list[PatternVersion]:
        """What was done to it, oldest first."""
        ...

    def evidence(self, scope: Scope, pattern_id: str, *, limit: int = MOST_SIGHTINGS) -> list[Sighting]:
        """The sessions that show it, the newest first."""
        ...

    def drop(self, scope: Scope, pattern_id: str) -> bool:
        """Take a pattern away with all that belongs to it; whether it was there."""
        ...

    def put_rollout(self, scope: Scope, rollout: Rollout) -> None:
        """Keep a roll-out, or how it stands now; NotFound without its pattern."""
        ...

    def rollouts(self, scope: Scope, pattern_id: str | None = None) -> list[Rollout]:
        """Where patterns were put, the oldest first."""
        ...

    def share(self, scope: Scope, on: bool, *, at: datetime) -> bool:
        """Whether the owner's patterns are counted together with others' from now on; returns whether that is new."""
        ...

    def common(self, scope: Scope, k: int) -> list[CommonPattern]:
        """What at least `k` users of the tenant who share their patterns have seen; nothing for one who does not.

        `k` is never taken as less than LEAST_USERS. Words are told only where so many approved the very same ones.
        """
        ...


class SignalState(NamedTuple):
    """What the signals of a session are made from: its digest and its last event; and the mark that is kept."""

    version: int  # of the digest
    covers: int
    made_at: str
    last: int  # position of the last event
    mark: str | None  # of what is kept; None when nothing is


class Signals(Protocol):
    """What each session shows by itself, kept as text so that only what changed is read again."""

    def states(self, scope: Scope) -> dict[str, SignalState]:
        """Every session that has a digest, by its id."""
        ...

    def kept(self, scope: Scope, sessions: Sequence[str]) -> dict[str, tuple[str, str]]:
        """The mark and the text that are kept of these sessions."""
        ...

    def keep(self, scope: Scope, made: Mapping[str, tuple[SignalState, str, str]]) -> None:
        """Keep mark and text of sessions, each made from that state; one that changed since is passed over."""
        ...
