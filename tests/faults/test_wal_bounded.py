"""P05: a reader that stays for long lets the log grow; it is noticed, and maintenance makes it small again."""

from __future__ import annotations

import time

import pytest

from recollect.store.ports.keeping import Ages
from recollect.store.sqlite import keeping
from recollect.store.sqlite.store import SqliteStore
from tests.contract.samples import ANN, LATER, T0, event, memory
from tests.faults.conftest import Open

AGES = Ages(archive_before=T0, archive_reads=0, redact_before=T0, purge_before=T0)
MEGABYTE = 2**20


def fill(store: SqliteStore, megabytes: int) -> None:
    for number in range(megabytes):
        store.sessions.append(ANN, [event("chat:1", number, f"walrus {number} " + "x " * (MEGABYTE // 2))])


@pytest.mark.slow
def test_the_log_is_small_again_after_a_long_reader(store: SqliteStore, open_store: Open) -> None:
    """P05: 70 MB written under a held snapshot; alarm at 64 MB; at most 4 MB after maintenance."""
    other = open_store()
    with other.database.moment() as connection:
        connection.execute("SELECT count(*) FROM events").fetchall()
        fill(store, 70)
        health = store.keeping.health(deep=False)
        assert health.bytes["wal"] > 64 * MEGABYTE
        assert "wal" in health.checks
    store.keeping.upkeep(now=T0, ages=AGES)
    after = store.keeping.health(deep=True)
    assert after.bytes["wal"] <= 4 * MEGABYTE
    assert after.checks == {}
    assert after.counts["events"] == 70


def test_without_readers_the_log_stays_small_by_itself(store: SqliteStore) -> None:
    """P05: automatic checkpoints; no maintenance at all."""
    fill(store, 16)
    assert store.keeping.health(deep=False).bytes["wal"] <= 8 * MEGABYTE


@pytest.mark.timed
def test_maintenance_does_not_wait_long_for_a_reader(store: SqliteStore, open_store: Open) -> None:
    """P05, P04: emptying the log holds the write lock, so it gives up soon; forget says that a trace may be left."""
    other = open_store()
    kept, _ = store.memories.add(ANN, memory("walrus"))
    with other.database.moment() as connection:
        connection.execute("SELECT count(*) FROM memories").fetchall()
        started = time.monotonic()
        receipt = store.keeping.forget_memory(ANN, kept.id, at=LATER)
        assert time.monotonic() - started < 5
        assert not receipt.complete
    store.keeping.upkeep(now=T0, ages=AGES)
    assert store.keeping.health(deep=False).bytes["wal"] == 0


def test_the_alarm_can_be_heard(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """P05: quick form of the first test."""
    store.memories.add(ANN, memory("walrus"))
    assert "wal" not in store.keeping.health(deep=False).checks
    monkeypatch.setattr(keeping, "WAL_ALARM_BYTES", 100)
    assert "wal" in store.keeping.health(deep=False).checks
