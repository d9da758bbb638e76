"""Variety: of several hits that say the same, one is enough (maximal marginal relevance); no source fills an answer.

Likeness is the cosine of the vectors where both have one, else the share of words in common.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.store.ports.search import Matrix

_WORD = re.compile(r"\w+")
_READ_CHARS = 1_000
_OF_ONE_SOURCE = 2  # hits in ten


def no_flood(sources: Sequence[str | None], limit: int) -> list[int]:
    """Indexes of what stays when of one source at most two in ten do; what has no source always stays."""
    most = max(_OF_ONE_SOURCE, limit * _OF_ONE_SOURCE // 10)
    seen: Counter[str] = Counter()
    kept = []
    for place, source in enumerate(sources):
        if source is not None:
            seen[source] += 1
            if seen[source] > most:
                continue
        kept.append(place)
    return kept


def pick(
    scores: Sequence[float], texts: Sequence[str], vectors: Mapping[int, Matrix], limit: int, trade: float
) -> list[int]:
    """Indexes of at most `limit` items: each the best of `trade` x score - (1 - trade) x likeness to those picked."""
    left = list(range(len(scores)))
    if trade >= 1.0 or len(left) <= limit:
        return left[:limit]
    likeness = _likeness_of(texts, vectors)
    nearest = [0.0] * len(scores)
    picked: list[int] = []
    while left and len(picked) < limit:
        chosen = max(left, key=lambda i: (trade * scores[i] - (1.0 - trade) * nearest[i], -i))
        picked.append(chosen)
        left.remove(chosen)
        for i in left:
            nearest[i] = max(nearest[i], likeness(i, chosen))
    return picked


def _likeness_of(texts: Sequence[str], vectors: Mapping[int, Matrix]) -> Callable[[int, int], float]:
    """How alike two of the texts are, from 0 to 1."""
    words = [frozenset(_WORD.findall(text[:_READ_CHARS].casefold())) for text in texts]
    cosines = _all_cosines(vectors) if vectors else {}

    def likeness(i: int, j: int) -> float:
        if (i, j) in cosines:
            return cosines[i, j]
        union = len(words[i] | words[j])
        return len(words[i] & words[j]) / union if union else 1.0

    return likeness


def _all_cosines(vectors: Mapping[int, Matrix]) -> dict[tuple[int, int], float]:
    """The best cosine between any two documents, from one product of all their vectors."""
    import numpy as np

    docs = list(vectors)
    rows = np.concatenate([vectors[doc] for doc in docs])
    starts = np.cumsum([0, *(len(vectors[doc]) for doc in docs[:-1])])
    best = np.maximum.reduceat(np.maximum.reduceat(rows @ rows.T, starts, axis=0), starts, axis=1).tolist()
    return {(i, j): best[a][b] for a, i in enumerate(docs) for b, j in enumerate(docs)}
