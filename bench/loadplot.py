"""The load curves as a picture: p95 against how many ask at once, both axes in powers, one line a store and route."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 30, 55
COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280", "#4a5568")
Curves = Mapping[str, Mapping[int, tuple[float, float]]]


def drawn(curves: Curves) -> str:
    """The picture, as SVG text."""
    lines = {
        f"{store}, {what}": [(crowd, pair[place]) for crowd, pair in sorted(curve.items())]
        for store, curve in curves.items()
        for place, what in enumerate(("search", "ingest"))
        if all(pair[place] == pair[place] for pair in curve.values())
    }
    points = [point for line in lines.values() for point in line]
    crowds = sorted({crowd for crowd, _ in points})
    low = 10 ** math.floor(math.log10(min(value for _, value in points)))
    high = 10 ** math.ceil(math.log10(max(value for _, value in points)))

    def place(crowd: float, value: float) -> tuple[float, float]:
        across = (math.log(crowd) - math.log(crowds[0])) / ((math.log(crowds[-1]) - math.log(crowds[0])) or 1)
        up = (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12"><rect width="100%" height="100%" fill="white"/>'
    ]
    value = low
    while value <= high:
        _, y = place(crowds[0], value)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e2e8f0"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
        value *= 10
    for crowd in crowds:
        x, _ = place(crowd, low)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{crowd}</text>')
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number // 2 % len(COLOURS)]
        dash = ' stroke-dasharray="5 4"' if name.endswith("ingest") else ""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in (place(*p) for p in line)]
        y = TOP + 18 * number + 10
        parts.append(f'<line x1="{WIDTH - RIGHT + 15}" x2="{WIDTH - RIGHT + 45}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2"{dash}/>')  # fmt: skip # noqa: E501
        parts.append(f'<text x="{WIDTH - RIGHT + 52}" y="{y + 4}">{escape(name)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 12}" text-anchor="middle">requests at once</text>')
    parts.append(f'<text x="16" y="{HEIGHT / 2}" transform="rotate(-90 16 {HEIGHT / 2})" text-anchor="middle">p95, ms</text>')  # fmt: skip # noqa: E501
    return "\n".join([*parts, "</svg>", ""])
