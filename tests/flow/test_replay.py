"""Replaying a history: what memory would have told in time, with nothing from after the moment, and what it missed."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.errors import InvalidInput
from recollect.learn.replay import Replay, Replayed
from tests.flow.conftest import Cli
from tests.flow.memory_fixture import IN_A_FILE
from tests.flow.patterns_fixture import keep
from tests.unit.learn.learning_fixture import START, Told
from tests.unit.learn.test_needs import MODULE, found_form

pytestmark = pytest.mark.usefixtures("each_store")
WORKS = "Run the tests with PYTHONPATH=src pytest tests"
HOUR = timedelta(hours=1)


def only(found: Replay) -> Replayed:
    (one,) = found.found
    return one


def twice(memory: Recollect, *, says: str = "They pass.") -> None:
    """Two tasks that find the same command, a day apart; the first in a turn of its own, which recall may show."""
    first = Told("a").ask("Hello there").run("pytest tests", MODULE, 1)
    keep(memory, first.run("PYTHONPATH=src pytest tests").say(says), found_form("b", day=1))


def test_without_memories_nothing_is_said_by_itself_and_the_old_turn_is_found_when_asked_for(memory: Recollect) -> None:
    """Memory off: the need had to be met by work again, and that is what it took."""
    twice(memory)
    found = memory.replay()
    assert (found.sessions, found.total.needs, found.total.pushed, found.start_tokens) == (2, 1, 0, 0)
    one = only(found)
    assert (one.way, one.by and one.by.tier) == ("asked", "turn")
    assert (one.session, one.known_in) == ("claude:b", "claude:a")
    assert found.total.cost.seconds == one.cost.seconds == 30.0
    assert (found.total.saved.seconds, found.total.saved_asked.seconds) == (0.0, 30.0)


def test_a_memory_that_was_there_tells_it_when_the_session_begins(memory: Recollect) -> None:
    twice(memory)
    kept = memory.remember(WORKS, kind="lesson", occurred_at=START + HOUR)
    found = memory.replay()
    one = only(found)
    assert (one.way, one.by and one.by.id) == ("start", kept.id)
    assert (found.total.pushed, found.total.saved.seconds) == (1, 30.0)
    assert 0 < found.start_tokens < 300


def test_what_was_kept_after_the_moment_is_not_used(memory: Recollect) -> None:
    """As of the moment: a memory of an hour later tells nothing."""
    twice(memory)
    late = memory.remember(WORKS, kind="lesson", occurred_at=START + timedelta(days=1) + HOUR)
    found = memory.replay()
    assert (found.total.pushed, found.start_tokens, found.prompt_tokens) == (0, 0, 0)
    assert only(found).by is not None
    assert late.id not in repr(found)


def test_what_was_believed_later_is_not_believed_then(memory: Recollect) -> None:
    """Quoted at first, confirmed long after: it would not have been laid before the agent by itself."""
    twice(memory)
    quoted = memory.remember(WORKS, kind="lesson", origin="assistant", occurred_at=START + HOUR)
    memory.confirm(quoted.id)
    assert only(memory.replay()).way == "asked"


def test_later_words_are_not_read_into_an_earlier_memory(memory: Recollect) -> None:
    twice(memory)
    vague = memory.remember("The tests need some variable", kind="lesson", occurred_at=START + HOUR)
    memory.update(vague.id, content=WORKS)
    found = memory.replay()
    assert found.total.pushed == 0
    assert found.start_tokens > 0, "it was said, in the words it had"


def test_what_was_superseded_later_still_told_it_then(memory: Recollect) -> None:
    twice(memory)
    old = memory.remember(WORKS, kind="lesson", occurred_at=START + HOUR)
    memory.supersede(old.id, "Run the tests with make check")
    one = only(memory.replay())
    assert (one.way, one.by and one.by.id) == ("start", old.id)


def test_a_session_that_still_went_on_tells_nothing(memory: Recollect) -> None:
    """It ran at the same time: nobody could have known how it ends."""
    first = found_form("a").say("It works: " + WORKS)
    first.at = START + timedelta(days=2)
    keep(memory, first.say("Long after."), found_form("b", day=1), found_form("z", day=-1))
    found = memory.replay()
    assert "claude:b" in [one.session for one in found.found]
    assert all(one.by is None or one.by.session != "claude:a" for one in found.found)


def test_a_memory_of_a_session_that_still_went_on_is_not_used(memory: Recollect) -> None:
    """It was said before the moment; whether it held was only known when the session was over."""
    twice(memory)
    long = Told("long").ask("Hello there")
    long.at = START + timedelta(days=3)
    keep(memory, long.say("Done."))
    kept = memory.remember(WORKS, kind="lesson", session="claude:long", occurred_at=START + HOUR)
    found = memory.replay()
    assert found.total.pushed == 0
    assert kept.id not in repr(found)


def test_an_agent_that_asks_is_told_by_what_was_said_before(memory: Recollect) -> None:
    twice(memory, says=f"It needs a path. {WORKS} works, without it: No module named 'app'.")
    one = only(memory.replay())
    assert (one.way, one.by and one.by.tier, one.by and one.by.session) == ("asked", "turn", "claude:a")
    assert one.question == f"pytest: {MODULE}"


def test_other_projects_and_the_task_itself_are_no_help(memory: Recollect) -> None:
    keep(memory, found_form("a", day=0))
    keep(memory, found_form("b", day=1).say(WORKS), project="other")
    one = only(memory.replay())
    assert one.project == "other"
    assert one.way == "missed", "what it says itself afterwards counts for nothing, and neither does another project"


def test_nothing_is_changed_and_the_same_history_gives_the_same_figures(memory: Recollect) -> None:
    twice(memory, says=WORKS)
    memory.remember(WORKS, kind="lesson", occurred_at=START + HOUR)
    before = [json.dumps(record, default=str) for record in memory.export()]
    first = memory.replay()
    assert memory.replay() == first
    assert [json.dumps(record, default=str) for record in memory.export()] == before


def test_it_can_be_narrowed(memory: Recollect) -> None:
    keep(memory, *(found_form(name, day=day) for day, name in enumerate("abcd")))
    assert [one.session for one in memory.replay().found] == ["claude:d", "claude:c", "claude:b"]
    assert memory.replay(since=START + timedelta(days=2)).total.needs == 2
    assert memory.replay(project="other").total.needs == 0
    few = memory.replay(limit=1)
    assert ([one.session for one in few.found], few.left_out) == (["claude:d"], 2)
    for wrong in (0, 10_001, True):
        with pytest.raises(InvalidInput):
            memory.replay(limit=wrong)


@IN_A_FILE
def test_the_command_shows_off_against_on_and_examples(cli: Cli, own_home: Path) -> None:
    with Recollect.open(own_home / ".local" / "share" / "recollect", background=False, embedder=None) as memory:
        twice(memory)
        memory.remember(WORKS, kind="lesson", occurred_at=START + HOUR)
    ran = cli("replay")
    assert ran.code == 0
    assert "memory off  0 of 1 told" in ran.out
    assert "memory on   1 of 1 (100 %) told without being asked" in ran.out
    assert "== Told when the session began ==" in ran.out
    assert WORKS in ran.out
    found = cli("replay", "--json").json["replay"]
    assert found["total"]["ways"] == {"start": 1, "prompt": 0, "asked": 0, "led": 0, "missed": 0}
    assert found["found"][0]["by"]["said"] == WORKS
    assert cli("replay", "--since", "2026-12-01").err.startswith("Nothing was needed twice yet.")
    assert cli("replay", "--limit", "0").code == 2
