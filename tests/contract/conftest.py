"""Every store there is, one after the other, through the same tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recollect.store.port import Store
from recollect.store.sqlite.store import SqliteStore
from tests.services.stores import Emptied

if TYPE_CHECKING:
    from recollect.store.postgres.store import PostgresStore

NewStore = Callable[[], Store]


def _sqlite(request: pytest.FixtureRequest, place: Path, number: int) -> Store:
    store = SqliteStore(place)
    request.addfinalizer(store.close)
    return store


def _postgres(request: pytest.FixtureRequest, place: Path, number: int) -> PostgresStore:
    stores: Emptied = request.getfixturevalue("emptied")
    return stores.give(number)


STORES: dict[str, Callable[[pytest.FixtureRequest, Path, int], Store]] = {"sqlite": _sqlite, "postgres": _postgres}


@pytest.fixture(params=sorted(STORES))
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
