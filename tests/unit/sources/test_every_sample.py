"""What holds for every agent: each sample is read without a fault, and no source takes another agent's records."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.unit.sources.reading_fixture import FIXTURES, replay

from recollect.capture.sources import FLAVORS, source
from recollect.capture.transcript import Transcript

SAMPLES = os.environ.get("RECOLLECT_TEST_TRANSCRIPTS", "")
THERE = [flavor for flavor in FLAVORS if find_spec(f"recollect.capture.sources.{flavor}")]
FIRST = 20  # records of a file within which its agent must show

# Samples that hold nothing a session is made of: logs of another program, what a compaction wrote, bare counts.
EMPTY = {
    "claude": ("duplicate-assistant-response-2.jsonl", "agent-acompact-946d2b.jsonl", "agent-acompact-70d8e7.jsonl"),
    "codex": ("codex_050_legacy.jsonl", "codex_051_usage.jsonl", "codex_052_raw.jsonl"),
}
# Samples whose author replaced every id by the same words: nothing in them has an identity.
REDACTED = dict.fromkeys(("claude", "codex", "copilot"), ("agent-sessions/small.jsonl",))
# Fixtures in which no record says whose it is.
FACELESS = {"gemini": ("schema_drift.json",), "grok": ("legacy/019f6000-0000-7000-8000-000000000002",)}
# (transcripts, events, output tokens) of all samples of an agent.
TOTALS = {"qwen": (6, 23, 4), "kimi": (3, 107, 5845), "pi": (2, 17, 74), "droid": (6, 31, 5)}


def listed(transcript: Transcript, table: Mapping[str, tuple[str, ...]]) -> bool:
    return str(transcript.path).endswith(table.get(transcript.flavor, ("\0",)))


@pytest.mark.skipif(not SAMPLES, reason="RECOLLECT_TEST_TRANSCRIPTS is not set")
@pytest.mark.parametrize("flavor", THERE)
def test_every_sample_is_read_and_tells_something(flavor: str) -> None:
    root = Path(SAMPLES) / flavor
    transcripts = [found for found in source(flavor).discover(root) if not listed(found, REDACTED)]
    assert transcripts, f"no sample of {flavor} under {root}"
    # Reading checks kinds, roles and origins, and that what has the same key is the same.
    silent = [found for found in transcripts if not replay(found, repeats=True).events]
    assert [found.name for found in silent if not listed(found, EMPTY)] == []


@pytest.mark.skipif(not SAMPLES, reason="RECOLLECT_TEST_TRANSCRIPTS is not set")
@pytest.mark.parametrize("flavor", TOTALS)
def test_the_samples_hold_as_much_as_ever(flavor: str) -> None:
    found = [replay(transcript) for transcript in source(flavor).discover(Path(SAMPLES) / flavor)]
    output = sum(cost.output for told in found for cost in told.costs)
    assert (len(found), sum(len(told.events) for told in found), output) == TOTALS[flavor]


def opening(path: Path) -> Iterator[dict[str, Any]]:
    """The first records of a file as far as it is JSON."""
    if path.suffix not in (".jsonl", ".json"):
        return
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    for piece in data.split(b"\n")[:FIRST] if path.suffix == ".jsonl" else [data]:
        try:
            record = orjson.loads(piece)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def fixtures() -> Iterator[Any]:
    for flavor in THERE:
        root = FIXTURES / flavor
        for transcript in source(flavor).discover(root) if root.is_dir() else ():
            yield pytest.param(transcript, id=f"{flavor}:{transcript.path.relative_to(root)}")


@pytest.mark.parametrize("transcript", list(fixtures()))
def test_an_agents_records_are_recognised_by_its_source_and_no_other(transcript: Transcript) -> None:
    records = [record for path in transcript.files for record in opening(path)]
    if not records:
        pytest.skip("not a file of JSON records")
    own = source(transcript.flavor)
    assert any(own.recognises(record) for record in records) or listed(transcript, FACELESS)
    for record in records:
        claims = {flavor for flavor in THERE if source(flavor).recognises(record)}
        assert claims <= {transcript.flavor}, record


@pytest.mark.parametrize("flavor", THERE)
@pytest.mark.parametrize(
    "field", ["type", "role", "method", "subtype", "message", "payload", "data", "timestamp", "id"]
)
def test_a_field_of_the_wrong_type_stops_no_source(flavor: str, field: str) -> None:
    odd: tuple[Any, ...] = ([], ["user"], {}, {"type": []}, 7, None, True)
    for value in odd:
        source(flavor).recognises({"type": "message", field: value})
        source(flavor).recognises({"type": "user", "sessionId": "s", field: value})
