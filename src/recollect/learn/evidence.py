"""Whether a group of signals is proven: by enough tasks, of one cause, and, for a recipe, by moments that show it.

A group comes in; what of it counts goes out, or nothing. Tasks are counted, not signals: what one session shows many
times, and what its helpers show, is one. Two agents that met the same in one project need one task less, for that is
no chance; in different projects it may be two things that only read alike. A test that breaks in two agents' hands says
no more than in one's: the work was on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from recollect.learn.groups import Group
from recollect.learn.recipesteps import FEWEST, that_show, usual_steps
from recollect.learn.values import Signal

# What agents meet wherever they work. What else they share may just be the work.
_MET = ("error_repeated", "rediscovery", "command_fixed", "retry_loop", "detour")


def proven(group: Group, roots: Mapping[str, str], min_frequency: int) -> Group | None:
    """The group with the signals that count; None when they are too few."""
    signals = group.signals
    if group.kind == "recipe":
        signals = that_show(signals) if len(usual_steps(signals)) >= FEWEST else []
    causes: dict[str, list[Signal]] = defaultdict(list)
    for one in signals:
        for cause in one.detail.get("cause", "").split("\n"):
            causes[cause].append(one)
    kept = [one for same in causes.values() if _enough(group.kind, same, roots, min_frequency) for one in same]
    if not kept:
        return None
    counted = {id(one) for one in kept}
    return replace(group, signals=[one for one in signals if id(one) in counted])


def _enough(kind: str, signals: Iterable[Signal], roots: Mapping[str, str], min_frequency: int) -> bool:
    found = list(signals)
    tasks, flavors = {roots[one.session] for one in found}, {one.flavor for one in found}
    projects = {one.project for one in found}
    fewer = len(flavors) > 1 and kind in _MET and len(projects) == 1 and None not in projects
    return len(tasks) >= (min(max(min_frequency - 1, 2), min_frequency) if fewer else min_frequency)
