"""A database with one row of every owner in every table, whatever tables there are, each with the owner's canary in it.

The rows are made from the catalog, so a table that joins the schema is filled, and tried, by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from recollect.model import Scope
from recollect.store.postgres import schema
from recollect.store.searchtext import INDEX_VERSION
from recollect.store.sql import load_migrations
from tests.services.postgres import Postgres, Role, as_role

OWNERS = {"ann": Scope("acme", "ann"), "bob": Scope("acme", "bob"), "eve": Scope("other", "ann")}
NOBODY = 999_999_999  # a number that nothing has
_SCRIPTS = "\n".join(text for _, text in load_migrations(Path(schema.__file__).parent / "migrations", "[0-9]*.sql"))
MADE = re.findall(r"^CREATE TABLE (\w+)", _SCRIPTS, re.MULTILINE)
TABLES = sorted(set(MADE) - {"meta", "models"})  # those whose rows are somebody's
_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), coalesce((
  SELECT (regexp_match(pg_get_constraintdef(k.oid), '''([^'']+)'''))[1] FROM pg_constraint k
  WHERE k.conrelid = a.attrelid AND k.contype = 'c' AND k.conkey = ARRAY[a.attnum]), '')
FROM pg_attribute a WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
"""


@dataclass(frozen=True)
class Owner:
    """Somebody with rows: their number, the word that stands in all of them, and the number that is in all of them."""

    scope: Scope
    number: int
    canary: str
    key: int


@dataclass
class Seeded:
    """A filled database, and a login that may use it and nothing else."""

    server: Postgres
    url: str
    login: Role
    owners: dict[str, Owner]

    @contextmanager
    def owning(self) -> Iterator[psycopg.Connection[Any]]:
        """As the superuser; what is done stays."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(schema.search_path(connection))
            yield connection

    @contextmanager
    def using(self, who: str | None) -> Iterator[psycopg.Connection[Any]]:
        """A transaction as the application begins it, for an owner or for nobody; rolled back."""
        with psycopg.connect(as_role(self.url, self.login)) as connection:
            connection.execute(schema.search_path(connection))
            connection.execute("SET ROLE recollect_app")
            connection.commit()
            if who is not None:
                enter(connection, OWNERS[who])
            yield connection
            connection.rollback()


def enter(connection: psycopg.Connection[Any], scope: Scope) -> None:
    connection.execute("SELECT * FROM enter(%s, %s, NULL, false, false)", (scope.tenant, scope.user))


def seeded(server: Postgres, layout: schema.Layout = schema.PLAIN) -> Seeded:
    """A new database with three owners; two of them share a tenant, two a name."""
    url = server.empty_database()
    with psycopg.connect(url, autocommit=True) as connection:
        schema.migrate(connection, layout)
        connection.execute(schema.search_path(connection))
        connection.execute("SET session_replication_role = replica")  # rows need nothing that they refer to
        owners = {name: _fill(connection, name, scope, at) for at, (name, scope) in enumerate(OWNERS.items(), 1)}
        connection.execute("INSERT INTO meta VALUES ('index_version', %s)", (INDEX_VERSION,))  # nothing to make again
        connection.execute("ANALYZE")
    login = server.new_role("app")
    server.run(sql.SQL("GRANT recollect_app TO {}").format(sql.Identifier(login.name)))
    return Seeded(server, url, login, owners)


def _fill(connection: psycopg.Connection[Any], name: str, scope: Scope, at: int) -> Owner:
    owner = Owner(scope, at, f"canary{name}", 1000 + at)
    for table in TABLES:
        if table == "owners":
            values: dict[str, object] = {"tenant": scope.tenant, "row": at, "username": scope.user}
        else:
            values = {
                column: _value(column, kind, allowed, owner)
                for column, kind, allowed in connection.execute(_COLUMNS, (table,)).fetchall()
            }
        put(connection, table, values)
    return owner


def put(connection: psycopg.Connection[Any], table: str, values: dict[str, object]) -> None:
    """Insert one row, given as text that PostgreSQL reads."""
    text = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, values)),
        sql.SQL(", ").join(map(sql.Literal, values.values())),
    )
    connection.execute(text)


def _value(column: str, kind: str, allowed: str, owner: Owner) -> object:
    if column == "tenant":
        return owner.scope.tenant
    if column == "owner":
        return owner.number
    by_type: dict[str, object] = {
        "text": allowed or owner.canary,
        "bytea": owner.canary.encode(),
        "boolean": True,
        "json": f'["{owner.canary}"]',
        "jsonb": f'["{owner.canary}"]',
        "double precision": 0.5,
        "timestamp with time zone": "2026-03-01 12:00+00",
        "halfvec": "[1,2,3]",
        "tsvector": f"m{owner.number}x{owner.canary}~1",
    }
    return by_type.get(kind, owner.key)


def row_of(connection: psycopg.Connection[Any], table: str, who: Owner) -> dict[str, object]:
    """An owner's row, each value as text; as somebody who may see it."""
    found = connection.execute(
        sql.SQL("SELECT * FROM {} WHERE tenant = {} AND {} = {}").format(
            sql.Identifier(table),
            sql.Literal(who.scope.tenant),
            sql.Identifier("row" if table == "owners" else "owner"),
            sql.Literal(who.number),
        )
    )
    assert found.description is not None
    row = found.fetchone()
    assert row is not None
    return dict(zip([column.name for column in found.description], row, strict=True))
