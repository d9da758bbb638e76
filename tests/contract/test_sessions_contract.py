"""Sessions: an event is kept once, in order, in the turn it belongs to, and only its own scope sees it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.errors import ScopeError
from recollect.ids import stable_key
from recollect.model import Scope, Session
from recollect.store.port import Store
from tests.contract.samples import ANN, BOB, EVE, LATER, T0, event, gist, minute, talk


def said(store: Store, session: str, scope: Scope = ANN) -> list[str]:
    return [event.text for event in store.sessions.history(scope, session)]


def turn_of(store: Store, first: str, scope: Scope = ANN) -> tuple[str, str]:
    turn = store.sessions.turn(scope, first)
    assert turn is not None
    return turn.user_text, turn.agent_text


def test_an_event_comes_back_as_it_was_given(store: Store) -> None:
    given_event = event("codex:7", 0, "naïve — 你好\n\ttab", meta={"cwd": "/tmp/é", "n": [1, None]})
    assert store.sessions.append(ANN, [given_event]) == [True]
    assert store.sessions.history(ANN, "codex:7") == [given_event]


def test_appending_again_adds_nothing(store: Store) -> None:
    events = talk("chat:1", "one", "assistant: two", "three")
    assert store.sessions.append(ANN, events) == [True, True, True]
    assert store.sessions.append(ANN, events) == [False, False, False]
    assert said(store, "chat:1") == ["one", "two", "three"]


def test_only_the_new_events_of_a_longer_transcript_are_added(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "one", "assistant: two"))
    assert store.sessions.append(ANN, talk("chat:1", "one", "assistant: two", "three")) == [False, False, True]
    assert [event.position for event in store.sessions.history(ANN, "chat:1")] == [0, 1, 2]


def test_an_event_twice_in_one_append_is_one_event(store: Store) -> None:
    one = event("chat:1", 0, "once")
    assert store.sessions.append(ANN, [one, one]) == [True, False]
    assert said(store, "chat:1") == ["once"]


def test_the_first_text_of_a_key_stays(store: Store) -> None:
    one = event("chat:1", 0, "as captured first")
    store.sessions.append(ANN, [one])
    assert store.sessions.append(ANN, [replace(one, text="captured again, cut")]) == [False]
    assert said(store, "chat:1") == ["as captured first"]


def test_history_keeps_the_order_of_arrival_whatever_the_times(store: Store) -> None:
    """T32: dates in a transcript are shown, they decide nothing."""
    years = (2026, 1969, 9999, 1)
    events = [
        event("chat:1", n, f"in {year}", occurred_at=T0.replace(year=year), recorded_at=T0)
        for n, year in enumerate(years)
    ]
    store.sessions.append(ANN, events)
    assert [(e.text, e.occurred_at.year) for e in store.sessions.history(ANN, "chat:1")] == [
        (f"in {year}", year) for year in years
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, [0, 1, 2, 3, 4], id="all"),
        pytest.param({"last": 2}, [3, 4], id="the last two, oldest first"),
        pytest.param({"last": 0}, [], id="none"),
        pytest.param({"last": 99}, [0, 1, 2, 3, 4], id="more than there are"),
        pytest.param({"after": 2}, [3, 4], id="after a position"),
        pytest.param({"after": 4}, [], id="after the end"),
        pytest.param({"after": 0, "last": 2}, [3, 4], id="the last two after a position"),
    ],
)
def test_history_can_be_cut(store: Store, options: dict[str, int], expected: list[int]) -> None:
    store.sessions.append(ANN, talk("chat:1", *"abcde"))
    assert [event.position for event in store.sessions.history(ANN, "chat:1", **options)] == expected


def test_a_user_message_opens_a_turn_and_answers_join_it(store: Store) -> None:
    events = talk("chat:1", "q1", "assistant: a1", "tool: t1", "assistant: a2", "q2", "assistant: a3")
    store.sessions.append(ANN, events)
    assert turn_of(store, events[0].key) == ("q1", "a1\na2\nt1")
    assert turn_of(store, events[4].key) == ("q2", "a3")
    assert [store.sessions.turn(ANN, e.key) for e in (events[1], events[5])] == [None, None]
    session = store.sessions.get(ANN, "chat:1")
    assert session is not None
    assert session.turns == 2


def test_an_answer_that_comes_first_has_a_turn_of_its_own(store: Store) -> None:
    events = talk("chat:1", "assistant: hello there", "q1")
    store.sessions.append(ANN, events)
    assert turn_of(store, events[0].key) == ("", "hello there")
    assert turn_of(store, events[1].key) == ("q1", "")


def test_an_answer_that_comes_later_joins_the_last_turn(store: Store) -> None:
    events = talk("chat:1", "q1", "q2", "assistant: late answer")
    store.sessions.append(ANN, events[:2])
    store.sessions.append(ANN, events[2:])
    assert turn_of(store, events[1].key) == ("q2", "late answer")
    assert turn_of(store, events[0].key) == ("q1", "")


def test_a_turn_says_where_and_when_it_was(store: Store) -> None:
    scope = ANN.within("apollo")
    events = talk("codex:1", "q1", "assistant: a1", first=3)
    store.sessions.append(scope, events)
    turn = store.sessions.turn(scope, events[0].key)
    assert turn is not None
    assert (turn.id, turn.session, turn.project, turn.occurred_at) == (events[0].key, "codex:1", "apollo", minute(3))


@pytest.mark.parametrize("turn_id", ["", "zz", "not hex at all", "00" * 16, "0" * 31], ids=repr)
def test_a_turn_nobody_wrote_is_none(store: Store, turn_id: str) -> None:
    store.sessions.append(ANN, talk("chat:1", "q1"))
    assert store.sessions.turn(ANN, turn_id) is None


def test_several_sessions_in_one_append_are_kept_apart(store: Store) -> None:
    mixed = [
        *talk("chat:1", "one-q"),
        *talk("chat:2", "two-q"),
        *talk("chat:1", "assistant: one-a", first=1),
        *talk("chat:2", "assistant: two-a", first=1),
    ]
    assert store.sessions.append(ANN, mixed) == [True] * 4
    assert (said(store, "chat:1"), said(store, "chat:2")) == (["one-q", "one-a"], ["two-q", "two-a"])
    assert turn_of(store, mixed[0].key) == ("one-q", "one-a")
    assert turn_of(store, mixed[1].key) == ("two-q", "two-a")


def test_an_append_is_all_or_nothing(store: Store) -> None:
    store.sessions.append(ANN.within("zeus"), talk("chat:9", "elsewhere"))
    both = [*talk("chat:1", "mine"), *talk("chat:9", "not mine", first=5)]
    with pytest.raises(ScopeError):
        store.sessions.append(ANN.within("apollo"), both)
    assert said(store, "chat:1") == []
    assert store.sessions.append(ANN.within("apollo"), both[:1]) == [True]


def test_nothing_to_append_is_fine(store: Store) -> None:
    assert store.sessions.append(ANN, []) == []


def test_ensure_makes_a_session_once(store: Store) -> None:
    first = store.sessions.ensure(ANN, "claude-code:7", at=T0, title="Fix the build", meta={"branch": "main"})
    assert (first.id, first.flavor, first.title, first.turns) == ("claude-code:7", "claude-code", "Fix the build", 0)
    assert (first.started_at, first.meta) == (T0, {"branch": "main"})
    again = store.sessions.ensure(ANN, "claude-code:7", at=minute(5))
    assert (again.title, again.meta, again.started_at) == ("Fix the build", {"branch": "main"}, T0)
    assert len(store.sessions.find(ANN, limit=10)) == 1


def test_title_and_meta_can_be_given_later(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "q1"))
    renamed = store.sessions.ensure(ANN, "chat:1", at=T0, title="Ünïcode — 题", meta={"k": "v"})
    assert (renamed.title, renamed.meta, renamed.turns) == ("Ünïcode — 题", {"k": "v"}, 1)
    assert store.sessions.ensure(ANN, "chat:1", at=T0, title="Again").title == "Again"
    assert store.sessions.get(ANN, "chat:1") == store.sessions.ensure(ANN, "chat:1", at=T0)


@pytest.mark.parametrize(
    ("session", "flavor"),
    [("codex:abc", "codex"), ("chat:1", "chat"), ("no colon", "chat"), (":x", "chat"), ("UPPER:1", "chat")],
)
def test_the_flavor_stands_before_the_colon(store: Store, session: str, flavor: str) -> None:
    assert store.sessions.ensure(ANN, session, at=T0).flavor == flavor


def test_a_session_reaches_from_its_first_event_to_its_last(store: Store) -> None:
    store.sessions.append(ANN, [event("chat:1", 5, "a"), event("chat:1", 2, "b"), event("chat:1", 9, "c")])
    session = store.sessions.get(ANN, "chat:1")
    assert session is not None
    assert (session.started_at, session.ended_at) == (minute(2), minute(9))


def test_sessions_come_newest_first_and_in_pages(store: Store) -> None:
    for number in (3, 1, 4, 2):
        store.sessions.append(ANN, [event(f"chat:{number}", number, "q")])
    ids = ["chat:4", "chat:3", "chat:2", "chat:1"]
    assert [s.id for s in store.sessions.find(ANN, limit=10)] == ids
    pages = [[s.id for s in store.sessions.find(ANN, limit=3, offset=offset)] for offset in (0, 3, 6)]
    assert pages == [ids[:3], ids[3:], []]


def test_a_session_belongs_to_the_project_it_began_in(store: Store) -> None:
    store.sessions.append(ANN.within("apollo"), talk("chat:1", "q"))
    assert [s.project for s in store.sessions.find(ANN, limit=5)] == ["apollo"]
    store.sessions.append(ANN, talk("chat:1", "assistant: from outside any project", first=1))
    assert [s.project for s in store.sessions.find(ANN, limit=5)] == ["apollo"]


@pytest.mark.parametrize("how", ["append", "ensure"])
def test_a_session_of_another_project_is_refused(store: Store, how: str) -> None:
    store.sessions.append(ANN.within("zeus"), talk("chat:1", "q"))
    scope = ANN.within("apollo")
    calls = {
        "append": lambda: store.sessions.append(scope, talk("chat:1", "intruder", first=1)),
        "ensure": lambda: store.sessions.ensure(scope, "chat:1", at=T0, title="intruder"),
    }
    with pytest.raises(ScopeError):
        calls[how]()
    assert said(store, "chat:1") == ["q"]
    session = store.sessions.get(ANN, "chat:1")
    assert session is not None
    assert session.title is None


def test_a_session_without_a_project_is_seen_from_every_project(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "q"))
    scope = ANN.within("apollo")
    assert [s.id for s in store.sessions.find(scope, limit=5)] == ["chat:1"]
    assert store.sessions.append(scope, talk("chat:1", "assistant: a", first=1)) == [True]
    assert said(store, "chat:1", scope) == ["q", "a"]


@pytest.mark.parametrize("scope", [BOB, EVE, Scope("never", "seen"), ANN.within("zeus")], ids=repr)
def test_a_session_nobody_made_here_is_nothing(store: Store, scope: Scope) -> None:
    events = talk("chat:1", "q", "assistant: a")
    store.sessions.append(ANN.within("apollo"), events)
    assert store.sessions.get(scope, "chat:1") is None
    assert store.sessions.history(scope, "chat:1") == []
    assert store.sessions.turn(scope, events[0].key) is None
    assert store.sessions.find(scope, limit=5) == []


def test_an_unknown_session_is_nothing(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "q"))
    assert store.sessions.get(ANN, "chat:2") is None
    assert store.sessions.history(ANN, "chat:2") == []


def test_two_owners_may_have_the_same_session_and_event_ids(store: Store) -> None:
    for scope, text in ((ANN, "ann's"), (BOB, "bob's"), (EVE, "eve's")):
        assert store.sessions.append(scope, [event("chat:1", 0, text)]) == [True]
    assert [said(store, "chat:1", scope) for scope in (ANN, BOB, EVE)] == [["ann's"], ["bob's"], ["eve's"]]


def test_an_event_is_kept_once_an_owner_even_under_another_session_name(store: Store) -> None:
    one = event("chat:1", 0, "once")
    store.sessions.append(ANN, [one])
    assert store.sessions.append(ANN, [replace(one, session="chat:2")]) == [False]


def test_a_gist_does_not_change_the_history(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "q", "assistant: a"))
    store.gists.put(ANN, gist("chat:1", "Asked and answered.", covers=1))
    assert said(store, "chat:1") == ["q", "a"]


def test_directories_are_told_once_each_the_latest_first_and_only_within_the_scope(store: Store) -> None:
    ran = [
        ("c:1", "app", "/a"),
        ("c:2", "app", "/b"),
        ("c:3", "app", "/a"),
        ("c:4", None, "/home"),
        ("c:5", "lib", "/l"),
    ]
    for number, (session, project, cwd) in enumerate(ran):
        facts = Session(session, "c", cwd=cwd)
        store.sessions.ensure(ANN.within(project), session, at=minute(number), facts=facts)
    store.sessions.ensure(ANN, "c:6", at=minute(9))
    store.sessions.ensure(BOB, "c:7", at=minute(9), facts=Session("c:7", "c", cwd="/bob"))
    everywhere = [("lib", "/l"), (None, "/home"), ("app", "/a"), ("app", "/b")]
    assert store.sessions.directories(ANN) == everywhere
    assert store.sessions.directories(ANN.within("app")) == everywhere[1:]
    assert store.sessions.directories(EVE) == []


STORABLE = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=200)


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool", "system"]), STORABLE), min_size=1, max_size=8))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_comes_back_exactly_and_every_event_is_in_one_turn(store: Store, lines: list[tuple[str, str]]) -> None:
    session = "chat:" + stable_key(*(part for line in lines for part in line))
    events = [event(session, n, text, role) for n, (role, text) in enumerate(lines)]
    store.sessions.append(ANN, events)
    kept = store.sessions.history(ANN, session)
    assert [replace(one, position=0) for one in kept] == events
    turns = [turn for one in events if (turn := store.sessions.turn(ANN, one.key)) is not None]
    opened = sum(role == "user" or n == 0 for n, (role, _) in enumerate(lines))
    assert len(turns) == opened
    assert [turn.user_text for turn in turns if turn.user_text] == [t for role, t in lines if role == "user" and t]


def test_events_are_found_by_their_keys_whatever_session_they_are_of(store: Store) -> None:
    one, two = talk("chat:1", "hello", "assistant: hi"), talk("chat:2", "bye")
    store.sessions.append(ANN, one)
    store.sessions.append(ANN.within("apollo"), two)
    keys = [two[0].key, "ff" * 16, one[1].key.upper(), "no key", "", two[0].key]
    assert [(event.session, event.text) for event in store.sessions.events(ANN, keys)] == [
        ("chat:2", "bye"),
        ("chat:1", "hi"),
    ]
    assert store.sessions.events(ANN, [one[0].key]) == store.sessions.history(ANN, "chat:1")[:1]
    assert [event.text for event in store.sessions.events(ANN.within("zeus"), keys)] == ["hi"]
    for stranger in (BOB, EVE, Scope("never", "seen")):
        assert store.sessions.events(stranger, keys) == []


def test_titles_come_with_the_events_of_their_sessions_or_not_at_all(store: Store) -> None:
    store.sessions.append(ANN, [*talk("chat:1", "hello"), *talk("chat:2", "again")], {"chat:1": "Greetings"})
    store.sessions.append(ANN, talk("chat:2", "again"), {"chat:2": "More of it", "chat:3": "Of nothing"})
    titles = {one.id: one.title for one in store.sessions.find(ANN, limit=9)}
    assert titles == {"chat:1": "Greetings", "chat:2": "More of it"}


def test_of_a_forgotten_session_no_title_comes_back(store: Store) -> None:
    said = talk("chat:1", "hello")
    store.sessions.append(ANN, said, {"chat:1": "Greetings"})
    store.keeping.forget_session(ANN, "chat:1", at=LATER)
    store.sessions.append(ANN, said, {"chat:1": "Greetings"})
    assert store.sessions.get(ANN, "chat:1") is None


def test_no_title_is_given_to_a_session_of_another_project(store: Store) -> None:
    said = talk("chat:1", "hello")
    store.sessions.append(ANN.within("apollo"), said, {"chat:1": "Ours"})
    with pytest.raises(ScopeError):
        store.sessions.append(ANN.within("zeus"), said, {"chat:1": "Theirs"})
    found = store.sessions.get(ANN, "chat:1")
    assert found is not None
    assert found.title == "Ours"
