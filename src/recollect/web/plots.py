"""Plots as SVG, made on the server: numbers and labels in, one element out that stands in a page.

No script, no style of its own: sizes are attributes, colours are classes (`c0` … `c7`, `h0` … `h4`) that the page's
sheet gives for light and dark. Every label is escaped. What a plot shows stands beside it as a table too, for those who
cannot see it; so here are marks, an axis and little else. A plot is narrow enough to be read on a phone as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from math import ceil, floor, log10
from typing import NamedTuple

from markupsafe import Markup, escape

from recollect.text import one_line, present
from recollect.web.markup import filled

COLOURS = 8
GOOD, BAD, PLAIN = 2, 5, 7  # colours that say something
WIDTH = 480
_LEFT, _RIGHT = 46, 12
_HIGH = 18  # pixels above a plot
_WIDEST = 60.0  # of a column
_DATES = 5  # days that are named below
_CHAR = 8.5  # pixels of a character, on the safe side
_ROW = 36  # of a bar and its label


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
    colour: int = PLAIN


def text(value: object, limit: int = 0) -> Markup:
    """A label as it may stand in a plot."""
    return escape(one_line(str(value), limit) if limit else present(str(value)))


def bars(rows: Sequence[Bar], name: str, *, top: float | None = None) -> Markup:
    """Horizontal bars, one a row, each below its label; what is too long for its row is cut at its end.

    `top` is the value of a full bar, else the longest is full.
    """
    longest = top or max((sum(length for _, length in row.parts) for row in rows), default=0.0) or 1.0
    drawn: list[Markup] = []
    for number, row in enumerate(rows):
        y, x = number * _ROW, 0.0
        room = int((WIDTH - len(row.figure) * _CHAR - 16) / _CHAR)
        drawn.append(_text(0, y + 14, text(row.label, max(8, room))))
        drawn.append(_text(WIDTH, y + 14, text(row.figure), anchor="end", kind="soft"))
        drawn.append(_rect(0, y + 19, WIDTH, 9, "track"))
        for colour, length in row.parts:
            width = max(0.0, length / longest * WIDTH)
            drawn.append(_rect(x, y + 19, width, 9, f"c{colour % COLOURS}"))
            x += width
    return _svg(WIDTH, len(rows) * _ROW, name, drawn)


def columns(
    days: Sequence[str],
    series: Mapping[str, Sequence[float]],
    name: str,
    *,
    colours: Sequence[int] = tuple(range(COLOURS)),
    mark: tuple[float, str] | None = None,
) -> Markup:
    """Stacked columns, one a day (or week), with an axis; `mark`: a place among them, as 2.5, and what is there."""
    height, bottom = 200, 24
    totals = [sum(values[place] for values in series.values()) for place in range(len(days))]
    top = _round_up(max(totals, default=0.0))
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(days))
    drawn = [*_axis(0.0, top, height, bottom), *_dates(days, step, height)]
    for place, day in enumerate(days):
        y = float(height - bottom)
        for number, (called, values) in enumerate(series.items()):
            tall = values[place] / top * (height - bottom - _HIGH)
            y -= tall
            if tall > 0:
                wide = max(1.0, min(_WIDEST, step - (2 if step > 6 else 0.5)))
                told = _titled(f"{day}: {called} {_figure(values[place])}")
                left = _LEFT + (place + 0.5) * step - wide / 2
                drawn.append(_rect(left, y, wide, tall, f"c{colours[number] % COLOURS}", told))
    if mark is not None:
        drawn += _upright(_LEFT + mark[0] * step, height - bottom, mark[1])
    return _svg(WIDTH, height, name, drawn)


def lines(
    days: Sequence[str], series: Mapping[str, Sequence[float | None]], name: str, *, top: float | None = None
) -> Markup:
    """A line a series through the values there are, each with a dot; the axis begins below the lowest of them."""
    height, bottom = 200, 24
    known = [value for values in series.values() for value in values if value is not None]
    high = top or _round_up(max(known, default=0.0))
    low = _round_down(min(known, default=0.0), high)
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(days))
    drawn = [*_axis(low, high, height, bottom), *_dates(days, step, height)]
    for number, (called, values) in enumerate(series.items()):
        colour = f"c{number % COLOURS}"
        places = [
            (
                _LEFT + (place + 0.5) * step,
                height - bottom - (value - low) / (high - low) * (height - bottom - _HIGH),
                f"{days[place]}: {called} {_figure(value)}",
            )
            for place, value in enumerate(values)
            if value is not None
        ]
        drawn += _strokes(places, colour)
    return _svg(WIDTH, height, name, drawn)


def heat(
    counts: Mapping[date, int], last: date, name: str, *, weeks: int = 26, address: Callable[[date], str]
) -> Markup:
    """A calendar: a column a week, a square a day, darker where there was more; one with something in it is a link."""
    size, gap, left = 17, 3, 34
    shades = shades_of(max(counts.values(), default=0))
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
                number = counts.get(day, 0)
                shade = next((one.shade for one in shades if one.low <= number <= one.high), 0)
                place = f'x="{x}" y="{20 + row * (size + gap)}" width="{size}" height="{size}" rx="2"'
                told = f"{day}: {number:,}"
                square = f'<rect class="h{shade}" {place}><title>{told}</title></rect>'
                # The table beside it has the same links: here they are for a mouse, not a stop for each day.
                if number:
                    square = f'<a href="{escape(address(day))}" tabindex="-1" aria-label="{told}">{square}</a>'
                drawn.append(Markup(square))  # noqa: S704 (numbers of ours, and an address that was escaped)
    return _svg(left + weeks * (size + gap), 20 + 7 * (size + gap), name, drawn, role="group")


class Shade(NamedTuple):
    """How dark a day is: from so many to so many."""

    shade: int
    low: int
    high: int


def shades_of(most: int) -> list[Shade]:
    """Up to four shades up to the most there was, each of as many times more as the one before."""
    found: list[Shade] = []
    for shade in range(1, 5):
        low, high = (found[-1].high if found else 0) + 1, floor(most ** (shade / 4) + 1e-9)
        if high >= low:
            found.append(Shade(shade, low, high))
    return found


def heat_legend(most: int) -> Markup:
    """Which shade is how many."""
    square = '<svg viewBox="0 0 10 10" aria-hidden="true"><rect class="h{}" width="10" height="10" rx="2"/></svg>'
    row = f"<li>{square}{{}}</li>"
    told = ((one.shade, f"{one.low:,}" + (f"–{one.high:,}" if one.high > one.low else "")) for one in shades_of(most))
    return filled('<ul class="legend">{}</ul>', Markup("").join(filled(row, *one) for one in told))


def parts_bar(parts: Sequence[tuple[str, float]], name: str) -> Markup:
    """One small stacked bar out of 1: what a score is made of."""
    x, drawn = 0.0, [_rect(0, 0, 300, 8, "track")]
    for number, (what, share) in enumerate(parts):
        width = max(0.0, min(share, 1.0)) * 300
        drawn.append(_rect(x, 0, width, 8, f"c{number % COLOURS}", _titled(f"{what} {share:.2f}")))
        x += width
    return _svg(300, 8, name, drawn, kind="parts")


def intervals(rows: Sequence[Range], name: str, *, label: int = 140) -> Markup:
    """A dot with its interval, one a row, on one axis."""
    known = [value for row in rows for value in (row.value, row.high) if value is not None]
    top = _round_up(max(known, default=0.0))
    room = WIDTH - label - 80
    drawn: list[Markup] = []
    for number, row in enumerate(rows):
        y = number * 30 + 12
        drawn.append(_text(0, y + 4, text(row.label, max(8, int(label / _CHAR)))))
        drawn.append(filled('<line class="axis" x1="{}" y1="{}" x2="{}" y2="{}"/>', label, y, label + room, y))
        if row.value is not None and row.low is not None and row.high is not None:
            low, high, at = (label + value / top * room for value in (row.low, row.high, row.value))
            colour = f"c{row.colour % COLOURS}"
            drawn.append(_rect(low, y - 3, max(1.0, high - low), 6, colour, opacity=0.35))
            drawn.append(filled('<circle class="{}" cx="{:.1f}" cy="{}" r="5"/>', colour, at, y))
        drawn.append(_text(label + room + 8, y + 4, text(row.figure), kind="soft"))
    for share in (0.0, 0.5, 1.0):
        at = label + share * room
        drawn.append(_text(at, len(rows) * 30 + 14, text(_figure(top * share)), anchor="middle", kind="soft"))
    return _svg(WIDTH, len(rows) * 30 + 22, name, drawn)


def legend(names: Iterable[str], colours: Sequence[int] = tuple(range(COLOURS))) -> Markup:
    """Which colour is what."""
    swatch = '<svg viewBox="0 0 10 10" aria-hidden="true"><rect class="c{}" width="10" height="10" rx="2"/></svg>'
    rows = [
        filled(f"<li>{swatch}{{}}</li>", colours[number % len(colours)] % COLOURS, text(name, 40))
        for number, name in enumerate(names)
    ]
    return filled('<ul class="legend">{}</ul>', Markup("").join(rows))


# -- marks -------------------------------------------------------------------------------------------------------------


def _svg(width: float, height: float, name: str, drawn: Iterable[Markup], kind: str = "", role: str = "img") -> Markup:
    shaped = filled(' class="{}"', kind) if kind else Markup("")
    return filled(
        '<svg viewBox="0 0 {:.0f} {:.0f}" width="{:.0f}" height="{:.0f}" role="{}" aria-label="{}"{}>{}</svg>',
        *(width, height, width, height, role, text(name), shaped, Markup("").join(drawn)),
    )


def _rect(
    x: float, y: float, width: float, height: float, kind: str, inside: Markup | str = "", opacity: float = 1
) -> Markup:
    faint = filled(' opacity="{}"', opacity) if opacity < 1 else Markup("")
    round_ = 2 if width > 3 and height > 3 else 0
    return filled(
        '<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="{}"{}>{}</rect>',
        *(kind, x, y, width, height, round_, faint, inside),
    )


def _text(x: float, y: float, words: Markup, *, anchor: str = "start", kind: str = "") -> Markup:
    shaped = filled(' class="{}"', kind) if kind else Markup("")
    return filled('<text x="{:.1f}" y="{:.1f}" text-anchor="{}"{}>{}</text>', x, y, anchor, shaped, words)


def _titled(words: str) -> Markup:
    return filled("<title>{}</title>", text(words))


def _axis(low: float, high: float, height: int, bottom: int) -> list[Markup]:
    """Three lines with their values."""
    drawn = []
    for share in (0.0, 0.5, 1.0):
        y = height - bottom - share * (height - bottom - _HIGH)
        drawn.append(
            filled('<line class="axis" x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}"/>', _LEFT, y, WIDTH - _RIGHT, y)
        )
        value = low + (high - low) * share
        drawn.append(_text(_LEFT - 6, y + 4, text(_figure(value)), anchor="end", kind="soft"))
    return drawn


def _dates(days: Sequence[str], step: float, height: int) -> list[Markup]:
    """A few of the days, so that they can be read."""
    each = max(1, ceil(len(days) / _DATES))
    return [
        _text(_LEFT + (place + 0.5) * step, height - 6, text(day), anchor="middle", kind="soft")
        for place, day in enumerate(days)
        if place % each == each // 2
    ]


def _upright(x: float, foot: float, words: str) -> list[Markup]:
    """A line at a moment, with what was then."""
    x = min(max(x, _LEFT), WIDTH - _RIGHT)
    anchor, beside = ("end", -5) if x > WIDTH / 2 else ("start", 5)
    line = filled('<line class="moment" x1="{:.1f}" y1="2" x2="{:.1f}" y2="{:.1f}"/>', x, x, foot)
    return [line, _text(x + beside, 12, text(words), anchor=anchor, kind="soft")]


def _strokes(places: Sequence[tuple[float, float, str]], kind: str) -> list[Markup]:
    """A line through these places, and a dot at each that tells what it is."""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
    dot = '<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="3.5">{}</circle>'
    line = filled('<g class="{}"><polyline class="line" points="{}"/></g>', kind, points)
    return [*([line] if len(places) > 1 else []), *(filled(dot, kind, x, y, _titled(told)) for x, y, told in places)]


def _round_up(value: float) -> float:
    """A number people like on an axis, not below this one."""
    if value <= 0:
        return 1.0
    size = 10.0 ** int(log10(value) if value >= 1 else log10(value) - 1)
    return next(size * step for step in (1, 2, 4, 5, 6, 8, 10, 20) if size * step >= value * 0.9999)


def _round_down(value: float, high: float) -> float:
    """Where an axis up to `high` begins so that it shows what changes: a step of ten below the lowest, or at 0."""
    step = high / 10
    return max(0.0, (ceil(value / step) - 1) * step)


def _figure(value: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"
