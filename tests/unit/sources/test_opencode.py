"""OpenCode's sessions, from its database and from the older tree of files, as events and costs."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.capture.sources import opencode
from recollect.capture.transcript import Reading, Transcript
from recollect.errors import BadTranscript
from recollect.model import Cost, Event

FIXTURES = Path(__file__).parents[2] / "fixtures" / "opencode"
NOW = datetime(2026, 5, 1, tzinfo=UTC)
MS = 1_777_000_000_000
SCHEMA = """
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL,
    directory text NOT NULL, title text NOT NULL, version text NOT NULL, revert text, permission text,
    time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
    time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL,
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
"""


class Database:
    """A small database as OpenCode makes it."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.connection, self.count = path, apsw.Connection(str(path)), 0
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute(SCHEMA)

    def session(self, known: str, **more: Any) -> None:
        row = {"parent_id": None, "directory": "/home/ann/app", "title": "Fix it", "revert": None, "permission": None}
        row |= more
        values = (known, *(row[name] for name in ("parent_id", "directory", "title", "revert", "permission")), MS, MS)
        self.connection.execute("INSERT INTO session VALUES (?, 'p', ?, 's', ?, ?, '1.3.17', ?, ?, ?, ?)", values)

    def message(self, session: str, role: str, *parts: dict[str, Any], known: str = "", **more: Any) -> str:
        self.count += 1
        known, at = known or f"m{self.count}", more.pop("at", MS + self.count * 1000)
        data = {"role": role, "time": {"created": at}, "modelID": "gpt-5", **more}
        self.connection.execute(
            "INSERT INTO message VALUES (?, ?, ?, ?, ?)", (known, session, at, at, json.dumps(data))
        )
        for number, part in enumerate(parts):
            self.part(session, known, f"{known}-p{number}", part, at)
        return known

    def part(self, session: str, message: str, known: str, part: dict[str, Any], at: int = MS) -> None:
        values = (known, message, session, at, at, json.dumps(part))
        self.connection.execute("INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?, ?, ?)", values)

    def whole(self, session: str, kind: str, **data: Any) -> None:
        self.count += 1
        values = (f"w{self.count}", session, kind, self.count, MS, MS, json.dumps(data))
        self.connection.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", values)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "opencode" / "opencode.db")
    database.session("ses_1")
    yield database
    database.connection.close()


def reading_of(transcript: Transcript) -> tuple[Reading, list[Event], list[Cost]]:
    reading = Reading(transcript, NOW)
    found = list(opencode.read(reading))
    return reading, [e for e in found if isinstance(e, Event)], [c for c in found if isinstance(c, Cost)]


def first(made: Database) -> tuple[Reading, list[Event], list[Cost]]:
    return reading_of(next(opencode.discover(made.path.parent)))


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def tool(name: str, status: str = "completed", **state: Any) -> dict[str, Any]:
    given = {"status": status, "input": {"command": "make test"}, "time": {"start": MS, "end": MS + 5}, **state}
    return {"type": "tool", "callID": "call_1", "tool": name, "state": given}


def kinds(events: list[Event]) -> list[str]:
    return [event.kind for event in events]


def test_a_session_of_the_database_becomes_events_in_order(made: Database) -> None:
    made.message("ses_1", "user", text("fix the bug"), text("<file>…</file>", synthetic=True))
    finish = {"type": "step-finish", "cost": 0.5, "tokens": {"input": 10, "output": 4, "reasoning": 3}}
    failing = tool("bash", output="1 failed", metadata={"exit": 2})
    thinking = {"type": "reasoning", "text": "hm", "time": {"start": MS + 1}}
    made.message("ses_1", "assistant", {"type": "step-start"}, thinking, failing, text("done"), finish)
    reading, events, (cost,) = first(made)
    expected = ["user_prompt", "injected_context", "thinking", "test_run", "tool_result", "assistant_text"]
    assert kinds(events) == expected
    assert (reading.native, reading.cwd, reading.title) == ("ses_1", "/home/ann/app", "Fix it")
    assert (reading.agent_version, tuple(reading.models)) == ("1.3.17", ("gpt-5",))
    result = events[4]
    assert (result.meta["exit"], result.meta["error"], result.meta["call"]) == (2, True, "call_1")
    assert (cost.input, cost.output, cost.reasoning, cost.usd, cost.usd_source) == (10, 7, 3, 0.5, "reported")


