"""Looking through sessions: lists with filters, one session page by page, what is new; bounded, and one's own."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from recollect.capture.bodies import body_of
from recollect.distill.digest import digest_of
from recollect.errors import StoreCorrupt
from recollect.ids import stable_key
from recollect.model import NO_PROJECT, Cost, Scope, Session
from recollect.store.port import Store
from recollect.store.ports.browse import Choices, Extent, Mark, New, SessionFilter
from recollect.store.ports.capture import Seen
from recollect.store.ports.use import Injection
from tests.contract.samples import ANN, BOB, EVE, T0, event, gist, memory, minute, talk

EVERY = SessionFilter()
DAY = timedelta(days=1)


def captured(
    store: Store, session: str, *lines: str, days: int = 0, project: str | None = None, **facts: object
) -> None:
    """A session that an agent's file told of, with its digest."""
    events = [replace(one, way="sweep", occurred_at=one.occurred_at + days * DAY) for one in talk(session, *lines)]
    cost = Cost(stable_key("cost", session), session, T0, "m", input=10, output=5, usd=0.25, usd_source="reported")
    about = Session(session, session.partition(":")[0], project=project, **facts)  # type: ignore[arg-type]
    store.captures.ingest(ANN, about, events, [cost])
    digest_session(store, session)


def digest_session(store: Store, session: str) -> None:
    about = store.sessions.get(ANN, session)
    assert about is not None
    events = store.sessions.history(ANN, session)
    made = digest_of(about, events, store.captures.costs(ANN, session))
    store.digests.put(ANN, made, covers=events[-1].position, at=T0)


def ids(store: Store, where: SessionFilter = EVERY, scope: Scope = ANN, limit: int = 50, offset: int = 0) -> list[str]:
    return [one.session.id for one in store.browse.sessions(scope, where, limit=limit, offset=offset)]


@pytest.fixture
def three(store: Store) -> Store:
    captured(store, "claude:1", "fix the login", "assistant: done", title="Login fix", project="shop")
    captured(store, "codex:2", "write the docs", "assistant: ok", days=1, parent="claude:1", relation="subagent")
    captured(store, "claude:3", "deploy 100% of it", days=2, project="shop")
    return store


def test_sessions_are_listed_with_their_digest_and_children(three: Store) -> None:
    found = three.browse.sessions(ANN, EVERY, limit=10)
    assert [one.session.id for one in found] == ["claude:3", "codex:2", "claude:1"]
    assert [one.children for one in found] == [0, 0, 1]
    last = found[-1]
    assert last.digest is not None
    assert (last.session.turns, last.session.title, last.session.project) == (1, "Login fix", "shop")
    assert (last.digest.goal, last.digest.cost.usd) == ("fix the login", 0.25)
    assert ids(three, limit=2) == ["claude:3", "codex:2"]
    assert ids(three, limit=2, offset=2) == ["claude:1"]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        pytest.param(SessionFilter(flavor="codex"), ["codex:2"], id="agent"),
        pytest.param(SessionFilter(project="shop"), ["claude:3", "claude:1"], id="project"),
        pytest.param(SessionFilter(project=NO_PROJECT), ["codex:2"], id="no project"),
        pytest.param(SessionFilter(project="never"), [], id="a project nobody has"),
        pytest.param(SessionFilter(since=T0 + DAY), ["claude:3", "codex:2"], id="since"),
        pytest.param(SessionFilter(until=T0 + DAY), ["claude:1"], id="until"),
        pytest.param(SessionFilter(words=("LOGIN",)), ["claude:1"], id="a word of the title, in capitals"),
        pytest.param(SessionFilter(words=("docs", "write")), ["codex:2"], id="words of the goal"),
        pytest.param(SessionFilter(words=("docs", "login")), [], id="all of the words"),
        pytest.param(SessionFilter(words=("0%",)), ["claude:3"], id="a sign of patterns is a letter"),
        pytest.param(SessionFilter(words=("_",)), [], id="so is this one"),
        pytest.param(SessionFilter(words=("codex:2",)), ["codex:2"], id="its id"),
        pytest.param(SessionFilter(flavor="claude", words=("deploy",)), ["claude:3"], id="several at once"),
    ],
)
def test_filters_narrow_the_list(three: Store, where: SessionFilter, expected: list[str]) -> None:
    assert ids(three, where) == expected
    assert sum(three.browse.days(ANN, where).values()) == len(expected)


