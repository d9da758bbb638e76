"""The benchmark of distilling scores what it says it scores, and never shows the frozen half."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from bench.distill_quality import EPHEMERAL, Half, matches, overlaps

from recollect.model import Event, Evidence, Memory

HERE = Path(__file__).parents[1]
BENCH = HERE.parent / "bench" / "distill_quality.py"
LABELS = HERE / "fixtures" / "distill"
AT = datetime(2026, 11, 16, tzinfo=UTC)
EVENT = Event("e1", "claude:s", "user_prompt", "user", "user", "ok. we should not touch the ssh config", AT, AT)
EVENTS = {"e1": EVENT}


def memory(content: str, start: int = 0, end: int = 3, kind: str = "fact") -> Memory:
    evidence = (Evidence("claude:s", "e1", start, end),)
    return Memory("m", kind, content, None, "user", AT, AT, evidence=evidence)


def label(**changes: object) -> dict[str, object]:
    quote = {"event": "e1", "quote": "we should not touch"}
    return {"needs": [["ssh"], ["config", "settings"]], "said_by": "user", "evidence": [quote]} | changes


@pytest.mark.parametrize(
    ("one", "right"),
    [
        (memory("Leave the SSH settings alone."), True),
        (memory("Leave the SSH keys alone."), False),
        (memory("Something else.", 4, 20), True),
        (memory("Something else.", 0, 3), False),
    ],
    ids=["its terms", "half of its terms", "its words", "other words"],
)
def test_a_memory_matches_by_its_terms_or_by_the_words_it_cites(one: Memory, right: bool) -> None:
    assert matches(one, label(), EVENTS) is right


def test_a_preference_never_matches_what_no_user_said() -> None:
    assert not matches(memory("The ssh config.", kind="preference"), label(said_by="assistant"), EVENTS)


def test_a_quote_that_is_not_there_overlaps_nothing() -> None:
    assert not overlaps((Evidence("claude:s", "e1", 0, 9),), "e1", "not in it", EVENTS)
    assert not overlaps((Evidence("claude:s", "e1", 0, 9),), "e2", "ok", EVENTS)
    assert overlaps((Evidence("claude:s", "e1"),), "e1", "config", EVENTS)


@pytest.mark.parametrize("text", ["I'll now read the file.", "Committed as abc.", "can you open a PR", "Let me check."])
def test_what_is_told_of_the_moment_is_ephemeral(text: str) -> None:
    assert EPHEMERAL.match(text)


def test_figures_of_nothing_are_no_error() -> None:
    assert Half().figures == {"precision": 1.0, "recall": 1.0, "junk": 0.0}


def test_every_label_is_whole() -> None:
    """Only the halves that may be read, and the sessions that were set aside from them."""
    files = [file for half in ("dev", "dev2", "dev3") for file in sorted((LABELS / half).glob("*.json"))]
    assert len({file.name for file in files}) == len(files)
    for file in files:
        told = json.loads(file.read_text(encoding="utf-8"))
        assert told["half"] == "dev", file
        for one in (*told["worth"], *told["acceptable"]):
            assert one["evidence"], file
            assert one["needs"], file
            assert 0 < one["importance"] <= 1, file


def test_it_runs_from_end_to_end(tmp_path: Path) -> None:
    """A labelled session that is also kept among the transcripts of the tests, in which nothing is worth keeping."""
    half = tmp_path / "labels" / "dev"
    half.mkdir(parents=True)
    name = "grok_019f6851-7ec4-7ef0-97d3-03f3eee38755.json"
    (half / name).write_bytes((LABELS / "dev" / name).read_bytes())
    command = [
        sys.executable,
        str(BENCH),
        "--transcripts",
        str(HERE / "fixtures"),
        "--labels",
        str(tmp_path / "labels"),
    ]
    done = subprocess.run([*command, "--half", "dev", "--show"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "dev: 1 sessions, 0 memories" in done.stdout
    assert "== grok:019f6851-7ec4-7ef0-97d3-03f3eee38755" in done.stdout


@pytest.mark.parametrize("half", [["--half", "frozen"], ["--half", "dev2"], []], ids=["frozen", "set aside", "all"])
def test_nobody_looks_into_the_frozen_half(half: list[str]) -> None:
    command = [sys.executable, str(BENCH), "--transcripts", "x", "--labels", "y", "--show", *half]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "nobody looks into the frozen half" in done.stderr