def test_every_step_is_a_request_and_the_message_is_one_only_without_steps(made: Database) -> None:
    step = {"type": "step-finish", "cost": 0.1, "tokens": {"input": 1, "output": 1, "cache": {"read": 7, "write": 2}}}
    made.message("ses_1", "assistant", step, step, tokens={"input": 9, "output": 9}, cost=0.2)
    made.message("ses_1", "assistant", text("x"), tokens={"input": 5, "output": 5, "cache": {"read": 1}}, cost=0.3)
    _, _, costs = first(made)
    assert [(c.input, c.output, c.cache_read, c.cache_write_5m, c.usd) for c in costs] == [
        (1, 1, 7, 2, 0.1),
        (1, 1, 7, 2, 0.1),
        (5, 5, 1, 0, 0.3),
    ]
    assert len({cost.key for cost in costs}) == 3


def test_a_part_that_streams_keeps_its_key(made: Database) -> None:
    message = made.message("ses_1", "assistant", text("Hel"))
    before = first(made)[1]
    made.part("ses_1", message, f"{message}-p0", text("Hello"), MS + 9)
    after = first(made)[1]
    assert [event.key for event in before] == [event.key for event in after]
    assert (before[0].text, after[0].text) == ("Hel", "Hello")


def test_the_stamp_changes_with_its_own_session_only(made: Database) -> None:
    made.session("ses_2")
    message = made.message("ses_1", "assistant", text("a"))
    one, two = opencode.discover(made.path.parent)
    stamps = opencode.stamp(one), opencode.stamp(two)
    made.part("ses_1", message, f"{message}-p0", text("ab"), MS + 10**9)
    assert opencode.stamp(one) != stamps[0]
    assert opencode.stamp(two) == stamps[1]
    changed = opencode.stamp(one)
    made.connection.execute("DELETE FROM part")
    assert opencode.stamp(one) != changed


def test_a_child_session_names_its_parent_and_its_prompt_is_the_assistants(made: Database) -> None:
    made.session("ses_2", parent_id="ses_1")
    made.message("ses_2", "user", text("look into it"))
    reading, events, _ = reading_of(list(opencode.discover(made.path.parent))[1])
    assert (reading.parent, reading.relation) == ("opencode:ses_1", "subagent")
    assert (events[0].role, events[0].origin) == ("user", "assistant")


def identity(at: int) -> str:
    return f"msg_{(at * 0x1000 + 1) & ((1 << 48) - 1):012x}{'a' * 14}"


def test_messages_copied_into_a_fork_are_left_to_the_original(made: Database) -> None:
    made.message("ses_1", "user", text("old words"), known=identity(MS + 10**8), at=MS)
    made.message("ses_1", "user", text("new words"), known=identity(MS + 10**8 + 5), at=MS + 10**8)
    reading, events, _ = first(made)
    assert [event.text for event in events] == ["new words"]
    assert reading.relation == "fork"


RUN = json.dumps([{"permission": "question", "pattern": "*", "action": "deny"}])


@pytest.mark.parametrize(
    ("written", "typed"),
    [
        ('"Use uv, never \\"pip\\"."', 'Use uv, never "pip".'),
        ('fix "the bug here"', 'fix "the bug here"'),
        ('"one" and "two"', '"one" and "two"'),
        ('"one"', '"one"'),
        ('"in C:\\tmp\\"', '"in C:\\tmp\\"'),
    ],
    ids=["an argument", "two arguments", "quoted words", "one word", "ends in a backslash"],
)
def test_an_argument_of_opencode_run_is_kept_as_it_was_typed(made: Database, written: str, typed: str) -> None:
    """It is put into quotes, and words in quotes are taken for somebody else's."""
    made.session("ses_2", permission=RUN)
    for session in ("ses_1", "ses_2"):
        made.message(session, "user", text(written))
    plain, run = (reading_of(each) for each in opencode.discover(made.path.parent))
    assert ([event.text for event in plain[1]], plain[0].interactive) == ([written], None)
    assert ([event.text for event in run[1]], run[0].interactive) == ([typed], False)


def test_a_fork_made_a_moment_later_repeats_nothing_either(made: Database) -> None:
    """As a real one did within six seconds: the message is older than its session, and its id is not."""
    made.message("ses_1", "user", text("old words"), known=identity(MS + 900), at=MS - 5_500)
    made.message("ses_1", "user", text("new words"), known=identity(MS + 1_100), at=MS + 1_100)
    reading, events, _ = first(made)
    assert [event.text for event in events] == ["new words"]
    assert reading.relation == "fork"


def test_a_message_of_a_clock_that_was_set_back_is_no_copy(made: Database) -> None:
    made.message("ses_1", "user", text("words"), known=identity(MS - 5_000), at=MS - 5_000)
    assert kinds(first(made)[1]) == ["user_prompt"]


