"""The tables of the embedded store, by its own catalog: for moving an owner's rows as they are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from recollect.model import Scope
from recollect.store.rows.tables import DERIVED, NOT_OWNED, PASSING, VERSIONS, Shapes
from recollect.store.rows.tx import Tx
from recollect.store.sqlite.bodies import BODIES, body_path, write_body
from recollect.store.sqlite.catalog import inserting, selecting
from recollect.store.sqlite.database import Database, SqliteTx

_KINDS = {"INTEGER": "number", "REAL": "real", "TEXT": "text", "BLOB": "bytes"}


class SqliteTables:
    """The tables of one file."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def shapes(self) -> Shapes:
        found: dict[str, dict[str, str]] = {}
        with self._db.read(None) as tx:
            for table, column, kind in tx.run("moving.columns").fetchall():
                found.setdefault(table, {})[column] = _KINDS.get(kind, "text")
        return {
            table: {name: kind for name, kind in columns.items() if name != "owner"}
            for table, columns in found.items()
            if ("owner" in columns or table == VERSIONS) and table not in DERIVED | NOT_OWNED | PASSING
        }

    def owners(self) -> list[Scope]:
        with self._db.read(None) as tx:
            return [Scope.of_owner(tenant, user) for tenant, user in tx.run("moving.owners").fetchall()]

    def read(
        self, tx: Tx, table: str, columns: Sequence[str], by: str | None = None, values: Sequence[object] = ()
    ) -> Iterable[tuple[Any, ...]]:
        if tx.rows is None:
            return []
        where = "memory IN (SELECT row FROM memories WHERE owner = :owner)" if table == VERSIONS else "owner = :owner"
        query = selecting(table, columns, where, by, "unhex(value)" if _are_bytes(values) else "value")
        if table not in self._without_rowid(tx):
            query += " ORDER BY rowid"
        given = json.dumps([value.hex() if isinstance(value, bytes) else value for value in values])
        params = {"owner": tx.rows.owner, "values": given}
        return cast(Iterable[tuple[Any, ...]], _connection(tx).execute(query, params))

    def add(self, tx: Tx, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        assert tx.rows is not None
        owned = table != VERSIONS
        query = inserting(table, ("owner", *columns) if owned else columns)
        before = (tx.rows.owner,) if owned else ()
        _connection(tx).executemany(query, [(*before, *row) for row in rows])

    def numbers(self, tx: Tx, table: str, count: int) -> list[int]:
        last = tx.one("moving.last_number", {"table": table}) or 0
        return list(range(last + 1, last + 1 + count))

    def body(self, tx: Tx, owner: int, body_hash: bytes) -> bytes | None:
        path = self._path(owner, body_hash)
        return path.read_bytes() if path.exists() else None

    def put_body(self, tx: Tx, owner: int, body_hash: bytes, stored: bytes) -> None:
        path = self._path(owner, body_hash)
        if not path.exists():
            write_body(path, stored)

    def _path(self, owner: int, body_hash: bytes) -> Path:
        return body_path(self._db.path.parent / BODIES, owner, body_hash.hex())

    def _without_rowid(self, tx: Tx) -> set[str]:
        return {name for (name,) in tx.run("moving.without_rowid").fetchall()}


def _connection(tx: Tx) -> Any:
    return cast(SqliteTx, tx).connection


def _are_bytes(values: Sequence[object]) -> bool:
    return bool(values) and isinstance(values[0], bytes)
