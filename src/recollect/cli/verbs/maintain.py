"""`recollect maintain`: what is due is done, job by job; twice changes nothing more. What runs, ran, or is to end.

A job that another process is at is left to it. Ctrl-C and a request to terminate end it between two steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.opening import open_memory
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.facade import Recollect
    from recollect.pipeline.jobs import Ran

_WORDS = {"archive": "archived", "expire": "expired", "redact": "redacted", "purge": "purged"}


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--job", action="append", metavar="NAME", help="only this job; may be given again")
    parser.add_argument("--dry-run", action="store_true", help="count what would be done, and stop")
    parser.add_argument("--status", action="store_true", help="every job: who runs it, how it went the last time")
    parser.add_argument("--cancel", action="store_true", help="ask whoever runs a job (or --job) to end")


def run(args: Namespace, console: Output) -> int:
    if [args.dry_run, args.status, args.cancel].count(True) > 1:
        raise InvalidInput("--dry-run, --status and --cancel are different things", hint="Give one of them.")
    from recollect.pipeline.jobs import terminable
    from recollect.pipeline.maintaining import JOBS

    for name in args.job or ():
        if name not in JOBS:
            raise InvalidInput(f"there is no job {name[:40]!r}", hint="Jobs: " + ", ".join(JOBS))
    with terminable(), open_memory(args, everywhere=True) as memory:
        if args.status:
            return _status(memory, console, args.job)
        if args.cancel:
            return _cancel(memory, console, args.job)
        with console.progress("embedding", memory.store.vectors.pending()) as advance:
            done = memory.run_jobs(args.job, advance, dry_run=args.dry_run)
        return _report(memory, console, done, args)


def _report(memory: Recollect, console: Output, done: list[Ran], args: Namespace) -> int:
    pending = memory.store.vectors.pending()
    counts = {ran.job: dict(ran.counts) for ran in done}
    upkeep = {word: counts.get(job, {}).get("memories", 0) for job, word in _WORDS.items()}
    quarantined = counts.get("quarantine", {}).get("memories", 0)
    if console.json:
        upkeep["quarantined"] = quarantined
        console.document({"dry_run": args.dry_run, "upkeep": upkeep, "pending": pending, "jobs": done})
    elif args.job or args.dry_run:
        console.table(("job", "state", "seconds", "done"), [_row(ran, args.dry_run) for ran in done])
    else:
        console.line(
            f"Archived {upkeep['archived'] + upkeep['expired']:,}, redacted {upkeep['redacted']:,}, "
            f"purged {upkeep['purged']:,} memories."
        )
        if quarantined:
            console.line(f"Put {quarantined:,} away that came up for everything; `recollect doctor` says more.")
        words_only = memory.embedder() is None
        console.line(f"{pending:,} texts wait for a vector" + (" (there is no embedder)." if words_only else "."))
    if not console.json:
        for ran in done:
            if ran.state in ("busy", "cancelled", "failed", "skipped") and not args.dry_run:
                console.note(f"{ran.job}: {ran.state}" + (f" ({ran.error})" if ran.error else ""))
    return 1 if any(ran.state in ("failed", "cancelled") for ran in done) else 0


def _row(ran: Ran, dry_run: bool) -> tuple[str, str, str, str]:
    state = "would do" if dry_run else ran.state
    return ran.job, state, "" if dry_run else f"{ran.seconds:.2f}", _counted(ran)


def _counted(ran: Ran) -> str:
    return ran.error or ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in ran.counts.items())


def _status(memory: Recollect, console: Output, names: list[str] | None) -> int:
    from recollect.clock import now
    from recollect.pipeline.jobs import statuses
    from recollect.pipeline.maintaining import JOBS

    found = statuses(memory.store.notes, tuple(names or JOBS), now())
    if console.json:
        console.document({"jobs": found, "scrub_due": memory.store.keeping.scrub_due()})
        return 0
    rows = []
    for one in found:
        runs = "" if one.runner is None else f"{one.runner.host}:{one.runner.pid}"
        if one.runner is not None and one.runner.cancel:
            runs += " (to end)"
        last = one.last
        told = ("never", "", "") if last is None else (f"{last.started_at:%Y-%m-%d %H:%M}", last.state, _counted(last))
        seconds = "" if last is None else f"{last.seconds:.2f}"
        rows.append((one.job, runs or "-", told[0], seconds, told[1], told[2]))
    console.table(("job", "running", "last run", "seconds", "state", "done"), rows)
    if memory.store.keeping.scrub_due():
        console.note("Bytes of what was forgotten may lie in the database's files: `recollect maintain --job scrub`.")
    return 0


def _cancel(memory: Recollect, console: Output, names: list[str] | None) -> int:
    from recollect.clock import now
    from recollect.pipeline.jobs import cancel
    from recollect.pipeline.maintaining import JOBS

    asked = cancel(memory.store.notes, tuple(names or JOBS), now())
    if console.json:
        console.document({"asked": asked})
    else:
        console.line(f"Asked to end: {', '.join(asked)}." if asked else "No job is running.")
    return 0
