"""One server for every process of a test run: the first that asks starts it, the last that ends takes it away.

In: a folder that the processes share, and how to start. Out: what the starter wrote down, such as port and password.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOM = 4 * 2**30  # bytes that must be free in memory before a server's files go there
PATIENCE = 60.0
NOBODY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
Facts = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Start:
    """How a server is started: what to write down about it, and its command in a folder of its own."""

    facts: Facts
    folder: Path
    command: tuple[str, ...]
    ready: Callable[[Facts], bool]


@contextmanager
def shared(run: Path, name: str, prepare: Callable[[], Start]) -> Iterator[Facts]:
    """What is known about the running server; it runs at least until the end of the block."""
    state = run / f"{name}.json"
    with (run / f"{name}.users").open("ab") as users, (run / f"{name}.starting").open("ab") as starting:
        fcntl.flock(users, fcntl.LOCK_SH)  # waits for a keeper that is just taking the last one away
        fcntl.flock(starting, fcntl.LOCK_EX)
        if not state.exists():
            _launch(Path(users.name), state, prepare())
        facts: Facts = json.loads(state.read_text())
        fcntl.flock(starting, fcntl.LOCK_UN)
        yield facts


def _launch(users: Path, state: Path, start: Start) -> None:
    words = (sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py")))
    keeper = subprocess.Popen(
        [*words, str(users), str(state), str(start.folder), *start.command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # what is typed at the test run's terminal is not for the server
    )
    keeper.returncode = 0  # it outlives us, on purpose: no warning about it
    until = time.monotonic() + PATIENCE
    while not start.ready(start.facts):
        if time.monotonic() > until:
            raise RuntimeError(f"the server did not start: {(start.folder / 'log').read_text()[-2000:]}")
        time.sleep(0.02)
    written = state.with_suffix(".new")
    written.touch(mode=0o600)
    written.write_text(json.dumps(start.facts))
    written.rename(state)


def as_nobody() -> tuple[str, ...]:
    """What stands before a command that refuses to run as root."""
    return NOBODY if os.geteuid() == 0 else ()


def folder_for_server(prefix: str) -> Path:
    """An empty folder that the server's user owns and can reach, in memory where there is room."""
    wanted = [Path("/dev/shm"), Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]
    for place in wanted:
        if not place.is_dir() or not os.access(place, os.W_OK) or not within_reach(place):
            continue
        if place == wanted[0] and shutil.disk_usage(place).free < ROOM:
            continue
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        if as_nobody():
            shutil.chown(folder, "nobody", "nogroup")
        return folder
    raise RuntimeError("no folder that a server's user can reach")


def within_reach(path: Path) -> bool:
    """Whether a user without rights can go there: every folder on the way lets it through."""
    return not as_nobody() or all(place.stat().st_mode & 0o001 for place in (path, *path.resolve().parents))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int, asked: bytes = b"", expected: bytes = b"") -> bool:
    """Whether something listens there and answers as it should."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            if asked:
                connection.sendall(asked)
                return connection.recv(len(expected)) == expected
            return True
    except OSError:
        return False
