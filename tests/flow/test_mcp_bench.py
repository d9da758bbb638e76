"""The benchmark of the MCP server runs from end to end and prints every line it promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench" / "mcp.py"


def test_a_short_run_prints_every_line() -> None:
    words = [sys.executable, str(BENCH), "--starts", "1", "--settle", "0.1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("machine: ")
    for name in ("recollect mcp", "official SDK, bare server", "python that answers a line"):
        assert f"| {name} | " in done.stdout
    assert "idle < 100 MB: met" in done.stdout
