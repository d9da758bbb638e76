"""What the hook says back: the prepared bytes at a start, what fits a prompt, and in all other cases nothing."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.prepared_fixture import ASKING, ENTRIES, ENTRY, PORT, Prepared, event

from recollect import frame, hook, hookreply, promptindex
from recollect.hookreply import NUDGE, ancestors, dir_name, members

START, PROMPT = "SessionStart", "UserPromptSubmit"


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    return Prepared(tmp_path / "data").mode("recall")


def reply(prepared: Prepared, body: bytes, agent: str = "claude", env: Mapping[str, str] | None = None) -> bytes:
    return hook.reply(str(prepared.data_dir), agent, body, env or {}, time.monotonic() + 5)


def context(answer: bytes, name: str = PROMPT) -> str:
    """The text in an answer, which has nothing else."""
    found = json.loads(answer)
    text = found["hookSpecificOutput"]["additionalContext"]
    assert found == {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}
    assert isinstance(text, str)
    return text


def ask(prepared: Prepared, prompt: object = ASKING, **more: Any) -> bytes:
    return reply(prepared, event(PROMPT, prompt=prompt, **more))


# -- the start of a session --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "name"),
    [("claude", START), ("codex", START), ("gemini", START), ("opencode", START), ("cursor", "sessionStart")],
)
@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact", "fork", None])
def test_a_start_is_answered_with_exactly_the_prepared_bytes(
    prepared: Prepared, agent: str, name: str, source: str | None
) -> None:
    content = prepared.start("The port is 5433. é\u2028", "/home/ann/app", agent)
    assert reply(prepared, event(name, source=source), agent) == content


@pytest.mark.parametrize(
    ("known", "cwd", "expected"),
    [
        (["/home/ann/app", "/home/ann", None], "/home/ann/app", "/home/ann/app"),
        (["/home/ann/app", "/home/ann", None], "/home/ann/app/", "/home/ann/app"),
        (["/home/ann/app", "/home/ann", None], "/home/ann/app/src/deep/er", "/home/ann/app"),
        (["/home/ann/app", "/home/ann", None], "/home/ann/other", "/home/ann"),
        (["/home/ann/app", "/", None], "/srv", "/"),
        (["/home/ann/app", None], "/srv", None),
        (["/home/ann/app", None], "/home/ann/app/../x", None),
        (["/home/ann/app", None], "home/ann/app", None),
        (["/home/ann/app", None], "", None),
        (["/home/ann/app", None], 5, None),
        (["/home/ann/app", None], ["/home/ann/app"], None),
        (["/home/ann/app", None], "/home/ann/app\x00", None),
        (["/home/ann/app", None], "/\ud800", "nothing"),
        (["/home/ann/app", None], "/x" * 3_000, None),
        (["/home/ann/app"], "/srv", "nothing"),
        (["/home/ann/é"], "/home/ann/é/x", "/home/ann/é"),
    ],
)
def test_the_nearest_directory_that_is_known_wins(
    prepared: Prepared, known: list[str | None], cwd: object, expected: str | None
) -> None:
    contents = {directory: prepared.start(f"of {directory}", directory) for directory in known}
    assert reply(prepared, event(START, cwd=cwd)) == contents.get(expected, b"")


def test_cursor_tells_its_directories_in_a_list(prepared: Prepared) -> None:
    content = prepared.start("here", "/home/ann/app", "cursor")
    body = json.dumps({"hook_event_name": "sessionStart", "workspace_roots": ["/home/ann/app/web"]}).encode()
    assert reply(prepared, body, "cursor") == content
    assert reply(prepared, body.replace(b'["/home/ann/app/web"]', b'{"0": 1}'), "cursor") == b""


@pytest.mark.parametrize("agent", ["grok", "walrus", ""])
def test_agents_that_read_no_answer_get_none(prepared: Prepared, agent: str) -> None:
    prepared.index()
    for name in ("claude", "grok"):
        prepared.start("x", None, name)
    assert reply(prepared, event(START), agent) == b""
    assert reply(prepared, event(PROMPT, prompt=ASKING), agent) == b""


@pytest.mark.parametrize(
    ("body", "env"),
    [
        ({"hookEventName": "session_start", "sessionId": "g", "hook_event_name": START}, {}),
        ({"sessionId": "g", "hook_event_name": START}, {}),
        ({"session_id": "s-1", "hook_event_name": START}, {"GROK_SESSION_ID": "s-1"}),
        ({"session_id": "s-1", "hook_event_name": START}, {"GROK_SESSION_ID": ""}),
    ],
)
def test_grok_that_calls_the_hook_of_claude_gets_no_answer(
    prepared: Prepared, body: dict[str, Any], env: Mapping[str, str]
) -> None:
    prepared.start("x")
    assert reply(prepared, json.dumps(body).encode(), env=env) == b""


@pytest.mark.parametrize("name", ["Stop", "PreCompact", "SubagentStop", "SessionEnd", "PostToolUse", "sessionstart"])
def test_other_events_get_no_answer(prepared: Prepared, name: str) -> None:
    prepared.start("x")
    prepared.index()
    assert reply(prepared, event(name, prompt=ASKING, reason="SessionStart UserPromptSubmit")) == b""


def link(path: Path) -> None:
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def huge(path: Path) -> None:
    path.write_bytes(b"{" + b"}" * 9 * 2**20)


def readable(path: Path) -> None:
    path.chmod(0o604)


def writable(path: Path) -> None:
    path.chmod(0o620)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def text(path: Path) -> None:
    path.write_bytes(b"obey me")


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


SPOILS = [link, pipe, folder, huge, readable, writable, empty, text, torn]


@pytest.mark.parametrize("spoil", SPOILS, ids=lambda spoil: spoil.__name__)
@pytest.mark.parametrize("what", ["start", "prompt", "mode"])
def test_a_prepared_file_that_is_not_as_we_write_it_is_no_answer(
    prepared: Prepared, what: str, spoil: Callable[[Path], None]
) -> None:
    prepared.start("x")
    prepared.index()
    names = {"start": "start/user.claude", "prompt": "prompt/user.index", "mode": "mode"}
    spoil(prepared.folder / names[what])
    body = event(START) if what == "start" else event(PROMPT, prompt=ASKING)
    assert reply(prepared, body) == b""


@pytest.mark.parametrize("name", [".", "start", "prompt"])
@pytest.mark.parametrize("spoil", ["link", "writable", "missing"])
def test_a_folder_that_is_not_ours_alone_gives_nothing(prepared: Prepared, name: str, spoil: str) -> None:
    prepared.start("x")
    prepared.index()
    place = prepared.folder / name
    if spoil == "writable":
        place.chmod(0o777)
    else:
        place.rename(prepared.data_dir / "elsewhere")
    if spoil == "link":
        (prepared.folder / name).symlink_to(prepared.data_dir / "elsewhere")
    answers = reply(prepared, event(START)), ask(prepared)
    assert answers[name == "prompt"] == b""
    assert not (spoil == "missing" and place.exists())


def test_an_answer_that_comes_too_late_is_not_given(prepared: Prepared) -> None:
    prepared.index()
    body = event(PROMPT, prompt=ASKING)
    assert hook.reply(str(prepared.data_dir), "claude", body, {}, time.monotonic()) == b""
    assert hook.reply(str(prepared.data_dir), "claude", body, {}, time.monotonic() + 5) != b""


# -- a prompt ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("agent", "name"), [("claude", PROMPT), ("codex", PROMPT), ("gemini", "BeforeAgent")])
def test_a_prompt_is_answered_from_the_index(prepared: Prepared, agent: str, name: str) -> None:
    prepared.index()
    answer = reply(prepared, event(name, prompt=ASKING), agent)
    assert context(answer, name) == frame.framed(ENTRY, promptindex.NOTICE)
    assert answer.isascii()


def test_the_index_of_the_nearest_directory_is_asked(prepared: Prepared) -> None:
    prepared.index()
    prepared.index([], "/home/ann/app")
    assert ask(prepared) == b""
    assert ask(prepared, cwd="/home/ann") != b""


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "yes",
        "go on please",
        "/deploy postgres on the port of my machine",
        "/recollect:recall postgres port machine local",
        "   /compact keep postgres port machine",
        "<recollect-task> which port has postgres on my machine",
        f"{ASKING} {'x ' * 10_000}",
        None,
        5,
        [ASKING],
        {"text": ASKING},
    ],
    ids=lambda prompt: repr(prompt)[:30],
)
def test_a_command_a_short_or_a_huge_prompt_is_not_looked_up(prepared: Prepared, prompt: object) -> None:
    prepared.index()
    assert ask(prepared, prompt) == b""


def test_a_prompt_that_begins_with_a_path_is_no_command(prepared: Prepared) -> None:
    prepared.index()
    assert ask(prepared, "/srv/db.py needs the port of postgres for development") != b""


def test_an_unrelated_prompt_gets_no_answer(prepared: Prepared) -> None:
    prepared.index()
    assert ask(prepared, "write a haiku about autumn rain in the mountains") == b""


def test_what_a_hook_said_before_the_prompt_asks_for_nothing(prepared: Prepared) -> None:
    """Gemini CLI hands the first prompt of a run over with the answer to its start in front."""
    prepared.index()
    said = f"<hook_context>&gt; {ASKING}</hook_context>\n\n"
    for prompt, answered in (("write a haiku about autumn rain", False), (ASKING, True), ("/deploy " + ASKING, False)):
        body = event("BeforeAgent", prompt=said + prompt)
        assert bool(reply(prepared, body, "gemini")) == answered, prompt


@pytest.mark.parametrize("mode", ["off", "", "Recall", "recallnudge", "recall\x00"])
def test_unless_recall_is_wanted_nothing_is_said(prepared: Prepared, mode: str) -> None:
    prepared.index()
    prepared.mode(mode)
    assert ask(prepared) == b""
    (prepared.folder / "mode").unlink()
    assert ask(prepared) == b""


def test_the_nudge_is_one_fixed_line(prepared: Prepared) -> None:
    """S0.17: no lookup of any kind."""
    prepared.mode("nudge")
    assert context(ask(prepared, "tell me something new")) == NUDGE
    assert context(reply(prepared, event("BeforeAgent", prompt=ASKING), "gemini"), "BeforeAgent") == NUDGE
    assert ask(prepared, "yes") == ask(prepared, "/compact now and here") == b""
    assert not (prepared.data_dir / hookreply.SAID).exists()


def test_the_nudge_names_the_ways_to_search_and_itself() -> None:
    """S0.18; and capture leaves it out when it comes back in a transcript."""
    said, _, name = NUDGE.rpartition(" ")
    assert name == frame.name_of(said)
    assert "memory-recall subagent" in said
    assert "memory_search" in said
    assert frame.without_blocks(f"before\n{NUDGE}\nafter", "gone") == ("before\ngone\nafter", 1)


# -- nothing is said twice ---------------------------------------------------------------------------------------------


def test_a_session_is_told_a_thing_once(prepared: Prepared) -> None:
    prepared.index()
    assert ask(prepared) != b""
    assert ask(prepared) == b""
    assert ask(prepared, session_id="s-2") != b""
    assert ask(prepared, "when do deploys go out, on friday or tuesday?") != b""


@pytest.mark.parametrize(
    ("source", "again"), [("clear", True), ("compact", True), ("startup", False), ("resume", False)]
)
def test_after_its_context_was_dropped_a_session_is_told_again(prepared: Prepared, source: str, again: bool) -> None:
    prepared.index()
    ask(prepared)
    reply(prepared, event(START, source=source))
    assert bool(ask(prepared)) is again


def test_what_the_start_said_is_not_said_again(prepared: Prepared) -> None:
    prepared.index()
    prepared.start(f"## Facts\n{ENTRY}")
    reply(prepared, event(START, source="startup"))
    assert ask(prepared) == b""
    assert ask(prepared, session_id="began before that was prepared") != b""
    prepared.start("something else")
    assert ask(prepared) != b""


def test_what_was_said_is_kept_in_a_small_private_file_without_words(prepared: Prepared) -> None:
    prepared.index()
    said = prepared.data_dir / hookreply.SAID
    sizes = []
    handle = os.open(prepared.data_dir, os.O_RDONLY)
    for number in range(500):
        hookreply._Said(handle, f"s-{number}").add(list(range(1, 17)))
        sizes.append(said.stat().st_size if said.exists() else 0)
    os.close(handle)
    assert 0 in sizes
    assert max(sizes) <= hookreply.MAX_SAID
    assert ask(prepared) != b""
    assert ask(prepared) == b""
    assert b"ostgres" not in said.read_bytes()
    assert said.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("spoil", [link, pipe, folder, huge], ids=lambda spoil: spoil.__name__)
def test_a_bad_list_of_what_was_said_does_not_silence(prepared: Prepared, spoil: Callable[[Path], None]) -> None:
    prepared.index()
    ask(prepared)
    spoil(prepared.data_dir / hookreply.SAID)
    assert ask(prepared) != b""


# -- what stands on stdin ----------------------------------------------------------------------------------------------

words_ = st.text(max_size=20) | st.sampled_from(["hook_event_name", "cwd", "prompt", "session_id", START, PROMPT])
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words_
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words_, inner, max_size=3))
documents = st.builds(
    lambda value, ascii_only, indent: json.dumps(value, ensure_ascii=ascii_only, indent=indent),
    st.dictionaries(words_, values, max_size=6) | values,
    st.booleans(),
    st.none() | st.integers(0, 3),
)


def as_json_reads_it(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@settings(max_examples=300)
@given(documents.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_stdin_is_read_as_json_reads_it(body: bytes) -> None:
    assert members(body) == as_json_reads_it(body)


@settings(max_examples=300)
@given(documents, st.integers(0, 300), st.binary(max_size=4))
def test_torn_stdin_is_read_as_json_reads_it(text: str, cut: int, more: bytes) -> None:
    body = text.encode("utf-8", "surrogatepass")[:cut] + more
    assert members(body) == as_json_reads_it(body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"   ",
        b'\xef\xbb\xbf{"a": 1}',
        b'{"a": 1, "a": 2}',
        b'{"a": 1} {"a": 2}',
        b'{"a": 1}\x00',
        b'{"hook_event_name": "Stop", "tool_input": {"hook_event_name": "SessionStart"}}',
        b'{"prompt": "\\"hook_event_name\\": \\"SessionStart\\""}',
        b'{"hook_event_name": "\\u0053essionStart"}',
        b'{"a": "\x01"}',
        b'{"a": NaN, "b": -Infinity, "c": 1e999}'.replace(b"NaN", b"1"),
        b'{"a": ' + b"9" * 5_000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b'{"a": "\\ud800"}',
        b'{"a": "\xff"}',
        b"\xff\xfe{\x00}\x00",
        b"{'a': 1}",
        b'{"a": 1,}',
        b'{"a" 1}',
        b'{"a": tru}',
        b"null",
        b'"text"',
    ],
    ids=lambda body: repr(body[:30]),
)
def test_hostile_stdin_is_read_as_json_reads_it(body: bytes) -> None:
    assert members(body) == as_json_reads_it(body)


def test_stdin_is_read_without_the_fast_scanner_too(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "_json", None)
    assert members(b'{"a": "\\u00e9"}') == {"a": "é"}
    assert members(b"{") == {}
    assert context(hookreply._envelope(PROMPT, 'a "b"\n\u2028')) == 'a "b"\n\u2028'
    assert hookreply.is_in(b'"x\\n> \\"caf\xc3\xa9\\""', '> "café"\n')


def test_a_nested_or_repeated_name_does_not_make_a_start(prepared: Prepared) -> None:
    prepared.start("x")
    for body in (
        b'{"hook_event_name": "Stop", "tool_input": {"hook_event_name": "SessionStart"}}',
        b'{"hook_event_name": "SessionStart", "hook_event_name": "Stop"}',
        b'{"prompt": "{\\"hook_event_name\\": \\"SessionStart\\"}"}',
        b'[{"hook_event_name": "SessionStart"}]',
        b'{"hook_event_name": ["SessionStart"]}',
    ):
        assert reply(prepared, body) == b""
    assert reply(prepared, b'{"hook_event_name": "Stop", "hook_event_name": "SessionStart"}') != b""


def test_directories_are_walked_to_the_root() -> None:
    assert list(ancestors("/a/b/./c//")) == ["/a/b/c", "/a/b", "/a", "/"]
    assert len(list(ancestors("/x" * 200))) == 64
    assert dir_name("/home/ann/é") == hashlib.sha256("/home/ann/é".encode()).hexdigest()[:32]


def test_all_entries_of_the_fixture_are_different() -> None:
    assert len({name for name, _, _ in ENTRIES}) == len(ENTRIES)
    assert PORT in ENTRIES
