"""Under load, PostgreSQL crashes and Redis goes away and comes back: the service answers 503 for a while and recovers.

What it acknowledged is there, once; who retries with the same Idempotency-Key adds nothing twice.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from recollect.settings import environment
from tests.faults.test_postgres_crash import DURABLE, crash
from tests.http.conftest import Service, start
from tests.services.postgres import Postgres, running
from tests.services.redis import QUIET, _program
from tests.services.shared import answers, free_port

__all__ = ["start"]  # the fixture
WRITERS, ROUNDS = 3, 3


class OwnRedis:
    """A Redis that can be killed and started again on the same port."""

    def __init__(self, folder: Path) -> None:
        self.port, self._folder = free_port(), folder
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        command = [str(_program()), "--port", str(self.port), "--dir", str(self._folder), *QUIET]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        until = time.monotonic() + 20
        while not answers(self.port, b"PING\r\n", b"+PONG") and time.monotonic() < until:
            time.sleep(0.02)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[OwnRedis]:
    server = OwnRedis(tmp_path)
    yield server
    server.kill()


@pytest.fixture
def durable(run_folder: Path) -> Iterator[Postgres]:
    with running(run_folder, f"serving-{time.monotonic_ns()}", DURABLE) as server:
        yield server


class Writer(threading.Thread):
    """Writes one thing after the other, each until it is acknowledged, and notes what was."""

    def __init__(self, service: Service, name: str, done: threading.Event) -> None:
        super().__init__(name=name)
        self._service, self._done = service, done
        self.acknowledged: list[str] = []
        self.refused: dict[int, int] = {}
        self.wrong: list[str] = []

    def run(self) -> None:
        with self._service.client() as client:
            number = 0
            while not self._done.is_set():
                number += 1
                text = f"{self.name} put crate {number} on shelf {number * 7}"
                if self._written(client, text, f"{self.name}-{number}-crate"):
                    self.acknowledged.append(text)

    def _written(self, client: httpx.Client, text: str, key: str) -> bool:
        while not self._done.is_set():
            try:
                answer = client.post("/ingest", json={"content": text}, headers={"Idempotency-Key": key})
            except httpx.TransportError as error:
                self.wrong.append(type(error).__name__)  # the service itself never goes away
                return False
            if answer.status_code in (200, 201):
                return True
            self.refused[answer.status_code] = self.refused.get(answer.status_code, 0) + 1
            if answer.status_code not in (409, 429, 503):
                self.wrong.append(f"{answer.status_code}: {answer.text[:200]}")
                return False
            time.sleep(0.05)
        return False


def wait_for_more(writers: list[Writer], count: int) -> None:
    before, until = sum(len(one.acknowledged) for one in writers), time.monotonic() + 60
    while sum(len(one.acknowledged) for one in writers) < before + count:
        assert time.monotonic() < until, "it did not recover"
        time.sleep(0.02)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_or_doubled_when_postgres_and_redis_restart_under_load(
    durable: Postgres, own_redis: OwnRedis, start: Callable[..., Service]
) -> None:
    url = durable.empty_database()
    unlimited = {"RECOLLECT_SERVE_RATE_PER_MINUTE": "0", "RECOLLECT_SERVE_RATE_PER_IP_PER_MINUTE": "0"}
    words = {"RECOLLECT_DATABASE_URL": url, "RECOLLECT_REDIS_URL": own_redis.url, "RECOLLECT_EMBEDDER": "none"}
    service = start(env={**environment(), **unlimited, **words})
    done = threading.Event()
    writers = [Writer(service, f"writer{number}", done) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(ROUNDS):
            wait_for_more(writers, 15)
            crash(url)
            wait_for_more(writers, 15)
            own_redis.kill()
            wait_for_more(writers, 15)
            own_redis.start()
        wait_for_more(writers, 15)
    finally:
        done.set()
        for writer in writers:
            writer.join()
    assert [wrong for writer in writers for wrong in writer.wrong] == []
    wanted = sorted(text for writer in writers for text in writer.acknowledged)
    kept = everything(service)
    assert [text for text in wanted if kept.count(text) != 1] == []
    assert len(kept) == len(set(kept))
    with service.client() as client:
        assert client.get("/health").status_code == 200


def everything(service: Service) -> list[str]:
    found: list[str] = []
    cursor: dict[str, str] = {}
    with service.client() as client:
        while True:
            page = client.get("/memories", params={"limit": 100, **cursor}).json()
            found += [memory["content"] for memory in page["memories"]]
            if not page.get("next_cursor"):
                return found
            cursor = {"cursor": page["next_cursor"]}
