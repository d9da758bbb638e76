"""How a store is searched: by words and by vectors, for documents of every tier; and the vectors that wait.

Ports and their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from recollect.model import Memory, Scope, Tier

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.store.ports.memories import Filter

    Matrix = NDArray[np.float32]


class Document(NamedTuple):
    """A searchable thing, for ranking; a tuple, as `Match` is one. `doc` is the store's own number for it."""

    tier: Tier
    doc: int
    id: str
    session: str | None
    project: str | None
    content: str
    origin: str
    occurred_at: datetime
    importance: float = 0.5
    memory: Memory | None = None


class Match(NamedTuple):
    """How well one document matches, by one leg of the search. A tuple, because hundreds are made for a question."""

    doc: int
    score: float
    group: int = 0  # the session, as the store numbers it; 0 when there is none
    place: int = 0  # which turn of the session
    at: str = ""  # when, in the stored form of a time


class Surroundings(NamedTuple):
    """The turns before and after a turn, and how long the turn itself is."""

    doc: int
    chars: int
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class TermWeights:
    """How much a question's words weigh: what a lexical score is held against.

    `scored` sums the weights the leg itself scores with, over the words that occur at all; `known` sums smoothed
    weights (positive even in a tiny store) over the same words; `asked` sums them over every word asked for.
    """

    scored: float
    known: float
    asked: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """A text that has no vector yet."""

    tier: Tier
    doc: int
    ticket: int
    texts: tuple[str, ...]
    leading: int  # how many of the texts are what the user said; the rest answered


class Search(Protocol):
    """The legs of recall. Scores are comparable only within one answer of one leg; higher is better.

    Without `where` a leg looks at no row of what it finds: what is over is not left out, and of a match only document
    and score are told. In a scope with a project that may be fewer than `limit`: those of other projects are left out
    after.
    """

    def lexical(
        self,
        scope: Scope,
        tier: Tier,
        terms: Sequence[str],
        where: Filter | None,
        limit: int,
        *,
        rarest: int | None = None,
    ) -> list[Match]:
        """The best matches by words; `rarest`: by no more of them than so many, those that the fewest texts hold."""
        ...

    def weigh(self, scope: Scope, tier: Tier, terms: Sequence[str]) -> TermWeights: ...
    def semantic(self, scope: Scope, tier: Tier, query: Matrix, where: Filter | None, limit: int) -> list[Match]: ...
    def cosines(self, scope: Scope, tier: Tier, query: Matrix, docs: Sequence[int]) -> dict[int, float]: ...
    def vectors(self, scope: Scope, tier: Tier, docs: Sequence[int]) -> dict[int, Matrix]: ...
    def population(self, scope: Scope, tier: Tier) -> int: ...
    def around(self, scope: Scope, docs: Sequence[int]) -> list[Surroundings]: ...
    def documents(self, scope: Scope, tier: Tier, docs: Sequence[int]) -> list[Document]: ...


class Vectors(Protocol):
    """What waits for its vector, and which model the vectors are of."""

    def model(self) -> tuple[str, int] | None: ...
    def waiting(self, limit: int) -> list[Waiting]: ...
    def put(self, model: tuple[str, int], vectors: Iterable[tuple[Waiting, Matrix]]) -> int: ...
    def pending(self, most: int | None = None) -> int:
        """How many texts wait for a vector; counted no further than `most`."""
        ...

    def restart(self) -> int: ...
