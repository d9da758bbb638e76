"""Conversations are kept: in order, once, grouped into turns, per session (S2.10–S2.16, D5, P29)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Recollect
from recollect.capture.exchange import events_of
from recollect.capture.privacy import Privacy
from recollect.capture.redact import Redactor
from recollect.errors import InvalidInput

AT = "2026-03-01T10:00:00Z"
PRIVACY = Privacy(Redactor(b"k" * 32))


def test_what_was_recorded_comes_back_oldest_first(memory: Recollect) -> None:
    memory.record("s1", "user", "hello")
    memory.record("s1", "assistant", "hi")
    memory.record("s2", "user", "another talk")

    assert [(event.role, event.content) for event in memory.history("s1")] == [("user", "hello"), ("assistant", "hi")]
    assert [event.content for event in memory.recent("s1", 1)] == ["hi"]
    assert [(session.id, session.turns) for session in memory.sessions()] == [("s1", 1), ("s2", 1)]


def test_sessions_come_newest_first_and_a_named_one_without_messages_too(memory: Recollect, clock: object) -> None:
    memory.record("old", "user", "x", "2025-01-01")
    memory.record("new", "user", "x", "2026-01-01")
    memory.ensure_session("named", "A title")
    assert [session.id for session in memory.sessions()] == ["named", "new", "old"]
    assert memory.sessions()[0].title == "A title"


def test_an_import_keeps_its_own_times(memory: Recollect) -> None:
    memory.record("s", "user", "said in March", AT)
    event = memory.history("s")[0]
    assert event.occurred_at == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert event.recorded_at.year == 2026
    assert event.recorded_at > event.occurred_at


def test_the_same_message_given_again_is_the_same_event(memory: Recollect) -> None:
    first = memory.record("s", "user", "hello", AT)
    assert memory.record("s", "user", "hello", AT) == first
    assert memory.record("s", "user", "hi", key="m1") == memory.record("s", "user", "hi", key="m1")
    assert len(memory.history("s")) == 2


def test_a_message_said_twice_without_a_time_is_two(memory: Recollect) -> None:
    memory.record("s", "user", "yes")
    memory.record("s", "user", "yes")
    assert len(memory.history("s")) == 2


def test_of_equal_messages_in_one_batch_each_counts_and_the_batch_again_adds_nothing(memory: Recollect) -> None:
    batch = [("s", "user", "ok", AT), ("s", "assistant", "done", AT), ("s", "user", "ok", AT)]
    ids = memory.record_many(batch)
    assert len(set(ids)) == 3
    assert memory.record_many(batch) == ids
    assert [event.content for event in memory.history("s")] == ["ok", "done", "ok"]


def test_a_batch_with_one_bad_message_keeps_nothing(memory: Recollect) -> None:
    with pytest.raises(InvalidInput):
        memory.record_many([("s", "user", "good"), ("s", "narrator", "bad")])
    assert memory.sessions() == []


@pytest.mark.parametrize(
    ("exchange", "says"),
    [
        (("s", "user", ""), "not empty"),
        (("s", "user", 5), "text"),
        (("s", "boss", "x"), "unknown role"),
        (("", "user", "x"), "session must be"),
        (("s" * 256, "user", "x"), "session must be"),
        (("s", "user"), "an exchange is"),
        ({"session": "s", "role": "user"}, "an exchange has"),
        ({"session": "s", "role": "user", "content": "x", "colour": "red"}, "an exchange has"),
        ("text", "an exchange is"),
        (("s", "user", "x", "tomorrow"), "not a time"),
        (("s", "user", "x" * 10_000_001), "characters"),
    ],
)
def test_what_is_not_an_exchange_is_refused_with_the_reason(memory: Recollect, exchange: object, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        memory.record_many([exchange])  # type: ignore[list-item]


def test_what_no_store_can_hold_is_replaced_not_lost(memory: Recollect) -> None:
    memory.record("s", "user", "a\x00b\ud800c")
    assert memory.history("s")[0].content == "a�b�c"


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool", "system"]), st.text(min_size=1)), max_size=8))
def test_the_same_batch_always_makes_the_same_events(talk: list[tuple[str, str]]) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [("s", role, text, AT) for role, text in talk if text.strip()]
    keys = [event.key for event in events_of(rows, now=now, privacy=PRIVACY)]
    assert len(set(keys)) == len(keys)
    assert keys == [event.key for event in events_of(rows, now=now, privacy=PRIVACY)]


def test_a_turn_is_a_prompt_and_all_that_answered_it(memory: Recollect) -> None:
    first = memory.record("s", "user", "fix the build")
    memory.record("s", "tool", "error: missing semicolon")
    memory.record("s", "assistant", "added it")
    second = memory.record("s", "user", "thanks")
    turn = memory.turn(first)
    assert turn is not None
    assert (turn.user_text, turn.agent_text) == ("fix the build", "added it\nerror: missing semicolon")
    assert memory.turn(second) is not None
    assert memory.turn("0" * 32) is None
    assert memory.turn("not hex") is None


def test_another_program_sees_it_at_once(opened: Callable[..., Recollect]) -> None:
    one, other = opened(), opened()
    one.record("s", "user", "the launch code word is marzipan")
    assert other.recall("marzipan code word").hits[0].session == "s"
