"""Two processes on one PostgreSQL database that keep something of it, and what they ask it for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from recollect.settings import Settings
from recollect.store.postgres.store import PostgresStore
from recollect.store.postgres.tx import PostgresTx

Queries = Callable[..., list[str]]


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    made = PostgresStore(Settings(database_url=postgres_url))
    yield made
    made.close()


@pytest.fixture
def other(store: PostgresStore, postgres_url: str) -> Iterator[PostgresStore]:
    made = PostgresStore(Settings(database_url=postgres_url))
    yield made
    made.close()


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> Queries:
    """Notes the names of the queries that are run from then on and begin so."""

    def note(*begin: str) -> list[str]:
        names: list[str] = []

        def noting(inner: Callable[..., Any]) -> Callable[..., Any]:
            def noted(tx: PostgresTx, query: str, *params: object) -> Any:
                if query.startswith(begin):
                    names.append(query)
                return inner(tx, query, *params)

            return noted

        monkeypatch.setattr(PostgresTx, "run", noting(PostgresTx.run))
        monkeypatch.setattr(PostgresTx, "raw", noting(PostgresTx.raw))
        return names

    return note


def elsewhere(work: Callable[[], object], seconds: float = 1.0) -> threading.Thread:
    """Something done by another thread, to its end or until it waits for something."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(seconds)
    return thread
