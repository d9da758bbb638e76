"""`recollect undo`: back what was softly forgotten, superseded, merged or archived, or what was revoked of a source.

What was quarantined only a person can bring back: an agent may have been talked into it by what is in quarantine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.agentshell import only_a_person
from recollect.cli.memoryids import whole_id
from recollect.cli.opening import open_memory
from recollect.errors import InvalidInput, NotFound
from recollect.model import check_id
from recollect.settings import environment

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.model import Memory

_HINT = "`recollect list --history --archived` and `recollect list --forgotten` show ids."


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "id", nargs="?", metavar="ID", help="of a memory that was softly forgotten, superseded, merged or archived"
    )
    parser.add_argument("--source", metavar="S", help="everything that `recollect forget --source S` took away")


def run(args: Namespace, console: Output) -> int:
    from recollect.cli.cards import MEMORY_COLUMNS, memory_lines, memory_row

    if (args.id is None) == (args.source is None):
        raise InvalidInput("bring back one of: ID, --source S", hint=_HINT)
    name = check_id(args.source or args.id, "source" if args.source else "id")
    with open_memory(args) as memory:
        name = name if args.source else whole_id(memory, name)
        if args.id is not None:
            _check(memory.store.memories.get(memory.scope, name), name)
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


def _check(memory: Memory | None, name: str) -> None:
    """Refuse what is not there, and what only a person may bring back."""
    from recollect.pipeline.hubs import QUARANTINED

    if memory is None:
        raise NotFound(f"no memory {name[:60]} that can be brought back", hint=_HINT)
    if memory.archived_at is not None and memory.meta.get(QUARANTINED):
        only_a_person(environment(), "bring back what was quarantined")
