"""Whether a memory was used: by the agent's own words, that nobody said to it before. Being shown proves nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ids import stable_key
from recollect.learn.usewords import telling, used
from recollect.model import Event

T0 = datetime(2026, 11, 15, 12, tzinfo=UTC)
MEMORY = "Postgres for local development listens on port 5433, not 5432; the socket lies in /run/walrus."
ROLES = {
    "user": ("user_prompt", "user"),
    "agent": ("assistant_text", "assistant"),
    "call": ("tool_call", "assistant"),
    "result": ("tool_result", "tool"),
    "shown": ("injected_context", "injected"),
    "thought": ("thinking", "assistant"),
}


def said(*lines: str) -> list[Event]:
    events = []
    for minute, line in enumerate(lines):
        who, _, text = line.partition(": ")
        kind, origin = ROLES[who]
        at = T0 + timedelta(minutes=minute)
        events.append(Event(stable_key(str(minute)), "s", kind, who, origin, text, at, at))
    return events


def found(*lines: str, shown: int = 0, memory: str = MEMORY) -> list[str]:
    at = T0 + timedelta(minutes=shown)
    return list(used({"m": (at, telling(memory))}, said(*lines)))


def test_what_the_agent_does_with_a_number_it_was_told_is_use() -> None:
    assert found("user: which port was it?", "call: psql -h localhost -p 5433") == ["m"]
    events = said("user: which port was it?", "call: psql -h localhost -p 5433")
    assert used({"m": (T0, telling(MEMORY))}, events) == {"m": T0 + timedelta(minutes=1)}


@pytest.mark.parametrize(
    "lines",
    [
        ("shown: " + MEMORY,),
        ("shown: " + MEMORY, "user: which port?", "agent: I will look it up."),
        ("user: " + MEMORY, "agent: right, port 5433 and /run/walrus"),
        ("result: config: port 5433, socket /run/walrus, not 5432", "agent: it is 5433, and /run/walrus, not 5432"),
        ("thought: port 5433 and /run/walrus, not 5432",),
        ("agent: it is on my machine",),
        ("user: fix the test", "agent: the postgres port"),
    ],
    ids=[
        "only shown",
        "shown and not used",
        "the user said it",
        "a file said it",
        "a thought",
        "nothing",
        "too little",
    ],
)
def test_what_does_not_show_use_is_none(lines: tuple[str, ...]) -> None:
    assert found(*lines) == []


def test_what_was_said_before_it_was_shown_is_no_use_of_it() -> None:
    lines = ("user: which?", "agent: 5433 and walrus, not 5432", "user: go on", "agent: 5433 and walrus, not 5432")
    assert found(*lines, shown=2) == []
    assert found(*lines[2:]) == ["m"]


def test_usual_words_tell_nothing() -> None:
    assert telling("fix the failing test and run the build again") == {} or set(
        telling("fix the failing test and run the build again")
    ) <= {"again"}
    assert found("agent: run the test and build", memory="Run the test before the build") == []


def test_a_reply_after_what_was_heard_before() -> None:
    before = said("user: the socket is /run/walrus")
    events = said("agent: walrus socket lies there")
    assert used({"m": (T0, telling(MEMORY))}, events, before) == {}


@given(st.lists(st.sampled_from(["shown: ", "user: ", "result: ", "thought: "]), max_size=8), st.integers(0, 3))
def test_no_history_in_which_the_agent_says_nothing_is_use(who: list[str], at: int) -> None:
    """However often it is shown, and whatever others say of it."""
    assert found(*(f"{one}{MEMORY}" for one in who), shown=at) == []
