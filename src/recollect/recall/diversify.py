"""Variety: of several hits that say the same, one is enough (maximal marginal relevance).

Likeness is the cosine of the vectors where both have one, else the share of words in common.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.store.port import Matrix

_WORD = re.compile(r"\w+")
_READ_CHARS = 1_000


def pick(
    scores: Sequence[float], texts: Sequence[str], vectors: Mapping[int, Matrix], limit: int, trade: float
) -> list[int]:
    """Indexes of at most `limit` items: each the best of `trade` x score - (1 - trade) x likeness to those picked."""
    left = list(range(len(scores)))
    if trade >= 1.0 or len(left) <= limit:
        return left[:limit]
    words = [frozenset(_WORD.findall(text[:_READ_CHARS].casefold())) for text in texts]
    nearest = [0.0] * len(scores)
    picked: list[int] = []
    while left and len(picked) < limit:
        chosen = max(left, key=lambda i: (trade * scores[i] - (1.0 - trade) * nearest[i], -i))
        picked.append(chosen)
        left.remove(chosen)
        for i in left:
            nearest[i] = max(nearest[i], _likeness(i, chosen, words, vectors))
    return picked


def _likeness(i: int, j: int, words: Sequence[frozenset[str]], vectors: Mapping[int, Matrix]) -> float:
    if i in vectors and j in vectors:
        return float((vectors[i] @ vectors[j].T).max())
    union = len(words[i] | words[j])
    return len(words[i] & words[j]) / union if union else 1.0
