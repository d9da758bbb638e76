"""`recollect archive`: a memory is put away and found only when asked for; `--undo` puts it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.agentshell import only_a_person
from recollect.cli.memoryids import whole_id
from recollect.cli.opening import open_memory
from recollect.errors import InvalidInput
from recollect.settings import environment

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="of the memory, as recall and list show it")
    parser.add_argument("--undo", action="store_true", help="put it back among the others")


def run(args: Namespace, console: Output) -> int:
    from recollect.cli.cards import memory_lines
    from recollect.pipeline.hubs import QUARANTINED

    with open_memory(args) as memory:
        kept = memory.get(whole_id(memory, args.id))
        if (kept.archived_at is not None) is not args.undo:
            raise InvalidInput("this memory is not archived" if args.undo else "this memory is archived already")
        if args.undo and kept.meta.get(QUARANTINED):
            only_a_person(environment(), "bring back what was quarantined")
        kept = memory.reinstate(kept.id)[0] if args.undo else memory.archive(kept.id)
    if console.json:
        console.document({"memory": kept, "archived": kept.archived_at is not None})
        return 0
    console.line("Put back:" if args.undo else "Archived:")
    console.lines(list(memory_lines(kept)))
    if not args.undo:
        console.note("`recollect list --archived` and `recollect recall --archived` find it.")
    return 0
