"""One PostgreSQL database: transactions that see one owner's rows and nothing else.

Every transaction begins with `enter`, which says for this transaction alone whose rows the policies let through; when
it ends, in whatever way, that is gone. Writers of one owner take turns, those of different owners never wait for each
other: what is read before a write in the same transaction still holds when it is written. A handle does not cross
fork().
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

import psycopg
from psycopg.adapt import Loader
from psycopg.types.string import TextBinaryLoader, TextLoader

from recollect.errors import ForkedHandle, InvalidInput, ScopeError, StoreUnavailable
from recollect.model import Scope
from recollect.store.port import Found
from recollect.store.postgres.asking import AskingTx, Lately
from recollect.store.postgres.connecting import Linked, Pool, store_error
from recollect.store.postgres.halfvec import Halfvec, HalfvecDumper
from recollect.store.postgres.tx import NO_PARAMS, QUERIES, SNAPSHOT, PostgresTx
from recollect.store.rows.tx import MAY_ONLY_READ
from recollect.store.terms import Terms

LOCK_TIMEOUT = "30s"
ONLY_READS = "RC001"  # what `enter` raises when a member who may only read wants to write
_WHOLE = 29  # characters of a time with all of its microseconds
AnyTx = TypeVar("AnyTx", bound=PostgresTx)


class _IsoLoader(Loader):
    """A timestamptz as the stored form of a time everywhere here; the connection's time zone is UTC."""

    def load(self, data: Any) -> str:
        text = str(data, "ascii")
        if len(text) == _WHOLE and text[4] == "-":  # "2026-01-31 23:59:59.123456+00", as nearly all are
            return f"{text[:10]}T{text[11:26]}Z"
        moment, _, fraction = text.removesuffix("+00").partition(".")
        return f"{moment[:10]}T{moment[11:]}.{fraction:0<6}Z"


def set_up(connection: Linked) -> None:
    """How values come from a connection; its settings are `Database`'s."""
    connection.adapters.register_loader("timestamptz", _IsoLoader)
    for name in ("json", "jsonb"):
        connection.adapters.register_loader(name, TextLoader)
    connection.adapters.register_loader("json", TextBinaryLoader)
    connection.adapters.register_dumper(Halfvec, HalfvecDumper)


