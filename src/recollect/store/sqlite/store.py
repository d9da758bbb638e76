"""The embedded store: every port over one file `recollect.db` in the data directory."""

from __future__ import annotations

from pathlib import Path

from recollect.store import datadir
from recollect.store.sqlite import index
from recollect.store.sqlite.bodies import SqliteBodies
from recollect.store.sqlite.captures import SqliteCaptures
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.digests import SqliteDigests
from recollect.store.sqlite.distillations import SqliteDistillations
from recollect.store.sqlite.gists import SqliteGists
from recollect.store.sqlite.keeping import SqliteKeeping
from recollect.store.sqlite.ledger import SqliteLedger
from recollect.store.sqlite.memories import SqliteMemories
from recollect.store.sqlite.search import SqliteSearch
from recollect.store.sqlite.sessions import SqliteSessions
from recollect.store.sqlite.vectors import SqliteVectors

FILE_NAME = "recollect.db"


class SqliteStore:
    """All ports, one file, one set of connections."""

    def __init__(self, data_dir: Path) -> None:
        self.database = Database(datadir.prepare(data_dir) / FILE_NAME)
        self.sessions = SqliteSessions(self.database)
        self.bodies = SqliteBodies(self.database)
        self.captures = SqliteCaptures(self.database, self.bodies)
        self.digests = SqliteDigests(self.database)
        self.distillations = SqliteDistillations(self.database)
        self.ledger = SqliteLedger(self.database)
        self.gists = SqliteGists(self.database)
        self.memories = SqliteMemories(self.database)
        self.search = SqliteSearch(self.database)
        self.vectors = SqliteVectors(self.database)
        self.keeping = SqliteKeeping(self.database, self.bodies)
        with self.database.read() as connection:
            current = index.is_current(connection)
        if not current:
            self.keeping.rebuild()

    def backup(self, target: Path) -> int:
        """Write a verified copy to `target`; returns its size in bytes."""
        from recollect.store.sqlite.backup import backup

        return backup(self.database, target)

    def close(self) -> None:
        self.database.close()
