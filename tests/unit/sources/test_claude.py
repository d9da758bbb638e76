"""Claude Code's transcripts become events and costs once each: who spoke, what it cost, whose session it was."""

from __future__ import annotations

import base64
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.sources.reading_fixture import FIXTURES, NOW, Replay, any_records, replay, written

from recollect import Recollect
from recollect.capture.sources import claude
from recollect.capture.transcript import Reading, Transcript
from recollect.model import EVENT_KINDS, ORIGINS, ROLES, Cost, Event
from recollect.pipeline.ingest import sniffed

HERE = FIXTURES / "claude"
SESSION = "7d0c1f3e-5a52-4b1d-9d8e-0f6a2b7c9d10"
PARENT, FORK = "93a9705e-bc6a-406d-8dce-8acc014dedbd", "789e105f-ae33-486d-9271-0696266f072d"
SUBAGENT = "ae4a77f8-aedd-4bc1-888f-c94edc91af04"


@pytest.fixture(scope="module")
def sessions() -> dict[str, Replay]:
    found = [replay(transcript, repeats=True) for transcript in claude.discover(HERE)]
    return {each.session.id.partition(":")[2]: each for each in found}


def uuid(number: int) -> str:
    return f"{number:08d}-0000-4000-8000-000000000000"


def line(number: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": uuid(number),
        "sessionId": SESSION,
        "cwd": "/srv/app",
        "gitBranch": "main",
        "version": "2.1.0",
        "timestamp": f"2026-03-01T09:{number:02}:00.000Z",
        **fields,
    }


def said(number: int, content: Any, **fields: Any) -> dict[str, Any]:
    return line(number, "user", message={"role": "user", "content": content}, **fields)


def answered(number: int, *blocks: dict[str, Any], output: int = 5, **fields: Any) -> dict[str, Any]:
    usage = {"input_tokens": 3, "output_tokens": output, "cache_read_input_tokens": 7}
    message = {"id": fields.pop("message", f"msg_{number}"), "model": "claude-opus-5", "content": list(blocks)}
    return line(number, "assistant", message=message | {"usage": usage}, **{"requestId": "req_1", **fields})


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str, call_id: str, **given_input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given_input}


def result(number: int, call_id: str, content: Any, **fields: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields.pop("block", {})}
    return said(number, [block], **fields)


def made(tmp_path: Path, *records: Any, name: str = f"p/{SESSION}.jsonl") -> Replay:
    path = written(tmp_path / "root" / name, *records)
    (found,) = [each for each in claude.discover(tmp_path / "root") if each.path == path]
    return replay(found)


def keys(data: bytes, folder: Path, name: str = f"{SESSION}.jsonl") -> list[str]:
    """The keys of all events, and then of all costs, of a file with these bytes."""
    path = folder / name
    path.write_bytes(data)
    reading = Reading(Transcript("claude", folder, path, path.stem, (path,)), NOW)
    return [item.key for item in claude.read(reading)]


# Where sessions lie.


def test_where_sessions_lie() -> None:
    home = Path("home")
    assert claude.roots(home, {}) == [home / ".claude/projects", home / ".config/claude/projects"]
    assert claude.roots(home, {"CLAUDE_CONFIG_DIR": "/x, /y"}) == [Path("/x/projects"), Path("/y/projects")]


def test_what_is_a_session_and_whose(tmp_path: Path) -> None:
    for name in (
        f"p/{SESSION}.jsonl",
        f"p/{SESSION}/subagents/agent-a1b2c3d.jsonl",
        f"p/{SESSION}/subagents/workflows/w1/agent-a9.jsonl",
        f"p/{SESSION}/subagents/workflows/w1/journal.jsonl",
        f"p/{SESSION}/subagents/agent-a1b2c3d.meta.json",
        f"p/{SESSION}/tool-results/b.txt",
        "p/memory/MEMORY.md",
        "history.jsonl",
        "p/agent-0a1b2c3d.jsonl",
    ):
        written(tmp_path / name)
    natives = [found.native for found in claude.discover(tmp_path)]
    assert sorted(natives) == sorted([SESSION, f"{SESSION}/agent-a1b2c3d", f"{SESSION}/agent-a9", "p/agent-0a1b2c3d"])


