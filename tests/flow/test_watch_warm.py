"""`recollect sweep --watch` is the warm process: one of several watchers, another when it is gone, none at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from recollect import warmwire

WATCH = [sys.executable, "-m", "recollect", "sweep", "--watch", "--source", "claude"]
REQUEST = warmwire.pack({"prompt": b"which port has postgres for local development", "cwd": b"/"})


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def watchers(data_dir: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Starts a watcher and waits until it watches."""
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        process = subprocess.Popen([*WATCH, "--data-dir", str(data_dir)], stderr=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stderr
        assert "Watching" in process.stderr.readline()
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stderr
        process.stderr.close()


def answers(data_dir: Path) -> bool:
    try:
        found = warmwire.ask(str(data_dir / warmwire.SOCKET), REQUEST, time.monotonic() + 1)
    except (OSError, ValueError):
        return False
    return found["state"] in (warmwire.PASS, warmwire.NOTHING)


def eventually(true: Callable[[], bool], seconds: float = 15.0) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


def listeners(*processes: subprocess.Popen[str]) -> set[int]:
    """Those of the processes that have a socket of that name open for listening; other tests have some too."""
    inodes = {
        line.split()[6] for line in Path("/proc/net/unix").read_text().splitlines() if line.endswith(warmwire.SOCKET)
    }
    found = set()
    for process in processes:
        for link in Path(f"/proc/{process.pid}/fd").glob("*"):
            with suppress(OSError):
                target = os.readlink(link)  # noqa: PTH115
                if target.removeprefix("socket:[").removesuffix("]") in inodes:
                    found.add(process.pid)
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/net/unix").exists(), reason="needs /proc to see who listens")
def test_of_two_watchers_one_answers_and_the_other_takes_over(
    watchers: Callable[[], subprocess.Popen[str]], data_dir: Path
) -> None:
    """P17."""
    first = watchers()
    assert eventually(lambda: answers(data_dir))
    second = watchers()
    time.sleep(1.5)
    assert listeners(first, second) == {first.pid}
    first.kill()
    first.wait()
    assert eventually(lambda: answers(data_dir), 10)
    assert listeners(second) == {second.pid}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_watcher_that_is_stopped_leaves_no_socket(
    watchers: Callable[[], subprocess.Popen[str]], data_dir: Path, number: signal.Signals
) -> None:
    process = watchers()
    assert eventually(lambda: answers(data_dir))
    process.send_signal(number)
    assert process.wait(10) in (0, 130)
    assert not (data_dir / warmwire.SOCKET).exists()
