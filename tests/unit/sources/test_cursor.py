"""Cursor's agent transcripts and the editor's database as events and costs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.capture.sources import cursor
from recollect.capture.transcript import Reading, Transcript
from recollect.errors import BadTranscript
from recollect.model import Cost, Event

FIXTURES = Path(__file__).parents[2] / "fixtures" / "cursor"
NOW = datetime(2026, 5, 1, tzinfo=UTC)
SESSION = "33333333-3333-4333-8333-333333333333"


def reading_of(transcript: Transcript) -> tuple[Reading, list[Event], list[Cost]]:
    reading = Reading(transcript, NOW)
    found = list(cursor.read(reading))
    return reading, [e for e in found if isinstance(e, Event)], [c for c in found if isinstance(c, Cost)]


def file_of(path: Path, root: Path | None = None) -> tuple[Reading, list[Event], list[Cost]]:
    return reading_of(Transcript("cursor", root or path.parent, path, path.stem, (path,)))


def written(path: Path, records: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def said(role: str, *blocks: Any) -> dict[str, Any]:
    return {"role": role, "message": {"content": list(blocks)}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def kinds(events: Iterable[Event]) -> list[str]:
    return [event.kind for event in events]


class Store:
    """A small `state.vscdb` as the editor makes it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.connection = apsw.Connection(str(folder / "state.vscdb"))
        self.connection.execute("PRAGMA journal_mode=WAL").fetchall()
        for table in ("ItemTable", "cursorDiskKV"):
            self.connection.execute(f"CREATE TABLE {table} (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")

    def put(self, key: str, value: Any) -> None:
        data = value if isinstance(value, str) else json.dumps(value)
        self.connection.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, data))

    def composer(self, known: str, *bubbles: dict[str, Any], **more: Any) -> None:
        headers = [{"bubbleId": f"b{number}", "type": bubble["type"]} for number, bubble in enumerate(bubbles)]
        about = {"composerId": known, "name": "Rate limits", "createdAt": 1_782_554_400_000}
        self.put(f"composerData:{known}", about | {"fullConversationHeadersOnly": headers} | more)
        for number, bubble in reversed(list(enumerate(bubbles))):
            self.bubble(known, f"b{number}", bubble)

    def bubble(self, composer: str, known: str, bubble: dict[str, Any]) -> None:
        at = f"2026-06-27T10:00:{known[1:].zfill(2)}.000Z"
        self.put(f"bubbleId:{composer}:{known}", {"_v": 3, "bubbleId": known, "createdAt": at, **bubble})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = Store(tmp_path / ".config" / "Cursor" / "User" / "globalStorage")
    yield found
    found.connection.close()


def first(store: Store) -> tuple[Reading, list[Event], list[Cost]]:
    return reading_of(next(cursor.discover(store.folder)))


def test_a_transcript_becomes_prompts_answers_calls_and_results() -> None:
    _, events, costs = file_of(FIXTURES / "large.jsonl")
    assert kinds(events) == [
        *("user_prompt", "thinking", "assistant_text", "tool_call", "tool_result", "assistant_text"),
        *("user_prompt", "tool_call", "tool_result", "assistant_text", "user_prompt", "assistant_text"),
    ]
    results = [event for event in events if event.kind == "tool_result"]
    assert [(r.meta["tool"], r.meta["action"], r.text) for r in results] == [
        ("Bash", "shell", "file1.txt\nfile2.txt"),
        ("Read", "read", "hello world"),
    ]
    assert costs == []


def test_names_that_drift_are_still_read_and_what_is_new_is_counted() -> None:
    reading, events, _ = file_of(FIXTURES / "schema_drift.jsonl")
    assert kinds(events) == ["user_prompt", "thinking", "tool_call", "tool_result", "assistant_text"]
    assert tuple(reading.models) == ("cursor-auto",)
    assert reading.counts == {"unknown_records": 1}


def test_keys_stay_when_a_transcript_grows_and_same_words_are_told_apart(tmp_path: Path) -> None:
    lines = [said("user", text("yes")), said("assistant", text("ok")), said("user", text("yes"))]
    before = file_of(written(tmp_path / "a.jsonl", lines))[1]
    after = file_of(written(tmp_path / "a.jsonl", [*lines, said("assistant", text("ok"))]))[1]
    assert [event.key for event in before] == [event.key for event in after[:3]]
    assert len({event.key for event in after}) == 4


