"""What it costs to lay ready what agents are shown: the first time, when nothing changed, and after one memory more.

In: how many memories, in how many projects, each with a directory that a session ran in. Out: one line a size.

    python bench/prepare.py [--sizes 100x5 1000x10 10000x20]
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from pathlib import Path

from recollect import Recollect, Scope
from recollect.distill.memory import new_memory
from recollect.model import Session

WORDS = [f"{first}{last}" for first in "bdfgklmnprst" for last in ("ano", "elo", "iru", "osa", "umi", "ake", "ira")]


def fill(memory: Recollect, folder: Path, memories: int, projects: int) -> None:
    """Memories a user said, spread over the projects; written without settling, which is not what is measured."""
    chance, at = random.Random(4), memory._clock()
    for number in range(projects):
        place = folder / f"project-{number}"
        place.mkdir()
        about = Session(f"claude:{number}", "claude", cwd=str(place))
        memory.store.sessions.ensure(memory.scope.within(f"p{number}"), about.id, at=at, facts=about)
    for number in range(memories):
        said = " ".join(chance.choices(WORDS, k=8))
        given = {"content": f"Service {number} uses {said}.", "kind": "fact"}
        made = new_memory(given, project=f"p{number % projects}", now=at)
        memory.store.memories.add(memory.scope, made)


def measured(memory: Recollect) -> float:
    began = time.perf_counter()
    memory.prepare()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["100x5", "1000x10", "10000x20"], metavar="NxP")
    print(f"machine: {os.cpu_count()} cores; load {os.getloadavg()[0]:.2f}\n")
    print("| memories / projects | first | nothing changed | one memory more |\n|---|---|---|---|")
    for size in parser.parse_args().sizes:
        memories, projects = map(int, size.split("x"))
        with tempfile.TemporaryDirectory(prefix="recollect-bench-") as name:
            os.environ["HOME"] = name  # no settings and no native memory of this user
            folder = Path(name) / "work"
            folder.mkdir()
            with Recollect.open(Path(name) / "data", scope=Scope(), background=False, embedder=None) as memory:
                fill(memory, folder, memories, projects)
                first, same = measured(memory), min(measured(memory) for _ in range(3))
                more = new_memory({"content": "One thing more.", "kind": "fact"}, project="p0", now=memory._clock())
                memory.store.memories.add(memory.scope, more)
                print(f"| {memories:,} / {projects} | {first:.3f} s | {same:.3f} s | {measured(memory):.3f} s |")


if __name__ == "__main__":
    main()
