"""`recollect context`: what was recalled as delimited text for a prompt; nothing else goes to stdout.

With --standing it is what an agent is told before it asks; --into keeps that in a file of yours, --remove-from ends it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recollect.cli.filters import add_recall_flags, recall_options
from recollect.cli.opening import find_place, open_memory, open_place, open_to_ask
from recollect.cli.values import text_of, whole
from recollect.cli.wording import in_words
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output

_HOSTS = ("claude", "codex", "gemini", "opencode", "cursor", "grok", "file", "prompt")


def configure(parser: ArgumentParser) -> None:
    add_recall_flags(parser, "*")
    parser.add_argument("--max-tokens", type=whole, default=2_000, metavar="N", help="size of the text (default: 2000)")
    parser.add_argument("-n", "--limit", type=whole, metavar="N", help="at most this many hits (default: recall_limit)")
    group = parser.add_argument_group("what agents are told before they ask")
    group.add_argument("--standing", action="store_true", help="show it, for this project, within inject_max_tokens")
    group.add_argument(
        "--host",
        choices=_HOSTS,
        help="in whose form (default: claude); prompt: a whole prompt, with QUERY as its message",
    )
    group.add_argument(
        "--into", metavar="FILE", help="keep it in a marked block in FILE, such as AGENTS.md, from now on"
    )
    group.add_argument("--remove-from", metavar="FILE", help="take the block out of FILE and keep none there any more")


def run(args: Namespace, console: Output) -> int:
    if [args.standing, args.into is not None, args.remove_from is not None].count(True) > 1:
        raise InvalidInput("give one of --standing, --into and --remove-from")
    if args.remove_from is not None:
        return _remove(args, console)
    if args.into is not None:
        return _put(args, console)
    if args.standing:
        return _show(args, console)
    return _recall(args, console)


def _recall(args: Namespace, console: Output) -> int:
    if not args.query:
        raise InvalidInput("a question is needed", hint="Or --standing, for what agents are told before they ask.")
    if args.host not in (None, "prompt"):
        raise InvalidInput(f"--host {args.host} goes with --standing", hint="With a question: --host prompt.")
    query, options = text_of(args.query), recall_options(args)
    with open_to_ask(args) as memory:
        if args.mode != "lexical":
            from recollect.cli.vectors import catch_up

            catch_up(memory, console)
        made = memory.context(query, args.max_tokens, limit=args.limit, **options)
    if console.json:
        console.document(made)
        return 0
    console.raw(_prompt(made.text, query) if args.host == "prompt" else made.text)
    if made.note:
        console.note(f"note: {made.note}")
    return 0


def _show(args: Namespace, console: Output) -> int:
    place, host = find_place(args), args.host or "claude"
    directory = Path(place.directory) if place.directory else None
    with open_place(place) as memory:
        made = memory.standing(host, directory)
    if console.json:
        sizes = {"tokens": made.tokens, "memories": made.ids}
        console.document({"host": host, "text": made.text, "output": made.output, **sizes})
        return 0
    query = text_of(args.query) if args.query else ""
    console.raw(_prompt(made.text, query) if host == "prompt" and query else made.text)
    if not made.text:
        console.note("note: nothing is worth saying before somebody asks")
    return 0


def _put(args: Namespace, console: Output) -> int:
    with open_memory(args) as memory:
        made = memory.put_into(args.into)
    if console.json:
        console.document({"file": args.into, "text": made.text, "tokens": made.tokens, "memories": made.ids})
    elif made.text:
        said = in_words({"memories": len(made.ids)})
        console.line(f"{args.into} tells {said} ({made.tokens:,} tokens) and is kept up to date.")
    else:
        console.line(f"There is nothing to say yet; {args.into} is kept up to date from now on.")
    return 0


def _remove(args: Namespace, console: Output) -> int:
    with open_memory(args) as memory:
        changed = memory.take_out_of(args.remove_from)
    if console.json:
        console.document({"file": args.remove_from, "removed": changed})
    else:
        console.line(f"{args.remove_from} is as it was." if changed else f"{args.remove_from} had no block.")
    return 0


def _prompt(context: str, message: str) -> str:
    from recollect.inject.prompt import build

    return build([], context, message)
