"""`recollect undo`: a softly forgotten memory back, while its text is still there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.opening import open_memory
from recollect.model import check_id

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="of the memory that `recollect forget --soft` took away")


def run(args: Namespace, console: Output) -> int:
    from recollect.cli.cards import memory_lines

    with open_memory(args) as memory:
        kept = memory.restore(check_id(args.id, "id"))
    if console.json:
        console.document({"memory": kept})
    else:
        console.line("Restored:")
        console.lines(list(memory_lines(kept)))
    return 0
