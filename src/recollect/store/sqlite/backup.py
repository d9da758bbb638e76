"""Copies of a live database: made through SQLite's backup, checked whole before they get their name.

The file is never copied byte by byte while it is open; a backup that cannot be verified is not kept, and one that was
cut or changed is refused when it is restored. Bodies, which lie in files beside the database, are in the copy as rows,
and become files again.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import apsw

from recollect.clock import iso, now
from recollect.errors import InvalidInput, StoreFull, StoreUnavailable
from recollect.store import datadir
from recollect.store.sql import load_queries
from recollect.store.sqlite.bodies import BODIES, body_path, write_body
from recollect.store.sqlite.catalog import selecting
from recollect.store.sqlite.database import APPLICATION_ID, Database, translated

_PAGES = 1_000
_Q = load_queries(Path(__file__).parent / "queries" / "backup.sql")
_FIRST = ("owners projects sessions turns events gists memories memory_versions tombstones audit").split()


def backup(database: Database, target: Path) -> int:
    """Write a verified copy to `target` (which must not exist) and return its size."""
    if target.exists():
        raise InvalidInput(f"{target} exists already", hint="Give the backup a name of its own.")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        datadir.create_private(part)
        # A snapshot, because a plain connection would make the copy start over at every write of another process.
        with (
            translated(target),
            database.snapshot(None) as moment,
            contextlib.closing(apsw.Connection(str(part))) as copy,
        ):
            with copy.backup("main", moment.connection, "main") as job:
                while not job.done:
                    job.step(_PAGES)
            copy.execute("PRAGMA journal_mode = delete")  # one file, with nothing beside it
            copy.execute("BEGIN IMMEDIATE")
            _take_bodies(copy, database.path.parent / BODIES)
            copy.execute(_Q["seal"], {"digest": digest(copy)})
            copy.execute("COMMIT")
        verify(part)
        datadir.settle(part, target)
    finally:
        part.unlink(missing_ok=True)
    return target.stat().st_size


def verify(path: Path) -> int:
    """The schema number of a whole, unchanged backup; else InvalidInput saying what is wrong with it."""
    if not path.is_file():
        raise InvalidInput(f"there is no backup {path}")
    try:
        uri = path.resolve().as_uri() + "?mode=ro&immutable=1"
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        with contextlib.closing(apsw.Connection(uri, flags=flags)) as copy:
            copy.execute("PRAGMA trusted_schema = off")
            if path.stat().st_size != copy.pragma("page_count") * copy.pragma("page_size"):
                raise InvalidInput(f"the backup {path} is cut short")
            if int(copy.pragma("application_id")) != APPLICATION_ID:
                raise InvalidInput(f"{path} is not a Recollect backup")
            verdict = [row[0] for row in copy.execute("PRAGMA integrity_check(1)")]
            if verdict != ["ok"]:
                raise InvalidInput(f"the backup {path} is damaged: {verdict[0]}")
            if not _is_sealed(copy):
                raise InvalidInput(f"the backup {path} was changed after it was made")
            return int(copy.pragma("user_version"))
    except (apsw.Error, UnicodeDecodeError) as error:
        raise InvalidInput(f"the backup {path} is damaged or cut short ({error})") from None


def digest(connection: apsw.Connection) -> str:
    """SHA-256 over every row of every table that is not derived, by the catalog."""
    total = sha256()
    tables: list[Any] = connection.execute(_Q["tables"]).fetchall()
    for name, columns in tables:
        total.update(f"{name} {columns}".encode())
        for row in connection.execute(selecting(name, json.loads(columns))):
            total.update(repr(row).encode("utf-8", "surrogatepass"))
    return total.hexdigest()


def _is_sealed(copy: apsw.Connection) -> bool:
    """Whether the digest fits; of a backup from before every table was in it, that of the tables which were."""
    seals = dict(copy.execute(_Q["seals"]))
    if "backup_seal" in seals:
        return bool(seals["backup_seal"] == digest(copy))
    total = sha256()
    for name in _FIRST:
        for row in copy.execute(_Q[name]):
            total.update(repr(row).encode("utf-8", "surrogatepass"))
    return bool(seals.get("backup_digest") == total.hexdigest())


def _take_bodies(copy: apsw.Connection, folder: Path) -> None:
    """The bytes of every body that is there, into the copy."""
    copy.execute(_Q["make_body_files"])
    kept: list[Any] = copy.execute(_Q["kept_bodies"]).fetchall()
    with copy:
        for owner, body_hash in kept:
            try:
                data = body_path(folder, owner, body_hash.hex()).read_bytes()
            except FileNotFoundError:
                continue  # evicted or forgotten since
            copy.execute(_Q["add_body_file"], {"owner": owner, "hash": body_hash, "data": data})


def _put_bodies(part: Path, folder: Path, at: str) -> None:
    """The bodies of a copy as files again; one that is not in it is known as evicted."""
    with contextlib.closing(apsw.Connection(str(part))) as copy:
        copy.execute("PRAGMA trusted_schema = off")
        if copy.execute(_Q["has_body_files"]).fetchone() is not None:
            files: Iterable[Any] = copy.execute(_Q["body_files"])
            for owner, body_hash, data in files:
                if not (isinstance(owner, int) and isinstance(body_hash, bytes) and len(body_hash) == 32):
                    raise InvalidInput("the backup has a body that is none")  # its name becomes a path
                write_body(body_path(folder, owner, body_hash.hex()), bytes(data))
            copy.execute(_Q["evict_missing"], {"at": at})
            copy.execute(_Q["drop_body_files"])
        else:
            copy.execute(_Q["evict_all"], {"at": at})


def restore(source: Path, database_path: Path) -> None:
    """Put a verified backup in the place of a database that is not there; never over one that is."""
    if database_path.exists() and database_path.stat().st_size:
        raise StoreUnavailable(
            f"there is a database at {database_path} already",
            hint="Restore into an empty data directory, or move the old one away first.",
        )
    for left in ("-wal", "-journal"):
        if database_path.with_name(database_path.name + left).exists():
            raise StoreUnavailable(
                f"there is a {database_path.name}{left} without its database in the data directory",
                hint="Move it away: it would be mixed into what is restored.",
            )
    verify(source)
    part = database_path.with_name(f".{database_path.name}.{os.getpid()}.part")
    try:
        datadir.create_private(part)
        shutil.copyfile(source, part)
        verify(part)
        _put_bodies(part, database_path.parent / BODIES, iso(now()))
        datadir.settle(part, database_path)
    except OSError as error:
        kind = StoreFull if error.errno == errno.ENOSPC else StoreUnavailable
        raise kind(f"the backup could not be put into {database_path.parent}: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)
