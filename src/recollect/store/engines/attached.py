"""Puts a vector engine beside a store: its search asks it, its vectors and what is forgotten are told to it.

In: an open store and settings that name an engine. Out: the same store. With the default, `vector_engine = store`,
nothing here is loaded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from recollect.lock import waiting
from recollect.model import TIERS, Scope
from recollect.settings import Settings
from recollect.store.engines.following import PATIENCE, Dialect, Follower
from recollect.store.engines.port import Engine
from recollect.store.engines.searching import EngineSearch
from recollect.store.ports.keeping import Health, Keeping, Receipt, Upkeep
from recollect.store.ports.search import Vectors, Waiting
from recollect.store.rows.tx import Database

if TYPE_CHECKING:
    from recollect.store.ports.search import Matrix
    from recollect.store.postgres.store import PostgresStore
    from recollect.store.sqlite.store import SqliteStore

FOLDER = "vector-engine"
LOCK = "vector-engine.lock"
Owners = Callable[[Iterable["tuple[Waiting, Matrix]"]], list[Scope | None]]


def attach_to_file(store: SqliteStore, settings: Settings) -> None:
    """Put the engine these settings name beside the embedded store."""
    lock = settings.data_dir / LOCK
    dialect = Dialect("<f2", False, lambda seconds: waiting(lock, seconds), lambda scope: None)
    _attach(store, settings, dialect, lambda given: [None])


def attach_to_database(store: PostgresStore, settings: Settings) -> None:
    """Put the engine these settings name beside the store in PostgreSQL."""
    database: Database = store.database
    dialect = Dialect(">f2", True, lambda seconds: _turn(database, seconds), lambda scope: scope.within(None))
    _attach(store, settings, dialect, lambda given: _owners(database, given))


def _attach(store: SqliteStore | PostgresStore, settings: Settings, dialect: Dialect, owners: Owners) -> None:
    follower = Follower(
        store.database, dialect, partial(connect, settings), f"{settings.vector_engine} {_url(settings)}"
    )
    store.search = cast(Any, EngineSearch(store.search, store.database, dialect, follower, settings.vector_engine_from))
    store.vectors = cast(Any, EngineVectors(store.vectors, follower, owners))
    store.keeping = cast(Any, EngineKeeping(store.keeping, dialect, follower))
    store.engine = follower


def connect(settings: Settings, *, mend: bool = False) -> Engine:
    """The engine these settings name; `mend`: what of it cannot be read may go."""
    if settings.vector_engine == "qdrant":
        from recollect.store.engines.qdrant import QdrantEngine

        return QdrantEngine(_url(settings), settings.vector_engine_api_key, mend=mend)
    from recollect.store.engines.lance import LanceEngine

    return LanceEngine(_url(settings))


def _url(settings: Settings) -> str:
    url = settings.vector_engine_url
    if not url:
        return str(settings.data_dir.absolute() / FOLDER)
    return url if "://" in url or url == ":memory:" else str(Path(url).expanduser().absolute())


class EngineVectors:
    """The store's vectors; what is put is told to the engine at once."""

    def __init__(self, inner: Vectors, follower: Follower, owners: Owners) -> None:
        self._inner = inner
        self._follower = follower
        self._owners = owners

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def put(self, model: tuple[str, int], vectors: Iterable[tuple[Waiting, Matrix]]) -> int:
        given = list(vectors)
        owners = self._owners(given)
        stored = self._inner.put(model, given)
        self._follower.follow(owners)
        return stored


class EngineKeeping:
    """The store's keeping; what is forgotten is dropped from the engine too before the receipt is given."""

    def __init__(self, inner: Keeping, dialect: Dialect, follower: Follower) -> None:
        self._inner = inner
        self._dialect = dialect
        self._follower = follower

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def forget_memory(self, scope: Scope, memory_id: str, **when: Any) -> Receipt:
        return self._receipt(scope, self._inner.forget_memory(scope, memory_id, **when))

    def forget_session(self, scope: Scope, session: str, **when: Any) -> Receipt:
        return self._receipt(scope, self._inner.forget_session(scope, session, **when))

    def forget_all(self, scope: Scope, **when: Any) -> Receipt:
        return self._receipt(scope, self._inner.forget_all(scope, **when))

    def upkeep(self, **given: Any) -> Upkeep:
        done = self._inner.upkeep(**given)
        if not given.get("dry_run"):
            self._follower.tend()
        return done

    def rebuild(self, *given: Any, **more: Any) -> Mapping[str, int]:
        counts = self._inner.rebuild(*given, **more)
        self._follower.rebuild()
        return counts

    def health(self, *, deep: bool) -> Health:
        found = self._inner.health(deep=deep)
        wrong, size = self._follower.wrong(thorough=deep), self._follower.size()
        checks = {**found.checks, "vector engine": wrong} if wrong else found.checks
        return replace(found, checks=checks, bytes={**found.bytes, "vector engine": size} if size else found.bytes)

    def _receipt(self, scope: Scope, receipt: Receipt) -> Receipt:
        left = self._follower.follow([self._dialect.owner_of(scope)], seconds=PATIENCE)
        if not left:
            return receipt
        return replace(receipt, complete=False, remains=(*receipt.remains, *left))


def _owners(database: Database, given: Iterable[tuple[Waiting, Matrix]]) -> list[Scope | None]:
    """Whose these waiting documents are."""
    items = [item for item, _ in given]
    found: dict[Scope | None, None] = {}
    with database.read(None) as tx:
        for tier in TIERS:
            docs = [item.doc for item in items if item.tier == tier]
            if docs:
                rows = tx.run("vectors.whose", {"tier": tier, "docs": tx.many(docs)})
                found |= {Scope.of_owner(tenant, user): None for _, tenant, user in rows}
    return list(found)


@contextmanager
def _turn(database: Database, seconds: float) -> Iterator[bool]:
    """One follower at a time, on whichever machine; the database lets go when the process ends, however it ends."""
    until = time.monotonic() + seconds
    while True:
        with database.read(None) as tx:
            if tx.one("engine.turn"):
                yield True
                return
        if time.monotonic() >= until:
            yield False
            return
        time.sleep(0.05)
