"""The servers that tests stand on are the real ones, new enough, and gone when their users are."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.services.postgres import Postgres, as_role

REPOSITORY = Path(__file__).resolve().parents[2]
FLOORS = {16: 160010, 17: 170006}  # older major versions are not enough, newer ones all are
HOLDER = """
import sys, time
from pathlib import Path
from tests.services.{which} import running
with running(Path(sys.argv[1])) as server:
    print(getattr(server, "url", server), flush=True)
    time.sleep(60)
"""


def one(url: str, statement: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(statement).fetchone()  # type: ignore[call-overload]
        return row[0] if row else None


def test_postgres_and_pgvector_are_new_enough(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        version = connection.info.server_version
        row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    assert version >= 160010
    assert version >= FLOORS.get(version // 10_000, 0)
    assert row is not None
    assert tuple(int(part) for part in row[0].split(".")) >= (0, 8, 4)


def test_every_database_is_new_and_alone(postgres: Postgres) -> None:
    first, second = postgres.empty_database(), postgres.empty_database()
    postgres.run("CREATE TABLE mine AS SELECT 1 AS x", first)
    assert one(second, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0
    postgres.drop(first)
    postgres.drop(second)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        one(first, "SELECT 1")


def test_a_prepared_database_is_prepared_once_and_copied(postgres: Postgres) -> None:
    calls = []

    def prepare(url: str) -> None:
        calls.append(url)
        postgres.run("CREATE TABLE ready AS SELECT 7 AS x", url)

    copies = [postgres.empty_database("copied-once", prepare) for _ in range(2)]
    assert [one(url, "SELECT x FROM ready") for url in copies] == [7, 7]
    assert len(calls) == 1


def test_a_login_without_the_right_password_is_refused(postgres: Postgres, postgres_url: str) -> None:
    role = postgres.new_role()
    assert one(as_role(postgres_url, role), "SELECT current_user") == role.name
    role.password += "x"
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        one(as_role(postgres_url, role), "SELECT 1")


@pytest.mark.parametrize("time", [1, 2], ids=["first", "again"])
def test_redis_is_empty_each_time(redis_url: str, time: int) -> None:
    assert said(redis_url, "EXISTS left") == b":0\r\n"
    assert said(redis_url, f"SET left {time}") == b"+OK\r\n"


def said(url: str, command: str) -> bytes:
    place = urlsplit(url)
    with socket.create_connection((place.hostname or "", place.port or 0), timeout=5) as connection:
        connection.sendall(f"SELECT {place.path.removeprefix('/')}\r\n{command}\r\nQUIT\r\n".encode())
        with connection.makefile("rb") as answers:
            return answers.read().removeprefix(b"+OK\r\n").removesuffix(b"+OK\r\n")


@pytest.mark.slow
@pytest.mark.parametrize("which", ["postgres", "redis"])
def test_a_server_outlives_all_but_its_last_user_even_when_they_are_killed(which: str, tmp_path: Path) -> None:
    held = [hold(which, tmp_path) for _ in range(2)]
    urls = {process.stdout.readline().strip() for process in held if process.stdout}
    assert len(urls) == 1, "both use one server"
    port = urlsplit(urls.pop()).port or 0
    end(held[0])
    time.sleep(0.5)
    assert listens(port)
    end(held[1])
    until = time.monotonic() + 20
    while listens(port) and time.monotonic() < until:
        time.sleep(0.05)
    assert not listens(port)


def hold(which: str, run: Path) -> subprocess.Popen[str]:
    outside = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_TEST_")}
    words = [sys.executable, "-c", HOLDER.format(which=which), str(run)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env=outside)


def end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
