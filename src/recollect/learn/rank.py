"""The order in which candidates are shown: those of several agents first, then by what they are worth.

score = log2(1 + sessions) x waste x recency x trust, each documented below. It depends on the candidate and on the
present alone, so that the same evidence always stands in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from recollect.learn.values import Candidate

HALF_LIFE_DAYS, OLDEST = 90.0, 0.25  # a pattern that was not seen for long still counts a quarter
TRUST = {"user": 1.2, "outcome": 1.0, "observed": 0.5}


def score_of(candidate: Candidate, now: datetime) -> float:
    """What a candidate is worth; waste is 1 for none and grows with the logarithm of the minutes lost."""
    minutes = candidate.waste.seconds / 60
    age = max((now - candidate.last_seen).total_seconds() / 86_400, 0.0)
    recency = max(math.exp2(-age / HALF_LIFE_DAYS), OLDEST)
    worth = math.log2(1 + len(candidate.sessions)) * (1 + math.log1p(minutes) / 4) * recency * TRUST[candidate.trust]
    return round(worth, 4)


def ranked(candidates: Iterable[Candidate], now: datetime) -> list[Candidate]:
    """Candidates with their scores, in order; equal ones by their ids."""
    scored = [replace(one, score=score_of(one, now)) for one in candidates]
    return sorted(scored, key=lambda one: (not one.cross_flavor, -one.score, one.id))
