"""The official MCP client against the server: every tool, on standard input and over HTTP, in both ways of speaking."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp
import mcp_types
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from recollect.mcp.protocol import ENVELOPED, GREETED
from tests.flow.mcp_fixture import Served

MODES = ["legacy", "auto", "2026-07-28"]
Connect = Callable[..., Any]


@pytest.fixture(params=["stdio", "http"])
def connect(request: pytest.FixtureRequest, work: Path, own_home: Path) -> Connect:
    """Opens a client on a server of its own: over a pipe, or over HTTP with the token."""
    if request.param == "stdio":
        env = {"HOME": str(own_home), "PATH": os.environ["PATH"]}
        command = mcp.StdioServerParameters(command=sys.executable, args=["-m", "recollect", "mcp"], cwd=work, env=env)
        return lambda mode, **given: mcp.Client(command, mode=mode, **given)
    served: Served = request.getfixturevalue("served")

    @asynccontextmanager
    async def over_http(mode: str, **given: Any) -> AsyncIterator[Any]:
        async with create_mcp_http_client(headers={"Authorization": f"Bearer {served.token}"}) as http:
            transport = streamable_http_client(served.url, http_client=http)
            async with mcp.Client(transport, mode=mode, **given) as client:
                yield client

    return over_http


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await work()

    asyncio.run(bounded())


async def said(client: Any, name: str, **arguments: Any) -> str:
    result = await client.call_tool(name, arguments)
    assert result.is_error is False, result
    (content,) = result.content
    return str(content.text)


@pytest.mark.parametrize("mode", MODES)
def test_every_tool_makes_the_round_trip(connect: Connect, mode: str) -> None:
    async def work() -> None:
        async with connect(mode) as client:
            assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert len(tools) == 8
            assert tools["memory_forget"].annotations.destructive_hint is True
            assert tools["recall"].annotations.read_only_hint is True
            saved = await said(client, "memory_save", content="The lighthouse is painted red", kind="fact", why="seen")
            (id_,) = re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", saved)
            assert id_ in await said(client, "memory_search", query="lighthouse")
            assert "> The lighthouse is painted red" in await said(client, "memory_get", ids=[id_])
            assert "[fact] The lighthouse" in await said(client, "recall", query="lighthouse", record_type="")
            assert "lighthouse" in await said(client, "memory_context", query="lighthouse", max_tokens=500)
            assert id_ in await said(client, "memory_timeline", around=id_)
            assert "1 memory" in await said(client, "memory_status")
            assert "forgotten" in await said(client, "memory_forget", ids=[id_])
            assert "nothing is remembered" in await said(client, "memory_search", query="lighthouse")

    run(work)


@pytest.mark.parametrize("mode", MODES)
def test_failures_reach_the_client_as_what_they_are(connect: Connect, mode: str) -> None:
    async def work() -> None:
        async with connect(mode) as client:
            result = await client.call_tool("memory_get", {"idz": ["x"]})
            assert result.is_error is True
            assert "It takes: ids, start" in result.content[0].text
            with pytest.raises(mcp.MCPError) as refused:
                await client.call_tool("no_such_tool", {})
            assert refused.value.code == -32602
            with pytest.raises(mcp.MCPError) as unknown:
                await client.list_resources()
            assert unknown.value.code == -32601

    run(work)


def test_a_client_with_the_wrong_token_is_told(served: Served) -> None:
    async def work() -> None:
        async with (
            create_mcp_http_client(headers={"Authorization": "Bearer wrong"}) as http,
            mcp.Client(streamable_http_client(served.url, http_client=http), mode="legacy"),
        ):
            pass

    with pytest.raises(ExceptionGroup) as refused:
        run(work)
    assert refused.group_contains(mcp.MCPError, match="a bearer token is needed")


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
def test_its_roots_decide_the_project(work: Path, own_home: Path, tmp_path: Path) -> None:
    other = tmp_path / "another"
    other.mkdir()

    async def roots(context: Any) -> Any:
        return mcp_types.ListRootsResult(roots=[mcp_types.Root(uri=other.as_uri())])

    async def talk() -> None:
        env = {"HOME": str(own_home), "PATH": os.environ["PATH"]}
        command = mcp.StdioServerParameters(command=sys.executable, args=["-m", "recollect", "mcp"], cwd=work, env=env)
        async with mcp.Client(command, mode="legacy", list_roots_callback=roots) as client:
            assert f"[project: {other}]" in await said(client, "memory_status")

    run(talk)


def test_we_know_every_version_that_the_client_knows() -> None:
    assert set(HANDSHAKE_PROTOCOL_VERSIONS) <= set(GREETED)
    assert set(MODERN_PROTOCOL_VERSIONS) <= set(ENVELOPED)