def test_two_sessions_with_the_same_words_have_keys_of_their_own(tmp_path: Path) -> None:
    one, two = (file_of(written(tmp_path / name, [said("user", text("hi"))]))[1] for name in ("a.jsonl", "b.jsonl"))
    assert one[0].key != two[0].key


def test_a_prompt_is_what_stands_in_the_query_and_the_rest_is_context(tmp_path: Path) -> None:
    given = "<attached_files>a.py</attached_files>\n<user_query>\nfix a.py\n</user_query>"
    lines = [said("user", text(given)), said("user", text("<system_reminder>x</system_reminder>"))]
    _, events, _ = file_of(written(tmp_path / "a.jsonl", lines))
    assert [(e.kind, e.role, e.origin, e.text) for e in events] == [
        ("injected_context", "system", "tool", "<attached_files>a.py</attached_files>"),
        ("user_prompt", "user", "user", "fix a.py"),
        ("injected_context", "system", "tool", "<system_reminder>x</system_reminder>"),
    ]


def test_a_line_has_the_time_of_its_file(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", [said("user", text("hi"))])
    os.utime(path, (1_700_000_000, 1_700_000_000))
    (event,) = file_of(path)[1]
    assert event.occurred_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert event.meta["time"] == "file"


def test_results_answer_calls_without_ids_in_their_order(tmp_path: Path) -> None:
    calls = [{"type": "tool_use", "name": name, "input": {"path": "a"}} for name in ("Read", "Grep")]
    results = [{"type": "tool_result", "tool_use_id": known, "content": known} for known in ("t1", "t2")]
    path = written(tmp_path / "a.jsonl", [said("assistant", *calls), said("user", *results)])
    found = [(event.text, event.meta["tool"]) for event in file_of(path)[1] if event.kind == "tool_result"]
    assert found == [("t1", "Read"), ("t2", "Grep")]


def test_a_turn_that_was_aborted_is_an_intervention(tmp_path: Path) -> None:
    lines = [{"type": "turn_ended", "status": "success"}, {"type": "turn_ended", "status": "aborted"}]
    assert kinds(file_of(written(tmp_path / "a.jsonl", lines))[1]) == ["turn_end", "human_intervention"]


def test_a_subagent_names_its_parent_and_text_files_are_left_out() -> None:
    found = {transcript.native: transcript for transcript in cursor.discover(FIXTURES / "subagent")}
    assert set(found) == {"parent", "subagent/child"}
    reading, events, _ = reading_of(found["subagent/child"])
    assert (reading.relation, reading.parent) == ("subagent", "cursor:subagent")
    assert (events[0].role, events[0].origin) == ("user", "assistant")


def test_the_directory_is_the_one_that_was_trusted(tmp_path: Path) -> None:
    root = tmp_path / ".cursor" / "projects"
    path = written(root / "home-ann-app" / "agent-transcripts" / SESSION / f"{SESSION}.jsonl", [])
    (root / "home-ann-app" / "old.jsonl").write_text("{}")
    (path.parent.parent / "older.txt").write_text("user:\nhi")
    (transcript,) = cursor.discover(root)
    assert reading_of(transcript)[0].cwd is None
    (root / "home-ann-app" / ".workspace-trusted").write_text(json.dumps({"workspacePath": "/home/ann/app"}))
    assert reading_of(transcript)[0].cwd == "/home/ann/app"


def test_bubbles_are_told_in_the_order_of_the_conversation(store: Store) -> None:
    shell = {"name": "run_terminal_cmd", "toolCallId": "c1", "status": "completed"}
    shell |= {
        "rawArgs": json.dumps({"command": "make test"}),
        "result": json.dumps({"output": "1 failed", "exitCodeV2": 2}),
    }
    store.composer(
        SESSION,
        {"type": 1, "text": "add a rate limiter", "workspaceUris": ["file:///home/ann/my%20app"]},
        {"type": 2, "text": "", "thinking": {"text": "token bucket"}},
        {"type": 2, "text": "", "toolFormerData": shell, "tokenCount": {"inputTokens": 90, "outputTokens": 7}},
        {"type": 2, "text": "done", "tokenCount": {"inputTokens": 0, "outputTokens": 0}},
        modelConfig={"modelName": "composer-1"},
        createdOnBranch="main",
    )
    reading, events, costs = first(store)
    assert kinds(events) == ["user_prompt", "thinking", "test_run", "tool_result", "assistant_text"]
    assert (reading.native, reading.title, reading.branch) == (SESSION, "Rate limits", "main")
    assert reading.cwd == "/home/ann/my app"
    assert (events[3].text, events[3].meta["exit"], events[3].meta["error"]) == ("1 failed", 2, True)
    assert events[0].occurred_at == datetime(2026, 6, 27, 10, tzinfo=UTC)
    assert [(c.input, c.output, c.model) for c in costs] == [(90, 7, "composer-1")]


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (
            {"name": "read_file_v2", "rawArgs": '{"path": "a.py"}', "status": "completed", "result": "{}"},
            ("read", False),
        ),
        ({"name": "edit_file_v2", "params": '{"relativeWorkspacePath": "a.py"}', "status": "error"}, ("edit", True)),
        ({"name": "ripgrep_raw_search", "rawArgs": '{"pattern": "x"}', "status": "completed"}, ("search", False)),
        ({"name": "web_search", "rawArgs": "broken {", "status": "cancelled"}, ("fetch", True)),
    ],
    ids=["read", "edit", "search", "fetch"],
)
def test_tools_are_told_by_what_they_do(store: Store, tool: dict[str, Any], expected: tuple[str, bool]) -> None:
    store.composer(SESSION, {"type": 2, "toolFormerData": tool})
    _, (call, result), _ = first(store)
    assert (call.meta["action"], result.meta["error"]) == expected
    assert call.meta["tool"] == tool["name"]
    assert result.origin == ("web" if expected[0] == "fetch" else "tool")