# What a session is.


def test_the_records_say_what_the_session_is(sessions: dict[str, Replay]) -> None:
    """Directory names are munged beyond repair: cwd, branch and version are read from the records."""
    session = sessions["8155f2c7-bab2-4be9-9e17-b4140feb7b6b"].session
    assert session.cwd == "/Users/nodo/work/entire/git-sync"
    assert (session.branch, session.agent_version, session.interactive) == ("main", "2.1.138", True)
    assert session.models == ("claude-opus-4-7",)
    assert (session.parent, session.relation) == (None, "root")


def test_the_branch_is_the_last_that_has_a_name(tmp_path: Path) -> None:
    branches = ("main", "fix/one", "", "HEAD", None)
    found = made(tmp_path, *(said(n, "x", gitBranch=branch) for n, branch in enumerate(branches)))
    assert found.session.branch == "fix/one"


def test_the_directory_is_the_one_the_session_began_in(tmp_path: Path) -> None:
    found = made(tmp_path, said(1, "x"), said(2, "y", cwd="/srv/app/sub"))
    assert found.session.cwd == "/srv/app"


def test_the_files_name_is_the_session_and_else_the_records(tmp_path: Path) -> None:
    """A fork's first lines may still carry the session they were copied from."""
    other = "00000000-1111-4222-8333-444444444444"
    assert made(tmp_path, said(1, "x", sessionId=other)).session.id == f"claude:{SESSION}"
    assert made(tmp_path, said(1, "x", sessionId=other), name="p/export.jsonl").session.id == f"claude:{other}"
    dated = made(tmp_path, said(1, "x", sessionId=other), name=f"p/2026-01-01-{SESSION}.jsonl")
    assert dated.session.id == f"claude:{SESSION}"


def test_a_program_is_no_person(tmp_path: Path) -> None:
    assert made(tmp_path, said(1, "x", entrypoint="sdk-py")).session.interactive is False
    assert made(tmp_path, said(1, "x", entrypoint="cli")).session.interactive is True


@pytest.mark.parametrize(
    ("records", "title"),
    [
        ([("summary", "summary", "old")], "old"),
        ([("ai-title", "aiTitle", "made"), ("summary", "summary", "old")], "made"),
        ([("custom-title", "customTitle", "own"), ("ai-title", "aiTitle", "made")], "own"),
        ([("ai-title", "aiTitle", "first"), ("ai-title", "aiTitle", "last")], "last"),
        ([("ai-title", "aiTitle", "made"), ("ai-title", "aiTitle", "  ")], "made"),
        ([("ai-title", "aiTitle", 7)], None),
    ],
)
def test_a_persons_title_wins_then_the_models_then_the_oldest_form(
    tmp_path: Path, records: list[tuple[str, str, Any]], title: str | None
) -> None:
    lines = [{"type": kind, field: value} for kind, field, value in records]
    assert made(tmp_path, said(1, "x"), *lines).session.title == title


def test_a_real_custom_title_wins_over_the_models(sessions: dict[str, Replay]) -> None:
    assert sessions["88db7fea-797f-49be-9036-c762ae804ce0"].session.title == "goreleaser-config-review"


def test_a_summary_of_another_sessions_line_is_no_title(tmp_path: Path, sessions: dict[str, Replay]) -> None:
    """Old versions wrote the summaries of other sessions at the top of a file: of 86 real ones, 56 were such."""
    assert sessions["488c5296-fc78-4fdf-8cfd-f1cae9454bd0"].session.title is None
    assert sessions[FORK].session.title == "Casual Chat: Simple Greeting Exchange"
    before = [{"type": "summary", "summary": "of this one", "leafUuid": uuid(1)}, said(1, "x")]
    assert made(tmp_path, *before).session.title == "of this one"
    assert made(tmp_path, *reversed(before)).session.title == "of this one"
    stranger = {"type": "summary", "summary": "of another", "leafUuid": uuid(99)}
    assert made(tmp_path, stranger, said(1, "x")).session.title is None


# Costs.


