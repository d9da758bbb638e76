"""Kimi Code's and Kimi CLI's wires become events, each prompt told once and each request counted once."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from tests.unit.sources.reading_fixture import FIXTURES, Replay, any_records, replays, written

from recollect.capture.sources import kimi

MAIN = "session_1bcbe023-4f7e-4971-9dc9-43b8756045b0"
CANCELLED = "session_9eb1bf57-c1af-48a5-b658-0e8d9fe794f5"
METADATA = {"type": "metadata", "protocol_version": "1.4", "created_at": 1785612803281}
USAGE = {"inputOther": 9, "output": 4, "inputCacheRead": 7, "inputCacheCreation": 2}


@pytest.fixture(scope="module")
def sessions() -> dict[str, Replay]:
    return replays("kimi", FIXTURES / "kimi")


def prompt(text: str, origin: Any = None, time: int = 1785612812819) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": "turn.prompt", "input": content, "origin": origin or {"kind": "user"}, "time": time}


def appended(text: str, time: int = 1785612812820, role: str = "user", **fields: Any) -> dict[str, Any]:
    message = {"role": role, "content": [{"type": "text", "text": text}], "toolCalls": [], **fields}
    return {"type": "context.append_message", "message": message, "time": time}


def loop(kind: str, time: int = 1785612812830, **fields: Any) -> dict[str, Any]:
    return {"type": "context.append_loop_event", "event": {"type": kind, **fields}, "time": time}


def wire(kind: str, payload: Any, time: float = 1767812640.25) -> dict[str, Any]:
    return {"timestamp": time, "message": {"type": kind, "payload": payload}}


def made(tmp_path: Path, *records: Any, place: str = "sessions/wd_x/session_1/agents/main") -> Replay:
    written(tmp_path / "root" / place / "wire.jsonl", *records)
    (found,) = replays("kimi", tmp_path / "root").values()
    return found


@pytest.mark.parametrize(
    ("env", "folders"),
    [
        ({}, ["home/.kimi-code", "home/.kimi"]),
        ({"KIMI_CODE_HOME": "/n", "KIMI_SHARE_DIR": "/o"}, ["/n", "/o"]),
    ],
    ids=["default", "given"],
)
def test_where_sessions_lie(env: dict[str, str], folders: list[str]) -> None:
    assert kimi.roots(Path("home"), env) == [Path(folder) for folder in folders]


def test_a_session_is_told_whole(sessions: dict[str, Replay]) -> None:
    found = sessions[MAIN]
    conversation = {
        "user_prompt": 8,
        "thinking": 22,
        "assistant_text": 6,
        "tool_call": 18,
        "edit": 1,
        "tool_result": 19,
    }
    assert found.kinds == {**conversation, "injected_context": 5, "compaction": 1, "summary": 1}
    session = found.session
    assert (session.title, session.cwd) == ("hi", "/private/tmp/as-agent-lab/kimi/project")
    assert session.models == ("moonshot-ai/kimi-k2.7-code",)
    assert not found.counts


def test_a_prompt_is_told_once_though_it_is_written_twice(sessions: dict[str, Replay]) -> None:
    assert sessions[MAIN].texts("user_prompt")[:4] == ["hi", "hi", "hi", "run ls command"]
    assert sessions[CANCELLED].texts("user_prompt") == ["hi", "stop", "hi"]


def test_reminders_in_the_users_place_are_not_prompts(sessions: dict[str, Replay]) -> None:
    assert all(text.startswith("<system-reminder>") for text in sessions[MAIN].texts("injected_context"))


def test_each_request_is_counted_once_though_steps_repeat_it(sessions: dict[str, Replay]) -> None:
    costs = sessions[MAIN].costs
    assert (len(costs), sum(cost.output for cost in costs)) == (23, 5515)
    first = costs[0]
    assert (first.input, first.cache_read, first.output) == (9431, 14848, 42)


def test_a_subagent_is_a_session_of_its_own(sessions: dict[str, Replay]) -> None:
    found = sessions[f"{MAIN}/agent-0"]
    assert (found.session.parent, found.session.relation) == (f"kimi:{MAIN}", "subagent")
    assert found.session.title is None
    task = found.one("user_prompt")
    assert (task.role, task.origin) == ("user", "assistant")


def test_calls_that_share_their_id_across_sessions_are_told_apart(sessions: dict[str, Replay]) -> None:
    def key(session: str) -> str:
        return next(e.key for e in sessions[session].events if e.kind == "tool_call" and e.meta["call"] == "Bash_1")

    assert key(MAIN) != key(f"{MAIN}/agent-0")


def test_a_failed_command_has_its_exit_code(sessions: dict[str, Replay]) -> None:
    (failed,) = [e for e in sessions[MAIN].events if e.meta.get("call") == "Bash_2" and e.kind == "tool_result"]
    assert failed.meta == {"call": "Bash_2", "tool": "Bash", "action": "shell", "error": True, "exit": 1}


def test_cancelled_turns_and_requests_made_again_are_told(sessions: dict[str, Replay]) -> None:
    found = sessions[CANCELLED]
    assert (found.kinds["human_intervention"], found.kinds["retry"]) == (2, 11)
    assert found.one("turn_end").meta == {"reason": "completed", "ms": 5681}


def test_a_compaction_is_a_boundary_and_a_summary(sessions: dict[str, Replay]) -> None:
    assert sessions[MAIN].one("compaction").meta == {"tokens": 15912, "tokens_after": 654}
    assert sessions[MAIN].one("summary").text.startswith("I am writing this handoff note")


def test_the_summary_put_into_the_context_is_not_told_again(tmp_path: Path) -> None:
    compaction = {"type": "context.apply_compaction", "summary": "so far", "compactedCount": 3, "time": 5}
    found = made(tmp_path, METADATA, compaction, appended("so far", origin={"kind": "compaction_summary"}))
    assert [event.kind for event in found.events] == ["compaction", "summary"]


def test_the_largest_usage_of_a_request_holds(tmp_path: Path) -> None:
    told = [wire("StatusUpdate", {"token_usage": {"output": output}, "message_id": "m"}) for output in (1, 9, 4)]
    assert [cost.output for cost in made(tmp_path, *told, place="sessions/h/old-1").costs] == [9]


def test_steps_are_counted_where_no_usage_is_recorded(tmp_path: Path) -> None:
    (cost,) = made(tmp_path, METADATA, loop("step.end", uuid="u", usage=USAGE)).costs
    assert (cost.input, cost.output, cost.cache_read, cost.cache_write_5m) == (9, 4, 7, 2)


def test_a_fork_gives_its_copies_the_same_keys(tmp_path: Path) -> None:
    records = [
        *(METADATA, prompt("go"), appended("go")),
        loop("content.part", uuid="u", part={"type": "text", "text": "gone"}),
        loop("tool.call", stepUuid="st", toolCallId="Bash_0", name="Bash", args={"command": "ls"}),
        loop("tool.result", toolCallId="Bash_0", result={"output": "x"}),
        {"type": "usage.record", "model": "m", "usage": USAGE, "time": 1785612812840},
    ]
    written(tmp_path / "root/sessions/wd/session_1/agents/main/wire.jsonl", *records)
    written(tmp_path / "root/sessions/wd/session_2/agents/main/wire.jsonl", *records, {"type": "forked", "time": 1})
    (tmp_path / "root/sessions/wd/session_2/state.json").write_bytes(orjson.dumps({"forkedFrom": "session_1"}))
    found = replays("kimi", tmp_path / "root")
    first, second = found["session_1"], found["session_2"]
    assert [event.key for event in first.events] == [event.key for event in second.events]
    assert [cost.key for cost in first.costs] == [cost.key for cost in second.costs]
    assert (second.session.parent, second.session.relation) == ("kimi:session_1", "fork")


@pytest.mark.parametrize(
    ("origin", "text", "expected"),
    [
        ({"kind": "skill_activation", "skillName": "review", "trigger": "user-slash"}, "…", ("user_prompt", "/review")),
        ({"kind": "skill_activation", "skillName": "review", "trigger": "model-tool"}, "…", ("injected_context", "…")),
        (
            {"kind": "plugin_command", "commandName": "ship", "commandArgs": "it", "trigger": "user-slash"},
            "…",
            ("user_prompt", "/ship it"),
        ),
        ({"kind": "shell_command", "phase": "input"}, "<bash-input>\nls\n</bash-input>", ("user_prompt", "!ls")),
        ({"kind": "shell_command", "phase": "output"}, "files", ("injected_context", "files")),
        ({"kind": "cron_job"}, "again", ("injected_context", "again")),
        ({"kind": "hook_result"}, "no", ("injected_context", "no")),
    ],
    ids=["skill", "skill by the model", "command", "shell", "its output", "cron", "hook"],
)
def test_who_speaks_in_the_users_place(
    tmp_path: Path, origin: dict[str, str], text: str, expected: tuple[str, str]
) -> None:
    (event,) = made(tmp_path, METADATA, prompt(text, origin), appended(text, origin=origin)).events
    assert (event.kind, event.text) == expected


def test_a_refusal_is_an_intervention_and_an_approval_is_nothing(tmp_path: Path) -> None:
    asked = {"type": "permission.record_approval_result", "toolCallId": "Bash_0", "action": "Running: rm", "time": 5}
    refused = {**asked, "result": {"decision": "rejected", "feedback": "use trash"}}
    found = made(tmp_path, METADATA, {**asked, "result": {"decision": "approved"}}, refused)
    assert [(event.kind, event.text) for event in found.events] == [("human_intervention", "use trash")]


def test_an_undone_message_is_a_rewind(tmp_path: Path) -> None:
    found = made(tmp_path, METADATA, prompt("go"), {"type": "context.undo", "count": 2, "time": 1785612812900})
    assert found.one("state").meta == {"what": "rewind", "messages": 2}
    assert found.texts("user_prompt") == ["go"]


def test_a_session_taken_over_from_kimi_cli_is_told_from_its_messages(tmp_path: Path) -> None:
    call = {"type": "function", "id": "c1", "name": "Shell", "arguments": '{"command":"ls"}'}
    records = [appended("hello"), appended("sure", role="assistant", toolCalls=[call])]
    records += [appended("files", role="tool", toolCallId="c1")]
    for record in records:
        del record["time"]
    found = made(tmp_path, METADATA, *records)
    assert [event.kind for event in found.events] == ["user_prompt", "assistant_text", "tool_call", "tool_result"]
    assert found.one("tool_call").text == "ls"


def test_a_wire_of_kimi_cli_is_told_in_order(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        {"type": "metadata", "protocol_version": "1.1"},
        wire("TurnBegin", {"user_input": "run it"}),
        wire("StepBegin", {"n": 1}),
        wire("ContentPart", {"type": "think", "think": "hm", "encrypted": None}),
        wire("ContentPart", {"type": "text", "text": "Running."}),
        wire(
            "ToolCall", {"type": "function", "id": "t1", "function": {"name": "Shell", "arguments": '{"command":"ls"}'}}
        ),
        wire("ToolResult", {"tool_call_id": "t1", "return_value": {"is_error": False, "output": "a", "message": "ok"}}),
        wire(
            "StatusUpdate", {"token_usage": {"input_other": 9, "output": 4, "input_cache_read": 7}, "message_id": "m"}
        ),
        wire(
            "StatusUpdate", {"token_usage": {"input_other": 9, "output": 4, "input_cache_read": 7}, "message_id": "m"}
        ),
        wire("CompactionBegin", {}),
        wire("StepInterrupted", {}),
        wire("ApprovalResponse", {"request_id": "r", "response": "reject", "feedback": "no"}),
        wire("TurnEnd", {}),
        place="sessions/abc/old-1",
    )
    assert [event.kind for event in found.events] == [
        *("user_prompt", "thinking", "assistant_text", "tool_call", "tool_result", "compaction"),
        *("human_intervention", "human_intervention", "turn_end"),
    ]
    (cost,) = found.costs
    assert (cost.input, cost.cache_read, cost.output) == (9, 7, 4)
    assert (found.session.id, found.one("tool_result").meta["exit"]) == ("kimi:old-1", 0)
    assert found.events[0].occurred_at.year == 2026


def test_the_directory_of_an_older_session_is_found_in_the_index(tmp_path: Path) -> None:
    folder = hashlib.md5(b"/work dir", usedforsecurity=False).hexdigest()
    root = tmp_path / "root"
    written(root / f"sessions/{folder}/old-1/wire.jsonl", wire("TurnBegin", {"user_input": "x"}))
    index = {"work_dirs": [{"path": "/other"}, {"path": "/work dir"}]}
    (root / "kimi.json").write_bytes(orjson.dumps(index))
    assert replays("kimi", root)["old-1"].session.cwd == "/work dir"


def test_an_older_subagent_is_read_from_its_own_wire_only(tmp_path: Path) -> None:
    def inner(**ids: str) -> dict[str, Any]:
        return wire(
            "SubagentEvent", {**ids, "event": {"type": "ContentPart", "payload": {"type": "text", "text": "sub"}}}
        )

    root = tmp_path / "root/sessions/h/old-1"
    written(
        root / "wire.jsonl", wire("TurnBegin", {"user_input": "x"}), inner(agent_id="a1"), inner(task_tool_call_id="t")
    )
    written(root / "subagents/a1/wire.jsonl", wire("TurnBegin", {"user_input": "task"}, 1767812641.5))
    found = replays("kimi", tmp_path / "root")
    (before_ids,) = [event for event in found["old-1"].events if event.kind == "assistant_text"]
    assert before_ids.meta == {"sidechain": True}
    task = found["old-1/a1"].one("user_prompt")
    assert (task.origin, found["old-1/a1"].session.parent) == ("assistant", "kimi:old-1")


def test_images_are_kept_apart(tmp_path: Path) -> None:
    parts = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, {"type": "text", "text": "see"}]
    event = made(tmp_path, METADATA, {"type": "turn.prompt", "input": parts, "time": 5}).one("user_prompt")
    assert (event.text, [body.media for body in event.bodies]) == ("[image]\nsee", ["image/png"])


def test_only_wires_are_sessions(tmp_path: Path) -> None:
    written(tmp_path / "root/sessions/h/old-1/wire.jsonl", METADATA)
    written(tmp_path / "root/sessions/h/old-1/context.jsonl", {"role": "user", "content": "x"})
    written(tmp_path / "root/user-history/h.jsonl", {"content": "x"})
    assert [t.path.name for t in kimi.discover(tmp_path / "root")] == ["wire.jsonl"]


FIELDS = (
    "time timestamp agentId input origin kind name trigger skillName phase message role content toolCalls "
    "toolCallId id text think arguments event uuid stepUuid args part result output isError usage inputOther "
    "inputCacheRead model attempt payload decision feedback action reason durationMs summary contextSummary count "
    "cwd environmentDisclosure modelAlias user_input function tool_call_id return_value token_usage message_id "
    "response agent_id image_url url"
)
WORDS = " ".join(
    [*kimi._HANDLERS, *kimi._OLD, "content.part tool.call tool.result step.end user assistant tool subagent"]
)


@settings(max_examples=60)
@given(any_records(FIELDS, WORDS))
def test_no_record_of_any_shape_raises(tmp_path_factory: pytest.TempPathFactory, records: list[Any]) -> None:
    root = tmp_path_factory.getbasetemp() / "any-kimi"
    old = [{"timestamp": 1.5, "message": record} for record in records]
    deep = [{**record, "type": "context.append_loop_event", "event": record} for record in records]
    written(root / "sessions/wd/session_1/agents/main/wire.jsonl", *records, *old, *deep)
    written(root / "sessions/wd/session_1/state.json", *records[:1])
    written(root / "sessions/h/old/subagents/a/wire.jsonl", *records, *old)
    written(root / "kimi.json", {"work_dirs": records})
    replays("kimi", root)
    for record in [*records, *old]:
        kimi.recognises(record)
