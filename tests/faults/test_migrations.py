"""P08: a schema is made once and whole, whoever opens first and whenever they are killed; a later schema is refused."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import apsw
import pytest

from recollect.errors import StoreTooNew, StoreUnavailable
from recollect.store.sql import load_migrations
from recollect.store.sqlite import database
from recollect.store.sqlite.database import APPLICATION_ID
from recollect.store.sqlite.store import FILE_NAME, SqliteStore
from tests.contract.samples import ANN, event, talk
from tests.faults.children import Say, start
from tests.faults.conftest import Open

NEWEST = len(load_migrations(Path(database.__file__).parent / "migrations"))


def schema(path: Path) -> tuple[int, list[tuple[str, str]]]:
    """Version and objects of a database, read by nobody but SQLite."""
    connection = apsw.Connection(str(path))
    try:
        rows = connection.execute("SELECT type, name FROM sqlite_schema ORDER BY name").fetchall()
        return int(connection.pragma("user_version")), rows
    finally:
        connection.close()


def test_four_processes_may_open_a_new_store_at_once(data_dir: Path) -> None:
    """P08: one makes it, all use it."""

    def open_and_write(who: int, say: Say) -> None:
        say("ready")
        store = SqliteStore(data_dir)
        store.sessions.append(ANN, [event(f"chat:{who}", 0, f"walrus {who}")])
        store.close()

    for _ in range(3):
        children = [start(lambda say, who=who: open_and_write(who, say)) for who in range(4)]
        assert [child.wait() for child in children] == [(0, ["ready"])] * 4
    store = SqliteStore(data_dir)
    assert store.keeping.health(deep=True).counts["events"] == 4
    assert store.keeping.health(deep=True).checks == {}
    store.close()


def open_and_die(data_dir: Path, statement: int, say: Say) -> None:
    """Open a new store and be killed as the given statement begins."""
    seen = 0

    def watch(connection: apsw.Connection) -> None:
        def count(_: object) -> None:
            nonlocal seen
            seen += 1
            if seen == statement:
                os.kill(os.getpid(), signal.SIGKILL)

        connection.trace_v2(apsw.SQLITE_TRACE_STMT, count)

    apsw.connection_hooks.append(watch)
    SqliteStore(data_dir).close()
    say(str(seen))


def kill_at(tmp_path: Path, statements: list[int]) -> None:
    whole = tmp_path / "whole"
    SqliteStore(whole).close()
    complete = schema(whole / FILE_NAME)
    for statement in statements:
        folder = tmp_path / str(statement)
        code, said = start(lambda say, f=folder, n=statement: open_and_die(f, n, say)).wait()
        assert (code, said) == (-signal.SIGKILL, [])
        if (folder / FILE_NAME).exists():
            assert schema(folder / FILE_NAME) in [(0, []), complete], f"half a schema at statement {statement}"
        store = SqliteStore(folder)
        assert store.sessions.append(ANN, talk("chat:1", "walrus")) == [True]
        assert store.keeping.health(deep=True).checks == {}
        store.close()
        assert schema(folder / FILE_NAME) == complete


def count_statements(tmp_path: Path) -> int:
    code, said = start(lambda say: open_and_die(tmp_path / "counted", -1, say)).wait()
    assert code == 0
    return int(said[0])


@pytest.mark.slow
def test_a_kill_while_migrating_leaves_no_schema_or_the_whole(tmp_path: Path) -> None:
    """P08: killed at every fourth statement."""
    last = count_statements(tmp_path)
    assert last > 40
    kill_at(tmp_path, list(range(1, last + 1, 4)))


@pytest.mark.soak
def test_a_kill_at_any_statement_leaves_no_schema_or_the_whole(tmp_path: Path) -> None:
    """P08."""
    kill_at(tmp_path, list(range(1, count_statements(tmp_path) + 1)))


def test_opening_again_changes_nothing(open_store: Open, data_dir: Path) -> None:
    """P08."""
    open_store().close()
    before = (data_dir / FILE_NAME).read_bytes()
    open_store().close()
    assert (data_dir / FILE_NAME).read_bytes() == before
    assert schema(data_dir / FILE_NAME)[0] == NEWEST


def test_a_later_schema_is_refused_and_left_alone(open_store: Open, data_dir: Path) -> None:
    """P08."""
    open_store().close()
    connection = apsw.Connection(str(data_dir / FILE_NAME))
    connection.pragma("user_version", NEWEST + 1)
    connection.execute("CREATE TABLE of_the_future (a)")
    connection.close()
    before = (data_dir / FILE_NAME).read_bytes()
    with pytest.raises(StoreTooNew) as caught:
        open_store()
    assert str(NEWEST + 1) in str(caught.value)
    assert caught.value.hint is not None
    assert (data_dir / FILE_NAME).read_bytes() == before


@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize(("version", "application"), [(0, 0), (7, 0), (1, 0x12345678), (0, APPLICATION_ID)])
def test_a_database_of_another_program_is_refused_and_left_alone(
    open_store: Open, data_dir: Path, mode: str, version: int, application: int
) -> None:
    """P08."""
    data_dir.mkdir(mode=0o700)
    connection = apsw.Connection(str(data_dir / FILE_NAME))
    connection.execute(f"PRAGMA journal_mode = {mode}").fetchall()
    connection.execute("CREATE TABLE theirs (a); INSERT INTO theirs VALUES ('precious')")
    connection.pragma("user_version", version)
    connection.pragma("application_id", application)
    connection.close()
    before = (data_dir / FILE_NAME).read_bytes()
    with pytest.raises(StoreUnavailable, match="another program"):
        open_store()
    assert (data_dir / FILE_NAME).read_bytes() == before


@pytest.mark.parametrize(
    ("names", "fine"),
    [
        (["0001_a.sql", "0002_b.sql", "0003_c.sql"], True),
        (["0001_a.sql"], True),
        ([], True),
        (["0001_a.sql", "0003_c.sql"], False),
        (["0002_b.sql"], False),
        (["0000_a.sql", "0001_b.sql"], False),
        (["0001_a.sql", "0001_b.sql"], False),
    ],
    ids=lambda value: " ".join(value) or "none" if isinstance(value, list) else None,
)
def test_migrations_are_numbered_without_a_hole(tmp_path: Path, names: list[str], fine: bool) -> None:
    """P08."""
    for name in names:
        (tmp_path / name).write_text(f"-- {name}")
    if fine:
        assert load_migrations(tmp_path) == [(n, f"-- {name}") for n, name in enumerate(names, 1)]
    else:
        with pytest.raises(AssertionError):
            load_migrations(tmp_path)


def test_every_migration_says_what_it_is() -> None:
    """P08: the folder itself is well numbered."""
    assert [number for number, _ in load_migrations(Path(database.__file__).parent / "migrations")] == [
        *range(1, NEWEST + 1)
    ]
