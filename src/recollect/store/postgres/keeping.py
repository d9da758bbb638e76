"""Looking after a PostgreSQL store: one owner after the other, each in a transaction of its own.

What is deleted is gone from every query at once. Its bytes go from the tables' files when PostgreSQL vacuums them, and
from its write-ahead log and from backups when those are recycled: a receipt says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import sha256

from recollect.store.ports.keeping import Health, Size
from recollect.store.postgres import lifecycle
from recollect.store.postgres.bodies import PostgresBodies
from recollect.store.postgres.database import Database
from recollect.store.postgres.schema import SCHEMA
from recollect.store.rows import index
from recollect.store.rows.keeping import RowKeeping
from recollect.store.rows.use import RowUse
from recollect.store.rows.vectors import active_model

REMAINS = (
    "the server's table files, until `recollect maintain --job scrub` writes them anew",
    "the server's write-ahead log, until it is used again, and wherever it is archived or replicated to",
)
_COUNTED = ("sessions", "events", "turns", "gists", "memories", "vectors", "pending")


class PostgresKeeping(RowKeeping):
    """Forgetting, upkeep and health of one database."""

    _db: Database

    def __init__(self, database: Database, bodies: PostgresBodies, use: RowUse) -> None:
        super().__init__(database, bodies, use)

    def _scrub(self) -> tuple[str, ...]:
        """The files are the server's: what was deleted is gone for every query; its bytes go when it writes anew."""
        return REMAINS if self.scrub_due() else ()

    def rebuild(self, stop: Callable[[], bool] = lambda: False) -> Mapping[str, int]:
        """Make the full-text index again from the rows, one owner at a time."""
        counts: Counter[str] = Counter()
        for scope in self._db.owners():
            if stop():
                return dict(counts)
            with self._db.write(scope) as tx:
                counts.update(index.rebuild(tx))
        with self._db.write(None) as tx:
            index.set_current(tx)
        return dict(counts)

    def reindex(self) -> Mapping[str, int]:
        """Make the words of every owner again, then the server's own indexes of words and vectors."""
        counts = dict(self.rebuild())
        return {**counts, "indexes": lifecycle.reindex(self._db)}

    def vacuum(self, *, full: bool = False) -> Mapping[str, int]:
        """Let the server use the room of deleted rows again; with `full`, write every table anew without them."""
        done: dict[str, int] = {}

        def vacuumed() -> bool:
            done.update(lifecycle.vacuum(self._db, full=full))
            return True

        if full:
            self._scrubbed(vacuumed)
        else:
            vacuumed()
        return done

    def sizes(self) -> list[Size]:
        """What each table takes, the largest first; the rows are an estimate."""
        with self._db.read(None) as tx:
            return [Size(*row) for row in tx.run("keeping.sizes", {"schema": SCHEMA})]

    def health(self, *, deep: bool) -> Health:
        """Counts and sizes; with `deep`, every hash is checked."""
        with self._db.read(None) as tx:
            counts = dict(zip(_COUNTED, tx.row("keeping.counts"), strict=True))
            model = active_model(tx)
            size = tx.one("keeping.size") or 0
        checks = self._checks() if deep else {}
        return Health(counts, counts.pop("pending"), model and model[1:], {"database": size}, checks)

    def _checks(self) -> dict[str, str]:
        bad: dict[str, list[str]] = {"event hashes": [], "memory hashes": []}
        for scope in self._db.owners():
            with self._db.read(scope) as tx:
                for what in ("event", "memory"):
                    bad[f"{what} hashes"] += [
                        id_.hex() if isinstance(id_, bytes) else id_
                        for id_, text, digest in tx.run(f"keeping.{what}_texts")
                        if sha256(text).digest() != digest
                    ]
        bad["bodies"] = self._bodies.damaged()
        return {
            name: f"{len(found)} changed from outside: {', '.join(found[:5])}" for name, found in bad.items() if found
        }
