"""Bodies beside the rows: one compressed file each, named by the hash of what it holds, under the owner's number.

A file is whole or not there (temporary name, fsync, rename) and is on the disk before the row that names it is
committed. Evicting takes the bytes and keeps the row with its hash and size. A file is deleted only where no row names
it, looked up in a write of its own; what a process that died left behind goes at the next `tidy`. The retention clock
counts how long Recollect has been in use; it moves at most a day from one look to the next, so a wall clock that jumps
cannot age anything away.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from recollect.clock import from_iso, iso
from recollect.errors import StoreCorrupt, StoreFull, StoreUnavailable
from recollect.model import Body, Scope
from recollect.store.port import Evicted, RawUse
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

    def keep(self, connection: apsw.Connection, owner: int, body: Body) -> None:
        """Within the write that adds its event: the bytes of a body, unless they are there, and its row."""
        if body.data is None:
            return
        path = self._path(owner, body.hash)
        stored = path.stat().st_size if path.exists() else _write(path, body.data)
        params = {"owner": owner, "hash": bytes.fromhex(body.hash), "media": body.media, "bytes": body.size}
        connection.execute(_Q["add_body"], {**params, "stored": stored, "born": _clock(connection)[0]})

    def knows(self, connection: apsw.Connection, owner: int, body: Body) -> bool:
        """Whether there is a row of this body, its bytes evicted or not."""
        params = {"owner": owner, "hash": bytes.fromhex(body.hash)}
        return connection.execute(_Q["has_body"], params).fetchone() is not None

    def mend(self, connection: apsw.Connection, owner: int, body: Body) -> None:
        """Within a write that saw a known event again: write the bytes that should be there and are not."""
        path = self._path(owner, body.hash)
        if body.data is not None and not path.exists() and _is_named(connection, owner, bytes.fromhex(body.hash)):
            _write(path, body.data)

    def get(self, scope: Scope, body_hash: str) -> bytes | None:
        """The bytes of a body; None when it was never there or was evicted."""
        with self._db.read() as connection:
            rows = scoping.find(connection, scope)
            params = {**rows.params(), "hash": bytes.fromhex(body_hash)} if rows else {}
            found = connection.execute(_Q["body"], params).fetchone() if rows else None
        return None if rows is None or found is None else self._content(rows.owner, body_hash)

    def _content(self, owner: int, body_hash: str) -> bytes | None:
        import zstandard

        try:
            packed = self._path(owner, body_hash).read_bytes()
            data = zstandard.ZstdDecompressor().decompress(packed, max_output_size=MAX_BYTES)
        except FileNotFoundError:
            return None
        except zstandard.ZstdError as error:
            raise StoreCorrupt(f"the body {body_hash} is damaged ({error})") from None
        if hashlib.sha256(data).hexdigest() != body_hash:
            raise StoreCorrupt(f"the body {body_hash} does not match its hash")
        return data

    def use(self, scope: Scope) -> list[RawUse]:
        """What each session's bodies take on disk, the oldest first; one that several share counts with the first."""
        with self._db.read() as connection:
            rows = scoping.find(connection, scope)
            if rows is None:
                return []
            found = connection.execute(_Q["raw_use"], rows.params())
            return [RawUse(session, size, bool(digested), born) for session, size, digested, born in found]

    def evict(self, scope: Scope, session: str, *, at: datetime, undigested: bool = False) -> Evicted:
        """Take the bytes of a session's bodies; tells how many were freed, and who lost some before its digest.

        Without `undigested` a session whose digest does not cover it is left alone, and so is a body that another such
        session shares: checked here, in the transaction, whatever the caller believed.
        """
        with self._db.write() as connection:
            rows = scoping.find(connection, scope)
            row = rows and scoping.one(connection, _Q["session_row"], {**rows.params(), "id": session})
            if not rows or not row:
                return Evicted(0, ())
            if not undigested and not scoping.one(connection, _Q["is_digested"], {"session": row}):
                return Evicted(0, ())
            params = {"session": row, "owner": rows.owner, "undigested": undigested}
            found = dict(connection.execute(_Q["evictable"], params))
            lost: dict[str, None] = {}
            for body_hash in found:
                lost |= dict.fromkeys(
                    id_ for (id_,) in connection.execute(_Q["not_digested"], {**rows.params(), "hash": body_hash})
                )
                connection.execute(_Q["evict"], {"owner": rows.owner, "hash": body_hash, "at": iso(at)})
        self.remove(rows.owner, [self._path(rows.owner, body_hash.hex()) for body_hash in found])
        return Evicted(sum(found.values()), tuple(lost))

    def tidy(self, scope: Scope) -> int:
        """Take away what a process that died left behind: files and rows of bodies that nothing names."""
        with self._db.read() as connection:
            rows = scoping.find(connection, scope)
            if rows is None:
                return 0
            named = {f"{body_hash.hex()}.zst" for (body_hash,) in connection.execute(_Q["body_rows"], rows.params())}
            orphans = connection.execute(_Q["unreferenced"], rows.params()).fetchall()
        files = [path for path in (self._folder / str(rows.owner)).glob("*/*") if path.name not in named]
        if orphans:
            with self._db.write() as connection:
                files += self.sweep_unreferenced(connection, rows.owner)
        return self.remove(rows.owner, files) if files else 0

    def damaged(self) -> list[str]:
        """The hashes of the bodies that are not what they were, or not there, of every owner."""
        with self._db.read() as connection:
            rows: list[Any] = connection.execute(_Q["every_body"]).fetchall()
        return [body_hash.hex() for owner, body_hash in rows if not self._is_whole(owner, body_hash.hex())]

    def _is_whole(self, owner: int, body_hash: str) -> bool:
        try:
            return self._content(owner, body_hash) is not None
        except StoreCorrupt:
            return False

    def remove(self, owner: int, paths: list[Path]) -> int:
        """Delete the files of bodies that no row names, now that nobody can be adding one; returns how many."""
        gone = 0
        with self._db.write() as connection:
            for path in paths:
                if not (path.suffix == ".zst" and _is_named(connection, owner, _hash_of(path))):
                    path.unlink(missing_ok=True)
                    gone += 1
        return gone

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


def _is_named(connection: apsw.Connection, owner: int, body_hash: bytes) -> bool:
    params = {"owner": owner, "hash": body_hash}
    return connection.execute(_Q["is_named"], params).fetchone() is not None


def _hash_of(path: Path) -> bytes:
    try:
        return bytes.fromhex(path.stem)
    except ValueError:
        return b""


def _write(path: Path, content: bytes) -> int:
    """A whole private file under its final name, on the disk, or none; returns its size."""
    import zstandard

    data = zstandard.ZstdCompressor(level=3).compress(content)
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        for folder in (path.parent.parent.parent, path.parent.parent, path.parent):
            if not folder.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
                _sync(folder.parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if error.errno == 28:  # ENOSPC
            raise StoreFull() from None
        raise StoreUnavailable(f"the body {path.name} cannot be written: {error.strerror}") from None
    return len(data)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
