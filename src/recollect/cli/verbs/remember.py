"""`recollect remember`: one memory in, its id out. No model is loaded: the vector follows later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.agentshell import speaker
from recollect.cli.opening import open_memory
from recollect.cli.values import text_of, time_ahead
from recollect.model import KINDS
from recollect.settings import environment
from recollect.text import one_line

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("text", nargs="+", metavar="TEXT", help="what to keep; `-` reads it from standard input")
    parser.add_argument("--kind", default="note", metavar="K", help="one of: " + ", ".join(KINDS) + " (default: note)")
    parser.add_argument("--why", metavar="W", help="the reason, kept with it")
    parser.add_argument("--tag", action="append", metavar="T", help="a tag (may be repeated; default: its #hashtags)")
    parser.add_argument("--importance", type=float, metavar="N", help="0 to 1 (default: by its kind and wording)")
    parser.add_argument("--expires", metavar="WHEN", help="until when it is true: a date, or a span such as 30d")
    parser.add_argument("--session", metavar="S", help="the session it comes from")
    parser.add_argument(
        "--global", dest="all_projects", action="store_true", help="keep it for no project in particular"
    )


def run(args: Namespace, console: Output) -> int:
    from recollect.clock import now

    text, expires = text_of(args.text), time_ahead(args.expires)
    with open_memory(args) as memory:
        started = now()
        kept = memory.remember(
            text,
            kind=args.kind,
            why=args.why,
            tags=args.tag,
            importance=args.importance,
            session=args.session,
            expires_at=expires,
            origin=speaker(environment()),
        )
        known = kept.recorded_at < started
        told = None if known or console.json else memory.belief(kept.id)
    if console.json:
        console.document({"memory": kept, "known": known})
        return 0
    place = f"in {kept.project}" if kept.project else "for every project"
    if kept.content != text and "[REDACTED:" in kept.content:
        console.note("A secret was taken out of it: what is remembered is put before agents and into files.")
    console.line("Known already: " if known else "Remembered: ", (kept.id, "cyan"), f" [{kept.kind}] {place}")
    for how, others in (("in place of", told.superseded + told.merged), ("disputed:", told.disputes)) if told else ():
        for one in others:
            console.line(f"  {how} {one.id}: {one_line(one.content, 100)}")
    return 0
