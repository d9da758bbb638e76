"""Fitted weights: better on what nobody looked at, or not taken on; the same examples give the same weights."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from recollect.learn.weighing import FEWEST, Example, default, fit
from recollect.recall.profile import MOST_USE, PROFILES, weighed

T0 = datetime(2026, 1, 1, tzinfo=UTC)


def example(number: int, good_by: str, rng: random.Random) -> Example:
    """A question whose answer is what is best by one part alone; the others are noise."""
    part = ("similarity", "importance", "recency", "use").index(good_by)
    rows = [
        (0.4 + 0.1 * rng.random(), rng.random(), rng.random(), rng.random() - 0.5 if good_by == "use" else 0.0)
        for _ in range(8)
    ]
    good = max(range(8), key=lambda place: rows[place][part])
    return Example(T0 + timedelta(hours=number), f"s{number // 3}", tuple(rows), (good,))


def many(good_by: str, count: int = 90, seed: int = 7) -> list[Example]:
    rng = random.Random(seed)
    return [example(number, good_by, rng) for number in range(count)]


@pytest.mark.parametrize("good_by", ["similarity", "recency"])
def test_weights_follow_what_was_used_and_are_better_on_what_was_held_out(good_by: str) -> None:
    found = fit(many(good_by))
    assert found.better
    assert found.after > found.before + 0.02
    assert found.weights[good_by] > default()[good_by]
    assert found.trained + found.held_out == found.examples == 90
    assert abs(found.held_out - 27) <= 2
    assert sum(found.weights[name] for name in ("similarity", "importance", "recency")) == pytest.approx(1)
    assert weighed(PROFILES["balanced"], found.weights) != PROFILES["balanced"]


def test_feedback_stays_a_small_part_whatever_it_says() -> None:
    found = fit(many("use"))
    assert found.weights["use"] <= MOST_USE
    assert weighed(PROFILES["balanced"], found.weights).use == found.weights["use"]


def test_what_was_chance_in_the_past_is_not_taken_on() -> None:
    """The older examples say one thing, the newer another."""
    rng = random.Random(3)
    older = [example(number, "recency", rng) for number in range(63)]
    newer = [example(number, "importance", rng) for number in range(63, 90)]
    found = fit([*older, *newer])
    assert found.train_after > found.train_before
    assert not found.better


def test_weights_in_force_are_what_new_ones_must_beat() -> None:
    examples = many("similarity")
    first = fit(examples)
    again = fit(examples, first.weights)
    assert again.before == pytest.approx(first.after)
    assert not again.better


def test_few_examples_say_nothing() -> None:
    found = fit(many("similarity", FEWEST - 1))
    assert (found.enough, found.better) == (False, False)
    assert found.weights == default()
    assert not fit([]).enough


def test_all_of_one_session_is_held_out_or_learned_from_together() -> None:
    rng = random.Random(1)
    one = [example(number, "similarity", rng) for number in range(60)]
    whole = [Example(each.at, "s", each.candidates, each.good) for each in one]
    assert not fit(whole).enough, "nothing is left to learn from"


def test_sessions_that_went_on_at_once_are_not_cut_apart() -> None:
    """Three sessions in turn: what is held out is one of them, with every example."""
    rng = random.Random(1)
    one = [example(number, "similarity", rng) for number in range(60)]
    turns = [Example(each.at, "abc"[number % 3], each.candidates, each.good) for number, each in enumerate(one)]
    found = fit(turns)
    assert found.enough
    assert (found.trained, found.held_out) == (40, 20)


def test_the_order_of_the_examples_does_not_matter() -> None:
    examples = many("recency")
    shuffled = random.Random(5).sample(examples, len(examples))
    assert fit(examples) == fit(shuffled)


def test_what_did_harm_is_to_come_last() -> None:
    rng = random.Random(2)
    harmed = []
    for number in range(60):
        one = example(number, "recency", rng)
        harmed.append(Example(one.at, one.session, one.candidates, (), one.good))
    found = fit(harmed)
    assert found.weights["recency"] < default()["recency"]
