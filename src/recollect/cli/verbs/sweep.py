"""`recollect sweep`: capture every agent's sessions that are new or changed; --watch keeps doing it."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.cli.captured import dry_place, hook_lines, report_lines
from recollect.cli.opening import find_place, open_place
from recollect.cli.values import whole
from recollect.cli.wording import counted
from recollect.errors import InvalidInput, StoreBusy, StoreFull, StoreUnavailable

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.facade import Recollect
    from recollect.stopping import Stop

SPOOL_SECONDS = 2


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--source",
        action="append",
        metavar="AGENT[=DIR]",
        help="only this agent; with DIR, its sessions in that directory (may be given several times)",
    )
    parser.add_argument("--dry-run", action="store_true", help="read everything, write nothing")
    parser.add_argument("--spool", action="store_true", help="only the sessions that hooks told of since the last time")
    parser.add_argument(
        "--watch", action="store_true", help="keep going: hooks' sessions at once, all others regularly"
    )
    parser.add_argument(
        "--every", type=whole, metavar="MINUTES", help="with --watch: how often everything is looked at"
    )


def run(args: Namespace, console: Output) -> int:
    if args.dry_run and (args.watch or args.spool):
        raise InvalidInput("--dry-run goes with neither --watch nor --spool")
    if args.every is not None and (not args.watch or args.every < 1):
        raise InvalidInput("--every goes with --watch and is at least 1 minute")
    if args.spool and args.source:
        raise InvalidInput("--spool reads what hooks told of, wherever it is: it takes no --source")
    sources = parse_sources(args.source)
    place = find_place(args, everywhere=True)
    with dry_place(place, args.dry_run) as chosen, open_place(chosen) as memory:
        if args.watch:
            return _watch(memory, sources, args, console)
        return _once(memory, sources, args, console)


def parse_sources(given: list[str] | None) -> dict[str, list[Path]] | None:
    """`claude=DIR` and `codex` as what the façade takes."""
    from recollect.capture.sources import source

    if not given:
        return None
    found: dict[str, list[Path]] = {}
    for word in given:
        agent, equals, folder = word.partition("=")
        source(agent)
        if equals and not (folder and Path(folder).expanduser().is_dir()):
            raise InvalidInput(f"{folder!r} is not a directory", hint="Give it as --source claude=DIR.")
        found.setdefault(agent, []).extend([Path(folder)] if equals else [])
    return found


def _once(memory: Recollect, sources: dict[str, list[Path]] | None, args: Namespace, console: Output) -> int:
    drained = None if args.dry_run else memory.drain()
    if args.spool:
        assert drained is not None
        if console.json:
            console.document(drained)
        else:
            hook_lines(drained, console)
        return 0
    shown = 0
    with console.progress("sweeping", None) as advance:

        def progress(done: int, total: int, name: str) -> None:
            nonlocal shown
            advance(done - shown, total)
            shown = done

        try:
            report = memory.sweep(sources, dry_run=args.dry_run, progress=progress)
        except StoreFull:
            hint = "Free space and sweep again: it carries on where it was."
            raise StoreFull(f"the disk is full after {shown:,} files; what was read is kept", hint=hint) from None
    if console.json:
        console.document({**report.as_dict(), "dry_run": args.dry_run, "hooks": drained})
    else:
        if drained is not None and (drained.records or drained.waiting or drained.refused):
            hook_lines(drained, console, memories=report.busy)
        report_lines(report, console, dry_run=args.dry_run, also=drained.report.memories if drained else {})
        if report.withheld and memory.settings.capture_only:
            console.note(f"Only these are captured (capture_only): {', '.join(memory.settings.capture_only)}")
    return 1 if report.failed and not report.ingested and not report.skipped_unchanged else 0


def _watch(memory: Recollect, sources: dict[str, list[Path]] | None, args: Namespace, console: Output) -> int:
    """Until it is stopped: the spool every two seconds, everything every few minutes; and hooks are answered."""
    import signal

    from recollect.stopping import Stopped, asked_to_stop
    from recollect.warm import warm_server

    with asked_to_stop() as stop:
        with suppress(Stopped), warm_server(memory.settings, memory.scope):
            _keep_going(memory, sources, args, console, stop)
        if stop.asked == signal.SIGINT:
            raise KeyboardInterrupt
    return 0  # a service manager's way to say Ctrl-C, which is no failure


def _keep_going(
    memory: Recollect, sources: dict[str, list[Path]] | None, args: Namespace, console: Output, stop: Stop
) -> None:
    minutes = args.every or memory.settings.sweep_minutes
    console.note(f"Watching. Every {minutes} minutes all sessions, those that hooks tell of at once. Ctrl-C ends it.")
    due, away = 0.0, False
    while not stop.asked:
        try:
            if time.monotonic() >= due:
                _sweep_all(memory, sources, console, stop)
                due = time.monotonic() + minutes * 60
            _read_spool(memory, console)
            away = False
        except (StoreUnavailable, StoreBusy) as error:
            if not memory.settings.database_url:
                raise
            if not away:  # a server that is restarted comes back; told once
                console.note(f"{error} Still watching; what hooks tell of waits in the spool.")
            away = True
        stop.wait(SPOOL_SECONDS)


def _sweep_all(memory: Recollect, sources: dict[str, list[Path]] | None, console: Output, stop: Stop) -> None:
    report = memory.sweep(sources, progress=lambda done, total, name: stop.check())  # between two files it may end
    if console.json:
        console.document(report.as_dict())
    elif report.ingested or report.failed:
        report_lines(report, console)
    console.flush()


def _read_spool(memory: Recollect, console: Output) -> None:
    drained = memory.drain()
    if drained.report.events_added and not console.json:
        events, records = counted(drained.report.events_added, "events"), counted(drained.records, "records")
        console.line(f"{events} added from {records} of hooks.")
        console.flush()
