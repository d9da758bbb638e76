"""Candidates: the same whatever order sessions come in, under ids that stay, from several tasks, across agents."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.learn.learning_fixture import NOT_FOUND, Told, all_signals, stale_edit

from recollect.learn.cluster import candidate_id, candidates_of
from recollect.learn.troubles import NAMED
from recollect.learn.values import Candidate, Signal

PROGRAMS = ("alembic", "terraform", "redis", "kafka")


def told_of(candidates: list[Candidate]) -> list[tuple[str, str]]:
    return [(one.id, one.statement) for one in candidates]


def wish(name: str, text: str, flavor: str = "claude", day: int = 0) -> Told:
    return Told(name, flavor, day=day).ask("Hello there").say().ask(text).say()


def test_three_sessions_of_one_agent_make_a_candidate_and_two_do_not() -> None:
    three = all_signals(*(stale_edit(name) for name in "abc"))
    assert [one.key for one in candidates_of(three)] == ["edit text not found"]
    assert candidates_of(all_signals(stale_edit("a"), stale_edit("b"))) == []


def test_two_agents_make_one_with_two_sessions() -> None:
    """S3.31: a pattern seen in more than one agent is marked."""
    (found,) = candidates_of(all_signals(stale_edit("a"), stale_edit("b", "codex")))
    assert found.cross_flavor
    assert found.flavors == ("claude", "codex")
    assert {one.flavor for one in found.examples} == {"claude", "codex"}


def test_one_session_is_never_a_pattern() -> None:
    told = Told().ask("Fix it")
    for _ in range(9):
        told.edit(output=NOT_FOUND, failed=True).say()
    assert candidates_of(told.signals) == []
    assert candidates_of(told.signals, min_frequency=2) == []


def test_a_session_and_its_helpers_are_one_task() -> None:
    parent = stale_edit("parent")
    helpers = [Told(name, parent="claude:parent", relation="subagent") for name in ("x", "y")]
    for helper in helpers:
        helper.ask("Fix it").edit(output=NOT_FOUND, failed=True)
    assert candidates_of(all_signals(parent, *helpers)) == []


def test_a_helper_of_a_helper_is_of_the_same_task() -> None:
    signals = all_signals(stale_edit("a"), stale_edit("b"), stale_edit("c"))
    assert candidates_of(signals, parents={"claude:b": "claude:m", "claude:m": "claude:a"}) == []


def test_parents_in_a_ring_end() -> None:
    signals = all_signals(*(stale_edit(name) for name in "abc"))
    candidates_of(signals, parents={"claude:a": "claude:b", "claude:b": "claude:a"})


def test_the_frequency_can_be_asked_for() -> None:
    signals = all_signals(*(stale_edit(name) for name in "abcd"))
    assert len(candidates_of(signals, min_frequency=4)) == 1
    assert candidates_of(signals, min_frequency=5) == []


def test_what_it_adds_up_to() -> None:
    sessions = [stale_edit("a"), stale_edit("b", day=1), stale_edit("c", "codex", day=2)]
    signals = all_signals(*sessions)
    (found,) = candidates_of(signals)
    assert found.sessions == ("claude:a", "claude:b", "codex:c")
    assert found.projects == ("app",)
    errors = [one for one in signals if one.kind == "error_repeated"]
    assert (found.first_seen, found.last_seen) == (errors[0].at, errors[-1].at)
    assert found.waste.seconds == sum(one.cost.seconds for one in errors) == 150.0
    assert found.trust == "outcome"
    assert found.rule == (
        "Read the lines to be changed again right before an edit, and copy the text to be replaced exactly."
    )


def test_the_same_wish_in_other_words_is_one() -> None:
    said = (
        "can you do meaningful commits?",
        "please put it in meaningful commits",
        "group the changes into meaningful commits",
        "do meaningful commits in the meantime",
    )
    (found,) = candidates_of(all_signals(*(wish(str(n), text, day=n) for n, text in enumerate(said))))
    assert (found.kind, found.trust) == ("instruction_repeated", "user")
    assert found.rule == "Do meaningful commits."


def test_wishes_that_only_share_a_topic_are_not() -> None:
    said = (
        "add a cache to the session store",
        "rename the session table",
        "explain the session cookie",
        "move the session tests",
    )
    assert candidates_of(all_signals(*(wish(str(n), text) for n, text in enumerate(said)))) == []


def test_a_decision_on_a_wish_is_found_again_when_sessions_are_added() -> None:
    sessions = [wish(str(n), "please do meaningful commits with tests", day=n) for n in range(4)]
    (before,) = candidates_of(all_signals(*sessions))
    more = [wish(f"m{n}", "please keep the commits meaningful and small", day=9 + n) for n in range(4)]
    after = candidates_of(all_signals(*sessions, *more))
    assert before.id in {known for one in after for known in (one.id, *one.aliases)}


def test_an_id_depends_on_kind_and_key_alone() -> None:
    signals = all_signals(*(stale_edit(name) for name in "abc"))
    assert candidates_of(signals)[0].id == candidate_id("error_repeated", "edit text not found") == "ccd3b4fc38363db1"


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ("path not there", "887143859e00a679"),
        ("imports", "bbe1a0321db6f609"),
        ("output cut", "fb40cd58c5f2194a"),
        ("linter fails", "1a6705d6baab19d0"),
        ("shell is zsh", "bb6ae9b849d985c3"),
        ("git signs commits", "1b96620aeac5ba46"),
        ("cannot listen", "00ac9242cefc25d2"),
        ("cannot write", "25f497609a36625e"),
        ("no network", "fd0d57bbab3fe1b6"),
        ("built for another system", "b581b4003cac97b9"),
    ],
)
def test_ids_that_were_given_out_stay(key: str, known: str) -> None:
    """A decision on one holds after the rules for what counts have changed."""
    assert candidate_id(NAMED[key].kind, key) == known


@given(st.integers(0, 10**9))
def test_the_order_of_sessions_does_not_matter(seed: int) -> None:
    sessions = [stale_edit(str(n), "claude" if n % 2 else "codex", n) for n in range(5)]
    said = (
        "do small meaningful commits",
        "write meaningful reviewed commits",
        "keep small reviewed commits meaningful",
    )
    sessions += [wish(f"w{n}", said[n % 3], day=n) for n in range(12)]
    expected = candidates_of(all_signals(*sessions))
    random.Random(seed).shuffle(sessions)
    assert candidates_of(all_signals(*sessions)) == expected


@given(st.lists(st.sampled_from(PROGRAMS), min_size=1, max_size=6))
def test_ids_stay_when_sessions_are_added(programs: list[str]) -> None:
    first = [stale_edit(name) for name in "abc"]
    more = [
        Told(f"n{n}", day=3).ask("Run it").run(f"{program} up", f"zsh:1: command not found: {program}", 127)
        for n, program in enumerate(programs)
    ]
    before, after = candidates_of(all_signals(*first)), candidates_of(all_signals(*first, *more))
    assert {one.id for one in before} <= {one.id for one in after}


HOSTILE = st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=120)
OF_ONE_PLACE = re.compile(r"[/\\]|\d")


@given(HOSTILE, HOSTILE)
def test_no_path_number_or_id_gets_into_a_key(command: str, output: str) -> None:
    path = "/home/ann/app-1/src/a.go:12"
    told = Told().ask("Fix 3f2a9c1d in /home/ann/app please").say().run(f"{command} {path}", f"{output} {path} 42", 1)
    told.run("go test ./x", f"--- FAIL: TestA1 (0.1s)\n    a_test.go:7: {output} 0xdeadbeef", 1)
    told.edit(output=output, failed=True)
    for signal in told.signals:
        assert not OF_ONE_PLACE.search(signal.key), signal.key


@pytest.mark.parametrize(
    "line",
    [
        "error: could not take the lease of node7 for worker3b in zone2 today",
        "error: could not take the lease that C:\\ann\\app\\x holds since this morning",
        "error: could not take the lease 3f2a9c1d7b8e that another operator holds today",
    ],
    ids=["numbers", "a path", "an id"],
)
def test_what_is_of_one_place_is_taken_out_of_a_key(line: str) -> None:
    signals = Told().ask("Deploy").run("deployctl up", line, 1).signals
    assert [one.kind for one in signals] == ["error_repeated"]
    assert not OF_ONE_PLACE.search(signals[0].key), signals[0].key


@given(HOSTILE)
def test_hostile_text_is_only_ever_text(text: str) -> None:
    sessions = [Told(str(n)).ask(text).say(text).run(text, text, 1).edit(output=text, failed=True) for n in range(3)]
    for one in candidates_of(all_signals(*sessions)):
        assert "\n" not in one.statement
        assert len(one.statement) <= 200
        assert re.fullmatch(r"[0-9a-f]{16}", one.id)


@pytest.mark.parametrize("likeness", [None, lambda left, right: 1.0], ids=["by words", "by meaning"])
def test_errors_that_read_nearly_the_same_are_one(likeness: object) -> None:
    lines = (
        "error: could not acquire the deployment lease held by another operator today",
        "error: could not acquire the deployment lease held by another operator",
    )
    sessions = [Told(str(n)).ask("Deploy").run("deployctl up", lines[n % 2], 1) for n in range(4)]
    (found,) = candidates_of(all_signals(*sessions), likeness=likeness)  # type: ignore[arg-type]
    assert len(found.sessions) == 4
    assert len(found.aliases) == 1


def test_signals_of_no_session_make_nothing() -> None:
    none: list[Signal] = []
    assert candidates_of(none) == []
