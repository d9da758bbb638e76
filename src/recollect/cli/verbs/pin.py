"""`recollect pin`: agents of its project are told a memory before all else; `--off` ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.agentshell import only_a_person
from recollect.cli.memoryids import whole_id
from recollect.cli.opening import open_memory
from recollect.settings import environment

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="of the memory, as recall and list show it")
    parser.add_argument(
        "--off", action="store_true", help="no longer: it is told in its turn, and upkeep may archive it"
    )


def run(args: Namespace, console: Output) -> int:
    from recollect.cli.cards import memory_lines

    only_a_person(environment(), "pin a memory")
    with open_memory(args) as memory:
        kept = memory.pin(whole_id(memory, args.id), on=not args.off)
    if console.json:
        console.document({"memory": kept, "pinned": kept.pinned})
    else:
        console.line("No longer pinned:" if args.off else "Pinned:")
        console.lines(list(memory_lines(kept)))
    return 0
