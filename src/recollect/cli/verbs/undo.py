"""`recollect undo`: back what was softly forgotten, superseded or merged, or all that was revoked of a source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.memoryids import whole_id
from recollect.cli.opening import open_memory
from recollect.errors import InvalidInput, NotFound
from recollect.model import check_id

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output

_HINT = "`recollect list --history` shows ids."


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "id", nargs="?", metavar="ID", help="of a memory that was softly forgotten, superseded or merged"
    )
    parser.add_argument("--source", metavar="S", help="everything that `recollect forget --source S` took away")


def run(args: Namespace, console: Output) -> int:
    from recollect.cli.cards import MEMORY_COLUMNS, memory_lines, memory_row

    if (args.id is None) == (args.source is None):
        raise InvalidInput("bring back one of: ID, --source S", hint=_HINT)
    name = check_id(args.source or args.id, "source" if args.source else "id")
    with open_memory(args) as memory:
        name = name if args.source else whole_id(memory, name)
        if args.id is not None and memory.store.memories.get(memory.scope, name) is None:
            raise NotFound(f"no memory {name[:60]} that can be brought back", hint=_HINT)
        back = memory.reinstate(name)
    if console.json:
        console.document({"memories": back} if args.source else {"memory": back[0]})
    elif args.source:
        console.line(f"Restored {len(back)}:")
        console.table(MEMORY_COLUMNS, [memory_row(one) for one in back])
    else:
        console.line("Restored:")
        console.lines(list(memory_lines(back[0])))
    return 0
