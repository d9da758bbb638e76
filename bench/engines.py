"""Vector engines against the store's own exact search: one owner, the same questions, ratios in one run.

    python bench/engines.py                        10,000 and 100,000 memories of one owner, every engine installed
    python bench/engines.py --sizes 1000           smaller
    python bench/engines.py --qdrant http://…      also a Qdrant server; without it local mode, up to 20,000

Vectors are synthetic (384 dimensions, in clusters); `recall` is how many of the true ten nearest are among the ten
found. `first` is the first question of a store that was just opened: what a short-lived program pays.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from recollect.ids import uuid7
from recollect.model import Memory, Scope
from recollect.settings import Settings
from recollect.store.opening import open_store
from recollect.store.ports.keeping import Ages
from recollect.store.ports.memories import Filter

SCOPE = Scope("bench", "ann")
DIM = 384
AT = datetime(2026, 1, 1, tzinfo=UTC)
WHERE = Filter(now=AT)
LOCAL_QDRANT = 20_000
BATCH = 5_000


def vectors(count: int, seed: int) -> Any:
    """Unit vectors around centres, about two hundred to each."""
    chance = np.random.default_rng(seed)
    centres = np.random.default_rng(1).standard_normal((500, DIM)).astype(np.float32)
    rows = centres[chance.integers(0, len(centres), count)] + 0.9 * chance.standard_normal((count, DIM))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def fill(settings: Settings, count: int) -> float:
    """A store with so many memories and their vectors; returns the seconds that putting the vectors took."""
    store: Any = open_store(replace(settings, vector_engine="store"))
    for start in range(0, count, BATCH):
        with store.database.write(SCOPE):
            for number in range(start, min(count, start + BATCH)):
                kept = Memory(uuid7(), "fact", f"memory {number}", None, "user", AT, AT, trust="user")
                store.memories.add(SCOPE, kept)
    rows, taken, began = vectors(count, 2), 0, time.perf_counter()
    while waiting := store.vectors.waiting(BATCH):
        store.vectors.put(("bench", DIM), [(item, rows[taken + at][None]) for at, item in enumerate(waiting)])
        taken += len(waiting)
    seconds = time.perf_counter() - began
    store.close()
    return seconds


def measure(settings: Settings, questions: Any, limit: int, prepare: Callable[[Any], None]) -> dict[str, Any]:
    """Preparing, the first question of a fresh store, and all of them when it is warm; what was found."""
    store: Any = open_store(settings)
    began = time.perf_counter()
    prepare(store)
    build = time.perf_counter() - began
    if settings.vector_engine_url != ":memory:":
        store.close()
        store = open_store(settings)
    times, found = [], []
    for question in [questions[0], *questions]:
        began = time.perf_counter()
        matches = store.search.semantic(SCOPE, "memory", question, WHERE, limit)
        times.append((time.perf_counter() - began) * 1000)
        found.append([match.doc for match in matches])
    note = store.engine.trouble if store.engine else None
    size = store.engine.size() if store.engine else None
    one = Memory(uuid7(), "fact", "to be forgotten", None, "user", AT, AT, trust="user")
    store.memories.add(SCOPE, one)
    store.vectors.put(("bench", DIM), [(store.vectors.waiting(1)[0], vectors(1, 4))])
    began = time.perf_counter()
    store.keeping.forget_memory(SCOPE, one.id, at=AT)
    forget = time.perf_counter() - began
    store.close()
    warm = sorted(times[1:])
    return {
        "build_s": round(build, 2),
        "first_ms": round(times[0], 1),
        "p50_ms": round(statistics.median(warm), 2),
        "p95_ms": round(warm[int(len(warm) * 0.95)], 2),
        "forget_s": round(forget, 2),
        "disk_mb": None if size is None else round(size / 1e6, 1),
        "note": note,
        "found": found[1:],
    }


def tend(store: Any) -> None:
    store.keeping.upkeep(now=AT, ages=Ages(AT, 0, AT, AT))


def run(count: int, asked: int, limit: int, server: str | None) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        plain = replace(Settings(), data_dir=Path(folder) / "data", vector_engine_from=0)
        fill(plain, count)
        questions = vectors(asked, 3)
        base = {"engine": "store", "size": count, **measure(plain, questions, limit, lambda store: None)}
        base["disk_mb"] = round((Path(folder) / "data" / "recollect.db").stat().st_size / 1e6, 1)
        results = [base]
        for kind, url in engines(folder, count, server):
            settings = replace(plain, vector_engine=kind, vector_engine_url=url)
            name = f"{kind} {'server' if url.startswith('http') else 'local' if kind == 'qdrant' else ''}".strip()
            results.append({"engine": name, "size": count, **measure(settings, questions, limit, tend)})
    for result in results:
        result["ratio"] = round(result["p50_ms"] / base["p50_ms"], 2)
        pairs = zip(result.pop("found") if result is not base else base["found"], base["found"], strict=True)
        result["recall"] = round(statistics.mean(len(set(a[:10]) & set(b[:10])) / 10 for a, b in pairs), 3)
    base.pop("found")
    return results


def engines(folder: str, count: int, server: str | None) -> list[tuple[str, str]]:
    found = []
    if importlib.util.find_spec("lancedb"):
        found.append(("lancedb", str(Path(folder) / "lance")))
    if importlib.util.find_spec("qdrant_client"):
        if server:
            found.append(("qdrant", server))
        elif count <= LOCAL_QDRANT:
            found.append(("qdrant", ":memory:"))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--limit", type=int, default=64, help="documents asked for, as recall does")
    parser.add_argument("--qdrant", help="address of a Qdrant server")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    columns = ("engine", "size", "build_s", "first_ms", "p50_ms", "p95_ms", "ratio", "recall", "forget_s", "disk_mb")
    if not args.json:
        print(" ".join(f"{name:>12}" for name in columns))
    for size in args.sizes:
        for result in run(size, args.questions, args.limit, args.qdrant):
            if args.json:
                print(json.dumps(result))
            else:
                print(" ".join(f"{result[name]!s:>12}" for name in columns), result["note"] or "", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
