"""P11: the file stays in proportion to what it keeps, however often vectors are made again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recollect.store.ports.keeping import Ages
from recollect.store.sqlite.store import SqliteStore
from tests.contract.samples import ANN, T0, event, memory

AGES = Ages(archive_before=T0, archive_reads=0, redact_before=T0, purge_before=T0)
MEGABYTE = 2**20


def embed_all(store: SqliteStore, name: str, dim: int, batch: int = 200) -> int:
    """A vector for everything that waits, of a model of any name and size."""
    chance = np.random.default_rng(5)
    made = 0
    while waiting := store.vectors.waiting(batch):
        rows = chance.standard_normal((len(waiting), dim)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        made += store.vectors.put((name, dim), [(item, row[None]) for item, row in zip(waiting, rows, strict=True)])
    return made


def size_of(folder: Path) -> tuple[int, int]:
    """Apparent and allocated size of all files."""
    infos = [file.stat() for file in folder.iterdir()]
    return sum(info.st_size for info in infos), sum(info.st_blocks * 512 for info in infos)


def grow(store: SqliteStore, items: int, text_chars: int) -> int:
    """Turns and memories; returns how many bytes of text they are."""
    total = 0
    for number in range(items):
        text = f"walrus number {number} " + " ".join(f"w{number * 31 % 997}{n}" for n in range(text_chars // 7))
        total += len(text)
        if number % 2:
            store.memories.add(ANN, memory(text))
        else:
            store.sessions.append(ANN, [event(f"chat:{number % 7}", number, text)])
    return total


def check_bounded(data_dir: Path, items: int, dim: int, rounds: int, constant: int) -> None:
    store = SqliteStore(data_dir)
    text = grow(store, items, 400)
    assert embed_all(store, "m", dim) == items
    for number in range(rounds):
        assert store.vectors.restart() == items
        assert embed_all(store, f"m{number}", dim) == items
        store.close()
        store = SqliteStore(data_dir)
    store.keeping.upkeep(now=T0, ages=AGES)
    assert store.keeping.health(deep=True).counts["vectors"] == items
    store.close()
    bound = 3 * (text + items * dim * 4) + constant
    apparent, allocated = size_of(data_dir)
    assert apparent <= bound
    assert allocated <= bound


@pytest.mark.slow
def test_the_file_stays_in_proportion_after_many_reembeddings(data_dir: Path) -> None:
    """P11: at most 3 x (text + float32 vectors) + 1 MB after five re-embeddings and restarts."""
    check_bounded(data_dir, items=600, dim=256, rounds=5, constant=MEGABYTE)


@pytest.mark.soak
def test_twenty_thousand_vectors_stay_in_proportion(data_dir: Path) -> None:
    """P11: 20,000 vectors of 256 dimensions, five restarts."""
    check_bounded(data_dir, items=20_000, dim=256, rounds=5, constant=64 * MEGABYTE)


@pytest.mark.slow
def test_a_turn_that_grows_and_grows_keeps_one_vector(data_dir: Path) -> None:
    """P11: vectors one by one for the same turn replace each other."""
    store = SqliteStore(data_dir)
    for number in range(150):
        store.sessions.append(ANN, [event("chat:1", number, f"word{number}", "assistant")])
        assert embed_all(store, "m", 256) == 1
    store.keeping.upkeep(now=T0, ages=AGES)
    assert store.keeping.health(deep=True).counts["vectors"] == 1
    store.close()
    assert size_of(data_dir)[0] < 0.7 * MEGABYTE


def test_no_file_is_sparse(data_dir: Path) -> None:
    """P11: what `ls` says and what the disk holds are about the same."""
    store = SqliteStore(data_dir)
    grow(store, 20, 400)
    store.close()
    apparent, allocated = size_of(data_dir)
    assert abs(apparent - allocated) < 64 * 1024
