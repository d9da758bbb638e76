"""Usefulness: confirmed uses raise it, harm lowers it four times as much, time takes it back to nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.recall.profile import PROFILES, weighed
from recollect.recall.usefulness import usefulness
from recollect.store.ports.use import VERDICTS, Verdict

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def days_ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


histories = st.lists(
    st.builds(
        Verdict, st.sampled_from(VERDICTS), st.floats(min_value=0, max_value=5_000, allow_nan=False).map(days_ago)
    ),
    max_size=30,
)


def test_without_a_verdict_it_is_nothing() -> None:
    assert usefulness([], NOW) == 0.0


def test_the_formula_as_it_is_documented() -> None:
    assert usefulness([Verdict("helpful", NOW)], NOW) == pytest.approx(1 / 3)
    assert usefulness([Verdict("cited", NOW)], NOW) == pytest.approx(0.2)
    assert usefulness([Verdict("cited", NOW), Verdict("success", NOW)], NOW) == pytest.approx(1 / 3)
    assert usefulness([Verdict("harmful", NOW)], NOW) == pytest.approx(-2 / 3)
    assert usefulness([Verdict("helpful", days_ago(90))], NOW) == pytest.approx(0.2)
    assert usefulness([Verdict("helpful", days_ago(10))], NOW, 10) == pytest.approx(0.2)


def test_one_harm_weighs_four_helps() -> None:
    helped = [Verdict("helpful", NOW)] * 4
    assert usefulness([*helped, Verdict("harmful", NOW)], NOW) == 0.0


def test_what_is_said_later_does_not_count_yet() -> None:
    assert usefulness([Verdict("helpful", NOW + timedelta(seconds=1))], NOW) == 0.0


@given(histories)
def test_it_is_bounded(history: list[Verdict]) -> None:
    assert -1 < usefulness(history, NOW) < 1
    for profile in PROFILES.values():
        plain = profile.final(0.5, 0.5, 0.5)
        assert abs(profile.final(0.5, 0.5, 0.5, usefulness(history, NOW)) - plain) <= profile.use + 1e-12


@given(histories, st.sampled_from(VERDICTS))
def test_one_more_verdict_moves_it_the_way_it_says(history: list[Verdict], verdict: str) -> None:
    before, after = usefulness(history, NOW), usefulness([*history, Verdict(verdict, NOW)], NOW)
    assert after < before if verdict == "harmful" else after > before


@given(st.sampled_from(VERDICTS), st.lists(st.floats(0, 5_000, allow_nan=False), min_size=2, max_size=9))
def test_it_fades_and_never_turns(verdict: str, ages: list[float]) -> None:
    worth = [abs(usefulness([Verdict(verdict, days_ago(age))], NOW)) for age in sorted(ages)]
    assert all(earlier >= later >= 0 for earlier, later in pairwise(worth))


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_without_feedback_a_score_is_the_very_same_number(similarity: float, importance: float, recency: float) -> None:
    profile = PROFILES["balanced"]
    before = profile.similarity * similarity + profile.importance * importance + profile.recency * recency
    assert profile.final(similarity, importance, recency, 0.0) == before


@pytest.mark.parametrize(
    "weights",
    [
        {"similarity": 0.5, "importance": 0.5, "recency": 0.5, "use": 0.1},
        {"similarity": 0.0, "importance": 0.5, "recency": 0.5, "use": 0.1},
        {"similarity": 0.6, "importance": 0.3, "recency": 0.1, "use": 5.0},
        {"similarity": 1.6, "importance": -0.6, "recency": 0.0, "use": 0.1},
        {"similarity": float("nan"), "importance": 0.3, "recency": 0.1, "use": 0.1},
        {"similarity": 1.0},
        {},
    ],
    ids=["too much", "nothing to go by", "all by feedback", "negative", "no number", "too few", "none"],
)
def test_weights_that_make_no_sense_are_not_used(weights: dict[str, float]) -> None:
    assert weighed(PROFILES["balanced"], weights) == PROFILES["balanced"]


def test_own_weights_are_used() -> None:
    own = {"similarity": 0.8, "importance": 0.1, "recency": 0.1, "use": 0.2}
    assert weighed(PROFILES["balanced"], own).final(0.5, 1.0, 1.0, 0.5) == pytest.approx(0.7)
    assert weighed(PROFILES["balanced"], None) == PROFILES["balanced"]
