"""Which store: the file in the data directory, or the PostgreSQL database that an address names.

In: settings, and an address if one was given. Out: the store, open. The driver of a database is loaded only here and
only for an address of one: whoever keeps everything in a file never waits for it, and need not have it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import InvalidInput, StoreUnavailable
from recollect.settings import Settings

if TYPE_CHECKING:
    from recollect.store.port import Store
    from recollect.store.postgres.store import PostgresStore

EMBEDDED = "sqlite:///"
DATABASES = ("postgresql://", "postgres://")
_DRIVER = ("psycopg", "psycopg_pool")


def located(settings: Settings, url: str | None = None) -> Settings:
    """The settings with the store at this address, or else at the one they name themselves.

    `sqlite:///DIR` means the file in that data directory, whatever else is set. A database's address leaves the data
    directory as it is: what belongs to this machine stays there. Its login is in the address or where libpq finds it,
    if the settings name another address.
    """
    wanted = settings.database_url if url is None else url.strip()
    if wanted.startswith(EMBEDDED):
        folder = wanted.removeprefix(EMBEDDED).lstrip("/")
        if not folder:
            raise InvalidInput("sqlite:/// needs a directory", hint="It looks like sqlite:////home/ann/memory.")
        return replace(settings, data_dir=Path("/" + folder), database_url="")
    if wanted and not wanted.startswith(DATABASES):
        what = "the setting database_url" if url is None else "this"
        raise InvalidInput(
            f"{what} is not the address of a store",
            hint="Give postgresql://user@host:5432/database, or sqlite:///DIR for the file in a data directory.",
        )
    if wanted == settings.database_url:
        return settings
    # A login that is set beside an address is that one's: another server must not be shown it.
    credentials = "static" if settings.database_url else settings.database_credentials
    return replace(settings, database_url=wanted, database_credentials=credentials)


def open_store(settings: Settings, *, queued: bool = False) -> Store:
    """The store these settings name. Its data directory is made where it is missing.

    `queued`: what is written here leaves the work it makes to a worker, by a task of the same transaction.
    """
    from recollect.store import datadir

    chosen = located(settings)
    if chosen.database_url:
        datadir.prepare(chosen.data_dir)  # spool, locks and prepared texts are this machine's
        return open_database(chosen, queued=queued)
    from recollect.store.rows.vectormemory import room_for_vectors
    from recollect.store.sqlite.store import SqliteStore
    from recollect.store.terms import terms_of

    store = SqliteStore(chosen.data_dir, terms_of(chosen, queued=queued), room_for_vectors(chosen))
    if chosen.vector_engine != "store":
        from recollect.store.engines.attached import attach_to_file

        attach_to_file(store, chosen)
    return store


def open_database(settings: Settings, *, queued: bool = False) -> PostgresStore:
    """The store in the PostgreSQL database of these settings."""
    require_driver()
    from recollect.store.postgres.store import PostgresStore

    store = PostgresStore(settings, queued=queued)
    if settings.vector_engine != "store":
        from recollect.store.engines.attached import attach_to_database

        attach_to_database(store, settings)
    return store


def require_driver() -> None:
    """StoreUnavailable, with what to install, when PostgreSQL cannot be spoken to from here."""
    from importlib import import_module

    for name in _DRIVER:
        try:
            import_module(name)
        except ImportError:
            raise StoreUnavailable(
                f"PostgreSQL needs the package {name}", hint="Install it: pip install 'recollect[postgres]'."
            ) from None
