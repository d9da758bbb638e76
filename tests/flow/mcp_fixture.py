"""MCP for tests: `talk` starts a real server and speaks to it line by line, `tools` calls tools in this process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect, Scope
from recollect.cli.opening import Place
from recollect.mcp.answering import Answering
from recollect.mcp.opened import Opened
from recollect.mcp.protocol import Result
from recollect.project import resolve
from recollect.settings import load

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Talk:
    """One `recollect mcp` and its two pipes."""

    def __init__(self, cwd: Path, *words: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "recollect", "mcp", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, **(env or {})},
        )
        self._last = 0

    def send(self, message: Any) -> None:
        assert self.process.stdin
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """A request and its answer, whatever else comes in between."""
        self._last += 1
        self.send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params or {}})
        while (answer := self.hear()).get("id") != self._last:
            pass
        return dict(answer)

    def greet(self, **capabilities: Any) -> dict[str, Any]:
        answer = self.ask("initialize", {**HELLO, "capabilities": capabilities})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def tool(self, name: str, **arguments: Any) -> str:
        """What a tool said; it must not have failed."""
        result = self.ask("tools/call", {"name": name, "arguments": arguments})["result"]
        assert result["isError"] is False, result
        return str(result["content"][0]["text"])

    def end(self, timeout: float = 10) -> tuple[int, str]:
        """Close its input, wait for it, and give its code and what it wrote to standard error."""
        assert self.process.stdin
        self.process.stdin.close()
        code = self.process.wait(timeout)
        assert self.process.stderr
        return code, self.process.stderr.read().decode()

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                stream.close()


@pytest.fixture
def talk(work: Path, own_home: Path) -> Iterator[Callable[..., Talk]]:
    """Starts servers in the working directory (or another) and ends them after the test."""
    started: list[Talk] = []

    def start(*words: str, cwd: Path | None = None, **given: Any) -> Talk:
        started.append(Talk(cwd or work, *words, **given))
        return started[-1]

    yield start
    for one in started:
        one.kill()


class Tools:
    """The tools on a data directory, called in this process; `memory` is the same store for arranging."""

    def __init__(self, data_dir: Path, work: Path, **settings: Any) -> None:
        self.data_dir = data_dir
        loaded = load(data_dir=data_dir, **{"embedder": "none", **settings})
        project = resolve(work).name
        self.place = Place(loaded, Scope().within(project), "directory", str(work))
        self.opened = Opened(lambda: self.place)
        self._answering = Answering(self.opened)

    @property
    def memory(self) -> Recollect:
        return self.opened.memory()

    def call(self, name: str, **arguments: Any) -> Result:
        return self._answering.call(name, arguments)

    def text(self, name: str, **arguments: Any) -> str:
        """What a tool said; it must not have failed."""
        result = self.call(name, **arguments)
        assert not result.is_error, result.text
        return result.text

    def error(self, name: str, **arguments: Any) -> str:
        """What a tool said went wrong."""
        result = self.call(name, **arguments)
        assert result.is_error, result.text
        return result.text


@pytest.fixture
def make_tools(tmp_path: Path, work: Path) -> Iterator[Callable[..., Tools]]:
    made: list[Tools] = []

    def make(**settings: Any) -> Tools:
        made.append(Tools(tmp_path / "data", work, **settings))
        return made[-1]

    yield make
    for one in made:
        one.opened.close()


@pytest.fixture
def tools(make_tools: Callable[..., Tools]) -> Tools:
    return make_tools()


class Served:
    """One `recollect mcp --http` on a free port."""

    def __init__(self, cwd: Path, data_dir: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "recollect", "mcp", "--http", "--port", "0", "--data-dir", str(data_dir), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
        )
        assert self.process.stderr
        self.note = self.process.stderr.readline().decode()
        self.url = self.note.split()[1].rstrip(".")
        self.port = int(self.url.rpartition(":")[2].partition("/")[0])
        self.token = (data_dir / "mcp.token").read_text().strip()

    def end(self) -> tuple[int, bytes, bytes]:
        """Tell it to stop; its code, and what it wrote."""
        self.process.terminate()
        out, err = self.process.communicate(timeout=10)
        return self.process.returncode, out, err

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()


@pytest.fixture
def served(work: Path, tmp_path: Path, own_home: Path) -> Iterator[Served]:
    server = Served(work, tmp_path / "data")
    yield server
    server.kill()
