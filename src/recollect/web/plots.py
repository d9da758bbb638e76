"""Plots as SVG, made on the server: numbers and labels in, one element out that stands in a page.

No script, no style of its own: sizes are attributes, colours are classes (`c0` … `c7`, `h0` … `h4`) that the page's
sheet gives for light and dark. Every label is escaped. What a plot shows stands beside it as a table too, for those who
cannot see it; so here are marks, an axis and little else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from math import ceil, log10
from typing import NamedTuple

from markupsafe import Markup, escape

from recollect.text import one_line, present

COLOURS = 8
WIDTH = 680
_LEFT, _RIGHT, _TOP = 46, 12, 8


class Bar(NamedTuple):
    """One row: its label, its parts (colour, length), what stands behind it."""

    label: str
    parts: tuple[tuple[int, float], ...]
    figure: str = ""


class Range(NamedTuple):
    """A value with how far it may be off; None where there is not enough to tell."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    figure: str = ""


def text(value: object, limit: int = 0) -> Markup:
    """A label as it may stand in a plot."""
    return escape(one_line(str(value), limit) if limit else present(str(value)))


def bars(rows: Sequence[Bar], name: str, *, label: int = 200, top: float | None = None) -> Markup:
    """Horizontal bars, one a row. `label`: how wide the labels' column is; `top`: the value of a full bar."""
    longest = top or max((sum(length for _, length in row.parts) for row in rows), default=0.0) or 1.0
    room = WIDTH - label - 90
    drawn: list[Markup] = []
    for number, row in enumerate(rows):
        y, x = number * 24 + 4, float(label)
        drawn.append(_text(label - 10, y + 12, text(row.label, max(8, label // 7)), anchor="end"))
        for colour, length in row.parts:
            width = max(0.0, length / longest * room)
            drawn.append(_rect(x, y, width, 15, f"c{colour % COLOURS}"))
            x += width
        drawn.append(_text(x + 6, y + 12, text(row.figure), kind="soft"))
    return _svg(WIDTH, len(rows) * 24 + 8, name, drawn)


def columns(days: Sequence[str], series: Mapping[str, Sequence[float]], name: str, *, unit: str = "") -> Markup:
    """Stacked columns, one a day (or week), with an axis; colours by the order of the series."""
    height, bottom = 190, 24
    totals = [sum(values[place] for values in series.values()) for place in range(len(days))]
    top = _round_up(max(totals, default=0.0))
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(days))
    drawn = [*_axis(top, height, bottom, unit), *_dates(days, step, height)]
    for place, day in enumerate(days):
        y = float(height - bottom)
        for number, values in enumerate(series.values()):
            tall = values[place] / top * (height - bottom - _TOP)
            y -= tall
            if tall > 0:
                wide = max(1.0, step - (2 if step > 6 else 0.5))
                told = _titled(f"{day}: {list(series)[number]} {_figure(values[place])}{unit}")
                drawn.append(_rect(_LEFT + place * step, y, wide, tall, f"c{number % COLOURS}", told))
    return _svg(WIDTH, height, name, drawn)


def lines(days: Sequence[str], series: Mapping[str, Sequence[float | None]], name: str, *, unit: str = "") -> Markup:
    """A line a series; where a value is None the line is broken."""
    height, bottom = 190, 24
    known = [value for values in series.values() for value in values if value is not None]
    top = _round_up(max(known, default=0.0))
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(days))
    drawn = [*_axis(top, height, bottom, unit), *_dates(days, step, height)]
    for number, values in enumerate(series.values()):
        places = [
            None
            if value is None
            else (_LEFT + (place + 0.5) * step, height - bottom - value / top * (height - bottom - _TOP))
            for place, value in enumerate(values)
        ]
        drawn += _strokes(places, f"c{number % COLOURS}")
    return _svg(WIDTH, height, name, drawn)


def heat(counts: Mapping[date, int], last: date, name: str, *, weeks: int = 26) -> Markup:
    """A calendar: a column a week, a square a day, darker where there was more."""
    size, gap, left = 17, 3, 34
    most = max(counts.values(), default=0)
    first = last - timedelta(days=last.weekday() + 7 * (weeks - 1))
    drawn = [
        _text(left - 6, 20 + row * (size + gap) + 13, text(word), anchor="end", kind="soft")
        for row, word in ((0, "Mon"), (2, "Wed"), (4, "Fri"))
    ]
    for week in range(weeks):
        begins, x = first + timedelta(weeks=week), left + week * (size + gap)
        if begins.month != (begins - timedelta(weeks=1)).month or (week == 0 and begins.day < 15):
            drawn.append(_text(x, 12, text(f"{begins:%b}"), kind="soft"))
        for row in range(7):
            day = begins + timedelta(days=row)
            if day <= last:
                shade = _shade(counts.get(day, 0), most)
                told = _titled(f"{day}: {counts.get(day, 0):,}")
                drawn.append(_rect(x, 20 + row * (size + gap), size, size, f"h{shade}", told))
    return _svg(left + weeks * (size + gap), 20 + 7 * (size + gap), name, drawn)


def parts_bar(parts: Sequence[tuple[str, float]], name: str) -> Markup:
    """One small stacked bar out of 1: what a score is made of."""
    x, drawn = 0.0, [_rect(0, 0, 300, 8, "track")]
    for number, (what, share) in enumerate(parts):
        width = max(0.0, min(share, 1.0)) * 300
        drawn.append(_rect(x, 0, width, 8, f"c{number % COLOURS}", _titled(f"{what} {share:.2f}")))
        x += width
    return _svg(300, 8, name, drawn, kind="parts")


def intervals(rows: Sequence[Range], name: str, *, label: int = 200, unit: str = "") -> Markup:
    """A dot with its interval, one a row, on one axis."""
    known = [value for row in rows for value in (row.value, row.high) if value is not None]
    top = _round_up(max(known, default=0.0))
    room = WIDTH - label - 90
    drawn: list[Markup] = []
    for number, row in enumerate(rows):
        y = number * 30 + 12
        drawn.append(_text(label - 10, y + 4, text(row.label, max(8, label // 7)), anchor="end"))
        drawn.append(Markup('<line class="axis" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(label, y, label + room, y))
        if row.value is not None and row.low is not None and row.high is not None:
            low, high, at = (label + value / top * room for value in (row.low, row.high, row.value))
            colour = f"c{number % COLOURS}"
            drawn.append(_rect(low, y - 3, max(1.0, high - low), 6, colour, opacity=0.35))
            drawn.append(Markup('<circle class="{}" cx="{:.1f}" cy="{}" r="5"/>').format(colour, at, y))
        drawn.append(_text(label + room + 8, y + 4, text(row.figure), kind="soft"))
    for share in (0.0, 0.5, 1.0):
        at = label + share * room
        told = text(f"{_figure(top * share)}{unit}")
        drawn.append(_text(at, len(rows) * 30 + 14, told, anchor="middle", kind="soft"))
    return _svg(WIDTH, len(rows) * 30 + 22, name, drawn)


def legend(names: Iterable[str]) -> Markup:
    """Which colour is what."""
    swatch = '<svg viewBox="0 0 10 10" aria-hidden="true"><rect class="c{}" width="10" height="10" rx="2"/></svg>'
    rows = [
        Markup(f"<li>{swatch}{{}}</li>").format(number % COLOURS, text(name, 40))  # noqa: S704 (no text from outside)
        for number, name in enumerate(names)
    ]
    return Markup('<ul class="legend">{}</ul>').format(Markup("").join(rows))


# -- marks -------------------------------------------------------------------------------------------------------------


def _svg(width: float, height: float, name: str, drawn: Iterable[Markup], kind: str = "") -> Markup:
    shaped = Markup(' class="{}"').format(kind) if kind else Markup("")
    return Markup(
        '<svg viewBox="0 0 {:.0f} {:.0f}" width="{:.0f}" height="{:.0f}" role="img" aria-label="{}"{}>{}</svg>'
    ).format(width, height, width, height, text(name), shaped, Markup("").join(drawn))


def _rect(
    x: float, y: float, width: float, height: float, kind: str, inside: Markup | str = "", opacity: float = 1
) -> Markup:
    faint = Markup(' opacity="{}"').format(opacity) if opacity < 1 else Markup("")
    round_ = 2 if width > 3 and height > 3 else 0
    return Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="{}"{}>{}</rect>').format(
        kind, x, y, width, height, round_, faint, inside
    )


def _text(x: float, y: float, words: Markup, *, anchor: str = "start", kind: str = "") -> Markup:
    shaped = Markup(' class="{}"').format(kind) if kind else Markup("")
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}"{}>{}</text>').format(x, y, anchor, shaped, words)


def _titled(words: str) -> Markup:
    return Markup("<title>{}</title>").format(text(words))


def _axis(top: float, height: int, bottom: int, unit: str) -> list[Markup]:
    """Three lines with their values."""
    drawn = []
    for share in (0.0, 0.5, 1.0):
        y = height - bottom - share * (height - bottom - _TOP)
        drawn.append(
            Markup('<line class="axis" x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}"/>').format(_LEFT, y, WIDTH - _RIGHT, y)
        )
        drawn.append(_text(_LEFT - 6, y + 4, text(f"{_figure(top * share)}{unit}"), anchor="end", kind="soft"))
    return drawn


def _dates(days: Sequence[str], step: float, height: int) -> list[Markup]:
    """A few of the days, so that they can be read."""
    each = max(1, ceil(len(days) / 7))
    return [
        _text(_LEFT + (place + 0.5) * step, height - 6, text(day), anchor="middle", kind="soft")
        for place, day in enumerate(days)
        if place % each == each // 2
    ]


def _strokes(places: Sequence[tuple[float, float] | None], kind: str) -> list[Markup]:
    """A line through neighbours, a dot where there is none."""
    drawn: list[Markup] = []
    run: list[tuple[float, float]] = []
    for place in [*places, None]:
        if place is not None:
            run.append(place)
            continue
        if len(run) > 1:
            drawn.append(
                Markup('<g class="{}"><polyline class="line" points="{}"/></g>').format(
                    kind, " ".join(f"{x:.1f},{y:.1f}" for x, y in run)
                )
            )
        elif run:
            drawn.append(Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="2.5"/>').format(kind, *run[0]))
        run = []
    return drawn


def _round_up(value: float) -> float:
    """A number people like on an axis, not below this one."""
    if value <= 0:
        return 1.0
    size = 10.0 ** int(log10(value) if value >= 1 else log10(value) - 1)
    return next(size * step for step in (1, 2, 4, 5, 6, 8, 10, 20) if size * step >= value * 0.9999)


def _figure(value: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def _shade(number: int, most: int) -> int:
    """From 0 to 4: nothing, then quarters of the most there was."""
    return 0 if number <= 0 else 1 + min(3, number * 4 // (most + 1))
