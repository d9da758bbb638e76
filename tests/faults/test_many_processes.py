"""P04: many processes write at once while one reads for long; nobody sees "database is locked", nothing is missing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from recollect.model import Scope
from recollect.store import portable
from recollect.store.ports.keeping import Ages
from recollect.store.sqlite.store import SqliteStore
from tests.contract.samples import ANN, LATER, NOW, T0, by_words, embed_waiting, event, gist, memory, minute, talk
from tests.faults.children import Say, start

PROCESSES = 16


def write(data_dir: Path, who: int, writes: int, say: Say) -> None:
    store = SqliteStore(data_dir)
    worst = 0.0
    for number in range(writes):
        started = time.monotonic()
        store.sessions.append(ANN, [event(f"chat:{who}", number, f"walrus {who} {number}")])
        if number % 10 == 0:
            store.memories.add(ANN, memory(f"fact {who} {number}"))
        worst = max(worst, time.monotonic() - started)
    store.close()
    say(f"{worst}")


def read_for_long(data_dir: Path, seconds: float, say: Say) -> None:
    store = SqliteStore(data_dir)
    with store.database.moment() as connection:
        before = connection.execute("SELECT count(*) FROM events").get
        say("reading")
        time.sleep(seconds)
        assert connection.execute("SELECT count(*) FROM events").get == before
    store.close()


def all_at_once(data_dir: Path, writes: int) -> None:
    SqliteStore(data_dir).close()
    reader = start(lambda say: read_for_long(data_dir, 2.0, say))
    assert reader.hear() == "reading"
    writers = [start(lambda say, who=who: write(data_dir, who, writes, say)) for who in range(PROCESSES)]
    ends = [writer.wait() for writer in writers]
    assert [code for code, _ in ends] == [0] * PROCESSES, ends
    assert max(float(said[0]) for _, said in ends) < 30
    assert reader.wait() == (0, ["reading"])
    store = SqliteStore(data_dir)
    try:
        counts = store.keeping.health(deep=True)
        assert counts.checks == {}
        assert counts.counts["events"] == PROCESSES * writes
        for who in range(PROCESSES):
            texts = [one.text for one in store.sessions.history(ANN, f"chat:{who}")]
            assert texts == [f"walrus {who} {number}" for number in range(writes)]
        assert len(store.search.lexical(ANN, "turn", ["walrus"], NOW, 10**6)) == PROCESSES * writes
    finally:
        store.close()


@pytest.mark.slow
def test_sixteen_processes_write_while_one_reads(data_dir: Path) -> None:
    """P04: 16 x 40 writes, 0 errors, all present."""
    all_at_once(data_dir, 40)


@pytest.mark.soak
def test_sixteen_processes_write_a_lot_while_one_reads(data_dir: Path) -> None:
    """P04: 3,200 of 3,200."""
    all_at_once(data_dir, 200)


@pytest.mark.slow
def test_processes_that_come_and_go_do_not_stop_each_other(data_dir: Path) -> None:
    """P04: every command line call opens and closes the store; the last to close tidies the log away."""

    def come_and_go(who: int, say: Say) -> None:
        for number in range(15):
            store = SqliteStore(data_dir)
            store.sessions.append(ANN, [event(f"chat:{who}", number, f"walrus {who} {number}")])
            store.sessions.history(ANN, f"chat:{who}")
            store.close()

    children = [start(lambda say, who=who: come_and_go(who, say)) for who in range(6)]
    assert [child.wait() for child in children] == [(0, [])] * 6
    store = SqliteStore(data_dir)
    assert store.keeping.health(deep=True).counts["events"] == 90
    store.close()


# -- every write begins with BEGIN IMMEDIATE ---------------------------------------------------------------------------

WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "DROP", "ALTER")


@contextmanager
def traced() -> Iterator[list[tuple[int, str]]]:
    """(connection, statement) of every top-level statement of every connection opened meanwhile."""
    statements: list[tuple[int, str]] = []

    def watch(connection: apsw.Connection) -> None:
        def note(event: dict[str, object]) -> None:
            sql = str(event["sql"]).strip()
            if not sql.startswith("--") and "_fts_" not in sql:  # FTS5 writes its own tables while it commits
                statements.append((id(connection), sql))

        connection.trace_v2(apsw.SQLITE_TRACE_STMT, note)

    apsw.connection_hooks.append(watch)
    try:
        yield statements
    finally:
        apsw.connection_hooks.remove(watch)


def outside_immediate(statements: list[tuple[int, str]]) -> list[str]:
    """Writes that did not begin as such: a read transaction that upgrades can fail at once, whatever the timeout."""
    inside: set[int] = set()
    found = []
    for connection, sql in statements:
        word = "".join(line for line in sql.splitlines() if not line.startswith("--")).split(None, 1)[0].upper()
        if word == "BEGIN" and "IMMEDIATE" in sql.upper():
            inside.add(connection)
        elif word in ("COMMIT", "ROLLBACK", "END"):
            inside.discard(connection)
        elif word in WRITES and connection not in inside:
            found.append(sql)
    return found


def use_everything(store: SqliteStore, folder: Path) -> None:
    store.sessions.append(ANN, talk("chat:1", "walrus", "assistant: yes"))
    store.sessions.ensure(ANN, "chat:2", at=T0, until=LATER, title="t", meta={})
    store.gists.lease(ANN, "chat:1", now=T0, until=minute(1))
    store.gists.put(ANN, gist("chat:1", "a gist"))
    store.gists.release(ANN, "chat:1")
    one, _ = store.memories.add(ANN, memory("fact"))
    two = store.memories.update(ANN, replace(one, content="fact two"), at=T0, note="edit")
    store.memories.touch(ANN, {one.id: 1}, at=T0)
    embed_waiting(store)
    by_words(store, ANN, "turn", "walrus")
    portable.load(store, Scope("acme", "bob"), list(portable.export(store, ANN, now=LATER)))
    store.keeping.upkeep(now=LATER, ages=Ages(LATER, 5, LATER, LATER))
    store.keeping.rebuild()
    store.vectors.restart()
    store.keeping.health(deep=True)
    store.backup(folder / "copy.db")
    store.keeping.forget_memory(ANN, two.id, at=LATER)
    store.keeping.forget_session(ANN, "chat:1", at=LATER)
    store.keeping.forget_all(ANN, at=LATER)


def test_every_write_begins_immediate(data_dir: Path, tmp_path: Path) -> None:
    """P04: 0 deferred upgrades, over every writing call there is."""
    with traced() as statements:
        store = SqliteStore(data_dir)
        use_everything(store, tmp_path)
        store.close()
    begun = [sql for _, sql in statements if sql.upper().startswith("BEGIN")]
    assert len(begun) > 20
    assert outside_immediate(statements) == []


def test_the_trace_would_show_a_deferred_write(data_dir: Path) -> None:
    """Else the test above would show nothing."""
    with traced() as statements:
        store = SqliteStore(data_dir)
        with store.database.reading() as connection:
            connection.execute("BEGIN")
            connection.execute("INSERT INTO owners (tenant, user) VALUES ('a', 'b')")
            connection.execute("COMMIT")
        store.close()
    assert [sql[:18] for sql in outside_immediate(statements)] == ["INSERT INTO owners"]
