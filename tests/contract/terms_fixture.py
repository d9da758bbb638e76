"""A store held to other terms, and hands that reach past it into its rows, as an administrator's do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from recollect.store.port import Store
from recollect.store.signing import Signer
from recollect.store.sqlite.store import SqliteStore

Hold = Callable[..., None]
Outside = Callable[..., list[Any]]


@pytest.fixture
def hold(store: Store, tmp_path: Path) -> Iterator[Hold]:
    """hold(limits=…): what the store is held to from here on. Its audit's key and anchor are this test's own."""
    database: Any = store.database  # type: ignore[attr-defined]
    before = database.terms

    def set_terms(**changes: Any) -> None:
        database.terms = replace(database.terms, **changes)

    set_terms(signer=Signer(tmp_path / "audit.key"), anchor=tmp_path / "audit.anchor")
    yield set_terms
    database.terms = before


@pytest.fixture
def outside(request: pytest.FixtureRequest, store: Store) -> Outside:
    """outside(sql): run a statement past the store, with every right there is."""
    if isinstance(store, SqliteStore):
        path = str(store.database.path)

        def in_file(statement: str) -> list[Any]:
            connection = apsw.Connection(path)
            for trigger in ("audit_is_not_changed", "audit_is_not_cut"):
                connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")
            found = list(connection.execute(statement))
            connection.close()
            return found

        return in_file
    url = request.getfixturevalue("emptied").settings(1).database_url

    def in_database(statement: str) -> list[Any]:
        with psycopg.connect(url, options="-c search_path=recollect") as connection:
            answer = connection.execute(statement)
            return answer.fetchall() if answer.description else []

    return in_database