def test_a_message_on_several_lines_costs_once_and_the_most_it_said(tmp_path: Path) -> None:
    """Every line of a message repeats a usage that still grows: neither their sum nor the first is the truth."""
    found = made(
        tmp_path,
        answered(1, text("a"), output=1, message="msg_a"),
        answered(2, text("b"), output=61, message="msg_a"),
        answered(3, text("c"), output=7, message="msg_a"),
        answered(4, text("d"), output=5, message="msg_a", requestId="req_2"),
        answered(5, text("e"), output=5, message="msg_b"),
    )
    assert [cost.output for cost in found.costs] == [61, 5, 5]
    assert found.texts("assistant_text") == ["a", "b", "c", "d", "e"]


def test_a_lines_own_uuid_names_a_cost_without_ids(tmp_path: Path) -> None:
    odd = [answered(n, text("x"), output=n, message="", requestId="") for n in (1, 2)]
    assert [cost.output for cost in made(tmp_path, *odd).costs] == [1, 2]


def test_the_buckets_are_disjoint_and_a_missing_sum_is_made_up_for(tmp_path: Path) -> None:
    """Some versions filled only the split of what was written to the cache."""
    split = {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 10}
    usage = {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 900, "cache_creation": split}
    record = answered(1)
    record["message"]["usage"] = usage | {"cache_creation_input_tokens": 0}
    (cost,) = made(tmp_path, record).costs
    assert (cost.input, cost.cache_read, cost.cache_write_5m, cost.cache_write_1h, cost.output) == (3, 900, 30, 10, 5)
    assert cost.tokens == 948
    assert (cost.usd, cost.usd_source) == (None, "none")


def test_a_price_in_an_old_file_is_kept(tmp_path: Path) -> None:
    (cost,) = made(tmp_path, answered(1, costUSD=0.25)).costs
    assert (cost.usd, cost.usd_source) == (0.25, "reported")


def test_what_the_host_made_up_costs_nothing(tmp_path: Path) -> None:
    record = answered(1, text("API Error"), isApiErrorMessage=True)
    record["message"]["model"] = "<synthetic>"
    found = made(tmp_path, record)
    assert found.costs == []
    assert found.session.models == ()
    assert found.texts("error") == ["API Error"]


# Forks.


def test_a_real_fork_repeats_its_parents_keys(sessions: dict[str, Replay]) -> None:
    """What both files hold is one event and one cost, whatever session id the copied lines carry."""
    parent, fork = sessions[PARENT], sessions[FORK]
    copied = {event.key for event in parent.events}
    assert copied < {event.key for event in fork.events}
    assert {cost.key for cost in parent.costs} < {cost.key for cost in fork.costs}


def test_a_fork_adds_only_what_is_new(tmp_path: Path, memory: Recollect) -> None:
    shared = [said(1, "one"), answered(2, text("two")), answered(3, call("Bash", "toolu_" + "a" * 20, command="ls"))]
    shared.append(result(4, "toolu_" + "a" * 20, "out"))
    other = "ffffffff-1111-4222-8333-444444444444"
    written(tmp_path / "r" / f"{SESSION}.jsonl", *shared)
    first = memory.sweep({"claude": [tmp_path / "r"]})
    copies = [{**record, "sessionId": other, "sessionKind": "bg"} for record in shared]
    written(tmp_path / "r" / f"{other}.jsonl", *copies, said(5, "three", sessionId=other))
    second = memory.sweep({"claude": [tmp_path / "r"]})
    assert (first.events_added, second.events_added) == (4, 1)


def test_ids_made_up_by_hand_mean_nothing_in_another_session(tmp_path: Path) -> None:
    records = [said(1, "x", uuid="u1"), answered(2, call("Bash", "toolu_1", command="ls"), uuid="u2")]
    one = made(tmp_path, *records, name=f"p/{uuid(1)}.jsonl")
    two = made(tmp_path, *records, name=f"p/{uuid(2)}.jsonl")
    assert not {event.key for event in one.events} & {event.key for event in two.events}


def test_two_records_a_process_left_on_one_line_are_both_read(sessions: dict[str, Replay]) -> None:
    found = sessions["86cc3044-7515-43f1-9c25-1444738c64c9"]
    assert found.counts["glued_lines"] == 1
    answers = [event.key for event in found.events if event.kind == "assistant_text"]
    assert (len(answers), len(set(answers))) == (4, 3)  # the process wrote its last record again
    assert found.texts("user_prompt") == ["/exit"]


