"""The embedded store: every port over one file `recollect.db` in the data directory."""

from __future__ import annotations

from pathlib import Path

from recollect.store import datadir
from recollect.store.rows import index
from recollect.store.rows.captures import RowCaptures
from recollect.store.rows.digests import RowDigests
from recollect.store.rows.distillations import RowDistillations
from recollect.store.rows.gists import RowGists
from recollect.store.rows.ledger import RowLedger
from recollect.store.rows.memories import RowMemories
from recollect.store.rows.sessions import RowSessions
from recollect.store.sqlite.bodies import SqliteBodies
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.keeping import SqliteKeeping
from recollect.store.sqlite.search import SqliteSearch
from recollect.store.sqlite.vectors import SqliteVectors

FILE_NAME = "recollect.db"


class SqliteStore:
    """All ports, one file, one set of connections."""

    def __init__(self, data_dir: Path) -> None:
        self.database = Database(datadir.prepare(data_dir) / FILE_NAME)
        self.sessions = RowSessions(self.database)
        self.bodies = SqliteBodies(self.database)
        self.captures = RowCaptures(self.database, self.bodies)
        self.digests = RowDigests(self.database)
        self.distillations = RowDistillations(self.database)
        self.ledger = RowLedger(self.database)
        self.gists = RowGists(self.database)
        self.memories = RowMemories(self.database)
        self.search = SqliteSearch(self.database)
        self.vectors = SqliteVectors(self.database)
        self.keeping = SqliteKeeping(self.database, self.bodies)
        with self.database.read(None) as tx:
            current = index.is_current(tx)
        if not current:
            self.keeping.rebuild()

    def backup(self, target: Path) -> int:
        """Write a verified copy to `target`; returns its size in bytes."""
        from recollect.store.sqlite.backup import backup

        return backup(self.database, target)

    def close(self) -> None:
        self.database.close()
