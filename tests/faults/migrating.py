"""Processes that make or change a PostgreSQL schema, for tests that kill them.

`python -m tests.faults.migrating WHAT URL …`: processes of their own, not forks of the test run, which may have
connections and threads.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psycopg

from recollect.settings import Settings
from recollect.store.postgres import isolation, schema
from recollect.store.postgres.store import PostgresStore
from tests.contract.samples import ANN, event, memory

ROOT = Path(__file__).resolve().parents[2]
STATE = """
SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('recollect')),
       (SELECT count(*) FROM pg_policies WHERE schemaname = 'recollect'),
       (SELECT count(*) FROM pg_proc WHERE pronamespace = to_regnamespace('recollect'))
"""


def started(*words: str) -> subprocess.Popen[str]:
    """One of these processes; what it prints can be read."""
    command = [sys.executable, "-m", "tests.faults.migrating", *words]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def opened(url: str) -> PostgresStore:
    return PostgresStore(replace(Settings(), database_url=url, database_connections=2))


def state(url: str) -> tuple[int, ...]:
    """The schema's number, and how much of it there is."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(STATE).fetchone()
        assert row is not None
        return (schema.current(connection), *row)


def migrate_and_die(url: str, statement: int, layout: schema.Layout) -> None:
    """Migrate, and be killed after the given statement."""
    left = statement

    def count(_: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    with psycopg.connect(url, autocommit=True) as connection:
        schema.migrate(connection, layout, count)


def die_everywhere(url: str, parts: str, step: str) -> None:
    """Begin again and again, each time killed so many statements later, until it is done; say what was left."""
    found = []
    for statement in range(1, 2000, int(step)):
        child = os.fork()
        if child == 0:
            migrate_and_die(url, statement, schema.Layout(int(parts)))
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        found.append((ended, state(url)))
        if ended >= 0:
            break
    print(json.dumps(found))


def die_sometime(url: str, seconds: str) -> None:
    """Migrate in a child that is killed after a moment, in whatever it is doing; say what was left."""
    child = os.fork()
    if child == 0:
        migrate_and_die(url, 0, schema.PLAIN)
        os._exit(0)
    time.sleep(float(seconds))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(json.dumps(state(url)))


def open_and_write(url: str, who: str, at: str) -> None:
    """Open the store at a given moment, as many do at once, and write to it."""
    time.sleep(max(0.0, float(at) - time.time()))
    store = opened(url)
    store.sessions.append(ANN, [event(f"chat:{who}", 0, f"walrus {who}")])
    store.close()
    print("done")


def work_as_next(url: str, folder: str, seconds: str) -> None:
    """What the next version does: it migrates, and works, beside those of this version."""
    schema._FOLDER = Path(folder)
    schema.DEFINERS = isolation.DEFINERS = (*schema.DEFINERS, "of_the_future()")
    store = opened(url)
    until, written = time.monotonic() + float(seconds), 0
    while time.monotonic() < until:
        store.memories.add(ANN, memory(f"new fact {written}"))
        with store.database.write(ANN) as tx:
            tx.connection.execute("UPDATE memories SET mood = 'fine' WHERE mood IS NULL")
            assert tx.connection.execute("SELECT * FROM moods").fetchall() == []
        written += 1
    store.close()
    print(written)


if __name__ == "__main__":
    WORK = {each.__name__: each for each in (die_everywhere, die_sometime, open_and_write, work_as_next)}
    WORK[sys.argv[1]](*sys.argv[2:])
