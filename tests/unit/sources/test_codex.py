"""Codex's rollouts become events and costs once each, whatever the version wrote them twice or copied into a child."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard
from hypothesis import given
from tests.unit.sources.reading_fixture import FIXTURES, NOW, Replay, any_records, replays, written

from recollect.capture.sources import codex
from recollect.capture.transcript import Reading

SAMPLES = os.environ.get("RECOLLECT_TEST_TRANSCRIPTS", "")
HERE = FIXTURES / "codex"
PARENT, CHILD = "019d7d08-46c9-7f73-affe-4e6ca9852d56", "019d7e2f-0041-7310-951c-94020254dfc9"
REVIEW = "019ed628-d563-7e40-bbb1-93a6a302d688"
META = {"id": "s1", "cwd": "/p", "cli_version": "0.139.0", "source": "cli", "originator": "codex-tui"}


@pytest.fixture(scope="module")
def sessions() -> dict[str, Replay]:
    return replays("codex", HERE)


def line(number: int, kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-06-15T09:00:{number:02}.000Z", "type": kind, "payload": payload}


def item(number: int, kind: str, **fields: Any) -> dict[str, Any]:
    return line(number, "response_item", type=kind, **fields)


def notice(number: int, kind: str, **fields: Any) -> dict[str, Any]:
    return line(number, "event_msg", type=kind, **fields)


def message(number: int, role: str, text: str, **fields: Any) -> dict[str, Any]:
    block = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
    return item(number, "message", role=role, content=[block], **fields)


def count(number: int, total: int, last: int) -> dict[str, Any]:
    usage = {"cached_input_tokens": 0, "output_tokens": 0, "reasoning_output_tokens": 0}
    info = {
        "total_token_usage": {"input_tokens": total, **usage},
        "last_token_usage": {"input_tokens": last, **usage},
    }
    return notice(number, "token_count", info=info)


def made(tmp_path: Path, *records: Any, **meta: Any) -> Replay:
    written(tmp_path / "root/a.jsonl", line(0, "session_meta", **{**META, **meta}), *records)
    (found,) = replays("codex", tmp_path / "root").values()
    return found


def test_where_sessions_lie() -> None:
    home = Path("home")
    assert codex.roots(home, {}) == [home / ".codex/sessions", home / ".codex/archived_sessions"]
    assert codex.roots(home, {"CODEX_HOME": "/x"}) == [Path("/x/sessions"), Path("/x/archived_sessions")]


def test_what_is_a_rollout(tmp_path: Path) -> None:
    names = (
        "a.jsonl",
        "b.jsonl.zst",
        "rollout-1.json",
        "history.jsonl",
        "session_index.jsonl",
        "config.json",
        "c.jsonl.tmp",
    )
    for name in names:
        (tmp_path / name).write_bytes(b"")
    assert [found.path.name for found in codex.discover(tmp_path)] == ["a.jsonl", "b.jsonl.zst", "rollout-1.json"]


def test_of_a_plain_and_a_packed_file_the_plain_one_is_read(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.jsonl.zst"):
        (tmp_path / name).write_bytes(b"")
    assert [found.path.name for found in codex.discover(tmp_path)] == ["a.jsonl"]


def test_a_packed_file_says_the_same(tmp_path: Path, sessions: dict[str, Replay]) -> None:
    (plain,) = HERE.glob("rollout-*.jsonl")
    (tmp_path / f"{plain.name}.zst").write_bytes(zstandard.compress(plain.read_bytes()))
    found = replays("codex", tmp_path)[REVIEW]
    assert [event.key for event in found.events] == [event.key for event in sessions[REVIEW].events]


def test_a_review_is_told_once_and_in_order(sessions: dict[str, Replay]) -> None:
    found = sessions[REVIEW]
    assert [event.kind for event in found.events[:4]] == ["injected_context", "user_prompt", "tool_call", "tool_result"]
    assert found.events[-1].kind == "turn_end"
    assert found.kinds["assistant_text"] == 1
    session = found.session
    assert (session.relation, session.interactive, session.agent_version) == ("review", False, "0.139.0")
    assert session.parent == "codex:019ed628-d519-7dc0-89a8-67c8c823ceaf"
    assert found.one("user_prompt").origin == "assistant"


def test_the_tokens_of_a_file_add_up_to_its_last_total(sessions: dict[str, Replay]) -> None:
    found = sessions[REVIEW]
    assert sum(cost.tokens for cost in found.costs) == found.session.meta["tokens_in_file"] == last_total(REVIEW)
    assert {cost.model for cost in found.costs} == set(found.session.models)


def last_total(thread: str) -> int:
    (path,) = HERE.rglob(f"*{thread}.jsonl")
    records = [orjson.loads(row)["payload"] for row in path.read_bytes().splitlines()]
    infos = [payload["info"] for payload in records if payload.get("type") == "token_count" and payload["info"]]
    return int(infos[-1]["total_token_usage"]["total_tokens"])


@pytest.mark.parametrize("parent_is_there", [True, False], ids=["with the parent", "without it"])
def test_a_copied_history_is_left_to_the_parent(tmp_path: Path, parent_is_there: bool) -> None:
    shutil.copytree(HERE / "fork", tmp_path / "root")
    if not parent_is_there:
        (tmp_path / f"root/{PARENT}.jsonl").unlink()
    found = replays("codex", tmp_path / "root")[CHILD]
    assert [event.kind for event in found.events] == [
        *("user_prompt", "assistant_text", "tool_call", "tool_call", "tool_call"),
        *("tool_result", "tool_result", "tool_result", "assistant_text", "turn_end"),
    ]
    assert found.texts("user_prompt")[0].startswith("Review docs/rewrite-issue-list.md")
    assert sum(cost.tokens for cost in found.costs) == 276_780
    assert found.session.meta["tokens_in_file"] == last_total(CHILD) == 4_522_155


def test_a_subagent_knows_its_parent_and_its_part(sessions: dict[str, Replay]) -> None:
    session = sessions[CHILD].session
    assert (session.parent, session.relation) == (f"codex:{PARENT}", "subagent")
    assert (session.meta["nickname"], session.meta["role"]) == ("Banach", "explorer")


def test_parent_and_child_share_no_event(sessions: dict[str, Replay]) -> None:
    assert not {event.key for event in sessions[PARENT].events} & {event.key for event in sessions[CHILD].events}


def test_own_records_of_a_paginated_subagent_begin_at_their_ordinal(tmp_path: Path) -> None:
    rows = [
        line(0, "session_meta", id="other"),
        notice(1, "user_message", message="theirs"),
        notice(1, "user_message", message="ours"),
    ]
    numbered = [{**row, "ordinal": number} for number, row in enumerate(rows, start=1)]
    found = made(tmp_path, *numbered, subagent_history_start_ordinal=3, source={"subagent": "review"})
    assert found.texts("user_prompt") == ["ours"]


def test_a_person_at_the_desktop(sessions: dict[str, Replay]) -> None:
    found = sessions["019ddeed-72de-7371-bf67-ac505f4386ba"]
    prompt = found.events[[event.kind for event in found.events].index("user_prompt")]
    assert not prompt.text.startswith("# Files mentioned")
    assert (prompt.role, prompt.origin) == ("user", "user")
    assert [body.media for body in prompt.bodies] == ["image/png"]
    assert found.session.title == "Add image to repo"
    assert found.session.interactive is True


def test_an_interrupted_turn_is_a_persons_doing(sessions: dict[str, Replay]) -> None:
    found = sessions["019d95a4-64c6-7b20-97f0-81e518d38258"]
    stopped = found.one("human_intervention")
    assert (stopped.text, stopped.origin) == ("interrupted", "user")
    assert {"reason": "interrupted", "ms": 9518} in [event.meta for event in found.events if event.kind == "turn_end"]


def test_each_text_is_told_once_though_it_is_written_twice(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        message(1, "user", "<environment_context>x</environment_context>"),
        message(2, "user", "run it"),
        notice(3, "user_message", message="run it", images=[]),
        notice(4, "agent_reasoning", text="hm"),
        item(4, "reasoning", summary=[{"type": "summary_text", "text": "hm"}]),
        notice(5, "agent_message", message="done"),
        message(5, "assistant", "done"),
    )
    assert [(event.kind, event.text) for event in found.events[1:]] == [
        *(("user_prompt", "run it"), ("thinking", "hm"), ("assistant_text", "done")),
    ]


def test_a_prompt_whose_event_comes_first_is_told_once(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        notice(1, "user_message", message="run it"),
        message(2, "user", "run it"),
        message(3, "assistant", "ok"),
    )
    assert [event.kind for event in found.events] == ["user_prompt", "assistant_text"]


def test_words_in_the_users_role_that_no_event_claims_are_the_hosts(tmp_path: Path) -> None:
    said = [
        message(1, "user", "a new kind of notice"),
        message(2, "user", "run it"),
        notice(2, "user_message", message="run it"),
    ]
    found = made(tmp_path, *said, message(3, "assistant", "ok"))
    assert [(event.kind, event.text) for event in found.events[:2]] == [
        ("injected_context", "a new kind of notice"),
        ("user_prompt", "run it"),
    ]


def test_a_file_without_events_has_its_prompts_in_the_items(tmp_path: Path) -> None:
    found = made(tmp_path, message(1, "user", "run it"), message(2, "assistant", "ok"), message(3, "user", "more"))
    assert found.texts("user_prompt") == ["run it", "more"]


def test_a_live_prompt_keeps_its_key_when_its_event_arrives(tmp_path: Path) -> None:
    early = made(tmp_path, message(1, "user", "run it")).one("user_prompt")
    later = made(tmp_path, message(1, "user", "run it"), notice(2, "user_message", message="run it")).one("user_prompt")
    assert early.key == later.key


def test_a_paginated_file_has_its_prompts_in_completed_items(tmp_path: Path) -> None:
    content = [{"type": "text", "text": "run it"}, {"type": "image", "image_url": "data:image/png;base64,AAAA"}]
    found = made(
        tmp_path,
        message(1, "user", "run it"),
        notice(2, "item_completed", item={"type": "UserMessage", "id": "u", "content": content}),
        notice(
            3, "item_completed", item={"type": "AgentMessage", "id": "m", "content": [{"type": "Text", "text": "done"}]}
        ),
        message(3, "assistant", "done"),
        history_mode="paginated",
    )
    assert [event.kind for event in found.events] == ["user_prompt", "assistant_text"]


def test_a_command_run_inside_a_script_is_told_by_its_end(tmp_path: Path) -> None:
    ended = {"type": "CommandExecution", "id": "c2", "command": ["bash", "-lc", "pytest -q"], "exit_code": 1}
    found = made(
        tmp_path,
        item(1, "custom_tool_call", name="exec", input="await tools.shell()", call_id="c1"),
        notice(2, "item_completed", item={**ended, "aggregated_output": "1 failed", "status": "failed"}),
        item(3, "custom_tool_call_output", call_id="c1", output="done"),
    )
    assert found.one("test_run").text == "pytest -q"
    inner = next(event for event in found.events if event.kind == "tool_result")
    assert (inner.text, inner.meta["exit"], inner.meta["error"]) == ("1 failed", 1, True)


RUN = "Chunk ID: 3c8b44\nWall time: 0.0 seconds\nProcess exited with code {}\nOriginal token count: 1\nOutput:\n{}"


@pytest.mark.parametrize(
    ("output", "text", "facts"),
    [
        (RUN.format(0, "ok"), "ok", {"exit": 0, "error": False}),
        ("Command: /bin/zsh -lc 'x\ny'\n" + RUN.format(-1, ""), "", {"exit": -1, "error": True}),
        ("Exit code: 2\nWall time: 1 seconds\nOutput:\nno", "no", {"exit": 2, "error": True}),
        ('{"output":"hi","metadata":{"exit_code":3,"duration_seconds":0.1}}', "hi", {"exit": 3, "error": True}),
        ("Chunk ID: 1\nWall time: 1 seconds\nProcess running with session ID 7\nOutput:\n...", "...", {}),
        ({"content": "bad", "success": False}, "bad", {"error": True}),
        ([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}], "a\nb", {}),
        ("apply_patch verification failed: no", "apply_patch verification failed: no", {"error": True}),
        ('{"output":"torn', '{"output":"torn', {}),
        (None, "", {}),
    ],
    ids=["exited", "signalled", "shell", "json", "running", "object", "blocks", "refused patch", "no json", "nothing"],
)
def test_output_is_unwrapped_and_its_exit_code_known(
    tmp_path: Path, output: Any, text: str, facts: dict[str, Any]
) -> None:
    found = made(
        tmp_path,
        item(1, "function_call", name="exec_command", arguments='{"cmd":"ls"}', call_id="c1"),
        item(2, "function_call_output", call_id="c1", output=output),
    )
    result = found.one("tool_result")
    assert result.text == text
    assert result.meta == {"call": "c1", "tool": "exec_command", "action": "shell", **facts}


def test_an_exit_code_told_by_an_event_reaches_the_result(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        item(1, "function_call", name="shell", arguments='{"command":["ls"]}', call_id="c1"),
        notice(2, "exec_command_end", call_id="c1", exit_code=7, status="failed"),
        item(3, "function_call_output", call_id="c1", output="gone"),
    )
    assert found.kinds["tool_result"] == 1
    assert found.one("tool_result").meta["exit"] == 7


def test_a_refused_command_is_a_persons_doing(tmp_path: Path) -> None:
    found = made(tmp_path, item(1, "function_call_output", call_id="c1", output="exec command rejected by user"))
    assert found.one("human_intervention").meta == {"call": "c1", "what": "denied"}


def test_the_first_message_of_another_agent_is_a_subagents_task(tmp_path: Path) -> None:
    mail = [
        item(
            number, "agent_message", author="/root", recipient="/root/a", content=[{"type": "input_text", "text": text}]
        )
        for number, text in ((1, "look here"), (2, "and there"))
    ]
    found = made(tmp_path, *mail, source={"subagent": {"thread_spawn": {"parent_thread_id": "p"}}})
    assert (found.one("user_prompt").text, found.one("user_prompt").origin) == ("look here", "assistant")
    assert (found.one("injected_context").text, found.one("injected_context").meta["from"]) == ("and there", "/root")


def test_local_models_may_number_their_calls_anew(tmp_path: Path) -> None:
    turn = [
        item(1, "function_call", name="shell", call_id="1"),
        item(1, "function_call_output", call_id="1", output=""),
    ]
    assert made(tmp_path, *turn, *turn).kinds == {"tool_call": 2, "tool_result": 2}


def test_a_count_written_again_costs_nothing(tmp_path: Path) -> None:
    found = made(tmp_path, count(1, 10, 10), count(2, 10, 10), notice(3, "token_count", info=None), count(4, 30, 20))
    assert [cost.tokens for cost in found.costs] == [10, 20]


def test_a_lost_line_costs_nothing_less(tmp_path: Path) -> None:
    found = made(tmp_path, count(1, 10, 10), count(4, 60, 20))
    assert [cost.tokens for cost in found.costs] == [10, 50]


def test_the_first_total_of_a_resumed_thread_is_not_its_own(tmp_path: Path) -> None:
    assert [cost.tokens for cost in made(tmp_path, count(1, 1_000, 10)).costs] == [10]


def test_a_total_that_begins_anew_is_not_taken_from_the_one_before(tmp_path: Path) -> None:
    assert [cost.tokens for cost in made(tmp_path, count(1, 50, 50), count(2, 8, 8)).costs] == [50, 8]


def test_the_parts_of_the_input_are_apart(tmp_path: Path) -> None:
    usage = {"input_tokens": 100, "cached_input_tokens": 80, "cache_write_input_tokens": 5, "output_tokens": 9}
    info = {"total_token_usage": {**usage, "reasoning_output_tokens": 4, "total_tokens": 109}}
    context = line(1, "turn_context", turn_id="t", model="gpt-5.5", cwd="/p")
    (cost,) = made(tmp_path, context, notice(2, "token_count", info=info)).costs
    assert (cost.input, cost.cache_read, cost.cache_write_5m, cost.output, cost.reasoning) == (15, 80, 5, 9, 4)
    assert (cost.tokens, cost.model, cost.usd) == (109, "gpt-5.5", None)


@pytest.mark.parametrize(
    ("meta", "relation", "parent", "interactive"),
    [
        ({}, "root", None, True),
        ({"source": "exec"}, "root", None, False),
        ({"forked_from_id": "p"}, "fork", "codex:p", True),
        ({"source": {"subagent": "compact"}, "parent_thread_id": "p"}, "compaction", "codex:p", False),
        ({"source": {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}}, "subagent", "codex:p", False),
        ({"source": {"subagent": {"other": "x"}}, "thread_source": "subagent"}, "subagent", None, False),
    ],
    ids=["root", "exec", "fork", "compaction", "spawned", "other"],
)
def test_what_a_session_is(
    tmp_path: Path, meta: dict[str, Any], relation: str, parent: str | None, interactive: bool
) -> None:
    session = made(tmp_path, **meta).session
    assert (session.relation, session.parent, session.interactive) == (relation, parent, interactive)


@pytest.mark.parametrize(
    "meta",
    [{"thread_source": "memory_consolidation"}, {"source": {"subagent": "memory_consolidation"}}],
    ids=["thread", "subagent"],
)
def test_what_codex_does_for_its_own_memory_is_not_captured(tmp_path: Path, meta: dict[str, Any]) -> None:
    written(tmp_path / "a.jsonl", line(0, "session_meta", **{**META, **meta}))
    (transcript,) = codex.discover(tmp_path)
    reading = Reading(transcript, NOW)
    assert list(codex.read(reading)) == []
    assert reading.ours


def test_rollbacks_compactions_and_reviews_are_marked(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        notice(1, "thread_rolled_back", num_turns=2),
        line(2, "compacted", message="", replacement_history=[]),
        line(3, "compacted", message="so far", replacement_history=[]),
        notice(4, "context_compacted"),
        notice(5, "entered_review_mode", user_facing_hint="current changes"),
    )
    assert [(event.kind, event.text) for event in found.events] == [
        *(("state", ""), ("compaction", ""), ("compaction", ""), ("summary", "so far"), ("state", "current changes")),
    ]
    assert found.events[0].meta == {"what": "rewind", "turns": 2}


def test_the_name_of_a_thread_is_in_the_index_beside_the_sessions(tmp_path: Path) -> None:
    written(tmp_path / "sessions/a.jsonl", line(0, "session_meta", **META))
    written(tmp_path / "session_index.jsonl", {"id": "s1", "thread_name": "old"}, {"id": "s1", "thread_name": "new"})
    assert replays("codex", tmp_path / "sessions")["s1"].session.title == "new"


BARE = [
    {"id": "b1", "timestamp": "2025-05-01T10:00:00.000Z", "instructions": "be brief", "git": {"branch": "main"}},
    {"record_type": "state"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "run it"}]},
    {
        "type": "local_shell_call",
        "id": "l",
        "call_id": "c1",
        "action": {"type": "exec", "command": ["bash", "-lc", "ls"]},
    },
    {"type": "function_call_output", "call_id": "c1", "output": '{"output":"a","metadata":{"exit_code":0}}'},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
]


def test_a_bare_file_of_2025_is_read(tmp_path: Path) -> None:
    written(tmp_path / "a.jsonl", *BARE)
    found = replays("codex", tmp_path)["b1"]
    assert [(event.kind, event.text) for event in found.events] == [
        *(("user_prompt", "run it"), ("tool_call", "ls"), ("tool_result", "a"), ("assistant_text", "done")),
    ]
    assert {event.meta["time"] for event in found.events} == {"inferred"}
    assert {event.occurred_at.year for event in found.events} == {2025}
    assert found.session.branch == "main"


def test_a_single_document_is_read_like_its_lines(tmp_path: Path) -> None:
    written(tmp_path / "lines/a.jsonl", *BARE)
    document = {"session": BARE[0], "items": BARE[2:]}
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole/rollout-2025-05-01-b1.json").write_bytes(orjson.dumps(document))
    lines, whole = (replays("codex", tmp_path / name)["b1"].events for name in ("lines", "whole"))
    assert [(event.key, event.text) for event in whole] == [(event.key, event.text) for event in lines]


def test_a_torn_tail_waits_for_its_rest(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", line(0, "session_meta", **META), message(1, "assistant", "whole"))
    with path.open("ab") as file:
        file.write(orjson.dumps(message(2, "assistant", "half"))[:-9])
    found = replays("codex", tmp_path)["s1"]
    assert found.texts("assistant_text") == ["whole"]
    assert found.counts == {"torn": 1}


def test_unknown_records_are_counted_and_passed_over(tmp_path: Path) -> None:
    found = made(
        tmp_path, line(1, "tomorrow"), item(2, "thought_bubble"), notice(3, "confetti"), notice(4, "task_started")
    )
    assert found.events == []
    assert found.counts == {"unknown_records": 3}


FIELDS = (
    "type payload timestamp id role content text message call_id name arguments input output item info "
    "total_token_usage last_token_usage input_tokens source subagent thread_spawn git turn_id images changes result "
    "invocation action instructions items session record_type ordinal summary error metadata exit_code namespace url "
    "image_url"
)
WORDS = (
    "session_meta turn_context response_item event_msg compacted message reasoning function_call function_call_output "
    "custom_tool_call local_shell_call web_search_call image_generation_call agent_message user_message item_completed "
    "exec_command_end patch_apply_end mcp_tool_call_end token_count task_complete turn_aborted thread_rolled_back "
    "UserMessage CommandExecution McpToolCall FileChange user assistant developer state interrupted"
)


@given(records=any_records(FIELDS, WORDS))
def test_nothing_a_file_can_hold_stops_the_reading(
    tmp_path_factory: pytest.TempPathFactory, records: list[Any]
) -> None:
    root = tmp_path_factory.mktemp("any")
    written(root / "a.jsonl", *records)
    written(
        root / "b.jsonl", line(0, "session_meta", **META), *({"type": "event_msg", "payload": row} for row in records)
    )
    written(root / "c.jsonl", *({"type": "response_item", "payload": row} for row in records))
    (root / "rollout-d.json").write_bytes(orjson.dumps({"session": records, "items": records}))
    replays("codex", root)


@pytest.mark.skipif(not SAMPLES, reason="RECOLLECT_TEST_TRANSCRIPTS is not set")
def test_the_tokens_of_fifty_real_sessions_add_up() -> None:
    found = replays("codex", Path(SAMPLES) / "codex/entire-git-sync").values()
    assert sum(session.session.meta["tokens_in_file"] for session in found) == 419_031_991
    assert sum(cost.tokens for session in found for cost in session.costs) == 310_651_917
    keys = [event.key for session in found for event in session.events]
    assert len(keys) == len(set(keys)) == 10_358
