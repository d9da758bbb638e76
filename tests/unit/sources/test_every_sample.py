"""What holds for every agent: each sample is read without a fault, and no source takes another agent's records."""

from __future__ import annotations

import os
from collections.abc import Iterator
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

# Samples that hold nothing a session is made of, by the end of their path.
EMPTY: dict[str, tuple[str, ...]] = {}


@pytest.mark.skipif(not SAMPLES, reason="RECOLLECT_TEST_TRANSCRIPTS is not set")
@pytest.mark.parametrize("flavor", THERE)
def test_every_sample_is_read_and_tells_something(flavor: str) -> None:
    root = Path(SAMPLES) / flavor
    silent = []
    found = 0
    for transcript in source(flavor).discover(root):
        found += 1
        told = replay(transcript)  # checks kinds, roles, origins, and that keys are unique
        if not told.events and not transcript.name.endswith(EMPTY.get(flavor, ("\0",))):
            silent.append(transcript.name)
    assert found, f"no sample of {flavor} under {root}"
    assert silent == []


def opening(transcript: Transcript) -> Iterator[dict[str, Any]]:
    """The first records of a transcript as far as it is JSON."""
    path = transcript.files[0]
    if path.suffix == ".jsonl":
        pieces = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")[:FIRST]
    elif path.suffix == ".json":
        pieces = [path.read_bytes()]
    else:
        return
    for piece in pieces:
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
    records = list(opening(transcript))
    if not records:
        pytest.skip("not a file of JSON records")
    own = source(transcript.flavor)
    assert any(own.recognises(record) for record in records)
    for record in records:
        claims = {flavor for flavor in THERE if source(flavor).recognises(record)}
        assert claims <= {transcript.flavor}, record
