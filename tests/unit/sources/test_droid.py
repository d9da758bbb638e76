"""Droid's sessions become events, from its store and from kept streams, with one cost for each session of the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from tests.unit.sources.reading_fixture import FIXTURES, Replay, any_records, replays, written

from recollect.capture.sources import droid

START = {"type": "session_start", "id": "s1", "title": "T", "cwd": "/p", "version": "0.81.0"}
USAGE = {"inputTokens": 10, "outputTokens": 20, "cacheReadTokens": 30, "cacheCreationTokens": 40, "thinkingTokens": 5}


@pytest.fixture(scope="module")
def sessions() -> dict[str, Replay]:
    return replays("droid", FIXTURES / "droid")


def message(number: int, role: str, content: Any, **fields: Any) -> dict[str, Any]:
    time = f"2025-12-26T00:00:{number:02}.000Z"
    return {
        "type": "message",
        "id": f"m{number}",
        "timestamp": time,
        "message": {"role": role, "content": content, **fields},
    }


def made(tmp_path: Path, *records: Any, settings: bytes | None = None) -> Replay:
    path = written(tmp_path / "root/s1.jsonl", *records)
    if settings is not None:
        path.with_suffix(".settings.json").write_bytes(settings)
    (found,) = replays("droid", tmp_path / "root").values()
    return found


@pytest.mark.parametrize(
    ("env", "folder"),
    [({}, "home/.factory/sessions"), ({"FACTORY_DIR": "/x"}, "/x/sessions")],
    ids=["default", "given"],
)
def test_where_sessions_lie(env: dict[str, str], folder: str) -> None:
    assert droid.roots(Path("home"), env) == [Path(folder)]


def test_a_session_of_the_store_is_told_in_order(sessions: dict[str, Replay]) -> None:
    found = sessions["droid_large"]
    assert [event.kind for event in found.events] == [
        *("user_prompt", "assistant_text", "tool_call", "tool_result", "assistant_text", "user_prompt"),
        "assistant_text",
    ]
    session = found.session
    assert (session.title, session.cwd, session.agent_version) == ("Stage0 Droid Large", "/tmp/large", "0.81.0")


def test_a_failed_command_has_its_exit_code(sessions: dict[str, Replay]) -> None:
    joined = {"call": "tu1", "tool": "Execute", "action": "shell"}
    assert sessions["droid_s1"].one("tool_result").meta == {**joined, "error": True, "exit": 1}


@pytest.mark.parametrize("session", ["droid_drift", "sid_stage0_drift"], ids=["store", "stream"])
def test_a_reminder_before_the_persons_words_is_not_theirs(sessions: dict[str, Replay], session: str) -> None:
    found = sessions[session]
    assert found.one("injected_context").text.startswith("<system-reminder>")
    assert found.one("user_prompt").text in ("Do the thing", "List files")


def test_a_number_is_not_the_agents_version(sessions: dict[str, Replay]) -> None:
    assert sessions["droid_drift"].session.agent_version is None


def test_a_stream_is_told_in_order(sessions: dict[str, Replay]) -> None:
    found = sessions["sid_stage0_large"]
    assert [event.kind for event in found.events] == [
        *("user_prompt", "assistant_text", "tool_call", "tool_result", "assistant_text", "turn_end"),
    ]
    assert (found.session.cwd, found.session.models, found.session.interactive) == (
        "/tmp/large",
        ("droid-model",),
        False,
    )
    assert found.one("tool_result").meta["exit"] == 0


def test_a_stream_whose_calls_share_their_id_with_the_record_is_joined(sessions: dict[str, Replay]) -> None:
    found = sessions["sid_stage0_drift"]
    assert found.one("tool_result").meta == {"call": "call_1", "tool": "Execute", "action": "shell", "error": True}
    assert found.one("error").text.startswith("Authentication failed.")
    (cost,) = found.costs
    assert (cost.input, cost.output, cost.model) == (10, 5, "droid-model")


def test_the_last_text_of_a_stream_is_told_once(tmp_path: Path) -> None:
    stream = {"session_id": "s1", "timestamp": "2025-12-26T00:00:00.000Z"}
    said = {**stream, "type": "message", "role": "assistant", "text": "Done", "id": "a"}
    found = made(tmp_path, said, {**stream, "type": "completion", "finalText": "Done", "id": "end"})
    assert found.texts("assistant_text") == ["Done"]


def test_the_sessions_tokens_are_one_cost(tmp_path: Path) -> None:
    settings = orjson.dumps({"model": "claude-opus-4-5", "tokenUsage": USAGE})
    (cost,) = made(tmp_path, START, message(1, "user", "go"), settings=settings).costs
    assert (cost.input, cost.output, cost.cache_read, cost.cache_write_5m, cost.reasoning) == (10, 20, 30, 40, 5)
    assert (cost.model, cost.at.year) == ("claude-opus-4-5", 2025)


def test_the_sessions_cost_keeps_its_key_while_it_grows(tmp_path: Path) -> None:
    def cost(output: int) -> str:
        settings = orjson.dumps({"tokenUsage": {**USAGE, "outputTokens": output}})
        return made(tmp_path, START, settings=settings).costs[0].key

    assert cost(20) == cost(50)


@pytest.mark.parametrize(
    "settings", [b"", b"{", b"[]", b'{"tokenUsage":[1]}', b'{"tokenUsage":{"inputTokens":"many"}}']
)
def test_settings_that_tell_nothing_cost_nothing(tmp_path: Path, settings: bytes) -> None:
    found = made(tmp_path, START, message(1, "user", "go"), settings=settings)
    assert (found.costs, found.texts("user_prompt")) == ([], ["go"])


def test_settings_that_are_a_link_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_bytes(orjson.dumps({"tokenUsage": USAGE}))
    path = written(tmp_path / "root/s1.jsonl", START)
    path.with_suffix(".settings.json").symlink_to(tmp_path / "secret.json")
    assert replays("droid", tmp_path / "root")["s1"].costs == []


@pytest.mark.parametrize(
    ("fields", "kinds"),
    [
        ({}, ["user_prompt"]),
        ({"visibility": "llm_only"}, ["injected_context"]),
        ({"visibility": "user_only"}, ["injected_context"]),
        ({"userMessageSource": "automation"}, ["injected_context"]),
        ({"hookEventName": "Stop"}, []),
    ],
    ids=["a person", "for the model", "a notice", "an automation", "a hook"],
)
def test_who_speaks_in_the_users_place(tmp_path: Path, fields: dict[str, str], kinds: list[str]) -> None:
    found = made(tmp_path, START, message(1, "user", "words", **fields))
    assert [event.kind for event in found.events] == kinds


def test_a_subagents_task_is_the_assistants(tmp_path: Path) -> None:
    found = made(tmp_path, {**START, "callingSessionId": "p1"}, message(1, "user", "task"))
    assert (found.session.parent, found.session.relation) == ("droid:p1", "subagent")
    assert (found.events[0].role, found.events[0].origin) == ("user", "assistant")


def test_a_fork_gives_its_copies_the_same_keys(tmp_path: Path) -> None:
    own = {**message(1, "user", "go"), "id": "0b0f6c1e-5f0a-4f77-9a7e-0123456789ab"}
    written(tmp_path / "root/s1.jsonl", START, own)
    written(tmp_path / "root/s2.jsonl", {**START, "id": "s2", "parent": "s1"}, own)
    found = replays("droid", tmp_path / "root")
    assert found["s1"].events[0].key == found["s2"].events[0].key
    assert (found["s2"].session.parent, found["s2"].session.relation) == ("droid:s1", "fork")


def test_ids_that_count_from_one_are_told_apart_by_their_session(tmp_path: Path) -> None:
    written(tmp_path / "root/s1.jsonl", START, message(1, "user", "go"))
    written(tmp_path / "root/s2.jsonl", {**START, "id": "s2"}, message(1, "user", "go"))
    found = replays("droid", tmp_path / "root")
    assert found["s1"].events[0].key != found["s2"].events[0].key


def test_a_compaction_is_a_boundary_and_a_summary(tmp_path: Path) -> None:
    state = {"type": "compaction_state", "id": "c", "summaryText": "what was", "summaryTokens": 12, "removedCount": 2}
    found = made(tmp_path, START, state, {"type": "agent_turn_outcome", "turnId": "m1", "reason": "completed"})
    assert (found.one("compaction").meta["removed"], found.one("summary").text) == (2, "what was")
    assert found.one("turn_end").meta["reason"] == "completed"


def test_thinking_images_and_documents(tmp_path: Path) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    document = {"type": "document", "source": {"type": "base64", "data": "", "parsed_data": "a page"}}
    thought = [{"type": "thinking", "thinking": "hm"}, {"type": "redacted_thinking", "data": "x"}]
    found = made(tmp_path, START, message(1, "user", [picture, document]), message(2, "assistant", thought))
    prompt = found.one("user_prompt")
    assert (prompt.text, len(prompt.bodies), found.texts("thinking")) == ("[image]\na page", 1, ["hm"])


FIELDS = (
    "id parentId timestamp session_id sessionId cwd title sessionTitle version parent callingSessionId message "
    "role content text thinking name input tool_use_id is_error source data media_type parsed_data visibility "
    "modelId toolCallId toolName toolId parameters value stdout exitCode isError finalText usage input_tokens "
    "output_tokens durationMs summaryText model"
)
WORDS = (
    "session_start message user assistant tool_use tool_result text thinking image document compaction_state "
    "system error agent_turn_outcome todo_state tool_call reasoning completion llm_only base64 Execute Read"
)


@settings(max_examples=60)
@given(any_records(FIELDS, WORDS))
def test_no_record_of_any_shape_raises(tmp_path_factory: pytest.TempPathFactory, records: list[Any]) -> None:
    root = tmp_path_factory.getbasetemp() / "any-droid"
    written(root / "s1.jsonl", *records)
    written(root / "s1.settings.json", *records[:1])
    replays("droid", root)
    for record in records:
        droid.recognises(record)