# Who speaks in a user line.

WORDS = "please fix the test"
SPEAKERS: dict[str, tuple[Any, dict[str, Any], tuple[str, str, str, str]]] = {
    "a person": (WORDS, {}, ("user_prompt", "user", "user", WORDS)),
    "a person in blocks": ([text("please"), text("fix")], {}, ("user_prompt", "user", "user", "please\nfix")),
    "a person writing markup": ("<div> is broken", {}, ("user_prompt", "user", "user", "<div> is broken")),
    "the host": (WORDS, {"isMeta": True}, ("injected_context", "system", "tool", WORDS)),
    "the host by its source": (WORDS, {"promptSource": "system"}, ("injected_context", "system", "tool", WORDS)),
    "a notice of a task": (
        WORDS,
        {"origin": {"kind": "task-notification"}},
        ("injected_context", "system", "tool", WORDS),
    ),
    "another agent": (
        WORDS,
        {"origin": {"kind": "peer", "senderTaskId": "t1"}},
        ("injected_context", "system", "tool", WORDS),
    ),
    "a person by its origin": (WORDS, {"origin": {"kind": "human"}}, ("user_prompt", "user", "user", WORDS)),
    "a compaction": (WORDS, {"isCompactSummary": True}, ("summary", "system", "assistant", WORDS)),
    "a compaction of an old version": (
        "This session is being continued from a previous conversation that ran out of context.",
        {},
        (
            *("summary", "system", "assistant"),
            "This session is being continued from a previous conversation that ran out of context.",
        ),
    ),
    "an interruption": (
        "[Request interrupted by user for tool use]",
        {},
        ("human_intervention", "system", "user", "[Request interrupted by user for tool use]"),
    ),
    "a command": (
        "<command-name>/review</command-name>\n<command-message>review</command-message>\n"
        "<command-args> PR 7 </command-args>",
        {},
        ("user_prompt", "user", "user", "/review PR 7"),
    ),
    "a command, message first": (
        "<command-message>x is running…</command-message>\n<command-name>/x</command-name>",
        {},
        ("user_prompt", "user", "user", "/x"),
    ),
    "a shell command": ("<bash-input>git status</bash-input>", {}, ("user_prompt", "user", "user", "!git status")),
    "a prompt behind what the IDE says": (
        f"<ide_opened_file>a.py is open</ide_opened_file>\n<ide_selection>x\ny</ide_selection>\n{WORDS}",
        {},
        ("user_prompt", "user", "user", WORDS),
    ),
    "a prompt behind a reminder": (
        f"<system-reminder>be kind</system-reminder>{WORDS}",
        {},
        ("user_prompt", "user", "user", WORDS),
    ),
} | {
    f"the host in <{tag}>": (
        f"<{tag}>{WORDS}</{tag}>",
        {},
        ("injected_context", "system", "tool", f"<{tag}>{WORDS}</{tag}>"),
    )
    for tag in (
        *("local-command-stdout", "local-command-stderr", "local-command-caveat", "bash-stdout", "bash-stderr"),
        *("system-reminder", "task-notification", "ide_opened_file"),
    )
}


@pytest.mark.parametrize("who", SPEAKERS)
def test_who_speaks_in_a_user_line(tmp_path: Path, who: str) -> None:
    """Only what a person said is a turn."""
    content, fields, wanted = SPEAKERS[who]
    (event,) = made(tmp_path, said(1, content, **fields)).events
    assert (event.kind, event.role, event.origin, event.text) == wanted


def test_real_prompts_are_told_from_real_noise(sessions: dict[str, Replay]) -> None:
    shell = sessions["b82405ba-a054-4152-bc86-e9b0d4832b68"]
    assert shell.texts("user_prompt")[0] == "!git status"
    assert [words[:14] for words in shell.texts("injected_context")] == ["<local-command", "<bash-stdout>O"]
    behind_ide = sessions["1b3e6441-62e3-4b41-8a0c-9d252f531f7a"]
    assert behind_ide.texts("user_prompt")[0].startswith("create me a .github/CODEOWNERS")
    hook = sessions["8155f2c7-bab2-4be9-9e17-b4140feb7b6b"]
    assert hook.texts("injected_context")[0].startswith("<EXTREMELY_IMPORTANT>")
    assert hook.texts("user_prompt") == ["bump to go-billy v6-alpha-1"]


