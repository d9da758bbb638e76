"""How long an agent waits for the MCP server, and what the server takes while nobody asks, beside the official SDK.

In: how many starts. Out: one table line a figure: our server, the SDK's bare server (no tools at all) and a bare
interpreter, started in turns in the same run so that a busy neighbour disturbs all; from the start of the process to
the answer to `initialize`, then the resident memory: idle, and after the first call of a tool.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

GOAL_MS, GOAL_MB = 300.0, 100.0
SDK = """
import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def main():
    server = Server("bare")
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())

anyio.run(main)
"""
ECHO = "import sys; sys.stdin.readline(); sys.stdout.write('{}\\n'); sys.stdout.flush(); sys.stdin.read()"
COMMANDS = {
    "recollect mcp": (sys.executable, "-m", "recollect", "mcp"),
    "official SDK, bare server": (sys.executable, "-c", SDK),
    "python that answers a line": (sys.executable, "-c", ECHO),
}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
CALL = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "memory_search", "arguments": {"query": "deploys"}},
}


class Server:
    """One process and how long its answers take."""

    def __init__(self, command: Sequence[str], home: Path) -> None:
        env = {**os.environ, "HOME": str(home), "RECOLLECT_DATA_DIR": str(home / "data")}
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=home, env=env
        )

    def say(self, message: object) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def answer(self) -> float:
        """Seconds since the start when the next answer is there."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line.startswith(b"{"), line
        return time.perf_counter() - self.began

    def resident(self) -> float:
        """Megabytes; 0 where the system does not say."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        except OSError:
            return 0.0
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024

    def end(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


def first_answers(home: Path, starts: int) -> dict[str, list[float]]:
    """Milliseconds to the answer to `initialize`, for each command."""
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for turn in range(-1, starts):  # the first one reads files from disk and does not count
        for name, command in COMMANDS.items():
            server = Server(command, home)
            server.say(HELLO)
            if turn >= 0:
                taken[name].append(server.answer() * 1000)
            else:
                server.answer()
            server.end()
    return taken


def idle_memory(home: Path, settle: float) -> dict[str, tuple[float, float | None]]:
    """Megabytes of each command when it has been greeted and left alone; of ours also after a call."""
    found: dict[str, tuple[float, float | None]] = {}
    for name, command in COMMANDS.items():
        server = Server(command, home)
        server.say(HELLO)
        server.answer()
        server.say(READY)
        time.sleep(settle)
        idle, after = server.resident(), None
        if name == "recollect mcp":
            server.say(CALL)
            server.answer()
            after = server.resident()
        found[name] = (idle, after)
        server.end()
    return found


def percentile(times: Sequence[float], share: int) -> float:
    """The smallest that this share does not exceed."""
    ordered = sorted(times)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def verdict(met: bool, goal: str) -> str:
    return f"{goal}: {'met' if met else 'MISSED'}"


def report(taken: dict[str, list[float]], memory: dict[str, tuple[float, float | None]]) -> None:
    """The table."""
    sdk = percentile(taken["official SDK, bare server"], 50)
    print("| server | initialize p50 | p95 | idle | after a call | goal |\n|---|---|---|---|---|---|")
    for name, times in taken.items():
        half, most = percentile(times, 50), percentile(times, 95)
        idle, after = memory[name]
        goal = ""
        if name == "recollect mcp":
            goal = verdict(half <= GOAL_MS and half <= sdk, f"<= {GOAL_MS:.0f} ms and the SDK's")
            goal += "; " + verdict(idle < GOAL_MB, f"idle < {GOAL_MB:.0f} MB")
        later = f"{after:.0f} MB" if after is not None else ""
        print(f"| {name} | {half:.0f} ms | {most:.0f} ms | {idle:.0f} MB | {later} | {goal} |")


def arguments(given: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=20, help="of each (default: 20)")
    parser.add_argument("--settle", type=float, default=3.0, help="seconds before memory is looked at (default: 3)")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    """Measure and print."""
    args = arguments(given)
    print(f"machine: {os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}; ", end="")
    print(f"load {os.getloadavg()[0]:.2f}\n")
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        home = Path(folder)
        report(first_answers(home, args.starts), idle_memory(home, args.settle))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
