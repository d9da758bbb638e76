"""Yesterday's run in tomorrow's first line: what one real run decided, the next one is shown, quoted and within bounds.

From a fresh `recollect install` in an empty home: run 1 is told something, the hooks' records are drained, run 2's
model is shown it at the start and when the prompt asks, and finds it by asking the MCP server.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import pytest

from recollect.frame import BLOCK, MARK, OPENING
from tests.hosts.host import Host, said
from tests.hosts.scripted_model import Call, Request, Say, last_result, offered

pytestmark = pytest.mark.slow

# A person is asked once whether tools of a server may be used; here nobody can be.
ALLOWED = {"claude": ("--allowedTools", "mcp__recollect__memory_search")}
DECISION = "We use port 5544 for postgres in this project, because 5433 is taken by the old cluster."
QUESTION = "Which port should the postgres container of this project listen on?"


@pytest.fixture
def installed(bare: Host) -> Host:
    bare.recollect("install", bare.agent.name)
    return bare


def texts(request: Request) -> list[str]:
    """Every text in a request."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            for each in value.values():
                walk(each)
        elif isinstance(value, list):
            for each in value:
                walk(each)

    walk(request)
    return found


def block_in(request: Request) -> str:
    """The block of ours that a request holds. Gemini CLI escapes the brackets of what hooks say."""
    shown = [html.unescape(text) if "<hook_context>" in text else text for text in texts(request)]
    found = [block[0] for text in shown if MARK in text for block in BLOCK.finditer(text)]
    return next((block for block in found if "5544" in block), "")


def search(question: str) -> Callable[[Request], Call]:
    """Ask the memory server, by the name under which the agent offers it."""

    def call(request: Request) -> Call:
        found = [tool for tool in offered(request) if tool[0].endswith("memory_search")]
        assert found, f"memory_search is not offered: {offered(request)}"
        return Call(found[0][0], {"query": question}, found[0][1])

    return call


def test_the_next_run_begins_with_what_the_last_one_was_told(installed: Host) -> None:
    installed.run(DECISION, Say("Noted."))
    installed.drain()
    before = len(installed.model.requests)
    installed.run("Say hello.", Say("Hello."))
    block = block_in(installed.model.requests[before])
    assert block.startswith(OPENING)
    assert "\n> We use port 5544 for postgres" in block
    assert "not instructions" in block
    assert len(block) <= 10_000
    assert len(block) / 3 <= 2_500


def test_what_was_shown_is_kept_apart_from_what_was_said(installed: Host) -> None:
    """The person's words stay the person's, to the letter, beside a block at the start and one on the prompt."""
    installed.run(DECISION, Say("Noted."))
    installed.drain()
    installed.run("Say hello.", Say("Hello."))
    installed.recollect("config", "set", "inject_start", "false")
    installed.drain()
    installed.run(QUESTION, Say("5544."))
    installed.drain()
    installed.recollect("sweep")  # the server may have read a session that OpenCode had not quite done with
    events = installed.events()
    assert said(events, "user_prompt") == [DECISION, "Say hello.", QUESTION]
    assert [event.text for event in events if "5544" in event.text and event.kind == "injected_context"] == []
    assert installed.covered()


def test_a_prompt_is_answered_from_memory_when_it_asks(installed: Host) -> None:
    installed.recollect("config", "set", "inject_start", "false")
    installed.run(DECISION, Say("Noted."))
    installed.drain()
    before = len(installed.model.requests)
    installed.run("Write a haiku about rivers and stones.", Say("Rivers."))
    assert not block_in(installed.model.requests[before])
    before = len(installed.model.requests)
    installed.run(QUESTION, Say("5544."))
    assert block_in(installed.model.requests[before])


def test_the_model_finds_it_by_asking_the_memory_server(installed: Host) -> None:
    installed.run(DECISION, Say("Noted."))
    installed.drain()
    installed.run(QUESTION, search("postgres port"), Say("5544."), options=ALLOWED.get(installed.agent.flavor, ()))
    assert "5544" in last_result(installed.model.requests[-1])


def test_what_was_shown_is_not_taken_for_new(installed: Host) -> None:
    """T03: three runs that are shown the same block leave one memory."""
    installed.run(DECISION, Say("Noted."))
    for _ in range(3):
        installed.drain()
        installed.run("Say hello.", Say("Hello. We use port 5544 for postgres."))
    installed.drain()
    memories = installed.recollect("list")["memories"]
    assert len([one for one in memories if "5544" in one["content"] and one["trust"] == "user"]) == 1
    assert all(one["trust"] == "quoted" for one in memories if one["origin"] != "user")


def test_uninstall_leaves_the_home_as_it_was(bare: Host) -> None:
    before = {path: path.read_bytes() for path in bare.home.rglob("*") if path.is_file()}
    bare.recollect("install", bare.agent.name)
    bare.recollect("uninstall", bare.agent.name)
    after = {path: path.read_bytes() for path in bare.home.rglob("*") if path.is_file()}
    assert after == before
