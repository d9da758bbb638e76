"""The page on learning keeps its word: its loop runs on its samples, by the commands it shows."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from tests.flow.conftest import Cli

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")


def test_the_loop_of_the_page(cli: Cli, own_home: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 7: detect, approve, roll out (diff shown), new sessions, measure, and back byte for byte."""
    (work / "CLAUDE.md").write_bytes(b"# App\n\nBe brief.\n")
    samples = own_home / "samples"

    def write(half: str) -> None:
        monkeypatch.setattr(sys, "argv", ["learning_samples.py", str(samples), str(work), half])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(ROOT / "tools" / "learning_samples.py"), run_name="__main__")
        assert ended.value.code == 0

    write("before")
    sources = ("--source", f"claude={samples / 'claude'}", "--source", f"codex={samples / 'codex'}")
    assert cli("sweep", *sources).code == 0
    (one,) = cli("detect", "--json").json["candidates"]
    assert (one["cross_flavor"], len(one["sessions"])) == (True, 15)
    pattern = one["id"]
    assert pattern in PAGE, "the id is the same wherever it is found"
    told = cli("patterns", "approve", pattern[:8], "--why", "happens every day").out
    planned = cli("patterns", "roll-out", pattern[:8], "--to", "claude-md", "--dry-run").out
    assert cli("patterns", "roll-out", pattern[:8], "--to", "claude-md").code == 0
    assert "not enough data (20 tasks before, 0 after; 10 are needed)" in cli("patterns", "measure").out
    write("after")
    assert cli("sweep", *sources).code == 0
    measured = cli("patterns", "measure").out
    shown = [*told.splitlines()[1:3], *planned.splitlines()[3:10], *measured.splitlines()[2:5]]
    assert [line for line in shown if line not in PAGE] == []
    assert cli("patterns", "roll-back", pattern[:8]).code == 0
    assert (work / "CLAUDE.md").read_bytes() == b"# App\n\nBe brief.\n"
