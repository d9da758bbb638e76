"""When to say nothing. Calibrated with `bench/abstention.py`; docs/benchmarks.md has the figures.

The best of many unrelated texts looks closer than the best of few, by about the logarithm of how many there are, so the
floor rises with the size of the scope. Without vectors a floor tells little; it only cuts the obvious.
"""

from __future__ import annotations

import math

NOTE = "nothing here is close enough to the question"
_FLOOR, _AT, _RISE, _LOWEST = 0.37, 500, 0.036, 0.2
_FLOOR_WORDS = 0.2
_NEAR_BEST, _NEAR_NAMED = 0.6, 0.8


def floor(population: int | None) -> float:
    """The similarity a hit must reach among so many texts with vectors; None when words alone were searched."""
    if population is None:
        return _FLOOR_WORDS
    return max(_LOWEST, _FLOOR + _RISE * math.log(max(1, population) / _AT))


def near_best(*, named: bool) -> float:
    """The share of the best hit's similarity that others must reach; more when the question names what it is about."""
    return _NEAR_NAMED if named else _NEAR_BEST
