"""P35, P36: for whom a transaction was is gone when it ends, in whatever way it ends.

A store with one connection, used by three owners one after the other: whoever comes next on it without saying for whom
sees nothing, and whoever says so sees their own rows.
"""

from __future__ import annotations

import random
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, cast

import psycopg
import pytest

import recollect
from recollect.errors import RecollectError, StoreError
from recollect.model import Scope
from recollect.settings import Settings
from recollect.store.postgres import schema
from recollect.store.postgres.database import Database
from recollect.store.postgres.store import PostgresStore
from recollect.store.postgres.tx import QUERIES, PostgresTx
from recollect.store.sql import load_queries
from tests.isolation.leaks import looked
from tests.isolation.seeded import OWNERS, TABLES, Seeded
from tests.services.postgres import as_role

SLOW = "SELECT pg_sleep(20)"
SOURCE = Path(recollect.__file__).parent


class Stopped(KeyboardInterrupt):
    """Somebody pressed Ctrl-C."""


@pytest.fixture(params=[1, 2], ids=["one connection", "two connections"])
def store(base: Seeded, request: pytest.FixtureRequest) -> Iterator[PostgresStore]:
    url = as_role(base.url, base.login)
    made = PostgresStore(replace(Settings(), database_url=url, database_connections=request.param))
    yield made
    made.close()


@contextmanager
def pressed(after: float) -> Iterator[None]:
    """Ctrl-C after a moment, in whatever is being done then."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stopped

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def soon(act: Callable[[], object]) -> threading.Timer:
    timer = threading.Timer(0.05, act)
    timer.start()
    return timer


def commit(base: Seeded, tx: PostgresTx) -> None:
    tx.connection.execute("UPDATE memories SET access_count = access_count + 1")


def raise_something(base: Seeded, tx: PostgresTx) -> None:
    raise RecollectError("no")


def break_a_rule(base: Seeded, tx: PostgresTx) -> None:
    tx.connection.execute("UPDATE memories SET importance = 7")


def break_the_syntax(base: Seeded, tx: PostgresTx) -> None:
    tx.connection.execute("SELEC 1")


def take_too_long(base: Seeded, tx: PostgresTx) -> None:
    tx.connection.execute("SET LOCAL statement_timeout = 20")
    tx.connection.execute(SLOW)


def wait_for_a_lock_too_long(base: Seeded, tx: PostgresTx) -> None:
    with base.owning() as other:
        other.execute("BEGIN")
        other.execute("LOCK TABLE gists")
        tx.connection.execute("SET LOCAL lock_timeout = 20")
        tx.connection.execute("DELETE FROM gists")


def be_cancelled_by_an_administrator(base: Seeded, tx: PostgresTx) -> None:
    backend = tx.connection.info.backend_pid
    timer = soon(lambda: base.server.run(f"SELECT pg_cancel_backend({backend})"))
    try:
        tx.connection.execute(SLOW)
    finally:
        timer.join()


def be_cancelled_by_another_thread(base: Seeded, tx: PostgresTx) -> None:
    timer = soon(tx.connection.cancel)
    try:
        tx.connection.execute(SLOW)
    finally:
        timer.join()


def be_killed(base: Seeded, tx: PostgresTx) -> None:
    backend = tx.connection.info.backend_pid
    timer = soon(lambda: base.server.run(f"SELECT pg_terminate_backend({backend})"))
    try:
        tx.connection.execute(SLOW)
    finally:
        timer.join()


def be_killed_between_statements(base: Seeded, tx: PostgresTx) -> None:
    base.server.run(f"SELECT pg_terminate_backend({tx.connection.info.backend_pid}, 5000)")
    tx.connection.execute("SELECT 1")


def be_stopped_in_a_statement(base: Seeded, tx: PostgresTx) -> None:
    with pressed(0.03):
        tx.connection.execute(SLOW)


def be_stopped_between_statements(base: Seeded, tx: PostgresTx) -> None:
    raise Stopped


def be_stopped_while_rows_come(base: Seeded, tx: PostgresTx) -> None:
    with pressed(0.02):
        for _ in tx.connection.cursor().stream("SELECT pg_sleep(0.001) FROM generate_series(1, 9999)"):
            pass


def lose_the_connection(base: Seeded, tx: PostgresTx) -> None:
    tx.connection.close()


def say_that_it_is_somebody_else(base: Seeded, tx: PostgresTx) -> None:
    """As an injected statement would, for longer than the transaction; undone with it."""
    tx.connection.execute("SET recollect.tenant = 'acme'; SET recollect.owner = '2'; SET recollect.username = 'bob'")
    raise RecollectError("no")


def leave_a_prepared_statement(base: Seeded, tx: PostgresTx) -> None:
    tx.connection.execute("SELECT content FROM memories WHERE kind = %s", ("fact",), prepare=True)


ENDINGS = (
    *(commit, raise_something, break_a_rule, break_the_syntax, take_too_long, wait_for_a_lock_too_long),
    *(be_cancelled_by_an_administrator, be_cancelled_by_another_thread, be_killed, be_killed_between_statements),
    *(be_stopped_in_a_statement, be_stopped_between_statements, be_stopped_while_rows_come, lose_the_connection),
    *(say_that_it_is_somebody_else, leave_a_prepared_statement),
)
QUICK = [one for one in ENDINGS if one not in (take_too_long, be_cancelled_by_an_administrator, be_killed)]


def use(base: Seeded, store: PostgresStore, scope: Scope, ending: Callable[[Seeded, PostgresTx], None]) -> None:
    """A transaction of an owner that ends in this way; that it may fail is the point."""
    with suppress(RecollectError, psycopg.Error, Stopped), store.database.write(scope) as tx:
        assert tx.rows is not None
        ending(base, tx)


def left_behind(store: PostgresStore) -> list[str]:
    """What somebody who does not say for whom they come finds on the store's connections."""
    wrong = []
    connections = [store._pool.getconn() for _ in range(store._pool.max_size)]
    try:
        for connection in connections:
            for name in ("tenant", "owner", "username"):
                row = connection.execute("SELECT current_setting(%s, true)", (f"recollect.{name}",)).fetchone()
                if row is not None and row[0]:
                    wrong.append(f"{name} is still {row[0]}")
            wrong += [f"{name} shows rows" for name in TABLES if looked(connection, name) not in ([], None)]
            if connection.execute("SELECT current_user").fetchone() != ("recollect_app",):
                wrong.append("the role is another")
    finally:
        for connection in connections:
            store._pool.putconn(connection)
    return wrong


