"""Did it help? How often something happened before and after, with an interval, and what that allows to say.

Counts come in, a verdict goes out. A share has a Wilson interval, the difference of two shares Newcombe's, and the
difference of two such differences (what changed here, less what changed where nothing was done) theirs put together in
the same way. Means (time lost, health) have an interval by resampling, with a seed of their own, so that the same
sessions always give the same figures. Under a floor nothing is said at all.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

FLOOR = 10  # tasks on each side under which nothing is said
LONG_ENOUGH = 30  # tasks afterwards in which something that helps would have shown
Z = 1.959964  # of a normal distribution: 95 % lie within
_RESAMPLES, _SEED = 1_000, 20_261_116

VERDICTS = ("not enough data", "fewer", "no difference seen", "more")
PROPOSALS = ("wait", "keep", "remove")


@dataclass(frozen=True, slots=True)
class Rate:
    """In how many of these tasks it happened."""

    hits: int
    tasks: int

    @property
    def share(self) -> float:
        return self.hits / self.tasks if self.tasks else 0.0

    @property
    def per_100(self) -> float:
        return 100 * self.share


@dataclass(frozen=True, slots=True)
class Span:
    """An estimate and the interval that holds the truth in 95 of 100 cases."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Span:
        return Span(self.value * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True, slots=True)
class Effect:
    """What changed. `difference` is in shares of tasks; less than nothing is good."""

    before: Rate
    after: Rate
    difference: Span | None  # None under the floor
    verdict: str  # one of VERDICTS
    proposal: str  # one of PROPOSALS
    control_before: Rate | None = None
    control_after: Rate | None = None
    controlled: bool = False  # whether what changed elsewhere was taken off


def wilson(rate: Rate) -> Span:
    """The interval of a share."""
    if not rate.tasks:
        return Span(0.0, 0.0, 1.0)
    n, p, z2 = rate.tasks, rate.share, Z * Z
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z * sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return Span(p, max(middle - half, 0.0), min(middle + half, 1.0))


def less(after: Span, before: Span) -> Span:
    """The first less the second, for independent estimates: by the distances of their own limits."""
    value = after.value - before.value
    low = value - sqrt((after.value - after.low) ** 2 + (before.high - before.value) ** 2)
    high = value + sqrt((after.high - after.value) ** 2 + (before.value - before.low) ** 2)
    return Span(value, low, high)


def newcombe(before: Rate, after: Rate) -> Span:
    """How the share changed."""
    return less(wilson(after), wilson(before))


def effect(before: Rate, after: Rate, control_before: Rate | None = None, control_after: Rate | None = None) -> Effect:
    """What can be said of these counts; with enough of a control, of the difference to it."""
    if min(before.tasks, after.tasks) < FLOOR:
        return Effect(before, after, None, VERDICTS[0], "wait", control_before, control_after)
    difference = newcombe(before, after)
    controlled = False
    if control_before is not None and control_after is not None:
        controlled = min(control_before.tasks, control_after.tasks) >= FLOOR
        if controlled:
            difference = less(difference, newcombe(control_before, control_after))
    if difference.high < 0:
        verdict, proposal = "fewer", "keep"
    elif difference.low > 0:
        verdict, proposal = "more", "remove"
    else:
        verdict = "no difference seen"
        proposal = "remove" if after.tasks >= LONG_ENOUGH and difference.value > -before.share / 2 else "wait"
    return Effect(before, after, difference, verdict, proposal, control_before, control_after, controlled)


def mean_change(before: Sequence[float], after: Sequence[float]) -> Span | None:
    """How a mean changed, by resampling; None under the floor, or when no value on either side differs from the rest.

    Of equal values every sample is the same: the interval would have no width, and promise what nobody knows.
    """
    if min(len(before), len(after)) < FLOOR or len(set(before)) == len(set(after)) == 1:
        return None
    chance = random.Random(_SEED)  # noqa: S311 - to be the same each time, not to be a secret
    made = sorted(
        _mean(chance.choices(after, k=len(after))) - _mean(chance.choices(before, k=len(before)))
        for _ in range(_RESAMPLES)
    )
    edge = round(_RESAMPLES * 0.025)
    return Span(_mean(after) - _mean(before), made[edge], made[-edge - 1])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
