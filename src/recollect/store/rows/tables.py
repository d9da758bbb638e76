"""An owner's rows as any store can take them; which tables there are is asked of the database: none is forgotten.

Values are plain: numbers, texts, bytes; times and JSON are texts in the form every store writes them. Names of tables
and columns are the catalog's own, never from outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from recollect.model import Scope
from recollect.store.rows.tx import Tx

# What is made again from the rows, or is about the whole store.
NOT_OWNED = frozenset({"owners", "meta", "models"})
DERIVED = frozenset({"vectors", "pending", "indexed", "words", "engine_changes", "cost_days", "session_signals"})
# What is being done, was answered and was agreed to here: nothing to take along.
PASSING = frozenset({"tasks", "answers", "pattern_sharing"})
VERSIONS = "memory_versions"  # in the embedded store the one table of an owner's that does not name them
EVIDENCE = "pattern_evidence"  # what sessions show, by their names
# What was learned from sessions, and the column that names the pattern.
LEARNED = {"patterns": "id", "pattern_versions": "pattern", EVIDENCE: "pattern", "rollouts": "pattern"}
# What was noted beside memories: the columns that name them, a session, or sessions in JSON.
NOTED = {
    "relations": ("from_id", "to_id"),
    "consolidation_steps": ("subject", "content"),
    "rollups": ("covers",),
    "feedback": ("memory", "session"),
    "injections": ("memory", "session"),
}

Record = dict[str, Any]
Shapes = Mapping[str, Mapping[str, str]]  # table -> column -> number, real, text, bytes, time, json or flag


class Tables(Protocol):
    """The tables of one store, by their own catalog."""

    def shapes(self) -> Shapes:
        """Every table with rows of owners that are not derived, and its columns but the owner's."""
        ...

    def owners(self) -> list[Scope]:
        """Every owner there is."""
        ...

    def read(
        self, tx: Tx, table: str, columns: Sequence[str], by: str | None = None, values: Sequence[object] = ()
    ) -> Iterable[tuple[Any, ...]]:
        """The owner's rows of a table in the order they came; with `by`, those whose column has one of the values."""
        ...

    def add(self, tx: Tx, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Put rows in for the owner of the transaction; one that is there by any of its keys is left as it is."""
        ...

    def numbers(self, tx: Tx, table: str, count: int) -> list[int]:
        """So many row numbers that nobody has."""
        ...

    def body(self, tx: Tx, owner: int, body_hash: bytes) -> bytes | None:
        """The bytes of a body as they are stored; None when they are not there."""
        ...

    def put_body(self, tx: Tx, owner: int, body_hash: bytes, stored: bytes) -> None:
        """The same bytes here, after the row that names them."""
        ...
