"""Faults are done to a real SQLite store in a directory of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect.store.sqlite.store import SqliteStore

Open = Callable[[], SqliteStore]


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def open_store(data_dir: Path) -> Iterator[Open]:
    """Opens the store, again and again if need be; closed when the test ends."""
    opened: list[SqliteStore] = []

    def make() -> SqliteStore:
        opened.append(SqliteStore(data_dir))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Open) -> SqliteStore:
    return open_store()