def test_a_call_that_still_runs_has_no_result_and_a_rejected_one_is_an_intervention(store: Store) -> None:
    running = {"name": "read_file", "rawArgs": "{}", "status": "loading"}
    refused = {"name": "run_terminal_cmd", "rawArgs": "{}", "status": "loading", "userDecision": "rejected"}
    store.composer(SESSION, {"type": 2, "toolFormerData": running}, {"type": 2, "toolFormerData": refused})
    assert kinds(first(store)[1]) == ["tool_call", "tool_call", "tool_result", "human_intervention"]


def test_a_bubble_that_streams_keeps_its_key_and_changes_the_stamp_of_its_own_session_only(store: Store) -> None:
    store.composer("aaa", {"type": 2, "text": "Hel"})
    store.composer("aab", {"type": 2, "text": "other"})
    one, two = cursor.discover(store.folder)
    stamps, before = (cursor.stamp(one), cursor.stamp(two)), reading_of(one)[1]
    store.bubble("aaa", "b0", {"type": 2, "text": "Hey"})
    after = reading_of(one)[1]
    assert (before[0].key, before[0].text, after[0].text) == (after[0].key, "Hel", "Hey")
    assert cursor.stamp(one) != stamps[0]
    assert cursor.stamp(two) == stamps[1]


def test_a_conversation_of_older_versions_stands_in_its_own_record(store: Store) -> None:
    inline = [{"type": 1, "text": "hi", "bubbleId": "x"}, {"type": 2, "text": "hello", "bubbleId": "y"}]
    store.composer(SESSION, conversation=inline)
    _, events, _ = first(store)
    assert [event.text for event in events] == ["hi", "hello"]
    assert events[0].occurred_at == datetime(2026, 6, 27, 10, tzinfo=UTC)


def test_a_conversation_without_headers_is_read_in_the_order_it_was_written(store: Store) -> None:
    store.put(f"composerData:{SESSION}", {})
    store.bubble(SESSION, "b2", {"type": 1, "text": "one"})
    store.bubble(SESSION, "b1", {"type": 2, "text": "two"})
    assert [event.text for event in first(store)[1]] == ["one", "two"]


def test_ids_of_tool_calls_are_no_sessions_and_null_bubbles_are_nothing(store: Store) -> None:
    store.put("composerData:task-call_x\nfc_y", {})
    store.composer(SESSION, {"type": 1, "text": "hi"}, {"type": 2, "text": "lost"})
    store.put(f"bubbleId:{SESSION}:b1", "null")
    (transcript,) = cursor.discover(store.folder)
    reading, events, _ = reading_of(transcript)
    assert (kinds(events), reading.counts) == (["user_prompt"], {})


