"""`recollect list`: memories, newest first, filtered like recall: what, who said it and how far that is trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.filters import add_filters, filters_of
from recollect.cli.opening import open_memory
from recollect.cli.values import whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.model import Memory

_PROJECT_CHARS = 30
_NONE = "No memories here. `recollect remember TEXT` keeps one; --all-projects looks in every project."
_NONE_FORGOTTEN = "Nothing here can be brought back: nothing was softly forgotten in the last days."


def configure(parser: ArgumentParser) -> None:
    add_filters(parser)
    parser.add_argument(
        "--trusted", action="store_true", help="only what may be put before agents: trust user or checked"
    )
    parser.add_argument(
        "--forgotten", action="store_true", help="what was softly forgotten and can be brought back, instead"
    )
    parser.add_argument("-n", "--limit", type=whole, default=50, metavar="N", help="at most this many (default: 50)")
    parser.add_argument("--offset", type=whole, default=0, metavar="N", help="leave out the first N")


def run(args: Namespace, console: Output) -> int:
    from recollect.cli.cards import MEMORY_COLUMNS, memory_row

    trusts = ("user", "checked") if args.trusted else ()
    with open_memory(args) as memory:
        find = memory.forgotten if args.forgotten else memory.memories
        found = find(args.limit, args.offset, trusts=trusts, **_filters(args))
        several = memory.scope.project is None and len({one.project for one in found}) > 1
    empty = _NONE_FORGOTTEN if args.forgotten else _NONE
    table = ((*MEMORY_COLUMNS[:-1], "project", "content"), _with_project) if several else (MEMORY_COLUMNS, memory_row)
    console.page("memories", found, (args.limit, args.offset), table, empty)
    if args.forgotten and found and not console.json:
        console.note("`recollect undo ID` brings one back, until its text is removed.")
    return 0


def _filters(args: Namespace) -> dict[str, Any]:
    """As for recall; of what was forgotten, what was archived or superseded before is there in any case."""
    return {**filters_of(args), **({"archived": True, "history": True} if args.forgotten else {})}


def _with_project(memory: Memory) -> list[str]:
    """A row that tells the project: of a long name the end, which tells more."""
    from recollect.cli.cards import memory_row

    name = memory.project or "none"
    short = name if len(name) <= _PROJECT_CHARS else f"…{name[1 - _PROJECT_CHARS :]}"
    *before, content = memory_row(memory)
    return [*before, short, content]
