"""How the parts of a score are weighed. Every weight of ranking stands here.

`balanced` ranks what is worth knowing: 60 % similarity, 30 % importance, 10 % recency. `relevance` ranks what was said
word for word: similarity alone, because recency hurts questions about the past.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recollect.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Profile:
    """Weights of the final score, the shape of forgetting, and how much variety is worth."""

    similarity: float
    importance: float
    recency: float
    decay: Literal["hyperbolic", "exponential"] = "hyperbolic"
    decay_factor: float = 0.01  # hyperbolic: 1 / (1 + days * factor); exponential: half-life in days = 1 / factor
    mmr: float = 0.7  # 1.0: no diversity

    def recency_of(self, days: float) -> float:
        """1 for now, falling with age."""
        if self.decay == "exponential":
            return float(0.5 ** (days * self.decay_factor))
        return 1.0 / (1.0 + days * self.decay_factor)

    def final(self, similarity: float, importance: float, recency: float) -> float:
        """The score a hit is ranked by."""
        return self.similarity * similarity + self.importance * importance + self.recency * recency


PROFILES = {
    "balanced": Profile(similarity=0.6, importance=0.3, recency=0.1),
    "relevance": Profile(similarity=1.0, importance=0.0, recency=0.0, mmr=1.0),
}


def profile_named(name: str) -> Profile:
    """A profile by name."""
    if name not in PROFILES:
        raise InvalidInput(f"unknown profile {name[:40]!r}", hint="Profiles: " + ", ".join(PROFILES))
    return PROFILES[name]
