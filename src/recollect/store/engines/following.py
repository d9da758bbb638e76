"""Keeps a vector engine in step with the store: what changed is told at least once, and in the end all of it.

The store notes each document whose vectors changed, in the transaction that changes them, for as long as an engine is
registered. Whoever follows (one at a time) puts the document's vectors as they are now in the place of what the engine
has, or drops it, and then strikes the note, unless the vectors changed again meanwhile. An index that is missing,
damaged or not as large as it must be is made anew beside the old one, which answers until the new one is whole.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from recollect.errors import RecollectError
from recollect.model import TIERS, Scope, Tier
from recollect.store.engines.port import Embedded, Engine, EngineFailed, VectorIndex
from recollect.store.rows.tx import Database, Tx

if TYPE_CHECKING:
    from recollect.store.ports.search import Matrix

BATCH = 1_000  # documents told at once
PAUSE = 30.0  # seconds for which an engine that failed is not asked again
PATIENCE = 5.0  # seconds to wait for another follower when bytes have to go
PREFIX = "recollect_"
_SPARE = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between the stores: how halves are written, and how one takes its turn."""

    half: str  # numpy's name for the vectors' numbers
    scaled: bool  # whether its own cosines are of halves brought to length one again
    turn: Callable[[float], AbstractContextManager[bool]]
    owner_of: Callable[[Scope], Scope | None]  # as the store is gone through: itself, or everything at once