def test_an_outcome_narrows_the_list_and_none_is_unknown(three: Store) -> None:
    three.sessions.append(ANN, talk("chat:4", "no digest"))
    outcomes = {one.session.id: one.session.outcome or "unknown" for one in three.browse.sessions(ANN, EVERY, limit=9)}
    for outcome in ("success", "fail", "abandoned", "unknown"):
        wanted = sorted(name for name, told in outcomes.items() if told == outcome)
        assert sorted(ids(three, SessionFilter(outcome=outcome))) == wanted


def test_days_and_choices_are_counted(three: Store) -> None:
    assert three.browse.days(ANN, EVERY) == {"2026-03-01": 1, "2026-03-02": 1, "2026-03-03": 1}
    assert three.browse.days(ANN, SessionFilter(since=T0 + DAY)) == {"2026-03-02": 1, "2026-03-03": 1}
    told = three.browse.choices(ANN)
    assert (dict(told.flavors), dict(told.projects)) == ({"claude": 2, "codex": 1}, {"shop": 2, NO_PROJECT: 1})
    assert sum(told.outcomes.values()) == 3
    assert dict(three.browse.choices(ANN, most=1).flavors) == {"claude": 2}


def test_a_project_sees_its_own_and_those_of_none(three: Store) -> None:
    other, shop = ANN.within("other"), ANN.within("shop")
    assert (ids(three, scope=other), len(ids(three, scope=shop))) == (["codex:2"], 3)
    assert dict(three.browse.choices(other).projects) == {NO_PROJECT: 1}
    assert three.browse.days(other, EVERY) == {"2026-03-02": 1}
    assert three.browse.passages(other, "claude:1", after=-1, first=9, most=9) == []
    assert three.browse.extent(other, "claude:1") == Extent()


def test_children_are_told_in_the_order_they_began(three: Store) -> None:
    captured(three, "claude:0", "first", days=-1, parent="claude:1", relation="review")
    found = three.browse.children(ANN, ["claude:1"], limit=9)
    assert [(one.session.id, one.goal) for one in found] == [("claude:0", "first"), ("codex:2", "write the docs")]
    assert [one.session.id for one in three.browse.children(ANN, ["claude:1", "x"], limit=1)] == ["claude:0"]
    assert three.browse.children(ANN, [], limit=9) == []


def test_what_nobody_wrote_is_nothing(three: Store) -> None:
    for stranger in (BOB, EVE):
        assert ids(three, scope=stranger) == []
        assert three.browse.days(stranger, EVERY) == {}
        assert three.browse.choices(stranger) == Choices()
        assert three.browse.children(stranger, ["claude:1"], limit=9) == []
        assert three.browse.extent(stranger, "claude:1") == Extent()
        assert three.browse.passages(stranger, "claude:1", after=-1, first=9, most=9) == []
        assert three.browse.matching(stranger, "claude:1", ["login"], limit=9) == []
        assert three.browse.since(stranger, Mark(), limit=9, most=9) == ([], Mark())


# -- one session -------------------------------------------------------------------------------------------------------


def test_a_session_is_read_by_positions_with_long_texts_cut(store: Store) -> None:
    long = "naïve — 你好 " * 10
    store.sessions.append(ANN, talk("chat:1", "one", f"assistant: {long}", "three", "assistant: four"))
    found = store.browse.passages(ANN, "chat:1", after=-1, first=3, most=7)
    assert [(one.event.text, one.chars, one.turn, one.is_cut) for one in found] == [
        ("one", 3, 0, False),
        (long[:7], len(long), 0, True),
        ("three", 5, 1, False),
    ]
    assert [one.event.position for one in store.browse.passages(ANN, "chat:1", after=2, first=9, most=7)] == [3]
    whole = store.browse.passages(ANN, "chat:1", after=-1, first=9, most=1_000)
    assert [one.event for one in whole] == store.sessions.history(ANN, "chat:1")


