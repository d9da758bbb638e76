"""What is worth saying before anybody asks: what a user said or was checked, what is current, the best first."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.inject.sameness import Known
from recollect.inject.selection import MOST, STANDING, is_injectable, ranked, select, worth
from recollect.model import KINDS, TRUSTS, Memory

AT = datetime(2026, 11, 18, 9, tzinfo=UTC)
DAY = timedelta(days=1)


def memory(content: str = "Something worth knowing", kind: str = "fact", **given: Any) -> Memory:
    values: dict[str, Any] = {"origin": "user", "trust": "user", "occurred_at": AT - DAY, "recorded_at": AT}
    values |= {"id": content, "project": None}
    return Memory(kind=kind, content=content, **{**values, **given})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, True),
        ({"trust": "checked", "origin": "tool"}, True),
        ({"trust": "quoted", "origin": "web"}, False),
        ({"trust": "quoted"}, False),
        ({"superseded_at": AT, "superseded_by": "x"}, False),
        ({"archived_at": AT}, False),
        ({"deleted_at": AT}, False),
        ({"expires_at": AT}, False),
        ({"expires_at": AT + DAY}, True),
        ({"kind": "event"}, False),
        ({"kind": "topic"}, False),
        ({"content": " \n"}, False),
    ],
    ids=lambda given: " ".join(map(str, given)) if isinstance(given, dict) else str(given),
)
def test_what_may_be_said_by_itself(given: dict[str, Any], said: bool) -> None:
    """T01: what is only quoted is never put before an agent that did not ask."""
    assert is_injectable(memory(**given), AT) is said
    assert len(select(ranked([memory(**given)], AT), AT).memories) == said


@given(
    st.lists(
        st.builds(
            lambda number, kind, trust, gone: memory(f"thing{number} said", kind, trust=trust, archived_at=gone),
            st.integers(0, 99),
            st.sampled_from(KINDS),
            st.sampled_from(TRUSTS),
            st.none() | st.just(AT),
        ),
        max_size=60,
    )
)
def test_no_mix_lets_a_quoted_one_through(memories: list[Memory]) -> None:
    """T01."""
    chosen = select(ranked(memories, AT), AT).memories
    assert len(chosen) <= MOST
    assert all(one.trust != "quoted" and one.archived_at is None and one.kind in STANDING for one in chosen)
    assert len({one.content for one in chosen}) == len(chosen)


def test_preferences_come_before_decisions_lessons_facts_notes_references() -> None:
    made = [memory(f"{kind} alone", kind) for kind in reversed(STANDING)]
    assert [one.kind for one in ranked(made, AT)] == list(STANDING)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"importance": 0.9}, {"importance": 0.3}),
        ({"occurred_at": AT - DAY}, {"occurred_at": AT - 400 * DAY}),
        ({"project": "app"}, {"project": None}),
        ({"confirmed_at": AT}, {"access_count": 99}),
    ],
    ids=["importance", "recency", "own", "confirmed"],
)
def test_among_the_same_kind_what_matters_more_comes_first(better: dict[str, Any], worse: dict[str, Any]) -> None:
    one, other = memory("one thing", **better), memory("other matter", **worse)
    assert worth(one, AT) > worth(other, AT)
    assert ranked([other, one], AT) == ranked([one, other], AT) == [one, other]


def test_an_important_decision_comes_before_an_unimportant_preference() -> None:
    best = ranked([memory("tea or coffee", "preference", importance=0.1), memory("x", "decision", importance=0.9)], AT)
    assert [one.kind for one in best] == ["decision", "preference"]


@given(st.floats(-1e4, 1e4), st.integers(0, 10**9), st.floats(0, 1), st.sampled_from(STANDING))
def test_worth_is_from_nothing_to_one(days: float, reads: int, importance: float, kind: str) -> None:
    one = memory(kind=kind, importance=importance, access_count=reads, occurred_at=AT - timedelta(days=days))
    assert 0 <= worth(one, AT) <= 1.0000001


def test_of_two_that_say_the_same_the_better_is_said() -> None:
    first = memory("Deploys happen on Fridays, blue-green", "decision", importance=0.9)
    again = memory("deploys happen on Fridays blue green", "decision", importance=0.2)
    other = memory("Deploys happen on Mondays at 9, blue-green", "decision", importance=0.1)
    assert select(ranked([again, other, first], AT), AT).memories == (first, other)


def test_what_the_host_loads_by_itself_is_not_said_again() -> None:
    uv, port = memory("Use uv, never pip", "preference"), memory("Staging listens on port 5433")
    best = ranked([uv, port], AT)
    assert select(best, AT, known=Known(["Always use uv, never pip."])).memories == (port,)
    assert select(best, AT, shown=Known(["> Staging listens on port 5433"])).memories == (uv,)
    assert select(best, AT, known=Known(["Use pip, never uv"])).memories == (uv, port)


def test_nothing_worse_moves_up_for_what_is_shown_elsewhere() -> None:
    """Else a block in a file and the start of a session would together say twice as much."""
    many = [memory(f"thing{number} of{number} all{number}", importance=1 - number / 100) for number in range(40)]
    best = ranked(many, AT)
    elsewhere = Known(one.content for one in best[:10])
    assert select(best, AT, shown=elsewhere).memories == tuple(best[10:MOST])
    assert select(best, AT, known=elsewhere).memories == tuple(best[10 : 10 + MOST])


def test_a_selection_hangs_on_nothing_but_what_is_given() -> None:
    many = [memory(f"thing{number}", id=f"{number:02}") for number in range(30)]
    assert select(ranked(many, AT), AT) == select(ranked(reversed(many), AT), AT)
    older = [replace(one, occurred_at=AT - 3 * DAY) for one in many]
    assert [one.id for one in ranked(older, AT)] == sorted(one.id for one in older)