def test_a_prompt_typed_in_mid_turn_is_a_prompt(tmp_path: Path, sessions: dict[str, Replay]) -> None:
    queued = sessions["1e0a84da-d36b-4e8a-925c-b32310479358"]
    assert queued.texts("user_prompt") == ["no need to check anything up this folder"]

    def attached(number: int, **attachment: Any) -> dict[str, Any]:
        return line(number, "attachment", attachment={"type": "queued_command", "commandMode": "prompt", **attachment})

    found = made(
        tmp_path,
        attached(1, prompt="and lint"),
        {key: value for key, value in attached(2, prompt="and test").items() if key != "uuid"},
        attached(3, prompt=[text("see"), text("this")]),
        attached(4, prompt="<task-notification>done</task-notification>"),
        attached(5, prompt="agent says", origin={"kind": "peer", "senderTaskId": "t"}),
        attached(6, prompt="over", commandMode="task-notification"),
        attached(7, prompt=None),
    )
    assert found.texts("user_prompt") == ["and lint", "and test", "see\nthis"]
    assert found.texts("injected_context") == ["<task-notification>done</task-notification>", "agent says"]


def test_an_image_is_a_body_and_leaves_its_place_in_the_text(tmp_path: Path) -> None:
    raw = b"\x89PNG" + bytes(range(256)) * 20
    image = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(raw).decode()}
    found = made(
        tmp_path,
        said(1, [{"type": "image", "source": image}, text("what is this?")]),
        answered(2, call("Read", "toolu_" + "c" * 20, file_path="/a.png")),
        result(3, "toolu_" + "c" * 20, [text("a picture"), {"type": "image", "source": image}]),
        said(4, [{"type": "image", "source": {"type": "base64", "data": "not base64!"}}]),
    )
    asked, _, shown, broken = found.events
    assert (asked.text, shown.text, broken.text) == ("[image]\nwhat is this?", "a picture\n[image]", "[image]")
    assert [(body.media, body.data) for body in (*asked.bodies, *shown.bodies)] == [("image/png", raw)] * 2
    assert broken.bodies == ()


# Calls and results.


def test_a_result_knows_its_call(tmp_path: Path) -> None:
    ids = [f"toolu_{n:020d}" for n in range(4)]
    found = made(
        tmp_path,
        answered(1, call("Bash", ids[0], command="pytest -q")),
        answered(2, call("WebFetch", ids[1], url="https://x.test/", prompt="what?")),
        answered(3, call("Bash", ids[2], command="sleep 9", run_in_background=True)),
        result(4, ids[1], [text("a page")]),
        result(5, ids[0], "Exit code 3\nfailed", block={"is_error": True}),
        result(6, ids[2], "started", toolUseResult={"backgroundTaskId": "b1", "interrupted": False}),
        result(7, ids[3], "nobody asked"),
    )
    page, failed, background, orphan = (event for event in found.events if event.kind == "tool_result")
    assert (page.origin, page.meta["tool"], page.meta["error"]) == ("web", "WebFetch", False)
    assert (failed.meta["tool"], failed.meta["action"], failed.meta["exit"]) == ("Bash", "shell", 3)
    assert failed.meta["error"] is True
    assert background.meta["background"] is True
    assert "exit" not in background.meta
    assert orphan.meta == {"call": ids[3]}
    assert found.kinds["test_run"] == 1


def test_a_call_that_never_came_back_is_kept(sessions: dict[str, Replay]) -> None:
    found = sessions[SUBAGENT]
    asked = {event.meta["call"] for event in found.events if event.kind == "tool_call"}
    given_back = {event.meta["call"] for event in found.events if event.kind == "tool_result"}
    assert len(asked - given_back) == 3


