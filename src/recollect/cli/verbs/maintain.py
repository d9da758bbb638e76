"""`recollect maintain`: gists that are due, vectors that wait, archive, redact, purge. Twice changes nothing more."""

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
        before = memory.store.vectors.pending()
        with console.progress("embedding", before) as advance:
            upkeep = memory.maintain(advance)
        pending = memory.store.vectors.pending()
        words_only = memory.embedder() is None
    if console.json:
        console.document({"upkeep": upkeep, "pending": pending})
        return 0
    console.line(f"Archived {upkeep.archived:,}, redacted {upkeep.redacted:,}, purged {upkeep.purged:,} memories.")
    if upkeep.quarantined:
        console.line(f"Put {upkeep.quarantined:,} away that came up for everything; `recollect doctor` says more.")
    console.line(f"{pending:,} texts wait for a vector" + (" (there is no embedder)." if words_only else "."))
    return 0
