"""What an intruder with SQL would try in a transaction of their own, and what came of it.

Used to prove that nothing does, and that something would if the database did not keep its users apart.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psycopg
from psycopg import sql

from tests.isolation.seeded import OWNERS, TABLES, Seeded, enter

_RELATIONS = """
SELECT c.relname, c.relispartition, c.relkind FROM pg_class c WHERE c.relnamespace = 'recollect'::regnamespace
AND c.relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY c.relname
"""


def relations(connection: psycopg.Connection[Any]) -> list[tuple[str, bool, str]]:
    return connection.execute(_RELATIONS).fetchall()


def looked(connection: psycopg.Connection[Any], name: str) -> list[dict[str, object]] | None:
    """All rows of a relation that can be seen, in the columns that can; None when there is nothing to look at."""
    columns = connection.execute(
        "SELECT a.attname FROM pg_attribute a WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped "
        "AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')",
        (name,),
    ).fetchall()
    if not columns:
        return None
    names = [column for (column,) in columns]
    text = sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(map(sql.Identifier, names)), sql.Identifier(name))
    return [dict(zip(names, row, strict=True)) for row in connection.execute(text)]


def seen(base: Seeded, who: str | None) -> list[str]:
    """What is wrong with what somebody sees, in every table and view: a foreign row, or none of their own."""
    wrong: list[str] = []
    with base.using(who) as connection:
        for name, is_part, _ in relations(connection):
            rows = looked(connection, name)
            if is_part:
                wrong += [f"the partition {name} can be looked into"] if rows is not None else []
            elif rows is not None:
                wrong += [f"{name}: {what}" for what in _wrong(base, who, name, rows)]
    return wrong


def _wrong(base: Seeded, who: str | None, name: str, rows: list[dict[str, object]]) -> list[str]:
    found = []
    for other, owner in base.owners.items():
        if other == who:
            continue
        for row in rows:
            same = row.get("tenant") == owner.scope.tenant and owner.number in (row.get("owner"), row.get("row", 0))
            if same or owner.canary in repr(row):
                found.append(f"shows a row of {other}")
    if name in TABLES and len(rows) != (who is not None):
        found.append(f"shows {len(rows)} rows")
    return found


def touched(base: Seeded, who: str) -> list[str]:
    """What is wrong with what somebody can change or take away."""
    wrong: list[str] = []
    mine = [(base.owners[who].scope.tenant, base.owners[who].number)]
    with base.using(who) as connection:
        for name in TABLES:
            key = sql.Identifier("row" if name == "owners" else "owner")
            for text in ("UPDATE {} SET tenant = tenant RETURNING tenant, {}", "DELETE FROM {} RETURNING tenant, {}"):
                statement = sql.SQL(text).format(sql.Identifier(name), key)  # type: ignore[arg-type]
                # What may not be done is denied; their own rows refer to each other.
                with suppress(psycopg.errors.InsufficientPrivilege, psycopg.errors.ForeignKeyViolation):
                    with connection.transaction(force_rollback=True):
                        rows = connection.execute(statement).fetchall()
                    wrong += [] if rows == mine else [f"{name}: {text.split()[0]} touched {rows}"]
    return wrong


def told(base: Seeded, who: str, statement: sql.Composable | str) -> tuple[str, str]:
    """The state and the text of what a statement of somebody fails with; empty when it does not."""
    with base.using(who) as connection:
        try:
            connection.execute(statement)  # type: ignore[arg-type]
        except psycopg.Error as error:
            return error.sqlstate or "?", str(error)
    return "", ""


def alternating(connection: psycopg.Connection[Any], times: int) -> list[str]:
    """Owners take turns on one connection; each must see the row of their own."""
    wrong = []
    for at in range(times):
        for name, scope in OWNERS.items():
            enter(connection, scope)
            rows = connection.execute("SELECT content FROM memories WHERE kind = %s", ("fact",)).fetchall()
            if rows != [(f"canary{name}",)]:
                wrong.append(f"round {at}: {name} saw {rows}")
            connection.rollback()
    return wrong
