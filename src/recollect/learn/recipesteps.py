"""The steps of a recipe: the checks that most of the moments have at which work was called done.

Signals of recipes come in, from many sessions; the usual steps go out in their usual order, and which of the signals
show them. A step that some moments have is the choice of that day.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recollect.learn.values import Signal

FEWEST = 2  # steps that make a recipe
_BETWEEN = "\t"


def packed_moments(moments: Iterable[Iterable[str]]) -> str:
    """The steps of each moment as text: a line each, empty where none of the program's checks ran."""
    return "\n".join(_BETWEEN.join(one) for one in moments)


def moments_of(signal: Signal) -> list[list[str]]:
    """The same back."""
    told = signal.detail.get("moments")
    return [[step for step in line.split(_BETWEEN) if step] for line in told.split("\n")] if told is not None else []


def usual_steps(signals: Sequence[Signal]) -> list[str]:
    """The steps that most of the moments have, in their usual order."""
    every = [moment for one in signals for moment in moments_of(one)]
    places: dict[str, list[int]] = {}
    for moment in every:
        for place, step in enumerate(moment):
            places.setdefault(step, []).append(place)
    usual = {step: found for step, found in places.items() if 2 * len(found) > len(every)}
    return sorted(usual, key=lambda step: (sum(usual[step]) / len(usual[step]), step))


def that_show(signals: Sequence[Signal]) -> list[Signal]:
    """The signals of a recipe in which one moment has at least two of its usual steps."""
    usual = set(usual_steps(signals))
    return [one for one in signals if any(len(usual & set(moment)) >= FEWEST for moment in moments_of(one))]
