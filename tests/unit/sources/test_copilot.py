"""Copilot CLI's event logs as events and costs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.capture.sources import copilot
from recollect.capture.transcript import Reading, Transcript
from recollect.model import Cost, Event

FIXTURES = Path(__file__).parents[2] / "fixtures" / "copilot"
NOW = datetime(2026, 5, 1, tzinfo=UTC)


def reading_of(path: Path) -> tuple[Reading, list[Event], list[Cost]]:
    reading = Reading(Transcript("copilot", path.parent, path, path.stem, (path,)), NOW)
    found = list(copilot.read(reading))
    return reading, [e for e in found if isinstance(e, Event)], [c for c in found if isinstance(c, Cost)]


def written(folder: Path, *records: tuple[str, dict[str, Any]] | dict[str, Any]) -> Path:
    """A log of (type, data); times and ids are counted up."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, record in enumerate(records):
        if isinstance(record, tuple):
            known, at = f"00000000-0000-4000-8000-{number:012x}", f"2026-03-26T17:50:{number:02}Z"
            record = {"type": record[0], "data": record[1], "id": known, "timestamp": at, "parentId": None}
        lines.append(json.dumps(record) + "\n")
    path = folder / "events.jsonl"
    path.write_text("".join(lines))
    return path


def kinds(events: Iterable[Event]) -> list[str]:
    return [event.kind for event in events]


def test_a_session_becomes_prompt_call_result_and_answer() -> None:
    path = next((FIXTURES / "subdir_v1").rglob("events.jsonl"))
    reading, events, costs = reading_of(path)
    assert kinds(events) == ["user_prompt", "tool_call", "tool_result", "assistant_text"]
    assert reading.native == "aaaabbbb-1111-2222-3333-ccccddddeeee"
    assert (reading.cwd, reading.branch, reading.repository) == ("/tmp/project", "main", "github.com/example/repo")
    assert reading.agent_version == "1.0.11"
    assert events[1].meta["call"] == events[2].meta["call"] == "call_1"
    assert (events[2].text, events[2].meta["error"]) == ("file1\nfile2\n", False)
    assert [cost.output for cost in costs] == [12, 14]


def test_a_call_told_by_its_start_and_by_its_message_is_one() -> None:
    _, events, _ = reading_of(FIXTURES / "schema_drift.jsonl")
    calls = [event for event in events if event.kind == "tool_call"]
    assert [call.text for call in calls] == ["echo hi"]
    results = [event for event in events if event.kind == "tool_result"]
    assert [result.meta["error"] for result in results] == [False, True]
    assert results[1].meta["exit"] == 1


def test_a_real_capture_is_read_to_its_end() -> None:
    reading, events, costs = reading_of(FIXTURES / "small.jsonl")
    assert reading.counts == {}
    assert (reading.commit, reading.agent_version) == ("0" * 40, "1.0.77")
    assert {"error", "thinking", "human_intervention", "injected_context", "compaction"} <= set(kinds(events))
    assert "gpt-5-mini" in reading.models
    assert [(c.input, c.cache_read, c.output) for c in costs] == [(0, 0, 12), (0, 0, 3), (100, 5, 0)]


def usage(fresh: int, output: int, cached: int = 0) -> dict[str, Any]:
    return {"usage": {"inputTokens": fresh, "outputTokens": output, "cacheReadTokens": cached, "cacheWriteTokens": 0}}


def test_a_rollup_adds_what_the_messages_did_not_tell(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        ("session.start", {"sessionId": "s"}),
        ("assistant.message", {"content": "a", "outputTokens": 30, "model": "gpt-5"}),
        ("session.shutdown", {"modelMetrics": {"gpt-5": usage(1000, 50, 800)}}),
    )
    _, _, costs = reading_of(path)
    assert [(c.input, c.cache_read, c.output) for c in costs] == [(0, 0, 30), (200, 800, 20)]


def test_rollups_count_from_the_beginning_so_each_gives_its_growth(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        ("session.shutdown", {"modelMetrics": {"gpt-5": usage(1000, 50, 800)}}),
        ("session.resume", {}),
        ("session.shutdown", {"modelMetrics": {"gpt-5": usage(1500, 60, 900), "mini": usage(7, 1)}}),
    )
    _, _, costs = reading_of(path)
    assert [(c.model, c.input, c.cache_read, c.output) for c in costs] == [
        ("gpt-5", 200, 800, 50),
        ("gpt-5", 400, 100, 10),
        ("mini", 7, 0, 1),
    ]
    assert len({cost.key for cost in costs}) == 3


