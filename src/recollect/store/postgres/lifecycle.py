"""What the server is asked to do with its own files: free the room of deleted rows, and make its indexes again.

These belong to whoever owns the tables; a login that is not the owner is told so. A server usually vacuums by itself,
and then only what was forgotten waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

from recollect.errors import ScopeError
from recollect.store.postgres.connecting import Linked, store_errors
from recollect.store.postgres.database import Database
from recollect.store.postgres.neighbours import make_index
from recollect.store.postgres.schema import SCHEMA
from recollect.store.postgres.tx import QUERIES

_HINT = "Run it with the login of the database's owner, or leave it to the server's autovacuum."


def vacuum(database: Database, *, full: bool) -> dict[str, int]:
    """Vacuum and analyze every table; with `full`, each is written anew, and is locked while that lasts."""
    how = "FULL, ANALYZE" if full else "ANALYZE"
    with _as_owner(database) as connection:
        before = _size(connection)
        names = [name for (name,) in connection.execute(QUERIES["keeping.vacuumed"], {"schema": SCHEMA}).fetchall()]
        for name in names:
            connection.execute(sql.SQL(f"VACUUM ({how}) {{}}").format(sql.Identifier(SCHEMA, name)))
        make_index(connection)  # once somebody has more vectors than can be compared one by one
        if full:
            _try_checkpoint(connection)
        return {"tables": len(names), "freed": max(0, before - _size(connection))}


def reindex(database: Database) -> int:
    """Make the indexes of words and vectors again, while everybody goes on; returns how many."""
    with _as_owner(database) as connection:
        found = connection.execute(QUERIES["keeping.vector_indexes"], {"schema": SCHEMA}).fetchall()
        for (name,) in found:
            connection.execute(sql.SQL("REINDEX INDEX CONCURRENTLY {}").format(sql.Identifier(SCHEMA, name)))
        return len(found)


@contextmanager
def _as_owner(database: Database) -> Iterator[Linked]:
    """A connection with the rights of the login itself, for statements that take as long as they take."""
    with database.pool.connection() as connection, store_errors():
        try:
            connection.execute("RESET ROLE")
            connection.execute("SET statement_timeout = 0")
            connection.execute("SET lock_timeout = 0")
            owner = connection.execute(
                "SELECT pg_has_role(current_user, c.relowner, 'USAGE') FROM pg_class c "
                "WHERE c.relnamespace = %s::regnamespace AND c.relname = 'meta'",
                (SCHEMA,),
            ).fetchone()
            if owner != (True,):
                raise ScopeError("this login does not own the tables, and may not look after them", hint=_HINT)
            yield connection
        finally:
            connection.close()  # the pool makes another, with the rights it should have


def _size(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    return int(row[0]) if row else 0


def _try_checkpoint(connection: psycopg.Connection[Any]) -> None:
    """What lies only in memory or in the log of the server comes to its files; not every owner may ask for it."""
    try:
        connection.execute("CHECKPOINT")
    except psycopg.errors.InsufficientPrivilege:
        return
