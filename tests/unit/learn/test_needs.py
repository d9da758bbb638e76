"""What counts as needed again, when, and whether a text tells it: strict, and by words anybody can check."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.unit.learn.learning_fixture import Told, all_signals, stale_edit

from recollect.learn.moments import Moment, costs_of, moment_of
from recollect.learn.needs import Need, needs_of
from recollect.learn.reading import read_session
from recollect.learn.telling import Shown, leads, tells

MODULE = "ModuleNotFoundError: No module named 'app'"
LOCKED = "fatal: could not open the ledger file because another tide writer holds it"


def found_form(name: str, day: int = 0, **about: Any) -> Told:
    """A command that fails, and how it is put so that it works."""
    told = Told(name, day=day, **about).ask("Hello there")
    return told.run("pytest tests", MODULE, 1).run("PYTHONPATH=src pytest tests").say("They pass.")


def mended(name: str, day: int = 0, *, passes: bool = True) -> Told:
    told = Told(name, day=day).ask("Write the report").run("tide report", LOCKED, 2).edit()
    return told.run("tide report", *(() if passes else (LOCKED, 2)))


def no_mise(name: str, day: int = 0) -> Told:
    return Told(name, day=day).ask("Go").run("mise run lint", "zsh: command not found: mise", 127)


def needs(*sessions: Told, parents: dict[str, str] | None = None, **late: datetime) -> list[Need]:
    ended = {one.session.id: one.events[-1].occurred_at for one in sessions} | {
        f"claude:{name}": at for name, at in late.items()
    }
    return needs_of(all_signals(*sessions), parents=parents or {}, ended=ended)


def the_moment(told: Told, need: Need) -> Moment:
    found = moment_of(need, read_session(told.session, told.digest, told.events))
    assert found is not None
    return found


def test_the_first_task_finds_it_out_and_each_later_one_needs_it() -> None:
    found = needs(found_form("a"), found_form("b", day=1), found_form("c", day=2))
    assert [(one.kind, one.signal.session, sorted(one.sessions)) for one in found] == [
        ("command", "claude:b", ["claude:a"]),
        ("command", "claude:c", ["claude:a", "claude:b"]),
    ]


@pytest.mark.parametrize(
    ("sessions", "kinds"),
    [
        ([mended("a"), mended("b", 1)], ["fix"]),
        ([mended("a", passes=False), mended("b", 1)], []),
        ([mended("a"), mended("b", 1, passes=False)], []),
        ([stale_edit("a"), stale_edit("b", "codex", 1)], ["habit"]),
        ([no_mise("a"), no_mise("b", 1)], ["environment"]),
    ],
    ids=["met and mended twice", "never mended before", "not mended now", "an edit that misses", "a missing program"],
)
def test_what_kind_of_need_it_is(sessions: list[Told], kinds: list[str]) -> None:
    assert [one.kind for one in needs(*sessions)] == kinds


def test_a_rule_could_stand_against_it_once_detect_would_have_shown_it() -> None:
    found = needs(*(stale_edit(name, day=day) for day, name in enumerate("abcde")))
    assert [one.ruled for one in found] == [False, False, True, True], "three tasks before it"
    both = needs(stale_edit("a"), stale_edit("b", "codex", 1), stale_edit("c", day=2))
    assert [one.ruled for one in both] == [False, True], "two, where two agents met it"


def test_a_session_that_had_not_ended_by_then_does_not_count_as_before() -> None:
    first, second = found_form("a"), found_form("b", day=1)
    later = second.events[-1].occurred_at + timedelta(days=1)
    assert needs(first, second, a=later) == []


def test_sessions_that_worked_for_one_another_are_one_task() -> None:
    family = [found_form("a"), found_form("b", day=1, parent="claude:a", relation="subagent")]
    assert needs(*family, parents={"claude:b": "claude:a"}) == []


def test_a_moment_knows_nothing_of_what_came_after_it() -> None:
    told = found_form("b", day=1).ask("Now do something else").say()
    (need,) = needs(found_form("a"), told)
    moment = the_moment(told, need)
    assert moment.prompts == ("Hello there",)
    assert moment.question == f"pytest: {MODULE}"
    assert "PYTHONPATH" not in moment.question
    assert moment.at == told.events[2].occurred_at


def test_a_stretch_that_several_needs_share_counts_once() -> None:
    told = found_form("a")
    reading = read_session(told.session, told.digest, told.events)
    one = Moment(told.at, (), "", None, ((1, 4),))
    alone, again, more = costs_of(reading, [one, one, Moment(told.at, (), "", None, ((2, 5),))])
    assert (alone.seconds, again.seconds, more.seconds) == (30.0, 0.0, 10.0)


def shown(text: str, **more: Any) -> Shown:
    return Shown("m", "memory", text, **more)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Tests run with `PYTHONPATH=src pytest tests`.", True),
        ("pytest needs PYTHONPATH= set to the sources", True),
        ("Set PYTHONPATH= for the linter", False),
        ("The tests of the parser failed", False),
    ],
)
def test_a_command_is_told_as_it_works(text: str, told: bool) -> None:
    (need,) = needs(found_form("a"), found_form("b", day=1))
    assert tells(need, shown(text), None) is told


def test_a_fix_is_told_by_a_lesson_made_of_that_very_error() -> None:
    second = mended("b", 1)
    (need,) = needs(mended("a"), second)
    error = the_moment(second, need).error
    assert error is not None
    lesson = shown("Close the tide writer first.", kind="lesson", tags=(f"error-{error}",), session="claude:a")
    assert tells(need, lesson, error)
    assert not tells(need, shown(lesson.text, kind="lesson", tags=("error-0",)), error)
    assert not tells(need, shown(LOCKED, kind="fact", session="claude:a"), error), "the error is not its fix"
    assert leads(need, lesson)
    assert not leads(need, shown("x", session="claude:z"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("`mise` is not installed here, use make", True),
        ("zsh: command not found: mise", True),
        ("mise run lint checks it", False),
        ("`rg` is not installed here", False),
    ],
)
def test_an_environment_is_told_by_the_name_of_the_trouble(text: str, told: bool) -> None:
    (need,) = needs(no_mise("a"), no_mise("b", 1))
    assert tells(need, shown(text), None) is told
    assert not tells(need, replace(shown(text), tier="turn"), None), "who asks has just seen the error"


def corrected(name: str, day: int) -> Told:
    told = Told(name, day=day).ask("Add the parser").say("I put it into utils.py.").edit()
    return told.say("Done.").ask("No, never put parsers into utils, use the grammar package.").edit().say("Moved.")


def test_a_correction_made_again_is_needed_from_the_prompt_before_it() -> None:
    sessions = [corrected(name, day) for day, name in enumerate("abcd")]
    found = needs(*sessions)
    assert {one.kind for one in found} == {"correction"}
    assert {one.signal.session for one in found} <= {"claude:b", "claude:c", "claude:d"}
    moment = the_moment(sessions[-1], found[-1])
    assert moment.prompts == ("Add the parser",), "not the words with which it was corrected"
    assert moment.question == ""


def test_what_a_user_wants_is_told_in_the_users_words_alone() -> None:
    need = needs(*(corrected(name, day) for day, name in enumerate("abcd")))[-1]
    words = f"Remember: {corrected('a', 0).events[-4].text}"
    assert tells(need, shown(words, from_user=True), None)
    assert not tells(need, shown(words, from_user=False), None)
    assert not tells(need, shown("Parsers are fine.", from_user=True), None)


def test_what_is_merely_asked_for_again_is_the_task_and_no_need() -> None:
    assert needs(*(Told(n, day=d).ask("Write meaningful commits please").say() for d, n in enumerate("abcd"))) == []
