"""`recollect context`: what was recalled as delimited text for a prompt; nothing else goes to stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.filters import add_recall_flags, recall_options
from recollect.cli.opening import open_memory
from recollect.cli.values import text_of, whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output


def configure(parser: ArgumentParser) -> None:
    add_recall_flags(parser)
    parser.add_argument("--max-tokens", type=whole, default=2_000, metavar="N", help="size of the text (default: 2000)")
    parser.add_argument("-n", "--limit", type=whole, metavar="N", help="at most this many hits (default: recall_limit)")


def run(args: Namespace, console: Output) -> int:
    query, options = text_of(args.query), recall_options(args)
    with open_memory(args) as memory:
        if args.mode != "lexical":
            from recollect.cli.vectors import catch_up

            catch_up(memory, console)
        made = memory.context(query, args.max_tokens, limit=args.limit, **options)
    if console.json:
        console.document(made)
        return 0
    console.raw(made.text)
    if made.note:
        console.note(f"note: {made.note}")
    return 0
