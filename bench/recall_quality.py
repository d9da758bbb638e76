"""How well recall finds what it should, on public benchmarks, through the library as a program uses it.

    python bench/recall_quality.py --data FOLDER [--sets longmemeval,pooled,locomo,realmem] [--limit N] [--lexical]
                                   [--exact] [--postgres URL]

No language model is called; abstention is off. Prints one protocol line a set, then the figures for the half that was
tuned on, the half that is frozen, and both.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.recall_sets import Conversation, Query, Round, locomo, longmemeval, realmem
from bench.vector_cache import CachedEmbedder

from recollect import Hit, Recollect, Scope
from recollect.models.minilm import MiniLM
from recollect.models.port import Embedder
from recollect.settings import load

Scores = dict[str, float]
REPOSITORY = Path(__file__).resolve().parents[1]

SETS: dict[str, tuple[str, Callable[[Path], Iterator[Round]]]] = {
    "longmemeval": (
        "LongMemEval_S dev half, fresh store per question, session level (best hit per session), exchanges",
        lambda folder: longmemeval(folder, pooled=False),
    ),
    "pooled": (
        "LongMemEval_S dev half, all sessions of all questions in one store, session level",
        lambda folder: longmemeval(folder, pooled=True),
    ),
    "locomo": (
        "LoCoMo dev half, store per conversation, message level, fraction of the evidence in the first k",
        locomo,
    ),
    "realmem": ("RealMem dev half, store per person, only sessions before the question's, session level", realmem),
}


def fresh_store(embedder: Embedder | None, url: str, number: int) -> tuple[Recollect, tempfile.TemporaryDirectory[str]]:
    """An empty store in memory-backed files where there are such: durability is not measured here.

    In PostgreSQL, a tenant of its own beside those of the questions before.
    """
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - a memory file system, not a shared name
    folder = tempfile.TemporaryDirectory(prefix="recollect-bench-", dir=place)
    settings = load(data_dir=Path(folder.name) / "data", embedder="none").settings
    if url:
        from recollect.store.postgres.store import PostgresStore

        store = PostgresStore(replace(settings, database_url=url))
        return Recollect(store, Scope(f"bench-{number}", "us"), settings, embedder=embedder, background=False), folder
    return Recollect.open(settings=settings, embedder=embedder, background=False), folder


def record(memory: Recollect, sessions: tuple[Conversation, ...], held: dict[str, list[str]]) -> None:
    """Record sessions; `held` learns which messages each turn holds, by the id of the turn."""
    for session in sessions:
        rows = [
            {"session": session.id, "role": one.role, "content": one.text, "occurred_at": session.at, "key": str(n)}
            for n, one in enumerate(session.messages)
        ]
        turn: list[str] = []
        for event, one in zip(memory.record_many(rows), session.messages, strict=True):
            if one.role == "user" or not turn:
                turn = held[event] = []
            turn.append(one.id)
    memory.embed_pending()


def session_scores(hits: tuple[Hit, ...], query: Query, held: dict[str, list[str]]) -> Scores:
    """any@k and all@k over sessions, each ranked by its best hit."""
    ranked = list(dict.fromkeys(hit.session for hit in hits))
    scores = {}
    for k in (1, 5, 10):
        top = set(ranked[:k])
        scores[f"any@{k}"] = float(bool(query.gold & top))
        scores[f"all@{k}"] = float(query.gold <= top)
    return scores


def message_scores(hits: tuple[Hit, ...], query: Query, held: dict[str, list[str]]) -> Scores:
    """R@k over messages: a turn counts for the messages it holds, and uses up as many places."""
    ranked = [message for hit in hits for message in held[hit.id]]
    return {f"R@{k}": len(query.gold & set(ranked[:k])) / len(query.gold) for k in (5, 10, 20)}


def run(name: str, folder: Path, embedder: Embedder | None, limit: int | None, url: str) -> list[tuple[Query, Scores]]:
    """Every question of a set with its scores."""
    judge = message_scores if name == "locomo" else session_scores
    results: list[tuple[Query, Scores]] = []
    memory, place, held = None, None, defaultdict[str, list[str]](list)
    for turn in islice(SETS[name][1](folder), limit):
        if turn.fresh or memory is None:
            if memory is not None and place is not None:
                memory.close()
                place.cleanup()
            memory, place = fresh_store(embedder, url, len(results))
            held = defaultdict(list)
        record(memory, turn.sessions, held)
        for query in turn.queries:
            hits = memory.recall(query.text, limit=100, tiers=("turn",), abstain=False).hits
            results.append((query, judge(hits, query, held)))
        print(f"\r{name}: {len(results)} questions", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    if memory is not None and place is not None:
        memory.close()
        place.cleanup()
    return results


def table(results: list[tuple[Query, Scores]]) -> dict[str, dict[str, float]]:
    """Means by part."""
    parts = {
        "tuned on": [scores for query, scores in results if not query.frozen],
        "frozen": [scores for query, scores in results if query.frozen],
        "both": [scores for _, scores in results],
    }
    return {
        part: {"n": len(rows), **{key: sum(row[key] for row in rows) / len(rows) for key in rows[0]}}
        for part, rows in parts.items()
        if rows
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the benchmark files")
    parser.add_argument("--sets", default="locomo,realmem,longmemeval,pooled")
    parser.add_argument("--limit", type=int, help="only the first N rounds of each set")
    parser.add_argument("--postgres", default="", help="an empty database to keep it in, as its owner")
    parser.add_argument("--lexical", action="store_true", help="words only, no embedder")
    parser.add_argument("--exact", action="store_true", help="questions by the exact model too")
    parser.add_argument("--model-dir", type=Path, default=REPOSITORY / ".cache/models/all-MiniLM-L6-v2")
    parser.add_argument("--cache", type=Path, default=REPOSITORY / ".cache/bench/vectors")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    options = parser.parse_args()
    embedder = (
        None if options.lexical else CachedEmbedder(MiniLM(options.model_dir, quick=not options.exact), options.cache)
    )
    figures: dict[str, Any] = {}
    for name in options.sets.split(","):
        started = time.perf_counter()
        results = run(name, options.data, embedder, options.limit, options.postgres)
        figures[name] = table(results)
        mode = "words only" if options.lexical else "BM25 + MiniLM"
        print(
            f"\n{name}: {SETS[name][0]}; {mode}; no model call; abstention off; {time.perf_counter() - started:.0f} s"
        )
        columns = list(figures[name]["both"])
        print("| part | " + " | ".join(columns) + " |\n|" + "---|" * (len(columns) + 1))
        for part, row in figures[name].items():
            print(f"| {part} | {row['n']} | " + " | ".join(f"{row[key]:.3f}" for key in columns[1:]) + " |", flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