class Follower:
    """One store and the engine beside it."""

    def __init__(self, database: Database, dialect: Dialect, connect: Callable[..., Engine], place: str) -> None:
        self._db = database
        self._dialect = dialect
        self._connect = connect
        self._place = blake2b(place.encode(), digest_size=6).hexdigest()
        self._engine: Engine | None = None
        self._index: tuple[str, VectorIndex] | None = None
        self._lock = threading.Lock()
        self._paused = 0.0
        self.trouble: str | None = None  # why the engine was last not asked

    # -- asking ----------------------------------------------------------------------------------------------------

    def index(self, tx: Tx) -> VectorIndex:
        """The index in use; EngineFailed when there is none, or it failed a moment ago."""
        name = self._registered(tx)
        if name is None:
            raise EngineFailed("the vector engine has no index of this store yet", hint="Run `recollect maintain`.")
        if time.monotonic() < self._paused:
            raise EngineFailed(self.trouble or "the vector engine failed a moment ago")
        return self._opened(tx, name)

    def failed(self, error: RecollectError) -> None:
        """Note why, and leave the engine alone for a while."""
        self.trouble = str(error)
        self._paused = time.monotonic() + PAUSE
        with self._lock:
            self._index = None

    # -- following -------------------------------------------------------------------------------------------------

    def follow(self, scopes: Iterable[Scope | None], *, seconds: float = 0.0) -> tuple[str, ...]:
        """Tell what changed of these owners; where bytes of what was dropped may be left, if so."""
        try:
            with self._dialect.turn(seconds) as free:
                if not free:
                    return ("the vector engine: another process follows the changes, and will drop it",)
                with self._db.read(None) as tx:
                    name = self._registered(tx)
                    index = None if name is None else self._opened(tx, name)
                left: dict[str, None] = {}
                for scope in scopes:
                    left |= dict.fromkeys(self._follow(scope, index) if index else ())
                if seconds:  # in a hurry nobody looks for what else is there
                    self._remove_others(name)
                return tuple(left)
        except RecollectError as error:
            self.failed(error)
            return (f"the vector engine, which failed ({error})",)

    def tend(self) -> None:
        """Follow everything, make small what grew, and make the index anew where it is not as it must be."""
        try:
            if self.wrong(thorough=True) is not None:
                self.rebuild()
                return
            self.follow(self._db.owners(), seconds=PATIENCE)
            with self._dialect.turn(PATIENCE) as free:
                with self._db.read(None) as tx:
                    name = self._registered(tx)
                    index = self._opened(tx, name) if free and name else None
                if index is not None:
                    index.compact()
            self.trouble = self.wrong(thorough=True)
        except RecollectError as error:
            self.failed(error)

    def rebuild(self) -> int:
        """Make the index anew from the store, beside the old one; returns how many documents are in it."""
        try:
            with self._dialect.turn(PATIENCE) as free:
                if not free:
                    return 0
                made = self._made(self._name())
            self.trouble, self._paused = None, 0.0
            self.follow(self._db.owners(), seconds=PATIENCE)
        except RecollectError as error:
            self.failed(error)
            return 0
        return made

    def wrong(self, *, thorough: bool) -> str | None:
        """What is wrong with the index, if something is; `thorough` counts its vectors and the store's."""
        try:
            with self._db.read(None) as tx:
                model = _model(tx)
                if model is None:
                    return None
                name = self._registered(tx)
                if name is None:
                    return "the vector engine has no index of this store yet"
                index = self._opened(tx, name)
            if not thorough:
                return self.trouble
            stored, waiting = self._total(model[1])
            held = index.count()
            if held != stored and not waiting:
                return f"the vector engine holds {held:,} vectors, the store {stored:,}"
            size = self._engine_now().size()
            most = 3 * max(held, stored) * model[1] * 4 + _SPARE
            if size is not None and size > most:
                return f"the vector engine takes {size:,} bytes, more than {most:,}"
        except RecollectError as error:
            return f"the vector engine cannot be used ({error})"
        return None

    def size(self) -> int | None:
        """Bytes that the engine takes on this machine, if it is here."""
        try:
            return self._engine_now().size()
        except RecollectError:
            return None

    def close(self) -> None:
        with self._lock:
            engine, self._engine, self._index = self._engine, None, None
        if engine is not None:
            try:
                engine.close()
            except EngineFailed as error:
                self.trouble = str(error)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _follow(self, scope: Scope | None, index: VectorIndex) -> Iterator[str]:
        while True:
            with self._db.read(scope) as tx:
                changes = tx.run("engine.changes", {"limit": BATCH}).fetchall() if _there(tx) else []
                items, gone = self._now(tx, changes)
            if not changes:
                return
            index.put(items)
            for (owner, tier), docs in gone.items():
                index.drop(owner, tier, docs)
            for owner, tier in gone:
                left = index.scrub(owner, tier)
                if left is not None:
                    yield left
            with self._db.write(scope) as tx:
                for _, tier, doc, ticket in changes:
                    tx.run("engine.followed", {"tier": tier, "doc": doc, "ticket": ticket})

    def _now(
        self, tx: Tx, changes: Sequence[tuple[int, Tier, int, int]]
    ) -> tuple[list[Embedded], dict[tuple[str, Tier], list[int]]]:
        """What the store has of these documents, and which it no longer has."""
        items: list[Embedded] = []
        gone: dict[tuple[str, Tier], list[int]] = defaultdict(list)
        for tier in TIERS:
            docs = {doc: owner for owner, found, doc, _ in changes if found == tier}
            if not docs:
                continue
            rows = tx.run("engine.vectors", {"tier": tier, "docs": tx.many(list(docs))}).fetchall()
            items += self._items(tx, tier, rows)
            for doc in docs.keys() - {row[1] for row in rows}:
                gone[key_of(docs[doc]), tier].append(doc)
        return items, gone

    def _items(self, tx: Tx, tier: Tier, rows: Sequence[tuple[int, int, int, bytes]]) -> list[Embedded]:
        model = _model(tx)
        assert model is not None, "there are vectors, so there is a model"
        return [
            Embedded(key_of(row[0]), tier, row[1], vectors_of(row[3], model[1], self._dialect.half)) for row in rows
        ]

    def _made(self, name: str) -> int:
        """A whole new index, registered; changes are noted from before its first row is read."""
        with self._db.write(None) as tx:
            model = _model(tx)
            if model is None:
                tx.run("engine.leave")
                return 0
            if tx.run("engine.state").fetchone() is None:
                tx.run("engine.register", {"value": "none"})
        engine = self._engine_now(mend=True)
        index = engine.make(name, model[1])
        made = sum(len(items) for items in self._all(index))
        index.compact()
        with self._db.write(None) as tx:
            tx.run("engine.register", {"value": f"{self._place} {name}"})
        with self._lock:
            self._index = (name, index)
        self._remove_others(name)
        return made

    def _all(self, index: VectorIndex) -> Iterator[list[Embedded]]:
        for scope in self._db.owners():
            with self._db.write(scope):
                pass  # who began to write before changes were noted has ended: what they wrote is read
            for tier in TIERS:
                after = 0
                while True:
                    with self._db.read(scope) as tx:
                        params = {"tier": tier, "after": after, "limit": BATCH}
                        rows = tx.run("engine.all", params).fetchall() if _there(tx) else []
                        items = self._items(tx, tier, rows) if rows else []
                    if not items:
                        break
                    index.put(items, fresh=True)
                    yield items
                    after = rows[-1][1]

    def _total(self, dim: int) -> tuple[int, bool]:
        """How many vectors the store has, and whether some of them are still to be told."""
        total, waiting = 0, False
        for scope in self._db.owners():
            with self._db.read(scope) as tx:
                if _there(tx):
                    total += tx.one("engine.total", {"dim": dim}) or 0
                    waiting = waiting or tx.run("engine.changes", {"limit": 1}).fetchone() is not None
        return total, waiting

    def _registered(self, tx: Tx) -> str | None:
        """The name of the index in use, if it is at the place this process has set."""
        row = tx.run("engine.state").fetchone()
        place, _, name = str(row[0]).partition(" ") if row else ("", "", "")
        return name if place == self._place and name.startswith(PREFIX) else None

    def _opened(self, tx: Tx, name: str) -> VectorIndex:
        with self._lock:
            known = self._index
        if known is not None and known[0] == name:
            return known[1]
        model = _model(tx)
        if model is None:
            raise EngineFailed("there are no vectors yet")
        index = self._engine_now().open(name, model[1])
        with self._lock:
            self._index = (name, index)
        return index

    def _engine_now(self, *, mend: bool = False) -> Engine:
        with self._lock:
            if self._engine is None:
                self._engine = self._connect(mend=mend)
            return self._engine

    def _name(self) -> str:
        """A name for a new index: that of the store's first, so that those of others are never removed, and its own."""
        with self._db.write(None) as tx:
            row = tx.run("engine.store").fetchone()
            store = str(row[0]) if row else secrets.token_hex(6)
            if row is None:
                tx.run("engine.name_store", {"value": store})
        return f"{PREFIX}{store}_{secrets.token_hex(4)}"

    def _remove_others(self, name: str | None) -> None:
        """Take away indexes of this store that are not in use: those of old models, and of a making that was killed."""
        with self._db.read(None) as tx:
            row = tx.run("engine.store").fetchone()
        if row is None:
            return
        engine = self._engine_now()
        for other in engine.names(f"{PREFIX}{row[0]}_"):
            if other != name:
                engine.remove(other)


def key_of(owner: int) -> str:
    """An owner as the engine knows it."""
    return f"o{owner:x}"


def vectors_of(blob: bytes, dim: int, half: str) -> Matrix:
    """Vectors as the store has them, as numbers."""
    import numpy as np

    return np.frombuffer(blob, dtype=half).astype(np.float32).reshape(-1, dim)


def _model(tx: Tx) -> tuple[str, int] | None:
    row: Any = tx.run("vectors.active").fetchone()
    return None if row is None else (row[1], row[2])


def _there(tx: Tx) -> bool:
    """Whether the owner this transaction is for has anything here."""
    return tx.scope is None or tx.rows is not None
