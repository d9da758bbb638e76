"""The sums over real sessions are those their raw records give, by a second way of counting and by number."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.sources.reading_fixture import FIXTURES, NOW

from recollect.capture.sources import source
from recollect.capture.transcript import Reading, Transcript
from recollect.model import Cost

SAMPLES = os.environ.get("RECOLLECT_TEST_TRANSCRIPTS", "")
needs_samples = pytest.mark.skipif(not SAMPLES, reason="RECOLLECT_TEST_TRANSCRIPTS is not set")

# Where sessions lie -> (files, sum). Claude: output tokens, the largest of each message and request. Codex: the last
# total each file states. Both were counted by other programs than this one.
CLAUDE = {"entire-cli": 52, "entire-git-sync": 28}
CLAUDE_OUTPUT = 2_992_693
CODEX = {"entire-git-sync": 50}
CODEX_TOTAL = 419_031_991


def transcripts(flavor: str, root: Path) -> list[Transcript]:
    return list(source(flavor).discover(root))


def output_of(transcript: Transcript) -> int:
    reading = Reading(transcript, NOW)
    return sum(item.output for item in source("claude").read(reading) if isinstance(item, Cost))


def total_of(transcript: Transcript) -> int:
    reading = Reading(transcript, NOW)
    for _ in source("codex").read(reading):
        pass
    return int(reading.meta.get("tokens_in_file", 0))


def raw(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file, two on a line too, by nothing of ours."""
    text = path.read_text()
    while text := text.lstrip():
        record, end = json.JSONDecoder().raw_decode(text)
        text = text[end:]
        yield record


def stated_output(path: Path) -> int:
    most: dict[tuple[Any, Any], int] = {}
    for record in raw(path):
        message = record.get("message")
        if record["type"] == "assistant" and isinstance(message, dict) and message.get("model") != "<synthetic>":
            request = message["id"], record.get("requestId")
            most[request] = max(most.get(request, 0), message["usage"]["output_tokens"])
    return sum(most.values())


def stated_total(path: Path) -> int:
    """The last running total a file states."""
    payloads = [record.get("payload") or {} for record in raw(path)]
    told = [payload.get("info") for payload in payloads if payload.get("type") == "token_count"]
    return int([info for info in told if info][-1]["total_token_usage"]["total_tokens"])


def test_the_output_of_claudes_fixtures() -> None:
    found = transcripts("claude", FIXTURES / "claude")
    assert len(found) == 17
    for transcript in found:
        assert output_of(transcript) == stated_output(transcript.path), transcript.path.name
    assert sum(map(output_of, found)) == 10_232


def test_the_totals_of_codexs_fixtures() -> None:
    """Of those that hold their session from its beginning: counts that repeat or lack their numbers add nothing."""
    found = [each for each in transcripts("codex", FIXTURES / "codex") if each.path.name != "aborted.jsonl"]
    totals = {each.path.name[:14]: (total_of(each), stated_total(each.path)) for each in found}
    assert totals == {
        "desktop.jsonl": (55_861, 55_861),
        "019d7d08-46c9-": (3_583_020, 3_583_020),
        "019d7e2f-0041-": (4_522_155, 4_522_155),
        "rollout-2026-0": (58_274, 58_274),
    }


@needs_samples
def test_the_output_of_80_real_sessions_of_claude() -> None:
    """Summing every line would give 2.3 times as much, the first of each message a seventh less."""
    root = Path(SAMPLES) / "claude"
    found = [transcript for folder in CLAUDE for transcript in transcripts("claude", root / folder)]
    assert {folder: len(transcripts("claude", root / folder)) for folder in CLAUDE} == CLAUDE
    assert sum(map(output_of, found)) == CLAUDE_OUTPUT


@needs_samples
def test_the_totals_of_50_real_sessions_of_codex() -> None:
    root = Path(SAMPLES) / "codex"
    found = [transcript for folder in CODEX for transcript in transcripts("codex", root / folder)]
    assert {folder: len(transcripts("codex", root / folder)) for folder in CODEX} == CODEX
    assert sum(map(total_of, found)) == CODEX_TOTAL


@needs_samples
def test_two_captures_of_one_real_session_share_their_events() -> None:
    """Taken on two days, the later holds the earlier: the same keys, and under each the same words."""
    root = Path(SAMPLES) / "claude" / "entire-cli"
    first, second = sorted(root.glob("*-86cc3044-*.jsonl"))
    read = []
    for path in (first, second):
        reading = Reading(Transcript("claude", root, path, "x", (path,)), NOW)
        read.append({item.key: item for item in source("claude").read(reading) if not isinstance(item, Cost)})
    assert len(read[0]) == 202
    assert all(read[1][key].text == event.text for key, event in read[0].items())
