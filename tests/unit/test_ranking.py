"""Scores: 60/30/10, decay, fusion, diversity (S1.50, D10, S0.31)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.recall.dates import window
from recollect.recall.diversify import pick
from recollect.recall.fuse import Blend, beside, dated, normalising, own_scores
from recollect.recall.profile import PROFILES, profile_named
from recollect.store.ports.search import Match, Surroundings, TermWeights

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
    assert 2e-6 * normalising(tiny) == pytest.approx(1.0)
    half_unknown = TermWeights(scored=2e-6, known=0.6, asked=2.0)
    assert 2e-6 * normalising(half_unknown) == pytest.approx(0.3)


def test_a_turn_gains_from_the_turns_beside_it_and_an_isolated_one_keeps_its_score() -> None:
    own = {1: 0.5, 2: 0.5, 3: 0.1, 4: 0.5}
    places = [Surroundings(1, 100, None, 2), Surroundings(2, 100, 1, 3), Surroundings(4, 100, None, None)]
    gains = beside(own, places, Blend())
    assert gains[1] > 0 > gains[2]
    assert gains[4] == 0


def test_long_turns_gain_less_from_their_neighbours() -> None:
    own = {1: 0.5, 2: 0.6, 3: 0.4, 4: 0.1}
    short = beside(own, [Surroundings(1, 300, None, 2), Surroundings(3, 300, None, 4)], Blend())
    long = beside(own, [Surroundings(1, 6_000, None, 2), Surroundings(3, 6_000, None, 4)], Blend())
    assert short[1] == pytest.approx(100 * long[1])


def test_words_and_meaning_both_count() -> None:
    scores = own_scores({1: 0.6, 3: 0.6}, {1: 0.8, 2: 0.8}, hybrid=True, blend=Blend())
    assert scores[1] > scores[2] > scores[3] > 0


def test_without_an_embedder_words_count_alone() -> None:
    assert own_scores({1: 0.6}, {}, hybrid=False, blend=Blend()) == {1: 0.6}


def test_lying_in_the_time_asked_about_counts() -> None:
    matches = [Match(1, 0.5, 0, 0, "2023-05-08T00:00:00.000000Z"), Match(2, 0.5, 0, 0, "2024-05-08T00:00:00.000000Z")]
    assert dated(matches, "2023-05-01", "2023-06-07", Blend()) == {1: Blend().dated}


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("What did Ann paint in May 2023?", "2023-05-01", "2023-06-08"),
        ("on 3 July 2024", "2024-07-02", "2024-07-06"),
        ("On the 3rd of July, 2024 we", "2024-07-02", "2024-07-06"),
        ("July 3rd, 2024", "2024-07-02", "2024-07-06"),
        ("deployed 2026-11-15?", "2026-11-14", "2026-11-18"),
        ("in Dec 2025", "2025-12-01", "2026-01-08"),
        ("Sept. 2025", "2025-09-01", "2025-10-08"),
    ],
)
def test_a_date_in_a_question_is_a_stretch_of_time(question: str, first: str, last: str) -> None:
    span = window(question)
    assert span is not None
    assert (f"{span[0]:%Y-%m-%d}", f"{span[1]:%Y-%m-%d}") == (first, last)


@pytest.mark.parametrize("question", ["", "may I?", "31 February 2024", "2024-99-99", "in May", "port 2023", "v2023-1"])
def test_what_is_not_a_date_is_none(question: str) -> None:
    assert window(question) is None


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
