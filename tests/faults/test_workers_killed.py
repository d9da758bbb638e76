"""Workers that are killed -9 under load: nothing that was acknowledged lacks its work, nothing is made twice (P26).

Two processes work through a real database while sessions come in; again and again one of them is killed wherever it is,
and another takes its place. In the end every session has its memory, each memory is there once, and no task is left.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from recollect.clock import now
from recollect.model import Scope
from recollect.settings import Settings
from recollect.store.ports.memories import Filter
from recollect.store.postgres.store import PostgresStore
from tests.contract.samples import talk
from tests.services.stores import Emptied

pytestmark = pytest.mark.slow

USERS = [Scope(f"tenant{number % 3}", f"user{number}") for number in range(6)]
SESSIONS = 90
WORKER = """
import sys
from datetime import timedelta
from pathlib import Path
from recollect.facade import Recollect
from recollect.pipeline import tasks
from recollect.settings import Settings
from recollect.store.opening import open_store

tasks.LEASE, tasks._LOOK, tasks._HEARTBEAT = timedelta(seconds=2), 0.05, 0.5
settings = Settings(data_dir=Path(sys.argv[1]), database_url=sys.argv[2], database_connections=4)
store = open_store(settings, queued=True)
worker = tasks.TaskWorker(
    store, lambda scope: Recollect(store, scope, settings, hosted=True), settings, threads=2, embeds=False
)
worker.start()
print("ready", flush=True)
sys.stdin.read()
worker.stop()
store.close()
"""


def start(folder: Path, settings: Settings) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKER, str(folder), settings.database_url]
    made = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert made.stdout is not None
    assert made.stdout.readline() == "ready\n"
    return made


def test_workers_that_are_killed_lose_nothing_and_do_nothing_twice(emptied: Emptied, tmp_path: Path) -> None:
    emptied.give(1)
    settings = emptied.settings(1, Settings(data_dir=tmp_path / "data"))
    store = PostgresStore(settings, queued=True)
    workers = [start(tmp_path / "data", settings) for _ in range(2)]
    chance, kills = random.Random(26), 0
    try:
        for number in range(SESSIONS):
            who = USERS[number % len(USERS)]
            store.sessions.append(
                who, talk(f"chat:{number}", f"We decided to use database{number} for project{number}.")
            )
            if number % 9 == 8:
                time.sleep(chance.uniform(0.02, 0.3))
                place = chance.randrange(2)
                workers[place].send_signal(signal.SIGKILL)
                workers[place].communicate()
                kills += 1
                workers[place] = start(tmp_path / "data", settings)
        until = time.monotonic() + 90
        while store.tasks.find(USERS[0], state="running", limit=1) or _undistilled(store):
            assert time.monotonic() < until, store.tasks.backlog(at=now())
            time.sleep(0.2)
    finally:
        for worker in workers:
            worker.communicate("", timeout=20)
    backlog = store.tasks.backlog(at=now() + timedelta(minutes=1))
    assert (backlog.running, backlog.dead) == (0, 0)
    assert kills == SESSIONS // 9
    for number in range(SESSIONS):
        made = store.memories.of_session(USERS[number % len(USERS)], f"chat:{number}")
        assert len(made) == 1, (number, [one.content for one in made])
    everything = Filter(now=now(), archived=True, history=True)
    counted = Counter(one.content for who in USERS for one in store.memories.find(who, everything, limit=999))
    assert set(counted.values()) == {1}
    assert len(counted) == SESSIONS
    store.close()


def _undistilled(store: PostgresStore) -> list[str]:
    return [task.id for task in store.tasks.everywhere(limit=999) if task.kind == "distill" and task.state != "done"]
