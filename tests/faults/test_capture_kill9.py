"""P02, P21: a sweep or a round over the spool that is killed anywhere is made good by the next one, to the last row."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect import Recollect, hook
from recollect.capture.spool import Spool
from recollect.settings import load
from tests.faults.children import Say, start
from tests.flow.transcripts_fixture import Agents, claude_turn, codex, everything, grow, uid

FILES = 200


@pytest.fixture
def agents(own_home: Path) -> Agents:
    return Agents(own_home)


def opened(data_dir: Path) -> Recollect:
    settings = load(data_dir=data_dir, raw_inline_bytes=1_000).settings
    return Recollect.open(settings=settings, embedder=None, background=False)


def output(session: str, number: int) -> str:
    """Now and then a body of its own, now and then one that many share."""
    if number % 5 == 0:
        return "shared words " * 200
    return f"words of {session} " * 120 if number % 3 == 0 else "ok"


def write_sessions(agents: Agents) -> list[Path]:
    paths = []
    for number in range(FILES):
        session = uid("session", number)
        if number % 4:
            paths.append(agents.claude(session, 2, output=output(session, number)))
        else:
            paths.append(agents.codex(session, 2))
    return paths


def grow_some(paths: list[Path], rounds: int, draw: random.Random) -> None:
    for number in draw.sample(range(FILES), 15):
        session = uid("session", number)
        if number % 4:
            grow(paths[number], claude_turn(session, rounds, output=output(session, number + rounds)))
        else:
            grow(paths[number], codex(session, 1, first=rounds))


def sweeping(data_dir: Path) -> Callable[[Say], None]:
    def work(say: Say) -> None:
        with opened(data_dir) as memory:
            say("open")
            memory.sweep(progress=lambda done, total, name: say(str(done)))
            say("digested and done")

    return work


def bodies(data_dir: Path) -> set[str]:
    return {path.name for path in (data_dir / "bodies").rglob("*") if path.is_file()}


def check_whole(data_dir: Path, fresh_dir: Path) -> None:
    """What is there after the next sweep is what an undisturbed one gives."""
    with opened(fresh_dir) as undisturbed:
        undisturbed.sweep()
        wanted = everything(undisturbed)
    with opened(data_dir) as memory:
        memory.sweep()
        assert everything(memory) == wanted
        assert memory.health(deep=True).checks == {}
        again = memory.sweep()
        assert (again.events_added, again.events_changed, again.analyzed) == (0, 0, 0)
        totals = memory.coverage().totals()
        assert (totals["percent"], totals["gaps"], totals["unread_files"]) == (100.0, 0, 0)
    assert bodies(data_dir) == bodies(fresh_dir)


def kill_sweeps(agents: Agents, folder: Path, kills: int) -> None:
    draw = random.Random(11)
    paths = write_sessions(agents)
    data_dir, killed = folder / "data", 0
    for number in range(kills):
        child = start(sweeping(data_dir))
        for _ in range(draw.randrange(0, 2 + 2 * FILES // max(10, kills))):
            if child.hear() in (None, "digested and done"):
                break
        time.sleep(draw.uniform(0, 0.02))
        said = child.kill()
        assert not [line for line in said if line.startswith("error")], said
        killed += "digested and done" not in said
        if number % 3 == 2:
            grow_some(paths, 2 + number // 3, draw)
    assert killed > kills // 2
    check_whole(data_dir, folder / "fresh")


@pytest.mark.slow
def test_a_killed_sweep_is_made_good_by_the_next(agents: Agents, tmp_path: Path) -> None:
    """P02: 10 kills at seeded random points, while sessions grow."""
    kill_sweeps(agents, tmp_path, 10)


@pytest.mark.soak
def test_sweeps_killed_200_times_are_made_good(agents: Agents, tmp_path: Path) -> None:
    """P02."""
    kill_sweeps(agents, tmp_path, 200)


# -- the spool ---------------------------------------------------------------------------------------------------------


def tell_of_sessions(agents: Agents, data_dir: Path, count: int) -> None:
    """Some with a transcript, some without."""
    for number in range(count):
        session = uid("told", number)
        told: dict[str, object] = {"session_id": session, "hook_event_name": "Stop", "cwd": "/srv/app"}
        if number % 3:
            told["transcript_path"] = str(agents.claude(session, 2))
        else:
            told |= {"prompt": f"prompt {number}", "last_assistant_message": f"answer {number}", "turn_id": "t1"}
        hook.capture(str(data_dir), "claude", json.dumps(told).encode(), {})


def all_told(data_dir: Path, count: int) -> None:
    with opened(data_dir) as memory:
        memory.drain()
        for number in range(count):
            session = f"claude:{uid('told', number)}"
            assert len(memory.history(session)) == (8 if number % 3 else 2), number
            assert memory.digest(session) is not None
        assert len(memory.sessions(limit=1_000)) == count
        assert memory.health(deep=True).checks == {}
        assert memory.drain().records == 0
    assert not list((data_dir / "spool").glob("*.record"))


def finishing(after: int) -> Iterator[None]:
    """Lets so many records be finished, then kills the process."""
    for _ in range(after):
        yield
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("after", [0, 1, 7, 19])
def test_a_process_that_dies_between_storing_and_finishing_doubles_nothing(
    agents: Agents, tmp_path: Path, after: int
) -> None:
    """P21."""
    data_dir = tmp_path / "data"
    tell_of_sessions(agents, data_dir, 20)

    def work(say: Say) -> None:
        real, left = Spool.finish, finishing(after)
        Spool.finish = lambda self, path: (next(left), real(self, path))[1]  # type: ignore[method-assign]
        with opened(data_dir) as memory:
            memory.drain()

    code, said = start(work).wait()
    assert (code, said) == (-signal.SIGKILL, [])
    assert len(list((data_dir / "spool").glob("*.record"))) == 20 - after
    all_told(data_dir, 20)


def kill_drains(agents: Agents, data_dir: Path, kills: int) -> None:
    draw = random.Random(7)
    tell_of_sessions(agents, data_dir, 40)

    def work(say: Say) -> None:
        with opened(data_dir) as memory:
            say("open")
            memory.drain()

    for _ in range(kills):
        child = start(work)
        child.hear()
        time.sleep(draw.uniform(0, 0.08))
        said = child.kill()
        assert said == ["open"], said
    all_told(data_dir, 40)


@pytest.mark.slow
def test_a_killed_drain_loses_and_doubles_nothing(agents: Agents, tmp_path: Path) -> None:
    """P02, P21: 8 kills at seeded random points."""
    kill_drains(agents, tmp_path / "data", 8)


@pytest.mark.soak
def test_drains_killed_200_times_lose_and_double_nothing(agents: Agents, tmp_path: Path) -> None:
    """P02, P21."""
    kill_drains(agents, tmp_path / "data", 200)
