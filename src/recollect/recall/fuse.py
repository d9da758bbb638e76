"""Two legs, one similarity: how well each document answers, by words and by meaning, and what stands around it.

Lexical scores are divided by what the question's words could have scored, cosines are taken as they are; both are then
on a scale that does not depend on the question, so their sum can be held against a threshold. A turn gains when the
turns beside it are about the same, the more so the shorter turns are; and when it lies in the time the question names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from recollect.store.ports.search import Match, Surroundings, TermWeights


@dataclass(frozen=True, slots=True)
class Blend:
    """The constants of the fusion; docs/benchmarks.md says how they were chosen."""

    lexical: float = 0.4  # against 1 for the cosine
    neighbour: float = 0.3  # share of each turn beside a turn ...
    neighbour_chars: float = 600.0  # ... where turns are this long; four times less where they are twice as long
    dated: float = 0.3  # for lying in the time the question names
    named: float = 0.3  # for a memory one of whose tags the question says


class Scored(NamedTuple):
    """One document. `own` is its similarity by itself, `similarity` with what stands around it; both about 0 to 1."""

    doc: int
    lexical: float
    semantic: float | None
    own: float
    similarity: float


def normalising(weights: TermWeights) -> float:
    """What makes a lexical score a share of what the whole question could have scored; a little over 1 at the most."""
    if weights.scored <= 0 or weights.asked <= 0:
        return 0.0
    return weights.known / weights.scored / weights.asked


def own_scores(
    words: Mapping[int, float], cosines: Mapping[int, float], *, hybrid: bool, blend: Blend
) -> dict[int, float]:
    """What each document scores by itself."""
    if not hybrid:
        return dict(words)
    scale, share = 1.0 + blend.lexical, blend.lexical
    own = {doc: share * score / scale for doc, score in words.items()}
    for doc, cosine in cosines.items():
        if cosine > 0.0:
            own[doc] = own.get(doc, 0.0) + cosine / scale
        else:
            own.setdefault(doc, 0.0)
    return own


def beside(own: Mapping[int, float], surroundings: Sequence[Surroundings], blend: Blend) -> dict[int, float]:
    """What the turns beside a turn add to it, or take from it; nothing where there is no turn."""
    if not surroundings:
        return {}
    around = {
        one.doc: [own[doc] for doc in (one.before, one.after) if doc is not None and doc in own] for one in surroundings
    }
    found = [score for scores in around.values() for score in scores]
    usual = sum(found) / max(1, len(found))
    length = sum(one.chars for one in surroundings) / len(surroundings)
    share = blend.neighbour * min(1.0, blend.neighbour_chars / max(1.0, length)) ** 2
    return {doc: share * sum(score - usual for score in scores) for doc, scores in around.items()}


def dated(matches: Iterable[Match], first: str, last: str, blend: Blend) -> dict[int, float]:
    """What lying between two times adds."""
    return {match.doc: blend.dated for match in matches if first <= match.at <= last}
