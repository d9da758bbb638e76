"""What database an address means, with libpq's variables and the DB_* names behind it, and that no secret is shown."""

from __future__ import annotations

import pytest

from recollect.errors import InvalidInput
from recollect.store.postgres.address import is_postgres, read_address

SECRET = "hunter2-very-secret"
OTHERS = {"DB_HOST": "db", "DB_PORT": "6432", "DB_NAME": "coda", "DB_USER": "coda", "DB_PASSWORD": SECRET + "\n"}


def test_an_address_is_taken_apart() -> None:
    address = read_address(f"postgresql://anna:{SECRET}@pg.example:5433/memory?sslmode=verify-full", {})
    assert dict(address.parameters) == {
        "host": "pg.example",
        "port": "5433",
        "dbname": "memory",
        "sslmode": "verify-full",
    }
    assert (address.user, address.password) == ("anna", SECRET)


@pytest.mark.parametrize("shown", [str, repr, lambda address: f"{address}"], ids=["str", "repr", "format"])
def test_nothing_secret_is_shown(shown: object) -> None:
    url = f"postgresql://anna:{SECRET}@pg.example/memory?sslpassword={SECRET}"
    assert callable(shown)
    text = shown(read_address(url, {}))
    assert SECRET not in text
    assert "postgresql://anna@pg.example/memory" in text


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://anna:{SECRET} x@h/db",
        f"postgresql://anna:{SECRET}%zz@h/db",
        f"postgresql://h/db?{SECRET}=1",
        f"postgresql://[{SECRET}",
        f"postgresql+psycopg://anna:{SECRET}@h/db",
        f"mysql://anna:{SECRET}@h/db",
    ],
    ids=["space", "percent", "parameter", "bracket", "driver", "other"],
)
def test_an_address_that_cannot_be_read_is_not_quoted(url: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        read_address(url, {})
    assert SECRET not in f"{raised.value} {raised.value.hint}"
    assert raised.value.hint is not None


def test_an_empty_address_means_libpqs_own_variables() -> None:
    address = read_address("postgresql://", {"PGHOST": "pg.example", "PGPASSWORD": SECRET})
    assert (dict(address.parameters), address.user, address.password) == ({}, "", ""), "libpq reads them itself"


def test_the_db_names_are_taken_when_nothing_else_names_a_server() -> None:
    address = read_address("postgresql://", OTHERS)
    assert dict(address.parameters) == {"host": "db", "port": "6432", "dbname": "coda"}
    assert (address.user, address.password) == ("coda", SECRET), "a line break at the end is no part of it"


def test_what_the_address_and_libpqs_variables_say_goes_before_the_db_names() -> None:
    address = read_address("postgresql://anna@/memory", {**OTHERS, "PGPORT": "5433"})
    assert dict(address.parameters) == {"host": "db", "dbname": "memory"}
    assert address.user == "anna"


@pytest.mark.parametrize(
    ("url", "env"),
    [
        ("postgresql://pg.example/", {}),
        ("postgresql:///?hostaddr=192.0.2.1", {}),
        ("postgresql:///?service=mine", {}),
        ("postgresql://", {"PGHOST": "pg.example"}),
        ("postgresql://", {"PGHOSTADDR": "192.0.2.1"}),
        ("postgresql://", {"PGSERVICE": "mine"}),
    ],
    ids=["host", "hostaddr", "service", "PGHOST", "PGHOSTADDR", "PGSERVICE"],
)
def test_another_programs_password_does_not_go_to_a_server_named_elsewhere(url: str, env: dict[str, str]) -> None:
    address = read_address(url, {**OTHERS, **env})
    assert (address.user, address.password) == ("", "")
    assert "db" not in address.parameters.values()


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("postgresql://", True),
        ("postgresql:///db?host=/run/postgresql", True),
        ("postgresql://127.0.0.1,localhost/db", True),
        ("postgresql://pg.example/db", False),
        ("postgresql://localhost,pg.example/db", False),
        ("postgresql://localhost/db?hostaddr=192.0.2.1", False),
    ],
)
def test_what_stays_on_this_machine(url: str, local: bool) -> None:
    assert read_address(url, {}).is_local is local


def test_both_schemes_are_postgres() -> None:
    assert [is_postgres(url) for url in ("postgresql://", "postgres://h", "sqlite:///x", "")] == [
        True,
        True,
        False,
        False,
    ]
