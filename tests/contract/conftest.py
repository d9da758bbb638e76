"""Every store there is, one after the other, through the same tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect.store.port import Store
from recollect.store.sqlite.store import SqliteStore

NewStore = Callable[[], Store]
STORES: dict[str, Callable[[Path], Store]] = {"sqlite": SqliteStore}


@pytest.fixture(params=sorted(STORES))
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewStore]:
    """Makes empty stores of one kind, each in a place of its own; closed when the test ends."""
    opened: list[Store] = []

    def make() -> Store:
        opened.append(STORES[request.param](tmp_path / f"store-{len(opened)}"))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(new_store: NewStore) -> Store:
    """An empty store."""
    return new_store()
