"""Small facts about the whole store, kept in its `meta` table: which jobs run, which backups were made, what was moved.

Nothing of anybody's is in them. `swap` is how two processes agree: it writes only over what the caller has read.
"""

from __future__ import annotations

from recollect.store.rows.tx import Database


class RowNotes:
    """Notes by key."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def get(self, key: str) -> str | None:
        with self._db.read(None) as tx:
            row = tx.run("notes.get", {"key": key}).fetchone()
            return None if row is None else str(row[0])

    def all(self, prefix: str) -> dict[str, str]:
        """Every note whose key begins so."""
        with self._db.read(None) as tx:
            return {str(key): str(value) for key, value in tx.run("notes.all", {"prefix": prefix})}

    def put(self, key: str, value: str) -> None:
        with self._db.write(None) as tx:
            tx.run("notes.put", {"key": key, "value": value})

    def swap(self, key: str, expected: str | None, value: str) -> bool:
        """Write the note if it is still what was read (None: not there); False when somebody else was faster."""
        with self._db.write(None) as tx:
            if expected is None:
                done = tx.run("notes.add", {"key": key, "value": value})
            else:
                done = tx.run("notes.replace", {"key": key, "value": value, "expected": expected})
            return bool(done.fetchall())

    def drop(self, key: str) -> None:
        with self._db.write(None) as tx:
            tx.run("notes.drop", {"key": key})
