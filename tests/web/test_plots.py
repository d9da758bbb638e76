"""Plots tell what they are of: shades that grow by times, axes that show a change, labels that are cut at their end."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

import pytest

from recollect.pipeline.measuring import Week
from recollect.web import plots
from recollect.web.patterns import every_week, lasted


@pytest.mark.parametrize(
    ("most", "shades"),
    [
        (0, []),
        (1, [(1, 1, 1)]),
        (3, [(1, 1, 1), (3, 2, 2), (4, 3, 3)]),
        (23, [(1, 1, 2), (2, 3, 4), (3, 5, 10), (4, 11, 23)]),
        (10_000, [(1, 1, 10), (2, 11, 100), (3, 101, 1_000), (4, 1_001, 10_000)]),
    ],
)
def test_each_shade_is_so_many_times_more(most: int, shades: list[tuple[int, int, int]]) -> None:
    assert plots.shades_of(most) == shades


def test_the_legend_says_how_many_a_shade_is() -> None:
    said = re.sub("<[^>]+>", " ", plots.heat_legend(23)).split()
    assert said == ["1–2", "3–4", "5–10", "11–23"]


def test_a_long_label_is_cut_at_its_end_and_stays_inside() -> None:
    svg = plots.bars([plots.Bar("W" * 200, ((0, 1.0),), "12 min")], "Time")
    x, label = re.search(r'<text x="([\d.]+)" y="14.0" text-anchor="start">([^<]+)</text>', svg).groups()  # type: ignore[union-attr]
    assert float(x) == 0
    assert label.endswith("…")
    assert len(label) < 60


def test_an_axis_begins_below_the_lowest_value_and_each_has_a_dot() -> None:
    svg = plots.lines(["Oct 1", "Oct 8", "Oct 15"], {"claude": [92.0, None, 97.0]}, "Health", top=100.0)
    assert ">90</text>" in svg
    assert ">0</text>" not in svg
    assert svg.count("<circle") == 2
    assert "<title>Oct 15: claude 97</title>" in svg
    assert svg.count("<polyline") == 1, "it is one line, whatever week had none"


def test_weeks_without_a_task_have_their_place() -> None:
    first = datetime(2026, 8, 24, tzinfo=UTC)
    found = [Week(first, 0, 3), Week(first + timedelta(weeks=3), 2, 9)]
    made = every_week(found, first + timedelta(weeks=5, days=2))
    assert [(week.hits, week.tasks) for week in made] == [(0, 3), (0, 0), (0, 0), (2, 9), (0, 0), (0, 0)]
    assert every_week([], first) == []


def test_a_moment_is_marked_among_columns() -> None:
    svg = plots.columns(["a", "b"], {"met it": [1.0, 0.0]}, "x", colours=(plots.BAD,), mark=(1.0, "rolled out Nov 17"))
    assert '<line class="moment"' in svg
    assert "rolled out Nov 17" in svg
    assert f'class="c{plots.BAD}"' in svg


@pytest.mark.parametrize(("seconds", "told"), [(39, "39 s"), (89, "89 s"), (144, "2.4 min"), (7_200, "120 min")])
def test_a_short_time_is_told_in_seconds(seconds: float, told: str) -> None:
    assert lasted(seconds) == told


def test_a_day_with_something_in_it_is_a_link() -> None:
    day = date(2026, 11, 16)
    svg = plots.heat({day: 2}, day, "Days", weeks=2, address=lambda one: f"/x?d={one}&e")
    assert re.findall(r'<a href="([^"]+)"', svg) == ["/x?d=2026-11-16&amp;e"]