@pytest.mark.parametrize(
    "between",
    [[("session.compaction_complete", {"success": True, "summaryContent": "so far"})], []],
    ids=["a compaction", "a smaller number"],
)
def test_a_count_that_began_anew_is_taken_as_it_is(tmp_path: Path, between: list[tuple[str, dict[str, Any]]]) -> None:
    after = usage(2000, 70) if between else usage(20, 7)
    path = written(
        tmp_path,
        ("session.shutdown", {"modelMetrics": {"gpt-5": usage(1000, 50)}}),
        *between,
        ("session.shutdown", {"modelMetrics": {"gpt-5": after}}),
    )
    _, events, costs = reading_of(path)
    assert costs[1].input == after["usage"]["inputTokens"]
    assert kinds(events) == (["compaction", "summary"] if between else [])


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        ("user.message", {"content": "do it"}, ("user_prompt", "user", "user", "do it")),
        ("user.message", {"content": "x", "source": "skill-pdf"}, ("injected_context", "system", "tool", "x")),
        ("user.message", {"content": "<skill-context a>"}, ("injected_context", "system", "tool", "<skill-context a>")),
        (
            "user.message",
            {"content": "look", "parentAgentTaskId": "t"},
            ("user_prompt", "assistant", "assistant", "look"),
        ),
        ("abort", {"reason": "user_initiated"}, ("human_intervention", "system", "user", "user_initiated")),
        ("session.error", {"message": "bad"}, ("error", "system", "tool", "bad")),
        ("model.call_failure", {"errorMessage": "429"}, ("retry", "system", "tool", "429")),
        ("session.snapshot_rewind", {"upToEventId": "e"}, ("state", "system", "user", "")),
        ("session.truncation", {}, ("compaction", "system", "tool", "")),
        ("system.notification", {"content": "agent done"}, ("injected_context", "system", "tool", "agent done")),
        ("assistant.reasoning", {"content": "hm"}, ("thinking", "assistant", "assistant", "hm")),
        (
            "permission.completed",
            {"result": {"kind": "denied-interactively-by-user", "feedback": "use tabs"}, "toolCallId": "c"},
            ("human_intervention", "system", "user", "use tabs"),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_who_speaks(tmp_path: Path, kind: str, data: dict[str, Any], expected: tuple[str, ...]) -> None:
    _, (event,), _ = reading_of(written(tmp_path, (kind, data)))
    assert (event.kind, event.role, event.origin, event.text) == expected


@pytest.mark.parametrize("kind", ["system.message", "session.info", "hook.start", "subagent.started"], ids=str)
def test_prompts_of_the_system_and_chatter_are_no_events(tmp_path: Path, kind: str) -> None:
    reading, events, _ = reading_of(written(tmp_path, (kind, {"content": "You are Copilot", "message": "x"})))
    assert (events, reading.counts) == ([], {})


def test_what_is_not_known_is_counted(tmp_path: Path) -> None:
    reading, _, _ = reading_of(written(tmp_path, ("session.brand_new", {}), {"x": 1}, {"type": ["a"]}))
    assert reading.counts["unknown_records"] == 3


def test_an_answer_that_asks_for_tools_ends_no_turn(tmp_path: Path) -> None:
    asks = {"content": "", "toolRequests": [{"toolCallId": "c", "name": "bash", "arguments": '{"command": "ls"}'}]}
    path = written(
        tmp_path,
        ("assistant.message", asks),
        ("assistant.turn_end", {"turnId": "0"}),
        ("assistant.message", {"content": "done", "toolRequests": []}),
        ("assistant.turn_end", {"turnId": "1"}),
    )
    assert kinds(reading_of(path)[1]) == ["tool_call", "assistant_text", "turn_end"]


def test_a_failed_call_says_so_and_why(tmp_path: Path) -> None:
    failed = {"toolCallId": "c", "success": False, "error": {"message": "no such file", "code": "failure"}}
    start = {"toolCallId": "c", "toolName": "view", "arguments": {"path": "a"}}
    _, (_, result), _ = reading_of(
        written(tmp_path, ("tool.execution_start", start), ("tool.execution_complete", failed))
    )
    assert (result.text, result.meta["error"], result.meta["action"]) == ("no such file", True, "read")


def test_what_a_subagent_does_is_marked(tmp_path: Path) -> None:
    data = {"content": "found", "parentToolCallId": "call_task", "toolRequests": []}
    _, (event,), _ = reading_of(written(tmp_path, ("assistant.message", data)))
    assert event.meta["sidechain"] is True


def test_the_same_file_read_again_gives_the_same_keys() -> None:
    for path in FIXTURES.rglob("*.jsonl"):
        (_, a, ca), (_, b, cb) = reading_of(path), reading_of(path)
        assert [event.key for event in a] == [event.key for event in b]
        assert [cost.key for cost in ca] == [cost.key for cost in cb]


def test_a_document_of_the_first_versions_is_read(tmp_path: Path) -> None:
    call = {"id": "c", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    messages = [
        {"role": "system", "content": "You are Copilot"},
        {"role": "user", "content": "list"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "a.txt"},
        {"role": "assistant", "content": [{"type": "text", "text": "one file"}]},
    ]
    path = tmp_path / "session_1.json"
    path.write_text(json.dumps({"sessionId": "h", "startTime": "2025-10-08T21:10:16.398Z", "chatMessages": messages}))
    reading, events, _ = reading_of(path)
    assert kinds(events) == ["user_prompt", "tool_call", "tool_result", "assistant_text"]
    assert reading.native == "h"
    assert events[0].occurred_at == datetime(2025, 10, 8, 21, 10, 16, 398000, UTC)
    assert events[2].meta == {"call": "c", "tool": "bash", "action": "shell"}


def test_a_folder_with_events_is_one_session_whatever_else_lies_in_it(tmp_path: Path) -> None:
    written(tmp_path / "id-1")
    written(tmp_path / "id-1" / "files")
    (tmp_path / "id-1" / "notes.jsonl").write_text("{}")
    (tmp_path / "old.jsonl").write_text("{}")
    assert [transcript.native for transcript in copilot.discover(tmp_path)] == ["old", "id-1"]


def test_the_place_follows_the_variable(tmp_path: Path) -> None:
    assert copilot.roots(tmp_path, {})[0] == tmp_path / ".copilot" / "session-state"
    assert copilot.roots(tmp_path, {"COPILOT_HOME": "/c"}) == [
        Path("/c/session-state"),
        Path("/c/history-session-state"),
    ]


def test_every_line_is_recognised() -> None:
    for path in FIXTURES.rglob("*.jsonl"):
        assert all(copilot.recognises(json.loads(line)) for line in path.read_text().splitlines()), path
    assert not copilot.recognises({"type": "user", "data": {}, "id": "x"})


NAMES = "content source toolRequests toolCallId name arguments result success error message model outputTokens usage"
NAMES += (
    " modelMetrics tokenDetails input tokenCount inputTokens context cwd sessionId reasoningText parentToolCallId kind"
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 10**13) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES.split()), inner, max_size=5),
    max_leaves=12,
)
TYPES = st.sampled_from(sorted(copilot._HANDLERS)) | VALUES
RECORDS = st.fixed_dictionaries({"type": TYPES, "data": VALUES}, optional={"id": VALUES, "timestamp": VALUES})


@settings(max_examples=150, deadline=None)
@given(records=st.lists(RECORDS, max_size=5), chat=VALUES)
def test_no_record_is_ever_too_much(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]], chat: Any
) -> None:
    folder = tmp_path_factory.getbasetemp() / "copilot"
    reading_of(written(folder, *records))
    (folder / "x.json").write_text(json.dumps({"chatMessages": chat, "sessionId": chat}))
    reading_of(folder / "x.json")
    for record in records:
        copilot.recognises(record)


def test_the_samples_keep_their_totals() -> None:
    samples = os.environ.get("RECOLLECT_TEST_TRANSCRIPTS")
    if not samples:
        pytest.skip("RECOLLECT_TEST_TRANSCRIPTS is not set")
    read = [reading_of(transcript.path) for transcript in copilot.discover(Path(samples) / "copilot")]
    assert (len(read), sum(len(events) for _, events, _ in read)) == (4, 40)
    assert sum(cost.tokens for _, _, costs in read for cost in costs) == 1196
