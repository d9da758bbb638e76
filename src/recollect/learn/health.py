"""How well a session went: 100 points less what each thing that went wrong takes, with the parts told.

A digest comes in, a `Health` goes out. The score is for comparing many sessions of one agent or project over time; for
a single session its parts say more than the number. Each part has a cap, so that one bad habit cannot hide the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from recollect.distill.digest import Digest
from recollect.learn.values import FlavorHealth, Health, Penalty

FULL = 100
_CHURNED = 8  # edits of one file that are many


class _Part(NamedTuple):
    name: str
    count: Callable[[Digest], int]
    each: int
    most: int


_PARTS = (
    _Part("ended in failure", lambda one: one.outcome == "fail", 30, 30),
    _Part("abandoned", lambda one: one.outcome == "abandoned", 15, 15),
    _Part("errors left open", lambda one: sum(not error.resolved for error in one.errors), 3, 15),
    _Part("errors repeated", lambda one: sum(max(error.count - 1, 0) for error in one.errors), 2, 20),
    _Part("retries of what failed", lambda one: one.retries, 3, 15),
    _Part("test runs failed", lambda one: one.tests.failed, 1, 10),
    _Part("files edited over and over", lambda one: sum(n >= _CHURNED for n in one.files_edited.values()), 3, 12),
    _Part("corrections", lambda one: one.corrections, 5, 20),
    _Part("refusals", lambda one: one.denials, 3, 12),
    _Part("interruptions", lambda one: one.interruptions, 3, 12),
    _Part("rewinds", lambda one: one.rewinds, 5, 10),
    _Part("compactions after the first", lambda one: max(one.compactions - 1, 0), 4, 12),
    _Part("errors of the service", lambda one: one.api_retries, 1, 5),
)


def health_of(digest: Digest) -> Health:
    """The health of a session."""
    penalties = []
    for part in _PARTS:
        count = int(part.count(digest))
        if count > 0:
            penalties.append(Penalty(part.name, count, min(count * part.each, part.most)))
    score = max(FULL - sum(one.points for one in penalties), 0)
    return Health(digest.session, digest.flavor, score, tuple(penalties), digest.outcome)


def by_flavor(found: Iterable[Health]) -> tuple[FlavorHealth, ...]:
    """How well the sessions of each agent went, in the order of their names."""
    groups: dict[str, list[Health]] = {}
    for one in found:
        groups.setdefault(one.flavor, []).append(one)
    made = []
    for flavor, every in sorted(groups.items()):
        lost: Counter[str] = Counter()
        for one in every:
            lost.update({penalty.name: penalty.points for penalty in one.penalties})
        order = dict(sorted(lost.items(), key=lambda item: (-item[1], item[0])))
        scores = [one.score for one in every]
        made.append(FlavorHealth(flavor, len(every), round(sum(scores) / len(scores), 1), min(scores), order))
    return tuple(made)
