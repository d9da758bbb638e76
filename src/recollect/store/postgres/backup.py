"""Copies of a PostgreSQL store: every owner's rows as of one moment, and back into an empty database.

A backup is made as the role `recollect_backup`, the only one whom the policies show every row, in one snapshot, while
others write. Which tables there are is asked of the catalog; what is derived (words, vectors) is left out, to be made
again. A restore is one transaction: the schema of the backup, its rows, their hashes compared, then the newest schema
and who may see what; or nothing.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from recollect.clock import iso, now
from recollect.errors import InvalidInput, StoreError, StoreFull, StoreTooNew, StoreUnavailable
from recollect.settings import Settings, environment
from recollect.store import datadir
from recollect.store.postgres import schema
from recollect.store.postgres.address import read_address
from recollect.store.postgres.connecting import Entry, Linked, store_errors
from recollect.store.postgres.copyfile import Counted, Manifest, Piece, Reader, Writer, verify
from recollect.store.postgres.credentials import credentials_for
from recollect.store.postgres.database import Database
from recollect.store.postgres.tx import QUERIES
from recollect.store.rows.tables import DERIVED

LEFT_OUT = DERIVED | {"models"}
# Of the notes about the whole store, those that hold in another place too.
KEPT_NOTES = ("retention_clock", "backup:%")
_SPELLING = {
    "client_encoding": "UTF8",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
}
_GRANT = "Use the login of the database's owner, or let it run: GRANT recollect_backup TO that login."

Layout = Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]  # table -> its columns, and those of its key


def backup(database: Database, target: Path) -> int:
    """Write a verified copy of everything to `target` (which must not exist) and return its size."""
    if target.exists():
        raise InvalidInput(f"{target} exists already", hint="Give the backup a name of its own.")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        datadir.create_private(part)
        with part.open("r+b") as file, database.snapshot(None) as tx:
            last = _sequences(tx.connection)  # before the role is changed, which may not look at them
            _spell_plainly(tx.connection)
            _become_backup(tx.connection)
            tables = _tables(tx.connection)
            columns = {name: found[0] for name, found in tables.items()}
            writer = Writer(file, schema=schema.current(tx.connection), made_at=iso(now()), columns=columns)
            for name, (names, key) in tables.items():
                writer.table(name, _rows(tx.connection, name, names, key))
            writer.finish(last)
        verify(part)
        datadir.settle(part, target)
    except OSError as error:
        kind = StoreFull if error.errno == errno.ENOSPC else StoreUnavailable
        raise kind(f"the backup could not be written to {target.parent}: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)
    return target.stat().st_size


def restore(source: Path, settings: Settings, layout: schema.Layout = schema.PLAIN) -> Manifest:
    """Put a verified backup into the database of these settings, which must have no rows of ours; all of it or nothing.

    What is derived is made again when the store is next opened: the words then, the vectors by whoever embeds.
    """
    verify(source)
    with closing(_log_in(settings)) as connection, Reader(source) as reader, store_errors():
        if reader.schema > schema.newest():
            raise StoreTooNew(
                f"the backup {source} has schema {reader.schema}; this Recollect knows {schema.newest()}",
                hint="Upgrade Recollect.",
            )
        with connection.transaction():
            _spell_plainly(connection)
            _make_room(connection, reader.schema, layout)
            tables = _tables(connection)
            for name, pieces in reader.tables():
                _fill(connection, name, reader.columns[name], pieces, tables)
            assert reader.manifest is not None
            _compare(connection, reader.manifest, tables)
            _set_sequences(connection, reader.manifest)
            connection.execute(QUERIES["backup.queue_all"])
            schema.migrate(connection, layout)
        return reader.manifest


def _log_in(settings: Settings) -> Linked:
    """One connection with the rights of the login itself: what makes tables may fill them."""
    address = read_address(settings.database_url, environment())
    entry = Entry(address, credentials_for(settings, address))
    return Linked.connect(entry=entry, application_name="recollect restore", autocommit=True)


def _spell_plainly(connection: psycopg.Connection[Any]) -> None:
    """How values are written for the rest of the transaction: the same on every server and for every login."""
    for name, value in _SPELLING.items():
        connection.execute("SELECT set_config(%s, %s, true)", (name, value))


def _become_backup(connection: psycopg.Connection[Any]) -> None:
    """See every row for the rest of the transaction, or say why not."""
    try:
        with connection.transaction():
            connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(schema.BACKUP)))
    except psycopg.errors.InsufficientPrivilege:
        raise StoreUnavailable("this login may not read every owner's rows", hint=_GRANT) from None
    connection.execute("SET LOCAL statement_timeout = 0")
    connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    params = {"schema": schema.SCHEMA, "role": schema.BACKUP}
    hidden = [name for (name,) in connection.execute(QUERIES["backup.hidden"], params).fetchall()]
    if hidden:
        raise StoreError(
            f"a backup would not be whole: rows of {', '.join(hidden[:5])} are not shown to {schema.BACKUP}",
            hint="Let the database's owner run `recollect database init`: it sets roles, policies and grants again.",
        )


def _tables(connection: psycopg.Connection[Any]) -> Layout:
    """Every table that is not derived, those first that others refer to."""
    params = {"schema": schema.SCHEMA}
    found = {
        name: (tuple(columns), tuple(key))
        for name, columns, key in connection.execute(QUERIES["backup.tables"], params).fetchall()
        if name not in LEFT_OUT
    }
    for name, (_, key) in found.items():
        if not key:
            raise StoreError(f"the table {name} has no primary key, so its rows have no order to be saved in")
    needs: dict[str, set[str]] = {name: set() for name in found}
    for table, other in connection.execute(QUERIES["backup.references"], params).fetchall():
        if table in needs and other in needs:
            needs[table].add(other)
    from graphlib import TopologicalSorter

    return {name: found[name] for name in TopologicalSorter(needs).static_order()}


def _rows(
    connection: psycopg.Connection[Any], name: str, columns: tuple[str, ...], key: tuple[str, ...]
) -> Iterator[Piece]:
    """Every row of a table in the order of its key, as lines of text."""
    text = "COPY (SELECT {} FROM {} {} ORDER BY {}) TO STDOUT"
    which: sql.Composable = sql.SQL("")
    if name == "meta":
        likes = [sql.SQL("key LIKE {}").format(sql.Literal(pattern)) for pattern in KEPT_NOTES]
        which = sql.SQL("WHERE {}").format(sql.SQL(" OR ").join(likes))
    query = sql.SQL(text).format(_names(columns), sql.Identifier(schema.SCHEMA, name), which, _names(key))
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        yield from copy


def _names(columns: Iterable[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def _make_room(connection: psycopg.Connection[Any], number: int, layout: schema.Layout) -> None:
    """The tables of a schema, empty and open to whoever owns them; StoreUnavailable when there is anything in them."""
    there = schema.current(connection)
    if there == 0:
        schema.migrate(connection, layout, upto=number)
        return
    _refuse_rows(connection)
    if there != number:
        raise StoreUnavailable(
            f"the database has schema {there}, the backup {number}",
            hint="Restore into a database without the schema `recollect`: it is made as the backup was, then upgraded.",
        )
    forced = connection.execute(QUERIES["backup.policies_of_owner"], {"schema": schema.SCHEMA}).fetchall()
    for (name,) in forced:  # set again with the grants at the end, before anybody else sees the tables
        text = sql.SQL("ALTER TABLE {} NO FORCE ROW LEVEL SECURITY")
        connection.execute(text.format(sql.Identifier(schema.SCHEMA, name)))
    connection.execute(schema.search_path(connection))
    connection.execute(QUERIES["backup.clear_notes"])


def _refuse_rows(connection: psycopg.Connection[Any]) -> None:
    """Whoever has rows is in `owners`; the policies hide them from a login that is bound by them, but not the count."""
    row = connection.execute(
        sql.SQL("SELECT EXISTS (SELECT 1 FROM {}())").format(sql.Identifier(schema.SCHEMA, "every_owner"))
    ).fetchone()
    if row != (False,):
        raise StoreUnavailable(
            "there are rows in the database already", hint="Restore into an empty database: CREATE DATABASE makes one."
        )


def _fill(
    connection: psycopg.Connection[Any],
    name: str,
    columns: tuple[str, ...],
    pieces: Iterable[bytes],
    tables: Layout,
) -> None:
    if name not in tables or not set(columns) <= set(tables[name][0]):
        raise InvalidInput(f"the backup has a table that schema has not: {name[:60]}")
    query = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(schema.SCHEMA, name), _names(columns))
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        for piece in pieces:
            copy.write(piece)


def _compare(connection: psycopg.Connection[Any], manifest: Manifest, tables: Layout) -> None:
    """The rows that are there now are the rows that were saved, to the letter."""
    for table in manifest.tables:
        counted = Counted()
        for piece in _rows(connection, table.name, table.columns, tables[table.name][1]):
            counted.add(piece)
        if (counted.rows, counted.digest) != (table.rows, table.digest):
            raise StoreError(f"what was restored of {table.name} is not what was saved; nothing was kept")


def _sequences(connection: psycopg.Connection[Any]) -> dict[str, int]:
    found = connection.execute(QUERIES["backup.sequences"], {"schema": schema.SCHEMA}).fetchall()
    return {name: int(value) for name, value in found if value is not None}


def _set_sequences(connection: psycopg.Connection[Any], manifest: Manifest) -> None:
    """Numbers go on after the last that was given: none is used twice."""
    known = {name for (name, _) in connection.execute(QUERIES["backup.sequences"], {"schema": schema.SCHEMA})}
    for name, value in manifest.sequences.items():
        if name in known:
            where = sql.Identifier(schema.SCHEMA, name).as_string(connection)
            params = {"name": where, "schema": schema.SCHEMA, "sequence": name, "value": value}
            connection.execute(QUERIES["backup.set_sequence"], params)
