"""P15: whatever an agent writes, the hook says nothing and all is well, and reading it back never raises."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import hook
from recollect.capture.notice import EVENTS, Notice, notice_of
from recollect.capture.spool import Record, Spool
from recollect.model import check_id
from recollect.text import storable
from tests.flow.test_hook import FIELDS, records, run

NAMES = (*FIELDS, "sessionId", "transcriptPath", "hookEventName", "promptId", "lastAssistantMessage", "workspaceRoot")
HOOK_EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact", "SessionEnd", "pre_tool_use")
AT = datetime(2026, 11, 15, tzinfo=UTC)

words = st.text(max_size=30) | st.sampled_from(["s-1", "\x00", "\ud800", "/a/../b", "x" * 300, *HOOK_EVENTS])
plain = st.none() | st.booleans() | st.integers() | st.floats() | words
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3))
payloads = st.dictionaries(st.sampled_from(NAMES) | words, values, max_size=8)
documents = st.builds(lambda value, plain: json.dumps(value, ensure_ascii=plain), payloads | values, st.booleans())
stdins = st.one_of(
    documents.map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.tuples(documents, st.integers(0, 200)).map(lambda cut: cut[0].encode("utf-8", "surrogatepass")[: cut[1]]),
    st.binary(max_size=200),
)
environments = st.dictionaries(st.sampled_from(hook.HINTS), st.text(st.characters(codec="utf-8"), max_size=20))


def check(notice: Notice | None) -> None:
    """All that a reader of notices relies on."""
    if notice is None:
        return
    assert notice.flavor in hook.AGENTS
    assert notice.event in {*EVENTS.values(), "other"}
    assert check_id(notice.session, "session").startswith(f"{notice.flavor}:")
    for value in (notice.transcript, notice.agent_transcript, notice.cwd, notice.prompt, notice.reason, notice.turn):
        assert value is None or (value and storable(value) == value)


@pytest.mark.slow
@settings(max_examples=800, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(body=stdins, agent=st.sampled_from(hook.AGENTS), truncated=st.booleans(), env=environments)
def test_any_document_gives_a_sound_notice_or_none(
    body: bytes, agent: str, truncated: bool, env: dict[str, str]
) -> None:
    check(notice_of(Record(agent, AT, body, truncated, env)))


@pytest.fixture(scope="module")
def hasty_spool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spool]:
    """A spool that does not wait for the disk: what is tried here is what goes in, not whether it lasts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield Spool(tmp_path_factory.mktemp("fuzz") / "data")


@pytest.mark.slow
@settings(max_examples=800)
@given(body=st.binary(max_size=300), agent=st.sampled_from(hook.AGENTS), env=environments)
def test_any_bytes_come_back_from_the_spool(hasty_spool: Spool, body: bytes, agent: str, env: dict[str, str]) -> None:
    path = hasty_spool.folder / hook.capture(str(hasty_spool.data_dir), agent, body, env)
    assert path in hasty_spool.waiting()
    record = hasty_spool.read(path)
    hasty_spool.finish(path)
    assert (record.agent, record.body, record.truncated) == (agent, body, False)
    assert {name: value for name, value in record.hints.items() if name != "cwd"} == env
    check(notice_of(record))


ODD: list[object] = [
    b"",
    b"\n",
    b"\x00" * 1000,
    bytes(range(256)),
    b"\xff\xfe{\x00}\x00",
    b"\xef\xbb\xbf{}",
    b"{" * 50_000,
    b"[" * 50_000 + b"]" * 50_000,
    b'{"session_id": "s-1", "session_id": "s-2"}',
    b'{"a": 1e999999, "b": -0, "c": NaN, "d": Infinity}',
    b"9" * 10_000,
    b'"' + b"x" * 1_000_000 + b'"',
    b"%s %n {0} \\x00 \\u2028",
    b"\x1b]0;title\x07\x1b[2J",
    {"decision": "block", "continue": False, "hookSpecificOutput": {"additionalContext": "obey"}},
    {"session_id": {"$ne": None}, "cwd": ["/"], "prompt": 5},
    {"session_id": "\ud800", "prompt": "\x00"},
    {"session_id": "x" * 100_000},
    {"session_id": "../../../etc/passwd", "transcript_path": "/proc/self/environ"},
    None,
    [],
    0,
    "text",
]


ODD += [{"hook_event_name": name, "session_id": 5} for name in HOOK_EVENTS]


@pytest.mark.parametrize("stdin", ODD, ids=range(len(ODD)))
def test_the_process_keeps_silent_whatever_it_is_given(stdin: Any, tmp_path: Path) -> None:
    run(tmp_path, stdin)
    (record,) = records(tmp_path)
    assert record.body == (stdin if isinstance(stdin, bytes) else json.dumps(stdin).encode())
    check(notice_of(record))
