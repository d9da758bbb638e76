"""The same memory in three places: a data directory, a server for a program that waits, a server that is awaited.

The server is the real command in a process of its own, one for a whole file; every test is another user of it.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect, Scope
from recollect.client import AsyncClient, Client
from recollect.settings import load

LIMIT = 60.0  # seconds a server may take to start on a busy machine
_users = itertools.count()


@dataclass(frozen=True)
class Server:
    """A server that runs, and the data directory its secret is in."""

    url: str
    data_dir: Path

    @property
    def key(self) -> str:
        return (self.data_dir / "serve.token").read_text(encoding="ascii").strip()


class Waited:
    """An AsyncClient whose methods are waited for, so that the same test can use it."""

    def __init__(self, inner: AsyncClient) -> None:
        self.inner = inner
        self.loop = asyncio.new_event_loop()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if inspect.isasyncgenfunction(found):
            return lambda *args, **given: iter(self.run(_listed(found(*args, **given))))
        if inspect.iscoroutinefunction(found):
            return lambda *args, **given: self.run(found(*args, **given))
        return found

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def __enter__(self) -> Waited:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        if not self.loop.is_closed():
            self.run(self.inner.close())
            self.loop.close()


async def _listed(stream: Any) -> list[Any]:
    return [item async for item in stream]


def started(folder: Path, **settings: str) -> Iterator[Server]:
    """`recollect serve` on a free port, stopped at the end."""
    chosen = {"EMBEDDER": "none", "SERVE_RATE_PER_MINUTE": "0", "SERVE_RATE_PER_IP_PER_MINUTE": "0", **settings}
    env = {"HOME": str(folder), "PATH": os.defpath, "RECOLLECT_DATA_DIR": str(folder / "data")}
    env |= {f"RECOLLECT_{name}": value for name, value in chosen.items()}
    command = [sys.executable, "-m", "recollect", "serve", "--json", "--port", "0"]
    with open(folder / "errors", "wb") as errors:  # noqa: PTH123
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=errors)
    watchdog = threading.Timer(LIMIT, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        told = b""
        while not told.rstrip().endswith(b"}"):
            line = process.stdout.readline()
            assert line, (folder / "errors").read_text()
            told += line
        watchdog.cancel()
        yield Server(json.loads(told)["address"], folder / "data")
    finally:
        watchdog.cancel()
        process.terminate()
        process.communicate(timeout=LIMIT)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from started(tmp_path_factory.mktemp("server"))


@pytest.fixture(params=["data-dir", "client", "async-client"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., AbstractContextManager[Any]]]:
    """Opens the memory of a user nobody else is, in a project if one is said, in the place this run is about."""
    user = f"user-{next(_users)}"
    made: list[Any] = []

    def in_process(project: str | None = None) -> Any:
        settings = load(data_dir=tmp_path / "data", embedder="none").settings
        return Recollect.open(settings=settings, scope=Scope("local", user, project), background=False)

    def at_a_server(kind: type, project: str | None = None) -> Any:
        server: Server = request.getfixturevalue("server")
        return kind(server.url, key=server.key, user=user, project=project)

    def open_memory(project: str | None = None) -> Any:
        how = {"data-dir": in_process, "client": partial(at_a_server, Client)}
        one = how[request.param](project) if request.param in how else Waited(at_a_server(AsyncClient, project))
        made.append(one)
        return one

    yield open_memory
    for one in made:
        one.close()


@pytest.fixture
def memory(opening: Callable[..., Any]) -> Any:
    """The memory of one user, without a project."""
    return opening()
