"""The benchmark of the hook runs from end to end and prints every line it promises."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "hook.py"


@pytest.fixture
def near() -> Iterator[Path]:
    """A folder with a short name: the address of a socket may have a hundred characters."""
    with tempfile.TemporaryDirectory(prefix="rb-") as folder:
        yield Path(folder)


def test_a_short_run_prints_every_line(near: Path) -> None:
    words = [sys.executable, str(BENCH), "--starts", "2", "--memories", "50", "--work-dir", str(near)]
    words += ["--model-dir", str(near / "none")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("machine: ")
    for event in ("stop", "start", "index", "warm"):
        for start in ("| 1 | p50 |", "| 1 | p95 |", "| 8 | p50 |", "| 8 | p95 |"):
            assert f"| {event} {start}" in done.stdout
    answered = {
        line.split(" | ")[0]: line.split(" | ")[-1] for line in done.stdout.splitlines() if line.startswith("| ")
    }
    assert answered["| stop"].startswith("0%")
    assert answered["| start"].startswith("100%")
    assert not answered["| index"].startswith("0%")
    assert list(near.glob("recollect-bench-*")) == []
