"""How a PostgreSQL database is, without changing anything in it: versions, roles, isolation, room, speed.

In: the settings that name it. Out: a `Checkup`. Nothing is migrated and no store is opened, so that a database that is
empty, too old, too new or badly set up can be looked at too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import psycopg
from psycopg import sql

from recollect.errors import StoreTooNew
from recollect.settings import Settings, environment
from recollect.store.postgres import isolation, schema
from recollect.store.postgres.address import Address, read_address
from recollect.store.postgres.connecting import Linked, pool, store_errors
from recollect.store.postgres.credentials import credentials_for

_TRIPS = 5
_ABOUT = """
SELECT session_user, current_database(), current_setting('server_version'), current_setting('max_connections')::int,
       (SELECT sum(numbackends)::int FROM pg_stat_database),
       pg_database_size(current_database()),
       coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),
       (SELECT extversion FROM pg_extension WHERE extname = 'vector')
"""
_OWNS = """
SELECT pg_has_role(session_user, c.relowner, 'MEMBER') FROM pg_class c
WHERE c.relname = 'memories' AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = %s)
"""
_SIZES = """
SELECT coalesce(p.relname, c.relname), sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
WHERE c.relnamespace = to_regnamespace(%s) AND c.relkind = 'r' GROUP BY 1 ORDER BY 2 DESC, 1
"""


@dataclass(frozen=True, slots=True)
class Checkup:
    """What was seen; `schema` is 0 where there is none yet, `faults` are of isolation, in words."""

    address: str
    server: str
    pgvector: str | None
    login: str
    role: str
    owns: bool
    encrypted: bool
    schema: int
    newest: int
    too_new: bool
    partitions: int
    faults: tuple[str, ...]
    connections: Mapping[str, int]  # open: on the server now; most: what it takes; own: what one process of ours holds
    milliseconds: Mapping[str, float]  # connect: a new connection; trip: there and back
    bytes: Mapping[str, int]  # the whole database, and each of our tables


@contextmanager
def connected(settings: Settings, *, statement_seconds: float | None = None) -> Iterator[tuple[Address, Linked]]:
    """One connection as the settings say, and nothing else: no migration, no role."""
    address = read_address(settings.database_url, environment())
    seconds = settings.database_statement_seconds if statement_seconds is None else statement_seconds
    opened = pool(
        address,
        credentials_for(settings, address),
        max_size=1,
        statement_seconds=seconds,
        options={"autocommit": True},
    )
    try:
        with opened.connection() as connection, store_errors():
            yield address, connection
    finally:
        opened.close()


def look(settings: Settings) -> Checkup:
    """Look at the database. StoreUnavailable when it cannot be reached, or its release is not to be trusted."""
    began = time.monotonic()
    with connected(settings) as (address, connection):
        spent = (time.monotonic() - began) * 1_000
        login, name, server, most, open_now, size, encrypted, vector = row(connection, _ABOUT)
        owns = connection.execute(_OWNS, (schema.SCHEMA,)).fetchone() == (True,)
        schema.check_server(connection)
        at, too_new = _schema(connection)
        role = _become(connection)
        return Checkup(
            address=str(address) if address.parameters.get("dbname") else f"{address}{name}",
            server=server.split()[0],
            pgvector=vector,
            login=login,
            role=role,
            owns=owns,
            encrypted=encrypted,
            schema=at,
            newest=schema.newest(),
            too_new=too_new,
            partitions=schema.partitions(connection),
            faults=tuple(isolation.faults(connection)) if at and not too_new else (),
            connections={"open": open_now, "most": most, "own": settings.database_connections},
            milliseconds={"connect": round(spent, 2), "trip": _trip(connection)},
            bytes={"database": size, **dict(connection.execute(_SIZES, (schema.SCHEMA,)).fetchall())},
        )


def _schema(connection: psycopg.Connection[Any]) -> tuple[int, bool]:
    try:
        return schema.current(connection), False
    except StoreTooNew:
        text = sql.SQL("SELECT value FROM {} WHERE key = 'schema_version'")
        row = connection.execute(text.format(sql.Identifier(schema.SCHEMA, "meta"))).fetchone()
        return int(row[0]) if row else 0, True


def _become(connection: Linked) -> str:
    """The role that a store would work as on this connection."""
    known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (schema.APP,)).fetchone()
    if known is not None and row(connection, "SELECT pg_has_role(session_user, %s, 'SET')", (schema.APP,))[0]:
        connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(schema.APP)))
    if connection.execute("SELECT to_regnamespace(%s)", (schema.SCHEMA,)).fetchone() != (None,):
        connection.execute(schema.search_path(connection))
    return str(row(connection, "SELECT current_user")[0])


def _trip(connection: Linked) -> float:
    """Milliseconds there and back, the median of a few."""
    spent = []
    for _ in range(_TRIPS):
        began = time.perf_counter()
        connection.execute("SELECT 1")
        spent.append((time.perf_counter() - began) * 1_000)
    return round(median(spent), 2)


def row(connection: psycopg.Connection[Any], query: str, params: Any = None) -> tuple[Any, ...]:
    """The one row a query must return."""
    found = connection.execute(query, params).fetchone()
    assert found is not None
    return tuple(found)
