"""Roll-ups: made from the gists of a week, a month and a project, again only when one of those changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from recollect.clock import iso
from recollect.learn.rollups import due, periods_of
from recollect.model import Gist
from recollect.store.ports.relations import Rollup

NOW = datetime(2026, 11, 16, tzinfo=UTC)
ABOUT = {
    "lamps": "The user asked how lamps are lit at dusk.",
    "ropes": "Tarred ropes were compared with cables of steel.",
    "boats": "Three boats were painted green before winter.",
}


def gist(session: str, days: int, content: str = "", project: str | None = "tide") -> Gist:
    at = NOW - timedelta(days=days)
    content = content or ABOUT.get(session, f"The user asked about the {session} of the harbour.")
    return Gist(session, content, 7, at, at, project=project)


def made(gists: list[Gist], there: list[Rollup] | None = None) -> dict[tuple[str | None, str], Rollup | None]:
    return dict(due(gists, there or [], NOW))


def test_each_session_is_covered_by_its_week_its_month_and_its_project() -> None:
    found = made([gist("lamps", 1), gist("ropes", 2), gist("boats", 40), gist("tulips", 1, project=None)])
    covered = {place: sorted(one.covers) for place, one in found.items() if one is not None}
    assert covered == {
        ("tide", "2026-W46"): ["lamps", "ropes"],
        ("tide", "2026-W41"): ["boats"],
        ("tide", "2026-11"): ["lamps", "ropes"],
        ("tide", "2026-10"): ["boats"],
        ("tide", "profile"): ["boats", "lamps", "ropes"],
        (None, "2026-W46"): ["tulips"],
        (None, "2026-11"): ["tulips"],
        (None, "profile"): ["tulips"],
    }
    month, profile = found["tide", "2026-11"], found["tide", "profile"]
    assert month is not None
    assert profile is not None
    assert "lamps" in month.content
    assert "boats" not in month.content
    assert {"boats", "lamps"} <= set(profile.content.replace(".", "").split())
    assert month.covers["lamps"] == (7, iso(NOW - timedelta(days=1)))


def test_nothing_is_made_again_until_a_gist_changes() -> None:
    gists = [gist("lamps", 1), gist("boats", 40)]
    there = [one for one in made(gists).values() if one is not None]
    assert made(gists, there) == {}
    grown = [replace(gists[0], covers=9, created_at=NOW), gists[1]]
    assert set(made(grown, there)) == {("tide", "2026-W46"), ("tide", "2026-11"), ("tide", "profile")}


def test_what_covers_nothing_any_more_goes() -> None:
    there = [one for one in made([gist("lamps", 1), gist("boats", 40)]).values() if one is not None]
    found = made([gist("boats", 40)], there)
    assert {place for place, one in found.items() if one is None} == {("tide", "2026-W46"), ("tide", "2026-11")}
    profile = found["tide", "profile"]
    assert profile is not None
    assert list(profile.covers) == ["boats"]


def test_many_gists_are_merged_chunk_by_chunk() -> None:
    """And the text does not grow with them."""
    gists = [gist(f"session{number}", 1, f"The user asked about lamp {number}. " * 40) for number in range(100)]
    found = made(gists)["tide", "2026-W46"]
    assert found is not None
    assert len(found.covers) == 100
    assert 0 < len(found.content) < 2_000


def test_weeks_are_those_of_the_calendar() -> None:
    assert periods_of(datetime(2027, 1, 2, tzinfo=UTC)) == ("2026-W53", "2027-01")
