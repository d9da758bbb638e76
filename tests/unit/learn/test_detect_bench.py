"""The benchmark of detecting scores what it says it scores, and never shows the frozen half."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.detect_quality import HALVES, LABELS, half_of, is_real, matches
from tests.unit.learn.learning_fixture import all_signals, stale_edit

from recollect.learn.cluster import candidates_of
from recollect.learn.values import KINDS, Candidate

BENCH = Path(__file__).parents[3] / "bench" / "detect_quality.py"


@pytest.fixture
def candidate() -> Candidate:
    (found,) = candidates_of(all_signals(stale_edit("a1"), stale_edit("b1", "codex"), stale_edit("c1")))
    return found


def label(**changes: object) -> dict[str, Any]:
    sessions = ["claude:a1", "codex:b1"]
    return {"kinds": ["error_repeated"], "needs": [["edit", "patch"], ["replaced"]], "sessions": sessions} | changes


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"kinds": ["recipe"]}, False),
        ({"needs": [["edit"], ["lint"]]}, False),
        ({"sessions": ["claude:a1", "claude:zz"]}, False),
        ({"sessions": ["claude:a1"]}, True),
    ],
    ids=["all of it", "another kind", "other words", "one session in common", "the only session"],
)
def test_a_candidate_matches_by_kind_words_and_sessions(
    candidate: Candidate, changes: dict[str, object], same: bool
) -> None:
    assert matches(candidate, label(**changes)) is same


def test_on_dev_only_what_was_looked_at_is_real(candidate: Candidate) -> None:
    labels = {"patterns": [label()]}
    assert not is_real(candidate, "dev", labels, {})
    assert is_real(candidate, "dev", labels, {candidate.id: {"real": True}})
    assert not is_real(candidate, "dev", labels, {candidate.id: {"real": False}})


def test_on_frozen_only_labels_count(candidate: Candidate) -> None:
    assert is_real(candidate, "frozen", {"patterns": [label()]}, {})
    assert not is_real(
        replace(candidate, kind="recipe"), "frozen", {"patterns": [label()]}, {candidate.id: {"real": True}}
    )


@pytest.mark.parametrize("half", HALVES)
def test_labels_are_of_their_half_and_whole(half: str) -> None:
    found = json.loads((LABELS / f"{half}.json").read_text())
    assert found["half"] == half
    for one in found["patterns"]:
        assert set(one["kinds"]) <= set(KINDS), one["id"]
        assert one["needs"], one["id"]
        assert one["statement"], one["id"]
        assert one["sessions"], one["id"]


def test_every_verdict_has_a_reason() -> None:
    verdicts = json.loads((LABELS / "verdicts.json").read_text())
    assert verdicts
    assert all(isinstance(one["real"], bool) and one["reason"] for one in verdicts.values())


def test_a_session_is_always_in_the_same_half() -> None:
    assert [half_of(f"claude:{n}") for n in range(6)] == [half_of(f"claude:{n}") for n in range(6)]
    assert {half_of(f"claude:{n}") for n in range(50)} == set(HALVES)


def test_candidates_of_the_frozen_half_are_never_printed(tmp_path: Path) -> None:
    (tmp_path / "claude").mkdir()
    words = [sys.executable, str(BENCH), "--transcripts", str(tmp_path), "--show"]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "frozen: 0 candidates" in ran.stdout
    assert 'show=args.show and half == "dev"' in BENCH.read_text()
