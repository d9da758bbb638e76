"""What roll-outs came to as one page of HTML that needs nothing else, and the plots on it.

Measured roll-outs come in as rows of plain values, a text goes out; everything in it is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from recollect.learn.measure import FLOOR, Effect, Rate, Span
from recollect.learn.page import STYLE
from recollect.learn.plots import Bar, bars, safe

MARK = "<!doctype html>\n<!-- made by recollect patterns measure -->"
_WIDTH, _ROW, _LABEL = 920, 30, 430
_WEEKS, _WEEK = 26, timedelta(days=7)


class Row(NamedTuple):
    """One roll-out: what it is about, what changed, and week by week."""

    title: str
    where: str
    since: datetime
    effect: Effect
    seconds: Span | None
    health: Span | None
    weeks: Sequence[tuple[datetime, int, int]]
    notes: Sequence[str] = ()


def page(rows: Sequence[Row], now: datetime) -> str:
    """The report."""
    parts = [
        f'{MARK}\n<html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width"><title>What it came to</title>',
        f"<style>{STYLE}</style></head><body><h1>What rolling out came to</h1>",
        f"<p class=facts>Roll-outs: {len(rows)}. Made {now:%Y-%m-%d %H:%M} UTC.</p>",
    ]
    known = [row for row in rows if row.effect.difference is not None]
    if known:
        parts += ["<h2>Change per 100 tasks, with its interval</h2>", intervals(known)]
    parts += [_article(row) for row in rows] or ["<p>Nothing was rolled out yet.</p>"]
    return "\n".join([*parts, "</body></html>\n"])


def intervals(rows: Sequence[Row]) -> str:
    """One line a roll-out: the estimate as a dot, its interval as a bar, and where nothing changed."""
    spans = [row.effect.difference.times(100) for row in rows if row.effect.difference is not None]
    edge = max([1.0, *(abs(limit) for span in spans for limit in (span.low, span.high))])
    room, height = _WIDTH - _LABEL - 20, _ROW * len(rows) + 26

    def x(value: float) -> float:
        return _LABEL + (value + edge) / (2 * edge) * room

    zero = f'x1="{x(0):.1f}" y1="0" x2="{x(0):.1f}" y2="{height - 18}"'
    drawn = [f'<line {zero} stroke="currentColor" stroke-dasharray="3 3"/>']
    for number, (row, span) in enumerate(zip(rows, spans, strict=True)):
        y = number * _ROW + 16
        colour = {"fewer": 2, "more": 5}.get(row.effect.verdict, 7)
        width = max(x(span.high) - x(span.low), 1.0)
        drawn.append(
            f"<g><title>{safe(told(row.effect))}</title>"
            f'<text class="label" x="{_LABEL - 10}" y="{y + 4}" text-anchor="end">{safe(row.title, 62)}</text>'
            f'<rect class="c{colour}" x="{x(span.low):.1f}" y="{y - 2}" width="{width:.1f}" height="5" rx="2"/>'
            f'<circle class="c{colour}" cx="{x(span.value):.1f}" cy="{y + 0.5:.1f}" r="5"/></g>'
        )
    for value in (-edge, 0.0, edge):
        place = f'x="{x(value):.1f}" y="{height - 4}" text-anchor="middle"'
        drawn.append(f'<text class="figure" {place}>{f"{value:+.0f}" if value else "0"}</text>')
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="change per 100 tasks" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(drawn)}</svg>'
    )


def told(effect: Effect) -> str:
    """The change in words."""
    if effect.difference is None:
        return f"not enough data ({effect.before.tasks} tasks before, {effect.after.tasks} after; {FLOOR} are needed)"
    span = effect.difference.times(100)
    return f"{effect.verdict}: {span.value:+.0f} per 100 tasks, 95 % interval {span.low:+.0f} to {span.high:+.0f}"


def _article(row: Row) -> str:
    effect = row.effect
    parts = [("before", effect.before), ("after", effect.after)]
    parts += [("held back, before", effect.control_before)] if effect.control_before else []
    parts += [("held back, after", effect.control_after)] if effect.control_after else []
    shares = bars([_bar(name, rate, number) for number, (name, rate) in enumerate(parts)], "per 100 tasks", top=100.0)
    weeks = bars([_week(*week, row.since) for week in row.weeks[-_WEEKS:]], "by week", top=100.0) if row.weeks else ""
    means = [
        f"{name} {span.value:+.1f} {unit} a task ({span.low:+.1f} to {span.high:+.1f})"
        for name, span, unit in (("time lost", row.seconds, "s"), ("health", row.health, "points"))
        if span is not None
    ]
    notes = "".join(f"<p class=facts>{safe(note)}</p>" for note in (*means, *row.notes))
    return (
        f"<article><h3>{safe(row.title)}</h3><p class=facts>{safe(row.where)}, since {row.since:%Y-%m-%d}</p>"
        f"<p>{safe(told(effect))}. Proposal: {safe(effect.proposal)}.</p>{shares}{notes}"
        f"{f'<h2>By week</h2>{weeks}' if weeks else ''}</article>"
    )


def _bar(name: str, rate: Rate, number: int) -> Bar:
    return Bar(name, ((number, rate.per_100),), f"{rate.per_100:.0f} ({rate.hits} of {rate.tasks})")


def _week(begins: datetime, hits: int, tasks: int, since: datetime) -> Bar:
    return Bar(
        f"{begins:%Y-%m-%d}", ((1 if begins + _WEEK > since else 0, 100 * hits / max(tasks, 1)),), f"{hits} of {tasks}"
    )
