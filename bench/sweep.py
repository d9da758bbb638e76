"""How fast capture is on real transcripts: reading, the whole sweep, sweeping again, and the memory a huge file takes.

In: a directory with one folder of transcripts an agent (`claude/`, `codex/`, …), as `--source` takes them. Out: one
line a figure, beside the goal. Reading is held against `orjson.loads` over the same lines in the same run; machines and
neighbours differ, so compare the ratios.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from recollect.capture.redact import Redactor
from recollect.capture.sources import FLAVORS, source
from recollect.capture.transcript import Reading, Transcript
from recollect.clock import now
from recollect.model import Event, Scope
from recollect.pipeline.roots import discover
from recollect.pipeline.sweep import Report, sweep
from recollect.settings import Settings
from recollect.store.sqlite.store import SqliteStore

WHO = Scope("bench", "us")


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number."""

    name: str
    value: str
    goal: str
    reached: bool


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, help="directory with one folder of transcripts an agent")
    parser.add_argument("--files", type=int, default=1_000, help="files in the sweep of unchanged data (default 1000)")
    parser.add_argument("--huge", type=int, default=300, help="size in MB of the huge file (default 300)")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many (default 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--measure-memory", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure_memory:
        return measure_memory(args.path, args.measure_memory)
    figures = list(run(args))
    if args.json:
        print(json.dumps([asdict(figure) for figure in figures], indent=2))
        return 0
    for figure in figures:
        mark = "ok  " if figure.reached else "MISS"
        print(f"{mark}  {figure.name:<44} {figure.value:>30}   goal {figure.goal}")
    return 0


def run(args: argparse.Namespace) -> Iterator[Figure]:
    found = transcripts(args.path)
    size = sum(file.stat().st_size for each in found for file in each.files) / 1e6
    yield Figure("transcripts", f"{len(found)} files, {size:.1f} MB", "-", True)
    lines = [each for each in found if each.path.suffix == ".jsonl"]
    text = sum(each.path.stat().st_size for each in lines) / 1e6
    bare = min(parse_alone(lines) for _ in range(args.rounds))
    read = min(read_all(lines) for _ in range(args.rounds))
    yield Figure("orjson.loads over the same lines", f"{text / bare:.0f} MB/s", "-", True)
    yield Figure("read and normalise", f"{text / read:.0f} MB/s", ">= 100 MB/s", text / read >= 100)
    yield Figure("  in the time of orjson alone", f"{read / bare:.2f} x", "<= 3 x", read <= 3 * bare)
    yield from redaction(lines)
    with tempfile.TemporaryDirectory() as folder:
        took, again = min(swept(found, Path(folder) / str(n)) for n in range(args.rounds))
        yield Figure("whole sweep, redacted and stored", f"{size / took:.1f} MB/s", ">= 15 MB/s", size / took >= 15)
        yield Figure("  the same again", f"{again * 1000:.0f} ms", "-", True)
    yield many_files(found, args.files)
    yield huge_file(args.huge)


def transcripts(path: Path) -> list[Transcript]:
    places = {flavor: [path / flavor] for flavor in FLAVORS if (path / flavor).is_dir()}
    return list(discover(Settings(), places))


def parse_alone(found: list[Transcript]) -> float:
    began = time.perf_counter()
    for each in found:
        for line in each.path.read_bytes().split(b"\n"):
            with contextlib.suppress(ValueError):
                orjson.loads(line)
    return time.perf_counter() - began


def read_all(found: list[Transcript]) -> float:
    began = time.perf_counter()
    for each in found:
        for _ in source(each.flavor).read(Reading(each, now())):
            pass
    return time.perf_counter() - began


def redaction(found: list[Transcript]) -> Iterator[Figure]:
    """Over every text the sweep would keep; `bench/redaction.py` looks at every string, and at hostile ones."""
    texts = [
        item.text
        for each in found
        for item in source(each.flavor).read(Reading(each, now()))
        if isinstance(item, Event)
    ]
    size = sum(len(text.encode("utf-8", "replace")) for text in texts) / 1e6
    redactor = Redactor(b"k" * 32)
    began = time.perf_counter()
    for text in texts:
        redactor.redact(text)
    speed = size / (time.perf_counter() - began)
    yield Figure(f"redaction of {size:.0f} MB of kept text", f"{speed:.0f} MB/s", ">= 20 MB/s", speed >= 20)


def swept(found: list[Transcript], folder: Path) -> tuple[float, float]:
    """Seconds of a first sweep into an empty store, and of a second one."""
    store = SqliteStore(folder)
    settings = Settings(data_dir=folder)
    began = time.perf_counter()
    report = sweep(store, WHO, settings, now, found)
    first = time.perf_counter() - began
    assert not report.failed, report.problems
    began = time.perf_counter()
    second = sweep(store, WHO, settings, now, found)
    took = time.perf_counter() - began
    assert second.skipped_unchanged == len(found), second
    store.close()
    shutil.rmtree(folder)
    return first, took


def many_files(found: list[Transcript], count: int) -> Figure:
    """A second sweep of many small files, found anew: what a sweep costs when nothing happened."""
    small = min((each for each in found if each.flavor == "claude"), key=lambda each: each.path.stat().st_size)
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder) / "logs"
        logs.mkdir()
        for number in range(count):
            shutil.copyfile(small.path, logs / f"00000000-0000-4000-8000-{number:012d}.jsonl")
        store, settings = SqliteStore(Path(folder) / "data"), Settings(data_dir=Path(folder) / "data")

        def once() -> Report:
            return sweep(store, WHO, settings, now, discover(settings, {"claude": [logs]}))

        once()
        began = time.perf_counter()
        report = once()
        took = (time.perf_counter() - began) * 1_000 / count
        assert report.skipped_unchanged == count
        store.close()
    return Figure(f"unchanged, {count} files, per 1,000", f"{took:.3f} s", "<= 1 s", took <= 1)


def huge_file(megabytes: int) -> Figure:
    """Peak memory of a process that sweeps one file of this size."""
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder) / "claude"
        logs.mkdir()
        _write_huge(logs / "11111111-1111-4111-8111-111111111111.jsonl", megabytes)
        command = [sys.executable, __file__, str(folder), "--measure-memory", str(Path(folder) / "data")]
        peak = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024
    return Figure(f"peak memory, one file of {megabytes} MB", f"{peak:.0f} MB", "<= 200 MB", peak <= 200)


def _write_huge(path: Path, megabytes: int) -> None:
    text = "The build failed in the second step because the cache was cold. " * 400
    with path.open("w", encoding="utf-8") as file:
        number = 0
        while file.tell() < megabytes * 1_000_000:
            number += 1
            role = "user" if number % 50 == 1 else "assistant"
            content: object = f"step {number}?" if role == "user" else [{"type": "text", "text": f"{number} {text}"}]
            record = {
                "type": role,
                "uuid": f"22222222-2222-4222-8222-{number:012d}",
                "sessionId": "11111111-1111-4111-8111-111111111111",
                "cwd": "/w",
                "version": "2.1.0",
                "timestamp": "2026-01-02T03:04:05.000Z",
                "message": {"role": role, "content": content},
            }
            file.write(json.dumps(record) + "\n")


def measure_memory(path: Path, data: Path) -> int:
    store = SqliteStore(data)
    report = sweep(store, WHO, Settings(data_dir=data), now, transcripts(path))
    assert report.ingested == 1, report
    store.close()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
