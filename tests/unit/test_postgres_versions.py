"""P39: a server or a pgvector that loses or leaks rows is refused, with the versions that do not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import psycopg
import pytest

from recollect.errors import StoreUnavailable
from recollect.store.postgres import schema


def connected(server: int = 180000, vector: str | None = "0.8.4") -> psycopg.Connection[Any]:
    """What a connection to such a server says about it."""
    answer = SimpleNamespace(fetchone=lambda: None if vector is None else (vector,))
    return cast(Any, SimpleNamespace(info=SimpleNamespace(server_version=server), execute=lambda text: answer))


@pytest.mark.parametrize("number", [160010, 160011, 170006, 170007, 180000, 180001, 190000])
def test_a_server_that_is_new_enough_is_taken(number: int) -> None:
    schema.check_server(connected(number))


@pytest.mark.parametrize("number", [90624, 130021, 140018, 150014, 160000, 160009, 170000, 170005])
def test_an_older_server_is_refused(number: int) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        schema.check_server(connected(number))
    assert f"{number // 10000}.{number % 10000}" in str(caught.value)
    assert "16.10, 17.6, 18.0" in str(caught.value.hint)


@pytest.mark.parametrize("version", ["0.8.4", "0.8.5", "0.8.10", "0.9.0", "0.10.0", "1.0", "1.0.0"])
def test_a_pgvector_that_is_new_enough_is_taken(version: str) -> None:
    schema.check_vectors(connected(vector=version))


@pytest.mark.parametrize("version", [None, "0.4.4", "0.5.0", "0.7.4", "0.8.0", "0.8.3"])
def test_an_older_pgvector_is_refused(version: str | None) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        schema.check_vectors(connected(vector=version))
    assert (version or "is missing") in str(caught.value)
    assert "0.8.4" in str(caught.value)


def test_both_are_looked_at_each_time_a_store_is_opened() -> None:
    with pytest.raises(StoreUnavailable, match=r"16\.9"):
        schema.prepare(connected(160009))
