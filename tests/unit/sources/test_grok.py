"""Grok's session directories become events in the order they happened, with the price Grok itself noted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from tests.unit.sources.reading_fixture import FIXTURES, Replay, any_records, replays, written

from recollect.capture.sources import grok

SAMPLES = os.environ.get("RECOLLECT_TEST_TRANSCRIPTS", "")
TOUCH, MAIN = "01a11267-e308-7fc1-ae44-da77d8c47e25", "01a0b14e-1cd4-7051-aa41-f25319cef01b"
LIMITED, OLD = "01a0b166-cb07-7443-b1e6-f56859274404", "019f6000-0000-7000-8000-000000000002"
SCREENS, COUNTER = "019f6851-7ec4-7ef0-97d3-03f3eee38755", "019f6851-7ec4-7ef0-97d3-03f3eee38756"
START = 1_791_310_000_000


@pytest.fixture(scope="module")
def sessions() -> dict[str, Replay]:
    return {
        name: found
        for folder in sorted((FIXTURES / "grok").iterdir())
        if folder.is_dir() and folder.name != "derived-torn"
        for name, found in replays("grok", folder).items()
    }


def update(number: int, kind: str, session: str = "s1", **fields: Any) -> dict[str, Any]:
    meta = {"eventId": f"{session}-{number}", "agentTimestampMs": START + number, "promptId": "p"}
    params = {"sessionId": "s1", "update": {"sessionUpdate": kind, **fields}, "_meta": meta}
    return {"timestamp": START // 1000, "method": "session/update", "params": params}


def said(number: int, kind: str, text: str, session: str = "s1", **meta: Any) -> dict[str, Any]:
    return update(number, f"{kind}_chunk", session, content={"type": "text", "text": text}, _meta=meta)


def made(tmp_path: Path, log: list[Any] | None = None, chat: list[Any] | None = None, **summary: Any) -> Replay:
    folder = tmp_path / "root/%2Fp/s1"
    if log is not None:
        written(folder / "updates.jsonl", *log)
    if chat is not None:
        written(folder / "chat_history.jsonl", *chat)
    document = {"info": {"id": "s1", "cwd": "/p"}, "created_at": "2026-10-06T18:00:00Z", **summary}
    (folder / "summary.json").write_bytes(orjson.dumps(document))
    (found,) = replays("grok", tmp_path / "root").values()
    return found


def test_where_sessions_lie() -> None:
    assert grok.roots(Path("home"), {}) == [Path("home/.grok/sessions")]
    assert grok.roots(Path("home"), {"GROK_HOME": "/x"}) == [Path("/x/sessions")]


def test_a_session_is_its_directory_and_the_files_that_tell_it(tmp_path: Path) -> None:
    folder = tmp_path / "%2Fp/s1"
    for name in ("updates.jsonl", "summary.json", "signals.json", "chat_history.jsonl.corrupt", "updates.lock"):
        written(folder / name)
    written(folder / "terminal/call.log")
    (found,) = grok.discover(tmp_path)
    assert (found.path, found.native) == (folder, "s1")
    assert [path.name for path in found.files] == ["updates.jsonl", "summary.json"]


def test_events_stand_in_the_order_they_happened_not_in_which_they_were_flushed(sessions: dict[str, Replay]) -> None:
    found = sessions[TOUCH]
    assert [event.kind for event in found.events] == [
        *("user_prompt", "assistant_text", "tool_call", "tool_result", "assistant_text", "turn_end"),
    ]
    times = [event.occurred_at for event in found.events]
    assert times == sorted(times)
    assert "time" not in found.events[0].meta


def test_the_bytes_of_an_output_are_dropped_and_its_exit_code_kept(sessions: dict[str, Replay]) -> None:
    result = sessions[TOUCH].one("tool_result")
    assert result.text == "-rw-r--r--@ 1 juanpelaez  wheel  0 Oct  6 12:09 askme.txt\n"
    assert (result.meta["tool"], result.meta["exit"], result.meta["error"]) == ("run_terminal_command", 0, False)


def test_the_price_is_the_one_grok_noted_and_the_cache_is_apart(sessions: dict[str, Replay]) -> None:
    (cost,) = sessions[TOUCH].costs
    assert (cost.input, cost.cache_read, cost.output, cost.reasoning) == (18_203, 32_256, 108, 44)
    assert (cost.tokens, cost.model, cost.usd) == (50_567, "grok-4.7-build", 0.01808188)


def test_a_rate_limit_is_a_retry_and_then_an_error(sessions: dict[str, Replay]) -> None:
    found = sessions[LIMITED]
    assert found.one("retry").meta == {"attempt": 1}
    assert "429" in found.one("error").text
    assert found.one("turn_end").meta["reason"] == "rate_limit"
    assert found.session.interactive is False


def test_a_session_without_a_log_is_read_from_the_chat(sessions: dict[str, Replay]) -> None:
    found = sessions[MAIN]
    assert found.kinds["user_prompt"] == 1
    assert found.one("user_prompt").text.startswith("This is a bounded QA exercise")
    assert found.kinds["injected_context"] == 5
    assert found.kinds["tool_result"] == 14
    assert found.session.cwd == "/qa/project space_under"


def test_how_calls_ended_is_taken_from_the_telemetry(sessions: dict[str, Replay]) -> None:
    results = [event for event in sessions[MAIN].events if event.kind == "tool_result"]
    assert [event.meta["tool"] for event in results if event.meta["error"]] == ["run_terminal_command", "read_file"]
    assert [event.meta["exit"] for event in results if "exit" in event.meta] == [0, 1]
    assert results[0].occurred_at.isoformat() == "2026-09-17T21:38:18.007000+00:00"
    assert sessions[MAIN].one("user_prompt").meta["time"] == "inferred"


def test_rows_of_the_first_format_are_read(sessions: dict[str, Replay]) -> None:
    assert [event.kind for event in sessions[OLD].events] == [
        *("user_prompt", "thinking", "assistant_text", "tool_call", "tool_result", "assistant_text"),
    ]


def test_a_subagents_task_is_its_parents_words(sessions: dict[str, Replay]) -> None:
    found = sessions[COUNTER]
    assert (found.session.relation, found.session.interactive) == ("subagent", False)
    assert (found.one("user_prompt").role, found.one("user_prompt").origin) == ("user", "assistant")


def test_backend_tools_images_and_interruptions_in_the_chat(sessions: dict[str, Replay]) -> None:
    found = sessions[SCREENS]
    search = next(event for event in found.events if event.meta.get("tool") == "web_search")
    assert (search.text, search.meta["action"]) == ("python print builtin", "fetch")
    assert [event.text for event in found.events if event.origin == "web"] == ["https://example.com/search-result"]
    assert found.one("human_intervention").text == "interrupted"
    assert found.texts("user_prompt")[-1] == "[image]\nHere is a screenshot for reference."


def test_a_torn_log_tells_what_it_still_holds() -> None:
    (found,) = replays("grok", FIXTURES / "grok/derived-torn").values()
    assert [event.kind for event in found.events] == ["user_prompt", "tool_call", "tool_result"]
    assert found.counts == {"glued_lines": 1, "bad_lines": 1, "torn": 1}


def test_chunks_of_one_message_are_one_event(tmp_path: Path) -> None:
    log = [
        said(3, "agent_message", "lo"),
        said(1, "user_message", "go", promptIndex=0),
        said(2, "agent_message", "Hel"),
        said(4, "user_message", "on", promptIndex=1),
        said(5, "user_message", "and on", promptIndex=1),
    ]
    found = made(tmp_path, log)
    assert [(event.kind, event.text) for event in found.events] == [
        *(("user_prompt", "go"), ("assistant_text", "Hello"), ("user_prompt", "on\nand on")),
    ]


def test_what_the_host_answers_is_nobodys_words(tmp_path: Path) -> None:
    log = [
        said(1, "user_message", "/context", hostTurn=True),
        said(2, "agent_message", "12 %", hostTurn=True),
        said(3, "user_message", "<system-reminder>be kind</system-reminder>", promptIndex=1),
        said(4, "user_message", "<user_query>\ngo\n</user_query>", promptIndex=2),
    ]
    found = made(tmp_path, log)
    assert found.texts("injected_context") == ["/context", "12 %", "<system-reminder>be kind</system-reminder>"]
    assert found.texts("user_prompt") == ["go"]


def test_a_fork_leaves_what_it_copied_to_its_parent(tmp_path: Path) -> None:
    log = [said(1, "user_message", "theirs", session="s0"), said(2, "user_message", "ours")]
    found = made(tmp_path, log, parent_session_id="s0", session_kind="fork")
    assert found.texts("user_prompt") == ["ours"]
    assert (found.session.parent, found.session.relation) == ("grok:s0", "fork")


def test_inherited_rows_of_the_chat_are_the_parents(tmp_path: Path) -> None:
    chat = [
        {"type": "user", "content": [{"type": "text", "text": text}], "prompt_index": 0} for text in ("theirs", "ours")
    ]
    assert made(tmp_path, chat=chat, inherited_prefix_len=1, parent_session_id="s0").texts("user_prompt") == ["ours"]


def test_a_log_without_prompts_gives_the_costs_and_the_chat_the_words(tmp_path: Path) -> None:
    usage = {"inputTokens": 10, "outputTokens": 1}
    log = [said(1, "agent_message", "hi"), update(2, "turn_completed", prompt_id="p", usage=usage)]
    chat = [{"type": "user", "content": "go", "prompt_index": 0}, {"type": "assistant", "content": "hi"}]
    found = made(tmp_path, log, chat)
    assert [(event.kind, event.text) for event in found.events] == [("user_prompt", "go"), ("assistant_text", "hi")]
    assert [cost.tokens for cost in found.costs] == [11]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"inputTokens": 10, "cachedReadTokens": 4, "cacheCreationTokens": 1}, [(None, 5, 4, 1, None)]),
        ({"inputTokens": 10, "costUsdTicks": 10_000_000_000}, [(None, 10, 0, 0, 1.0)]),
        ({"inputTokens": 10, "costUsdTicks": 10_000_000_000, "costIsPartial": True}, [(None, 10, 0, 0, None)]),
        (
            {"inputTokens": 10, "modelUsage": {"a": {"inputTokens": 6, "costUsdTicks": 5e9}, "b": {"inputTokens": 4}}},
            [("a", 6, 0, 0, 0.5), ("b", 4, 0, 0, None)],
        ),
    ],
    ids=["disjoint", "priced", "partly priced", "two models"],
)
def test_what_a_turn_costs(tmp_path: Path, usage: dict[str, Any], expected: list[Any]) -> None:
    costs = made(
        tmp_path, [said(1, "user_message", "go"), update(2, "turn_completed", prompt_id="p", usage=usage)]
    ).costs
    assert [(cost.model, cost.input, cost.cache_read, cost.cache_write_5m, cost.usd) for cost in costs] == expected


def test_a_turn_told_again_is_counted_once_and_the_last_holds(tmp_path: Path) -> None:
    turns = [update(number, "turn_completed", prompt_id="p", usage={"inputTokens": number}) for number in (2, 3)]
    found = made(tmp_path, [said(1, "user_message", "go"), *turns])
    assert [cost.tokens for cost in found.costs] == [3]
    assert found.kinds["turn_end"] == 1


def test_a_subagents_cost_is_in_its_parents_bill(tmp_path: Path) -> None:
    done = update(2, "turn_completed", prompt_id="p", usage={"inputTokens": 10})
    found = made(tmp_path, [said(1, "user_message", "go"), done], session_kind="subagent", parent_session_id="s0")
    assert found.costs == []
    assert found.session.meta["tokens_in_parent"] == 10


def test_rewinds_compactions_and_cancelled_turns_are_marked(tmp_path: Path) -> None:
    log = [
        said(1, "user_message", "go"),
        update(2, "turn_completed", prompt_id="p", stop_reason="cancelled"),
        update(3, "rewind_marker", target_prompt_index=0),
        update(4, "compaction_checkpoint", checkpoint_id="c"),
        update(5, "auto_compact_completed", tokens_before=900, tokens_after=10, summary_preview="so far"),
        update(6, "session_recap", summary="all in all"),
    ]
    found = made(tmp_path, log)
    assert [event.kind for event in found.events] == [
        *("user_prompt", "human_intervention", "turn_end", "state", "compaction", "summary", "summary"),
    ]
    assert found.one("state").meta == {"what": "rewind", "to": 0}


def test_a_refused_call_is_a_persons_doing(tmp_path: Path) -> None:
    call = update(2, "tool_call", toolCallId="c1", title="run_terminal_command", rawInput={"command": "rm -r /"})
    refused = update(3, "tool_call_update", toolCallId="c1", status="failed", content=[])
    ended = {
        "ts": "2026-10-06T18:00:01Z",
        "type": "tool_completed",
        "outcome": "permission_rejected",
        "tool_call_id": "c1",
    }
    written(tmp_path / "root/%2Fp/s1/events.jsonl", ended)
    found = made(tmp_path, [said(1, "user_message", "go"), call, refused])
    assert found.one("human_intervention").meta == {"call": "c1", "what": "denied"}
    assert found.one("tool_result").meta["error"] is True


def test_an_output_of_bytes_alone_is_told_by_what_the_model_saw_of_it(tmp_path: Path) -> None:
    call = update(2, "tool_call", toolCallId="c1", title="scheduler_list", rawInput={})
    raw = {"type": "Bash", "output": [111, 107], "tasks": 2}
    done = update(3, "tool_call_update", toolCallId="c1", status="completed", rawOutput=raw)
    assert made(tmp_path, [said(1, "user_message", "go"), call, done]).one("tool_result").text == '{"tasks": 2}'


def test_an_interjection_is_a_persons_though_it_is_marked(tmp_path: Path) -> None:
    rows = [
        {"type": "user", "content": reason, "synthetic_reason": reason} for reason in ("interjection", "auto_continue")
    ]
    found = made(tmp_path, chat=rows)
    assert found.texts("user_prompt") == ["interjection"]
    assert found.one("injected_context").meta["reason"] == "auto_continue"


def test_a_tool_of_another_server_has_its_own_name(tmp_path: Path) -> None:
    asked = {"tool_name": "voice__list", "tool_input": {"limit": 3}}
    call = update(2, "tool_call", toolCallId="c1", title="use_tool", rawInput=asked)
    found = made(tmp_path, [said(1, "user_message", "go"), call])
    assert (found.one("tool_call").meta["tool"], found.one("tool_call").meta["action"]) == ("voice__list", "mcp")


def test_a_directory_whose_name_was_too_long_holds_its_path(tmp_path: Path) -> None:
    written(tmp_path / "root/long-0123/s1/updates.jsonl", said(1, "user_message", "go"))
    (tmp_path / "root/long-0123/.cwd").write_text("/a/very/long/path\n")
    (found,) = replays("grok", tmp_path / "root").values()
    assert found.session.cwd == "/a/very/long/path"


def test_lines_without_an_envelope_are_read_in_file_order(tmp_path: Path) -> None:
    log = [
        {
            "sessionId": "s1",
            "update": {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "go"}},
        },
        {
            "sessionId": "s1",
            "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "ok"}},
        },
    ]
    found = made(tmp_path, log)
    assert [(event.kind, event.meta["time"]) for event in found.events] == [
        ("user_prompt", "inferred"),
        ("assistant_text", "inferred"),
    ]


def test_a_log_too_large_to_sort_is_read_as_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grok, "MAX_SORTED", 10)
    found = made(tmp_path, [said(2, "agent_message", "late"), said(1, "user_message", "go")])
    assert [event.text for event in found.events] == ["late", "go"]


def test_a_summary_that_is_no_json_leaves_the_directory_to_name_the_session(tmp_path: Path) -> None:
    folder = tmp_path / "root/%2Fp/s1"
    written(folder / "updates.jsonl", said(1, "user_message", "go"))
    (folder / "summary.json").write_text("{torn")
    (found,) = replays("grok", tmp_path / "root").values()
    assert found.session.id == "grok:s1"
    assert found.counts == {"bad_documents": 1}


FIELDS = (
    "type method params update sessionUpdate _meta eventId agentTimestampMs promptId content text toolCallId title "
    "status rawInput rawOutput output exit_code usage inputTokens modelUsage costUsdTicks prompt_id tool_calls id name "
    "arguments function role synthetic_reason prompt_index summary kind tool_type action sources tool_call_id info cwd "
    "timestamp"
)
WORDS = (
    "session/update user_message_chunk agent_message_chunk agent_thought_chunk tool_call tool_call_update "
    "turn_completed rewind_marker retry_state compaction_checkpoint auto_compact_completed session_recap completed "
    "failed user assistant reasoning tool_result tool backend_tool_call system text image diff use_tool s-1 tool"
)


@given(records=any_records(FIELDS, WORDS))
def test_nothing_a_file_can_hold_stops_the_reading(
    tmp_path_factory: pytest.TempPathFactory, records: list[Any]
) -> None:
    root = tmp_path_factory.mktemp("any")
    for name in ("updates.jsonl", "chat_history.jsonl", "events.jsonl"):
        written(root / "a" / name, *records)
    (root / "a/summary.json").write_bytes(orjson.dumps(records[0] if records else []))
    written(root / "b/updates.jsonl", *({"params": {"update": row, "_meta": row}} for row in records))
    written(root / "c/chat_history.jsonl", *({**row, "type": "assistant", "content": records} for row in records))
    replays("grok", root)


@pytest.mark.skipif(not SAMPLES, reason="RECOLLECT_TEST_TRANSCRIPTS is not set")
def test_the_real_sessions_have_the_turns_and_tokens_they_have() -> None:
    found = [
        told for path in sorted((Path(SAMPLES) / "grok").glob("real-*")) for told in replays("grok", path).values()
    ]
    assert [told.kinds["user_prompt"] for told in found] == [1, 1, 1]
    assert sum(cost.tokens for told in found for cost in told.costs) == 50_567 + 13_621
