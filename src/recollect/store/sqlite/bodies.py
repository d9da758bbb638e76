"""Bodies beside the database: one compressed file each, named by the hash of what it holds, under the owner's number.

A file is whole or not there (temporary name, fsync, rename) and is on the disk before the row that names it is
committed. A file is deleted only where no row names it, looked up in a write of its own; what a process that died left
behind goes at the next `tidy`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from recollect.errors import StoreFull, StoreUnavailable
from recollect.model import Body, Scope
from recollect.store.rows.bodies import RowBodies, packed, unpacked
from recollect.store.rows.tx import Tx
from recollect.store.sqlite.database import Database

BODIES = "bodies"  # their folder in the data directory


class SqliteBodies(RowBodies):
    """Body files of one data directory."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._folder = database.path.parent / BODIES

    def keep(self, tx: Tx, owner: int, body: Body) -> None:
        if body.data is None:
            return
        path = self._path(owner, body.hash)
        stored = path.stat().st_size if path.exists() else write_body(path, packed(body.data))
        self._add(tx, owner, body, stored, None)

    def mend(self, tx: Tx, owner: int, body: Body) -> None:
        path = self._path(owner, body.hash)
        if body.data is not None and not path.exists() and self._is_named(tx, owner, bytes.fromhex(body.hash)):
            write_body(path, packed(body.data))

    def _content(self, tx: Tx, owner: int, body_hash: str) -> bytes | None:
        try:
            return unpacked(self._path(owner, body_hash).read_bytes(), body_hash)
        except FileNotFoundError:
            return None

    def remove(self, scope: Scope | None, owner: int, hashes: list[bytes]) -> None:
        self._delete(owner, [self._path(owner, body_hash.hex()) for body_hash in hashes])

    def tidy(self, scope: Scope) -> int:
        """Take away what a process that died left behind: files and rows of bodies that nothing names."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return 0
            named = {f"{body_hash.hex()}.zst" for (body_hash,) in tx.run("capture.body_rows", rows.params())}
            orphans = tx.run("capture.unreferenced", rows.params()).fetchall()
        files = [path for path in (self._folder / str(rows.owner)).glob("*/*") if path.name not in named]
        if orphans:
            with self._db.write(scope) as tx:
                files += [self._path(rows.owner, gone.hex()) for gone in self.sweep_unreferenced(tx, rows.owner)]
        return self._delete(rows.owner, files) if files else 0

    def _delete(self, owner: int, paths: list[Path]) -> int:
        """Delete the files of bodies that no row names, now that nobody can be adding one; returns how many."""
        gone = 0
        with self._db.write(None) as tx:
            for path in paths:
                if not (path.suffix == ".zst" and self._is_named(tx, owner, _hash_of(path))):
                    path.unlink(missing_ok=True)
                    gone += 1
        return gone

    def _path(self, owner: int, body_hash: str) -> Path:
        return body_path(self._folder, owner, body_hash)


def body_path(folder: Path, owner: int, body_hash: str) -> Path:
    """Where a body lies."""
    return folder / str(owner) / body_hash[:2] / f"{body_hash}.zst"


def _hash_of(path: Path) -> bytes:
    try:
        return bytes.fromhex(path.stem)
    except ValueError:
        return b""


def write_body(path: Path, data: bytes) -> int:
    """A whole private file under its final name, on the disk, or none; returns its size."""
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
