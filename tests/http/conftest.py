"""The memory over HTTP for tests: `inside` answers in this process, `start` and `service` are the real command."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from recollect.http.app import SECRET_FILE, Role, create_app
from recollect.metrics import Metrics
from recollect.model import Scope
from recollect.models.tiny import TinyEmbedder
from recollect.serving import Serving
from recollect.settings import load
from tests.flow.memory_fixture import HandClock

LIMIT = 30.0  # seconds a server may take to start on a busy machine


class Inside:
    """An app in this process, and a client that has its secret (or, hosted, a key of ann's with all permissions)."""

    def __init__(self, data_dir: Path, clock: HandClock, *, hosted: bool = False, role: Role = "all", **settings: Any):
        chosen = load(data_dir=data_dir, **settings).settings
        self.clock = clock
        self.serving = Serving(chosen, hosted=hosted, clock=clock, embedder=TinyEmbedder())
        self.metrics = Metrics()
        self.app = create_app(self.serving, role, metrics=self.metrics)
        self.secret = self.key() if hosted else (data_dir / SECRET_FILE).read_text().strip()
        self.client = TestClient(
            self.app, base_url="http://127.0.0.1:8010", client=("127.0.0.1", 1), headers=self.auth()
        )
        self.client.__enter__()

    def key(self, *permissions: str, tenant: str = "acme", user: str = "ann", **given: Any) -> str:
        """A new key of somebody's; all permissions when none is said."""
        everything = ("read", "write", "delete", "speak", "act", "admin")
        scope = Scope(tenant, user, given.pop("project", None))
        given.setdefault("expires_at", self.clock() + timedelta(days=90))
        issued = self.serving.store.keys.create(scope, at=self.clock(), permissions=permissions or everything, **given)
        return issued.text

    def auth(self, key: str | None = None) -> dict[str, str]:
        return {"X-API-Key": key or self.secret}

    def stranger(self, **headers: str) -> TestClient:
        """Another client of the same app, without a key."""
        return TestClient(self.app, base_url="http://127.0.0.1:8010", client=("127.0.0.1", 2), headers=headers)

    def close(self) -> None:
        self.client.__exit__(None, None, None)
        self.serving.close()


@pytest.fixture
def inside(tmp_path: Path, clock: HandClock) -> Iterator[Callable[..., Inside]]:
    """Opens apps in this process: inside(hosted=True, serve_rate_per_minute=5)."""
    made: list[Inside] = []

    def make(**given: Any) -> Inside:
        made.append(Inside(tmp_path / "data", clock, **given))
        return made[-1]

    yield make
    for one in made:
        one.close()


class Service:
    """One `recollect serve` on a free port."""

    def __init__(self, folder: Path, *words: str, env: dict[str, str] | None = None) -> None:
        self.data_dir = folder / "data"
        self.log = folder / "serve.log"
        command = [sys.executable, "-m", "recollect", "serve", "--port", "0", "--json", "--log"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--data-dir", str(self.data_dir), *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=folder,
                env=env,
                text=True,
            )
        assert self.process.stdout
        line = self.process.stdout.readline()
        try:
            self.address: str = json.loads(line)["address"]
        except (ValueError, KeyError):
            self.close()
            pytest.fail(f"it did not start: {line}{self.log.read_text()}")
        self.port = int(self.address.rpartition(":")[2])
        token = self.data_dir / SECRET_FILE
        self.secret = token.read_text().strip() if token.exists() else ""

    def client(self, key: str | None = None, **given: Any) -> httpx.Client:
        """A client with its secret, or with this key."""
        headers = {"X-API-Key": key or self.secret} if key or self.secret else {}
        return httpx.Client(base_url=self.address, headers=headers, timeout=LIMIT, **given)

    def stop(self) -> int:
        """Tell it to end; its code."""
        self.process.terminate()
        return self.process.wait(timeout=LIMIT)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


@pytest.fixture
def start(tmp_path: Path, own_home: Path) -> Iterator[Callable[..., Service]]:
    """Starts the real server, as often as asked, on one data directory: start("--hosted")."""
    made: list[Service] = []

    def begin(*words: str, env: dict[str, str] | None = None) -> Service:
        made.append(Service(tmp_path, *words, env=env))
        return made[-1]

    yield begin
    for one in made:
        one.close()


@pytest.fixture
def service(each_store: str, start: Callable[..., Service]) -> Service:
    """The real server, on each store."""
    return start()
