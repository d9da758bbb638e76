"""The servers as fixtures: nothing starts before a test asks for one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services import postgres as postgres_server
from tests.services import redis as redis_server
from tests.services.postgres import Postgres
from tests.services.stores import Emptied


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that every process of this test run shares."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def postgres(run_folder: Path) -> Iterator[Postgres]:
    """The PostgreSQL of this test run."""
    with postgres_server.running(run_folder) as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """The superuser's address of an empty database of its own."""
    url = postgres.empty_database()
    yield url
    postgres.drop(url)


@pytest.fixture(scope="session")
def emptied(postgres: Postgres) -> Iterator[Emptied]:
    """PostgreSQL stores that are used again and again, each empty whenever it is given out."""
    stores = Emptied(postgres)
    yield stores
    stores.close()


@pytest.fixture(params=["sqlite", "postgres"])
def each_store(request: pytest.FixtureRequest, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whatever a test opens without saying where is one kind of store, then the other; returns the address, if any."""
    if request.param == "sqlite":
        return ""
    stores: Emptied = request.getfixturevalue("emptied")
    url = stores.url(0)
    monkeypatch.setenv("RECOLLECT_DATABASE_URL", url)
    return url


@pytest.fixture(scope="session")
def redis(run_folder: Path) -> Iterator[str]:
    """The address of this test run's Redis, without a database."""
    with redis_server.running(run_folder) as url:
        yield url


@pytest.fixture
def redis_url(redis: str) -> str:
    """The address of an empty database in it."""
    return redis_server.empty_database(redis, os.environ.get("PYTEST_XDIST_WORKER", ""))
