"""How many of the nearest are found when only the tenth is compared whose signs agree best (decision 23).

    python bench/signs.py LONGMEMEVAL.json[.xz] [--texts 20000] [--parts 5,10,20]

Messages and questions of LongMemEval are embedded by the real model; the nearest by their signs are held against the
nearest by exact cosine.
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
ASKED = (10, 64)


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


def found(vectors: NDArray[np.float32], questions: NDArray[np.float32], part: int) -> list[float]:
    """Of the nearest so many, the share that is in that part of all whose signs agree best with the question's."""
    signs, shares = matrix._signs(vectors), []
    for question in questions:
        nearest = np.argsort(-(vectors @ question))
        differ = matrix._differing(signs, matrix._signs(question[None, :])[:, 0])
        most = int(np.searchsorted(np.cumsum(np.bincount(differ)), len(vectors) // part))
        shares.append([float((differ[nearest[:count]] <= most).mean()) for count in ASKED])
    return [sum(column) / len(shares) for column in zip(*shares, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--parts", type=lambda text: [int(one) for one in text.split(",")], default=[5, 10, 20])
    options = parser.parse_args()
    texts, asked = read(options.data)
    model = MiniLM(WEIGHTS)
    print(f"embedding {options.texts:,} of {len(texts):,} messages", file=sys.stderr)
    vectors, questions = model.embed(texts[: options.texts]), model.questions().embed(asked)
    for size in (len(vectors) // 2, len(vectors)):
        for part in options.parts:
            shares = zip(ASKED, found(vectors[:size], questions, part), strict=True)
            told = ", ".join(f"{share:.4f} of the {count} nearest" for count, share in shares)
            print(f"{size:,} vectors, 1/{part} compared: {told}")


if __name__ == "__main__":
    main()
