"""A vector engine's files: bounded, without a byte of what was forgotten, and made again however they were damaged."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.settings import Settings
from recollect.store.engines.attached import connect
from recollect.store.engines.port import Embedded, disk_use
from recollect.store.opening import open_store
from recollect.store.port import Store
from recollect.store.ports.keeping import Ages
from tests.contract.engine_fixture import ENGINES, asked, clustered, each_engine, fill, settings_for
from tests.contract.samples import ANN, LATER, NOW, T0, TINY, by_meaning, embed_waiting, memory

pytestmark = pytest.mark.slow
AGES = Ages(archive_before=T0, archive_reads=0, redact_before=T0, purge_before=T0)
MEGABYTE = 2**20
REPOSITORY = Path(__file__).resolve().parents[2]
on_lance = pytest.mark.parametrize("kind", [each_engine("lancedb")])
on_each = pytest.mark.parametrize("kind", ENGINES)


def in_folder(kind: str, tmp_path: Path, **changes: Any) -> Settings:
    """An engine whose files are in a folder, Qdrant's too."""
    return settings_for(kind, tmp_path, vector_engine_url=str(tmp_path / "engine"), **changes)


def upkeep(store: Store) -> None:
    store.keeping.upkeep(now=T0, ages=AGES)


def nearest(store: Store, text: str = "walruses sleep on ice") -> list[int]:
    return [match.doc for match in store.search.semantic(ANN, "memory", asked(text), NOW, 5)]


def held(store: Any) -> int:
    store.engine._paused = 0.0
    with store.database.read(None) as tx:
        return int(store.engine.index(tx).count())


def files_with(folder: Path, needles: list[bytes]) -> list[str]:
    found = [file for file in folder.rglob("*") if file.is_file()]
    return [file.name for file in found if any(needle in file.read_bytes() for needle in needles)]


@on_each
def test_no_byte_of_a_forgotten_text_is_left_in_the_engine(kind: str, tmp_path: Path) -> None:
    """P13: its vector is in no file, neither the one of now nor the one its text had before."""
    store: Any = open_store(in_folder(kind, tmp_path))
    fill(store)
    upkeep(store)
    kept = memory("the lighthouse keeper retires", id="m-1")
    store.memories.add(ANN, kept)
    before, after = clustered(2, TINY.dim, 3)
    store.vectors.put((TINY.name, TINY.dim), [(store.vectors.waiting(1)[0], before[np.newaxis])])
    store.memories.update(ANN, replace(kept, content="a lecture on tax law"), at=LATER, note="edit")
    store.vectors.put((TINY.name, TINY.dim), [(store.vectors.waiting(1)[0], after[np.newaxis])])
    needles = spelled(before) + spelled(after)
    assert files_with(tmp_path / "engine", needles)
    receipt = store.keeping.forget_memory(ANN, "m-1", at=LATER)
    assert (receipt.complete, receipt.remains) == (True, ())
    assert files_with(tmp_path / "engine", needles) == []
    assert len(by_meaning(store, ANN, "memory", "walrus")) == 8
    assert store.keeping.health(deep=True).checks == {}
    store.close()
    assert files_with(tmp_path / "engine", needles) == []


def spelled(row: Any) -> list[bytes]:
    """Part of a vector as an engine may write it: halves, singles, or a pickled list of doubles."""
    part = np.asarray(row, dtype=np.float16)[8:14].astype(np.float64)
    pickled = b"".join(b"G" + struct.pack(">d", value) for value in part)
    return [part.astype("<f2").tobytes(), part.astype("<f4").tobytes(), pickled]


@on_lance
def test_the_files_stay_in_proportion_when_vectors_come_one_by_one(kind: str, tmp_path: Path) -> None:
    """P11: every write is a new version of everything; 600 of them must not be 600 times as much."""
    settings = in_folder(kind, tmp_path)
    count, dim = 600, 256
    rows = clustered(count, dim, 1)
    connect(settings).make("recollect_a_1", dim)
    for part in range(5):
        index = connect(settings).open("recollect_a_1", dim)
        for number in range(part, count, 5):
            index.put([Embedded("o1", "memory", number, rows[number : number + 1])])
        assert disk_use(tmp_path / "engine") <= 3 * count * dim * 4 + MEGABYTE
    assert index.count() == count


@pytest.mark.soak
@on_lance
def test_twenty_thousand_vectors_one_by_one_stay_in_proportion(kind: str, tmp_path: Path) -> None:
    """P11: 20,000 vectors of 256 dimensions, five restarts; looked at all the time, not only at the end."""
    settings = in_folder(kind, tmp_path)
    count, dim = 20_000, 256
    rows = clustered(count, dim, 1)
    connect(settings).make("recollect_a_1", dim)
    for part in range(5):
        index = connect(settings).open("recollect_a_1", dim)
        for number in range(part, count, 5):
            index.put([Embedded("o1", "memory", number, rows[number : number + 1])])
            if number % 500 == part:
                assert disk_use(tmp_path / "engine") <= 3 * count * dim * 4 + 64 * MEGABYTE
    assert index.count() == count


