"""An embedder without a model: words and letter triples in, a hashed unit vector out.

For tests, ours and users': instant, needs no files, and the same text gives the same vector on every machine
and in every version (blake2b, not `hash`). Texts that share words come out near each other; meaning plays no part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from recollect.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORD = re.compile(r"\w+")
WORD_WEIGHT, TRIGRAM_WEIGHT = 1.0, 0.25


class TinyEmbedder:
    """Deterministic hashing embedder."""

    def __init__(self, dim: int = 64) -> None:
        if dim < 1:
            raise InvalidInput("The dimension of an embedder is at least 1.")
        self.name = "tiny"
        self.dim = dim

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector a text, in order."""
        import numpy as np

        rows = np.zeros((len(texts), self.dim), dtype=np.float64)
        for row, text in zip(rows, texts, strict=True):
            for feature, weight in features(text):
                bucket, sign = spot(feature, self.dim)
                row[bucket] += sign * weight
            if not row.any():  # no words, or features that cancelled out
                row[0] = 1.0
        unit: NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit.astype(np.float32)


def features(text: str) -> Iterator[tuple[str, float]]:
    """Yield each word and, weaker, each run of three letters in it, its ends marked."""
    for word in WORD.findall(text.lower()):
        yield f"w:{word}", WORD_WEIGHT
        marked = f"<{word}>"
        for at in range(len(marked) - 2):
            yield f"t:{marked[at : at + 3]}", TRIGRAM_WEIGHT


def spot(feature: str, dim: int) -> tuple[int, float]:
    """Return the bucket and the sign of a feature; signs keep collisions from adding up."""
    value = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "little")
    return (value >> 1) % dim, 1.0 if value & 1 else -1.0
