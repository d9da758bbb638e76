"""P20: nobody reads what hooks leave, so nobody prepares the line that says so either: the hook at a start adds it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Recollect, Scope, unread
from recollect.frame import without_blocks
from recollect.inject.hosts import HOSTS, ROOM, said
from recollect.inject.standing import content, tagged
from recollect.project import resolve
from tests.flow.test_hook import command
from tests.prepared_fixture import event, left_unread

Open = Callable[..., Recollect]
LINE = unread.ITSELF + unread.LATE
NAMES = {"claude": "SessionStart", "codex": "SessionStart", "gemini": "SessionStart", "cursor": "sessionStart"}
DEAD = (200.0, 30.0, 2.0)  # hours ago that records came which nobody read


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    return folder


@pytest.fixture
def memory(opened: Open, here: Path) -> Recollect:
    one = opened(Scope(project=resolve(here).name))
    one.directory = here
    return one


def printed(memory: Recollect, here: Path, agent: str = "claude") -> str:
    """What the real hook prints at a start; the record that it leaves is taken away again."""
    data_dir = memory.settings.data_dir
    before = set((data_dir / "spool").glob("*")) if (data_dir / "spool").is_dir() else set()
    body = event(NAMES[agent], cwd=str(here), source="startup")
    done = subprocess.run(command(data_dir, agent), input=body, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    (own,) = set((data_dir / "spool").glob("*.record")) - before
    own.unlink()
    return done.stdout.decode()


def shown(answer: str) -> str:
    found = json.loads(answer)
    return str(found.get("additional_context") or found["hookSpecificOutput"]["additionalContext"])


def left(memory: Recollect, *hours: float) -> list[Path]:
    return [left_unread(memory.settings.data_dir, each) for each in hours]


@pytest.mark.parametrize("agent", NAMES)
def test_what_nobody_reads_is_told_in_one_line_and_falls_silent_when_it_is_read(
    memory: Recollect, here: Path, agent: str
) -> None:
    memory.remember("Use uv here", kind="preference")
    memory.prepare()
    well = printed(memory, here, agent)
    assert "Use uv here" in well
    left(memory, *DEAD)
    ill = shown(printed(memory, here, agent)).split("\n")
    assert [line for line in ill if "itself" in line] == [LINE]
    ill[3:5] = []  # the line and an empty one
    assert ill == shown(well).split("\n")
    memory.drain()
    assert printed(memory, here, agent) == well


@pytest.mark.parametrize("agent", NAMES)
def test_it_is_told_where_there_is_nothing_else_to_say(memory: Recollect, here: Path, agent: str) -> None:
    expected = said(agent, "SessionStart", tagged(content((), unread.LATE), None))
    left(memory, *DEAD)
    assert printed(memory, here, agent) == expected  # nobody ever prepared anything
    memory.prepare()
    assert shown(printed(memory, here, agent)).count("Recollect itself") == 1
    for record in (memory.settings.data_dir / "spool").glob("*.record"):
        record.unlink()
    memory.prepare()
    assert printed(memory, here, agent) == ""
    left(memory, *DEAD)
    assert printed(memory, here, agent) == expected


@pytest.mark.parametrize(
    "hours",
    [(), (0.02, 0.01), (0.02, 5.9), (63.0,), (63.5, 63.0), (63.5, 63.0, 0.9, 0.01), (7.0, 6.5), (-9.0, -2.0, 0.5)],
    ids=[
        "none",
        "a minute ago",
        "for less than six hours",
        "the end of Friday's session, on Monday",
        "Friday's last half hour, on Monday",
        "the same, and Monday's session has just begun",
        "nobody worked on",
        "a clock that jumped",
    ],
)
def test_who_is_well_is_not_called_ill(memory: Recollect, here: Path, hours: tuple[float, ...]) -> None:
    memory.prepare()
    left(memory, *hours)
    assert printed(memory, here) == ""


def test_what_is_laid_ready_is_not_told_twice(memory: Recollect, here: Path) -> None:
    left(memory, *DEAD)
    memory.remember("Use uv here", kind="preference")
    memory.prepare()
    assert shown(printed(memory, here)).count("Recollect itself: 2 hook records wait") == 1
    assert LINE not in printed(memory, here)


def test_a_memory_that_reads_like_the_line_does_not_keep_it_away(memory: Recollect, here: Path) -> None:
    memory.remember(f"Note this\n{LINE}", kind="preference")
    memory.prepare()
    left(memory, *DEAD)
    assert shown(printed(memory, here)).split("\n").count(LINE) == 1


@pytest.mark.parametrize("off", [{"inject_start": False}, {"inject_max_tokens": 0}], ids=str)
def test_who_wants_nothing_at_a_start_gets_nothing(opened: Open, here: Path, off: dict[str, object]) -> None:
    memory = opened(**off)
    memory.remember("Use uv here", kind="preference")
    memory.prepare()
    left(memory, *DEAD)
    assert printed(memory, here) == ""


def test_a_spool_that_cannot_be_looked_at_keeps_nothing_back(memory: Recollect, here: Path) -> None:
    memory.remember("Use uv here", kind="preference")
    memory.prepare()
    folder = os.open(memory.settings.data_dir, os.O_RDONLY)
    try:
        assert unread.told(folder, "claude", b"{as it is}") == b"{as it is}"
    finally:
        os.close(folder)


def test_the_line_does_not_come_back_as_something_new(memory: Recollect, here: Path) -> None:
    memory.remember("Use uv here", kind="preference")
    memory.prepare()
    left(memory, *DEAD)
    for text in (shown(printed(memory, here)), unread.ALONE.replace("\\n", "\n")):
        assert without_blocks(f"before\n{text}after", "") == ("before\n\nafter", 1)


def test_every_host_has_room_for_the_line() -> None:
    assert len(f"{LINE}\\n\\n") <= ROOM
    many = "\n".join(f"thing {n}" for n in range(2_000))
    for name in NAMES:
        host = HOSTS[name]
        text = next(many[:size] for size in range(len(many), 0, -1) if host.fits(many[:size], 10**6))
        assert len(said(name, "SessionStart", text)) + len(f"{LINE}\\n\\n") <= host.max_chars


def test_of_a_huge_spool_only_a_part_is_looked_at(memory: Recollect, here: Path, tmp_path: Path) -> None:
    memory.prepare()
    first, last = left(memory, 200.0, 2.0)
    for number in range(2 * unread.MOST):
        first.with_name(f"{int(first.name[:20]) + number * 10**9:020d}-1-a.record").touch()
        last.with_name(f"{int(last.name[:20]) - number * 10**9:020d}-1-b.record").touch()
    assert LINE in printed(memory, here)