def test_a_text_that_was_changed_from_outside_is_not_shown(store: Store) -> None:
    database = getattr(store, "database", None)
    if not hasattr(database, "writing"):
        pytest.skip("changed as a file is")
    store.sessions.append(ANN, talk("chat:1", "as it was"))
    with database.writing() as connection:  # type: ignore[union-attr]
        connection.execute("UPDATE events SET text = 'changed'")
    with pytest.raises(StoreCorrupt):
        store.browse.passages(ANN, "chat:1", after=-1, first=9, most=100)


def test_words_are_found_inside_a_session(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "the Door is blue", "assistant: a door_knob", "100% sure", "the knob"))
    store.sessions.append(ANN, talk("chat:2", "another door"))

    def found(*words: str, **more: int) -> list[int]:
        return [one.event.position for one in store.browse.matching(ANN, "chat:1", words, limit=9, **more)]

    assert found("door") == [0, 1]
    assert found("DOOR", "knob") == [1]
    assert found("door", after=0) == [1]
    assert (found("0%"), found("%"), found("r_k"), found("r!k")) == ([2], [2], [1], [])
    assert found() == []
    assert len(store.browse.matching(ANN, "chat:1", ["o"], limit=2)) == 2


def test_how_a_session_came_is_told(store: Store) -> None:
    captured(store, "claude:1", "hello", "assistant: hi")
    store.sessions.append(ANN, [event("claude:1", 9, "by a program")])
    seen = Seen("/logs/1.jsonl", "claude", "claude:1", "read", T0, counts={"withheld:secret:stripe": 2})
    store.captures.note(ANN, seen)
    told = store.browse.extent(ANN, "claude:1")
    assert (told.events, dict(told.ways)) == (3, {"sweep": 2, "record": 1})
    assert dict(told.kinds) == {"user_prompt": 2, "assistant_text": 1}
    assert told.transcripts == (seen,)


def test_the_type_of_a_body_is_told_for_its_own_session(store: Store) -> None:
    picture = body_of(b"not really", "image/png")
    store.captures.ingest(
        ANN, Session("claude:1", "claude"), [replace(event("claude:1", 0, "look"), bodies=(picture,))]
    )
    store.sessions.append(ANN, talk("chat:2", "other"))
    assert store.browse.media(ANN, "claude:1", picture.hash) == "image/png"
    assert store.browse.media(ANN, "chat:2", picture.hash) is None
    assert store.browse.media(BOB, "claude:1", picture.hash) is None
    assert store.browse.media(ANN, "claude:1", "no hash") is None


# -- what is new -------------------------------------------------------------------------------------------------------


def told(found: list[New]) -> list[tuple[str, str, str | None]]:
    return [(one.thing, one.text, one.session) for one in found]


def test_what_is_new_is_told_once_and_in_order(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "before"))
    mark = store.browse.mark(ANN, at=minute(0.5))
    store.sessions.append(ANN, talk("chat:1", "one", "assistant: two", first=1))
    store.memories.add(ANN, memory("blue", session="chat:1", recorded_at=minute(3)))
    store.gists.put(ANN, gist("chat:1", "about a door", created_at=minute(4)))
    found, after = store.browse.since(ANN, mark, limit=9, most=100)
    assert told(found) == [
        ("event", "one", "chat:1"),
        ("event", "two", "chat:1"),
        ("memory", "blue", "chat:1"),
        ("gist", "about a door", "chat:1"),
    ]
    assert store.browse.since(ANN, after, limit=9, most=100) == ([], after)
    for place, one in enumerate(found):
        rest, end = store.browse.since(ANN, one.mark, limit=9, most=100)
        assert (told(rest), end) == (told(found[place + 1 :]), after), "one can go on after any of them"


