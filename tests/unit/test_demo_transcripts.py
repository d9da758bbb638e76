"""The transcripts the demo sweeps are what their agents would have written, of any age, and hold nothing secret."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.unit.sources.reading_fixture import Replay, replay

from recollect.capture.redact import Redactor
from recollect.capture.sources import source
from recollect.capture.transcript import Reading, Transcript
from recollect.cli.samples import (
    AGENTS,
    CLAUDE,
    CODEX,
    DIRECTORY,
    GROK,
    PROJECT,
    SAMPLES,
    SECRET,
    WRITTEN,
    moved,
    write_transcripts,
)
from recollect.model import ROLES
from recollect.project import normalise_remote

FILES = sorted(path for path in SAMPLES.rglob("*") if path.is_file())
LATER = datetime(2031, 5, 6, 7, 8, 9, 123_456, tzinfo=UTC)
SPAN = timedelta(seconds=round((LATER - WRITTEN).total_seconds()))


def only(agent: str, root: Path) -> Transcript:
    (transcript,) = source(agent).discover(root)
    return transcript


def shipped(agent: str) -> Replay:
    return replay(only(agent, SAMPLES / agent))


@pytest.mark.parametrize("agent", AGENTS)
def test_our_reader_knows_every_record(agent: str) -> None:
    assert shipped(agent).counts == Counter()


@pytest.mark.parametrize("agent", AGENTS)
def test_the_file_is_known_as_its_agents(agent: str) -> None:
    transcript = only(agent, SAMPLES / agent)
    log = next(file for file in transcript.files if file.suffix == ".jsonl")
    records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    takers = {name for name in AGENTS if any(source(name).recognises(record) for record in records)}
    assert takers == {agent}


@pytest.mark.parametrize(("agent", "session"), [("claude", CLAUDE), ("codex", CODEX), ("grok", GROK)], ids=AGENTS)
def test_it_is_a_whole_session(agent: str, session: str) -> None:
    told = shipped(agent)
    assert told.session.id == session
    assert told.session.cwd == DIRECTORY
    assert told.session.title
    assert told.session.models
    assert told.kinds["user_prompt"] >= 4
    assert told.kinds["assistant_text"] >= told.kinds["user_prompt"]
    assert all(cost.tokens and cost.output for cost in told.costs)
    calls = [event.meta["call"] for event in told.events if event.kind in ("tool_call", "edit", "test_run")]
    assert [event.meta["call"] for event in told.events if event.kind == "tool_result"] == calls
    times = [event.occurred_at for event in told.events]
    assert times == sorted(times)
    assert WRITTEN - timedelta(days=60) < times[0] < times[-1] < WRITTEN - timedelta(days=1)
    assert not any("time" in event.meta for event in told.events)


@pytest.mark.parametrize("agent", ["codex", "grok"])
def test_it_names_its_repository(agent: str) -> None:
    reading = Reading(only(agent, SAMPLES / agent), WRITTEN)
    list(source(agent).read(reading))
    assert normalise_remote(reading.repository or "") == PROJECT


def test_a_test_fails_first_and_passes_in_the_end() -> None:
    told = shipped("codex")
    ran = {event.meta["call"] for event in told.events if event.kind == "test_run"}
    ended = [event for event in told.events if event.kind == "tool_result" and event.meta["call"] in ran]
    assert [event.meta["exit"] for event in ended] == [1, 0]
    assert "AssertionError: expected 24 points, got 23" in ended[0].text


@pytest.mark.parametrize("agent", AGENTS)
def test_a_copy_is_the_same_session_at_another_time(agent: str, tmp_path: Path) -> None:
    places = write_transcripts(tmp_path, LATER)
    old, new = shipped(agent), replay(only(agent, places[agent][0]))
    assert [event.occurred_at - SPAN for event in new.events] == [event.occurred_at for event in old.events]
    spent = [(cost.at + SPAN, cost.tokens, cost.usd) for cost in old.costs]
    assert [(cost.at, cost.tokens, cost.usd) for cost in new.costs] == spent
    assert [(event.kind, event.meta) for event in new.events] == [(event.kind, event.meta) for event in old.events]
    changed = [(a.text, b.text) for a, b in zip(old.events, new.events, strict=True) if a.text != b.text]
    assert [before.count(SECRET) for before, _ in changed] == [1] * (agent == "grok")


@pytest.mark.parametrize("agent", AGENTS)
def test_no_time_is_left_where_it_was(agent: str) -> None:
    """Whatever names a moment, in whichever unit, is moved; nothing else is, and all by the same span."""
    for file in (path for path in FILES if path.relative_to(SAMPLES).parts[0] == agent):
        text = file.read_text(encoding="utf-8")
        assert moved(moved(text, SPAN), -SPAN) == text
        records = [text] if file.suffix == ".json" else text.splitlines()
        for record in records:
            before, after = leaves(json.loads(record)), leaves(json.loads(moved(record, SPAN)))
            assert {name for name in before if before[name] != after[name]} == {
                name for name, value in before.items() if is_time(value)
            }


def leaves(value: Any, name: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        return {path: leaf for key, item in value.items() for path, leaf in leaves(item, f"{name}.{key}").items()}
    if isinstance(value, list):
        return {path: leaf for key, item in enumerate(value) for path, leaf in leaves(item, f"{name}.{key}").items()}
    return {name: value}


def is_time(value: Any) -> bool:
    if isinstance(value, str):
        return re.match(r"\d{4}-\d\d-\d\dT", value) is not None
    return isinstance(value, int | float) and value > 1e9


def test_the_token_is_drawn_when_it_is_needed(tmp_path: Path) -> None:
    """No key stands in the package; each copy has another."""
    redactor = Redactor(b"demo" * 8)
    texts = [file.read_text(encoding="utf-8") for file in FILES]
    assert sum(text.count(SECRET) for text in texts) == 1
    assert [redactor.redact(text)[1] for text in texts] == [{}] * len(texts)
    tokens = set()
    for name in ("one", "two"):
        write_transcripts(tmp_path / name, LATER)
        written = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / name).rglob("*.jsonl"))
        assert SECRET not in written
        tokens |= set(re.findall(r"\bghp_\w{36}\b", written))
    assert len(tokens) == 2


def test_the_chat_is_a_whole_conversation() -> None:
    head, *messages = map(json.loads, (SAMPLES / "chat.jsonl").read_text(encoding="utf-8").splitlines())
    assert head.keys() == {"session", "title", "days_ago"}
    assert 8 <= len(messages) <= 16
    assert {one["role"] for one in messages} <= ROLES.keys()
    minutes = [one["minute"] for one in messages]
    assert minutes == sorted(minutes)
