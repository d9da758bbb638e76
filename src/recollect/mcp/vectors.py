"""Vectors for texts that wait: a few before a question is answered, so that what is new is found; many afterwards."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from recollect.errors import ModelError
from recollect.lock import alone

if TYPE_CHECKING:
    from recollect.facade import Recollect

FEW = 64


def catch_up(memory: Recollect, most: int | None = None) -> None:
    """Make the vectors that wait, unless another process is at it; with `most`, only if no more than that wait."""
    waiting = memory.store.vectors.pending()
    if not waiting or (most is not None and waiting > most):
        return
    embedder = memory.embedder()
    if embedder is None or memory.store.vectors.model() not in (None, (embedder.name, embedder.dim)):
        return  # the answer itself says so
    with alone(memory.settings.data_dir / "embed.lock") as free, suppress(ModelError):
        if free:
            memory.embed_pending()
