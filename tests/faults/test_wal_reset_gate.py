"""P01: the write-ahead log is used only with a SQLite that cannot lose commits in it."""

from __future__ import annotations

import apsw
import pytest

from recollect.store.sqlite.database import is_wal_reset_vulnerable
from tests.contract.samples import ANN, talk
from tests.faults.conftest import Open


@pytest.mark.parametrize(
    ("version", "vulnerable"),
    [
        ("3.6.23", False),  # before there was a write-ahead log
        ("3.7.0", True),
        ("3.40.1", True),
        ("3.44.5", True),
        ("3.44.6", False),  # the fix carried back
        ("3.45.0", True),
        ("3.50.6", True),
        ("3.50.7", False),  # the fix carried back
        ("3.51.0", True),
        ("3.51.2", True),
        ("3.51.3", False),  # fixed
        ("3.53.0", False),
    ],
)
def test_vulnerable_versions_are_known(version: str, vulnerable: bool) -> None:
    """P01."""
    assert is_wal_reset_vulnerable(version) is vulnerable


def test_this_sqlite_is_not_vulnerable() -> None:
    """P01: what we ship with."""
    assert not is_wal_reset_vulnerable(apsw.sqlite_lib_version())


def test_a_sound_sqlite_runs_wal_with_full_sync(open_store: Open) -> None:
    """P01, P03: every connection, also those opened for reading."""
    database = open_store().database
    with database.writing() as writer, database.reading() as reader:
        for connection in (writer, reader):
            assert connection.pragma("journal_mode") == "wal"
            assert connection.pragma("synchronous") == 2
            assert connection.pragma("wal_autocheckpoint") == 1000
            assert connection.pragma("secure_delete") == 1


@pytest.mark.parametrize("version", ["3.7.0", "3.40.1", "3.51.2"])
def test_a_vulnerable_sqlite_never_runs_wal_and_says_so(
    open_store: Open, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """P01: the store works, without WAL, and health has one warning."""
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: version)
    store = open_store()
    store.sessions.append(ANN, talk("chat:1", "walrus"))
    with store.database.writing() as writer, store.database.reading() as reader:
        for connection in (writer, reader):
            assert connection.pragma("journal_mode") == "truncate"
            assert connection.pragma("synchronous") == 2
    assert list(store.keeping.health(deep=False).checks) == ["sqlite"]
    assert "WAL" in store.keeping.health(deep=True).checks["sqlite"]
    assert not store.database.path.with_name("recollect.db-wal").exists()
    assert len(store.sessions.history(ANN, "chat:1")) == 1


def test_a_database_in_wal_is_taken_out_of_it_by_a_vulnerable_sqlite(
    open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P01: also when a sound version made the file."""
    first = open_store()
    first.sessions.append(ANN, talk("chat:1", "walrus"))
    first.close()
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.40.1")
    second = open_store()
    with second.database.reading() as connection:
        assert connection.pragma("journal_mode") == "truncate"
    assert len(second.sessions.history(ANN, "chat:1")) == 1
    second.close()
    monkeypatch.undo()
    third = open_store()
    with third.database.reading() as connection:
        assert connection.pragma("journal_mode") == "wal"
    assert third.keeping.health(deep=True).checks == {}
