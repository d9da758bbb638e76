"""`recollect reembed`: every vector made again with the configured embedder; interrupted, it continues next time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.opening import open_memory

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output


def configure(parser: ArgumentParser) -> None:
    """No flags of its own."""


def run(args: Namespace, console: Output) -> int:
    with open_memory(args, everywhere=True) as memory:
        counts = memory.health().counts
        total = sum(counts[name] for name in ("memories", "gists", "turns"))
        with console.progress("embedding", total) as advance:
            done = memory.reembed(advance)
        model, pending = memory.store.vectors.model(), memory.store.vectors.pending()
    if console.json:
        console.document({"embedded": done, "pending": pending, "model": model and model[0], "dim": model and model[1]})
    else:
        made = f" with {model[0]} ({model[1]})" if model else ""
        console.line(f"Made the vectors of {done:,} texts{made}; {pending:,} wait.")
    return 0
