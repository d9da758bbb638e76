"""What replaying came to: each need with how memory would have met it, and the figures of all of them.

start    the text laid before the agent when the session began told it
prompt   what is recalled on a prompt before the moment told it
asked    recall told it when asked about what had just failed: only an agent that asks is helped
led      nothing told it, but what was recalled leads to the session that knew
missed   nothing of the kind
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from recollect.learn.needs import NEEDS
from recollect.learn.values import Waste

WAYS = ("start", "prompt", "asked", "led", "missed")
PUSHED, TOLD = ("start", "prompt"), ("start", "prompt", "asked")


@dataclass(frozen=True, slots=True)
class Source:
    """What would have told it: a memory, gist or turn, and a little of what it says."""

    id: str
    tier: str
    session: str | None
    said: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """One need, and how memory would have met it."""

    kind: str
    pattern: str
    statement: str
    session: str
    flavor: str
    project: str | None
    at: datetime
    question: str
    known_since: datetime  # when it was first found out
    known_in: str  # the session that knew it last
    way: str  # one of WAYS
    by: Source | None
    cost: Waste  # what it took to find it out again
    ruled: bool = False  # a rule against it could have been approved by then: `detect` would have shown it


@dataclass(frozen=True, slots=True)
class Tally:
    """The needs of one kind, by way, and what they cost: with memory off all of it, with memory on less what is saved.

    What is `saved` is a bound from above: it assumes that an agent that is told acts on it at once.
    """

    kind: str
    needs: int
    ways: dict[str, int]
    cost: Waste
    saved: Waste  # of what was laid before the agent without being asked
    saved_asked: Waste  # more, if the agent asks whenever something fails
    ruled: int = 0  # of those that nothing told: how many a rule could have stood against
    ruled_cost: Waste = field(default_factory=Waste)

    @property
    def pushed(self) -> int:
        return sum(self.ways.get(way, 0) for way in PUSHED)

    @property
    def told(self) -> int:
        return sum(self.ways.get(way, 0) for way in TOLD)


@dataclass(frozen=True, slots=True)
class Replay:
    """What a history came to."""

    sessions: int
    tasks: int
    tallies: tuple[Tally, ...]
    total: Tally
    found: tuple[Replayed, ...]  # every need, the newest first
    start_tokens: int  # what the texts at the start of all these sessions take
    prompt_tokens: int  # what is recalled on prompts takes, in the sessions with needs
    asked_tokens: int  # what recall answers take
    mode: str  # how it was searched: hybrid or lexical
    left_out: int = 0  # needs beyond the limit
    notes: tuple[str, ...] = ()


def tallied(found: Iterable[Replayed]) -> tuple[tuple[Tally, ...], Tally]:
    """The needs by kind, and all of them."""
    every = list(found)
    kinds = [kind for kind in NEEDS if any(one.kind == kind for one in every)]
    return tuple(_tally(kind, [one for one in every if one.kind == kind]) for kind in kinds), _tally("all", every)


def _tally(kind: str, found: list[Replayed]) -> Tally:
    ways = {way: sum(one.way == way for one in found) for way in WAYS}
    return Tally(
        kind,
        len(found),
        ways,
        _sum(found),
        _sum(one for one in found if one.way in PUSHED),
        _sum(one for one in found if one.way == "asked"),
        sum(one.ruled and one.way not in TOLD for one in found),
        _sum(one for one in found if one.ruled and one.way not in TOLD),
    )


def _sum(found: Iterable[Replayed]) -> Waste:
    return sum((one.cost for one in found), Waste())
