"""Scores: 60/30/10, decay, fusion, diversity (S1.50, D10, S0.31)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.recall.diversify import pick
from recollect.recall.fuse import Blend, fuse, normalised
from recollect.recall.profile import PROFILES, profile_named
from recollect.store.port import Match, TermWeights

UNIT = st.floats(0, 1)


def test_balanced_is_60_30_10_with_hyperbolic_decay() -> None:
    balanced = PROFILES["balanced"]
    assert balanced.final(0.5, 0.8, 0.4) == pytest.approx(0.6 * 0.5 + 0.3 * 0.8 + 0.1 * 0.4)
    assert balanced.recency_of(30) == pytest.approx(1 / (1 + 30 * balanced.decay_factor))


def test_exponential_decay_can_be_chosen() -> None:
    fading = replace(PROFILES["balanced"], decay="exponential", decay_factor=1 / 30)
    assert fading.recency_of(30) == pytest.approx(0.5)
    assert fading.recency_of(60) == pytest.approx(0.25)


def test_relevance_looks_at_similarity_alone() -> None:
    assert PROFILES["relevance"].final(0.4, 1.0, 1.0) == pytest.approx(0.4)


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(InvalidInput, match="unknown profile"):
        profile_named("fastest")


@given(UNIT, UNIT, UNIT)
def test_a_final_score_is_from_0_to_1_and_rises_with_each_part(a: float, b: float, c: float) -> None:
    for profile in PROFILES.values():
        score = profile.final(a, b, c)
        assert 0 <= score <= 1 + 1e-9
        assert profile.final(min(1, a + 0.1), b, c) >= score


def test_a_word_everyone_says_still_counts_in_a_tiny_store() -> None:
    """FTS5 gives almost nothing for a word in most rows; held against the same words it is a full match."""
    tiny = TermWeights(scored=2e-6, known=0.6, asked=0.6)
    assert normalised(2e-6, tiny) == pytest.approx(1.0)
    half_unknown = TermWeights(scored=2e-6, known=0.6, asked=2.0)
    assert normalised(2e-6, half_unknown) == pytest.approx(0.3)


def test_a_turn_gains_from_the_turns_beside_it_and_an_isolated_one_keeps_its_score() -> None:
    weights = TermWeights(scored=1.0, known=1.0, asked=1.0)
    lexical = [Match(1, 0.5, group=7, place=3), Match(2, 0.5, group=7, place=4), Match(3, 0.5, group=8, place=0)]
    scores = {one.doc: one for one in fuse(lexical, [], {}, weights, hybrid=False, blend=Blend())}
    assert scores[1].similarity > scores[3].similarity
    assert scores[3].similarity == pytest.approx(scores[3].own)


def test_words_and_meaning_both_count() -> None:
    weights = TermWeights(scored=1.0, known=1.0, asked=1.0)
    cosines = {1: 0.8, 2: 0.8, 3: 0.0}
    lexical = [Match(1, 0.6, 0, 0), Match(3, 0.6, 0, 0)]
    semantic = [Match(1, 0.8, 0, 0), Match(2, 0.8, 0, 0)]
    scores = {one.doc: one.similarity for one in fuse(lexical, semantic, cosines, weights, hybrid=True, blend=Blend())}
    assert scores[1] > scores[2] > 0
    assert scores[1] > scores[3] > 0


def test_of_two_that_say_the_same_one_is_picked() -> None:
    texts = ["deploy on friday evening", "deploy on friday evening", "the cat is called miso"]
    assert pick([0.9, 0.89, 0.6], texts, {}, 2, 0.7) == [0, 2]
    assert pick([0.9, 0.89, 0.6], texts, {}, 2, 1.0) == [0, 1]


def test_likeness_is_by_meaning_where_there_are_vectors() -> None:
    same, other = np.array([[1.0, 0.0]], np.float32), np.array([[0.0, 1.0]], np.float32)
    vectors = {0: same, 1: same, 2: other}
    assert pick([0.9, 0.89, 0.6], ["a", "b", "c"], vectors, 2, 0.7) == [0, 2]


@given(st.lists(UNIT, max_size=12), st.integers(0, 15), UNIT)
def test_variety_picks_each_once_and_the_best_first(scores: list[float], limit: int, trade: float) -> None:
    ordered = sorted(scores, reverse=True)
    picked = pick(ordered, [str(n) for n in range(len(scores))], {}, limit, trade)
    assert len(picked) == len(set(picked)) == min(limit, len(scores))
    if picked and trade > 0:
        assert ordered[picked[0]] == ordered[0]
