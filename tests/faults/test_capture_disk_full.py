"""P10: a disk that fills up during a sweep is said so, harms nothing, and the next sweep completes the work."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.errors import StoreFull, StoreUnavailable
from recollect.settings import load
from tests.faults.children import Say, start
from tests.faults.test_disk_full import files_at_most, small_disk
from tests.flow.transcripts_fixture import Agents, everything, uid

FULL = (StoreFull, StoreUnavailable)


@pytest.fixture
def agents(own_home: Path) -> Agents:
    return Agents(own_home)


def opened(data_dir: Path) -> Recollect:
    return Recollect.open(
        settings=load(data_dir=data_dir, raw_inline_bytes=2_000).settings, embedder=None, background=False
    )


def words(seed: object, count: int) -> str:
    draw = random.Random(str(seed))
    return " ".join("".join(draw.choices("abcdefghijklmnop", k=6)) for _ in range(count))


def write_sessions(agents: Agents, count: int, length: int) -> None:
    for number in range(count):
        agents.claude(uid(number), 2, output=words(number, length), answer=words(-number, 250))


def check_complete(data_dir: Path, fresh_dir: Path) -> None:
    with opened(fresh_dir) as undisturbed:
        undisturbed.sweep()
        wanted = everything(undisturbed)
    with opened(data_dir) as memory:
        memory.sweep()
        assert everything(memory) == wanted
        assert memory.health(deep=True).checks == {}
        for path in (data_dir / "bodies").rglob("*"):
            assert path.is_dir() or path.suffix == ".zst"


@pytest.mark.skipif(os.getuid() != 0, reason="only root may mount")
@pytest.mark.parametrize("length", [100, 90_000], ids=["rows fill it", "bodies fill it"])
def test_a_small_disk_that_fills_up_during_a_sweep(agents: Agents, tmp_path: Path, length: int) -> None:
    write_sessions(agents, 250 if length == 100 else 12, length)
    with small_disk(tmp_path / "disk", 24) as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(22 * 2**20 + 2**19))
        with opened(disk / "data") as memory:
            with pytest.raises(FULL):
                memory.sweep()
            with pytest.raises(FULL):
                memory.sweep()  # still full, still said
            kept = len(memory.sessions(limit=1_000))
            assert memory.health(deep=True).checks == {}
            ballast.unlink()
            memory.sweep()
            assert len(memory.sessions(limit=1_000)) > kept
        check_complete(disk / "data", tmp_path / "fresh")


@pytest.mark.parametrize("limit", [300_000, 1_200_000])
def test_files_that_may_not_grow_are_a_full_disk(agents: Agents, tmp_path: Path, limit: int) -> None:
    """Everywhere, without mounting anything."""
    write_sessions(agents, 90, 500)

    def work(say: Say) -> None:
        memory = opened(tmp_path / "data")
        with files_at_most(limit):
            try:
                memory.sweep()
            except FULL:
                say("full")
        memory.sweep()
        memory.close()

    code, said = start(work).wait()
    assert (code, said) == (0, ["full"])
    check_complete(tmp_path / "data", tmp_path / "fresh")
