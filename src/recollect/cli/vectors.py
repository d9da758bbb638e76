"""Vectors that a command needs: the few that wait are made before a question is answered, many are announced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.errors import ModelError

if TYPE_CHECKING:
    from recollect.cli.output import Output
    from recollect.facade import Recollect

FEW = 64


def catch_up(memory: Recollect, console: Output) -> None:
    """Embed what waits if it is little, so that what was just remembered is found by its meaning too."""
    waiting = memory.store.vectors.pending()
    if not waiting:
        return
    embedder = memory.embedder()
    if embedder is None or memory.store.vectors.model() not in (None, (embedder.name, embedder.dim)):
        return  # the answer itself says so
    if waiting > FEW:
        console.note(f"note: {waiting:,} texts wait for a vector; `recollect maintain` makes them")
        return
    try:
        memory.embed_pending()
    except ModelError as error:
        console.note(f"note: {error}")
