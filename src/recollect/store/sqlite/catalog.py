"""Statements about tables that only the catalog names: the one place where SQL is put together for the embedded store.

Tables and columns come in, as the catalog spells them; every one is quoted, and every value stays a parameter. All
other statements stand in `queries`.
"""

from __future__ import annotations

from collections.abc import Iterable


def selecting(table: str, columns: Iterable[str], where: str = "", by: str | None = None, value: str = "value") -> str:
    """Rows of a table, in the order they lie there; with `by`, those whose column is in the JSON list `:values`."""
    clauses = [where] if where else []
    if by is not None:
        clauses.append(f"{quoted(by)} IN (SELECT {value} FROM json_each(:values))")  # noqa: S608 - quoted
    found = f"SELECT {', '.join(map(quoted, columns))} FROM {quoted(table)}"  # noqa: S608 - quoted
    return f"{found} WHERE {' AND '.join(clauses)}" if clauses else found


def inserting(table: str, columns: Iterable[str]) -> str:
    """A row into a table; one that is there by any of its keys is left as it is."""
    names = list(map(quoted, columns))
    marks = ", ".join("?" * len(names))
    return f"INSERT INTO {quoted(table)} ({', '.join(names)}) VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608


def quoted(name: str) -> str:
    """A name as it can stand in a statement, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'
