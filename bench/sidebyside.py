"""Two versions of the server under the same crowd: both stand at once over one store, and are asked in turn.

    git worktree add /tmp/before HEAD~1
    python bench/sidebyside.py /tmp/before/src src [--store postgres] [--users 50] [--memories 10000] [--connections 50]
                               [--warm 70] [--seconds 8] [--rounds 6]

A machine that others share is a third quicker in one minute than in the next; in turn, and by the median of several
rounds, a few percent can be seen. The pace before and after each round tells in which of them it was: the milliseconds
that the idle machine takes for a piece of work that is always the same. `--warm`: until PostgreSQL's words of 50 users
are at hand, which takes 64 questions of each in each process.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import psycopg

from corpus import Corpus
from load import QUESTIONS, Remembering, Service, crowd, fill, searches, served
from postgres import database
from recollect.settings import Settings
from recollect.store.opening import open_store


@contextmanager
def standing(tree: Path, settings: Settings, keys: tuple[str, ...], texts: tuple[str, ...]) -> Iterator[Service]:
    """The server of a source tree."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(tree.resolve())
    with ExitStack() as stack:
        try:
            service = stack.enter_context(served(settings, 2, keys, texts))
        finally:
            os.environ.pop("PYTHONPATH")
            if before is not None:
                os.environ["PYTHONPATH"] = before
        yield service


def busy() -> int:
    """What all processors have worked, in hundredths of a second."""
    user, nice, system, _, _, irq, soft, *_ = map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:])
    return user + nice + system + irq + soft


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--store", choices=["sqlite", "postgres"], default="postgres")
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--warm", type=float, default=70)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=6)
    options = parser.parse_args()
    corpus = Corpus(7)
    memories = [corpus.memory() for _ in range(options.memories)]
    texts = tuple(memory.content for memory in memories)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(database(None)) if options.store == "postgres" else ""
        settings = Settings(data_dir=folder / "data", database_url=url)
        store = open_store(settings)
        model = Remembering()
        keys = fill(store, options.users, memories, model)
        store.close()
        if url:
            with psycopg.connect(url, autocommit=True) as owner:
                owner.execute("VACUUM ANALYZE")
        services = [stack.enter_context(standing(tree, settings, keys, texts)) for tree in options.trees]
        asked = searches(services[0], Corpus(11), QUESTIONS)
        for service in services:
            crowd(service, folder, asked, 20, options.warm)
        print("| round | tree | p50 | p95 | processor a search | pace before | after |\n|---|---|---|---|---|---|---|")
        seen: dict[Path, list[tuple[float, ...]]] = {tree: [] for tree in options.trees}
        for number in range(options.rounds):
            turns = list(zip(options.trees, services, strict=True))
            for tree, service in turns if number % 2 else reversed(turns):
                pace, began = model.pace(), busy()
                found = crowd(service, folder, asked, options.connections, options.seconds)
                spent = (busy() - began) * 10 / len(found["spent"])
                seen[tree].append((found["p50"], found["p95"], spent, pace, model.pace()))
                print(_row(str(number + 1), tree, *seen[tree][-1]), flush=True)
        for tree, rounds in seen.items():
            print(_row("median", tree, *map(median, zip(*rounds, strict=True))))


def _row(number: str, tree: Path, p50: float, p95: float, spent: float, before: float, after: float) -> str:
    return f"| {number} | {tree} | {p50:.1f} ms | {p95:.1f} ms | {spent:.2f} ms | {before:.0f} | {after:.0f} |"


if __name__ == "__main__":
    main()