@on_each
@pytest.mark.parametrize("damage", ["cut", "flipped", "gone"])
def test_damaged_files_cost_no_answer_and_are_made_again(kind: str, tmp_path: Path, damage: str) -> None:
    """C1, P06: whatever is done to the folder, recall goes on, and upkeep makes it whole."""
    settings = in_folder(kind, tmp_path)
    store: Any = open_store(settings)
    fill(store)
    upkeep(store)
    expected = nearest(store)
    store.close()
    for file in sorted((tmp_path / "engine").rglob("*")):
        if file.is_file() and file.name not in ("meta.json", ".lock"):
            if damage == "gone":
                file.unlink()
            elif damage == "cut":
                file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
            else:
                file.write_bytes(bytes(byte ^ 0x5A for byte in file.read_bytes()))
    store = open_store(settings)
    assert nearest(store) == expected
    assert "vector engine" in store.keeping.health(deep=True).checks
    upkeep(store)
    assert held(store) == 8 + 16
    assert nearest(store) == expected
    assert store.keeping.health(deep=True).checks == {}
    store.close()


OTHER = """
import sys, pathlib
from recollect.store.opening import open_store
from tests.contract.samples import ANN, NOW, embed_waiting, memory
from tests.faults.test_engines_faults import in_folder, nearest
store = open_store(in_folder(sys.argv[1], pathlib.Path(sys.argv[2])))
print(nearest(store), flush=True)
for line in sys.stdin:
    if line.startswith("add"):
        store.memories.add(ANN, memory(line.strip()))
        embed_waiting(store)
    print(nearest(store, line.strip()), store.engine.trouble or "", flush=True)
store.close()
"""


def told(process: subprocess.Popen[str], line: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


@on_each
def test_two_processes_use_one_store_and_its_engine(kind: str, tmp_path: Path) -> None:
    """LanceDB: both read, they write in turn. Qdrant's local mode is the first one's; the other answers without it."""
    store: Any = open_store(in_folder(kind, tmp_path))
    fill(store)
    upkeep(store)
    other = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", OTHER, kind, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY,
    )  # fmt: skip
    try:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == str(nearest(store))
        for number in range(50 if kind == "lancedb" else 5):
            store.memories.add(ANN, memory(f"walrus of the first {number}"))
            embed_waiting(store)
            answer = told(other, f"add walrus of the second {number}")
            assert answer.startswith(str(nearest(store, f"add walrus of the second {number}")))
            assert ("already accessed" in answer) == (kind == "qdrant")
        upkeep(store)
        assert held(store) == 8 + 16 + (100 if kind == "lancedb" else 10)
    finally:
        other.communicate()
        store.close()


MAKER = """
import sys, pathlib
from recollect.store.opening import open_store
from tests.faults.test_engines_faults import in_folder
store = open_store(in_folder(sys.argv[1], pathlib.Path(sys.argv[2])))
engine = store.engine._engine_now()
print("ready", flush=True)
while True:
    store.engine.rebuild()
"""


@on_lance
@pytest.mark.parametrize("after", [0.05, 0.2, 0.5])
def test_a_making_that_is_killed_leaves_a_whole_index(kind: str, tmp_path: Path, after: float) -> None:
    """P07: the index in use stays until the new one is whole; what a killed maker left is taken away."""
    store: Any = open_store(in_folder(kind, tmp_path))
    fill(store)
    upkeep(store)
    expected = nearest(store)
    maker = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", MAKER, kind, str(tmp_path)], stdout=subprocess.PIPE, cwd=REPOSITORY
    )
    assert maker.stdout is not None
    maker.stdout.readline()
    time.sleep(after)
    os.kill(maker.pid, signal.SIGKILL)
    maker.communicate()
    assert nearest(store) == expected
    upkeep(store)
    assert held(store) == 8 + 16
    assert len(connect(in_folder(kind, tmp_path)).names("recollect_")) == 1
    store.close()


def test_a_restored_copy_does_not_write_into_the_engine_of_the_original(tmp_path: Path) -> None:
    """A backup has no engine: what was there when it was made may be forgotten there since."""
    from recollect.store.sqlite.backup import restore

    kind = next((param.values[0] for param in ENGINES if not param.marks[0].args[0]), None)
    if kind is None:
        pytest.skip("no vector engine is installed")
    store: Any = open_store(in_folder(str(kind), tmp_path))
    fill(store)
    upkeep(store)
    store.backup(tmp_path / "copy")
    with store.database.read(None) as tx:
        assert tx.run("engine.state").fetchone() is not None
    store.close()
    (tmp_path / "back").mkdir(mode=0o700)
    restore(tmp_path / "copy", tmp_path / "back" / "recollect.db")
    plain: Any = open_store(Settings(data_dir=tmp_path / "back"))
    with plain.database.read(None) as tx:
        assert tx.run("engine.state").fetchone() is None
        assert tx.run("engine.store").fetchone() is None
    plain.close()
