"""`recollect recall`: a question in, the right few things out, each explained; or nothing, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.cli.filters import add_recall_flags, recall_options
from recollect.cli.opening import open_to_ask
from recollect.cli.values import text_of, whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.model import Hit, Recall

_LINES = 3


def configure(parser: ArgumentParser) -> None:
    add_recall_flags(parser)
    parser.add_argument("-n", "--limit", type=whole, metavar="N", help="at most this many (default: recall_limit, 10)")
    parser.add_argument("--explain", action="store_true", help="show the parts of every score")
    parser.add_argument("--full", action="store_true", help="show turns and gists whole, not what is around the match")


def run(args: Namespace, console: Output) -> int:
    query, options = text_of(args.query), recall_options(args)
    with open_to_ask(args) as memory:
        if args.mode != "lexical":
            from recollect.cli.vectors import catch_up

            catch_up(memory, console)
        found = memory.recall(query, limit=args.limit, **options)
    if console.json:
        console.document(found)
    else:
        show(found, console, explain=args.explain, full=args.full)
    return 0


def show(found: Recall, console: Output, *, explain: bool = False, full: bool = False) -> None:
    """The hits as text, memories first; none: that, and why."""
    from recollect.cli.cards import hit_lines

    if not found.hits:
        reason = "abstained" if found.abstained else "nothing matches"
        console.line(f"Nothing recalled ({reason}; searched {_searched(found)}).")
    for place, hit in enumerate(sorted(found.hits, key=lambda one: one.tier != "memory")):
        if place:
            console.line()
        shown = hit if full or hit.tier == "memory" else _excerpt(hit, found.query, console.width)
        console.lines(list(hit_lines(shown, explain=explain)))
    if found.note:
        console.note(f"note: {found.note}")


def _excerpt(hit: Hit, question: str, width: int) -> Hit:
    """A turn or a gist of at most three lines."""
    from recollect.cli.cards import around

    return replace(hit, content=around(hit.content, question, _LINES * width - len(f"[{hit.tier}] ")))


def _searched(found: Recall) -> str:
    return "by words alone" if found.mode == "lexical" else "by words and meaning"
