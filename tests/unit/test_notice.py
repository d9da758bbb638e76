"""What agents tell their hooks, as they write it, becomes one kind of notice; what makes no sense becomes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from recollect.capture.notice import MAX_PATH_CHARS, Notice, notice_of
from recollect.capture.spool import Record

AT = datetime(2026, 11, 15, 22, 0, tzinfo=UTC)
COMMON = {"session_id": "s-1", "transcript_path": "/t/s-1.jsonl", "cwd": "/home/ann/app"}
GROK = {
    "hookEventName": "stop",
    "sessionId": "g-1",
    "cwd": "/home/ann/app",
    "workspaceRoot": "/home/ann",
    "timestamp": "2026-11-15T22:00:00Z",
    "transcriptPath": "/g/updates.jsonl",
    "promptId": "p-1",
    "lastAssistantMessage": "Done.",
    "reason": "end_turn",
}
GROK_ENV: dict[str, Any] = {"GROK_SESSION_ID": "g-1", "GROK_HOOK_EVENT": "stop"}


def record(body: object, agent: str = "claude", *, truncated: bool = False, **hints: Any) -> Record:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Record(agent, AT, data, truncated, hints)


def notice(body: object, agent: str = "claude", **more: Any) -> Notice:
    found = notice_of(record(body, agent, **more))
    assert found is not None
    return found


def told(body: Mapping[str, Any], agent: str) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in asdict(notice(body, agent)).items() if value is not None}


def expected(flavor: str, event: str, **more: str) -> dict[str, Any]:
    common = {"session": f"{flavor}:s-1", "transcript": "/t/s-1.jsonl", "cwd": "/home/ann/app", "at": AT}
    return {"flavor": flavor, "event": event, **common, **more}


@pytest.mark.parametrize(
    ("agent", "name", "extra", "event", "more"),
    [
        ("claude", "SessionStart", {"source": "startup", "model": "m"}, "session_start", {"reason": "startup"}),
        ("claude", "UserPromptSubmit", {"prompt": "why?"}, "user_prompt", {"prompt": "why?"}),
        (
            *("claude", "Stop", {"stop_hook_active": False, "last_assistant_message": "So."}, "stop"),
            {"last_assistant_message": "So."},
        ),
        (
            *("claude", "SubagentStop", {"agent_id": "a-1", "agent_transcript_path": "/t/a.jsonl"}, "subagent_stop"),
            {"agent_id": "a-1", "agent_transcript": "/t/a.jsonl"},
        ),
        ("claude", "PreCompact", {"trigger": "auto", "custom_instructions": ""}, "pre_compact", {"reason": "auto"}),
        ("claude", "SessionEnd", {"reason": "logout"}, "session_end", {"reason": "logout"}),
        ("claude", "PostToolUse", {"tool_name": "Bash", "tool_input": {"command": "ls"}}, "other", {}),
        ("claude", "WorktreeCreate", {}, "other", {}),
        (
            *("codex", "UserPromptSubmit", {"turn_id": "t-1", "prompt": "why?", "model": "m"}, "user_prompt"),
            {"turn": "t-1", "prompt": "why?"},
        ),
        (
            *("codex", "Stop", {"turn_id": "t-1", "last_assistant_message": None, "stop_hook_active": True}, "stop"),
            {"turn": "t-1"},
        ),
        ("codex", "SessionEnd", {"reason": "other"}, "session_end", {"reason": "other"}),
    ],
)
def test_what_claude_code_and_codex_say(
    agent: str, name: str, extra: dict[str, Any], event: str, more: dict[str, str]
) -> None:
    assert told({**COMMON, "hook_event_name": name, **extra}, agent) == expected(agent, event, **more)


def test_codex_may_have_no_transcript_yet() -> None:
    assert notice({**COMMON, "transcript_path": None}, "codex").transcript is None


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("session_start", "session_start"),
        ("user_prompt_submit", "user_prompt"),
        ("stop", "stop"),
        ("subagent_stop", "subagent_stop"),
        ("subagent_end", "subagent_stop"),
        ("pre_compact", "pre_compact"),
        ("session_end", "session_end"),
        ("post_tool_use", "other"),
        ("stop_failure", "other"),
    ],
)
def test_what_grok_says(name: str, event: str) -> None:
    assert notice({**GROK, "hookEventName": name}, "grok") == Notice(
        flavor="grok",
        event=event,
        session="grok:g-1",
        transcript="/g/updates.jsonl",
        agent_transcript=None,
        cwd="/home/ann/app",
        at=AT,
        turn="p-1",
        reason="end_turn",
    )


def test_grok_that_calls_the_hook_of_claude_code_says_the_same() -> None:
    """Grok reads Claude Code's settings too: one event, two records, equal notices."""
    own, borrowed = record(GROK, "grok", **GROK_ENV), record(GROK, "claude", CLAUDE_PROJECT_DIR="/home/ann", **GROK_ENV)
    later = replace(borrowed, at=datetime(2026, 11, 15, 22, 1, tzinfo=UTC))
    first, second = notice_of(own), notice_of(later)
    assert first is not None
    assert second is not None
    assert first.session == "grok:g-1"
    assert replace(second, at=AT) == first


