"""The embedded store: every port over one file `recollect.db` in the data directory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.model import Scope
from recollect.store import datadir
from recollect.store.rows import index
from recollect.store.rows.answers import RowAnswers
from recollect.store.rows.audit import RowAudit
from recollect.store.rows.browse import RowBrowse
from recollect.store.rows.captures import RowCaptures
from recollect.store.rows.consolidations import RowConsolidations
from recollect.store.rows.contexts import RowContexts
from recollect.store.rows.digests import RowDigests
from recollect.store.rows.distillations import RowDistillations
from recollect.store.rows.gists import RowGists
from recollect.store.rows.insights import RowInsights
from recollect.store.rows.keys import RowKeys
from recollect.store.rows.ledger import RowLedger
from recollect.store.rows.memories import RowMemories
from recollect.store.rows.notes import RowNotes
from recollect.store.rows.patterns import RowPatterns
from recollect.store.rows.quotas import RowQuotas
from recollect.store.rows.sessions import RowSessions
from recollect.store.rows.signals import RowSignals
from recollect.store.rows.stats import RowStats
from recollect.store.rows.tasks import RowTasks
from recollect.store.rows.use import RowUse
from recollect.store.rows.vectormemory import VECTOR_MEMORY_BYTES
from recollect.store.sqlite.bodies import SqliteBodies
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.keeping import SqliteKeeping
from recollect.store.sqlite.search import SqliteSearch
from recollect.store.sqlite.vectors import SqliteVectors
from recollect.store.terms import Terms

if TYPE_CHECKING:
    from recollect.store.engines.following import Follower
    from recollect.store.port import Found
    from recollect.store.sqlite.tables import SqliteTables

FILE_NAME = "recollect.db"


class SqliteStore:
    """All ports, one file, one set of connections."""

    def __init__(self, data_dir: Path, terms: Terms | None = None, vector_memory: int = VECTOR_MEMORY_BYTES) -> None:
        self.database = Database(datadir.prepare(data_dir) / FILE_NAME, terms=terms)
        self.sessions = RowSessions(self.database)
        self.bodies = SqliteBodies(self.database)
        self.captures = RowCaptures(self.database, self.bodies)
        self.digests = RowDigests(self.database)
        self.distillations = RowDistillations(self.database)
        self.ledger = RowLedger(self.database)
        self.gists = RowGists(self.database)
        self.memories = RowMemories(self.database)
        self.contexts = RowContexts(self.database, self.memories)
        self.search = SqliteSearch(self.database, vector_memory)
        self.vectors = SqliteVectors(self.database)
        self.use = RowUse(self.database)
        self.keeping = SqliteKeeping(self.database, self.bodies, self.use)
        self.keys = RowKeys(self.database)
        self.quotas = RowQuotas(self.database)
        self.audit = RowAudit(self.database)
        self.notes = RowNotes(self.database)
        self.tasks = RowTasks(self.database)
        self.answers = RowAnswers(self.database)
        self.stats = RowStats(self.database, self.database.state)
        self.insights = RowInsights(self.database)
        self.browse = RowBrowse(self.database)
        self.patterns = RowPatterns(self.database)
        self.signals = RowSignals(self.database)
        self.consolidations = RowConsolidations(self.database)
        self.engine: Follower | None = None  # beside the store, when the settings name one
        with self.database.read(None) as tx:
            current = index.is_current(tx)
        if not current:
            self.keeping.rebuild()

    def ask(self, scope: Scope, reading: Callable[[], Found]) -> Found:
        """What `reading` finds for the scope, all of it as of one moment; it may be called twice."""
        with self.database.together(scope):
            return reading()

    def together(self, scope: Scope) -> AbstractContextManager[None]:
        """Within it, what this thread reads for the scope is of one moment."""
        return self.database.together(scope)

    @property
    def tables(self) -> SqliteTables:
        """Every owner's rows as they are, for moving them to another store."""
        from recollect.store.sqlite.tables import SqliteTables

        return SqliteTables(self.database)

    def backup(self, target: Path) -> int:
        """Write a verified copy to `target`; returns its size in bytes."""
        from recollect.store.sqlite.backup import backup

        return backup(self.database, target)

    def close(self) -> None:
        if self.engine is not None:
            self.engine.close()
        self.database.close()
