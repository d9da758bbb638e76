"""PostgreSQL stores for tests: making a database takes longer than most tests, so they are emptied and used again."""

from __future__ import annotations

from dataclasses import replace

import psycopg

from recollect.settings import Settings
from recollect.store.postgres.schema import PLAIN, Layout
from recollect.store.postgres.store import PostgresStore
from tests.services.postgres import Postgres

_TABLES = """
SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind IN ('r', 'p')
AND NOT c.relispartition AND c.relname NOT IN ('meta')
"""


class Emptied:
    """Numbered stores; each is empty when it is given out."""

    def __init__(self, server: Postgres, layout: Layout = PLAIN) -> None:
        self._server = server
        self._layout = layout
        self._urls: dict[int, str] = {}
        self._stores: dict[int, PostgresStore] = {}
        self._emptying: dict[int, psycopg.Connection] = {}

    def give(self, number: int) -> PostgresStore:
        """The store of this number, with nothing in it."""
        if number not in self._urls:
            self._urls[number] = self._server.empty_database()
        store = self._stores.get(number)
        if store is None or store.closed:
            store = self._stores[number] = PostgresStore(self.settings(number), layout=self._layout)
        self._empty(number)
        store.use.let_go()  # it was not the store that forgot
        return store

    def url(self, number: int) -> str:
        """The address of the store of this number, with nothing in it."""
        self.give(number)
        return self._urls[number]

    def settings(self, number: int, settings: Settings | None = None) -> Settings:
        """What opens that store."""
        return replace(settings or Settings(), database_url=self._urls[number], database_connections=4)

    def close(self) -> None:
        for connection in self._emptying.values():
            connection.close()
        for store in self._stores.values():
            store.close()

    def _empty(self, number: int) -> None:
        """Take everything out of a store, whoever it belongs to; its schema stays."""
        if number in self._emptying:
            try:
                self._emptying[number].execute("SELECT pg_temp.empty()")
                return
            except psycopg.OperationalError:
                pass  # a test ended it
        self._emptying[number] = emptying(self._urls[number])
        self._emptying[number].execute("SELECT pg_temp.empty()")


def emptying(url: str) -> psycopg.Connection:
    """A connection with a function that takes everything out: planned once, it is several times as quick."""
    connection = psycopg.connect(url, autocommit=True)
    tables = [name for (name,) in connection.execute(_TABLES).fetchall()]
    # No triggers: foreign keys would want an order. Deleting from empty tables is many times faster than TRUNCATE.
    connection.execute("SET session_replication_role = replica; SET search_path = recollect")
    statements = [f"DELETE FROM {name}" for name in tables]
    statements.append(
        "DELETE FROM meta WHERE key IN ('embedding_model', 'retention_clock') OR key ~ '^(job|move|backup):'"
    )
    statements.append("DELETE FROM meta WHERE key IN ('store_id', 'scrub_due', 'scrub_begun')")
    body = ";".join(statements)
    connection.execute(f"CREATE FUNCTION pg_temp.empty() RETURNS void LANGUAGE plpgsql AS $$ BEGIN {body}; END $$")
    return connection
