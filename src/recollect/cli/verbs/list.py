"""`recollect list`: memories, newest first, filtered like recall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.filters import add_filters, filters_of
from recollect.cli.opening import open_memory
from recollect.cli.values import whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output


def configure(parser: ArgumentParser) -> None:
    add_filters(parser)
    parser.add_argument("-n", "--limit", type=whole, default=50, metavar="N", help="at most this many (default: 50)")
    parser.add_argument("--offset", type=whole, default=0, metavar="N", help="leave out the first N")


def run(args: Namespace, console: Output) -> int:
    from recollect.cli.cards import memory_row

    with open_memory(args) as memory:
        found = memory.memories(args.limit, args.offset, **filters_of(args))
    empty = "No memories here. `recollect remember TEXT` keeps one; --all-projects looks in every project."
    table = (("id", "kind", "when", "content"), memory_row)
    console.page("memories", found, (args.limit, args.offset), table, empty)
    return 0
