"""The schema of a PostgreSQL database: made, brought up to date, and checked before anything else is done.

All migrations run in one transaction under a lock: whatever dies, the schema is the old one or the new one, and of many
processes that start together one migrates. A schema says which older programs can still work on it, so that servers of
two versions can run side by side while they are replaced one after the other. How the tables are laid out is said when
the first is made, and holds for all that come later.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from recollect.errors import InvalidInput, StoreBusy, StoreTooNew, StoreUnavailable
from recollect.store.sql import load_migrations

SCHEMA = "recollect"
APP, BACKUP = "recollect_app", "recollect_backup"
SERVER_FLOORS = {16: 160010, 17: 170006, 18: 180000}  # the releases before lose or leak rows
VECTOR_FLOOR = (0, 8, 4)
COMPATIBLE = 1  # the oldest schema number whose programs can work on the newest schema
# The functions that run as BACKUP: what they take, whom they answer and why is said in access.sql.
DEFINERS = (
    *("every_owner()", "waiting(text, integer)", "whose(text, bigint[])", "totals()", "memberships()", "key_of(text)"),
    "waiting_in_all(bigint)",
    *("matches(text, text[], double precision[])", "words_since(text, bigint)"),
    "tagged(json, integer)",
    *("due_tasks(timestamp with time zone, json, integer)", "tasks_in(text, integer)"),
    *("task_totals(timestamp with time zone)", "tidied(text, timestamp with time zone)"),
    "common_patterns(integer)",
)
# What the policies say, as PostgreSQL writes it down: a table that has them already is left alone.
OWN = (
    "((tenant = ( SELECT current_tenant() AS current_tenant)) AND (owner = ( SELECT current_owner() AS current_owner)))"
)
NAMED = (
    "((tenant = ( SELECT current_tenant() AS current_tenant)) AND (username = "
    "( SELECT NULLIF(current_setting('recollect.username'::text, true), ''::text) AS \"nullif\")))"
)
MOST_PARTITIONS = 1024
LOCK_SECONDS = 5  # others wait behind a migration that waits for a table: it gives up, lets them pass, and tries again
LOCK_TRIES = 12
_PENDING_KB = 64  # the least there is: every word of a question goes through this list
_LOCK = 0x52434C54  # "RCLT"
_FOLDER = Path(__file__).parent / "migrations"
_OWNER_HINT = (
    "Let somebody open it once who owns the database and may create roles, or is in recollect_app and recollect_backup "
    "already; then any member of recollect_app can use it."
)
_VECTOR_HINT = (
    f"Install pgvector {'.'.join(map(str, VECTOR_FLOOR))} or later on it, then run CREATE EXTENSION vector, once."
)
_MEMBER_HINT = "Let the database's owner run GRANT recollect_app TO this login."


@dataclass(frozen=True, slots=True)
class Layout:
    """How the tables are made: 0 partitions means plain tables."""

    partitions: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.partitions <= MOST_PARTITIONS:
            raise InvalidInput(f"{self.partitions} partitions: there can be 0 to {MOST_PARTITIONS}")


PLAIN = Layout()


def newest() -> int:
    """The schema this version makes."""
    return len(load_migrations(_FOLDER, "[0-9]*.sql"))


def prepare(connection: psycopg.Connection[Any], layout: Layout = PLAIN) -> None:
    """Make sure that a connection can be used: server, pgvector and schema are new enough, or are made so."""
    check_server(connection)
    if current(connection) < newest():
        migrate(connection, layout)
    check_vectors(connection)


def current(connection: psycopg.Connection[Any]) -> int:
    """The schema that is there; 0 for none. StoreTooNew when this version cannot work on it."""
    found = _noted(connection)
    version, compatible = int(found.get("schema_version", 0)), int(found.get("schema_compatible", 0))
    if version > newest() and compatible > newest():
        raise StoreTooNew(
            f"the database has schema {version}; this Recollect knows {newest()}", hint="Upgrade Recollect."
        )
    return version


def partitions(connection: psycopg.Connection[Any]) -> int:
    """How many partitions each table has; 0 for plain tables."""
    return int(_noted(connection).get("partitions", 0))


def _noted(connection: psycopg.Connection[Any]) -> dict[str, str]:
    """What the database says about itself; nothing when it is empty."""
    try:
        if connection.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.meta",)).fetchone() == (None,):
            return {}
        names = sql.Identifier(SCHEMA, "meta")
        return dict(connection.execute(sql.SQL("SELECT key, value FROM {}").format(names)).fetchall())
    except psycopg.errors.InsufficientPrivilege:
        raise StoreUnavailable(f"this login may not use the schema {SCHEMA}", hint=_MEMBER_HINT) from None


def migrate(
    connection: psycopg.Connection[Any],
    layout: Layout = PLAIN,
    each: Callable[[str], None] = lambda statement: None,
    *,
    upto: int | None = None,
) -> int:
    """Bring the schema up to date and set who may see what; returns the schema number.

    `each` is called after every statement: for tests that die there. With `upto` only the migrations to that number are
    run, and nobody may see anything yet: for a restore, which fills the tables before it goes on.
    """
    check_server(connection)
    for left in reversed(range(LOCK_TRIES)):
        try:
            with connection.transaction():
                _take_turn(connection)
                _migrate(connection, layout, each, upto)
            break
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedObject) as error:
            raise StoreUnavailable(
                f"this login may not make or change the schema ({type(error).__name__})", hint=_OWNER_HINT
            ) from None
        except psycopg.errors.FeatureNotSupported:
            raise StoreUnavailable("the server has no pgvector", hint=_VECTOR_HINT) from None
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected, psycopg.errors.InternalError_):
            # InternalError: roles are the whole server's, and another of its databases changed them at the same moment.
            if not left:
                raise StoreBusy("the schema could not be changed: its tables are in use all the time") from None
            time.sleep(0.2)
    return newest() if upto is None else upto


def _take_turn(connection: psycopg.Connection[Any]) -> None:
    """Wait for whoever migrates now, however long it takes; after that, for no table for long."""
    connection.execute("SET LOCAL statement_timeout = 0")
    connection.execute("SET LOCAL lock_timeout = 0")
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    connection.execute("SELECT set_config('lock_timeout', %s, true)", (f"{LOCK_SECONDS}s",))


def _migrate(
    connection: psycopg.Connection[Any], layout: Layout, each: Callable[[str], None], upto: int | None = None
) -> None:
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
    count = partitions(connection) if at else layout.partitions
    for number, script in load_migrations(_FOLDER, "[0-9]*.sql")[at:upto]:
        for statement in _statements(script):
            run(statement.replace("{partitioned}", "PARTITION BY HASH (tenant)" if count else ""))
        _make_partitions(connection, count, run)
        _note(run, "schema_version", number)
    if not at:
        _note(run, "partitions", count)
    if upto is not None:
        return
    _note(run, "schema_compatible", COMPATIBLE)
    access = (_FOLDER / "access.sql").read_text(encoding="utf-8")
    told = {"app": APP, "backup": BACKUP, "schema": SCHEMA, "vectors": holds, "own": OWN, "named": NAMED}
    bare = "w.tenant" if count else "w.tenant || ''"  # bare it finds the partition, and all of the tenant's rows
    told["words_of"] = f"{bare} = (SELECT current_tenant())"
    for name, value in {**told, "definers": ", ".join(f"'{name}'" for name in DEFINERS)}.items():
        access = access.replace(f"{{{name}}}", value)
    run(access)
    _shorten_lists(connection, run)


def _shorten_lists(connection: psycopg.Connection[Any], run: Callable[[sql.Composed], None]) -> None:
    """Words that are not in their index yet stand in a list that is gone through for every word of a question."""
    for (name,) in connection.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_am m ON m.oid = c.relam AND m.amname = 'gin' "
        "WHERE c.relnamespace = %s::regnamespace AND c.relkind = 'i' ORDER BY c.relname",
        (SCHEMA,),
    ).fetchall():
        text = "ALTER INDEX {} SET (gin_pending_list_limit = {})"
        run(sql.SQL(text).format(sql.Identifier(name), sql.Literal(_PENDING_KB)))


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
        if connection.execute(
            "SELECT pg_has_role(%s, 'SET') AND pg_has_role(%s, 'USAGE')", (role, role)
        ).fetchone() != (True,):
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
        raise StoreUnavailable("the database has no pgvector", hint=_VECTOR_HINT)
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