@pytest.mark.parametrize("later", [0, 900, 59_000, -5000], ids=str)
def test_an_id_made_about_when_its_message_was_is_no_copy(made: Database, later: int) -> None:
    made.message("ses_1", "user", text("words"), known=identity(MS + later), at=MS)
    assert kinds(first(made)[1]) == ["user_prompt"]


def test_an_aborted_message_is_an_intervention_and_a_failed_one_an_error(made: Database) -> None:
    aborted = {"name": "MessageAbortedError", "data": {"message": "The operation was aborted."}}
    made.message("ses_1", "assistant", error=aborted)
    made.message("ses_1", "assistant", error={"name": "APIError", "data": {"message": "overloaded"}})
    made.message("ses_1", "assistant", {"type": "retry", "attempt": 2, "error": {"data": {"message": "429"}}})
    made.message("ses_1", "assistant", finish="stop")
    _, events, _ = first(made)
    assert [(e.kind, e.origin, e.text) for e in events[:3]] == [
        ("human_intervention", "user", "The operation was aborted."),
        ("error", "tool", "overloaded"),
        ("retry", "tool", "429"),
    ]
    assert kinds(events)[3:] == ["turn_end"]


def test_a_call_of_a_tool_that_is_not_there_failed_and_a_running_one_has_no_result(made: Database) -> None:
    made.message("ses_1", "assistant", tool("invalid", output="no such tool"), tool("read", "running"))
    _, events, _ = first(made)
    assert kinds(events) == ["tool_call", "tool_result", "tool_call"]
    assert events[1].meta["error"] is True


def test_a_refused_permission_is_an_intervention(made: Database) -> None:
    made.message("ses_1", "assistant", tool("bash", "error", error="The user rejected permission to use this tool"))
    assert kinds(first(made)[1]) == ["test_run", "tool_result", "human_intervention"]


def test_a_compaction_and_its_summary_are_told(made: Database) -> None:
    made.message("ses_1", "user", {"type": "compaction", "auto": True})
    made.message("ses_1", "assistant", text("we did things"), summary=True)
    assert kinds(first(made)[1]) == ["compaction", "summary"]


def test_a_reverted_session_tells_the_rewind_and_keeps_the_rest(made: Database) -> None:
    message = made.message("ses_1", "user", text("undo me"))
    made.connection.execute("UPDATE session SET revert = ?", (json.dumps({"messageID": message}),))
    _, events, _ = first(made)
    assert kinds(events) == ["state", "user_prompt"]
    assert events[0].meta["what"] == "rewind"


def test_a_pasted_image_is_a_body_of_the_prompt(made: Database) -> None:
    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA"}
    made.message("ses_1", "user", text("what is this"), picture)
    _, (event,), _ = first(made)
    assert event.text == "what is this\n[image]"
    assert [body.media for body in event.bodies] == ["image/png"]


def test_messages_kept_whole_are_read_where_there_are_no_others(made: Database) -> None:
    call = {"type": "tool", "id": "c", "name": "bash", "state": {"status": "completed", "input": {"command": "ls"}}}
    call["state"] |= {"content": [{"type": "text", "text": "a.txt"}], "structured": {"exit": 0}}
    made.whole("ses_1", "user", text="list the files", time={"created": MS})
    made.whole("ses_1", "assistant", content=[{"type": "reasoning", "text": "hm"}, call, text("one file")], cost=0.1)
    made.whole("ses_1", "compaction", reason="auto", summary="listed files", recent="")
    made.whole("ses_1", "shell", callID="s", command="pwd", output="/")
    _, events, _ = first(made)
    assert kinds(events) == [
        *("user_prompt", "thinking", "tool_call", "tool_result", "assistant_text"),
        *("compaction", "summary", "tool_call", "tool_result"),
    ]
    assert (events[3].text, events[3].meta["exit"]) == ("a.txt", 0)


def test_a_database_that_is_none_is_told_after_the_others(made: Database) -> None:
    (made.path.parent / "opencode-dev.db").write_bytes(b"not a database at all" * 100)
    found = opencode.discover(made.path.parent)
    assert next(found).part == "ses_1"
    with pytest.raises(BadTranscript, match=r"opencode-dev\.db cannot be read"):
        next(found)


