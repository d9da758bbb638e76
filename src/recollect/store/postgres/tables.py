"""The tables of a PostgreSQL store, by its own catalog: for moving an owner's rows as they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from psycopg import sql

from recollect.model import Scope
from recollect.store.postgres.database import Database
from recollect.store.postgres.schema import SCHEMA
from recollect.store.postgres.tx import PostgresTx
from recollect.store.rows.tables import DERIVED, NOT_OWNED, PASSING, Shapes
from recollect.store.rows.tx import Tx

_KINDS = {
    "bigint": "number",
    "integer": "number",
    "smallint": "number",
    "double precision": "real",
    "bytea": "bytes",
    "timestamp with time zone": "time",
    "json": "json",
    "jsonb": "json",
    "boolean": "flag",
}


class PostgresTables:
    """The tables of one database."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._shapes: Shapes | None = None

    def shapes(self) -> Shapes:
        if self._shapes is None:
            found: dict[str, dict[str, str]] = {}
            with self._db.read(None) as tx:
                for table, column, kind in tx.run("moving.columns", {"schema": SCHEMA}):
                    found.setdefault(table, {})[column] = _KINDS.get(kind, "text")
            hidden = {("bodies", "data")}  # moved by themselves
            self._shapes = {
                table: {
                    name: kind
                    for name, kind in columns.items()
                    if name not in ("tenant", "owner") and (table, name) not in hidden
                }
                for table, columns in found.items()
                if "owner" in columns and table not in DERIVED | NOT_OWNED | PASSING
            }
        return self._shapes

    def owners(self) -> list[Scope]:
        return self._db.owners()

    def read(
        self, tx: Tx, table: str, columns: Sequence[str], by: str | None = None, values: Sequence[object] = ()
    ) -> Iterable[tuple[Any, ...]]:
        if tx.rows is None or tx.scope is None:
            return []
        text = "SELECT {} FROM {} WHERE tenant = %(tenant)s AND owner = %(owner)s"
        query = sql.SQL(text).format(_names(columns), sql.Identifier(table))
        if by is not None:
            query += sql.SQL(" AND {} = ANY (%(values)s)").format(sql.Identifier(by))
        if "row" in self.shapes()[table]:
            query += sql.SQL(" ORDER BY row")
        params = {"tenant": tx.scope.tenant, "owner": tx.rows.owner, "values": list(values)}
        return cast(PostgresTx, tx).connection.execute(query, params)

    def add(self, tx: Tx, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        assert tx.rows is not None
        assert tx.scope is not None
        flags = [at for at, name in enumerate(columns) if self.shapes()[table].get(name) == "flag"]
        given = [[tx.scope.tenant, tx.rows.owner, *row] for row in rows]
        for row in given:
            for at in flags:
                row[2 + at] = None if row[2 + at] is None else bool(row[2 + at])
        query = sql.SQL("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT DO NOTHING").format(
            sql.Identifier(table),
            _names(("tenant", "owner", *columns)),
            sql.SQL(", ").join(sql.Placeholder() * (2 + len(columns))),
        )
        with cast(PostgresTx, tx).connection.cursor() as cursor:
            cursor.executemany(query, given)

    def numbers(self, tx: Tx, table: str, count: int) -> list[int]:
        return [number for (number,) in tx.run("memories.numbers", {"count": count})]

    def body(self, tx: Tx, owner: int, body_hash: bytes) -> bytes | None:
        row = tx.run("moving.body", {"hash": body_hash}).fetchone()
        return None if row is None else row[0]

    def put_body(self, tx: Tx, owner: int, body_hash: bytes, stored: bytes) -> None:
        tx.run("moving.put_body", {"hash": body_hash, "data": stored})


def _names(columns: Iterable[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))
