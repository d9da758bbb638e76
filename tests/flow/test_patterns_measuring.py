"""What became of a roll-out: counted in tasks, before and after, against projects that were held back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.errors import InvalidInput
from recollect.store.ports.learn import Pattern
from tests.flow.memory_fixture import HandClock
from tests.flow.patterns_fixture import approved, keep, quiet
from tests.unit.learn.learning_fixture import START, stale_edit

DAY = 20  # of the roll-out, from START


@pytest.fixture
def place(own_home: Path, memory: Recollect) -> Path:
    folder = own_home / "app"
    folder.mkdir()
    memory.settings.projects[str(folder)] = "app"
    return folder


def days(memory: Recollect, first: int, hits: int, tasks: int, project: str = "app", flavor: str = "claude") -> None:
    """So many tasks from a day on, in some of which it happens."""
    names = [(f"{project}-{flavor}-{first}-{number}", first + number * 10 / tasks, number) for number in range(tasks)]
    told = [
        (stale_edit if number < hits else quiet)(name, flavor, day=day)  # type: ignore[arg-type]
        for name, day, number in names
    ]
    keep(memory, *told, project=project)


def rolled_out(memory: Recollect, clock: HandClock, place: Path, to: str = "claude-md", **how: object) -> Pattern:
    pattern = approved(memory)
    clock.now = START + timedelta(days=DAY)
    memory.patterns.roll_out(pattern.id, to, directory=place, **how)
    clock.now = START + timedelta(days=60)
    return pattern


def test_it_became_rarer(memory: Recollect, clock: HandClock, place: Path) -> None:
    days(memory, 1, 15, 20)
    pattern = rolled_out(memory, clock, place)
    days(memory, 30, 1, 20)
    (one,) = memory.patterns.measure(pattern.id)
    assert (one.effect.before.hits, one.effect.before.tasks) == (15, 20)
    assert (one.effect.after.hits, one.effect.after.tasks) == (1, 20)
    assert (one.effect.verdict, one.effect.proposal) == ("fewer", "keep")
    assert one.seconds is not None
    assert one.seconds.high < 0
    assert "chance" in one.notes[0]
    assert sum(week.tasks for week in one.weeks) == 40
    assert memory.patterns.measure() == [one], "the same each time"


def test_too_few_sessions_say_nothing(memory: Recollect, clock: HandClock, place: Path) -> None:
    days(memory, 1, 15, 20)
    pattern = rolled_out(memory, clock, place)
    days(memory, 30, 0, 4)
    (one,) = memory.patterns.measure(pattern.id)
    assert (one.effect.verdict, one.effect.proposal, one.notes) == ("not enough data", "wait", ())
    assert one.seconds is None


def test_what_does_not_help_is_proposed_for_removal(memory: Recollect, clock: HandClock, place: Path) -> None:
    days(memory, 1, 10, 20)
    pattern = rolled_out(memory, clock, place)
    days(memory, 30, 16, 32)
    (one,) = memory.patterns.measure(pattern.id)
    assert (one.effect.verdict, one.effect.proposal) == ("no difference seen", "remove")


def test_projects_that_were_held_back_are_the_control(memory: Recollect, clock: HandClock, place: Path) -> None:
    """It fell everywhere: that is not because of the roll-out."""
    for project in ("app", "other"):
        days(memory, 1, 15, 20, project)
    pattern = rolled_out(memory, clock, place, held_back=("other",))
    for project in ("app", "other"):
        days(memory, 30, 2, 20, project)
    (one,) = memory.patterns.measure(pattern.id)
    assert one.effect.after.tasks == 20, "what was held back is not counted as reached"
    assert one.effect.control_after is not None
    assert one.effect.control_after.hits == 2
    assert (one.effect.controlled, one.effect.verdict) == (True, "no difference seen")
    assert "taken off" in one.notes[0]


def test_a_project_that_got_it_later_is_no_control_from_then_on(
    memory: Recollect, clock: HandClock, place: Path, own_home: Path
) -> None:
    """What fell there fell because of the rule: taken off, it would hide that the rule helps."""
    other = own_home / "other"
    other.mkdir()
    memory.settings.projects[str(other)] = "other"
    for project in ("app", "other"):
        days(memory, 1, 15, 20, project)
    pattern = rolled_out(memory, clock, place, held_back=("other",))
    clock.now = START + timedelta(days=29)
    memory.patterns.roll_out(pattern.id, "claude-md", directory=other)
    clock.now = START + timedelta(days=60)
    days(memory, 21, 9, 12, "other")
    for project in ("app", "other"):
        days(memory, 32, 2, 20, project)
    one = memory.patterns.measure(pattern.id)[0]
    assert one.effect.control_after is not None
    assert (one.effect.control_after.hits, one.effect.control_after.tasks) == (9, 10)
    assert (one.effect.controlled, one.effect.verdict) == (True, "fewer")


def test_what_was_only_begun_was_in_force_nowhere(memory: Recollect, clock: HandClock, place: Path) -> None:
    days(memory, 1, 15, 20)
    pattern = rolled_out(memory, clock, place)
    days(memory, 30, 1, 20)
    (one,) = memory.patterns.rollouts()
    begun = replace(one, id="begun", begun_at=START, state="begun", place="/elsewhere/CLAUDE.md")
    memory.store.patterns.put_rollout(memory.scope, begun)
    (measured,) = memory.patterns.measure(pattern.id)
    assert measured.effect.before.tasks == 20


def test_only_a_project_that_does_not_read_it_can_be_held_back(memory: Recollect, place: Path) -> None:
    days(memory, 1, 15, 20)
    pattern = approved(memory)
    with pytest.raises(InvalidInput, match="everywhere"):
        memory.patterns.roll_out(pattern.id, "claude-md", held_back=("other",))
    with pytest.raises(InvalidInput, match="cannot be held back"):
        memory.patterns.roll_out(pattern.id, "claude-md", directory=place, held_back=("app",))


def test_only_agents_and_projects_that_read_it_count(memory: Recollect, clock: HandClock, place: Path) -> None:
    days(memory, 1, 3, 10)
    pattern = rolled_out(memory, clock, place)
    days(memory, 30, 0, 10)
    days(memory, 30, 9, 10, flavor="codex")
    days(memory, 30, 9, 10, project="other")
    (one,) = memory.patterns.measure(pattern.id)
    assert (one.effect.after.hits, one.effect.after.tasks) == (0, 10)


def test_while_another_was_in_force_is_not_before(memory: Recollect, clock: HandClock, place: Path) -> None:
    days(memory, 1, 15, 20)
    pattern = rolled_out(memory, clock, place)
    days(memory, 30, 1, 20)
    memory.patterns.edit(pattern.id, rule="Look first.")
    memory.patterns.roll_out(pattern.id, "claude-md", directory=place)
    days(memory, 61, 1, 15)
    clock.now = START + timedelta(days=90)
    first, second = memory.patterns.measure(pattern.id)
    assert (first.state, second.state) == ("out", "in")
    assert (second.effect.before.hits, second.effect.before.tasks) == (15, 20)
    assert second.effect.after.tasks == 15


def test_a_session_and_those_that_worked_for_it_are_one_task(memory: Recollect, clock: HandClock, place: Path) -> None:
    days(memory, 1, 12, 20)
    pattern = rolled_out(memory, clock, place)
    days(memory, 30, 0, 12)
    for number in range(5):
        child = stale_edit(f"child{number}", day=31)
        child.session = replace(child.session, parent="claude:app-claude-30-0", relation="subagent")
        keep(memory, child)
    late = stale_edit("late", day=31)
    late.session = replace(late.session, parent="claude:app-claude-1-19", relation="subagent")
    keep(memory, late)
    (one,) = memory.patterns.measure(pattern.id)
    assert (one.effect.after.hits, one.effect.after.tasks) == (1, 12)
    assert (one.effect.before.hits, one.effect.before.tasks) == (13, 20), "a task is of when it began"
