"""One SQLite file: opened, migrated, read and written safely by many threads and processes.

Invariants: every write is one `BEGIN IMMEDIATE` transaction that waits its turn; WAL with synchronous=FULL, so an
acknowledged write survives power loss; a SQLite with the WAL-reset race never runs WAL; a handle does not cross fork().
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from errno import EACCES, EPERM, EROFS
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from recollect.errors import (
    ForkedHandle,
    InvalidInput,
    RecollectError,
    ScopeError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreTooNew,
    StoreUnavailable,
)
from recollect.model import KEEPER, Scope, Tier
from recollect.store import datadir
from recollect.store.rows.index import texts_of
from recollect.store.rows.tx import MAY_ONLY_READ, Answer, Rare, Tx, require_member
from recollect.store.searchtext import index_text
from recollect.store.sql import Queries, load_migrations
from recollect.store.stems import stems
from recollect.store.terms import Terms, terms_in

if TYPE_CHECKING:
    from recollect.store.rows.matrix import VectorView

try:
    import fcntl
except ImportError:  # Windows: SQLite's own locks are all there is
    fcntl = None  # type: ignore[assignment]

APPLICATION_ID = 0x52434C54  # "RCLT"
BUSY_SECONDS = 30.0
WAL_ALARM_BYTES = 64 * 1024 * 1024
_CHECKPOINT_MS = 1_000
MANY = 20_000  # memories of an owner from which tags are looked up in the full-text index
FEW = 2_000  # memories with a tag up to which that is quicker than to look at the newest
_REPAIR = "Run `recollect doctor --repair`: it keeps the damaged file aside and saves every readable row."
_PRAGMAS: dict[str, str | int] = {
    "synchronous": "full",
    "fullfsync": "on",
    "foreign_keys": "on",
    "secure_delete": "on",
    "trusted_schema": "off",
    "journal_size_limit": 4 * 1024 * 1024,
    "cache_size": -16 * 1024,
    "temp_store": "memory",
}
_MIGRATIONS = Path(__file__).parent / "migrations"
QUERIES = Queries(Path(__file__).parent / "queries")
_NOTHING: Mapping[str, object] = {}


def is_wal_reset_vulnerable(version: str) -> bool:
    """Whether this SQLite can lose acknowledged commits when a checkpoint overlaps a commit (fixed in 3.51.3)."""
    number = tuple(int(part) for part in version.split(".")[:3])
    if (3, 44, 6) <= number < (3, 45) or (3, 50, 7) <= number < (3, 51):
        return False  # the fix was carried back to these lines
    return (3, 7, 0) <= number < (3, 51, 3)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors as ours, each with what to do."""
    try:
        yield
    except RecollectError:
        raise
    except apsw.BusyError:
        raise StoreBusy(hint="Another process is writing a lot; the write was not made.") from None
    except apsw.FullError:
        raise StoreFull() from None
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreCorrupt(
            f"the database {path} is damaged ({error})",
            hint=_REPAIR,
        ) from error
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, apsw.IOError) as error:
        raise StoreUnavailable(
            f"the database {path} cannot be used ({error})", hint="Check that the disk and directory can be written."
        ) from None
    except UnicodeEncodeError:
        raise InvalidInput("the text holds a character that cannot be stored") from None
    except ValueError as error:  # what was read is not what was written: not UTF-8, not a time, not JSON
        raise StoreCorrupt(f"the database {path} holds a damaged value ({error})", hint=_REPAIR) from error
    except apsw.Error as error:
        raise StoreError(f"the database {path} refused that ({error})") from error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Like `translated`, where a value of another type than was written is damage too.

    Only while reading: code that writes raises such errors when it is wrong itself, and that must show.
    """
    with translated(path):
        try:
            yield
        except (TypeError, AttributeError) as error:
            raise StoreCorrupt(f"the database {path} holds a damaged value ({error})", hint=_REPAIR) from error


class SqliteTx(Tx):
    """A transaction on one connection."""

    violated = apsw.ConstraintError

    def __init__(self, connection: apsw.Connection, scope: Scope | None) -> None:
        super().__init__(scope, None)
        self.connection = connection
        self.sizes: dict[tuple[str, int], int] | None = None  # how much there is, once it was asked
        self.views: dict[Tier, VectorView | None] = {}  # the owner's vectors, once they were looked for

    def run(self, query: str, params: Mapping[str, object] = _NOTHING) -> Answer:
        return self.connection.execute(QUERIES[query], params)

    def has(self, what: Rare) -> bool:
        return self.sizes is None or self.rows is None or bool(self.sizes.get((what, self.rows.owner), 1))

    def many(self, docs: Sequence[int]) -> object:
        return f"[{','.join(map(str, docs))}]"

    def put_words(self, tier: Tier, doc: int, owner: int, texts: Mapping[str, str]) -> None:
        self.run(f"index.add_{tier}", _entry(owner, doc, texts))
        self.run("index.count", {"tier": tier, "owner": owner, "by": 1})

    def tagged(self, owner: int, tags: Sequence[str]) -> list[int] | None:
        """By the full-text index, which has the words of tags, where there is so much that all of it is too much."""
        phrases = [owned(owner, stems(index_text(tag))) for tag in tags]
        if not all(phrases) or (self.one("search.size", {"tier": "memory", "owner": owner}) or 0) < MANY:
            return None
        params = {"match": " OR ".join(f'extra : "{phrase}"' for phrase in phrases), "most": FEW + 1}
        found = [row[0] for row in self.run("search.tagged", params)]
        return found if len(found) <= FEW else None

    def take_words(self, tier: Tier, doc: int) -> int:
        """The index keeps no text of its own, so taking an entry out needs the very text that was put in."""
        texts, owner = texts_of(self, tier, doc)
        self.run(f"index.drop_{tier}", _entry(owner, doc, texts))
        self.run("index.count", {"tier": tier, "owner": owner, "by": -1})
        return owner


def _entry(owner: int, doc: int, texts: Mapping[str, str]) -> dict[str, object]:
    """Words already stemmed, each behind the number of its owner."""
    return {"doc": doc, **{name: owned(owner, stems(index_text(text))) for name, text in texts.items()}}


def owned(owner: int, words: Iterable[str]) -> str:
    """Words as they stand in the index: each behind the number of its owner."""
    return " ".join([f"{owner}x{word}" for word in words])


def _begun(connection: apsw.Connection, scope: Scope | None, terms: Terms, *, writing: bool = False) -> SqliteTx:
    tx = SqliteTx(connection, scope)
    tx.terms = terms
    if scope is not None:
        if scope.by not in (None, KEEPER):
            _let_in(tx, scope, writing)
        tx.rows = tx.find()
    return tx


def _let_in(tx: SqliteTx, scope: Scope, writing: bool) -> None:
    """Whoever asks for a shared context must have joined it; to write they need the role for it."""
    assert scope.by is not None
    owner = tx.one("sessions.owner", {"tenant": scope.tenant, "user": scope.user})
    asks = {"owner": owner, "member_tenant": scope.by[0], "member": scope.by[1]}
    found = None if owner is None else tx.run("contexts.role", asks).fetchone()
    if found is None:
        require_member(scope)
    elif writing and not (found[0] in ("reviewer", "admin") or (found[0] == "writer" and not found[1])):
        raise ScopeError(MAY_ONLY_READ)


class Database:
    """The connections to one file: one for writing, as many for reading as there are threads that read."""

    def __init__(self, path: Path, *, sqlite_version: str | None = None, terms: Terms | None = None) -> None:
        self.path = path
        self.terms = terms or terms_in(path.parent)
        self.wal = not is_wal_reset_vulnerable(sqlite_version or apsw.sqlite_lib_version())
        self._pid = os.getpid()
        self._write_lock = threading.RLock()
        self._mine = threading.local()
        self._idle: list[apsw.Connection] = []
        self._all: list[apsw.Connection] = []
        self._watching: apsw.Connection | None = None
        self._watch_lock = threading.Lock()
        self._closed = False
        datadir.create_private(path)
        with translated(path), self._opening():
            steps = load_migrations(_MIGRATIONS)
            with closing(apsw.Connection(str(path))) as first:  # a file that is not ours is looked at, never changed
                first.set_busy_handler(_wait_your_turn())
                self._checked_version(first, len(steps))
            self._writer = self._connect()
            self._migrate(self._writer, steps)

    # -- opening ---------------------------------------------------------------------------------------------------

    @contextmanager
    def _opening(self) -> Iterator[None]:
        """One process at a time opens and migrates: switching to WAL does not wait for locks by itself."""
        if fcntl is None:
            yield
            return
        lock = self.path.with_name("open.lock")
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno in (EROFS, EACCES, EPERM):
                raise StoreUnavailable(
                    f"the data directory {lock.parent} cannot be written: {error.strerror}",
                    hint="Make it writable for you, or set RECOLLECT_DATA_DIR to a directory that is.",
                ) from None
            raise StoreUnavailable(f"{lock} cannot be opened: {error.strerror}", hint="Remove it.") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(str(self.path), statementcachesize=200)
        connection.set_busy_handler(_wait_your_turn())
        connection.pragma("journal_mode", "wal" if self.wal else "truncate")
        for name, value in _PRAGMAS.items():
            connection.pragma(name, value)
        self._all.append(connection)
        return connection

    def _migrate(self, connection: apsw.Connection, steps: list[tuple[int, str]]) -> None:
        """Bring the schema to this version in one transaction: a crash leaves the old schema or the new one."""
        if self._checked_version(connection, len(steps)) == len(steps):
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            for number, script in steps[self._checked_version(connection, len(steps)) :]:
                connection.execute(script)
                connection.pragma("user_version", number)
            connection.pragma("application_id", APPLICATION_ID)
            connection.execute("COMMIT")
        except BaseException:
            _roll_back(connection)
            raise

    def _checked_version(self, connection: apsw.Connection, newest: int) -> int:
        version = int(connection.pragma("user_version"))
        application = int(connection.pragma("application_id"))
        if (version and application != APPLICATION_ID) or (not version and _has_tables(connection)):
            raise StoreUnavailable(f"{self.path} is a database of another program")
        if version > newest:
            raise StoreTooNew(
                f"the database {self.path} has schema {version}; this Recollect knows {newest}",
                hint="Upgrade Recollect, or restore a backup made with this version.",
            )
        return version

    # -- using -----------------------------------------------------------------------------------------------------

    def _usable(self) -> None:
        if os.getpid() != self._pid:
            raise ForkedHandle()
        if self._closed:
            raise StoreUnavailable("this store is closed")

    def owners(self) -> tuple[None]:
        """One transaction sees every owner's rows."""
        return (None,)

    def alone(self, query: str, params: Mapping[str, object] = _NOTHING) -> tuple[Any, ...] | None:
        """The row of one query about nobody's rows."""
        with self.read(None) as tx:
            found: tuple[Any, ...] | None = tx.run(query, params).fetchone()
            return found

    def read(self, scope: Scope | None) -> AbstractContextManager[SqliteTx]:
        """A transaction for reading; its statements see the newest commit each.

        In a shared context they see one moment: who was a member when it began reads nothing that came after.
        """
        outer: SqliteTx | None = getattr(self._mine, "reading", None)
        if outer is not None and outer.scope == scope:
            return nullcontext(outer)
        return self.snapshot(scope) if scope is not None and scope.by is not None else self._newest(scope)

    @contextmanager
    def _newest(self, scope: Scope | None) -> Iterator[SqliteTx]:
        with self.reading() as connection:
            yield _begun(connection, scope, self.terms)

    @contextmanager
    def together(self, scope: Scope) -> Iterator[None]:
        """Within it, what this thread reads for the scope is of one moment, and whose it is is looked up once.

        Without a write-ahead log a moment would keep every writer out; then each statement sees the newest commit.
        """
        outer: SqliteTx | None = getattr(self._mine, "reading", None)
        with self.snapshot(scope) if self.wal else self.read(scope) as tx:
            try:
                self._mine.reading = tx
                yield
            finally:
                self._mine.reading = outer

    @contextmanager
    def snapshot(self, scope: Scope | None) -> Iterator[SqliteTx]:
        """A transaction whose statements all see the same moment."""
        with self.moment() as connection:
            yield _begun(connection, scope, self.terms)

    @contextmanager
    def write(self, scope: Scope | None, *, keyed: bool = False) -> Iterator[SqliteTx]:
        """One write transaction: all of it is kept, or none. Nests into the outer one. Every statement is `keyed` here:
        it is planned when a connection first sees it."""
        with self.writing() as connection:
            yield _begun(connection, scope, self.terms, writing=True)

    def touch(self, scope: Scope) -> AbstractContextManager[SqliteTx]:
        """A small write; a file has one writer, so it waits its turn."""
        return self.write(scope)

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection for reading."""
        self._usable()
        with reading(self.path):
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connect()
            try:
                yield connection
            finally:
                self._idle.append(connection)

    def state(self) -> int:
        """A number that is another after every commit, whoever made it; by a connection that never writes."""
        self._usable()
        with self._watch_lock, reading(self.path):
            if self._watching is None:
                self._watching = self._connect()
            return int(self._watching.pragma("data_version"))

    @contextmanager
    def moment(self) -> Iterator[apsw.Connection]:
        """A connection that sees one moment."""
        with self.reading() as connection:
            connection.execute("BEGIN")
            try:
                connection.execute("SELECT 1 FROM sqlite_schema").fetchone()  # the moment is that of the first reading
                yield connection
            finally:
                _roll_back(connection)

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """A connection inside one write transaction."""
        self._usable()
        with self._write_lock, translated(self.path):
            connection = self._writer
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                _roll_back(connection)
                raise

    @contextmanager
    def fresh(self) -> Iterator[SqliteTx]:
        """A transaction on a new connection: integrity_check sees FTS5 as its connection last cached it."""
        self._usable()
        with reading(self.path):
            connection = self._connect()
            try:
                yield SqliteTx(connection, None)
            finally:
                self._all.remove(connection)
                connection.close()

    def checkpoint(self) -> bool:
        """Empty the write-ahead log into the file; False when a reader still needs it."""
        self._usable()
        if not self.wal:
            return True
        with self._write_lock, translated(self.path):
            try:
                self._writer.set_busy_timeout(_CHECKPOINT_MS)  # it holds the write lock while it waits for readers
                self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError:
                return False
            finally:
                self._writer.set_busy_handler(_wait_your_turn())
        return True

    def scrub(self) -> bool:
        """Write every page anew from what is alive, so that nothing deleted stays in the slack of a page.

        `secure_delete` zeroes what is deleted, but not the copies SQLite left behind when it moved rows between pages.
        False when it could not be done now (a reader, a full disk).
        """
        self._usable()
        with self._write_lock:
            try:
                self._writer.execute("VACUUM")
            except (apsw.BusyError, apsw.LockedError, apsw.FullError, apsw.IOError):
                return False
            return self.checkpoint()

    def wal_bytes(self) -> int:
        """Size of the write-ahead log now."""
        log = self.path.with_name(self.path.name + "-wal")
        return log.stat().st_size if log.exists() else 0

    def close(self) -> None:
        """Close every connection; closing twice, or in a forked child, does nothing."""
        if self._closed or os.getpid() != self._pid:
            return
        self._closed = True
        with self._write_lock:
            for connection in self._all:
                connection.close()


def _roll_back(connection: apsw.Connection) -> None:
    """End a failed transaction; SQLite may have ended it already (disk full, I/O error)."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _has_tables(connection: apsw.Connection) -> bool:
    return bool(list(connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1")))


def _wait_your_turn() -> Callable[[int], bool]:
    """Short random waits up to 30 s: fairer between many writers than SQLite's own growing ones."""
    started = 0.0

    def wait(tries: int) -> bool:
        nonlocal started
        if tries == 0:
            started = time.monotonic()
        if time.monotonic() - started > BUSY_SECONDS:
            return False
        longest = min(0.005, 0.0005 + tries * 0.0001)  # most have what they want to write done in a few ms
        time.sleep(random.uniform(0.0002, longest))  # noqa: S311 - spreads writers, guards nothing
        return True

    return wait
