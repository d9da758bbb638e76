"""The latency benchmark runs from end to end on small sizes and prints every line it promises."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "latency.py"
RECALLS = [
    f"{what}, {mode}, p{share}"
    for what in ("memories", "turns", "all tiers")
    for mode in ("embedder alone", "hybrid", "lexical")
    for share in (50, 95)
]
GROWTHS = [
    f"{size} rows, {what}"
    for size in ("400", "1,200")
    for what in ("built", "lexical, p50", "lexical, p95", "hybrid, p50", "hybrid, p95", "database")
]
LINES = {
    "ingest": [
        "bare SQLite, 1 a commit",
        "bare SQLite, 100 a commit",
        "text only, remember",
        "text only, record",
        "text only, record_many(100)",
        "embedder alone, beside remember",
        "with vectors, remember",
        "embedder alone, beside record_many(100)",
        "with vectors, record_many(100)",
    ],
    "recall": ["database of the scope", *RECALLS],
    "growth": GROWTHS,
    "cold": ["python -c pass", "recollect --version", "recollect recall --mode lexical", "recollect recall"],
    "memory": [
        "bare interpreter",
        "after open",
        "after the first lexical recall",
        "embedder alone after one text",
        "after the first hybrid recall",
    ],
}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCH), "--quick", "--embedder", "tiny", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_a_quick_run_prints_every_line(tmp_path: Path) -> None:
    done = run("--json", str(tmp_path / "figures.json"), "--work-dir", str(tmp_path))
    assert done.returncode == 0, done.stderr

    assert done.stdout.startswith("machine: ")
    for section, names in LINES.items():
        for name in names:
            assert f"| {section} | {name} | " in done.stdout

    written = json.loads((tmp_path / "figures.json").read_text())["figures"]
    expected = {(section, name) for section, names in LINES.items() for name in names}
    assert {(figure["section"], figure["name"]) for figure in written} == expected
    times = [figure for figure in written if figure["unit"] == "ms" and figure["value"] is not None]
    assert all(figure["ratio"] > 0 for figure in times)


def test_an_unknown_section_is_refused() -> None:
    done = run("--only", "ingest,poetry")

    assert done.returncode == 2
    assert "poetry" in done.stderr


def test_the_sweep_benchmark_runs_on_the_fixtures() -> None:
    """On small sizes and excerpts: that it measures what it says, not how fast."""
    bench, fixtures = BENCH.with_name("sweep.py"), BENCH.parents[1] / "tests" / "fixtures"
    sizes = ["--rounds", "1", "--files", "5", "--huge", "1"]
    done = subprocess.run(
        [sys.executable, str(bench), str(fixtures), "--json", *sizes], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    names = [figure["name"].strip() for figure in json.loads(done.stdout)]
    assert "read and normalise" in names
    assert "whole sweep, redacted and stored" in names
    assert "peak memory, one file of 1 MB" in names
