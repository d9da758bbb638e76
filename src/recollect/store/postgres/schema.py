"""The schema of a PostgreSQL database: made, brought up to date, and checked before anything else is done.

All migrations run in one transaction under a lock: whatever dies, the schema is the old one or the new one, and of many
processes that start together one migrates. A schema says which older programs can still work on it, so that servers of
two versions can run side by side while they are replaced one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from recollect.errors import StoreTooNew, StoreUnavailable
from recollect.store.sql import load_migrations

SCHEMA = "recollect"
APP, BACKUP = "recollect_app", "recollect_backup"
SERVER_FLOORS = {16: 160010, 17: 170006, 18: 180000}  # the releases before lose or leak rows
VECTOR_FLOOR = (0, 8, 4)
COMPATIBLE = 1  # the oldest schema number whose programs can work on the newest schema
_LOCK = 0x52434C54  # "RCLT"
_FOLDER = Path(__file__).parent / "migrations"
_OWNER_HINT = (
    "Let the database's owner open it once; then any member of recollect_app can use it."
)


@dataclass(frozen=True, slots=True)
class Layout:
    """How the tables are made: 0 partitions means plain tables."""

    partitions: int = 0


PLAIN = Layout()


def newest() -> int:
    """The schema this version makes."""
    return len(load_migrations(_FOLDER, "[0-9]*.sql"))


def current(connection: psycopg.Connection[Any]) -> int:
    """The schema that is there; 0 for none. StoreTooNew when this version cannot work on it."""
    if connection.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.meta",)).fetchone() == (None,):
        return 0
    names = sql.Identifier(SCHEMA, "meta")
    try:
        found = dict(connection.execute(sql.SQL("SELECT key, value FROM {}").format(names)).fetchall())
    except psycopg.errors.InsufficientPrivilege:
        raise StoreUnavailable(
            "this login may not use the schema recollect", hint="Grant it the role recollect_app."
        ) from None
    version, compatible = int(found.get("schema_version", 0)), int(found.get("schema_compatible", 0))
    if version > newest() and compatible > newest():
        raise StoreTooNew(
            f"the database has schema {version}; this Recollect knows {newest()}", hint="Upgrade Recollect."
        )
    return version


def migrate(
    connection: psycopg.Connection[Any],
    layout: Layout = PLAIN,
    each: Callable[[str], None] = lambda statement: None,
) -> int:
    """Bring the schema up to date and set who may see what; returns the schema number.

    `each` is called after every statement: for tests that die there.
    """
    check_server(connection)
    try:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            _migrate(connection, layout, each)
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedObject) as error:
        raise StoreUnavailable(
            f"this login may not make or change the schema ({type(error).__name__})", hint=_OWNER_HINT
        ) from None
    return newest()


def _migrate(connection: psycopg.Connection[Any], layout: Layout, each: Callable[[str], None]) -> None:
    def run(statement: str | sql.Composed) -> None:
        connection.execute(statement)
        each(statement if isinstance(statement, str) else statement.as_string(connection))

    run("CREATE EXTENSION IF NOT EXISTS vector")
    check_vectors(connection)
    run(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(SCHEMA)))
    holds = _vector_schema(connection)
    run(sql.SQL("SET LOCAL search_path = {}, {}, pg_temp").format(sql.Identifier(SCHEMA), sql.Identifier(holds)))
    at = current(connection)
    if at > newest():
        return
    _make_roles(connection, run)
    for number, script in load_migrations(_FOLDER, "[0-9]*.sql")[at:]:
        for statement in _statements(script):
            run(statement.replace("{partitioned}", "PARTITION BY HASH (tenant)" if layout.partitions else ""))
        _make_partitions(connection, layout.partitions, run)
        _note(run, "schema_version", number)
    _note(run, "schema_compatible", COMPATIBLE)
    access = (_FOLDER / "access.sql").read_text(encoding="utf-8")
    for name, value in (("app", APP), ("backup", BACKUP), ("schema", SCHEMA), ("vectors", holds)):
        access = access.replace(f"{{{name}}}", value)
    run(access)


def _note(run: Callable[[sql.Composed], None], key: str, value: int) -> None:
    text = "INSERT INTO meta (key, value) VALUES ({}, {}) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    run(sql.SQL(text).format(sql.Literal(key), sql.Literal(str(value))))


def _statements(script: str) -> list[str]:
    """A migration's statements, one at a time; those with a body in dollars stand in access.sql."""
    lines = [line.split(" --")[0] if not line.startswith("--") else "" for line in script.splitlines()]
    return [part.strip() for part in "\n".join(lines).split(";\n") if part.strip().strip(";")]


