"""How long an agent waits for the hook, beside a bare interpreter started the same way in the same run.

In: how many starts. Out: one table line a figure: the hook, `python -I -S -c pass`, and what the hook adds; alone, and
several at once. The two are started in turns, so that a busy neighbour disturbs both.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOOK = ROOT / "src" / "recollect" / "hook.py"
BARE = (sys.executable, "-I", "-S", "-c", "pass")
GOALS = {1: 25.0, 8: 150.0}  # milliseconds that the hook may add at p95, by how many run at once


@dataclass(frozen=True, slots=True)
class Figure:
    """One line: a percentile of the hook and of a bare interpreter, in milliseconds."""

    at_once: int
    share: int
    hook: float
    bare: float

    @property
    def added(self) -> float:
        return self.hook - self.bare

    def line(self) -> str:
        """The line of the table."""
        goal = GOALS.get(self.at_once) if self.share == 95 else None
        verdict = "" if goal is None else f"<= {goal:.0f} ms: {'met' if self.added <= goal else 'MISSED'}"
        ratio = f"{self.hook / self.bare:.2f}"
        return (
            f"| {self.at_once} | p{self.share} | {self.hook:.1f} ms | {self.bare:.1f} ms | "
            f"{self.added:+.1f} ms | {ratio} | {verdict} |"
        )


def payload(size: int) -> bytes:
    """What an agent writes when a turn is over."""
    message = ("The deploy goes out on Friday. " * (size // 31 + 1))[:size]
    return json.dumps(
        {
            "session_id": "0199c0de-0000-7000-8000-000000000001",
            "transcript_path": "/home/ann/.claude/projects/app/0199c0de-0000-7000-8000-000000000001.jsonl",
            "cwd": "/home/ann/app",
            "hook_event_name": "Stop",
            "last_assistant_message": message,
        }
    ).encode()


def waits(command: Sequence[str], stdin: bytes, at_once: int) -> list[float]:
    """Seconds from start to end of each of several processes started together."""
    began: dict[int, float] = {}
    running = []
    for _ in range(at_once):
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, bufsize=0)
        began[process.pid] = start
        running.append(process)
    for process in running:
        assert process.stdin
        try:
            process.stdin.write(stdin)
            process.stdin.close()
        except BrokenPipeError:
            pass  # the bare interpreter reads nothing
    taken = []
    while began:
        pid, status = os.waitpid(-1, 0)
        taken.append(time.perf_counter() - began.pop(pid))
        assert status == 0, command
    for process in running:
        process.returncode = 0  # already waited for
    return taken


def percentile(times: Sequence[float], share: int) -> float:
    """In milliseconds, of times in seconds; the smallest that this share does not exceed."""
    ordered = sorted(times)
    return 1000 * ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def measure(folder: Path, starts: int, at_once: int, size: int) -> list[Figure]:
    """Start hook and bare interpreter in turns, `starts` of each."""
    data_dir, stdin = folder / "data", payload(size)
    hook = (sys.executable, "-I", "-S", str(HOOK), str(data_dir), "claude")
    waits(hook, stdin, at_once), waits(BARE, stdin, at_once)  # the first start reads files and makes the key
    taken: dict[tuple[str, ...], list[float]] = {hook: [], BARE: []}
    for turn in range(-(-starts // at_once)):
        for command in (hook, BARE) if turn % 2 else (BARE, hook):
            taken[command] += waits(command, stdin, at_once)
    written = len(list((data_dir / "spool").glob("*.record")))
    assert written == len(taken[hook]) + at_once, f"{written} records"
    return [Figure(at_once, share, *(percentile(times, share) for times in taken.values())) for share in (50, 95)]


def arguments(given: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=100, help="of each, alone; eight times as many at once")
    parser.add_argument("--size", type=int, default=2_000, help="characters of the message on stdin")
    parser.add_argument("--work-dir", type=Path, help="where the spool is (default: the temporary folder)")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    """Measure and print."""
    args = arguments(given)
    print(f"machine: {os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}; ", end="")
    print(f"load {os.getloadavg()[0]:.2f}\n")
    print("| at once | share | hook | bare python | added | ratio | goal |\n|---|---|---|---|---|---|---|")
    for at_once in GOALS:
        folder = Path(tempfile.mkdtemp(prefix="recollect-bench-", dir=args.work_dir))
        try:
            for figure in measure(folder, args.starts * at_once, at_once, args.size):
                print(figure.line(), flush=True)
        finally:
            shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