def test_grok_is_known_by_its_session_too() -> None:
    """Should it ever write as Claude Code does; an agent that Grok's hook started has a session of its own."""
    assert notice({**COMMON, "session_id": "g-1"}, "claude", **GROK_ENV).session == "grok:g-1"
    assert notice(COMMON, "claude", **GROK_ENV).session == "claude:s-1"
    assert notice(COMMON, "grok").session == "grok:s-1"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"42",
        b'"text"',
        b"[]",
        b'[{"session_id": "s-1"}]',
        b"\xff\xfe\x00",
        b"{}",
        b'{"session_id": null}',
        b'{"session_id": 5}',
        b'{"session_id": ["s-1"]}',
        b'{"session_id": {"a": 1}}',
        b'{"session_id": ""}',
        b'{"session_id": "  "}',
        b'{"session_id": "a\\u0000b"}',
        b'{"session_id": "a\\nb"}',
        b'{"session_id": "\\ud800"}',
        b'{"session_id": "' + b"x" * 256 + b'"}',
        b'{"session_id": "' + b"x" * 250 + b'"}',  # fits alone, but not behind the flavor
        b'{"session_id": "s-1"} trailing',
        b'{"session_id": "s-1"}{"session_id": "s-2"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"session_id": "s-1", "n": ' + b"9" * 5_000 + b"}",
    ],
    ids=range(25),
)
def test_nonsense_is_no_notice(body: bytes) -> None:
    assert notice_of(record(body)) is None


@pytest.mark.parametrize("wrong", [5, 1.5, True, [], ["x"], {}, {"a": "b"}, "", None], ids=repr)
def test_a_field_of_the_wrong_type_is_left_out(wrong: object) -> None:
    names = ("transcript_path", "agent_transcript_path", "cwd", "hook_event_name", "prompt", "last_assistant_message")
    found = notice({"session_id": "s-1", **dict.fromkeys((*names, "turn_id", "agent_id", "reason"), wrong)})
    assert found == Notice("claude", "other", "claude:s-1", None, None, None, AT)


def test_text_is_made_storable_and_paths_are_exact_or_nothing() -> None:
    found = notice(
        b'{"session_id": "s-1", "prompt": "a\\u0000b \\ud83d\\ude00 \\udc00 \xff", "cwd": "/a\\u0000b", '
        b'"transcript_path": "/t/\\ud800.jsonl", "turn_id": "t\\n1", "reason": "x\\u001b[2J"}'
    )
    assert found.prompt == "a\ufffdb \U0001f600 \ufffd \ufffd"
    assert (found.cwd, found.transcript, found.turn, found.reason) == (None, None, None, None)


def test_long_text_is_kept_and_long_names_are_not() -> None:
    long = "x" * 1_000_000
    found = notice({**COMMON, "prompt": long, "cwd": long, "reason": long, "hook_event_name": long, "agent_id": long})
    assert found.prompt == long
    assert (found.cwd, found.reason, found.event, found.agent_id) == (None, None, "other", None)
    assert notice({**COMMON, "cwd": "/" + "x" * (MAX_PATH_CHARS - 1)}).cwd is not None


def test_a_byte_order_mark_is_no_trouble() -> None:
    assert notice(b"\xef\xbb\xbf" + json.dumps(COMMON).encode()).session == "claude:s-1"


# -- truncated bodies --------------------------------------------------------------------------------------------------


def test_a_truncated_body_gives_what_came_whole() -> None:
    """At every place it may be cut: a prefix of the truth, never another truth."""
    body = json.dumps({**COMMON, "hook_event_name": "UserPromptSubmit", "prompt": 'sé "session_id": "s-2"'}).encode()
    whole = notice(body)
    for size in range(len(body) + 1):
        found = notice_of(record(body[:size], truncated=True))
        if found is None:
            assert size < body.index(b', "transcript_path"')
            continue
        assert found.session == whole.session
        for name in ("transcript", "cwd", "prompt"):
            assert getattr(found, name) in (None, getattr(whole, name))
        assert found.event in ("other", whole.event)
    assert notice(body, truncated=True) == whole


def test_what_looks_like_a_member_inside_a_value_is_not_one() -> None:
    """T35."""
    evil = '"session_id": "s-evil", "transcript_path": "/etc/passwd"'
    for first in (evil, [evil], {"session_id": "s-evil", "transcript_path": "/etc/passwd"}, [{"session_id": "s-evil"}]):
        cut = json.dumps({"tool_response": first, **COMMON, "prompt": "x" * 100})[:-20].encode()
        found = notice(cut, truncated=True)
        assert (found.session, found.transcript) == ("claude:s-1", "/t/s-1.jsonl")
        inside = json.dumps({"tool_response": first, "session_id": "s-1"}).encode()
        assert notice_of(record(inside[: inside.index(b"evil") + 6], truncated=True)) is None


