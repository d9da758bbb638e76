"""P10: when the disk is full a write says so and changes nothing; when there is space again everything goes on.

A small file system of its own where we may mount one; everywhere, a limit on how large a file may grow.
"""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect.errors import StoreError, StoreFull, StoreUnavailable
from recollect.store.ports.keeping import Ages
from recollect.store.sqlite import backup as copies
from recollect.store.sqlite.store import FILE_NAME, SqliteStore
from tests.contract.samples import ANN, LATER, T0, by_words, event, memory
from tests.faults.children import Say, start

FULL = (StoreFull, StoreUnavailable)
AGES = Ages(archive_before=T0, archive_reads=0, redact_before=T0, purge_before=T0)


@contextmanager
def files_at_most(size: int) -> Iterator[None]:
    """No file of this process may grow beyond `size`; writing further fails as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def write_until_full(store: SqliteStore, say: Say, first: int = 0) -> int:
    """Says each acknowledged number; returns the first that did not fit."""
    for number in range(first, first + 5_000):
        try:
            store.sessions.append(ANN, [event("chat:1", number, f"walrus {number} " + "x" * 4_000)])
        except FULL:
            return number
        say(str(number))
    raise AssertionError("the disk never was full")


def numbers(said: list[str]) -> set[int]:
    assert not [line for line in said if line.startswith("error")], said
    return {int(line) for line in said if line.isdigit()}


def all_there(data_dir: Path, acked: set[int]) -> None:
    store = SqliteStore(data_dir)
    try:
        assert store.keeping.health(deep=True).checks == {}
        there = {int(one.text.split()[1]) for one in store.sessions.history(ANN, "chat:1")}
        assert acked <= there
        assert len(by_words(store, ANN, "turn", "walrus", limit=10**6)) == len(there)
    finally:
        store.close()


def test_a_write_that_does_not_fit_is_refused_and_later_writes_work(data_dir: Path) -> None:
    """P10: at a commit; the same handle goes on when there is space again."""

    def work(say: Say) -> None:
        store = SqliteStore(data_dir)
        with files_at_most(1_500_000):
            stopped = write_until_full(store, say)
            for _ in range(3):  # still full, still an error of ours, still readable
                with pytest.raises(FULL):
                    store.sessions.append(ANN, [event("chat:1", stopped, "walrus 99999 " + "x" * 3_000_000)])
            assert len(store.sessions.history(ANN, "chat:1")) == stopped
            assert by_words(store, ANN, "turn", "walrus")
        assert store.sessions.append(ANN, [event("chat:1", stopped, f"walrus {stopped} now")]) == [True]
        say(str(stopped))
        store.close()

    code, said = start(work).wait()
    assert code == 0, said
    assert len(numbers(said)) > 8
    all_there(data_dir, numbers(said))


@pytest.mark.parametrize(
    "point",
    {
        "upkeep": lambda store: store.keeping.upkeep(now=T0, ages=AGES),
        "rebuild": lambda store: store.keeping.rebuild(),
        "forget": lambda store: store.keeping.forget_memory(ANN, "m-1", at=LATER),
        "restart": lambda store: store.vectors.restart(),
    }.items(),
    ids=lambda item: item[0],
)
def test_a_full_disk_at_other_points_loses_nothing(
    data_dir: Path, point: tuple[str, Callable[[SqliteStore], object]]
) -> None:
    """P10: checkpoint, rebuild and forget either work or say that they could not."""

    def work(say: Say) -> None:
        store = SqliteStore(data_dir)
        store.memories.add(ANN, memory("to be forgotten", id="m-1"))
        with files_at_most(1_200_000):
            write_until_full(store, say)
            try:
                point[1](store)
            except FULL:
                say("refused")
        point[1](store) if point[0] != "forget" or store.memories.get(ANN, "m-1") else None
        store.close()

    code, said = start(work).wait()
    assert code == 0, said
    all_there(data_dir, numbers(said))


@pytest.mark.parametrize("size", [0, 1_000, 5_000, 40_000, 100_000, 200_000])
def test_opening_a_new_store_on_a_full_disk_is_refused(data_dir: Path, size: int) -> None:
    """P10, P08: at the migration; nothing half stays behind."""

    def work(say: Say) -> None:
        with files_at_most(size), pytest.raises(FULL):
            SqliteStore(data_dir)
        store = SqliteStore(data_dir)
        store.sessions.append(ANN, [event("chat:1", 0, "walrus 0")])
        store.close()

    assert start(work).wait() == (0, [])
    all_there(data_dir, {0})


@pytest.mark.parametrize("size", [0, 4_096, 100_000, 600_000])
def test_no_partial_backup_gets_the_name(data_dir: Path, tmp_path: Path, size: int) -> None:
    """P10: nor does its part stay behind."""
    target = tmp_path / "out" / "copy.db"
    target.parent.mkdir()

    def work(say: Say) -> None:
        store = SqliteStore(data_dir)
        for number in range(150):
            store.sessions.append(ANN, [event("chat:1", number, f"walrus {number} " + "x" * 4_000)])
        with files_at_most(size), pytest.raises(StoreError):
            store.backup(target)
        assert list(target.parent.iterdir()) == []
        store.backup(target)

    code, said = start(work).wait()
    assert (code, said) == (0, [])
    assert copies.verify(target) > 0


@pytest.mark.parametrize("size", [0, 4_096, 600_000])
def test_a_restore_that_does_not_fit_leaves_nothing(data_dir: Path, tmp_path: Path, size: int) -> None:
    """P10."""
    copy, home = tmp_path / "copy.db", tmp_path / "home2"

    def work(say: Say) -> None:
        store = SqliteStore(data_dir)
        for number in range(150):
            store.sessions.append(ANN, [event("chat:1", number, f"walrus {number} " + "x" * 4_000)])
        store.backup(copy)
        home.mkdir(mode=0o700)
        with files_at_most(size), pytest.raises(StoreError):
            copies.restore(copy, home / FILE_NAME)
        assert list(home.iterdir()) == []
        copies.restore(copy, home / FILE_NAME)

    assert start(work).wait() == (0, [])
    all_there(home, set(range(150)))


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A file system of a few megabytes, where we may mount one."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "recollect-test", str(folder)],
        capture_output=True,
    )
    if done.returncode:
        pytest.skip("may not mount a file system here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True, capture_output=True)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root may mount")
def test_a_small_disk_that_fills_up_says_it_is_full(tmp_path: Path) -> None:
    """P10: a real ENOSPC, from outside filled and emptied again."""
    with small_disk(tmp_path / "disk", 8) as disk:
        data_dir, ballast = disk / "data", disk / "ballast"
        ballast.write_bytes(bytes(3 * 2**20))
        store = SqliteStore(data_dir)
        acked: list[str] = []
        try:
            stopped = write_until_full(store, acked.append)
            with pytest.raises(StoreFull):
                store.sessions.append(ANN, [event("chat:1", stopped, "walrus " + "x" * 2_000_000)])
            with pytest.raises(StoreError):
                store.backup(disk / "copy.db")
            assert not (disk / "copy.db").exists()
            ballast.unlink()
            assert store.sessions.append(ANN, [event("chat:1", stopped, f"walrus {stopped} fits now")]) == [True]
        finally:
            store.close()
        all_there(data_dir, {int(line) for line in acked} | {stopped})
