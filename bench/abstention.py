"""When recall should be silent: how close the best hit is for questions that can be answered here, and that cannot.

    python bench/abstention.py --data FOLDER [--lexical] [--exact]

Answerable: a set's questions on their own store. Elsewhere: questions of the other sets on the same store, which knows
nothing about them. Prints, by size of the store, how many of each the threshold in force lets through.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.recall_quality import REPOSITORY, fresh_store, record
from bench.recall_sets import Conversation, Round, locomo, longmemeval, realmem
from bench.vector_cache import CachedEmbedder

from recollect import Recollect
from recollect.models.minilm import MiniLM
from recollect.recall.fuse import Blend

SAMPLE = 60


def closeness(memory: Recollect, question: str) -> float:
    """The similarity of the best hit by itself, as the threshold sees it."""
    hits = memory.recall(question, limit=50, tiers=("turn",), abstain=False).hits
    weight = Blend().lexical
    scores = [
        hit.parts.lexical
        if hit.parts.semantic is None
        else (hit.parts.semantic + weight * hit.parts.lexical) / (1 + weight)
        for hit in hits
    ]
    return max(scores, default=0.0)


def stores(folder: Path) -> list[tuple[str, tuple[Conversation, ...], list[str]]]:
    """(set, sessions, questions): LoCoMo conversations, RealMem people, LongMemEval haystacks alone and merged."""
    found = []
    for name, rounds in (("locomo", locomo(folder)), ("realmem", realmem(folder))):
        gathered: list[Round] = []
        for one in [*rounds, Round(True, (), ())]:
            if one.fresh and gathered:
                sessions = tuple(session for part in gathered for session in part.sessions)
                found.append((name, sessions, [query.text for part in gathered for query in part.queries]))
                gathered = []
            gathered.append(one)
    haystacks = list(longmemeval(folder, pooled=False))
    for merged in (1, 4, 20):
        for start in range(0, 12 if merged == 1 else merged * 2, merged):
            part = haystacks[start : start + merged]
            unique = {session.id: session for one in part for session in one.sessions}
            found.append(
                (f"longmemeval x{merged}", tuple(unique.values()), [q.text for one in part for q in one.queries])
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--exact", action="store_true", help="questions by the exact model too")
    parser.add_argument("--lexical", action="store_true")
    parser.add_argument("--model-dir", type=Path, default=REPOSITORY / ".cache/models/all-MiniLM-L6-v2")
    parser.add_argument("--cache", type=Path, default=REPOSITORY / ".cache/bench/vectors")
    options = parser.parse_args()
    embedder = (
        None if options.lexical else CachedEmbedder(MiniLM(options.model_dir, quick=not options.exact), options.cache)
    )
    every = stores(options.data)
    rows = defaultdict(list)
    for name, sessions, questions in every:
        others = [q for other, _, qs in every if other.split()[0] != name.split()[0] for q in qs]
        memory, place = fresh_store(embedder, "", 0)
        record(memory, sessions, defaultdict(list))
        size = memory.health().counts["turns"]
        pick = random.Random(1)
        for text in pick.sample(questions, min(SAMPLE, len(questions))):
            rows[name].append((size, True, closeness(memory, text), not memory.recall(text, tiers=("turn",)).abstained))
        for text in pick.sample(others, SAMPLE if len(questions) > 1 else 10):
            rows[name].append(
                (size, False, closeness(memory, text), not memory.recall(text, tiers=("turn",)).abstained)
            )
        memory.close()
        place.cleanup()
        print(".", end="", file=sys.stderr, flush=True)
    heads = ("store", "turns", "answerable: 2 %, 50 %", "answered", "elsewhere: 50 %, 98 %", "silent")
    print("\n| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for name, found in rows.items():
        here = sorted(score for _, own, score, _ in found if own)
        away = sorted(score for _, own, score, _ in found if not own)
        answered = [said for _, own, _, said in found if own]
        silent = [not said for _, own, _, said in found if not own]
        cells = (
            name,
            str(sum(size for size, *_ in found) // len(found)),
            f"{here[len(here) // 50]:.3f}, {here[len(here) // 2]:.3f}",
            f"{sum(answered) / len(answered):.3f}",
            f"{away[len(away) // 2]:.3f}, {away[len(away) * 98 // 100]:.3f}",
            f"{sum(silent) / len(silent):.2f}",
        )
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
