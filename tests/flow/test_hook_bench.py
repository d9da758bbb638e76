"""The benchmark of the hook runs from end to end and prints every line it promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench" / "hook.py"


def test_a_short_run_prints_every_line(tmp_path: Path) -> None:
    words = [sys.executable, str(BENCH), "--starts", "2", "--memories", "50", "--work-dir", str(tmp_path)]
    words += ["--model-dir", str(tmp_path / "none")]
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
    assert list(tmp_path.glob("recollect-bench-*")) == []
