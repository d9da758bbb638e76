"""What roll-outs came to, for a terminal and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import InvalidInput
from recollect.learn.effectpage import MARK, Row, page, told
from recollect.learn.measure import Rate

if TYPE_CHECKING:
    from recollect.cli.output import Output
    from recollect.pipeline.measuring import Measured

_BAR = 20


def show(found: Sequence[Measured], console: Output) -> None:
    """Bars before and after, and what they allow to say."""
    if not found:
        console.note("Nothing was rolled out yet: `recollect patterns roll-out ID --to …`.")
    for number, one in enumerate(found):
        if number:
            console.line()
        taken = ", taken back" if one.state == "out" else ""
        console.line((one.pattern, "bold cyan"), " ", one.statement)
        console.line((f"  {one.target} in {one.project or 'every project'}, since {one.since:%Y-%m-%d}{taken}", "dim"))
        _bars(one, console)
        console.line(f"  {told(one.effect)}")
        for name, span, unit in (("time lost", one.seconds, "s"), ("health", one.health, "points")):
            if span is not None:
                console.line(f"  {name}: {span.value:+.1f} {unit} a task ({span.low:+.1f} to {span.high:+.1f})")
        for note in one.notes:
            console.line((f"  {note}", "dim"))
        if one.effect.proposal == "remove" and one.state == "in":
            console.line((f"  It does not help: recollect patterns roll-back {one.pattern}", "yellow"))


def _bars(one: Measured, console: Output) -> None:
    effect = one.effect
    parts: list[tuple[str, Rate | None]] = [("before", effect.before), ("after", effect.after)]
    parts += [("held back, before", effect.control_before), ("held back, after", effect.control_after)]
    full, empty = ("█", "░") if console.fancy else ("#", ".")
    for name, rate in parts:
        if rate is not None:
            length = round(rate.share * _BAR)
            figures = f"{rate.per_100:.0f} per 100 tasks ({rate.hits} of {rate.tasks})"
            console.line(f"  {name:<18} {full * length}{empty * (_BAR - length)} {figures}")


def write(path: Path, found: Sequence[Measured]) -> None:
    """The page; a file that is there is replaced only when it is such a page."""
    from recollect.cli.files import write_private
    from recollect.clock import now

    if path.is_dir() or (path.exists() and not path.read_bytes().startswith(MARK.encode())):
        raise InvalidInput(f"{path} is there and was not made by `patterns measure`", hint="Give another name.")
    rows = [
        Row(
            one.statement,
            f"{one.target} in {one.project or 'every project'}",
            one.since,
            one.effect,
            one.seconds,
            one.health,
            [(week.begins, week.hits, week.tasks) for week in one.weeks],
            one.notes,
        )
        for one in found
    ]
    write_private(path, [page(rows, now()).encode("utf-8", "replace")], replace=True)