def seen_by(store: PostgresStore, scope: Scope) -> set[str]:
    with store.database.read(scope) as tx:
        return {content for (content,) in tx.connection.execute("SELECT content FROM memories")}


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.__name__.replace("_", " "))
def test_nothing_stays_of_a_transaction_however_it_ends(
    base: Seeded, store: PostgresStore, ending: Callable[[Seeded, PostgresTx], None]
) -> None:
    """P35."""
    use(base, store, OWNERS["bob"], ending)
    assert left_behind(store) == []
    assert seen_by(store, OWNERS["ann"]) == {"canaryann"}
    assert seen_by(store, Scope("acme", "nobody")) == set()


def test_two_hundred_transactions_of_three_owners_that_end_anyhow(base: Seeded, store: PostgresStore) -> None:
    """P35: in an order that chance picked; before each, nothing of the one before is there."""
    chance = random.Random(35)
    for at in range(200):
        name = chance.choice(list(OWNERS))
        ending = chance.choice(QUICK if at % 10 else ENDINGS)
        use(base, store, OWNERS[name], ending)
        reader = chance.choice(list(OWNERS))
        assert seen_by(store, OWNERS[reader]) == {f"canary{reader}"}, f"after {ending.__name__} of {name}"
        if at % 20 == 0:
            assert left_behind(store) == []
    assert left_behind(store) == []


def test_ctrl_c_while_waiting_for_another_writer_leaves_nothing(base: Seeded, store: PostgresStore) -> None:
    """P35: a transaction that is stopped while it begins; and the one who stopped it is told so, not something else."""
    with base.owning() as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM enter('acme', 'bob', NULL, true, false)")
        for _ in range(5):
            with pytest.raises(Stopped), pressed(0.05), store.database.write(OWNERS["bob"]):
                pass
            assert seen_by(store, OWNERS["ann"]) == {"canaryann"}
            assert left_behind(store) == []


