"""The values of learning: signals of one session, candidates they add up to, the health of a session.

All are frozen and hold plain values, so that a store can keep them. A `Signal` tells one thing of one session with the
events that show it; its key says what it is in a way that is the same in every session, so it holds no path, number
or id. A `Candidate` is the signals of one key over many sessions, for a person to review.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

KINDS = (
    *("error_repeated", "command_fixed", "retry_loop", "edit_churn", "red_green", "correction", "instruction_repeated"),
    *("denial", "interruption", "abandoned_goal", "detour", "recipe", "rediscovery"),
)
# Who or what vouches for a signal: a person said or did it; an outcome shows it (a call failed, a check passed, as the
# host reports it); or neither. Only the first two may become an instruction.
ORIGINS = ("user", "outcome", "other")
TRUSTS = ("user", "outcome", "observed")
MAX_EVENTS, MAX_EXAMPLES = 5, 5
STATEMENT_CHARS, RULE_CHARS, KEY_CHARS = 200, 300, 200


@dataclass(frozen=True, slots=True)
class Waste:
    """What something cost: active seconds, and their share of the session's tokens and money (None if unknown)."""

    seconds: float = 0.0
    tokens: int = 0
    usd: float | None = None

    def __add__(self, other: Waste) -> Waste:
        known = [one for one in (self.usd, other.usd) if one is not None]
        seconds = round(self.seconds + other.seconds, 3)
        return Waste(seconds, self.tokens + other.tokens, round(sum(known), 6) if known else None)


@dataclass(frozen=True, slots=True)
class Signal:
    """One thing that one session shows."""

    kind: str  # one of KINDS
    key: str
    statement: str
    session: str
    root: str  # the session it worked for, or itself: what one task shows several times counts once
    flavor: str
    project: str | None
    at: datetime
    events: tuple[str, ...]  # keys of the events that show it
    origin: str = "other"  # one of ORIGINS
    count: int = 1  # how often in the session
    cost: Waste = field(default_factory=Waste)
    detail: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Candidate:
    """What repeats, with its evidence. `rule` is None where nobody who may give instructions vouches for it."""

    id: str
    kind: str
    key: str
    statement: str
    rule: str | None
    trust: str  # one of TRUSTS
    signals: int  # how often it was seen
    sessions: tuple[str, ...]
    flavors: tuple[str, ...]
    projects: tuple[str, ...]
    first_seen: datetime
    last_seen: datetime
    waste: Waste
    cross_flavor: bool
    examples: tuple[Signal, ...]
    score: float = 0.0
    aliases: tuple[str, ...] = ()  # ids of what was found to be the same, so that a decision on one holds for all


@dataclass(frozen=True, slots=True)
class Penalty:
    """What a session lost points for, how often it happened, and how many points."""

    name: str
    count: int
    points: int


@dataclass(frozen=True, slots=True)
class Health:
    """How well a session went: 100 less its penalties, never below 0."""

    session: str
    flavor: str
    score: int
    penalties: tuple[Penalty, ...]
    outcome: str


@dataclass(frozen=True, slots=True)
class FlavorHealth:
    """How well the sessions of one agent went."""

    flavor: str
    sessions: int
    mean: float
    lowest: int
    penalties: Mapping[str, int] = field(default_factory=dict)  # points lost, by name


@dataclass(frozen=True, slots=True)
class Detection:
    """What detecting came to."""

    candidates: tuple[Candidate, ...]
    sessions: int
    signals: int
    health: tuple[FlavorHealth, ...]