def test_a_refusal_is_the_persons_word(tmp_path: Path, sessions: dict[str, Replay]) -> None:
    """What somebody says when refusing is worth more than that they refused."""
    refused = sessions["0c97beba-bfcb-4f84-9950-e0354bfc808b"].one("human_intervention")
    assert refused.text.startswith("branch and PR. but also is there any other way")
    aborted = sessions["2fd1dc28-72a3-40c2-85a0-1ba256a87a2f"].one("human_intervention")
    assert aborted.text == "[Request interrupted by user for tool use]"
    newer = made(tmp_path, result(1, "toolu_" + "d" * 20, "No.", block={"is_error": True}, toolDenialKind="user"))
    assert newer.one("human_intervention").text == "No."


def test_tools_that_ran_at_the_provider_are_calls_too(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        answered(
            1, {"type": "server_tool_use", "id": "srvtoolu_" + "e" * 20, "name": "web_search", "input": {"query": "q"}}
        ),
        answered(
            2, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_" + "e" * 20, "content": [text("hit")]}
        ),
    )
    asked, found_there = found.events
    assert (asked.text, asked.meta["action"]) == ("q", "fetch")
    assert (found_there.text, found_there.origin) == ("hit", "web")


def test_thinking_without_words_is_left_out(tmp_path: Path) -> None:
    blocks = [{"type": "thinking", "thinking": words, "signature": "x"} for words in ("", "  ", "hm")]
    assert made(tmp_path, answered(1, *blocks, {"type": "redacted_thinking", "data": "x"})).texts("thinking") == ["hm"]


# Subagents.


def test_a_subagents_file_is_a_session_of_its_own_under_its_parent(sessions: dict[str, Replay]) -> None:
    """Its lines carry the parent's id; what it did and cost must not count as the parent's, nor be lost."""
    found = sessions[f"{SUBAGENT}/agent-aac57f5"]
    assert found.session.id == f"claude:{SUBAGENT}/agent-aac57f5"
    assert (found.session.parent, found.session.relation) == (f"claude:{SUBAGENT}", "subagent")
    prompt = found.one("user_prompt")
    assert (prompt.origin, found.kinds["tool_call"], len(found.costs)) == ("assistant", 6, 1)


@pytest.mark.parametrize("place", [f"p/{SESSION}/subagents/agent-a1.jsonl", "p/agent-a1.jsonl"])
def test_where_a_subagents_file_lies_does_not_matter(tmp_path: Path, place: str) -> None:
    found = made(tmp_path, said(1, "look", isSidechain=True, agentId="a1"), name=place)
    assert (found.session.id, found.session.parent) == (f"claude:{SESSION}/agent-a1", f"claude:{SESSION}")
    assert found.events[0].meta == {}


def test_a_subagents_lines_in_the_same_file_are_marked(sessions: dict[str, Replay]) -> None:
    found = sessions["a4e5b271-6948-4581-893b-4595c9ec41ea"]
    inner = [event for event in found.events if event.meta.get("sidechain")]
    assert len(inner) == 5
    assert (inner[0].kind, inner[0].role, inner[0].origin) == ("user_prompt", "assistant", "assistant")
    assert [event.role for event in found.events if event.kind == "user_prompt"] == ["user", "assistant"]
    assert found.session.relation == "root"


@pytest.mark.parametrize(
    ("name", "relation"), [("agent-acompact-1a", "compaction"), ("agent-aprompt_suggestion-1a", "subagent")]
)
def test_runs_of_the_hosts_own_cost_but_say_nothing(tmp_path: Path, name: str, relation: str) -> None:
    path = f"p/{SESSION}/subagents/{name}.jsonl"
    found = made(tmp_path, said(1, "sum this up"), answered(2, text("a summary"), output=8), name=path)
    assert found.events == []
    assert [cost.output for cost in found.costs] == [8]
    assert (found.session.relation, found.session.parent) == (relation, f"claude:{SESSION}")


def test_the_real_compaction_worker_costs_but_says_nothing(sessions: dict[str, Replay]) -> None:
    found = sessions[f"{SUBAGENT}/agent-acompact-946d2b"]
    assert (found.events, [cost.output for cost in found.costs]) == ([], [8])


# What the host notes.


def test_retries_and_errors_of_the_api(sessions: dict[str, Replay]) -> None:
    found = sessions["b00b80af-879f-4265-b95b-48db0938673c"]
    retries = [event for event in found.events if event.kind == "retry"]
    assert [event.meta["attempt"] for event in retries] == [1, 2, 3, 7, 8, 9, 10]
    assert {event.text for event in retries} == {"Overloaded"}
    assert found.one("error").text.startswith("API Error: 529")
    assert found.costs == []


