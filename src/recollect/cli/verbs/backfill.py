"""`recollect backfill AGENT`: an agent's old sessions, with their original times; doing it again adds nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.captured import dry_place, report_lines
from recollect.cli.opening import find_place, open_place
from recollect.cli.values import whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("agent", metavar="AGENT", help="whose sessions: claude, codex, grok, gemini, …")
    parser.add_argument("--session", metavar="ID", help="only this session and its subagents")
    parser.add_argument("-n", "--limit", type=whole, metavar="N", help="only the newest N sessions")
    parser.add_argument("--dry-run", action="store_true", help="read and count, write nothing")


def run(args: Namespace, console: Output) -> int:
    project, args.project = args.project, None  # which sessions to take, not the scope to work in
    place = find_place(args, everywhere=True)
    shown = 0
    with (
        dry_place(place, args.dry_run) as chosen,
        open_place(chosen) as memory,
        console.progress(f"backfilling {args.agent}", None) as advance,
    ):

        def progress(done: int, total: int, name: str) -> None:
            nonlocal shown
            advance(done - shown, total)
            shown = done

        report = memory.backfill(
            args.agent, project=project, session=args.session, limit=args.limit, dry_run=args.dry_run, progress=progress
        )
    from recollect.pipeline.spending import estimate

    settings = place.loaded.settings
    tokens, usd = estimate(report.turns, settings)
    if console.json:
        console.document({**report.as_dict(), "dry_run": args.dry_run, "cost_estimate_usd": usd})
        return 0
    report_lines(report, console, dry_run=args.dry_run)
    if settings.llm == "none":
        console.note("No language model is configured: this costs nothing.")
    else:
        price = "at a price that is not known" if usd is None else f"for about {usd:.2f} USD"
        did = "would read" if args.dry_run else "reads"
        console.note(
            f"The language model {did} about {tokens:,} tokens {price}, within the daily budget"
            f" of {settings.llm_daily_tokens:,} tokens and {settings.llm_daily_usd:g} USD."
        )
    return 0
