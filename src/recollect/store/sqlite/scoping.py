"""A scope as row numbers. Readers of an owner or project nobody ever wrote for find `None` and return nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from recollect.model import Scope
from recollect.store.sql import load_queries

_Q = load_queries(Path(__file__).parent / "queries" / "sessions.sql")


@dataclass(frozen=True, slots=True)
class Rows:
    """The row numbers behind a scope. `project` is None for a scope without one, 0 for one nobody wrote to yet."""

    owner: int
    project: int | None

    @property
    def any_project(self) -> bool:
        return self.project is None

    def params(self) -> dict[str, object]:
        """What the scope clauses of the queries bind."""
        return {"owner": self.owner, "any_project": self.any_project, "scope_project": self.project}


def find(connection: apsw.Connection, scope: Scope) -> Rows | None:
    """The rows of a scope, or None when its owner has nothing here."""
    owner = one(connection, _Q["owner"], {"tenant": scope.tenant, "user": scope.user})
    if owner is None:
        return None
    if scope.project is None:
        return Rows(owner, None)
    return Rows(owner, one(connection, _Q["project"], {"owner": owner, "name": scope.project}) or 0)


def ensure(connection: apsw.Connection, scope: Scope) -> Rows:
    """The rows of a scope, made if they are missing."""
    connection.execute(_Q["add_owner"], {"tenant": scope.tenant, "user": scope.user})
    owner = one(connection, _Q["owner"], {"tenant": scope.tenant, "user": scope.user})
    assert owner is not None
    return Rows(owner, None if scope.project is None else ensure_project(connection, owner, scope.project))


def ensure_project(connection: apsw.Connection, owner: int, name: str) -> int:
    """The row of a project of this owner, made if it is missing."""
    connection.execute(_Q["add_project"], {"owner": owner, "name": name})
    project = one(connection, _Q["project"], {"owner": owner, "name": name})
    assert project is not None
    return project


def project_row(connection: apsw.Connection, owner: int, name: str | None) -> int | None:
    """The row of a named project: None for no name, 0 (matches nothing) for a name never used."""
    if name is None:
        return None
    return one(connection, _Q["project"], {"owner": owner, "name": name}) or 0


def one(connection: apsw.Connection, sql: str, params: dict[str, object]) -> int | None:
    """The single integer a query returns, or None."""
    row = connection.execute(sql, params).fetchone()
    return None if row is None or row[0] is None else int(row[0])


def row(connection: apsw.Connection, sql: str, params: dict[str, object]) -> tuple[Any, ...]:
    """The one row a query must return."""
    found = connection.execute(sql, params).fetchone()
    assert found is not None, "the query must return a row"
    return tuple(found)
