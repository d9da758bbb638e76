"""Texts that wait get their vectors: in turn by owner, newest and most important first, one process at a time."""

from __future__ import annotations

from collections.abc import Callable

from recollect.models.port import Embedder, check_vectors
from recollect.store.port import Store

BATCH = 256
Progress = Callable[[int], None]


def embed_waiting(
    store: Store, embedder: Embedder, *, stop: Callable[[], bool] = lambda: False, progress: Progress = lambda n: None
) -> int:
    """Embed until nothing waits or `stop` says so; returns how many texts got their vectors."""
    done = 0
    while not stop() and (waiting := store.vectors.waiting(BATCH)):
        texts = [text for item in waiting for text in item.texts]
        matrix = check_vectors(embedder.embed(texts), len(texts), embedder.dim)
        rows, start = [], 0
        for item in waiting:
            rows.append((item, matrix[start : start + len(item.texts)]))
            start += len(item.texts)
        stored = store.vectors.put((embedder.name, embedder.dim), rows)
        if not stored:
            break  # all of it was forgotten or done elsewhere meanwhile; do not spin
        done += stored
        progress(stored)
    return done
