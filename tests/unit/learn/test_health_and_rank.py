"""The health of a session with its parts, and the order of candidates: both the same every time, both bounded."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.learn.learning_fixture import START, Told, all_signals, stale_edit

from recollect.distill.digest import Digest
from recollect.learn.cluster import candidates_of
from recollect.learn.health import FULL, by_flavor, health_of
from recollect.learn.rank import ranked, score_of
from recollect.learn.values import Candidate, Waste


def digest(**changes: object) -> Digest:
    return replace(Told().ask("Hello").say("Hi.").digest, **changes)  # type: ignore[arg-type]


def candidate(**changes: object) -> Candidate:
    (found,) = candidates_of(all_signals(*(stale_edit(name) for name in "abc")))
    return replace(found, **changes)  # type: ignore[arg-type]


def test_a_session_in_which_nothing_went_wrong_is_healthy() -> None:
    assert health_of(digest(outcome="success")).score == FULL
    assert health_of(digest(outcome="success")).penalties == ()


def test_a_score_is_what_its_parts_leave() -> None:
    found = health_of(digest(outcome="abandoned", corrections=2, denials=1))
    assert {(one.name, one.count, one.points) for one in found.penalties} == {
        ("abandoned", 1, 15),
        ("corrections", 2, 10),
        ("refusals", 1, 3),
    }
    assert found.score == FULL - 28


def test_one_bad_habit_cannot_take_everything() -> None:
    found = health_of(digest(outcome="success", corrections=100))
    assert [(one.count, one.points) for one in found.penalties] == [(100, 20)]


@given(st.integers(0, 500), st.integers(0, 500), st.sampled_from(["success", "fail", "abandoned", "unknown"]))
def test_a_score_is_from_nought_to_a_hundred_and_more_trouble_never_raises_it(n: int, m: int, outcome: str) -> None:
    one = health_of(digest(outcome=outcome, retries=n, corrections=m, interruptions=n, denials=m))
    worse = health_of(digest(outcome=outcome, retries=n + 1, corrections=m + 1, interruptions=n, denials=m))
    assert 0 <= worse.score <= one.score <= FULL


def test_the_health_of_agents_is_that_of_their_sessions() -> None:
    good, bad = health_of(digest(outcome="success")), health_of(digest(outcome="fail"))
    other = replace(good, flavor="codex")
    claude, codex = by_flavor([bad, other, good])
    assert (claude.flavor, claude.sessions, claude.mean, claude.lowest) == ("claude", 2, 85.0, 70)
    assert dict(claude.penalties) == {"ended in failure": 30}
    assert codex.mean == FULL


def test_candidates_of_several_agents_come_first() -> None:
    """S3.27: ranked, cross-flavor first."""
    plain, cross = candidate(id="a"), candidate(id="b", cross_flavor=True, sessions=("x", "y"))
    assert [one.id for one in ranked([plain, cross], START)] == ["b", "a"]


@pytest.mark.parametrize(
    "better",
    [
        {"sessions": tuple("abcdefgh")},
        {"waste": Waste(36_000.0)},
        {"last_seen": START + timedelta(days=300)},
        {"trust": "user"},
    ],
    ids=["more sessions", "more waste", "more recent", "more trusted"],
)
def test_what_makes_a_candidate_worth_more(better: dict[str, object]) -> None:
    now = START + timedelta(days=301)
    assert score_of(candidate(**better), now) > score_of(candidate(), now)


def test_equal_candidates_stand_in_the_order_of_their_ids() -> None:
    found = [candidate(id=name) for name in ("c", "a", "b")]
    assert [one.id for one in ranked(found, START)] == ["a", "b", "c"]


def test_what_is_seen_in_the_future_is_as_of_now() -> None:
    assert score_of(candidate(last_seen=START + timedelta(days=900)), START) == score_of(candidate(), START)
