"""Plots as SVG text, made here and shown anywhere: no script, no network, no fonts of their own.

Numbers and labels come in; one `<svg>` element goes out, to stand inside a page. Every label is escaped: it may hold
whatever a tool once printed. Colours are named by classes (`c0` … `c7`), which the page gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from recollect.text import one_line, present

COLOURS = 8
_WIDTH, _ROW, _BAR, _LABEL, _FIGURE = 920, 26, 14, 430, 70
_LABEL_CHARS = 52  # that fit before the bars, on the safe side: what is longer is cut at its end


class Bar(NamedTuple):
    """One row: its label, its parts (class of the colour, length), what stands behind it, and what hovering tells."""

    label: str
    parts: tuple[tuple[int, float], ...]
    figure: str = ""
    title: str = ""


def safe(text: str, limit: int = 0) -> str:
    """A text as it may stand in a page."""
    return escape(one_line(present(text), limit))


def bars(rows: Sequence[Bar], name: str, *, top: float | None = None) -> str:
    """Horizontal bars, one a row; `top` is the value of a full bar, else the longest is full."""
    longest = top or max((sum(length for _, length in row.parts) for row in rows), default=0.0) or 1.0
    height = _ROW * len(rows) + 8
    drawn = "".join(_row(row, number, longest) for number, row in enumerate(rows))
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{safe(name)}" '
        f'xmlns="http://www.w3.org/2000/svg">{drawn}</svg>'
    )


def _row(row: Bar, number: int, longest: float) -> str:
    y = number * _ROW + 6
    room = _WIDTH - _LABEL - _FIGURE
    x, drawn = float(_LABEL), []
    for colour, length in row.parts:
        width = max(length / longest * room, 0.0)
        shape = f'<rect class="c{colour % COLOURS}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}" rx="2"/>'
        drawn.append(shape)
        x += width
    title = f"<title>{safe(row.title or row.label)}</title>"
    return (
        f'<g>{title}<text class="label" x="{_LABEL - 10}" y="{y + 11}" text-anchor="end">'
        f"{safe(row.label, _LABEL_CHARS)}</text>{''.join(drawn)}"
        f'<text class="figure" x="{x + 6:.1f}" y="{y + 11}">{safe(row.figure)}</text></g>'
    )
