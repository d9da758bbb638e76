"""One transaction of one scope, as the ports see it: queries are run by name, in the words of the database it is on.

`Tx.rows` are the row numbers behind the scope. A reader of an owner nobody ever wrote for finds None and returns
nothing; a writer that may be the first asks for `ensure()`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from recollect.errors import NotFound
from recollect.model import KEEPER, Scope, Tier
from recollect.store.terms import Terms

MAY_ONLY_READ = "your role in this context lets you read, not write"
_NOTHING: Mapping[str, object] = {}
Rare = Literal["feedback", "relations"]  # what most owners have nothing of


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


class Answer(Protocol):
    """What a query gives."""

    def __iter__(self) -> Iterator[Any]: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...


class Tx(ABC):
    """A transaction; each database has its own `run`."""

    violated: type[Exception]  # what breaking a unique constraint raises
    terms: Terms  # what it is held to

    def __init__(self, scope: Scope | None, rows: Rows | None) -> None:
        self.scope = scope
        self.rows = rows
        self.began = time.perf_counter()
        self.heads: dict[int, Any] | None = None  # by owner, where the audit stands; None: it is read each time

    @abstractmethod
    def run(self, query: str, params: Mapping[str, object] = _NOTHING) -> Answer:
        """Run the query of that name (`file.query`)."""

    @abstractmethod
    def many(self, docs: Sequence[int]) -> object:
        """Several row numbers as one parameter."""

    @abstractmethod
    def put_words(self, tier: Tier, doc: int, owner: int, texts: Mapping[str, str]) -> None:
        """Make the texts of a row searchable."""

    def put_many_words(self, tier: Tier, entries: Sequence[tuple[int, int, Mapping[str, str]]]) -> None:
        """Make the texts of many rows searchable: document, owner and texts of each."""
        for doc, owner, texts in entries:
            self.put_words(tier, doc, owner, texts)

    @abstractmethod
    def take_words(self, tier: Tier, doc: int) -> int:
        """Take a row out of the full-text index before it changes; returns whose it is."""

    def has(self, what: Rare) -> bool:
        """Whether the owner has any of it, as far as this transaction knows; what it does not know may be there."""
        return True

    def tagged(self, owner: int, tags: Sequence[str]) -> list[int] | None:
        """The few memories that may have one of these tags, where an index tells; None: look at all of them."""
        return None

    def put_notes(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Add rows to the audit."""
        for row in rows:
            self.run("audit.add", row)

    def one(self, query: str, params: Mapping[str, object] = _NOTHING) -> int | None:
        """The single integer a query returns, or None."""
        row = self.run(query, params).fetchone()
        return None if row is None or row[0] is None else int(row[0])

    def row(self, query: str, params: Mapping[str, object] = _NOTHING) -> tuple[Any, ...]:
        """The one row a query must return."""
        found = self.run(query, params).fetchone()
        assert found is not None, "the query must return a row"
        return tuple(found)

    def find(self) -> Rows | None:
        """The rows of the scope, or None when its owner has nothing here."""
        assert self.scope is not None
        owner = self.one("sessions.owner", {"tenant": self.scope.tenant, "user": self.scope.user})
        if owner is None:
            return None
        if self.scope.project is None:
            return Rows(owner, None)
        return Rows(owner, project_row(self, owner, self.scope.project))

    def ensure(self) -> Rows:
        """The rows of the scope, made if they are missing."""
        assert self.scope is not None
        names = {"tenant": self.scope.tenant, "user": self.scope.user}
        self.run("sessions.add_owner", names)
        owner = int(self.row("sessions.owner", names)[0])
        project = None if self.scope.project is None else ensure_project(self, owner, self.scope.project)
        self.rows = Rows(owner, project)
        return self.rows


class Database(Protocol):
    """Where transactions begin. A scope of None is for looking after the whole store."""

    def read(self, scope: Scope | None) -> AbstractContextManager[Tx]: ...
    def snapshot(self, scope: Scope | None) -> AbstractContextManager[Tx]: ...
    def write(self, scope: Scope | None, *, keyed: bool = False) -> AbstractContextManager[Tx]:
        """All of it is kept, or none. `keyed`: its statements find each row by its key; planned once."""
        ...

    def touch(self, scope: Scope) -> AbstractContextManager[Tx]:
        """For a small write that nothing else hangs on; it does not wait for other writers of the owner."""
        ...

    def alone(self, query: str, params: Mapping[str, object] = _NOTHING) -> tuple[Any, ...] | None:
        """The row of one query about nobody's rows."""
        ...

    def owners(self) -> Iterable[Scope | None]:
        """The scopes that together are the whole store: each owner's, or None where one transaction sees them all."""
        ...


def require_member(scope: Scope) -> None:
    """For a scope nobody was let into: NotFound when it is a shared context, whether it is there or not."""
    if scope.by not in (None, KEEPER):
        raise NotFound("no such context", hint="`recollect contexts` lists yours.")


def ensure_project(tx: Tx, owner: int, name: str) -> int:
    """The row of a project of this owner, made if it is missing."""
    params: dict[str, object] = {"owner": owner, "name": name}
    tx.run("sessions.add_project", params)
    return int(tx.row("sessions.project", params)[0])


def project_row(tx: Tx, owner: int, name: str | None) -> int | None:
    """The row of a named project: None for no name, 0 (matches nothing) for a name never used."""
    if name is None:
        return None
    return tx.one("sessions.project", {"owner": owner, "name": name}) or 0
