"""A database whose password changes under load: every request is answered (S0.10, S0.11, D20)."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from recollect.store.postgres.address import Address, read_address
from recollect.store.postgres.connecting import Pool, pool
from recollect.store.postgres.credentials import Credentials, FromFile, Kept, Login, from_command
from tests.services.postgres import Postgres, Role

EVERY = 0.2  # seconds between two passwords
WORKERS = 4


@dataclass
class Rotated:
    """A role whose password is replaced again and again, in the database and in a file."""

    postgres: Postgres
    url: str
    file: Path
    role: Role
    rotations: int = 0
    turn: threading.Lock = field(default_factory=threading.Lock)

    @property
    def address(self) -> Address:
        place = urlsplit(self.url)
        return read_address(f"postgresql://{self.role.name}@{place.hostname}:{place.port}{place.path}", {})

    def rotate(self) -> None:
        """Now in this order, now in the other: nobody changes two places at once."""
        with self.turn:
            self.role.password = secrets.token_urlsafe(12)
            steps: list[Callable[[], None]] = [self._in_database, self._in_file]
            for step in steps if self.rotations % 2 else reversed(steps):
                step()
            self.rotations += 1

    def minted(self) -> Login:
        """A token that ends soon; the one before it is not taken any more."""
        self.rotate()
        return Login(self.role.name, self.role.password, datetime.now(UTC) + timedelta(seconds=1.5))

    def _in_database(self) -> None:
        words = sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(self.role.name), self.role.password)
        self.postgres.run(words)

    def _in_file(self) -> None:
        new = self.file.with_suffix(".new")
        new.write_text(f"{self.role.password}\n")
        new.replace(self.file)


@pytest.fixture
def rotated(postgres: Postgres, postgres_url: str, tmp_path: Path) -> Rotated:
    made = Rotated(postgres, postgres_url, tmp_path / "password", postgres.new_role("rotated"))
    made.rotate()
    return made


def credentials_of(kind: str, rotated: Rotated) -> Credentials:
    if kind == "file":
        return FromFile(rotated.file, rotated.role.name)
    if kind == "command":
        return from_command(f"cat {rotated.file}", rotated.role.name)
    return Kept(rotated.minted, bearer=True)


@dataclass
class Load:
    """Threads that ask without a pause worth the name, and what became of it."""

    pool: Pool
    answered: int = 0
    failed: list[BaseException] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    def work(self) -> None:
        while not self.done.is_set():
            try:
                with self.pool.connection() as connection:
                    assert connection.execute("SELECT 7").fetchone() == (7,)
                self.answered += 1
            except BaseException as error:
                self.failed.append(error)
            time.sleep(0.002)


@contextmanager
def under_load(connections: Pool) -> Iterator[Load]:
    load = Load(connections)
    threads = [threading.Thread(target=load.work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        load.done.set()
        for thread in threads:
            thread.join()


def check_rotation(kind: str, rotated: Rotated, seconds: float) -> None:
    lifetime = 0.3  # as if 45 minutes were over many times
    credentials = credentials_of(kind, rotated)
    with pool(rotated.address, credentials, min_size=2, max_size=4, lifetime_seconds=lifetime) as connections:
        before = rotated.rotations
        with under_load(connections) as load:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                time.sleep(EVERY)
                if kind != "minted":
                    rotated.rotate()
        told = connections.get_stats()
    assert load.failed == []
    assert load.answered > 50 * seconds
    assert rotated.rotations - before >= (seconds / EVERY * 0.5 if kind != "minted" else seconds / 1.5 * 0.5)
    assert told["connections_num"] > 2 * seconds, "connections were made anew all the time"


@pytest.mark.parametrize("kind", ["file", "command", "minted"])
def test_no_request_fails_while_the_password_rotates(kind: str, rotated: Rotated) -> None:
    check_rotation(kind, rotated, 3.0)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["file", "command", "minted"])
def test_no_request_fails_in_minutes_of_rotation(kind: str, rotated: Rotated) -> None:
    check_rotation(kind, rotated, 60.0)


@pytest.mark.timed
def test_a_password_that_is_a_moment_behind_is_waited_for(rotated: Rotated) -> None:
    """The database has the new one, the file not yet: a moment later it has."""
    rotated.role.password = "another"
    rotated._in_database()
    late = threading.Timer(0.2, rotated._in_file)
    late.start()
    before = time.monotonic()
    with pool(rotated.address, FromFile(rotated.file, rotated.role.name)) as connections:
        with connections.connection() as connection:
            assert connection.execute("SELECT 7").fetchone() == (7,)
        assert time.monotonic() - before < 0.9, "sooner than the pool itself would try again"
    late.join()


def test_no_request_fails_when_idle_connections_are_ended_and_the_password_is_another(rotated: Rotated) -> None:
    with pool(rotated.address, FromFile(rotated.file, rotated.role.name), min_size=3, max_size=3) as connections:
        connections.wait()
        for _ in range(3):
            rotated.rotate()
            terminate(rotated)
            for _ in range(6):
                with connections.connection() as connection:
                    assert connection.execute("SELECT 7").fetchone() == (7,)


def test_only_what_was_under_way_fails_when_connections_are_ended_under_load(rotated: Rotated) -> None:
    credentials = FromFile(rotated.file, rotated.role.name)
    with pool(rotated.address, credentials, min_size=2, max_size=4) as connections, under_load(connections) as load:
        for _ in range(10):
            time.sleep(EVERY)
            rotated.rotate()
            terminate(rotated)
    assert all(isinstance(error, psycopg.OperationalError) for error in load.failed), load.failed
    assert len(load.failed) <= 10 * WORKERS, "each ending costs a worker at most the request it was in"
    assert load.answered > 100


def terminate(rotated: Rotated) -> None:
    """End every connection of the role, and wait until they have ended."""
    with psycopg.connect(rotated.url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = %s", (rotated.role.name,)
        )
