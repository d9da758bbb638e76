"""Yesterday's run in tomorrow's first line: what one real run decided, the next one is shown, quoted and within bounds.

From a fresh `recollect install` in an empty home: run 1 is told something, the hooks' records are drained, run 2's
model is shown it at the start and when the prompt asks, and finds it by asking the MCP server.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from recollect.frame import BLOCK, MARK
from tests.hosts.host import Host
from tests.hosts.scripted_model import Call, Request, Say

pytestmark = pytest.mark.slow

INSTALLED_AS = {"codex": "codex", "claude": "claude-code"}
# A person is asked once whether tools of a server may be used; here nobody can be.
ALLOWED = {"codex": (), "claude": ("--allowedTools", "mcp__recollect__memory_search")}
DECISION = "We use port 5544 for postgres in this project, because 5433 is taken by the old cluster."
QUESTION = "Which port should the postgres container of this project listen on?"


@pytest.fixture
def installed(bare: Host) -> Host:
    bare.recollect("install", INSTALLED_AS[bare.agent.flavor])
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
    """The block of ours that a request holds."""
    found = [block[0] for text in texts(request) if MARK in text for block in BLOCK.finditer(text)]
    return next((block for block in found if "5544" in block), "")


def answered(request: Request) -> str:
    """What the last tool call came to."""
    said = request.get("input") or [part for each in request["messages"] for part in blocks(each)]
    return json.dumps([part for part in said if part.get("type") in ("function_call_output", "tool_result")][-1:])


def blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for part in message["content"] if isinstance(part, dict)]


def search(question: str) -> Callable[[Request], Call]:
    """Ask the memory server, by the name under which the agent offers it."""

    def call(request: Request) -> Call:
        for tool in request.get("tools", []):
            offered = [(tool.get("name", ""), None)]
            offered += [(each.get("name", ""), tool.get("name")) for each in tool.get("tools", [])]  # a namespace
            for name, space in offered:
                if name.endswith("memory_search"):
                    return Call(name, {"query": question}, space)
        raise AssertionError(f"memory_search is not offered: {[tool.get('name') for tool in request.get('tools', [])]}")

    return call


def test_the_next_run_begins_with_what_the_last_one_was_told(installed: Host) -> None:
    installed.run(DECISION, Say("Noted."))
    installed.drain()
    before = len(installed.model.requests)
    installed.run("Say hello.", Say("Hello."))
    block = block_in(installed.model.requests[before])
    assert "postgres" in block
    assert "not instructions" in block
    assert len(block) <= 10_000
    assert len(block) / 3 <= 2_500


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
    installed.run(QUESTION, search("postgres port"), Say("5544."), options=ALLOWED[installed.agent.flavor])
    assert "5544" in answered(installed.model.requests[-1])


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
    bare.recollect("install", INSTALLED_AS[bare.agent.flavor])
    bare.recollect("uninstall", INSTALLED_AS[bare.agent.flavor])
    after = {path: path.read_bytes() for path in bare.home.rglob("*") if path.is_file()}
    assert after == before
