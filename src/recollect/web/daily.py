"""Columns by day as SVG: one shape for each series, and one strip a day that tells its figures when pointed at.

The same marks and classes as `plots`, drawn in fewer pieces: a page with many days and series stays small. Numbers are
formatted here; every word is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10

from markupsafe import Markup, escape

from recollect.text import present
from recollect.web.plots import COLOURS, WIDTH

HEIGHT = 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 8, 10, 26
_ROOM = HEIGHT - _TOP - _BOTTOM
_DATES = 5  # days that are named below


def columns(days: Sequence[str], series: Mapping[str, Sequence[float]], name: str) -> Markup:
    """Stacked columns, one a day (or week), with an axis; colours by the order of the series."""
    top = _round_up(max((sum(each) for each in zip(*series.values(), strict=True)), default=0.0))
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(days))
    wide = max(1.0, step - (2 if step > 6 else 0.5))
    below = [0.0] * len(days)
    drawn = [*_axis(top), *_dates(days, step)]
    for number, values in enumerate(series.values()):
        pieces = []
        for place, value in enumerate(values):
            if value > 0:
                foot = HEIGHT - _BOTTOM - below[place] / top * _ROOM
                tall = value / top * _ROOM
                pieces.append(f"M{_LEFT + place * step:.1f} {foot:.1f}v{-tall:.1f}h{wide:.1f}v{tall:.1f}z")
                below[place] += value
        drawn.append(f'<path class="c{number % COLOURS}" d="{"".join(pieces)}"/>')
    drawn += [_strip(day, place, step, series) for place, day in enumerate(days) if below[place]]
    label = escape(present(name))
    return Markup(  # noqa: S704 (numbers of ours, and words that were escaped)
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{label}">'
        f"{''.join(drawn)}</svg>"
    )


def _strip(day: str, place: int, step: float, series: Mapping[str, Sequence[float]]) -> str:
    """What a day came to, for whoever points at it."""
    told = ", ".join(f"{name} {_figure(values[place])}" for name, values in series.items() if values[place])
    words = escape(present(f"{day}: {told}"))
    return (
        f'<rect class="strip" x="{_LEFT + place * step:.1f}" y="{_TOP}" width="{step:.1f}" height="{_ROOM}">'
        f"<title>{words}</title></rect>"
    )


def _axis(top: float) -> list[str]:
    drawn = []
    for share in (0.0, 0.5, 1.0):
        y = HEIGHT - _BOTTOM - share * _ROOM
        drawn.append(f'<line class="axis" x1="{_LEFT}" y1="{y:.1f}" x2="{WIDTH - _RIGHT}" y2="{y:.1f}"/>')
        told = f'<text class="soft" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_figure(top * share)}</text>'
        drawn.append(told)
    return drawn


def _dates(days: Sequence[str], step: float) -> list[str]:
    each = max(1, ceil(len(days) / _DATES))
    return [
        f'<text class="soft" x="{_LEFT + (place + 0.5) * step:.1f}" y="{HEIGHT - 7}" text-anchor="middle">'
        f"{escape(present(day))}</text>"
        for place, day in enumerate(days)
        if place % each == each // 2
    ]


def _round_up(value: float) -> float:
    """A number people like on an axis, not below this one."""
    if value <= 0:
        return 1.0
    size = 10.0 ** floor(log10(value))
    return next(size * step for step in (1, 2, 4, 5, 6, 8, 10) if size * step >= value * 0.9999)


def _figure(value: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"
