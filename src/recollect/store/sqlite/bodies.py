"""Bodies beside the rows: one compressed file each, named by the hash of what it holds, under the owner's number.

A file is whole or not there (temporary name, fsync, rename) and is written before the row that names it. Evicting takes
the bytes and keeps the row with its hash and size. The retention clock counts how long Recollect has been in use; it
moves at most a day from one look to the next, so a wall clock that jumps cannot age anything away.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from datetime import datetime
from pathlib import Path

import apsw

from recollect.clock import from_iso, iso
from recollect.errors import StoreCorrupt, StoreFull, StoreUnavailable
from recollect.model import Body, Scope
from recollect.store.port import RawUse
from recollect.store.sql import load_queries
from recollect.store.sqlite import scoping
from recollect.store.sqlite.database import Database

_Q = load_queries(Path(__file__).parent / "queries" / "capture.sql")
_DAY = 86_400.0
MAX_BYTES = 256 << 20


class SqliteBodies:
    """Body files of one data directory, and their rows."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._folder = database.path.parent / "bodies"

    def keep(self, scope: Scope, body: Body) -> None:
        """Write a body's bytes, unless they are there."""
        if body.data is None:
            return
        with self._db.write() as connection:
            owner = scoping.ensure(connection, scope.within(None)).owner
            path = self._path(owner, body.hash)
            if path.exists():
                stored = path.stat().st_size
            else:
                import zstandard

                stored = _write(path, zstandard.ZstdCompressor(level=3).compress(body.data))
            params = {"owner": owner, "hash": bytes.fromhex(body.hash), "media": body.media, "bytes": body.size}
            connection.execute(_Q["add_body"], {**params, "stored": stored, "born": _clock(connection)[0]})

    def get(self, scope: Scope, body_hash: str) -> bytes | None:
        """The bytes of a body; None when it was never there or was evicted."""
        with self._db.read() as connection:
            rows = scoping.find(connection, scope)
            params = {**rows.params(), "hash": bytes.fromhex(body_hash)} if rows else {}
            found = connection.execute(_Q["body"], params).fetchone() if rows else None
        if rows is None or found is None:
            return None
        import zstandard

        try:
            packed = self._path(rows.owner, body_hash).read_bytes()
            data = zstandard.ZstdDecompressor().decompress(packed, max_output_size=MAX_BYTES)
        except FileNotFoundError:
            return None
        except zstandard.ZstdError as error:
            raise StoreCorrupt(f"the body {body_hash} is damaged ({error})") from None
        if hashlib.sha256(data).hexdigest() != body_hash:
            raise StoreCorrupt(f"the body {body_hash} does not match its hash")
        return data

    def use(self, scope: Scope) -> list[RawUse]:
        """What each session's bodies take on disk, those that came first first."""
        with self._db.read() as connection:
            rows = scoping.find(connection, scope)
            if rows is None:
                return []
            found = connection.execute(_Q["raw_use"], rows.params())
            return [RawUse(session, size, bool(digested), born) for session, size, digested, born in found]

    def evict(self, scope: Scope, session: str, *, at: datetime, undigested: bool = False) -> int:
        """Take the bytes of a session's bodies; returns how many were freed.

        Without `undigested` a session whose digest does not cover it is left alone, and so is a body that another such
        session shares: checked here, in the transaction, whatever the caller believed.
        """
        with self._db.write() as connection:
            rows = scoping.find(connection, scope)
            row = rows and scoping.one(connection, _Q["session_row"], {**rows.params(), "id": session})
            if not rows or not row:
                return 0
            if not undigested and not scoping.one(connection, _Q["is_digested"], {"session": row}):
                return 0
            params = {"session": row, "owner": rows.owner, "undigested": undigested}
            found = list(connection.execute(_Q["evictable"], params))
            for body_hash, _ in found:
                connection.execute(_Q["evict"], {"owner": rows.owner, "hash": body_hash, "at": iso(at)})
        for body_hash, _ in found:
            self._path(rows.owner, body_hash.hex()).unlink(missing_ok=True)
        return sum(stored for _, stored in found)

    def tick(self, now: datetime) -> float:
        """Move the retention clock on to now and return it: never back, never more than a day at once."""
        with self._db.write() as connection:
            passed, last = _clock(connection)
            step = 0.0 if last is None else min(max(0.0, (now - last).total_seconds()), _DAY)
            connection.execute(_Q["set_clock"], {"value": f"{passed + step} {iso(now)}"})
        return passed + step

    def sweep_unreferenced(self, connection: apsw.Connection, owner: int) -> list[Path]:
        """Rows of bodies no event names any more are dropped; the caller deletes the files returned after commit."""
        gone = list(connection.execute(_Q["unreferenced"], {"owner": owner}))
        for _, body_hash in gone:
            connection.execute(_Q["drop_body"], {"owner": owner, "hash": body_hash})
        return [self._path(owner, body_hash.hex()) for _, body_hash in gone]

    def _path(self, owner: int, body_hash: str) -> Path:
        return self._folder / str(owner) / body_hash[:2] / f"{body_hash}.zst"


def _clock(connection: apsw.Connection) -> tuple[float, datetime | None]:
    row = connection.execute(_Q["clock"]).fetchone()
    if row is None:
        return 0.0, None
    passed, _, at = row[0].partition(" ")
    return float(passed), from_iso(at)


def _write(path: Path, data: bytes) -> int:
    """A whole private file under its final name, or none."""
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        for folder in (path.parent.parent.parent, path.parent.parent, path.parent):
            folder.mkdir(mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if error.errno == 28:  # ENOSPC
            raise StoreFull() from None
        raise StoreUnavailable(f"the body {path.name} cannot be written: {error.strerror}") from None
    return len(data)
