"""P42: what PostgreSQL acknowledged is there after it crashed, again and again, under load."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from recollect.errors import StoreBusy, StoreUnavailable
from recollect.model import Event
from recollect.store.port import Store
from tests.contract.samples import ANN, event
from tests.faults.migrating import opened
from tests.services.postgres import VARIABLE, Postgres, running

DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}


@pytest.fixture
def durable(run_folder: Path) -> Iterator[Postgres]:
    """A server set as a real one is."""
    with running(run_folder, f"durable-{time.monotonic_ns()}", DURABLE) as server:
        yield server


def crash(url: str) -> None:
    """Kill one of the server's processes: it ends all others at once and recovers from its log."""
    with psycopg.connect(url, autocommit=True) as connection:
        os.kill(connection.info.backend_pid, signal.SIGKILL)
        until = time.monotonic() + 10
        while time.monotonic() < until:
            try:
                connection.execute("SELECT 1")
            except psycopg.Error:
                return
            time.sleep(0.01)


def recovered(store: Store) -> list[Event]:
    """What is kept, once the server has read its log; until then every connection says that it is gone."""
    until = time.monotonic() + 60
    while True:
        try:
            return store.sessions.history(ANN, "chat:1")
        except (StoreUnavailable, StoreBusy):
            assert time.monotonic() < until, "it did not recover"
            time.sleep(0.05)


def check_crashes(server: Postgres, crashes: int) -> None:
    url = server.empty_database()
    store = opened(url)
    acknowledged: list[str] = []
    wrong: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        number = 0
        while not done.is_set():
            number += 1
            given = event("chat:1", number, f"walrus {number}")
            try:
                store.sessions.append(ANN, [given])
                acknowledged.append(given.key)
            except (StoreUnavailable, StoreBusy):
                time.sleep(0.02)
            except BaseException as error:
                wrong.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(crashes):
        before, until = len(acknowledged), time.monotonic() + 30
        while len(acknowledged) < before + 20 and time.monotonic() < until:
            time.sleep(0.01)
        crash(url)
    done.set()
    thread.join()
    kept = {one.key for one in recovered(store)}
    checks = store.keeping.health(deep=True).checks
    store.close()
    assert wrong == []
    assert len(acknowledged) >= 20 * crashes
    assert [key for key in acknowledged if key not in kept] == []
    assert checks == {}


needs_processes = pytest.mark.skipif(VARIABLE in os.environ, reason="the server is not ours to crash")


@needs_processes
def test_what_was_acknowledged_survives_crashes(durable: Postgres) -> None:
    check_crashes(durable, 4)


@needs_processes
@pytest.mark.soak
def test_what_was_acknowledged_survives_many_crashes(durable: Postgres) -> None:
    check_crashes(durable, 20)