class Database:
    """Transactions on the connections of a pool."""

    def __init__(self, pool: Pool, terms: Terms) -> None:
        self.pool = pool
        self.terms = terms
        self._pid = os.getpid()
        self._mine = threading.local()
        self._lately = Lately()
        self._closed = False

    def owners(self) -> list[Scope]:
        """Every owner there is; the store is looked after one owner at a time."""
        with self.read(None) as tx:
            return [Scope.of_owner(tenant, user) for tenant, user in tx.run("vectors.every_owner")]

    def read(self, scope: Scope | None) -> Any:
        """A transaction for reading; its statements see the newest commit each.

        In a shared context they see one moment: who was a member when it began reads nothing that came after.
        """
        asking = self.asking
        if asking is not None and asking.scope == scope:
            return nullcontext(asking)
        if scope is not None and scope.by is not None:
            return self.snapshot(scope)
        return self._transaction(scope, "BEGIN READ ONLY")

    @contextmanager
    def together(self, scope: Scope) -> Iterator[None]:
        """Within it, what this thread reads for the scope is read in one transaction, as of one moment."""
        with self._asking(scope) as tx:
            tx.begin_asking()
            yield

    def ask(self, scope: Scope, reading: Callable[[], Found]) -> Found:
        """What `reading` finds for the scope, all of it as of one moment; it may be called twice."""
        with self._asking(scope) as tx:
            return tx.ask(reading)

    @property
    def asking(self) -> AskingTx | None:
        """The transaction of the question that this thread is at."""
        found: AskingTx | None = getattr(self._mine, "reading", None)
        return found

    @contextmanager
    def _asking(self, scope: Scope) -> Iterator[AskingTx]:
        with self._connection() as connection:
            tx = self._held(AskingTx(connection, scope, self._lately))
            outer = self.asking
            try:
                self._mine.reading = tx
                yield tx
            finally:
                self._mine.reading = outer

    def snapshot(self, scope: Scope | None) -> Any:
        """A transaction whose statements all see the same moment."""
        return self._transaction(scope, SNAPSHOT)

    def alone(self, query: str, params: Mapping[str, object] = NO_PARAMS) -> tuple[Any, ...] | None:
        """The row of one query about nobody's rows: a transaction by itself, in one round trip."""
        self._usable()
        connection = self.pool.getconn()
        try:
            with _translated():
                found: tuple[Any, ...] | None = connection.execute(QUERIES[query], params).fetchone()
                return found
        except BaseException:
            connection.close()  # in the middle of something, or broken: the pool makes another
            raise
        finally:
            self.pool.putconn(connection)

    @contextmanager
    def write(self, scope: Scope | None, *, keyed: bool = False) -> Iterator[PostgresTx]:
        """One write transaction: all of it is kept, or none. One for the same owner nests into the outer one."""
        outer: PostgresTx | None = getattr(self._mine, "writing", None)
        if outer is not None and outer.scope == scope:
            yield outer
            return
        with self._transaction(scope, "BEGIN", writing=True, entry="enter_keyed" if keyed else "enter") as tx:
            try:
                self._mine.writing = tx
                yield tx
            finally:
                self._mine.writing = outer

    def touch(self, scope: Scope) -> Any:
        """A small write that waits for no other writer of its owner, but for the row itself."""
        return self._transaction(scope, "BEGIN")

    @contextmanager
    def _transaction(
        self, scope: Scope | None, begin: str, *, writing: bool = False, entry: str = "enter"
    ) -> Iterator[PostgresTx]:
        with self._connection() as connection:
            tx = self._held(PostgresTx(connection, scope, None))
            tx.begin(begin, entry, writing=writing)
            yield tx

    def _held(self, tx: AnyTx) -> AnyTx:
        tx.terms, tx.heads = self.terms, {}
        return tx

    @contextmanager
    def _connection(self) -> Iterator[Linked]:
        """A connection for one transaction, which is kept when all went well and undone otherwise."""
        self._usable()
        connection = self.pool.getconn()
        try:
            with _translated():
                try:
                    yield connection
                    connection.commit()
                except Exception:
                    _end(connection)
                    raise
                except BaseException:
                    connection.close()  # interrupted anywhere: nobody knows what it would answer next
                    raise
        finally:
            self.pool.putconn(connection)

    def _usable(self) -> None:
        if os.getpid() != self._pid:
            raise ForkedHandle()
        if self._closed:
            raise StoreUnavailable("this store is closed")

    def close(self) -> None:
        """Close every connection; closing twice, or in a forked child, does nothing."""
        if self._closed or os.getpid() != self._pid:
            return
        self._closed = True
        self.pool.close()


def _end(connection: psycopg.Connection[Any]) -> None:
    """Roll back what failed; a connection that cannot be rolled back is closed, and the pool makes another."""
    try:
        if connection.info.transaction_status == psycopg.pq.TransactionStatus.ACTIVE:
            connection.close()  # it was left in the middle of a statement
        elif not connection.closed:
            connection.execute("ROLLBACK")
    except psycopg.Error:
        connection.close()


@contextmanager
def _translated() -> Iterator[None]:
    """PostgreSQL's errors as ours, each with what to do."""
    try:
        yield
    except UnicodeEncodeError:
        raise InvalidInput("the text holds a character that cannot be stored") from None
    except psycopg.DataError as error:
        if error.sqlstate is None or error.sqlstate == "22021":  # a NUL, or bytes that are no text
            raise InvalidInput("the text holds a character that cannot be stored") from None
        raise store_error(error) from error
    except psycopg.Error as error:
        if error.sqlstate == ONLY_READS:
            raise ScopeError(MAY_ONLY_READ) from None
        raise store_error(error) from error
