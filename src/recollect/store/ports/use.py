"""What a store keeps of how useful memories proved: feedback, where each was put before an agent, the owner's weights.

A port and its values. Feedback is one verdict on one memory in one session: said again it is still one, with a newer
date. That a memory was shown is kept apart from it, and tells nothing about its worth. Both go with the memory and with
the session. Like every port it begins with a scope: in a project, only its memories and those of none are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from recollect.model import Scope

GIVEN = ("helpful", "harmful", "cited")  # what people and agents can say
VERDICTS = (*GIVEN, "success")  # success: it was used in a session that succeeded, which its digest tells
USER, AGENT, DIGEST = SOURCES = ("user", "agent", "digest")  # who says so
SHOWN = ("start", "prompt")  # when a memory is put before an agent by itself
MOST_FEEDBACK = 200  # kept of one memory: what the user said before what agents did, and the newest
MOST_INJECTIONS = 1_000  # told at once


@dataclass(frozen=True, slots=True)
class Feedback:
    """One verdict on one memory; without a session it is about no session in particular."""

    memory: str
    verdict: str  # one of VERDICTS
    at: datetime
    session: str | None = None
    source: str = USER  # one of SOURCES
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Injection:
    """One memory put before one agent. `block` is the name of the text it stood in: the hash of its content."""

    memory: str
    session: str
    at: datetime
    host: str
    event: str  # one of SHOWN
    block: str


class Verdict(NamedTuple):
    """What recall needs of feedback."""

    verdict: str
    at: datetime


@dataclass(frozen=True, slots=True)
class OwnRanking:
    """An owner's own weights of ranking, since when they hold, and the figures they were taken on for."""

    weights: Mapping[str, float]
    at: datetime
    figures: Mapping[str, Any] = field(default_factory=dict)


class Use(Protocol):
    """How useful memories proved, and where they were shown."""

    def give(self, scope: Scope, feedback: Feedback) -> None:
        """Keep a verdict; NotFound without its memory. The same of the same session takes the place of the one before,
        unless that is another's: a user's word takes the place of any, and nobody's takes the place of it.

        Of many, the newest are kept; those of agents go first, those of the user last.
        """
        ...

    def take_back(
        self,
        scope: Scope,
        memory_id: str,
        verdict: str,
        session: str | None = None,
        *,
        at: datetime,
        source: str | None = None,
    ) -> bool:
        """Take a verdict away again, with a source only one of its own; whether it was there."""
        ...

    def feedback(self, scope: Scope, memory_id: str) -> list[Feedback]:
        """What was said of a memory, the newest first."""
        ...

    def every(self, scope: Scope, *, limit: int, offset: int = 0) -> list[Feedback]:
        """What was said of any memory, the oldest first."""
        ...

    def verdicts(self, scope: Scope, ids: Sequence[str]) -> dict[str, list[Verdict]]:
        """The verdicts on these memories, oldest first; those without any are left out."""
        ...

    def derive(self, scope: Scope, session: str, shown: Sequence[Feedback]) -> None:
        """What a session itself shows, in place of what it showed before. What somebody said of it stays."""
        ...

    def laid(self, scope: Scope, blocks: Mapping[str, Sequence[str]], *, at: datetime, before: datetime) -> None:
        """Texts that are laid ready, by name, with the ids of what is in them; those laid `before` are forgotten."""
        ...

    def names(self, scope: Scope, blocks: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Which memories stand in these texts, as far as that is known."""
        ...

    def ids(self, scope: Scope) -> list[str]:
        """The id of every memory that is not deleted."""
        ...

    def inject(self, scope: Scope, injections: Sequence[Injection], *, before: datetime) -> int:
        """Keep where memories were shown, each once; returns how many are new.

        Of memories or sessions that are not there, nothing is kept; what is from `before` goes.
        """
        ...

    def injections(
        self, scope: Scope, *, memory: str | None = None, session: str | None = None, limit: int = MOST_INJECTIONS
    ) -> list[Injection]:
        """Where a memory was shown, or what was shown in a session, or all of it; the newest first."""
        ...

    def ranking(self, scope: Scope) -> OwnRanking | None:
        """The owner's own weights. What another process changed may be seen a minute later."""
        ...

    def put_ranking(self, scope: Scope, ranking: OwnRanking | None, *, at: datetime) -> bool:
        """Keep the owner's weights, or with None take them away; whether that changed anything."""
        ...
