"""Connections that stay fresh: a pool whose every connect asks for the login of that moment.

In: an address, where logins come from, how each connection is set up. Out: an open psycopg pool. A connection lives 45
minutes at most, or until shortly before its login ends, each a little differently so that they do not all end at once.
A connection that the server has ended is noticed when it is taken out, and replaced, without a question to the server
unless it was idle for long. A login that is refused is asked for again, since it may just have been rotated. What goes
wrong is told as our own errors, without any secret and without the rows that PostgreSQL likes to quote.
"""

from __future__ import annotations

import logging
import select
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

import psycopg
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from recollect.clock import now
from recollect.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreReadOnly, StoreUnavailable
from recollect.settings import environment
from recollect.store.postgres.address import Address
from recollect.store.postgres.credentials import Credentials, Login

LIFETIME_SECONDS = 45 * 60.0  # the pool takes up to 5 % off, at random
LEFT_SHARE = 0.75  # of what is left of a login when it connects; 45 minutes of an hour
SHORTEST_SECONDS = 1.0
WAIT_SECONDS = 30.0
CONNECT_SECONDS = 10
IDLE_SECONDS = 30.0  # after it, a connection is asked before it is given out
RETRY_PAUSES = (0.05, 0.1, 0.2, 0.4)  # between tries with a login that was refused and may have changed
_SET_UP = (
    "SELECT set_config('statement_timeout', %s, false), set_config('idle_in_transaction_session_timeout', %s, false)"
)
_IDLE_IN_TRANSACTION = "60s"  # a client that stopped in the middle must not hold its locks for ever
_BY_STATE: Mapping[str, type[StoreError]] = {
    "25006": StoreReadOnly,  # a standby, or a server that is switched to reading
    "53100": StoreFull,  # disk full
    "57014": StoreBusy,  # the statement took too long
    "55P03": StoreBusy,  # a lock was held for too long
    "40001": StoreBusy,  # serialization
    "40P01": StoreBusy,  # deadlock
    "53300": StoreBusy,  # too many connections
    "XX001": StoreCorrupt,
    "XX002": StoreCorrupt,
}
# The pool's own log would reach the terminal of a program that set up no logging.
_SILENT = logging.NullHandler()

Configure = Callable[["Linked"], None]


@dataclass
class Entry:
    """The way into one database, shared by all connections of a pool."""

    address: Address
    credentials: Credentials = field(repr=False)
    answered: threading.Event = field(default_factory=threading.Event)  # after the first try, however it went
    failure: Exception | None = None  # what the last try failed with

    @contextmanager
    def trying(self) -> Iterator[None]:
        """One part of making a connection; what fails in it is remembered for those who wait."""
        try:
            yield
        except Exception as error:
            self.failure = store_error(error) if isinstance(error, psycopg.Error) else error
            self.answered.set()
            raise self.failure from None

    def connect(self, connect: Callable[..., Linked], options: Mapping[str, Any]) -> Linked:
        """A new connection with the login of now."""
        with self.trying():
            return self._tried(connect, options)

    def connected(self) -> None:
        """A connection stands and is set up."""
        self.failure = None
        self.answered.set()

    def _tried(self, connect: Callable[..., Linked], options: Mapping[str, Any]) -> Linked:
        refused: Login | None = None
        for pause in (*RETRY_PAUSES, None):
            login = self.credentials.fetch(refused)
            try:
                connection = connect(**self._parameters(login), **options)
            except psycopg.OperationalError as error:
                was_refused = _asked_for_password(error)
                if pause is None or not was_refused or not self.credentials.changing:
                    raise self._unavailable(error, login, was_refused) from None
                refused = login
                time.sleep(pause)
            else:
                connection.login_ends_at = login.expires_at
                return connection
        raise AssertionError("the last try ends the loop")

    def _parameters(self, login: Login) -> dict[str, str]:
        found = dict(self.address.parameters)
        if login.user:
            found["user"] = login.user
        if login.password:
            found["password"] = login.password
        if self.credentials.bearer and not self.address.is_local and not environment().get("PGSSLMODE"):
            found.setdefault("sslmode", "require")  # whoever reads a token on the way can use it
        return found

    def _unavailable(self, error: psycopg.OperationalError, login: Login, was_refused: bool) -> StoreUnavailable:
        said = str(error).strip().splitlines() or [type(error).__name__]
        text = "".join(letter if letter.isprintable() else " " for letter in said[0])[:300]
        if login.password:
            text = text.replace(login.password, "***")
        hint = "Check that the server runs and that host, port and database are right."
        if was_refused:
            hint = "Check the user, the password or token, and that the database exists."
        return StoreUnavailable(f"No connection to {self.address}: {text}", hint=hint)


