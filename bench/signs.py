"""How many of the nearest are found when only those few are compared whose signs agree best (decision 23).

    python bench/signs.py LONGMEMEVAL.json[.xz] [--sizes 20000,50000,100000] [--vectors FILE.npz]

Messages and questions of LongMemEval are embedded by the real model; the nearest by their signs are held against the
nearest by exact cosine. Embedding 100,000 messages takes a quarter of an hour; with --vectors that is done once.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from load import WEIGHTS
from recollect.models.minilm import MiniLM
from recollect.store.rows import matrix

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


def found(vectors: NDArray[np.float32], questions: NDArray[np.float32]) -> dict[int, float]:
    """Of the nearest so many, the share that is among those that would be compared."""
    signs, shares = matrix._signs(vectors), dict.fromkeys(ASKED, 0.0)
    for question in questions:
        nearest = np.argsort(-(vectors @ question))
        differ = matrix._differing(signs, matrix._signs(question[None, :])[:, 0])
        agreeing = np.cumsum(np.bincount(differ))
        for count in ASKED:
            most = int(np.searchsorted(agreeing, matrix.compared(len(vectors), count)))
            shares[count] += float((differ[nearest[:count]] <= most).mean()) / len(questions)
    return shares


def embedded(data: Path, most: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """So many messages and all questions, as vectors."""
    texts, asked = read(data)
    model = MiniLM(WEIGHTS)
    print(f"embedding {most:,} of {len(texts):,} messages", file=sys.stderr)
    return model.embed(texts[:most]), model.questions().embed(asked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sizes", type=lambda text: [int(one) for one in text.split(",")], default=[20_000])
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
    for size in options.sizes:
        for count, share in found(vectors[:size], questions).items():
            number = matrix.compared(size, count)
            print(f"{size:,} vectors, {number:,} compared: {share:.4f} of the {count} nearest")


if __name__ == "__main__":
    main()
