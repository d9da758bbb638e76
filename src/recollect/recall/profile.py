"""How the parts of a score are weighed. Every weight of ranking stands here.

`balanced` ranks what is worth knowing: 60 % similarity, 30 % importance, 10 % recency. `relevance` ranks what was said
word for word: similarity alone, because recency hurts questions about the past. How useful a memory proved adds or
takes a little. An owner may have weights of their own, fitted to what they used (`learn/weighing.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
    use: float = 0.1  # the most that feedback adds to a score, or takes from it
    use_half_life: float = 90.0  # days after which a verdict counts half

    def recency_of(self, days: float) -> float:
        """1 for now, falling with age."""
        if self.decay == "exponential":
            return float(0.5 ** (days * self.decay_factor))
        return 1.0 / (1.0 + days * self.decay_factor)

    def final(self, similarity: float, importance: float, recency: float, use: float = 0.0) -> float:
        """The score a hit is ranked by; `use` is from -1 to 1, and 0 changes nothing."""
        known = self.similarity * similarity + self.importance * importance + self.recency * recency
        return min(1.0, max(0.0, known + self.use * use)) if use else known


PROFILES = {
    "balanced": Profile(similarity=0.6, importance=0.3, recency=0.1),
    "relevance": Profile(similarity=1.0, importance=0.0, recency=0.0, mmr=1.0, use=0.0),
}
WEIGHTS = ("similarity", "importance", "recency", "use")  # what an owner may have otherwise
OWN = "balanced"  # the profile that an owner's weights are of
MOST_USE = 0.2


def profile_named(name: str) -> Profile:
    """A profile by name."""
    if name not in PROFILES:
        raise InvalidInput(f"unknown profile {name[:40]!r}", hint="Profiles: " + ", ".join(PROFILES))
    return PROFILES[name]


def weighed(profile: Profile, weights: Mapping[str, float] | None) -> Profile:
    """A profile with an owner's own weights; as it is when they make no sense."""
    if weights is None or weights.keys() != set(WEIGHTS):
        return profile
    shares = [weights[name] for name in WEIGHTS[:3]]
    sane = all(0.0 <= share <= 1.0 for share in shares) and abs(sum(shares) - 1.0) < 1e-6
    if not sane or shares[0] <= 0 or not 0.0 <= weights["use"] <= MOST_USE:
        return profile
    similarity, importance, recency = shares
    return replace(profile, similarity=similarity, importance=importance, recency=recency, use=weights["use"])