class Linked(psycopg.Connection[Any]):
    """A connection that knows when its login ends and when it was last given out."""

    login_ends_at: datetime | None = None
    given_at: float = 0.0

    @classmethod
    def connect(cls, *args: Any, **kwargs: Any) -> Self:
        entry: Entry = kwargs.pop("entry")
        return entry.connect(super().connect, kwargs)  # type: ignore[return-value]

    def lasts(self) -> float:
        """How many seconds it should live."""
        if self.login_ends_at is None:
            return LIFETIME_SECONDS
        left = (self.login_ends_at - now()).total_seconds()
        return max(SHORTEST_SECONDS, min(LIFETIME_SECONDS, left * LEFT_SHARE))

    def is_usable(self) -> bool:
        """Whether the server is still there: asked only when it said something by itself, or after a long time."""
        at, before = time.monotonic(), self.given_at
        self.given_at = at
        if self.closed:
            return False
        if at - before < IDLE_SECONDS and not _is_readable(self.fileno()):
            return True
        try:
            Pool.check_connection(self)
        except psycopg.Error:
            return False
        return True


class Pool(ConnectionPool[Linked]):
    """The pool; what it gives out is usable, and what it cannot give is told as one of our errors."""

    entry: Entry

    def getconn(self, timeout: float | None = None) -> Linked:
        seconds = self.timeout if timeout is None else timeout
        until = time.monotonic() + seconds
        while True:
            try:
                connection = super().getconn(max(0.0, until - time.monotonic()))
            except PoolTimeout:
                raise self._gave_up(seconds) from None
            except TooManyRequests:
                raise StoreBusy("Too many wait for a database connection already; try again.") from None
            except PoolClosed:
                raise StoreUnavailable("The database was closed.") from None
            if connection.is_usable():
                return connection
            connection.close()
            self.putconn(connection)  # the pool makes another in its place

    def _gave_up(self, seconds: float) -> Exception:
        if self.entry.failure is not None:
            return self.entry.failure
        return StoreBusy(
            f"No database connection became free in {seconds:g} seconds; try again.",
            hint="The setting database_connections says how many there may be.",
        )


def pool(
    address: Address,
    credentials: Credentials,
    *,
    min_size: int = 1,
    max_size: int = 10,
    configure: Configure | None = None,
    statement_seconds: float = 30.0,
    wait_seconds: float = WAIT_SECONDS,
    lifetime_seconds: float = LIFETIME_SECONDS,
    application_name: str = "recollect",
    options: Mapping[str, Any] | None = None,
) -> Pool:
    """An open pool whose first connection stands; raises StoreUnavailable when none can be made.

    `configure` sets each new connection up; it must leave no transaction open. `options` go to psycopg's connect as
    they are, such as `row_factory`. Close the pool when done.
    """
    logging.getLogger("psycopg.pool").addHandler(_SILENT)
    entry = Entry(address, credentials)

    def set_up(connection: Linked) -> None:
        made.max_lifetime = min(lifetime_seconds, connection.lasts())  # the pool reads it right after this
        connection.given_at = time.monotonic()
        with entry.trying():
            _limit(connection, statement_seconds)
            if configure is not None:
                configure(connection)
        entry.connected()

    told = {"application_name": application_name, "connect_timeout": CONNECT_SECONDS, **(options or {})}
    made = Pool(
        connection_class=Linked,
        kwargs={**told, "entry": entry},
        min_size=min_size,
        max_size=max(min_size, max_size, 1),
        open=False,
        configure=set_up,
        timeout=wait_seconds,
        max_lifetime=lifetime_seconds,
        name="recollect",
    )
    made.entry = entry
    made.open()
    if min_size > 0:
        answered = entry.answered.wait(wait_seconds)
        if not answered or entry.failure is not None:
            made.close(timeout=1.0)  # a try that hangs is not waited for
            raise entry.failure or StoreUnavailable(f"{address} did not answer in {wait_seconds:g} seconds.")
    return made


def _limit(connection: Linked, statement_seconds: float) -> None:
    with connection.transaction():
        connection.execute(_SET_UP, (str(round(statement_seconds * 1000)), _IDLE_IN_TRANSACTION))


def store_error(error: psycopg.Error) -> StoreError:
    """What an error of a statement is for us. Its own text is left out: it may quote a row."""
    what = type(error).__name__
    kind = _BY_STATE.get(error.sqlstate or "")
    if kind is not None:
        return kind()
    state = error.sqlstate or ""
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) or state.startswith(("08", "57P")):
        return StoreUnavailable(f"The database cannot be reached any more ({what}).", hint="Try again.")
    return StoreError(f"The database could not do that ({what}{f', {state}' if state else ''}).")


@contextmanager
def store_errors() -> Iterator[None]:
    """Errors of PostgreSQL as our own."""
    try:
        yield
    except psycopg.Error as error:
        raise store_error(error) from None


def _asked_for_password(error: psycopg.OperationalError) -> bool:
    """Whether the server was reached and asked for a password: then it was the login that it did not like."""
    return error.pgconn is not None and bool(error.pgconn.used_password)


def _is_readable(handle: int) -> bool:
    """Whether the server said something unasked; an idle connection is silent unless it ends."""
    if not hasattr(select, "poll"):
        return bool(select.select([handle], [], [], 0)[0])
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    return bool(waiting.poll(0))