def test_when_the_cut_came_too_early_the_environment_helps() -> None:
    big = b'{"prompt": "' + b"x" * 1_000
    assert notice_of(record(big, truncated=True)) is None
    grok = notice(big, "claude", truncated=True, cwd="/home/ann", **GROK_ENV)
    assert (grok.session, grok.event, grok.cwd) == ("grok:g-1", "stop", "/home/ann")
    claude = notice(b"", "claude", truncated=True, cwd="/home/ann", CLAUDE_CODE_SESSION_ID="c-1")
    assert (claude.session, claude.event, claude.cwd) == ("claude:c-1", "other", "/home/ann")


def test_an_environment_of_two_agents_helps_nobody() -> None:
    hints = {**GROK_ENV, "CLAUDE_CODE_SESSION_ID": "c-1"}
    assert notice_of(record(b"", truncated=True, **hints)) is None
    assert notice_of(record(b"", "codex", truncated=True, CLAUDE_CODE_SESSION_ID="c-1")) is None
    assert notice_of(record(b"{}", truncated=False, **GROK_ENV)) is None
    whole = json.dumps(COMMON).encode()
    assert notice(whole[:-1], truncated=True, **hints).session == "claude:s-1"
    assert notice(b'{"sessionId": "g-2", "x', truncated=True, **hints).session == "grok:g-2"


@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b'{"a":' * 100_000, b"{1:2", b'{"a" 1', b"nul", b"\xff", b'{"a":1 "b"'],
    ids=range(7),
)
def test_truncated_nonsense_is_no_notice(body: bytes) -> None:
    assert notice_of(record(body, truncated=True)) is None


# -- those that keep their sessions themselves -------------------------------------------------------------------------

CURSOR = {
    "conversation_id": "c-1",
    "generation_id": "g-1",
    "hook_event_name": "stop",
    "cursor_version": "2.4.1",
    "workspace_roots": ["/home/ann/app", "/home/ann/lib"],
    "status": "completed",
}


@pytest.mark.parametrize(
    ("name", "extra", "event", "reason"),
    [
        ("SessionStart", {"source": "resume"}, "session_start", "resume"),
        ("BeforeAgent", {"prompt": "why?"}, "user_prompt", None),
        ("AfterAgent", {"prompt": "why?", "prompt_response": "So.", "stop_hook_active": False}, "stop", None),
        ("PreCompress", {"trigger": "auto"}, "pre_compact", "auto"),
        ("SessionEnd", {"reason": "exit"}, "session_end", "exit"),
        ("AfterModel", {}, "other", None),
    ],
)
def test_what_gemini_says(name: str, extra: dict[str, Any], event: str, reason: str | None) -> None:
    """Its words are in its own file: the notice only leads there."""
    found = notice({**COMMON, "hook_event_name": name, "timestamp": "2026-11-15T22:00:00Z", **extra}, "gemini")
    assert found == Notice("gemini", event, "gemini:s-1", "/t/s-1.jsonl", None, "/home/ann/app", AT, reason=reason)


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("sessionStart", "session_start"),
        ("beforeSubmitPrompt", "user_prompt"),
        ("stop", "stop"),
        ("subagentStop", "subagent_stop"),
        ("preCompact", "pre_compact"),
        ("sessionEnd", "session_end"),
        ("afterFileEdit", "other"),
    ],
)
def test_what_cursor_says(name: str, event: str) -> None:
    found = notice({**CURSOR, "hook_event_name": name, "prompt": "why?"}, "cursor")
    assert found == Notice(
        "cursor", event, "cursor:c-1", None, None, "/home/ann/app", AT, turn="g-1", reason="completed"
    )


def test_cursor_that_calls_the_hook_of_claude_code_is_cursor() -> None:
    """Cursor loads Claude Code's hooks too, and may name the session in both ways."""
    both = {**CURSOR, "session_id": "s-9", "hook_event_name": "Stop", "cwd": "/home/ann/app"}
    assert notice(both, "claude").session == "cursor:c-1"
    assert notice({"session_id": "s-9", "cursor_version": "2.4.1"}, "claude").session == "cursor:s-9"


def test_grok_that_calls_the_hook_of_cursor_is_grok() -> None:
    assert notice(GROK, "cursor").session == "grok:g-1"


@pytest.mark.parametrize("roots", [None, [], "x", [5], [""], {"a": 1}], ids=repr)
def test_a_cursor_without_directories_has_none(roots: object) -> None:
    assert notice({**CURSOR, "workspace_roots": roots}, "cursor").cwd is None


def test_what_our_plugin_in_opencode_says() -> None:
    found = notice({"session_id": "ses_1", "hook_event_name": "Stop", "cwd": "/home/ann/app"}, "opencode")
    assert found == Notice("opencode", "stop", "opencode:ses_1", None, None, "/home/ann/app", AT)
