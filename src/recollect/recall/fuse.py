"""Two legs, one similarity: how well each document answers, by words and by meaning, and what stands around it.

Lexical scores are divided by what the question's words could have scored, cosines are taken as they are; both are then
on a scale that does not depend on the question, so their sum can be compared with a threshold. A turn also gains from
the turns beside it and from the best turn of its session: talk about a thing is rarely one line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recollect.store.port import Match, TermWeights


@dataclass(frozen=True, slots=True)
class Blend:
    """The constants of the fusion (see docs/benchmarks.md for how they were chosen)."""

    lexical: float = 0.8
    semantic: float = 1.0
    neighbour: float = 0.3
    session: float = 0.3


@dataclass(frozen=True, slots=True)
class Scored:
    """One document, with the parts of its similarity. `own` is without what stands around it."""

    doc: int
    lexical: float
    semantic: float | None
    own: float
    similarity: float


def normalised(score: float, weights: TermWeights) -> float:
    """A lexical score as a share of what the whole question could have scored; 0 to 1."""
    if weights.scored <= 0 or weights.asked <= 0:
        return 0.0
    return min(1.0, score * weights.known / weights.scored / weights.asked)


def fuse(
    lexical: Sequence[Match],
    semantic: Sequence[Match],
    cosines: Mapping[int, float],
    weights: TermWeights,
    *,
    hybrid: bool,
    blend: Blend,
) -> list[Scored]:
    """Every document either leg found, with its similarity; in no order."""
    places = {match.doc: (match.group, match.place) for match in (*semantic, *lexical)}
    words = {match.doc: normalised(match.score, weights) for match in lexical}
    own = {doc: _own(words.get(doc, 0.0), cosines.get(doc, 0.0), hybrid=hybrid, blend=blend) for doc in places}
    by_place = {place: own[doc] for doc, place in places.items() if place[0]}
    best: dict[int, float] = {}
    for (group, _), score in by_place.items():
        best[group] = max(best.get(group, 0.0), score)
    scored = []
    for doc, (group, place) in places.items():
        score = own[doc]
        if group:
            beside = by_place.get((group, place - 1), 0.0) + by_place.get((group, place + 1), 0.0)
            # A turn with nothing around it keeps its own score.
            score = (score + blend.neighbour * beside + blend.session * best[group]) / (1.0 + blend.session)
        semantic_part = cosines.get(doc) if hybrid else None
        scored.append(Scored(doc, words.get(doc, 0.0), semantic_part, own[doc], min(1.0, score)))
    return scored


def _own(lexical: float, cosine: float, *, hybrid: bool, blend: Blend) -> float:
    if not hybrid:
        return lexical
    return (blend.lexical * lexical + blend.semantic * max(0.0, cosine)) / (blend.lexical + blend.semantic)