def _make_roles(connection: psycopg.Connection[Any], run: Callable[[sql.Composed], None]) -> None:
    """The roles, where they are missing, and this login in them: to work as the one, to give functions to the other."""
    for role in (APP, BACKUP):
        name = sql.Identifier(role)
        if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
            try:
                with connection.transaction():
                    run(sql.SQL("CREATE ROLE {} NOLOGIN").format(name))
            except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
                pass  # made for another database of this server in the meantime
        if connection.execute("SELECT pg_has_role(%s, 'SET')", (role,)).fetchone() != (True,):
            run(sql.SQL("GRANT {} TO CURRENT_USER").format(name))


def _make_partitions(connection: psycopg.Connection[Any], count: int, run: Callable[[sql.Composed], None]) -> None:
    """The partitions of every partitioned table that has none yet."""
    found = connection.execute(
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = %s::regnamespace AND c.relkind = 'p' "
        "AND NOT EXISTS (SELECT 1 FROM pg_inherits i WHERE i.inhparent = c.oid) ORDER BY c.oid",
        (SCHEMA,),
    ).fetchall()
    for (table,) in found:
        for part in range(count):
            run(
                sql.SQL("CREATE TABLE {} PARTITION OF {} FOR VALUES WITH (MODULUS {}, REMAINDER {})").format(
                    sql.Identifier(f"{table}_{part}"), sql.Identifier(table), sql.Literal(count), sql.Literal(part)
                )
            )


def _vector_schema(connection: psycopg.Connection[Any]) -> str:
    row = connection.execute(
        "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
    ).fetchone()
    if row is None:
        raise StoreUnavailable(
            "the database has no pgvector", hint="Let its owner run CREATE EXTENSION vector in it, once."
        )
    return str(row[0])


def check_server(connection: psycopg.Connection[Any]) -> None:
    """StoreUnavailable for a server older than the oldest release we trust with anybody's rows."""
    number = connection.info.server_version
    floor = SERVER_FLOORS.get(number // 10000, min(SERVER_FLOORS.values()))
    if number < floor:
        need = ", ".join(f"{floor // 10000}.{floor % 10000}" for floor in SERVER_FLOORS.values())
        raise StoreUnavailable(
            f"PostgreSQL {number // 10000}.{number % 10000} is too old", hint=f"Upgrade the server: {need} or later."
        )


def check_vectors(connection: psycopg.Connection[Any]) -> None:
    """StoreUnavailable for a pgvector that loses rows or reads those of others."""
    row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    found = tuple(int(part) for part in row[0].split(".")) if row else ()
    if found < VECTOR_FLOOR:
        need = ".".join(map(str, VECTOR_FLOOR))
        raise StoreUnavailable(
            f"pgvector {row[0] if row else 'is missing'}: {need} or later is needed",
            hint="Upgrade the package on the server, then run ALTER EXTENSION vector UPDATE.",
        )


def search_path(connection: psycopg.Connection[Any]) -> sql.Composed:
    """What names mean on a connection of ours."""
    holds = _vector_schema(connection)
    return sql.SQL("SET search_path = {}, {}, pg_temp").format(sql.Identifier(SCHEMA), sql.Identifier(holds))
