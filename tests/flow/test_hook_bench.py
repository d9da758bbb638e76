"""The benchmark of the hook runs from end to end and prints every line it promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench" / "hook.py"


def test_a_short_run_prints_every_line(tmp_path: Path) -> None:
    words = [sys.executable, str(BENCH), "--starts", "2", "--work-dir", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("machine: ")
    for start in ("| 1 | p50 |", "| 1 | p95 |", "| 8 | p50 |", "| 8 | p95 |"):
        assert start in done.stdout
    assert list(tmp_path.glob("recollect-bench-*")) == []
