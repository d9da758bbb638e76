"""Qwen Code's sessions become events, each prompt in the person's own words and each request counted once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tests.unit.sources.reading_fixture import FIXTURES, Replay, any_records, replays, written

from recollect.capture.sources import qwen

SESSION = "019f0000-0000-7000-8000-000000000001"


@pytest.fixture(scope="module")
def sessions() -> dict[str, Replay]:
    return replays("qwen", FIXTURES / "qwen")


def line(kind: str, uuid: str = "u1", session: str = "s1", **fields: Any) -> dict[str, Any]:
    envelope = {
        "uuid": uuid,
        "sessionId": session,
        "timestamp": "2026-08-17T12:00:00.000Z",
        "cwd": "/p",
        "version": "1",
    }
    return {**envelope, "type": kind, **fields}


def model(*parts: Any, **fields: Any) -> dict[str, Any]:
    return line("assistant", message={"role": "model", "parts": list(parts)}, model="qwen3", **fields)


def made(tmp_path: Path, *records: Any, name: str = "chats/s1.jsonl") -> Replay:
    written(tmp_path / "root" / name, *records)
    (found,) = replays("qwen", tmp_path / "root").values()
    return found


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({}, "home/.qwen"),
        ({"QWEN_HOME": "elsewhere"}, "elsewhere"),
        ({"QWEN_HOME": "elsewhere", "QWEN_RUNTIME_DIR": "run"}, "run"),
    ],
    ids=["default", "home", "runtime before home"],
)
def test_sessions_lie_in_projects_and_older_ones_in_tmp(env: dict[str, str], folder: str) -> None:
    assert qwen.roots(Path("home"), env) == [Path(folder, "projects"), Path(folder, "tmp")]


def test_a_session_is_told_in_order(sessions: dict[str, Replay]) -> None:
    found = sessions[SESSION]
    assert [event.kind for event in found.events] == [
        *("user_prompt", "injected_context", "thinking", "tool_call", "tool_result", "assistant_text"),
        "injected_context",
    ]
    session = found.session
    assert (session.cwd, session.branch) == ("/tmp/as-qwen-fixture/project", "fixture-branch")
    assert (session.agent_version, session.models) == ("0.21.13", ("synthetic-model",))


def test_the_prompt_is_what_the_person_wrote_and_not_what_hooks_added(sessions: dict[str, Replay]) -> None:
    prompt = sessions[SESSION].one("user_prompt")
    assert (prompt.text, prompt.role, prompt.origin) == ("Inspect the synthetic fixture.", "user", "user")
    told = sessions[SESSION].texts("injected_context")
    assert told[0] == "Synthetic hook context that is not the user's prompt."


def test_what_the_host_made_of_a_prompt_is_not_told(tmp_path: Path) -> None:
    expanded = {"parts": [{"text": "look at @a.py"}, {"text": "--- contents of a.py ---"}]}
    found = made(tmp_path, line("user", message=expanded, systemPayload={"displayText": "look at @a.py"}))
    assert [(event.kind, event.text) for event in found.events] == [("user_prompt", "look at @a.py")]


def test_a_notification_in_the_users_place_is_not_a_prompt(sessions: dict[str, Replay]) -> None:
    assert "Synthetic background notification." in sessions[SESSION].texts("injected_context")


def test_a_result_is_joined_with_its_call(sessions: dict[str, Replay]) -> None:
    call, result = sessions[SESSION].one("tool_call"), sessions[SESSION].one("tool_result")
    assert (call.meta["call"], call.meta["action"], call.text) == (
        *("synthetic-call-1", "read"),
        "/tmp/as-qwen-fixture/project/README.md",
    )
    assert result.text == "Synthetic file contents."
    assert result.meta == {"call": "synthetic-call-1", "tool": "read_file", "action": "read", "error": False}


def test_the_file_names_the_session_where_a_record_names_another(sessions: dict[str, Replay]) -> None:
    assert "019f0000-0000-7000-8000-000000000002" in sessions
    assert "019f0000000070008000000000000003" in sessions


def test_a_rewind_keeps_what_was_before_it(sessions: dict[str, Replay]) -> None:
    found = sessions["019f0000-0000-7000-8000-000000000004"]
    assert found.texts("assistant_text") == ["Discarded branch answer.", "Active branch answer."]
    assert found.one("state").meta == {"what": "rewind", "to": "019f0000-0000-7000-8000-000000000041"}


def test_a_persons_title_wins_over_the_models(sessions: dict[str, Replay]) -> None:
    assert sessions["019f0000-0000-7000-8000-000000000004"].session.title == "Discarded branch title"


def test_lines_of_one_message_are_all_told_and_counted_once(sessions: dict[str, Replay]) -> None:
    found = sessions["019f0000-0000-7000-8000-000000000004"]
    assert found.texts("thinking") == ["Reason over the active branch."]
    (cost,) = found.costs
    assert (cost.input, cost.output, cost.model) == (12, 4, "synthetic-active-model")


def test_two_records_on_one_line_are_both_read(sessions: dict[str, Replay]) -> None:
    found = sessions["019f0000-0000-7000-8000-000000000005"]
    assert found.texts("assistant_text") == ["Recovered both synthetic objects."]
    assert found.counts["glued_lines"] == 1


def test_a_failed_request_is_told(sessions: dict[str, Replay]) -> None:
    assert sessions["[trimmed for fixture]"].kinds["error"] == 1


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"promptTokenCount": 100, "cachedContentTokenCount": 80, "candidatesTokenCount": 9}, (20, 80, 9, 0)),
        (
            {"promptTokenCount": 10, "candidatesTokenCount": 9, "thoughtsTokenCount": 4, "totalTokenCount": 19},
            (10, 0, 9, 4),
        ),
        (
            {"promptTokenCount": 10, "candidatesTokenCount": 9, "thoughtsTokenCount": 4, "totalTokenCount": 23},
            (10, 0, 13, 4),
        ),
        ({"promptTokenCount": 10, "candidatesTokenCount": 9, "thoughtsTokenCount": 4}, (10, 0, 13, 4)),
        ({"promptTokenCount": 5, "cachedContentTokenCount": 8, "candidatesTokenCount": 1}, (0, 8, 1, 0)),
    ],
    ids=["cached is in the prompt", "thoughts within", "thoughts beside", "no total", "more cached than asked"],
)
def test_tokens_are_put_into_buckets_that_do_not_overlap(
    tmp_path: Path, usage: dict[str, int], expected: tuple[int, ...]
) -> None:
    (cost,) = made(tmp_path, model({"text": "x"}, usageMetadata=usage)).costs
    assert (cost.input, cost.cache_read, cost.output, cost.reasoning) == expected


def test_usage_that_grows_over_lines_of_one_message_counts_once(tmp_path: Path) -> None:
    grown = [
        model({"text": str(n)}, usageMetadata={"promptTokenCount": 7, "candidatesTokenCount": n}) for n in (1, 5, 3)
    ]
    (cost,) = made(tmp_path, *grown).costs
    assert (cost.input, cost.output) == (7, 5)


def test_a_fork_gives_its_copies_the_same_keys(tmp_path: Path) -> None:
    records = [line("user", message={"parts": [{"text": "go"}]}), model({"text": "gone"}, uuid="u2")]
    origin = {"sessionId": "s1", "messageUuid": "u1"}
    written(tmp_path / "root/s1.jsonl", *records)
    written(tmp_path / "root/s2.jsonl", *({**record, "sessionId": "s2", "forkedFrom": origin} for record in records))
    found = replays("qwen", tmp_path / "root")
    assert [event.key for event in found["s1"].events] == [event.key for event in found["s2"].events]
    assert (found["s2"].session.parent, found["s2"].session.relation) == ("qwen:s1", "fork")


def test_a_subagents_task_is_the_assistants_and_opens_its_session(tmp_path: Path) -> None:
    task = line("user", message={"parts": [{"text": "look around"}]}, isSidechain=True, agentId="explore-1")
    later = line("user", "u2", message={"parts": [{"text": "hurry"}]}, externalInputKind="message")
    found = made(tmp_path, task, later, name="subagents/s1/agent-explore-1.jsonl")
    assert (found.session.id, found.session.parent) == ("qwen:s1/agent-explore-1", "qwen:s1")
    assert found.session.relation == "subagent"
    prompt = found.one("user_prompt")
    assert (prompt.role, prompt.origin, found.texts("injected_context")) == ("user", "assistant", ["hurry"])


def test_the_history_a_subagent_was_given_is_not_told_again(tmp_path: Path) -> None:
    history = [{"role": "user", "parts": [{"text": "old"}]}]
    given_ = line("system", subtype="agent_bootstrap", systemPayload={"kind": "fork", "history": history})
    launch = line("system", "u2", subtype="agent_launch_prompt", systemPayload={"displayText": "new task"})
    found = made(tmp_path, given_, launch, name="subagents/s1/agent-x.jsonl")
    assert [(event.kind, event.text) for event in found.events] == [("user_prompt", "new task")]


def test_a_refused_call_is_an_intervention(tmp_path: Path) -> None:
    call = model({"functionCall": {"id": "c", "name": "run_shell_command", "args": {"command": "rm -r x"}}})
    answer = {"functionResponse": {"id": "c", "response": {"error": "[Operation Cancelled] Reason: no"}}}
    result = line(
        "tool_result", "u2", message={"parts": [answer]}, toolCallResult={"callId": "c", "status": "cancelled"}
    )
    found = made(tmp_path, call, result)
    assert found.one("human_intervention").origin == "user"
    assert found.one("tool_result").meta["error"] is True


def test_a_shells_exit_code_is_kept(tmp_path: Path) -> None:
    call = model({"functionCall": {"id": "c", "name": "run_shell_command", "args": {"command": "pytest"}}})
    answer = {"functionResponse": {"id": "c", "response": {"output": "Command: pytest\nExit Code: 2\nSignal: (none)"}}}
    found = made(tmp_path, call, line("tool_result", "u2", message={"parts": [answer]}))
    assert (found.kinds["test_run"], found.one("tool_result").meta["exit"]) == (1, 2)


def test_a_compression_is_a_boundary_and_a_summary(tmp_path: Path) -> None:
    history = [{"role": "user", "parts": [{"text": "what was"}]}, {"role": "model", "parts": [{"text": "Got it."}]}]
    payload = {"info": {"originalTokenCount": 900, "newTokenCount": 90}, "compressedHistory": history}
    found = made(tmp_path, line("system", subtype="chat_compression", systemPayload=payload))
    assert found.one("compaction").meta == {"tokens": 900, "tokens_after": 90}
    assert (found.one("summary").text, found.one("summary").origin) == ("what was", "assistant")


def test_a_slash_command_is_a_prompt_unless_it_is_told_elsewhere(tmp_path: Path) -> None:
    commands = [
        line("system", "a", subtype="slash_command", systemPayload={"phase": "invocation", "rawCommand": "/about"}),
        line("system", "a", subtype="slash_command", systemPayload={"phase": "result", "rawCommand": "/about"}),
        line(
            *("system", "b"),
            subtype="slash_command",
            systemPayload={"phase": "invocation", "rawCommand": "/init", "sentToModel": True},
        ),
    ]
    assert made(tmp_path, *commands).texts("user_prompt") == ["/about"]


def test_an_image_is_kept_apart(tmp_path: Path) -> None:
    part = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    prompt = made(tmp_path, line("user", message={"parts": [{"text": "see"}, part]})).one("user_prompt")
    assert (prompt.text, [body.media for body in prompt.bodies]) == ("see\n[image]", ["image/png"])


def test_what_is_unknown_is_counted_and_left_out(tmp_path: Path) -> None:
    found = made(tmp_path, line("novelty"), line("system", subtype="novelty"), {"type": ["user"]})
    assert (found.events, found.counts["unknown_records"]) == ([], 3)


FIELDS = (
    "uuid sessionId timestamp cwd version gitBranch subtype systemPayload displayText hookContext message role "
    "parts text thought functionCall id name args functionResponse response output error toolCallResult callId "
    "status model inlineData data mimeType usageMetadata promptTokenCount candidatesTokenCount thoughtsTokenCount "
    "cachedContentTokenCount info totalTokenCount compressedHistory rawCommand phase customTitle uiEvent "
    "error_message forkedFrom provenance state"
)
WORDS = (
    "user assistant tool_result system chat_compression rewind custom_title ui_telemetry slash_command "
    "agent_launch_prompt agent_retry turn_result parent_session session_model invocation cancelled notification "
    "read_file run_shell_command"
)


@settings(max_examples=60)
@given(any_records(FIELDS, WORDS))
def test_no_record_of_any_shape_raises(tmp_path_factory: pytest.TempPathFactory, records: list[Any]) -> None:
    root = tmp_path_factory.getbasetemp() / "any-qwen"
    written(root / "s1.jsonl", *records)
    written(root / "subagents/s1/agent-a.jsonl", *records)
    replays("qwen", root)
    for record in records:
        qwen.recognises(record)
