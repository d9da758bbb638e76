"""Processes made from one: what becomes of them when there is no room for another, and when they end by themselves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

LIMIT = 20.0
PROGRAM = textwrap.dedent("""
    import os, signal, socket, sys
    from recollect.http import workers
    from recollect.http.doorman import TAKES

    workers.AGAIN_SECONDS, workers.LATE_SECONDS = 0.05, 2.0
    fork, tries, refused = os.fork, [0], [int(number) for number in sys.argv[1:]]

    def sometimes():
        tries[0] += 1
        if tries[0] in refused:
            raise BlockingIOError("no room")
        return fork()

    os.fork = sometimes
    where = socket.create_server(("127.0.0.1", 0))
    where.setblocking(False)
    made = workers.Workers(where, 2)
    line = made.run(lambda: print("ready", flush=True))
    if line is not None:
        line.send(TAKES)
        print("one", os.getpid(), flush=True)
        signal.pause()
    print("ended", made.code, tries[0], flush=True)
""")


@contextmanager
def looking_after(*refused: int) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-c", PROGRAM, *map(str, refused)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        last = threading.Timer(LIMIT, process.kill)  # what it never says is not waited for without end
        last.start()
        try:
            yield process
        finally:
            last.cancel()
            process.terminate()
            process.wait(LIMIT)


def said(process: subprocess.Popen[str], what: str) -> str:
    """The rest of the next line that says this."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(what):
            return line.removeprefix(what).strip()
    raise AssertionError(f"it never said {what}")


@pytest.mark.slow
def test_where_there_is_no_room_for_another_one_answers_meanwhile() -> None:
    with looking_after(2, 3) as process:
        first = said(process, "one")
        assert said(process, "one") != first
        process.terminate()
        assert said(process, "ended") == "0 4"
        assert process.wait(LIMIT) == 0


@pytest.mark.slow
def test_it_is_ready_when_all_of_them_take_connections() -> None:
    with looking_after() as process:
        assert process.stdout is not None
        assert [process.stdout.readline().split()[0] for _ in range(3)] == ["one", "one", "ready"]


@pytest.mark.slow
def test_one_that_does_not_come_is_not_waited_for_without_end() -> None:
    with looking_after(*range(2, 1_000)) as process:
        assert process.stdout is not None
        assert [process.stdout.readline().split()[0] for _ in range(2)] == ["one", "ready"]


@pytest.mark.slow
def test_where_there_is_no_room_for_any_it_says_so() -> None:
    with looking_after(1) as process:
        _, told = process.communicate(timeout=LIMIT)
    assert process.returncode == 1
    assert "no room" in told


@pytest.mark.slow
def test_one_that_ends_by_itself_is_made_again() -> None:
    with looking_after() as process:
        first = int(said(process, "one"))
        said(process, "one")
        os.kill(first, signal.SIGKILL)
        assert int(said(process, "one")) != first
        process.terminate()
        assert said(process, "ended") == "0 3"
