"""What the server does while nobody asks: reads what hooks told of, makes vectors after a search, costs little."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect, Scope, hook, warmwire
from recollect.mcp import keeper
from recollect.mcp.keeper import Keeper
from recollect.mcp.vectors import FEW
from recollect.models.tiny import TinyEmbedder
from recollect.pipeline.spooled import records
from recollect.settings import load
from tests.flow.mcp_fixture import Talk, Tools
from tests.flow.transcripts_fixture import Agents, uid
from tests.llm_fixture import Endpoint, send


def tell(data_dir: Path, session: str, path: Path | None) -> None:
    """What a hook of Claude Code leaves."""
    told = {"session_id": session, "transcript_path": path, "hook_event_name": "Stop", "cwd": "/srv/app"}
    hook.capture(str(data_dir), "claude", json.dumps(told, default=str).encode(), {})


def until(true: Callable[[], Any], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(true())


def test_what_hooks_told_of_is_read_in_the_background(talk: Callable[..., Talk], own_home: Path) -> None:
    """A record that waited, and one that comes while it runs; nobody called a tool."""
    data_dir, agents = load().settings.data_dir, Agents(own_home)
    first, second = uid("one"), uid("two")
    tell(data_dir, first, agents.claude(first, 2))
    server = talk()
    server.greet()
    assert until(lambda: not records(data_dir))
    tell(data_dir, second, agents.claude(second, 2))
    assert until(lambda: not records(data_dir))
    assert server.end() == (0, "")
    with Recollect.open(scope=Scope(), background=False) as memory:
        assert {session.id for session in memory.sessions()} == {f"claude:{first}", f"claude:{second}"}


def test_a_record_that_has_to_wait_is_tried_ever_more_rarely(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, own_home: Path
) -> None:
    drained: list[int] = []
    monkeypatch.setattr(keeper, "SECONDS", 0.02)
    real = Recollect.drain
    monkeypatch.setattr(Recollect, "drain", lambda self: (drained.append(1), real(self))[1])
    tell(tools.data_dir, uid("late"), own_home / ".claude" / "projects" / "x" / "not-there-yet.jsonl")
    keeping = Keeper(tools.opened)
    keeping.start()
    assert until(lambda: len(drained) >= 2)
    time.sleep(1)
    assert len(drained) <= 8  # of fifty looks
    tell(tools.data_dir, uid("new"), None)  # one that can be read at once
    assert until(lambda: len(records(tools.data_dir)) == 1)
    assert keeping.stop(5)


def test_nothing_is_opened_while_there_is_nothing_to_do(tools: Tools) -> None:
    keeping = Keeper(tools.opened)
    keeping.start()
    time.sleep(0.3)
    assert keeping.stop(5)
    assert not tools.data_dir.exists()


def test_work_that_fails_takes_nothing_down(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "SECONDS", 0.02)
    tries: list[int] = []

    def broken(self: Recollect) -> None:
        tries.append(1)
        raise OSError("the disk is gone")

    monkeypatch.setattr(Recollect, "drain", broken)
    tell(tools.data_dir, uid("one"), None)
    keeping = Keeper(tools.opened)
    keeping.start()
    assert until(lambda: len(tries) >= 2)
    assert keeping.stop(5)


def vectors(handler: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
    """An embedder's server."""
    made = TinyEmbedder().embed(asked["input"]).tolist()
    rows = [{"index": place, "embedding": row} for place, row in enumerate(made)]
    send(handler, 200, json.dumps({"data": rows}).encode())


def test_vectors_that_wait_are_made_after_a_search(make_tools: Callable[..., Tools], endpoint: Endpoint) -> None:
    """Many afterwards; a few before it is answered."""
    endpoint.answers = [vectors]
    tools = make_tools(embedder="remote", embedding_url=endpoint.url, embedding_model="m", embedding_dim=64)
    waiting = tools.memory.store.vectors.pending
    for number in range(FEW + 1):
        tools.memory.record("s1", "user", f"The heron stands still {number}")
    keeping = Keeper(tools.opened)
    keeping.start()
    tools.text("memory_status")
    time.sleep(0.2)
    assert (waiting(), endpoint.calls) == (FEW + 1, 0)
    assert "words alone" in tools.text("memory_search", query="heron")
    assert until(lambda: waiting() == 0)
    assert keeping.stop(5)
    tools.memory.record("s1", "user", "A stork")
    assert "words and meaning" in tools.text("memory_search", query="stork")
    assert waiting() == 0


def test_what_an_agent_forgot_is_not_shown_to_the_next_one(tools: Tools) -> None:
    """Not only when the server ends: the next session may start before."""

    def shown() -> bool:
        return any(b"heron" in file.read_bytes() for file in tools.data_dir.glob("prepared/**/*") if file.is_file())

    kept = tools.memory.remember("Call the release branch heron", kind="preference")
    tools.memory.prepare()
    assert shown()
    keeping = Keeper(tools.opened)
    keeping.start()
    tools.text("memory_forget", ids=[kept.id])
    assert until(lambda: not shown())
    assert keeping.stop(5)


def answers(data_dir: Path) -> bool:
    """Whether somebody answers the hooks of prompts."""
    folder = os.open(data_dir, os.O_RDONLY)
    try:
        where = warmwire.address(str(data_dir), folder)
        request = warmwire.pack({"agent": b"claude", "session": b"s", "cwd": b"/", "prompt": b"where do herons stand"})
        assert where
        return "state" in warmwire.ask(where, request, time.monotonic() + 2)
    except (OSError, ValueError):
        return False
    finally:
        os.close(folder)


def test_one_of_the_servers_answers_the_hooks_of_prompts(talk: Callable[..., Talk]) -> None:
    """The next takes over when it is killed, and nothing is left when the last one ends."""
    data_dir = load().settings.data_dir
    data_dir.mkdir(mode=0o700, parents=True)
    first, second = talk(), talk()
    first.greet()
    assert until(lambda: answers(data_dir))
    second.greet()
    first.process.kill()
    first.process.wait()
    assert until(lambda: answers(data_dir))
    assert second.end() == (0, "")
    assert not (data_dir / warmwire.SOCKET).exists()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_an_idle_server_costs_next_to_nothing(talk: Callable[..., Talk]) -> None:
    server = talk()
    server.greet()
    server.ask("ping")

    def used() -> float:
        fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    time.sleep(0.5)
    before = used()
    time.sleep(5)
    assert used() - before <= 0.05
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    resident = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
    assert resident < 100_000
