"""The pool of database connections: what it gives out works, and what goes wrong is told, soon and without secrets."""

from __future__ import annotations

import logging
import socket
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from recollect.errors import StoreBusy, StoreError, StoreUnavailable
from recollect.store.postgres import connecting
from recollect.store.postgres.address import read_address
from recollect.store.postgres.connecting import Linked, pool, store_errors
from recollect.store.postgres.credentials import Credentials, FromFile, Kept, Login, Static
from tests.services.postgres import Postgres, Role, as_role

SECRET = "hunter2-very-secret"


def opened(url: str, credentials: Credentials | None = None, **options: object) -> connecting.Pool:
    address = read_address(url, {})
    return pool(address, credentials or Static(address.user, address.password), **options)  # type: ignore[arg-type]


def test_a_connection_is_set_up_as_asked(postgres_url: str) -> None:
    def configure(connection: Linked) -> None:
        connection.execute("SET search_path = mine")
        connection.commit()

    with (
        opened(postgres_url, configure=configure, statement_seconds=12.5) as connections,
        connections.connection() as connection,
    ):
        shown = [
            connection.execute(f"SHOW {name}").fetchone()[0]  # type: ignore[index]
            for name in ("statement_timeout", "application_name", "search_path", "idle_in_transaction_session_timeout")
        ]
    assert shown == ["12500ms", "recollect", "mine", "1min"]


def test_the_login_is_asked_for_at_each_connect(postgres: Postgres, postgres_url: str) -> None:
    """Fresh user and fresh password, not only a fresh password."""
    roles = [postgres.new_role("one"), postgres.new_role("two")]
    logins = iter([Login(role.name, role.password) for role in roles])
    seen = []
    with opened(postgres_url, Kept(lambda: next(logins), bearer=False), max_size=1) as connections:
        for _ in roles:
            with connections.connection() as connection:
                seen.append(connection.info.user)
                connection.close()
    assert seen == [role.name for role in roles]


@pytest.mark.timed
@pytest.mark.parametrize("what", ["password", "database", "port"])
def test_what_cannot_be_opened_is_told_soon_and_without_the_password(
    what: str, postgres: Postgres, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    role = postgres.new_role()
    url = as_role(postgres_url, role)
    if what == "password":
        url = as_role(postgres_url, Role(role.name, SECRET))
    elif what == "database":
        url = as_role(postgres.at("no_such_database"), role)
    else:
        url = f"postgresql://anna:{SECRET}@127.0.0.1:1/memory"
    before = time.monotonic()
    with caplog.at_level(logging.DEBUG), pytest.raises(StoreUnavailable) as raised:
        opened(url)
    assert time.monotonic() - before < 5
    told = f"{raised.value} {raised.value.hint} {raised.value!r} {caplog.text}"
    assert SECRET not in told
    assert role.password not in told
    assert raised.value.hint
    assert "postgresql://" in str(raised.value), "it says where"


@pytest.mark.timed
def test_a_server_that_says_nothing_is_not_waited_for_for_ever() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        before = time.monotonic()
        with pytest.raises(StoreUnavailable, match=r"did not answer in 0\.5 seconds"):
            opened(f"postgresql://anna@127.0.0.1:{silent.getsockname()[1]}/db", wait_seconds=0.5)
        assert time.monotonic() - before < 10


def test_a_failing_set_up_is_told_as_itself(postgres_url: str) -> None:
    def configure(_connection: Linked) -> None:
        raise StoreUnavailable("the catalog is not as it should be")

    with pytest.raises(StoreUnavailable, match="catalog"):
        opened(postgres_url, configure=configure)


def test_credentials_that_cannot_be_had_are_told_as_themselves(postgres_url: str, tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="FileNotFoundError"):
        opened(postgres_url, FromFile(tmp_path / "none"))


def test_a_pool_without_a_free_connection_says_so(postgres_url: str) -> None:
    with opened(postgres_url, max_size=1, wait_seconds=0.2) as connections, connections.connection():
        with pytest.raises(StoreBusy, match=r"0\.2 seconds") as raised, connections.connection():
            pass
        assert "database_connections" in (raised.value.hint or "")


def test_a_closed_pool_says_so(postgres_url: str) -> None:
    connections = opened(postgres_url)
    connections.close()
    with pytest.raises(StoreUnavailable, match="closed"), connections.connection():
        pass


def test_a_server_that_refuses_later_is_told_as_the_reason(postgres: Postgres, postgres_url: str) -> None:
    role = postgres.new_role()
    with opened(as_role(postgres_url, role), max_size=1, wait_seconds=1.0) as connections:
        postgres.run(f"ALTER ROLE {role.name} PASSWORD 'another'")
        with connections.connection() as connection:
            connection.close()
        with pytest.raises(StoreUnavailable, match="authentication failed"), connections.connection():
            pass


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("SELECT pg_sleep(5)", StoreBusy),
        ("SELECT 1 / 0", StoreError),
        ("SELECT * FROM no_such_table", StoreError),
        ("SELECT pg_terminate_backend(pg_backend_pid())", StoreUnavailable),
    ],
    ids=["slow", "wrong", "missing", "ended"],
)
def test_errors_of_statements_are_our_own(postgres_url: str, statement: str, kind: type[StoreError]) -> None:
    with opened(postgres_url, statement_seconds=0.2, max_size=1) as connections:
        with pytest.raises(StoreError) as raised, store_errors(), connections.connection() as connection:
            connection.execute(statement)  # type: ignore[call-overload]
        assert type(raised.value) is kind
        with connections.connection() as connection:
            assert connection.execute("SELECT 7").fetchone() == (7,)