class OneAtATime:
    """A pool of one connection that can be stopped anywhere, which the real one's own code is not made for."""

    def __init__(self, make: Callable[[], psycopg.Connection[Any]]) -> None:
        self._make = make
        self.connection = make()

    def getconn(self) -> psycopg.Connection[Any]:
        if self.connection.closed:
            self.connection = self._make()
        return self.connection

    def putconn(self, connection: psycopg.Connection[Any]) -> None:
        assert connection is self.connection


def test_ctrl_c_at_any_moment_is_what_is_told_and_leaves_nothing(base: Seeded) -> None:
    """P35: wherever in a transaction it comes, also while it begins or ends."""
    chance = random.Random(36)
    stopped, told = 0, []
    pool = OneAtATime(lambda: connected(base))
    database = Database(cast(Any, pool), cast(Any, None))
    for _ in range(300):
        try:
            with pressed(chance.uniform(0.0005, 0.006)):
                for _ in range(20):
                    with database.write(OWNERS["bob"]) as tx:
                        tx.connection.execute("SELECT content FROM memories")
        except Stopped:
            stopped += 1
        except RecollectError as error:
            told.append(error)
        with database.read(None) as tx:
            assert tx.connection.execute("SELECT content FROM memories").fetchall() == []
    pool.connection.close()
    assert told == []
    assert stopped > 100


def connected(base: Seeded) -> psycopg.Connection[Any]:
    """A connection as the pool makes them."""
    connection = psycopg.connect(as_role(base.url, base.login), autocommit=True)
    connection.execute(schema.search_path(connection))
    connection.execute("SET ROLE recollect_app")
    return connection


def test_many_threads_share_two_connections_and_see_their_own(base: Seeded) -> None:
    """P34, P35: each thread another owner, all at once."""
    store = PostgresStore(replace(Settings(), database_url=as_role(base.url, base.login), database_connections=2))
    wrong: list[str] = []

    def work(name: str, seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(25):
            use(base, store, OWNERS[name], chance.choice([commit, raise_something, break_a_rule]))
            found = seen_by(store, OWNERS[name])
            wrong.extend([] if found == {f"canary{name}"} else [f"{name} saw {found}"])

    threads = [threading.Thread(target=work, args=(name, seed)) for seed, name in enumerate([*OWNERS, *OWNERS])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert left_behind(store) == []
    store.close()


def test_a_query_about_somebodys_rows_cannot_be_run_for_nobody(store: PostgresStore) -> None:
    """P36: without a scope it is an error, not an empty answer."""
    folder = SOURCE / "store" / "postgres" / "queries"
    names = [
        f"{file.stem}.{name}"
        for file in sorted(folder.glob("*.sql"))
        if file.stem != "parts"
        for name, text in load_queries(file).items()
        if ":tenant" in text
    ]
    assert len(names) > 120
    for name in names:
        found = {word: None for word in re.findall(r"%\((\w+)\)s", QUERIES[name]) if word not in ("tenant", "owner")}
        with pytest.raises(StoreError), store.database.read(None) as tx:
            tx.run(name, found)


def test_who_a_transaction_is_for_is_never_set_for_longer() -> None:
    """P35: no statement of ours sets it for a whole session."""
    texts = [path.read_text(encoding="utf-8") for path in (*SOURCE.rglob("*.py"), *SOURCE.rglob("*.sql"))]
    found = [line for text in texts for line in text.splitlines() if re.search(r"set_config\('recollect\.", line)]
    assert len(found) >= 3
    for line in found:
        assert len(re.findall(r"set_config\('recollect\.", line)) == len(re.findall(r", true\)", line)), line
    assert not [text for text in texts if re.search(r"\bSET (SESSION )?recollect\.", text)]


def test_a_transaction_that_nobody_ends_is_ended(base: Seeded, store: PostgresStore) -> None:
    """A client that stopped in the middle does not hold its place for ever."""
    with store.database.read(OWNERS["ann"]) as tx:
        row = tx.connection.execute("SHOW idle_in_transaction_session_timeout").fetchone()
    assert row == ("1min",)
