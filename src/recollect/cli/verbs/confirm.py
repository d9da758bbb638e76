"""`recollect confirm`: the user says that a memory is so; from then on it is trusted as their own word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.agentshell import only_a_person
from recollect.cli.memoryids import whole_id
from recollect.cli.opening import open_memory
from recollect.model import KINDS
from recollect.settings import environment

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="of the memory that is so, as recall and list show it")
    parser.add_argument("--kind", metavar="K", help="what it is from now on, one of: " + ", ".join(KINDS))


def run(args: Namespace, console: Output) -> int:
    from recollect.cli.cards import memory_lines

    only_a_person(environment(), "confirm a memory")
    with open_memory(args) as memory:
        kept = memory.confirm(whole_id(memory, args.id), kind=args.kind)
    if console.json:
        console.document({"memory": kept})
    else:
        console.line("Confirmed:")
        console.lines(list(memory_lines(kept)))
    return 0