def test_a_transcript_whose_session_is_in_the_editors_database_is_left_out(store: Store, tmp_path: Path) -> None:
    root = tmp_path / ".cursor" / "projects"
    for name in (SESSION, "of-the-cli"):
        written(root / "p" / "agent-transcripts" / name / f"{name}.jsonl", [said("user", text("hi"))])
    store.put(f"composerData:{SESSION}", {})
    assert len(list(cursor.discover(root))) == 2
    store.composer(SESSION, {"type": 1, "text": "hi"})
    assert [transcript.native for transcript in cursor.discover(root)] == ["of-the-cli"]


def test_secrets_beside_the_conversations_are_not_read(store: Store) -> None:
    store.connection.execute("INSERT INTO ItemTable VALUES ('cursorAuth/accessToken', 'sekret')")
    store.composer(SESSION, {"type": 1, "text": "hi"}, blobEncryptionKey="sekret")
    reading, events, _ = first(store)
    assert "sekret" not in repr((events, reading.as_session()))


def test_a_database_that_is_none_is_a_bad_transcript(tmp_path: Path) -> None:
    (tmp_path / "state.vscdb").write_bytes(b"x" * 5000)
    with pytest.raises(BadTranscript, match="cannot be read"):
        list(cursor.discover(tmp_path))


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, "/home/ann/.config/Cursor/User/globalStorage"),
        ({}, "/home/ann/Library/Application Support/Cursor/User/globalStorage"),
        ({}, "/home/ann/AppData/Roaming/Cursor/User/globalStorage"),
        ({"APPDATA": "/roaming"}, "/roaming/Cursor/User/globalStorage"),
        ({"XDG_CONFIG_HOME": "/cfg"}, "/cfg/Cursor/User/globalStorage"),
        ({}, "/home/ann/.cursor/projects"),
    ],
    ids=["linux", "macos", "windows", "appdata", "xdg", "agent"],
)
def test_where_the_data_may_be(env: dict[str, str], expected: str) -> None:
    assert Path(expected) in cursor.roots(Path("/home/ann"), env)


def test_every_line_is_recognised() -> None:
    for path in FIXTURES.rglob("*.jsonl"):
        assert all(cursor.recognises(json.loads(line)) for line in path.read_text().splitlines()), path
    assert not cursor.recognises({"type": "assistant", "role": "assistant", "message": {"content": []}})


NAMES = "role message content type text thinking name input id tool_use_id is_error status model bubbleId createdAt"
NAMES += (
    " toolFormerData rawArgs params result toolCallId userDecision tokenCount inputTokens images errorDetails source"
)
NAMES += (
    " fullConversationHeadersOnly conversation workspaceUris timingInfo clientRpcSendTime modelConfig modelName uri"
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 10**13)
    | st.sampled_from([1, 2, "b0", "text", "tool_use", "error", "{}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES.split()), inner, max_size=6),
    max_leaves=10,
)
RECORDS = st.dictionaries(st.sampled_from(NAMES.split()), VALUES, max_size=6)


@settings(max_examples=120, deadline=None)
@given(records=st.lists(RECORDS, max_size=3), content=VALUES, role=st.sampled_from(["user", "assistant"]))
def test_no_record_is_ever_too_much(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]], content: Any, role: str
) -> None:
    folder = tmp_path_factory.getbasetemp() / "cursor"
    lines = [*records, {"role": role, "message": {"content": content}}]
    file_of(written(folder / "a.jsonl", lines))
    for record in records:
        cursor.recognises(record)


@settings(max_examples=60, deadline=None)
@given(about=RECORDS, bubble=RECORDS, kind=st.sampled_from([1, 2]))
def test_no_row_is_ever_too_much(about: dict[str, Any], bubble: dict[str, Any], kind: int) -> None:
    reading = Reading(Transcript("cursor", Path("/x"), Path("/x/y"), "s", (Path("/x/y"),), "s"), NOW)
    with apsw.Connection(":memory:") as connection:
        connection.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        for key, value in (("composerData:s", about), ("bubbleId:s:b0", {**bubble, "type": kind})):
            connection.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, json.dumps(value)))
        list(cursor._composer(reading, connection, "s"))


def test_the_samples_keep_their_totals() -> None:
    samples = os.environ.get("RECOLLECT_TEST_TRANSCRIPTS")
    if not samples:
        pytest.skip("RECOLLECT_TEST_TRANSCRIPTS is not set")
    read = [reading_of(transcript) for transcript in cursor.discover(Path(samples) / "cursor")]
    assert (len(read), sum(len(events) for _, events, _ in read)) == (5, 28)
