"""Patterns as they are told and decided on over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import StringConstraints

from recollect.http.schemas.asking import Listed
from recollect.http.schemas.values import Given, Told, Why
from recollect.learn.values import RULE_CHARS, STATEMENT_CHARS
from recollect.store.ports.learn import Pattern, PatternVersion

PatternState = Literal["candidate", "approved", "rejected", "retired", "merged"]
PatternId = Annotated[str, StringConstraints(min_length=4, max_length=64, pattern=r"^[0-9a-f]+$")]
Rule = Annotated[str, StringConstraints(min_length=1, max_length=RULE_CHARS, pattern=r"\S")]
Statement = Annotated[str, StringConstraints(min_length=1, max_length=STATEMENT_CHARS, pattern=r"\S")]


class ListedPatterns(Listed):
    """Which patterns: what spans agents first, then what is worth most."""

    state: PatternState | None = None
    """Only those in this state."""


class PatternRecord(Told):
    """Something that repeats across sessions, as it was found and as a person worded it."""

    id: str
    kind: str
    """What kind of thing repeats: `error_repeated`, `command_fixed`, `correction` and so on."""
    statement: str
    rule: str | None = None
    """What would spare it; null where nobody who may give instructions vouches for it."""
    state: PatternState
    version: int
    trust: Literal["user", "outcome", "observed"]
    """Who or what vouches for it: people, outcomes, or neither."""
    cross_flavor: bool
    """Whether more than one agent shows it."""
    sessions: int
    signals: int
    """How often it was seen."""
    flavors: list[str]
    projects: list[str]
    first_seen: datetime
    last_seen: datetime
    seconds: float
    """What it cost so far: active seconds of agents."""
    tokens: int
    usd: float | None = None
    edited: bool
    """Whether a person worded it."""
    reviewer: str | None = None
    reason: str | None = None
    decided_at: datetime | None = None
    merged_into: str | None = None

    @classmethod
    def of(cls, pattern: Pattern) -> Self:
        return cls(**{name: getattr(pattern, name) for name in cls.model_fields})


class PatternChange(Told):
    """What was done to a pattern, and how it read from then on."""

    version: int
    change: str
    state: PatternState
    statement: str
    rule: str | None = None
    actor: str | None = None
    reason: str | None = None
    at: datetime

    @classmethod
    def of(cls, version: PatternVersion) -> Self:
        return cls(**{name: getattr(version, name) for name in cls.model_fields})


class PatternTold(PatternRecord):
    """A pattern with its history."""

    history: list[PatternChange]
    """Oldest first; empty while nobody decided on it."""


class PatternPage(Told):
    """One page of patterns."""

    patterns: list[PatternRecord]
    next_cursor: str | None = None


class Decision(Given):
    """Why something is decided."""

    reason: Why | None = None


class Wording(Decision):
    """Other words for a pattern, and why."""

    rule: Rule | None = None
    """What agents are to do, in these words."""
    statement: Statement | None = None
    """What repeats, in these words."""