def test_a_compaction_is_told_and_what_was_before_it_stays(sessions: dict[str, Replay]) -> None:
    found = sessions["21a2e002-8b63-45db-8e0d-1978fe0600aa"]
    order = [event.kind for event in found.events]
    assert order.index("compaction") + 1 == order.index("summary")
    assert "assistant_text" in order[: order.index("compaction")]
    assert found.one("compaction").meta == {"trigger": "auto", "tokens": 155_782}
    assert found.one("summary").origin == "assistant"


def test_a_pull_request_is_told_once(tmp_path: Path) -> None:
    link = {"type": "pr-link", "prUrl": "https://x.test/pull/7", "prRepository": "o/r", "sessionId": SESSION}
    found = made(tmp_path, said(1, "x"), link, link, {**link, "prUrl": "https://x.test/pull/8"})
    assert found.texts("state") == ["https://x.test/pull/7", "https://x.test/pull/8"]


def test_new_kinds_of_records_are_counted_and_passed_over(tmp_path: Path) -> None:
    """A new version of the agent must not cost its old records."""
    found = made(
        tmp_path,
        said(1, "x"),
        line(2, "hologram"),
        {"type": 7},
        {"type": ["user"]},
        {},
        line(3, "attachment", attachment={"type": "brand_new", "prompt": "?"}),
        line(4, "attachment", attachment="text"),
        line(5, "system", subtype="brand_new", content="?"),
        line(6, "progress", data={"type": "bash_progress"}),
        answered(7, {"type": "brand_new", "text": "?"}, text("y")),
    )
    assert [event.text for event in found.events] == ["x", "y"]
    assert found.counts["unknown_records"] == 4


def test_a_record_without_a_time_has_that_of_the_one_before(tmp_path: Path) -> None:
    found = made(tmp_path, said(1, "x"), said(2, "y", timestamp=None), said(3, "z", timestamp="yesterday"))
    assert len({event.occurred_at for event in found.events}) == 1
    assert [event.meta.get("time") for event in found.events] == [None, "inferred", "inferred"]


def test_what_cannot_be_a_path_is_not_the_directory(tmp_path: Path, memory: Recollect) -> None:
    written(tmp_path / "r" / f"{SESSION}.jsonl", said(1, "x", cwd="/a" * 50_000), said(2, "y", gitBranch="\ufffd" * 9))
    report = memory.sweep({"claude": [tmp_path / "r"]})
    assert (report.failed, report.events_added) == (0, 2)


# Whose file it is.


@pytest.mark.parametrize("folder", ["codex", "gemini", "qwen"])
def test_a_file_in_another_agents_folder_is_read_as_what_it_is(tmp_path: Path, memory: Recollect, folder: str) -> None:
    """Labels lie; two real sessions labelled as another agent's were Claude Code's."""
    name = "b82405ba-a054-4152-bc86-e9b0d4832b68"
    place = tmp_path / "r" / ("chats" if folder == "gemini" else "x") / f"session-{name}.jsonl"
    place.parent.mkdir(parents=True)
    shutil.copyfile(HERE / "projects/-cli" / f"{name}.jsonl", place)
    assert sniffed(Transcript(folder, tmp_path / "r", place, "x", (place,)), NOW) is claude
    report = memory.sweep({folder: [tmp_path / "r"]})
    if report.discovered:
        assert report.events_added == len(replay(Transcript("claude", tmp_path, place, name, (place,))).events)
        assert {session.flavor for session in memory.sessions()} == {"claude"}


def test_a_compressed_file_is_read_the_same(tmp_path: Path, sessions: dict[str, Replay]) -> None:
    name = "21a2e002-8b63-45db-8e0d-1978fe0600aa"
    data = (HERE / "projects/-cli" / f"{name}.jsonl").read_bytes()
    path = tmp_path / f"{name}.jsonl.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(data))
    found = replay(Transcript("claude", tmp_path, path, name, (path,)))
    assert [event.key for event in found.events] == [event.key for event in sessions[name].events]


# Whatever a file holds.

