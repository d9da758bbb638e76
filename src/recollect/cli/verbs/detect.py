"""`recollect detect`: what repeats across sessions and agents, ranked, with its cost and a rule that would spare it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recollect.cli.opening import open_memory
from recollect.cli.values import time_ago, whole
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.learn.values import Candidate, Detection

_BAR = 10
_EMPTY = "Nothing repeats often enough yet. `recollect sweep` takes sessions in; --min-frequency 2 shows rarer things."


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--min-frequency", type=whole, default=3, metavar="N", help="in at least N sessions (default: 3; one less"
        " when several agents show it)"
    )  # fmt: skip
    parser.add_argument("--since", metavar="WHEN", help="only sessions that went on after this: 2026-11-01, 30d")
    parser.add_argument(
        "-n", "--limit", type=whole, default=50, metavar="N", help="show at most this many (default: 50)"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write a page with plots to FILE")


def run(args: Namespace, console: Output) -> int:
    since = time_ago(args.since)
    if args.limit < 1:
        raise InvalidInput("--limit is at least 1")
    if args.html is not None:
        _check(args.html)
    shown = 0
    with open_memory(args, everywhere=True) as memory, console.progress("reading sessions", None) as advance:

        def progress(done: int, total: int) -> None:
            nonlocal shown
            advance(done - shown, total)
            shown = done

        memory.patterns.agree()
        found = memory.detect(since=since, min_frequency=args.min_frequency, progress=progress)
    if args.html is not None:
        _write(args.html, found)
    if console.json:
        parts = {"candidates": found.candidates, "sessions": found.sessions, "signals": found.signals}
        console.document({**parts, "health": found.health, "html": args.html})
        return 0
    _show(found, args.limit, console)
    if args.html is not None:
        console.line(f"Wrote {args.html}.")
    return 0


def _check(path: Path) -> None:
    """A file that is there is replaced only when it is such a page."""
    from recollect.learn.page import MARK

    if path.is_dir():
        raise InvalidInput(f"{path} is a directory", hint="Give the name of a file, such as patterns.html.")
    if path.exists() and not path.read_bytes().startswith(MARK.encode()):
        raise InvalidInput(f"{path} is there and was not made by `recollect detect`", hint="Give another name.")


def _write(path: Path, found: Detection) -> None:
    from recollect.cli.files import write_private
    from recollect.clock import now
    from recollect.learn.page import page

    write_private(path, [page(found, now()).encode("utf-8", "replace")], replace=True)


def _show(found: Detection, limit: int, console: Output) -> None:
    if not found.candidates:
        console.note(_EMPTY)
    else:
        most = max(len(one.sessions) for one in found.candidates)
        rows = [_row(one, most, console) for one in found.candidates[:limit]]
        console.table(("id", "sessions", "agents", "lost", "pattern"), rows)
        _rules(found.candidates[:limit], console)
        if len(found.candidates) > limit:
            console.note(f"{len(found.candidates) - limit} more: --limit {len(found.candidates)}")
    if found.health:
        console.heading("Health of sessions, out of 100")
        rows = [
            [one.flavor, f"{one.sessions:,}", f"{_bar(one.mean, 100, console)} {one.mean:.0f}", _worst(one.penalties)]
            for one in found.health
        ]
        console.table(("agent", "sessions", "health", "most points lost for"), rows)
    console.note(f"{found.sessions:,} sessions, {found.signals:,} signals, {len(found.candidates):,} patterns.")


def _row(one: Candidate, most: int, console: Output) -> list[str]:
    from recollect.learn.page import minutes

    mark = "[CROSS-FLAVOR] " if one.cross_flavor else ""
    sessions = f"{_bar(len(one.sessions), most, console)} {len(one.sessions):>3}"
    return [one.id, sessions, ", ".join(one.flavors), minutes(one), f"{mark}{one.statement}"]


def _bar(value: float, most: float, console: Output) -> str:
    full, empty = ("█", "░") if console.fancy else ("#", ".")
    length = min(max(round(value / most * _BAR), 1 if value else 0), _BAR) if most else 0
    return full * length + empty * (_BAR - length)


def _rules(candidates: tuple[Candidate, ...], console: Output) -> None:
    ruled = [[one.id, one.rule] for one in candidates if one.rule]
    if ruled:
        console.heading("Rules that would spare it")
        console.table(("id", "rule"), ruled)


def _worst(penalties: object) -> str:
    lost = list(penalties.items())[:3] if isinstance(penalties, dict) else []
    return ", ".join(f"{name} ({points})" for name, points in lost) or "-"
