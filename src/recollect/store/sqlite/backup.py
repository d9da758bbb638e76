"""Copies of a live database: made through SQLite's backup, checked whole before they get their name.

The file is never copied byte by byte while it is open; a backup that cannot be verified is not kept, and one that was
cut or changed is refused when it is restored.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from hashlib import sha256
from pathlib import Path

import apsw

from recollect.errors import InvalidInput, StoreFull, StoreUnavailable
from recollect.store import datadir
from recollect.store.sql import load_queries
from recollect.store.sqlite.database import APPLICATION_ID, Database, translated

_PAGES = 1_000
_Q = load_queries(Path(__file__).parent / "queries" / "backup.sql")
_TRUTH = [name for name in _Q if name not in ("seal", "sealed")]


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
            copy.execute(_Q["seal"], {"digest": digest(copy)})
        verify(part)
        _settle(part, target)
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
            sealed = copy.execute(_Q["sealed"]).fetchone()
            if sealed is None or sealed[0] != digest(copy):
                raise InvalidInput(f"the backup {path} was changed after it was made")
            return int(copy.pragma("user_version"))
    except (apsw.Error, UnicodeDecodeError) as error:
        raise InvalidInput(f"the backup {path} is damaged or cut short ({error})") from None


def digest(connection: apsw.Connection) -> str:
    """SHA-256 over every row of every table that is not derived."""
    total = sha256()
    for name in _TRUTH:
        for row in connection.execute(_Q[name]):
            total.update(repr(row).encode("utf-8", "surrogatepass"))
    return total.hexdigest()


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
        _settle(part, database_path)
    except OSError as error:
        kind = StoreFull if error.errno == errno.ENOSPC else StoreUnavailable
        raise kind(f"the backup could not be put into {database_path.parent}: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)


def _settle(part: Path, target: Path) -> None:
    """Make the file durable, then give it its name, then make the name durable."""
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.replace(target)
    if os.name == "posix":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
