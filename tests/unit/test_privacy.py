"""What is not to be kept never reaches the store: private text, our own words, secrets, and sessions nobody chose."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.sources.reading_fixture import NOW

from recollect.capture.privacy import (
    INNER_MARK,
    OURS,
    PRIVATE,
    Choice,
    Privacy,
    is_observer,
)
from recollect.capture.redact import Redactor
from recollect.capture.toolcall import describe
from recollect.frame import FOOTER, HEADER, name_of
from recollect.model import Body, Event
from recollect.text import dedup_key

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6" * 3
MAKE = Redactor(b"key of the test")


def privacy(**given_parts: Any) -> Privacy:
    return Privacy(MAKE, **given_parts)


def event(text: str = "", kind: str = "user_prompt", meta: Any = None, bodies: tuple[Body, ...] = ()) -> Event:
    return Event("k", "claude:s", kind, "user", "user", text, NOW, NOW, meta=meta or {}, bodies=bodies)


def asked(name: str, given_input: Any, call: str = "c1") -> Event:
    kind, text, meta = describe(name, given_input, call)
    return event(text, kind, meta)


def answered(text: str, call: str = "c1", **meta: Any) -> Event:
    return event(text, "tool_result", {"call": call, **meta})


# Nothing to take out.


def test_an_event_with_nothing_to_hide_is_the_very_same() -> None:
    for each in (
        event("plain words <b>and</b> markup"),
        asked("Bash", {"command": "ls", "env": {"A": ["b", 1, None, 2.5, True]}}),
        event("<privates> are no private part", meta={"a long name of a field": "a long value of a field"}),
    ):
        guard = privacy()
        assert guard.clean(each) is each
        assert not guard.counts


# Private text.


@pytest.mark.parametrize(
    ("text", "left", "parts"),
    [
        ("a <private>b</private> c", f"a {PRIVATE} c", 1),
        ("<private>a</private><private>b</private>c", f"{PRIVATE}{PRIVATE}c", 2),
        ("a <private>b\nc\n</private>\nd", f"a {PRIVATE}\nd", 1),
        ("a <private>b", f"a {PRIVATE}", 1),
        ("<private>", PRIVATE, 1),
        ("a <PRIVATE>b</private> c", f"a {PRIVATE} c", 1),
        ("a <pRiVaTe>b</PrIvAtE > c", f"a {PRIVATE} c", 1),
        ("a <private>b <private>c</private> d</private> e", f"a {PRIVATE} e", 1),
        ("a <private>b <private>c</private> d", f"a {PRIVATE}", 1),
        ("a </private> b <private>c</private> d", f"a </private> b {PRIVATE} d", 1),
    ],
)
def test_private_text_is_taken_out(text: str, left: str, parts: int) -> None:
    """In any case, within each other, and to the end when nobody closes it."""
    guard = privacy()
    assert guard.clean(event(text)).text == left
    assert guard.counts == {"private": parts}
    assert guard.line(text) == left


@pytest.mark.parametrize("name", ["Bash", "Write", "Task", "mcp__x__y"])
def test_private_text_is_taken_out_of_what_tools_are_given(name: str) -> None:
    hidden = "x <Private>the plan</Private> y"
    given_input = {"command": hidden, "content": hidden, "prompt": hidden, "more": {"deep": [hidden]}, hidden: 1}
    clean = privacy().clean(asked(name, given_input))
    assert "the plan" not in clean.text
    assert b"the plan" not in orjson.dumps(clean.meta)


@given(st.lists(st.sampled_from(["<private>", "</private>", "<PRIVATE>", "a", "b ", "<"]), max_size=30).map("".join))
def test_no_word_between_the_marks_stays(text: str) -> None:
    marked = text.replace("a", "")
    clean = privacy().clean(event(f"<private>{marked}secret")).text
    assert "secret" not in clean or marked.lower().count("</private>") > marked.lower().count("<private>")


# Our own words.


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"{HEADER}\n- one\n- two\n{FOOTER}\nand now?", f"{OURS}\nand now?"),
        (f"cut {name_of('x')}\n[fact, said by user]\n> one\nmy question", f"{OURS}\nmy question"),
        (f"see {name_of('x')[:-1]} there", f"see {name_of('x')[:-1]} there"),
        (f"before\n{HEADER}\n- one", f"before\n{OURS}"),
        (f"{HEADER}\na\n{FOOTER}\nx\n{HEADER}\nb\n{FOOTER}", f"{OURS}\nx\n{OURS}"),
    ],
)
def test_a_block_of_recalled_text_is_taken_out(text: str, left: str) -> None:
    """A memory that reads its own words would believe them more each time."""
    guard = privacy()
    assert guard.clean(event(text, "injected_context")).text == left
    assert guard.counts["ours"] == left.count(OURS)


def test_what_was_injected_is_known_by_its_hash() -> None:
    said = "Something we put in,  in other white space."
    guard = privacy(was_injected=lambda key: key == dedup_key("something we put in, in other white space."))
    for kind in ("injected_context", "user_prompt"):
        assert guard.clean(event(said, kind)).text == OURS
    assert guard.clean(event(said, "assistant_text")).text == said
    assert guard.clean(event("Something else.")).text == "Something else."
    assert guard.counts == {"ours": 2}


@pytest.mark.parametrize(
    ("name", "given_input"),
    [
        ("mcp__recollect__memory_recall", {"query": "x"}),
        ("mcp__plugin_recollect_memory__memory_recall", {"query": "x"}),
        ("memory_recall", {"query": "x"}),
        ("recollect_memory_save", {"content": "x"}),
        ("Bash", {"command": "recollect recall 'how do we deploy'"}),
        ("Bash", {"command": "cd x && /usr/local/bin/recollect --json recall deploy | head"}),
        ("Bash", {"command": "recollect --project app context deploy"}),
        ("Bash", {"command": "uv run recollect show claude:1"}),
        ("Bash", {"command": "python -m recollect list"}),
        ("Bash", {"command": "RECOLLECT_DATA_DIR=/x sudo recollect sessions"}),
        ("Bash", {"command": 'claude -p "$(recollect context deploy) go"'}),
        ("exec_command", {"cmd": "bash -lc 'recollect recall x'"}),
    ],
)
def test_what_recollect_answered_is_not_kept_again(name: str, given_input: Any) -> None:
    guard = privacy()
    call = asked(name, given_input)
    assert guard.clean(call) is call
    found = guard.clean(answered("what we remembered", tool=name, error=False, spilled="/x"))
    assert (found.text, found.meta) == (OURS, {"call": "c1", "tool": name, "error": False})
    assert guard.counts == {"ours": 1}
    assert guard.clean(answered("of another call", "c2")).text == "of another call"


@pytest.mark.parametrize(
    "command",
    [
        "cd ~/src/recollect && ls",
        "grep recall recollect",
        "recollect sweep",
        "recollect doctor",
        "git commit -m 'recollect recall is faster'",
        "cat recollect/list.py",
        "my-recollect recall x",
    ],
)
def test_work_on_recollect_is_work(command: str) -> None:
    guard = privacy()
    guard.clean(asked("Bash", {"command": command}))
    assert guard.clean(answered("output")).text == "output"


def test_a_call_read_earlier_is_known_when_its_result_comes() -> None:
    guard = privacy()
    guard.look(asked("Bash", {"command": "recollect recall x"}))
    assert guard.clean(answered("y")).text == OURS


# Secrets.


def test_secrets_are_taken_out_of_every_text_of_an_event() -> None:
    """T06: of the words, and of every key and leaf of the arguments."""
    meta = {
        "input": {"a": TOKEN, "list": ["x", TOKEN, [TOKEN]], "deep": {"er": {"b": f"token={TOKEN}"}}, TOKEN: 1},
        "files": (f"/a/{TOKEN}", "/b"),
        "number": 7,
        "none": None,
    }
    guard = privacy()
    clean = guard.clean(event(f"use {TOKEN} here", "tool_call", meta))
    assert TOKEN not in clean.text
    assert TOKEN.encode() not in orjson.dumps(clean.meta)
    assert clean.meta["input"]["list"][0] == "x"
    assert (clean.meta["number"], clean.meta["none"]) == (7, None)
    assert clean.text.startswith("use [REDACTED:")
    assert sum(found for name, found in guard.counts.items() if name.startswith("secret:")) == 7
    assert TOKEN in meta["input"]["a"]


def test_a_secret_under_a_key_without_a_value_goes_too() -> None:
    clean = privacy().clean(event("", "tool_call", {"input": {TOKEN: None, "\ud800": None}}))
    assert TOKEN not in clean.meta["input"]
    orjson.dumps(clean.meta)


def test_a_title_is_cleaned_too() -> None:
    assert TOKEN not in (privacy().line(f"Deploy with {TOKEN}") or "")
    assert privacy().line(None) is None


def test_personal_data_goes_only_when_asked_for() -> None:
    said = "write to jane.doe@company.test today"
    assert privacy().clean(event(said)).text == said
    asked_for = Privacy(Redactor(b"k", pii=True))
    assert "jane.doe" not in asked_for.clean(event(said)).text
    assert asked_for.counts == {"secret:email": 1}


def test_arguments_nested_beyond_reason_are_cut_off() -> None:
    value: Any = TOKEN
    for _ in range(490):
        value = {"a": [value]}
    clean = privacy().clean(event("", "tool_call", {"input": value}))
    assert b"[nested too deeply]" in orjson.dumps(clean.meta)
    assert TOKEN.encode() not in orjson.dumps(clean.meta)


def test_a_body_stays_with_its_event_and_goes_with_what_is_withheld() -> None:
    body = Body("h", "image/png", 1, b"x")
    assert privacy().clean(event("look", bodies=(body,))).bodies == (body,)
    guard = privacy(deny=(".env",))
    guard.clean(asked("Read", {"file_path": ".env"}))
    withheld = event("x", "tool_result", {"call": "c1"}, (body,))
    assert guard.clean(withheld).bodies == ()


# Sessions of memory tools.


@pytest.mark.parametrize("start", [f"{INNER_MARK} kind=gist>", "\n  You are a Claude-Mem, a specialized observer"])
def test_sessions_of_memory_tools_are_known_by_their_first_words(start: str) -> None:
    assert is_observer(start + " …")


def test_a_person_speaking_of_such_tools_is_no_observer() -> None:
    assert not is_observer("Please look at what <recollect-task does")
    assert not is_observer("")


# Which sessions are captured.

HOME = "/home/jane"


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("HOME", HOME)
    return HOME


@pytest.mark.parametrize(
    ("names", "named"),
    [
        (("claude",), True),
        (("codex",), False),
        (("github.com/o/r",), True),
        (("github.com/o",), False),
        ((f"{HOME}/src/app",), True),
        ((f"{HOME}/src/app/",), True),
        ((f"{HOME}/src",), True),
        ((HOME,), True),
        (("~/src/app",), True),
        (("~/src",), True),
        (("~",), True),
        (("/",), True),
        (("~/src/ap",), False),
        ((f"{HOME}/src/app/sub",), False),
        (("~nobody-of-that-name/src",), False),
        (("src/app",), False),
        (("codex", "~/other", "claude"), True),
        ((), False),
    ],
)
def test_agents_projects_and_directories_are_chosen_by_name(home: str, names: tuple[str, ...], named: bool) -> None:
    where = ("claude", "github.com/o/r", f"{home}/src/app")
    assert Choice(off=names).allows(*where) is not named
    assert Choice(only=names).allows(*where) is (named or not names)


def test_what_is_off_stays_off_even_among_the_chosen(home: str) -> None:
    choice = Choice(off=("~/src/app/private",), only=("~/src",))
    assert choice.allows("claude", None, f"{home}/src/app")
    assert not choice.allows("claude", None, f"{home}/src/app/private/x")
    assert not choice.allows("claude", None, "/elsewhere")


def test_a_session_of_nowhere_is_allowed_unless_only_some_are() -> None:
    assert Choice().allows("claude", None, None)
    assert Choice(off=("~/src",)).allows("claude", None, None)
    assert not Choice(only=("~/src",)).allows("claude", None, None)


# Hostile text.


@pytest.mark.timed
@pytest.mark.parametrize(
    "text",
    [
        "<private>" * 50_000,
        "</private>" * 50_000,
        "<private " * 50_000,
        "<" * 500_000,
        f"{HEADER}\n" * 20_000,
        HEADER * 20_000,
    ],
    ids=["openings", "closings", "unfinished", "brackets", "blocks", "headers"],
)
def test_hostile_text_is_cleaned_in_no_time(text: str) -> None:
    started = time.perf_counter()
    privacy(deny=(".env",)).clean(event(text))
    assert time.perf_counter() - started < 1


@pytest.mark.timed
def test_hostile_calls_are_looked_at_in_no_time() -> None:
    guard = privacy(deny=(".env", "*.pem", "~/.ssh"))
    pieces: list[Callable[[], str]] = [
        lambda: ".env " * 100_000,
        lambda: "x.pem/" * 80_000,
        lambda: "recollect (" * 40_000,
    ]
    for piece in pieces:
        started = time.perf_counter()
        guard.clean(asked("Bash", {"command": piece()}))
        assert time.perf_counter() - started < 1


def test_no_file_is_looked_at(tmp_path: Path) -> None:
    """Names are all that counts: a path in a transcript is never opened or resolved."""
    (tmp_path / ".env").symlink_to(tmp_path / "nowhere")
    assert privacy(deny=(".env",)).denies(str(tmp_path / ".env"))
