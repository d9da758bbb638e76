"""A document's words as PostgreSQL indexes them: lexemes that say whose they are, of which tier, and how often."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from recollect.model import Tier
from recollect.store.searchtext import index_text
from recollect.store.stems import stems

# How often a word stands in a document, in steps: what is between counts as the nearest. bm25 hardly tells more apart.
STEPS: Mapping[Tier, tuple[float, ...]] = {
    "memory": (0.5, 1.0, 1.5, 2.0, 3.0, 5.0),
    "gist": (1.0, 2.0, 3.0, 5.0, 9.0),
    "turn": (1.0, 2.0, 3.0, 4.0, 6.0, 9.0, 14.0, 24.0),
}
# What a word counts in each column, as in the embedded store.
COLUMNS: Mapping[Tier, Mapping[str, float]] = {
    "memory": {"content": 1.0, "extra": 0.5},
    "gist": {"content": 1.0},
    "turn": {"user": 3.0, "agent": 1.0},
}
LONGEST = 200  # characters of a word that are told apart


def entry(tier: Tier, owner: int, texts: Mapping[str, str]) -> tuple[list[str], int]:
    """A document's lexemes (tier, owner, stem, and in which step it counts), and how many words it has."""
    counted: Counter[str] = Counter()
    size = 0
    for column, text in texts.items():
        words = stems(index_text(text))
        size += len(words)
        for word in words:
            counted[word[:LONGEST]] += COLUMNS[tier][column]  # type: ignore[assignment]
    head = head_of(tier, owner)
    return [f"{head}{word}~{_step(tier, times)}" for word, times in counted.items()], size


def head_of(tier: Tier, owner: int) -> str:
    """What every lexeme of an owner and tier begins with."""
    return f"{tier[0]}{owner}x"


@lru_cache(maxsize=1_024)
def _step(tier: Tier, times: float) -> int:
    """The number of the nearest step, from 1."""
    steps = STEPS[tier]
    return 1 + min(range(len(steps)), key=lambda at: abs(math.log(steps[at] / times)))
