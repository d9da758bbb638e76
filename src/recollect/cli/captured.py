"""What the verbs that capture share: the report in lines, and a place for runs that must write nothing."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.cli.opening import Place
from recollect.cli.wording import counted, in_words

if TYPE_CHECKING:
    from recollect.cli.output import Output
    from recollect.pipeline.drain import Drained
    from recollect.pipeline.sweep import Report


@contextmanager
def dry_place(place: Place, dry_run: bool) -> Iterator[Place]:
    """The place itself; for a dry run where there is no store or no data directory yet, a temporary one."""
    if not dry_run or (place.has_store and place.loaded.settings.data_dir.exists()):
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="recollect-dry-") as folder:
        settings = replace(place.loaded.settings, data_dir=Path(folder) / "data")
        yield place._replace(loaded=replace(place.loaded, settings=settings))


def hook_lines(drained: Drained, console: Output, *, memories: bool = True) -> None:
    """What hooks had told of, and what came of it; `memories` tells of those that were made too."""
    report = drained.report
    came = {"sessions": report.ingested, "events": report.events_added}
    console.line(f"{counted(drained.records, 'records')} of hooks: {in_words(came) or 'nothing'} added.")
    if memories:
        _made(report.memories, console)
    for what in ("waiting", "refused"):
        if number := getattr(drained, what):
            console.note(f"{counted(number, 'records')} {what}")
    for session in drained.missing:
        console.note(f"the transcript of {session} was not where its hook said")
    _problems(report, console)


def report_lines(
    report: Report, console: Output, *, dry_run: bool = False, also: Mapping[str, int] | None = None
) -> None:
    """What a sweep did, in a few lines; `also` are the memories that were made just before it."""
    if report.busy:
        console.note("Another sweep is running; this one did nothing.")
        return
    would = "would be " if dry_run else ""
    console.line(
        f"discovered {report.discovered:,} / {would}ingested {report.ingested:,} / "
        f"skipped_unchanged {report.skipped_unchanged:,} / analyzed {report.analyzed:,} / failed {report.failed:,}"
        + (f" / empty {report.empty:,}" if report.empty else "")
    )
    if report.by_agent:
        console.line("  " + ", ".join(f"{agent} {count:,}" for agent, count in sorted(report.by_agent.items())))
    if not dry_run and (report.events_added or report.events_changed):
        console.line(
            f"  {counted(report.turns, 'turns')} seen, {counted(report.events_added, 'events')} added,"
            f" {report.events_changed:,} changed"
        )
    _made(Counter(report.memories) + Counter(also or {}), console)
    withheld = {name: count for name, count in report.counts.items() if name.startswith("withheld:")}
    if report.withheld or withheld:
        parts = [counted(report.withheld, "sessions")] if report.withheld else []
        parts += [f"{name.removeprefix('withheld:')} {count:,}" for name, count in sorted(withheld.items())]
        console.line("  withheld: " + ", ".join(parts))
    kept = report.retention
    if not dry_run:
        passes = " ".join(f"{name}={count}" for name, count in kept.passes.items())
        console.line(f"retention: freed {size(kept.freed)}, final_usage {size(kept.final_usage)}, {passes}")
    for lost in kept.data_loss:
        console.note(f"data_loss: the bodies of {lost} had to go before its digest was made (raw_hard_cap_bytes)")
    if kept.alert:
        console.note(f"alert: {kept.alert}")
    _problems(report, console)


def _made(memories: Mapping[str, int], console: Output) -> None:
    if made := {name: count for name, count in memories.items() if name != "known"}:
        console.line("  memories: " + ", ".join(f"{count:,} {name}" for name, count in sorted(made.items())))


def _problems(report: Report, console: Output) -> None:
    for problem in report.problems[:10]:
        console.note(f"failed: {problem['transcript']}: {problem['error']}")
    if report.failed > 10:
        console.note(f"… and {report.failed - 10:,} more; --json lists them.")


def size(count: int) -> str:
    """A number of bytes to read."""
    for unit, least in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= least:
            return f"{count / least:.1f} {unit}"
    return f"{count} B"
