"""Fitting the weights of ranking to what was used: examples in, weights and honest figures out. Numbers only, no store.

An example is one question with the candidates that recall found for it, each as four numbers (similarity, importance,
recency, use), and which of them were used afterwards, or did harm. Weights are judged by the mean of 1 / rank of what
was used, and of 1 - 1 / rank of what did harm. They are looked for one after the other on a grid, from the default, on
the older examples; the newest three tenths, which nobody looked at before, decide whether they are better. A session
is held out as a whole or not at all. The same examples give the same weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from recollect.recall.profile import MOST_USE, OWN, PROFILES, WEIGHTS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEWEST = 40  # examples below which nothing is said
HELD_OUT = 0.3  # of the examples, the newest
MARGIN = 0.02  # by which the held-out figure must rise
_ROUNDS = 6
# Each weight as a share of similarity's: the default among them. Feedback stays a small part whatever it says.
_GRID = {
    "importance": (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0),
    "recency": (0.0, 0.05, 0.1, 1 / 6, 0.25, 0.4, 0.6),
    "use": (0.0, 0.05, 0.1, 1 / 6, 0.25, 1 / 3),
}

Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Example:
    """One question of one session: its candidates, best known first, and which of them were used or did harm."""

    at: datetime
    session: str
    candidates: tuple[tuple[float, float, float, float], ...]
    good: tuple[int, ...]
    bad: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Fit:
    """What fitting came to. `before` and `after`: the held-out examples with the weights in force and with the new."""

    weights: Weights
    examples: int
    trained: int
    held_out: int
    train_before: float = 0.0
    train_after: float = 0.0
    before: float = 0.0
    after: float = 0.0
    wins: int = 0  # held-out examples that are better with the new weights
    losses: int = 0
    enough: bool = True

    @property
    def better(self) -> bool:
        """Whether the new weights are worth taking on."""
        return self.enough and self.after - self.before >= MARGIN and self.wins > self.losses


def default() -> dict[str, float]:
    """The weights everybody begins with."""
    return {name: getattr(PROFILES[OWN], name) for name in WEIGHTS}


def fit(examples: Sequence[Example], in_force: Weights | None = None) -> Fit:
    """The best weights for the older examples, held against those in force on the newer ones."""
    now = dict(in_force or default())
    ordered = sorted(examples, key=lambda one: (one.at, one.session))
    apart = _held_out(ordered)
    train = [one for one in ordered if one.session not in apart]
    held = [one for one in ordered if one.session in apart]
    if len(ordered) < FEWEST or not train or not held:
        return Fit(now, len(ordered), len(train), len(held), enough=False)
    older, newer = _Table(train), _Table(held)
    found = _searched(older)
    was, is_ = newer.values(now), newer.values(found)
    return Fit(
        weights=found,
        examples=len(ordered),
        trained=len(train),
        held_out=len(held),
        train_before=float(older.values(now).mean()),
        train_after=float(older.values(found).mean()),
        before=float(was.mean()),
        after=float(is_.mean()),
        wins=int((is_ > was + 1e-9).sum()),
        losses=int((is_ < was - 1e-9).sum()),
    )


def _held_out(ordered: Sequence[Example]) -> set[str]:
    """The sessions that went on last, as many as have three tenths of the examples together."""
    counts = Counter(one.session for one in ordered)
    apart: set[str] = set()
    wanted = round(HELD_OUT * len(ordered))
    for one in reversed(ordered):
        if wanted <= 0:
            break
        if one.session not in apart:
            apart.add(one.session)
            wanted -= counts[one.session]
    return apart


def _searched(table: _Table) -> dict[str, float]:
    """One weight after the other, each the best on the grid, until none changes; of equals the nearest default."""
    usual = default()
    shares = {name: usual[name] / usual["similarity"] for name in _GRID}
    first = dict(shares)
    best = float(table.values(_normal(shares)).mean())
    for _ in range(_ROUNDS):
        before = dict(shares)
        for name, grid in _GRID.items():
            for share in sorted(grid, key=lambda value, name=name: abs(value - first[name])):  # type: ignore[misc]
                score = float(table.values(_normal({**shares, name: share})).mean())
                if score > best + 1e-6:
                    best, shares[name] = score, share
        if shares == before:
            break
    return _normal(shares)


def _normal(shares: Mapping[str, float]) -> dict[str, float]:
    """Weights whose first three are together one."""
    total = 1.0 + shares["importance"] + shares["recency"]
    similarity = 1.0 / total
    found = {"similarity": similarity, **{name: share * similarity for name, share in shares.items()}}
    return {**found, "use": min(MOST_USE, found["use"])}


class _Table:
    """Examples as arrays: all candidates one below the other, and where each example's begin."""

    def __init__(self, examples: Sequence[Example]) -> None:
        import numpy as np

        self._np = np
        self._features = np.array([row for one in examples for row in one.candidates], dtype=np.float64)
        ends = np.cumsum([0, *(len(one.candidates) for one in examples)])
        self._spans = list(pairwise(ends.tolist()))
        self._marked = [(one.good, one.bad) for one in examples]

    def values(self, weights: Weights) -> Floats:
        """What each example is worth with these weights."""
        scores = self._features @ self._np.array([weights[name] for name in WEIGHTS])
        return self._np.array(
            [
                _value(scores[first:last], good, bad)
                for (first, last), (good, bad) in zip(self._spans, self._marked, strict=True)
            ]
        )


def _value(scores: Floats, good: Sequence[int], bad: Sequence[int]) -> float:
    """1 / rank of the best that was used; of what did harm, the better the further behind it is."""
    parts = [1.0 / min(_rank(scores, place) for place in good)] if good else []
    parts += [1.0 - 1.0 / min(_rank(scores, place) for place in bad)] if bad else []
    return sum(parts) / len(parts)


def _rank(scores: Floats, place: int) -> int:
    """The rank of a candidate; of equals the one that was better known comes first."""
    mine = scores[place]
    return 1 + int((scores > mine + 1e-12).sum()) + int((abs(scores[:place] - mine) <= 1e-12).sum())