FIELDS = (
    "type uuid parentUuid sessionId timestamp cwd gitBranch version isSidechain entrypoint requestId isMeta message "
    "content role model usage id name input tool_use_id is_error text thinking source data media_type attachment "
    "prompt commandMode origin kind subtype compactMetadata error retryAttempt summary leafUuid aiTitle customTitle "
    "prUrl toolUseResult isCompactSummary promptSource output_tokens cache_creation interrupted agentId toolDenialKind"
)
KINDS = (
    "user assistant system attachment summary ai-title custom-title pr-link relocated tool_result tool_use text "
    "thinking image queued_command hook_additional_context compact_boundary api_error turn_duration Bash Edit "
    "<command-name> <bash-input> <system-reminder> claude-opus-5 2026-03-01T00:00:00Z server_tool_use "
    "web_search_tool_result human"
)


@given(any_records(FIELDS, KINDS))
def test_fields_of_any_kind_do_no_harm(tmp_path_factory: pytest.TempPathFactory, records: list[Any]) -> None:
    """Never a fault, never an event of no known kind, role or origin, whatever the fields hold."""
    data = b"".join(orjson.dumps(record) + b"\n" for record in records)
    path = tmp_path_factory.getbasetemp() / f"{SESSION}.jsonl"
    path.write_bytes(data)
    reading = Reading(Transcript("claude", path.parent, path, SESSION, (path,)), NOW)
    for item in claude.read(reading):
        if isinstance(item, Event):
            assert item.kind in EVENT_KINDS
            assert item.role in ROLES
            assert item.origin in ORIGINS
            item.text.encode()
        else:
            assert isinstance(item, Cost)
            assert item.tokens >= 0
    assert keys(data, path.parent) == keys(data, path.parent)


@given(st.binary(max_size=400))
def test_any_bytes_do_no_harm(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    keys(data, tmp_path_factory.getbasetemp())


def damaged() -> bytes:
    """Real records with everything that was ever seen between them."""
    whole = (HERE / "projects/-happy" / f"{FORK}.jsonl").read_bytes().splitlines()
    inner = orjson.dumps(said(1, [text("é"), {"a": {"b": 1, "c": 2, "d": 3}}]))
    pieces = [whole[0], whole[1] + whole[2], b"null", b"{{{", inner, whole[3] + b'{"type":"user","mess', *whole[4:]]
    return b"\xef\xbb\xbf" + b"\r\n".join(pieces) + b"\n"


@given(st.integers(0, len(damaged())))
def test_a_file_cut_anywhere_gives_the_keys_of_the_whole(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    """What was read from a growing file is what the grown file holds, so nothing is there twice."""
    folder = tmp_path_factory.getbasetemp()
    whole = keys(damaged(), folder)
    before = keys(damaged()[:cut], folder)
    assert set(before) <= set(whole)
    assert len(whole) == 10


def test_a_growing_file_loses_nothing_wherever_it_is_cut(tmp_path: Path, opened: Callable[..., Recollect]) -> None:
    """Every byte of a real session as the moment of a sweep: after the last one the store holds the whole, once."""
    data = (HERE / "projects/-happy" / f"{FORK}.jsonl").read_bytes()
    path = tmp_path / "r" / f"{FORK}.jsonl"
    path.parent.mkdir()
    memory, added = opened(), 0
    for cut in [*range(1, len(data), 397), len(data)]:
        path.write_bytes(data[:cut])
        added += memory.sweep({"claude": [tmp_path / "r"]}).events_added
    assert added == len(replay(Transcript("claude", tmp_path, path, FORK, (path,))).events)


@pytest.mark.timed
@pytest.mark.parametrize(
    "words",
    [
        "<command-name>" + " " * 200_000,
        "<command-name>" * 20_000,
        "<bash-input>" + " \n" * 100_000,
        "<system-reminder>x</system-reminder>" * 40_000 + "<system-reminder>",
        " " * 300_000 + "<",
    ],
    ids=["spaces", "openings", "lines", "reminders", "indent"],
)
def test_hostile_text_is_read_in_no_time(tmp_path: Path, words: str) -> None:
    started = time.perf_counter()
    made(tmp_path, said(1, words), said(2, "y"))
    assert time.perf_counter() - started < 0.5
