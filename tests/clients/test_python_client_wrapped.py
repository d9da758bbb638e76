"""The wrappers on a memory at an address: the memory tool and the chat wrapper work there as on a data directory."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest

from recollect.client import AsyncClient, Client
from recollect.wrap import MemoryTool, remembering
from tests.clients.places_fixture import Server
from tests.flow.chat_fixture import AsyncChatClient, ChatClient, Service
from tests.flow.chat_fixture import chat_service as chat_service

pytestmark = pytest.mark.slow

ASKED, KNOWN = "Which port does the staging database listen on?", "The staging database listens on port 6543."


@pytest.mark.parametrize("opening", ["data-dir", "client"], indirect=True)
def test_the_memory_tool_keeps_its_files_there(opening: Callable[..., Any]) -> None:
    tool = MemoryTool(opening())
    commands: list[dict[str, Any]] = [
        {"command": "create", "path": "/memories/work/plan.md", "file_text": "1. dig\n2. plant\n"},
        {"command": "create", "path": "/memories/empty", "file_text": ""},
        {"command": "str_replace", "path": "/memories/work/plan.md", "old_str": "plant", "new_str": "plant trees"},
        {"command": "insert", "path": "/memories/work/plan.md", "insert_line": 2, "insert_text": "3. water\n"},
        {"command": "rename", "old_path": "/memories/work", "new_path": "/memories/garden"},
        {"command": "delete", "path": "/memories/empty"},
    ]
    assert [tool.run(command).is_error for command in commands] == [False] * 6
    assert tool.run({"command": "view", "path": "/memories/garden/plan.md"}).text.split("\n")[1:] == [
        "     1\t1. dig",
        "     2\t2. plant trees",
        "     3\t3. water",
        "     4\t",
    ]
    assert tool.run({"command": "view", "path": "/memories"}).text.endswith(
        "31B\t/memories\n31B\t/memories/garden/\n31B\t/memories/garden/plan.md"
    )
    assert tool.run({"command": "view", "path": "/memories/work"}).is_error
    other = MemoryTool(opening("another-project"))
    assert other.run({"command": "view", "path": "/memories/garden"}).is_error


@pytest.mark.parametrize("opening", ["client"], indirect=True)
def test_many_files_are_all_listed(opening: Callable[..., Any]) -> None:
    tool = MemoryTool(opening())
    for number in range(105):
        tool.run({"command": "create", "path": f"/memories/file{number:03}", "file_text": f"number {number}"})
    rows = tool.run({"command": "view", "path": "/memories"}).text.split("\n")[2:]
    assert [row.split("/")[-1] for row in rows] == [f"file{number:03}" for number in range(105)]


def test_a_chat_remembers_at_an_address(server: Server, chat_service: Service) -> None:
    with Client(server.url, key=server.key, user="chatting") as memory, ChatClient(chat_service.url) as inner:
        memory.remember(KNOWN)
        remembering(inner, memory, "chat:9").messages.create(messages=[{"role": "user", "content": ASKED}])
        assert f"> {KNOWN}" in chat_service.asked[-1]["messages"][-1]["content"]
        assert [(event.role, event.text) for event in memory.history("chat:9")] == [
            ("user", ASKED),
            ("assistant", "Noted."),
        ]


def test_an_awaited_chat_remembers_at_an_address(server: Server, chat_service: Service) -> None:
    async def talk() -> list[str]:
        async with AsyncClient(server.url, key=server.key, user="awaiting") as memory:
            await memory.remember(KNOWN)
            async with AsyncChatClient(chat_service.url) as inner:
                wrapped = remembering(inner, memory, "chat:9")
                await wrapped.chat.completions.create(messages=[{"role": "user", "content": ASKED}])
            return [event.text for event in await memory.history("chat:9")]

    assert asyncio.run(talk()) == [ASKED, "Noted."]
    assert f"> {KNOWN}" in chat_service.asked[-1]["messages"][-1]["content"]


def test_a_server_that_is_away_fails_no_chat(chat_service: Service) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Client(f"http://127.0.0.1:{port}", key="k" * 40) as memory, ChatClient(chat_service.url) as inner:
        answer = remembering(inner, memory, "s").messages.create(messages=[{"role": "user", "content": ASKED}])
    assert answer.content[0].text == "Noted."
    assert chat_service.asked[-1]["messages"][-1]["content"] == ASKED
