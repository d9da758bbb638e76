"""Gemini CLI's sessions, old documents and replayed lines, as events and costs."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.capture.sources import gemini
from recollect.capture.transcript import Reading, Transcript
from recollect.errors import BadTranscript
from recollect.model import Cost, Event

FIXTURES = Path(__file__).parents[2] / "fixtures" / "gemini"
NOW = datetime(2026, 5, 1, tzinfo=UTC)
META = {"sessionId": "s-1", "projectHash": "h", "startTime": "2026-04-29T21:39:22Z", "kind": "main"}


def reading_of(path: Path, root: Path | None = None) -> tuple[Reading, list[Event], list[Cost]]:
    reading = Reading(Transcript("gemini", root or path.parent, path, path.stem, (path,)), NOW)
    found = list(gemini.read(reading))
    return reading, [e for e in found if isinstance(e, Event)], [c for c in found if isinstance(c, Cost)]


def written(folder: Path, records: Iterable[Any], name: str = "session-x.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def user(known: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": known, "timestamp": "2026-04-29T21:40:00Z", "type": "user", "content": [{"text": text}], **more}


def model(known: str, text: str = "", **more: Any) -> dict[str, Any]:
    return {"id": known, "timestamp": "2026-04-29T21:41:00Z", "type": "gemini", "content": text, **more}


def kinds(events: list[Event]) -> list[str]:
    return [event.kind for event in events]


def test_a_session_of_lines_becomes_prompts_calls_results_and_answers() -> None:
    reading, events, costs = reading_of(FIXTURES / "jsonl_v040.jsonl")
    assert kinds(events) == ["user_prompt", "tool_call", "tool_result", "assistant_text"]
    assert reading.native == "gemini_stage0_jsonl"
    assert tuple(reading.models) == ("gemini-3-flash-preview",)
    call, result = events[1], events[2]
    assert (call.text, call.meta["action"]) == ("ls -F", "shell")
    assert result.meta["call"] == call.meta["call"] == "run_shell_command_stage0"
    assert (result.meta["exit"], result.meta["error"], result.role, result.origin) == (0, False, "tool", "tool")
    assert result.text.startswith("AgentSessions/")
    assert [(c.input, c.cache_read, c.output) for c in costs] == [(11855, 0, 81), (567, 11502, 147)]


def test_a_document_is_read_with_its_failed_command_and_its_cancelled_request() -> None:
    reading, events, costs = reading_of(FIXTURES / "large.json")
    results = [event for event in events if event.kind == "tool_result"]
    assert [(r.meta["exit"], r.meta["error"]) for r in results] == [(0, False), (1, True)]
    assert [event.text for event in events if event.kind == "human_intervention"] == ["Request cancelled."]
    assert [event.text for event in events if event.kind == "assistant_text"] == ["Captured multiline output.", "Ok"]
    assert sum(cost.tokens for cost in costs) == 110
    assert reading.counts == {}


def test_thoughts_are_billed_as_output_and_cached_input_is_no_fresh_input(tmp_path: Path) -> None:
    tokens = {"input": 100, "output": 10, "cached": 60, "thoughts": 5, "tool": 7, "total": 122}
    _, _, (cost,) = reading_of(written(tmp_path, [META, model("m", "hi", tokens=tokens, model="gemini-3")]))
    assert (cost.input, cost.cache_read, cost.output, cost.reasoning) == (47, 60, 15, 5)
    assert cost.tokens == tokens["total"]
    assert (cost.model, cost.usd) == ("gemini-3", None)


def test_a_message_with_a_known_id_replaces_the_earlier_one(tmp_path: Path) -> None:
    running = {"id": "c1", "name": "read_file", "args": {"file_path": "a.py"}, "status": "executing"}
    done = {**running, "status": "success", "result": [{"functionResponse": {"response": {"output": "text"}}}]}
    usage = {"input": 5, "output": 1, "cached": 0}
    lines = [META, user("u", "go"), model("m", toolCalls=[running]), model("m", toolCalls=[done], tokens=usage)]
    _, events, costs = reading_of(written(tmp_path, lines))
    assert kinds(events) == ["user_prompt", "tool_call", "tool_result"]
    assert events[2].text == "text"
    assert len(costs) == 1


def test_what_was_rewound_stays_and_the_rewind_is_told(tmp_path: Path) -> None:
    lines = [META, user("u1", "first"), model("m1", "a"), {"$rewindTo": "u1"}, user("u2", "second")]
    _, events, _ = reading_of(written(tmp_path, lines))
    assert kinds(events) == ["user_prompt", "assistant_text", "state", "user_prompt"]
    assert events[2].meta["what"] == "rewind"


def test_a_compaction_keeps_what_it_dropped_and_its_summary_is_no_prompt(tmp_path: Path) -> None:
    after = [user("s", "<state_snapshot>all</state_snapshot>"), model("g", "Got it."), model("m2", "masked")]
    lines = [META, user("u1", "one"), model("m1", "a"), user("u2", "two"), model("m2", "b")]
    _, events, _ = reading_of(written(tmp_path, [*lines, {"$set": {"messages": after}}, user("u3", "three")]))
    assert kinds(events) == [*["user_prompt", "assistant_text"] * 2, "compaction", "summary", "user_prompt"]
    assert [event.text for event in events if event.kind == "assistant_text"] == ["a", "b"]


def test_what_a_rewritten_history_has_besides_is_the_hosts(tmp_path: Path) -> None:
    answer = {"functionResponse": {"id": "c9", "name": "read_file", "response": {"output": "text"}}}
    told = {"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": "[masked]"}}}
    call = {"id": "c1", "name": "read_file", "args": {}, "status": "success", "result": "all of it"}
    after = [user("u1", "one"), {**user("r", ""), "content": [answer, told]}, user("n", "a reminder")]
    lines = [META, user("u1", "one"), model("m1", toolCalls=[call]), {"$set": {"messages": after}}]
    _, events, _ = reading_of(written(tmp_path, lines))
    assert kinds(events) == ["user_prompt", "tool_call", "tool_result", "tool_result", "injected_context"]
    assert [event.text for event in events if event.kind == "tool_result"] == ["all of it", "text"]


def test_masking_old_output_is_no_compaction(tmp_path: Path) -> None:
    lines = [META, user("u1", "one"), model("m1", "a"), {"$set": {"messages": [user("u1", "one"), model("m1", "…")]}}]
    _, events, _ = reading_of(written(tmp_path, lines))
    assert [event.text for event in events] == ["one", "a"]


def test_a_migrated_session_is_found_once_and_has_the_same_keys_in_both_files(tmp_path: Path) -> None:
    chats = tmp_path / "proj" / "chats"
    messages = [user("u", "hello"), model("m", "hi", tokens={"input": 1, "output": 1})]
    new = written(chats, [META, *messages], "session-1.jsonl")
    old = chats / "session-1.json"
    old.write_text(json.dumps({**META, "messages": messages}))
    (chats / "session-2.json").write_text(json.dumps({**META, "messages": []}))
    found = [transcript.path.name for transcript in gemini.discover(tmp_path)]
    assert found == ["session-1.jsonl", "session-2.json"]
    (_, a, ca), (_, b, cb) = reading_of(new), reading_of(old)
    assert [event.key for event in a] == [event.key for event in b]
    assert [cost.key for cost in ca] == [cost.key for cost in cb]


def test_a_subagent_belongs_to_the_session_its_folder_names(tmp_path: Path) -> None:
    lines = [{**META, "sessionId": "sub", "kind": "subagent", "directories": ["/home/ann/app"]}, user("u", "look")]
    path = written(tmp_path / "proj" / "chats" / "parent-id", lines, "sub.jsonl")
    (transcript,) = gemini.discover(tmp_path)
    reading, events, _ = reading_of(path, tmp_path)
    assert transcript.path == path
    assert (reading.relation, reading.parent, reading.native) == ("subagent", "gemini:parent-id", "parent-id/sub")
    assert reading.cwd == "/home/ann/app"
    assert (events[0].role, events[0].origin) == ("user", "assistant")


@pytest.mark.parametrize("where", ["project_root", "projects.json"], ids=str)
def test_the_directory_comes_from_geminis_own_index(tmp_path: Path, where: str) -> None:
    root = tmp_path / ".gemini" / "tmp"
    path = written(root / "app-1" / "chats", [META, user("u", "x")])
    if where == "project_root":
        (root / "app-1" / ".project_root").write_text("/home/ann/app\n")
    else:
        (tmp_path / ".gemini" / "projects.json").write_text(json.dumps({"projects": {"/home/ann/app": "app-1"}}))
    assert reading_of(path, root)[0].cwd == "/home/ann/app"


def test_without_an_index_the_directory_is_not_known(tmp_path: Path) -> None:
    root = tmp_path / ".gemini" / "tmp"
    assert reading_of(written(root / "app-1" / "chats", [META]), root)[0].cwd is None


@pytest.mark.parametrize(
    ("message", "kind", "role", "origin"),
    [
        (user("u", "<session_context>today</session_context>"), "injected_context", "system", "tool"),
        (user("u", "<hook_context>x</hook_context>"), "injected_context", "system", "tool"),
        (user("u", "<hook_context>x"), "injected_context", "system", "tool"),
        (user("u", "expanded @a.py …", displayContent=[{"text": "see @a.py"}]), "user_prompt", "user", "user"),
        ({**user("u", "boom"), "type": "error"}, "error", "system", "tool"),
        ({**user("u", "careful"), "type": "warning"}, "state", "system", "tool"),
    ],
    ids=["session context", "hook context", "cut hook context", "typed", "error", "warning"],
)
def test_who_speaks(tmp_path: Path, message: dict[str, Any], kind: str, role: str, origin: str) -> None:
    _, (event,), _ = reading_of(written(tmp_path, [META, message]))
    assert (event.kind, event.role, event.origin) == (kind, role, origin)
    assert "expanded" not in event.text


@pytest.mark.parametrize(
    ("printed", "kept", "code"),
    [
        ("Output: marzipan\nProcess Group PGID: 3433", "marzipan", 0),
        ("Output: no luck\nExit Code: 3\nProcess Group PGID: 3433", "no luck\nExit Code: 3", 3),
    ],
    ids=["done", "failed"],
)
def test_a_result_is_kept_without_the_fence_around_it(tmp_path: Path, printed: str, kept: str, code: int) -> None:
    """As 0.61 writes it; with the number of its group, no two failures would be the same."""
    answer = {"functionResponse": {"response": {"output": f"<untrusted_context>\n{printed}\n</untrusted_context>"}}}
    call = {"id": "c", "name": "run_shell_command", "args": {"command": "x"}, "status": "success", "result": [answer]}
    _, (_, result), _ = reading_of(written(tmp_path, [META, model("m", toolCalls=[call])]))
    assert (result.text, result.meta["exit"], result.meta["error"]) == (kept, code, code != 0)


HOOK_SAID = "<hook_context>&lt;recollect-memory&gt;\n&gt; Use uv.\n&lt;/recollect-memory&gt;\n</hook_context>"


@pytest.mark.parametrize(
    "content",
    [
        [{"text": f"{HOOK_SAID}\n\nUse <b>, not &lt;i&gt;."}],
        [{"text": "Use <b>, not &lt;i&gt;."}, {"text": HOOK_SAID}],
        f"{HOOK_SAID}\n\nUse <b>, not &lt;i&gt;.",
    ],
    ids=["before it", "in a part of its own", "as one text"],
)
def test_what_a_hook_said_is_no_part_of_the_prompt(tmp_path: Path, content: object) -> None:
    """As 0.61 writes it: at the start of a run in front of the prompt, on a prompt behind it, with escaped brackets."""
    message = {**user("u", ""), "content": content}
    _, (told, prompt), _ = reading_of(written(tmp_path, [META, message]))
    assert (told.kind, told.origin) == ("injected_context", "tool")
    assert told.text == "<recollect-memory>\n> Use uv.\n</recollect-memory>\n"
    assert (prompt.kind, prompt.origin, prompt.text) == ("user_prompt", "user", "Use <b>, not &lt;i&gt;.")


def test_a_cancelled_call_is_an_intervention(tmp_path: Path) -> None:
    call = {"id": "c", "name": "write_file", "args": {"file_path": "a"}, "status": "cancelled", "result": []}
    _, events, _ = reading_of(written(tmp_path, [META, model("m", toolCalls=[call])]))
    assert kinds(events) == ["edit", "tool_result", "human_intervention"]
    assert (events[1].meta["error"], events[2].origin) == (True, "user")


def test_an_image_becomes_a_body() -> None:
    _, events, _ = reading_of(FIXTURES / "schema_drift.json")
    assert events[0].text == "Describe this image:\n[image]"
    assert [(body.media, body.size) for body in events[0].bodies] == [("image/png", 3)]


def test_a_document_that_is_too_big_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "session-1.json"
    path.write_bytes(b" " * 2000)
    monkeypatch.setattr("recollect.capture.foreign.document.__defaults__", (1000,))
    with pytest.raises(BadTranscript, match="more than"):
        reading_of(path)


@pytest.mark.parametrize("text", ["", "null", "[1]", "{", '{"messages": 3}', '{"messages": [1, null, {"id": []}]}'])
def test_a_document_of_any_other_shape_gives_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "session-1.json"
    path.write_text(text)
    assert reading_of(path)[1] == []


def test_the_place_follows_the_variable(tmp_path: Path) -> None:
    assert gemini.roots(tmp_path, {}) == [tmp_path / ".gemini" / "tmp"]
    assert gemini.roots(tmp_path, {"GEMINI_CLI_HOME": "/data"}) == [Path("/data/.gemini/tmp")]


def test_every_first_line_is_recognised() -> None:
    assert gemini.recognises(json.loads((FIXTURES / "jsonl_v040.jsonl").read_text().splitlines()[0]))
    assert gemini.recognises(json.loads((FIXTURES / "large.json").read_text()))
    assert not gemini.recognises({"type": "user", "sessionId": "x", "uuid": "y", "message": {}})


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 10**13)
    | st.text(max_size=6)
    | st.sampled_from(["user", "gemini", "c1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "functionResponse functionCall response output text id name thought inlineData data".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    "id type content displayContent timestamp toolCalls thoughts tokens model sessionId projectHash kind directories "
    "summary messages parts role ts meta $set $rewindTo".split()
)


@settings(max_examples=100, deadline=None)
@given(
    records=st.lists(
        st.dictionaries(FIELDS, VALUES | st.lists(st.dictionaries(FIELDS, VALUES, max_size=4), max_size=2), max_size=7),
        max_size=5,
    )
)
def test_no_record_is_ever_too_much(tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]]) -> None:
    folder = tmp_path_factory.getbasetemp() / "gemini"
    reading_of(written(folder, records))
    (folder / "x.json").write_text(json.dumps(records[0] if records else None))
    reading_of(folder / "x.json")
    for record in records:
        gemini.recognises(record)


def test_the_samples_keep_their_totals(tmp_path: Path) -> None:
    samples = os.environ.get("RECOLLECT_TEST_TRANSCRIPTS")
    if not samples:
        pytest.skip("RECOLLECT_TEST_TRANSCRIPTS is not set")
    root = tmp_path / "gemini"
    shutil.copytree(Path(samples) / "gemini", root)
    read = [reading_of(transcript.path, root) for transcript in gemini.discover(root)]
    assert len(read) == 9
    assert sum(len(events) for _, events, _ in read) == 39
    assert sum(cost.output for _, _, costs in read for cost in costs) == 893
