"""How many vectors are compared exactly after all were compared in eight bits, and how long both take (decision 30).

    python bench/eightbits.py LONGMEMEVAL.json[.xz] [--sizes 10000,20000,100000] [--vectors FILE.npz]

Messages and questions of LongMemEval are embedded by the real model. Each question is answered both ways, and both must
say the same. Embedding 100,000 messages takes a quarter of an hour; with --vectors that is done once.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from load import WEIGHTS
from recollect.models.minilm import MiniLM
from recollect.store.rows.matrix import AGAIN, VectorMatrix, VectorView

LONGEST = 160  # characters of a message that are embedded
ASKED = (10, 64, 512)


def read(path: Path) -> tuple[list[str], list[str]]:
    """Every message there is, in an order without meaning, and the questions."""
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rb") as file:
        asked = json.load(file)
    said = {
        turn["content"].strip()[:LONGEST] for one in asked for session in one["haystack_sessions"] for turn in session
    }
    texts = sorted(text for text in said if len(text) > 20)
    random.Random(1).shuffle(texts)
    return texts, [one["question"] for one in asked]


def held(vectors: NDArray[np.float32]) -> VectorMatrix:
    made = VectorMatrix(vectors.shape[1])
    docs, one = np.arange(1, len(vectors) + 1), np.ones(len(vectors), dtype=np.int64)
    made.put(1, docs, one, one, [vectors.astype(np.float16)])
    return made


def timed(view: VectorView, questions: NDArray[np.float32], count: int) -> tuple[float, list[list[tuple[int, float]]]]:
    """Milliseconds for half of the questions, and what was found."""
    spent, found = [], []
    for question in questions:
        began = time.perf_counter()
        found.append(view.search(question, count))
        spent.append(1e3 * (time.perf_counter() - began))
    return median(spent), found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sizes", type=lambda text: [int(one) for one in text.split(",")], default=[10_000])
    parser.add_argument("--vectors", type=Path, help="where they are kept from one run to the next")
    options = parser.parse_args()
    vectors = questions = np.zeros((0, 0), dtype=np.float32)
    if options.vectors and options.vectors.exists():
        kept = np.load(options.vectors)
        vectors, questions = kept["vectors"], kept["questions"]
    if len(vectors) < max(options.sizes):
        vectors, questions = embedded(options.data, max(options.sizes))
        if options.vectors:
            np.savez(options.vectors, vectors=vectors, questions=questions)
    print("| vectors | nearest | compared exactly | all exactly | eight bits first |\n|---|---|---|---|---|")
    for size in options.sizes:
        exact, quick = held(vectors[:size]).view, held(vectors[:size]).view
        exact._coarse.asked = -(10**9)
        for question in questions[:AGAIN]:
            quick.search(question, 1)
        for count in ASKED:
            looked = [quick._likely(quick._asked(one), count) for one in questions]
            few = median(size if places is None else len(places) for places in looked)
            long, truth = timed(exact, questions, count)
            short, found = timed(quick, questions, count)
            assert found == truth
            print(f"| {size:,} | {count} | {few:,.0f} | {long:.2f} ms | {short:.2f} ms |", flush=True)


def embedded(data: Path, most: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """So many messages and all questions, as vectors."""
    texts, asked = read(data)
    model = MiniLM(WEIGHTS)
    print(f"embedding {most:,} of {len(texts):,} messages", file=sys.stderr)
    return model.embed(texts[:most]), model.questions().embed(asked)


if __name__ == "__main__":
    main()
