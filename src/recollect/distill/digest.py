"""What a session was, computed without a model: what was asked, done, run, changed, spent, and how it ended.

A session, its events and its costs come in; a `Digest` goes out. `digest_of` walks the events once (`digestwalk`) and
keeps counters and a few short texts, never the events. It depends on what it is given alone: the same rows give the
same digest, byte for byte. A session that grew is digested again as a whole.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.clock import iso
from recollect.distill.digestparts import (
    DIGEST_VERSION,
    GOAL_CHARS,
    MAX_COMMITS,
    MAX_CORRECTIONS,
    QUOTE_CHARS,
    TOP_COMMANDS,
    TOP_FILES,
    TOP_TOOLS,
    CommandUse,
    Correction,
    ErrorSeen,
    Spent,
    Tests,
)
from recollect.distill.digestwalk import Use, Walk
from recollect.distill.outcome import judge
from recollect.distill.spending import spent
from recollect.model import Cost, Event, Session

__all__ = [
    "DIGEST_VERSION",
    "GOAL_CHARS",
    "MAX_CORRECTIONS",
    "QUOTE_CHARS",
    "TOP_COMMANDS",
    "TOP_FILES",
    "TOP_TOOLS",
    "CommandUse",
    "Correction",
    "Digest",
    "ErrorSeen",
    "Spent",
    "Tests",
    "digest_of",
]


@dataclass(frozen=True, slots=True)
class Digest:
    """What a session was. Lists are bounded and in a fixed order; paths beneath its directory are relative to it."""

    session: str
    flavor: str
    version: int
    goal: str | None
    outcome: str
    certainty: float
    outcome_reasons: tuple[str, ...]
    started: str | None
    ended: str | None
    wall_seconds: float
    active_seconds: float
    prompts: int
    turns: int
    tools: Mapping[str, int]
    actions: Mapping[str, int]
    files_read: Mapping[str, int]
    files_edited: Mapping[str, int]
    edits: int
    commands: tuple[CommandUse, ...]
    tests: Tests
    errors: tuple[ErrorSeen, ...]
    retries: int
    api_retries: int
    corrections: int
    corrected: tuple[Correction, ...]
    interruptions: int
    denials: int
    compactions: int
    rewinds: int
    subagents: int
    commits: int
    committed: tuple[str, ...]
    pull_requests: tuple[str, ...]  # made in it, or worked on as the agent noted
    cost: Spent
    models: tuple[Spent, ...]
    last_prompt: str | None
    last_words: str | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON, in the order of the fields."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Digest:
        """Back from `as_dict`, also by way of JSON."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
        }
        for name, kind in _PARTS.items():
            values[name] = tuple(kind(**part) for part in given[name])
        return cls(**values | {"tests": Tests(**given["tests"]), "cost": Spent(**given["cost"])})


_PARTS: dict[str, Any] = {"commands": CommandUse, "errors": ErrorSeen, "corrected": Correction, "models": Spent}


def digest_of(session: Session, events: Iterable[Event], costs: Sequence[Cost]) -> Digest:
    """The digest of a session from its events, in order of position, and what its requests took."""
    walk = Walk(session)
    for event in events:
        walk.take(event)
    return _digest(session, walk, costs)


def _digest(session: Session, walk: Walk, costs: Sequence[Cost]) -> Digest:
    verdict = judge(walk.signs())
    total, models = spent(costs)
    first, final = walk.first_at or session.started_at, walk.last_at or session.ended_at
    counts = walk.counts
    return Digest(
        session=session.id,
        flavor=session.flavor,
        version=DIGEST_VERSION,
        goal=walk.goal or walk.first_prompt,
        outcome=verdict.outcome,
        certainty=verdict.certainty,
        outcome_reasons=verdict.reasons,
        started=iso(first) if first else None,
        ended=iso(final) if final else None,
        wall_seconds=_seconds(first, final),
        active_seconds=round(walk.active, 3),
        prompts=counts["prompts"],
        turns=counts["turns"],
        tools=_top(walk.tools, TOP_TOOLS),
        actions=_top(walk.actions, TOP_TOOLS),
        files_read=_top(walk.read, TOP_FILES),
        files_edited=_top(walk.edited, TOP_FILES),
        edits=counts["edits"],
        commands=_commands(walk.commands),
        tests=walk.tests,
        errors=walk.failures.seen(),
        retries=counts["retries"],
        api_retries=counts["api_retries"],
        corrections=counts["corrections"],
        corrected=tuple(walk.corrected),
        interruptions=counts["interruptions"],
        denials=counts["denials"],
        compactions=counts["compactions"],
        rewinds=counts["rewinds"],
        subagents=counts["subagents"],
        commits=walk.shipped.commits,
        committed=tuple(walk.shipped.committed)[-MAX_COMMITS:],
        pull_requests=tuple(walk.shipped.requests)[-MAX_COMMITS:],
        cost=total,
        models=models,
        last_prompt=walk.last_prompt,
        last_words=walk.last_text or None,
    )


def _commands(uses: Mapping[str, Use]) -> tuple[CommandUse, ...]:
    order = sorted(uses.items(), key=lambda one: (-one[1].count, -one[1].failed, one[0]))
    found = (CommandUse(command, use.count, use.failed) for command, use in order if command and use.count)
    return tuple(found)[:TOP_COMMANDS]


def _top(counter: Counter[str], limit: int) -> dict[str, int]:
    found = sorted((one for one in counter.items() if one[1] > 0), key=lambda one: (-one[1], one[0]))
    return dict(found[:limit])


def _seconds(first: datetime | None, final: datetime | None) -> float:
    return round(max((final - first).total_seconds(), 0.0), 3) if first and final else 0.0
