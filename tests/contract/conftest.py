"""Every store there is, one after the other, through the same tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recollect.store.port import Store
from recollect.store.postgres.schema import Layout
from recollect.store.sqlite.store import SqliteStore
from tests.services.postgres import Postgres
from tests.services.stores import Emptied

if TYPE_CHECKING:
    from recollect.store.postgres.store import PostgresStore

NewStore = Callable[[], Store]


@pytest.fixture(scope="session")
def parted(postgres: Postgres) -> Iterator[Emptied]:
    """The same in tables of four partitions."""
    stores = Emptied(postgres, Layout(partitions=4))
    yield stores
    stores.close()


def _sqlite(request: pytest.FixtureRequest, place: Path, number: int) -> Store:
    store = SqliteStore(place)
    request.addfinalizer(store.close)
    return store


def _postgres(request: pytest.FixtureRequest, place: Path, number: int) -> PostgresStore:
    stores: Emptied = request.getfixturevalue("emptied")
    return stores.give(number)


def _partitions(request: pytest.FixtureRequest, place: Path, number: int) -> PostgresStore:
    stores: Emptied = request.getfixturevalue("parted")
    return stores.give(number)


Make = Callable[[pytest.FixtureRequest, Path, int], Store]
STORES: dict[str, Make] = {"sqlite": _sqlite, "postgres": _postgres, "partitions": _partitions}
# Partitioned tables answer the same queries: these modules show it, and are quick. All pass, if listed.
PARTITIONED = ("test_memories_contract", "test_gists_contract", "test_sessions_contract", "test_upkeep_contract")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "new_store" in metafunc.fixturenames:
        module = metafunc.module.__name__.rpartition(".")[2]
        kinds: list[object] = [name for name in sorted(STORES) if name != "partitions"]
        if module in PARTITIONED:
            kinds.append(pytest.param("partitions", marks=pytest.mark.slow))
        metafunc.parametrize("new_store", kinds, indirect=True)


@pytest.fixture
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> NewStore:
    """Makes empty stores of one kind, each in a place of its own; closed when the test ends."""
    made = 0

    def make() -> Store:
        nonlocal made
        made += 1
        return STORES[request.param](request, tmp_path / f"store-{made}", made)

    return make


@pytest.fixture
def store(new_store: NewStore) -> Store:
    """An empty store."""
    return new_store()
