"""Looking after one SQLite file: forget leaves no byte, everything derived can be made again.

Deleted content is overwritten (secure_delete, FTS5 secure-delete) and the write-ahead log emptied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256

import apsw

from recollect.model import TIERS
from recollect.store.ports.keeping import Health, Size
from recollect.store.rows import index
from recollect.store.rows.keeping import RowKeeping
from recollect.store.rows.use import RowUse
from recollect.store.rows.vectors import active_model
from recollect.store.sqlite.bodies import SqliteBodies
from recollect.store.sqlite.database import WAL_ALARM_BYTES, Database

_LOGGED = ("the write-ahead log or slack of the file: a reader or a full disk kept it from being written anew",)
_MERGED_PAGES = 500  # of the full-text index, written in one transaction: some 20 ms
_COUNTED = ("sessions", "events", "turns", "gists", "memories", "vectors", "pending")


class SqliteKeeping(RowKeeping):
    """Forgetting, upkeep and health of one SQLite file."""

    _db: Database

    def __init__(self, database: Database, bodies: SqliteBodies, use: RowUse) -> None:
        super().__init__(database, bodies, use)

    def _scrub(self) -> tuple[str, ...]:
        """Leave no byte of what was deleted, now or, when a reader or a full disk prevents it, at the next upkeep."""
        if not self.scrub_due():
            return () if self._db.checkpoint() else _LOGGED
        if not self._scrubbed(self._db.scrub):
            self._db.checkpoint()
            return _LOGGED
        return () if self._db.checkpoint() else _LOGGED

    def vacuum(self, *, full: bool = False) -> Mapping[str, int]:
        """Let SQLite learn anew how its indexes are used; with `full`, write the whole file anew without its gaps."""
        before = self._db.path.stat().st_size
        self._merge_words()
        with self._db.write(None) as tx:
            tx.run("keeping.optimize")
            if full:
                tx.run("keeping.scrub_due")
        self._scrub()
        return {"freed": max(0, before - self._db.path.stat().st_size)}

    def _merge_words(self) -> None:
        """Make one segment of the many that writing left of the full-text index; no writer waits for all of it."""
        for tier in TIERS:
            pages, more = -_MERGED_PAGES, True
            while more:
                with self._db.write(None) as tx:
                    changes = tx.connection.total_changes()
                    tx.run(f"keeping.merge_{tier}", {"pages": pages})
                    more = tx.connection.total_changes() - changes > 1  # FTS5: fewer than two, and it is done
                pages = _MERGED_PAGES

    def reindex(self) -> Mapping[str, int]:
        """Make every index of the database again, the full-text index too."""
        with self._db.write(None) as tx:
            tx.run("keeping.reindex")
        return self.rebuild()

    def sizes(self) -> list[Size]:
        """What each table takes, the largest first."""
        with self._db.read(None) as tx:
            return [Size(*row) for row in tx.run("keeping.pages")]

    def rebuild(self, stop: Callable[[], bool] = lambda: False) -> Mapping[str, int]:
        """Make the full-text index again from the rows; readers see the old one until the new one is whole."""
        with self._db.write(None) as tx:
            counts = index.rebuild(tx)
            index.set_current(tx)
            return counts

    def health(self, *, deep: bool) -> Health:
        """Counts and sizes; with `deep`, every page, every index and every hash is checked."""
        with self._db.read(None) as tx:
            row = tx.row("keeping.counts", {})
            model = active_model(tx)
        checks = self._checks() if deep else {}
        counts = dict(zip(_COUNTED, row, strict=True))
        sizes = {"database": self._db.path.stat().st_size, "wal": self._db.wal_bytes()}
        if sizes["wal"] > WAL_ALARM_BYTES:
            checks["wal"] = f"the write-ahead log has {sizes['wal']:,} bytes: a reader holds an old snapshot"
        if not self._db.wal:
            checks["sqlite"] = (
                f"SQLite {apsw.sqlite_lib_version()} can lose commits in WAL mode, so WAL is off: writes are slower"
            )
        return Health(counts, counts.pop("pending"), model and model[1:], sizes, checks)

    def _checks(self) -> dict[str, str]:
        """Everything wrong with the file, by name. PRAGMA integrity_check looks into the full-text indexes too."""
        checks = {}
        with self._db.fresh() as tx:
            verdict = [row[0] for row in tx.run("keeping.integrity")]
            if verdict != ["ok"]:
                checks["pages"] = "; ".join(verdict)
            for what in ("event", "memory"):
                rows = tx.run(f"keeping.{what}_texts")
                bad = [
                    _name(id_)
                    for id_, text, digest in rows
                    if not isinstance(text, bytes) or sha256(text).digest() != digest
                ]
                if bad:
                    checks[f"{what} hashes"] = f"{len(bad)} changed from outside: {', '.join(bad[:5])}"
        if bad := self._bodies.damaged():
            checks["bodies"] = f"{len(bad)} damaged or missing: {', '.join(bad[:5])}"
        return checks


def _name(id_: str | bytes) -> str:
    return id_.hex() if isinstance(id_, bytes) else id_