def test_tasks_that_ended_and_what_agents_were_told_are_new(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "before"))
    kept, _ = store.memories.add(ANN, memory("the door is blue"))
    mark = store.browse.mark(ANN, at=minute(1))
    done = store.tasks.put(ANN, "distill", "chat:1", at=minute(1))
    store.tasks.put(ANN, "gist", "chat:1", at=minute(1), due_at=minute(90))
    (task,) = store.tasks.claim(worker="w", at=minute(2), until=minute(9), kinds=("distill",))
    assert store.browse.since(ANN, mark, limit=9, most=9)[0] == []
    store.tasks.finish(task, at=minute(3))
    store.use.inject(ANN, [Injection(kept.id, "chat:1", minute(4), "claude", "start", "b1")], before=T0)
    found, after = store.browse.since(ANN, mark, limit=9, most=8)
    assert [(one.thing, one.kind, one.text, one.session) for one in found] == [
        ("task", "distill", "", "chat:1"),
        ("shown", "claude", "the door", "chat:1"),
    ]
    assert (found[0].id, found[0].meta, found[1].meta["memory"]) == (done, {"state": "done"}, kept.id)
    assert store.browse.since(ANN, after, limit=9, most=9)[0] == []


def test_what_an_agent_was_told_is_told_in_the_words_it_had(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "before"))
    kept, _ = store.memories.add(ANN, memory("the door is blue"))
    mark = store.browse.mark(ANN, at=minute(1))
    store.use.inject(ANN, [Injection(kept.id, "chat:1", minute(4), "claude", "start", "b1")], before=T0)
    store.memories.update(ANN, replace(kept, content="the door is red"), at=minute(5), note="update")
    found, _ = store.browse.since(ANN, mark, limit=9, most=99)
    assert [one.text for one in found if one.thing == "shown"] == ["the door is blue"]


def test_what_came_in_at_one_moment_stays_in_its_order(store: Store) -> None:
    store.sessions.append(ANN, [event("chat:1", n, f"line {n}", recorded_at=minute(3)) for n in range(4)])
    found = store.browse.last(ANN, since=minute(0), limit=9, most=9)
    assert [one.text for one in found] == [f"line {n}" for n in range(4)]


def test_the_last_there_are_are_ones_own_however_much_others_wrote(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", *(f"line {n}" for n in range(12))))
    store.memories.add(ANN, memory("blue", recorded_at=minute(2)))
    store.sessions.append(BOB, talk("chat:2", *(f"noise {n}" for n in range(300))))
    found = store.browse.last(ANN, since=minute(0), limit=5, most=9)
    assert [one.text for one in found if one.thing == "event"] == [f"line {n}" for n in range(7, 12)]
    assert [one.text for one in found if one.thing == "memory"] == ["blue"]
    assert store.browse.last(EVE, since=minute(0), limit=5, most=9) == []


def test_of_very_much_the_latest_is_told_and_how_much_there_was(store: Store) -> None:
    mark = store.browse.mark(ANN, at=T0)
    store.sessions.append(ANN, talk("chat:1", *(f"line {n}" for n in range(12))))
    found, after = store.browse.since(ANN, mark, limit=5, most=9)
    assert [(one.thing, one.text) for one in found] == [("more", ""), *(("event", f"line {n}") for n in range(7, 12))]
    assert found[0].chars == 7
    assert store.browse.since(ANN, after, limit=5, most=9)[0] == []


def test_nothing_of_others_is_new(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "mine"))
    store.sessions.append(ANN.within("shop"), talk("chat:2", "the till"))
    start = Mark()
    for stranger in (BOB, EVE):
        store.sessions.append(stranger, talk("chat:1", "theirs"))
        store.memories.add(stranger, memory("theirs"))
        store.gists.put(stranger, gist("chat:1", "theirs", created_at=minute(9)))
    assert {one.text for one in store.browse.since(ANN, start, limit=99, most=99)[0]} == {"mine", "the till"}
    assert {one.text for one in store.browse.since(ANN.within("zoo"), start, limit=99, most=99)[0]} == {"mine"}
    assert {one.text for one in store.browse.since(BOB, start, limit=99, most=99)[0]} == {"theirs"}


def test_a_mark_taken_before_anything_was_written_misses_nothing(store: Store) -> None:
    mark = store.browse.mark(ANN, at=datetime(2020, 1, 1, tzinfo=UTC))
    store.sessions.append(ANN, talk("chat:1", "the first"))
    assert [one.text for one in store.browse.since(ANN, mark, limit=9, most=9)[0]] == ["the first"]
