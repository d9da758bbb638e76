"""pi's sessions become events on all their branches, with the price pi itself noted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tests.unit.sources.reading_fixture import FIXTURES, Replay, any_records, replays, written

from recollect.capture.sources import pi

OLD = "d703a1a9-1b7b-4fb1-b512-c9738b1fe617"
HEADER = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-05-12T01:00:00.000Z", "cwd": "/p"}


@pytest.fixture(scope="module")
def sessions() -> dict[str, Replay]:
    return replays("pi", FIXTURES / "pi")


def entry(number: int, parent: int | None, message: Any = None, kind: str = "message", **fields: Any) -> dict[str, Any]:
    time = f"2026-05-12T01:00:{number:02}.000Z"
    name = None if parent is None else f"e{parent}"
    body = {} if message is None else {"message": message}
    return {"type": kind, "id": f"e{number}", "parentId": name, "timestamp": time, **body, **fields}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1778547747671}


def assistant(*content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content), "model": "m", **fields}


def made(tmp_path: Path, *records: Any) -> Replay:
    written(tmp_path / "root/--p--/2026_s1.jsonl", *records)
    (found,) = replays("pi", tmp_path / "root").values()
    return found


@pytest.mark.parametrize(
    ("env", "folder"),
    [({}, "home/.pi/agent/sessions"), ({"PI_CODING_AGENT_DIR": "/x"}, "/x/sessions")],
    ids=["default", "given"],
)
def test_where_sessions_lie(env: dict[str, str], folder: str) -> None:
    assert pi.roots(Path("home"), env) == [Path(folder)]


def test_a_session_is_told_in_order(sessions: dict[str, Replay]) -> None:
    found = sessions["pi-test-session-uuid"]
    assert [event.kind for event in found.events] == [
        *("user_prompt", "thinking", "assistant_text", "tool_call", "tool_result", "compaction", "summary"),
        *("user_prompt", "assistant_text"),
    ]
    assert (found.session.cwd, found.session.models) == ("/Users/alice/code/my-project", ("claude-opus-4-5",))
    assert found.counts == {"bad_lines": 1, "unknown_records": 1}


def test_a_fork_knows_its_parent(sessions: dict[str, Replay]) -> None:
    session = sessions["pi-test-session-uuid"].session
    assert (session.parent, session.relation) == ("pi:parent-uuid", "fork")


def test_a_result_is_joined_with_its_call(sessions: dict[str, Replay]) -> None:
    result = sessions["pi-test-session-uuid"].one("tool_result")
    assert result.meta == {"call": "toolu_01", "tool": "read", "action": "read", "error": False}


def test_the_price_is_the_one_pi_noted(sessions: dict[str, Replay]) -> None:
    costs = sessions["pi-test-session-uuid"].costs
    assert [(cost.input, cost.output, cost.usd, cost.usd_source) for cost in costs] == [
        (100, 50, 0.01, "reported"),
        (200, 10, 0.005, "reported"),
    ]


def test_a_price_of_nothing_is_no_price(sessions: dict[str, Replay]) -> None:
    costs = sessions["019e19b4-eb48-746a-aa6b-8dfcfa37954b"].costs
    assert [(cost.tokens, cost.usd) for cost in costs] == [(19, None), (19, None)]


def test_a_compaction_is_a_boundary_and_a_summary(sessions: dict[str, Replay]) -> None:
    found = sessions["pi-test-session-uuid"]
    assert found.one("compaction").meta == {"tokens": 5000}
    assert found.one("summary").text.startswith("# Context Checkpoint")


def test_a_session_of_the_first_format_is_read_without_ids(sessions: dict[str, Replay]) -> None:
    found = sessions[OLD]
    assert found.session.cwd == "/Users/badlogic/workspaces/pi-mono"
    assert found.kinds["tool_result"] == 14
    assert found.kinds["human_intervention"] == 2
    assert found.one("error").role == "system"
    assert sum(cost.output for cost in found.costs) == 5495


def test_a_failed_command_has_its_exit_code(sessions: dict[str, Replay]) -> None:
    codes = [event.meta.get("exit") for event in sessions[OLD].events if event.meta.get("action") == "shell"]
    assert {code for code in codes if code is not None} == {0, 1}


def test_all_branches_are_told_and_where_one_begins(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        HEADER,
        entry(1, None, user("one")),
        entry(2, 1, assistant({"type": "text", "text": "first way"})),
        entry(3, 1, user("another")),
        entry(4, 3, assistant({"type": "text", "text": "second way"})),
        entry(5, None, user("anew")),
    )
    assert found.texts("assistant_text") == ["first way", "second way"]
    assert [event.meta for event in found.events if event.kind == "state"] == [
        {"what": "rewind", "to": "e1"},
        {"what": "rewind", "to": ""},
    ]


def test_an_entry_whose_parent_was_left_out_is_no_rewind(tmp_path: Path) -> None:
    assert made(tmp_path, HEADER, entry(1, None, user("one")), entry(3, 2, user("two"))).kinds["state"] == 0


def test_a_fork_gives_its_copies_the_same_keys(tmp_path: Path) -> None:
    records = [entry(1, None, user("one")), entry(2, 1, assistant({"type": "toolCall", "id": "c", "name": "bash"}))]
    written(tmp_path / "root/a_s1.jsonl", HEADER, *records)
    written(tmp_path / "root/b_s2.jsonl", {**HEADER, "id": "s2", "parentSession": "/x/a_s1.jsonl"}, *records)
    found = replays("pi", tmp_path / "root")
    assert [event.key for event in found["s1"].events] == [event.key for event in found["s2"].events]
    assert found["s2"].session.parent == "pi:s1"


def test_entries_with_the_same_short_id_are_told_apart_by_their_time(tmp_path: Path) -> None:
    other = {**entry(1, None, user("one")), "timestamp": "2026-06-01T00:00:00.000Z"}
    written(tmp_path / "root/a_s1.jsonl", HEADER, entry(1, None, user("one")))
    written(tmp_path / "root/b_s2.jsonl", {**HEADER, "id": "s2"}, other)
    found = replays("pi", tmp_path / "root")
    assert found["s1"].events[0].key != found["s2"].events[0].key


def test_a_command_of_the_person_is_a_prompt_with_a_result(tmp_path: Path) -> None:
    ran = {"role": "bashExecution", "command": "make", "output": "no rule", "exitCode": 2}
    found = made(tmp_path, HEADER, entry(1, None, ran))
    assert found.texts("user_prompt") == ["!make"]
    assert found.one("tool_result").meta == {"tool": "bash", "action": "shell", "exit": 2, "error": True}


def test_what_extensions_put_in_is_not_the_persons(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        HEADER,
        entry(1, None, {"role": "custom", "customType": "x", "content": "by hook"}),
        entry(2, 1, kind="custom_message", customType="y", content=[{"type": "text", "text": "by extension"}]),
        entry(3, 2, kind="custom", customType="z", data={"secret": 1}),
    )
    assert found.texts("injected_context") == ["by hook", "by extension"]


def test_branch_summaries_names_and_images(tmp_path: Path) -> None:
    picture = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    found = made(
        tmp_path,
        HEADER,
        entry(1, None, {"role": "user", "content": [picture]}),
        entry(2, 1, kind="branch_summary", fromId="e9", summary="left behind"),
        entry(3, 2, kind="session_info", name="Port the selector"),
    )
    assert found.texts("summary") == ["left behind"]
    assert found.session.title == "Port the selector"
    assert [body.media for body in found.one("user_prompt").bodies] == ["image/png"]


FIELDS = (
    "id parentId timestamp cwd version parentSession branchedFrom modelId provider message role content text "
    "thinking name arguments model usage input output cacheRead cacheWrite cost total stopReason errorMessage "
    "toolCallId toolName isError command exitCode summary tokensBefore customType data mimeType"
)
WORDS = (
    "session message user assistant toolResult bashExecution custom hookMessage branchSummary compactionSummary "
    "compaction branch_summary custom_message model_change session_info label toolCall thinking image text error "
    "aborted bash read"
)


@settings(max_examples=60)
@given(any_records(FIELDS, WORDS))
def test_no_record_of_any_shape_raises(tmp_path_factory: pytest.TempPathFactory, records: list[Any]) -> None:
    root = tmp_path_factory.getbasetemp() / "any-pi"
    written(root / "a_s1.jsonl", *records)
    replays("pi", root)
    for record in records:
        pi.recognises(record)
