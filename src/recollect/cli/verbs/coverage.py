"""`recollect coverage`: the turns in agents' own files against the turns stored, session by session, gaps by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.opening import open_memory
from recollect.cli.verbs.sweep import parse_sources
from recollect.cli.wording import counted

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.pipeline.coverage import Coverage, SessionCoverage


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--source", action="append", metavar="AGENT[=DIR]", help="look for unread files only here")
    parser.add_argument("--all", action="store_true", help="list every session, not only those with a gap")


def run(args: Namespace, console: Output) -> int:
    with open_memory(args, everywhere=True) as memory:
        found = memory.coverage(parse_sources(args.source))
    if console.json:
        sessions = [each.as_dict() for each in found.sessions]
        hooks = {"missed": found.missed_hooks, "refused": found.refused_records, "waiting": found.waiting_records}
        console.document(
            {**found.totals(), "hooks": hooks, "unread": found.unread, "failed": found.failed, "by_session": sessions}
        )
        return 0
    _summary(found, console)
    shown = [each for each in found.sessions if args.all or each.gaps]
    if shown:
        headers = ("session", "on disk", "stored", "withheld", "came by", "gaps")
        console.table(headers, [_row(each) for each in shown])
    for name in found.unread[:20]:
        console.note(f"not read yet: {name}")
    if len(found.unread) > 20:
        console.note(f"… and {len(found.unread) - 20:,} more; --json lists them.")
    for problem in found.failed[:20]:
        console.note(f"failed: {problem['transcript']}: {problem['error']}")
    if found.unread:
        console.note("`recollect sweep` reads them.")
    return 0


def _summary(found: Coverage, console: Output) -> None:
    totals = found.totals()
    due = totals["turns_on_disk"] - totals["turns_withheld"]
    unread = _unread(totals["unread_files"])
    if totals["sessions"]:
        percent = (f"{totals['percent']:g} %", "bold")
        console.line(percent, f" of {counted(due, 'turns')} in {counted(totals['sessions'], 'sessions')}{unread}")
    else:
        console.line(f"No session was read yet{unread}.")
    if totals["ways"]:
        console.line("  came by " + ", ".join(f"{way} {count:,}" for way, count in sorted(totals["ways"].items())))
    if totals["turns_withheld"] or totals["withheld"]:
        parts = [f"{name} {count:,}" for name, count in sorted(totals["withheld"].items())]
        console.line(
            f"  withheld on purpose: {counted(totals['turns_withheld'], 'turns')}; " + (", ".join(parts) or "no parts")
        )
    console.line(
        f"  gaps {totals['gaps']:,}, files not read yet {totals['unread_files']:,}, failed {totals['failed_files']:,}"
    )
    if totals["lines_not_understood"]:
        console.line(f"  lines that are broken and were left out {totals['lines_not_understood']:,}")
    if found.missed_hooks or found.refused_records:
        console.line(f"  hooks that could not write {found.missed_hooks:,}, records refused {found.refused_records:,}")


def _unread(files: int) -> str:
    if not files:
        return ""
    return f" ({counted(files, 'files')} {'is' if files == 1 else 'are'} not read yet)"


def _row(each: SessionCoverage) -> list[str]:
    came = ", ".join(f"{way} {count}" for way, count in sorted(each.ways.items()))
    return [each.session, str(each.on_disk), str(each.stored), str(each.withheld), came, "; ".join(each.gaps) or "none"]