def test_errors_do_not_quote_rows(postgres_url: str) -> None:
    with opened(postgres_url) as connections:
        with connections.connection() as connection:
            connection.execute("CREATE TABLE said (words text UNIQUE)")
            connection.execute("INSERT INTO said VALUES (%s)", (SECRET,))
        with pytest.raises(StoreError) as raised, store_errors(), connections.connection() as connection:
            connection.execute("INSERT INTO said VALUES (%s)", (SECRET,))
    assert SECRET not in f"{raised.value}"


def test_a_connection_is_asked_only_after_a_long_time(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    ask = connecting.Pool.check_connection
    monkeypatch.setattr(connecting.Pool, "check_connection", lambda conn: (asked.append(1), ask(conn)))
    with opened(postgres_url, max_size=1) as connections:
        for _ in range(5):
            with connections.connection():
                pass
        assert asked == []
        monkeypatch.setattr(connecting, "IDLE_SECONDS", 0.0)
        with connections.connection():
            pass
        assert asked == [1]


@pytest.mark.parametrize(
    ("ends_in", "low", "high"),
    [(None, 2565, 2700), (timedelta(hours=1), 2565, 2700), (timedelta(minutes=8), 340, 361), (timedelta(0), 0.9, 1.0)],
    ids=["never", "an hour", "soon", "now"],
)
def test_a_connection_is_renewed_ahead_of_its_logins_end(
    ends_in: timedelta | None, low: float, high: float, postgres_url: str
) -> None:
    """S0.11: at 45 minutes of an hour, and earlier where the login is shorter; never all at the same moment."""
    address = read_address(postgres_url, {})
    end = None if ends_in is None else datetime.now(UTC) + ends_in
    credentials = Kept(lambda: Login(address.user, address.password, end), bearer=True)
    with opened(postgres_url, credentials, min_size=4) as connections:
        connections.wait()
        ends = sorted(connection._expire_at - connection._created_at for connection in connections._pool)
    assert low - 1 <= ends[0] <= ends[-1] <= high + 1
    assert len(set(ends)) == 4


def test_a_token_does_not_cross_a_network_unencrypted() -> None:
    """The server says that it has no TLS: it must not be told who wants in with what."""
    listener = socket.socket()
    try:
        listener.bind(("127.0.0.2", 0))
    except OSError:
        pytest.skip("this machine has one loopback address only")
    listener.listen()
    heard: list[bytes] = []

    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            heard.append(connection.recv(1024))
            connection.sendall(b"N")
            heard.append(connection.recv(1024))

    thread = threading.Thread(target=answer)
    thread.start()
    token = Kept(lambda: Login("anna", SECRET, None), bearer=True)
    with listener, pytest.raises(StoreUnavailable, match="SSL"):
        opened(f"postgresql://127.0.0.2:{listener.getsockname()[1]}/db", token)
    thread.join()
    assert heard == [bytes.fromhex("00000008 04d2162f"), b""]


def test_the_pool_is_psycopgs_own(postgres_url: str) -> None:
    """What others know about it holds: rows as the caller wants them, transactions by the block."""
    options = {"row_factory": psycopg.rows.dict_row, "autocommit": True}
    with opened(postgres_url, options=options) as connections, connections.connection() as connection:
        assert connection.execute("SELECT 7 AS x").fetchone() == {"x": 7}
