"""What a scope holds, in figures: how many memories of which kind, tag, session and time, and what waits.

In: a scope and a filter. Out: counts, each list of them bounded. Nothing here returns content.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from recollect.model import Scope
    from recollect.store.port import Filter

Period = Literal["day", "month"]
MOST = 50  # values of one facet that are told


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


class Stats(Protocol):
    """Counts of what a scope sees."""

    def tally(self, scope: Scope, where: Filter, *, by: Period, most: int = MOST) -> Tally: ...
    def held(self, scope: Scope) -> Held: ...
