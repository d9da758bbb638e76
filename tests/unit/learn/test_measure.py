"""Before and after: intervals as the textbooks have them, and no word more than the counts allow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.learn.measure import FLOOR, Rate, Span, effect, less, mean_change, newcombe, wilson


@pytest.mark.parametrize(
    ("hits", "tasks", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_of_a_share(hits: int, tasks: int, low: float, high: float) -> None:
    """The examples of Newcombe 1998, without continuity correction."""
    span = wilson(Rate(hits, tasks))
    assert (round(span.low, 4), round(span.high, 4)) == (low, high)


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((10, 10), (0, 10), 0.6075, 1.0),
        ((5, 56), (0, 29), -0.0381, 0.1926),
    ],
)
def test_the_interval_of_a_difference(first: tuple[int, int], second: tuple[int, int], low: float, high: float) -> None:
    """The examples of Newcombe 1998, method 10."""
    span = newcombe(Rate(*second), Rate(*first))
    assert (round(span.low, 4), round(span.high, 4)) == (low, high)


rates = st.integers(0, 200).flatmap(lambda tasks: st.builds(Rate, st.integers(0, tasks), st.just(tasks)))


@given(rates, rates)
def test_an_interval_holds_its_estimate_and_turns_with_its_sides(one: Rate, other: Rate) -> None:
    there, back = newcombe(one, other), newcombe(other, one)
    assert there.low <= there.value <= there.high
    assert there.low == pytest.approx(-back.high)
    assert there.high == pytest.approx(-back.low)


@pytest.mark.parametrize(
    ("before", "after", "verdict", "proposal"),
    [
        pytest.param((5, FLOOR - 1), (0, 500), "not enough data", "wait", id="too few before"),
        pytest.param((250, 500), (0, FLOOR - 1), "not enough data", "wait", id="too few after"),
        pytest.param((20, 40), (2, 40), "fewer", "keep", id="it helps"),
        pytest.param((2, 40), (20, 40), "more", "remove", id="it harms"),
        pytest.param((5, 20), (4, 20), "no difference seen", "wait", id="too early to tell"),
        pytest.param((20, 100), (20, 100), "no difference seen", "remove", id="long enough to tell"),
        pytest.param((3, 40), (1, 40), "no difference seen", "wait", id="rare, and halved: it may help"),
    ],
)
def test_what_is_said(before: tuple[int, int], after: tuple[int, int], verdict: str, proposal: str) -> None:
    """S3.42: honest, and a proposal to remove what does not help."""
    found = effect(Rate(*before), Rate(*after))
    assert (found.verdict, found.proposal) == (verdict, proposal)
    assert (found.difference is None) == (verdict == "not enough data")
    assert not found.controlled


def test_what_fell_everywhere_did_not_fall_because_of_it() -> None:
    before, after = Rate(40, 80), Rate(10, 80)
    assert effect(before, after).verdict == "fewer"
    found = effect(before, after, Rate(40, 80), Rate(12, 80))
    assert (found.controlled, found.verdict) == (True, "no difference seen")
    assert found.difference is not None
    assert found.difference.value == pytest.approx((10 - 40) / 80 - (12 - 40) / 80)


def test_a_control_with_too_few_tasks_is_not_used() -> None:
    found = effect(Rate(40, 80), Rate(10, 80), Rate(4, 8), Rate(1, 80))
    assert (found.controlled, found.verdict) == (False, "fewer")


def test_the_difference_of_differences_is_wider_than_each() -> None:
    one, other = Span(-0.3, -0.4, -0.2), Span(-0.1, -0.2, 0.0)
    both = less(one, other)
    assert both.value == pytest.approx(-0.2)
    assert both.high - both.low > 0.2


def test_a_mean_is_resampled_the_same_each_time() -> None:
    before, after = [float(n % 7) for n in range(40)], [float(n % 3) for n in range(40)]
    span = mean_change(before, after)
    assert span is not None
    assert span == mean_change(before, after)
    assert span.value == pytest.approx(sum(after) / 40 - sum(before) / 40)
    assert span.low < span.value < span.high < 0
    # As a normal distribution would have it, within a tenth.
    assert (span.high - span.low) / 2 == pytest.approx(1.96 * (3.97 / 40 + 0.67 / 40) ** 0.5, rel=0.15)


@pytest.mark.parametrize("after", [100.0, 60.0], ids=["as before", "changed"])
def test_of_equal_values_no_interval_is_told(after: float) -> None:
    """One without width would say that nobody will ever see another value."""
    assert mean_change([100.0] * FLOOR, [after] * FLOOR) is None
    assert mean_change([0.0] * (FLOOR - 1) + [after], [0.0] * FLOOR) is not None


def test_a_mean_of_few_is_not_told() -> None:
    assert mean_change([1.0] * (FLOOR - 1), [1.0] * 50) is None