def test_a_locked_database_is_a_bad_transcript(made: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.capture.foreign._WAIT_MS", 1)
    (transcript,) = opencode.discover(made.path.parent)
    made.connection.execute("PRAGMA journal_mode=DELETE").fetchall()
    made.connection.execute("BEGIN EXCLUSIVE")
    with pytest.raises(BadTranscript, match="locked by the program that writes it"):
        reading_of(transcript)


def test_reading_changes_nothing_in_the_database(made: Database) -> None:
    made.message("ses_1", "user", text("x"))
    made.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = made.path.read_bytes()
    first(made)
    assert made.path.read_bytes() == before


def test_a_link_in_place_of_the_database_is_refused(made: Database, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "opencode.db").symlink_to(made.path)
    with pytest.raises(BadTranscript):
        list(opencode.discover(folder))


def test_a_tree_of_files_gives_the_same_kinds_of_events() -> None:
    found = {transcript.native: reading_of(transcript) for transcript in opencode.discover(FIXTURES)}
    assert set(found) == {"s_stage0_drift", "s_stage0_large", "s_stage0_small"}
    reading, events, costs = found["s_stage0_large"]
    assert kinds(events) == [
        *("user_prompt", "tool_call", "tool_result", "assistant_text", "thinking", "compaction"),
        *("human_intervention", "user_prompt", "assistant_text"),
    ]
    assert events[2].meta["exit"] == 1
    assert (reading.cwd, reading.title, reading.agent_version) == ("/tmp/large", "OpenCode Large", "1.3.17")
    assert [(cost.input, cost.output, cost.usd) for cost in costs] == [(120, 16, 0.0011)]
    assert kinds(found["s_stage0_drift"][1]) == ["tool_call", "tool_result", "assistant_text"]


def test_the_stamp_of_a_tree_changes_with_any_of_its_files(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES, tmp_path / "o")
    transcript = next(t for t in opencode.discover(tmp_path / "o") if t.native == "s_stage0_small")
    before = opencode.stamp(transcript)
    transcript.files[1].write_text("{}")
    assert opencode.stamp(transcript) != before


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, ["/home/ann/.local/share/opencode"]),
        ({"XDG_DATA_HOME": "/data"}, ["/data/opencode"]),
        ({"LOCALAPPDATA": "/win"}, ["/home/ann/.local/share/opencode", "/win/opencode"]),
        ({"OPENCODE_DB": "/db/opencode.db"}, ["/home/ann/.local/share/opencode", "/db"]),
    ],
    ids=["default", "xdg", "windows", "given"],
)
def test_where_the_data_may_be(env: dict[str, str], expected: list[str]) -> None:
    assert opencode.roots(Path("/home/ann"), env) == [Path(path) for path in expected]


def test_its_records_are_recognised() -> None:
    for path in FIXTURES.rglob("*.json"):
        record = json.loads(path.read_text())
        if "sessionID" in record or "messageID" in record or "projectID" in record:
            assert opencode.recognises(record), path
    assert not opencode.recognises({"type": "text", "role": "user", "sessionId": "x"})


NAMES = (
    "role time created modelID model tokens cost cache read error name data message summary type text tool callID state"
)
NAMES += " status input output metadata exit content attachments url synthetic attempt id path cwd structured sessionId"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 10**13) | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([*opencode._PART_TYPES, "completed", "assistant", "user", "bash", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES.split()), inner, max_size=6),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=120, deadline=None)
@given(
    message=VALUES,
    parts=st.lists(VALUES, max_size=4),
    whole=VALUES,
    kind=st.sampled_from(["user", "assistant", "shell"]),
)
def test_no_row_is_ever_too_much(message: Any, parts: list[Any], whole: Any, kind: str) -> None:
    reading = Reading(Transcript("opencode", Path("/x"), Path("/x/y.db"), "s", (Path("/x/y.db"),), "s"), NOW)
    rows = {"session": [], "message": [("m", MS, message)], "part": parts, "kind": kind, "whole": whole}
    _walk(reading, rows)
    for record in (message, whole, *parts):
        if isinstance(record, dict):
            opencode.recognises(record)


def _walk(reading: Reading, rows: dict[str, Any]) -> None:
    state = opencode._State(reading)
    message = rows["message"][0][2]
    opencode._about(state, message if isinstance(message, dict) else {})
    parts = [("p", part if isinstance(part, dict) else {}) for part in rows["part"]]
    list(opencode._message(state, "m", message if isinstance(message, dict) else {}, parts, MS))
    list(opencode._whole_message(state, "w", rows["kind"], rows["whole"], MS))


def test_the_samples_keep_their_totals() -> None:
    samples = os.environ.get("RECOLLECT_TEST_TRANSCRIPTS")
    if not samples:
        pytest.skip("RECOLLECT_TEST_TRANSCRIPTS is not set")
    read = [reading_of(transcript) for transcript in opencode.discover(Path(samples) / "opencode")]
    assert (len(read), sum(len(events) for _, events, _ in read)) == (3, 16)
