"""The store of many users: every port over one PostgreSQL database."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

from recollect.model import Scope
from recollect.settings import Settings, environment
from recollect.store.postgres import isolation, schema
from recollect.store.postgres.address import read_address
from recollect.store.postgres.bodies import PostgresBodies
from recollect.store.postgres.connecting import Linked, pool, store_errors
from recollect.store.postgres.credentials import credentials_for
from recollect.store.postgres.database import LOCK_TIMEOUT, Database, set_up
from recollect.store.postgres.keeping import PostgresKeeping
from recollect.store.postgres.memories import PostgresMemories
from recollect.store.postgres.search import PostgresSearch
from recollect.store.postgres.vectors import PostgresVectors
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
from recollect.store.rows.notes import RowNotes
from recollect.store.rows.patterns import RowPatterns
from recollect.store.rows.quotas import RowQuotas
from recollect.store.rows.sessions import RowSessions
from recollect.store.rows.signals import RowSignals
from recollect.store.rows.stats import RowStats
from recollect.store.rows.tasks import RowTasks
from recollect.store.rows.use import RowUse
from recollect.store.rows.vectormemory import room_for_vectors
from recollect.store.terms import terms_of

if TYPE_CHECKING:
    from recollect.store.engines.following import Follower
    from recollect.store.port import Found
    from recollect.store.postgres.tables import PostgresTables

# How a connection works. A pooler in transaction mode loses it, so a login made by `database init` has it by itself.
SESSION = {
    "TimeZone": "UTC",
    "lock_timeout": LOCK_TIMEOUT,
    "plan_cache_mode": "force_custom_plan",
    # Every statement here is short: starting workers or compiling it would take longer than running it.
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
}
POOLED = {"prepare_threshold": None}  # what one transaction prepares, the next finds elsewhere or not at all


class PostgresStore:
    """All ports, one database, one pool of connections."""

    def __init__(self, settings: Settings, *, layout: schema.Layout = schema.PLAIN, queued: bool = False) -> None:
        address = read_address(settings.database_url, environment())
        self._pool = pool(
            address,
            credentials_for(settings, address),
            max_size=settings.database_connections,
            statement_seconds=settings.database_statement_seconds,
            configure=lambda connection: _configure(connection, layout),
            options={"autocommit": True, **(POOLED if settings.database_pooler else {})},
        )
        try:
            self.database = Database(self._pool, terms_of(settings, queued=queued))
            self._make_ports(room_for_vectors(settings))
        except BaseException:
            self._pool.close()
            raise

    def _make_ports(self, vector_memory: int) -> None:
        self.sessions = RowSessions(self.database)
        self.bodies = PostgresBodies(self.database)
        self.captures = RowCaptures(self.database, self.bodies)
        self.digests = RowDigests(self.database)
        self.distillations = RowDistillations(self.database)
        self.ledger = RowLedger(self.database)
        self.gists = RowGists(self.database)
        self.memories = PostgresMemories(self.database)
        self.contexts = RowContexts(self.database, self.memories)
        self.search = PostgresSearch(self.database, vector_memory=vector_memory)
        self.vectors = PostgresVectors(self.database)
        self.use = RowUse(self.database)
        self.keeping = PostgresKeeping(self.database, self.bodies, self.use)
        self.keys = RowKeys(self.database)
        self.quotas = RowQuotas(self.database)
        self.audit = RowAudit(self.database)
        self.notes = RowNotes(self.database)
        self.tasks = RowTasks(self.database)
        self.answers = RowAnswers(self.database)
        self.stats = RowStats(self.database)
        self.insights = RowInsights(self.database)
        self.browse = RowBrowse(self.database)
        self.patterns = RowPatterns(self.database)
        self.signals = RowSignals(self.database)
        self.consolidations = RowConsolidations(self.database)
        self.engine: Follower | None = None  # beside the store, when the settings name one
        with self._pool.connection() as connection, store_errors():
            isolation.require(connection)
        with self.database.read(None) as tx:
            current = index.is_current(tx)
        if not current:
            self.keeping.rebuild()

    @property
    def tables(self) -> PostgresTables:
        """Every owner's rows as they are, for moving them to another store."""
        from recollect.store.postgres.tables import PostgresTables

        return PostgresTables(self.database)

    def backup(self, target: Path) -> int:
        """Write a verified copy to `target`; returns its size in bytes."""
        from recollect.store.postgres.backup import backup

        return backup(self.database, target)

    def ask(self, scope: Scope, reading: Callable[[], Found]) -> Found:
        """What `reading` finds for the scope, all of it as of one moment; it may be called twice."""
        return self.database.ask(scope, reading)

    def together(self, scope: Scope) -> AbstractContextManager[None]:
        """Within it, what this thread reads for the scope is of one moment, and costs one transaction."""
        return self.database.together(scope)

    @property
    def closed(self) -> bool:
        return self._pool.closed

    def close(self) -> None:
        if self.engine is not None:
            self.engine.close()
        self.database.close()


def _configure(connection: Linked, layout: schema.Layout) -> None:
    """Set a new connection up: the schema of this version, its names, and the role that sees one owner at a time."""
    schema.prepare(connection, layout)
    set_up(connection)
    connection.execute(schema.search_path(connection))
    _become(connection, schema.APP)
    for name, value in SESSION.items():
        connection.execute("SELECT set_config(%s, %s, false)", (name, value))


def _become(connection: psycopg.Connection[Any], role: str) -> None:
    """Work as a role with less rights than the login may have; a login that is not in it stays what it is."""
    row = connection.execute("SELECT pg_has_role(current_user, %s, 'SET')", (role,)).fetchone()
    if row == (True,):
        connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
