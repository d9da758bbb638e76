"""Times are aware UTC, text order is time order, ages read well at every boundary (D5, E 'age labels')."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.clock import age_days, age_label, from_iso, iso, parse_time
from recollect.errors import InvalidInput

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
MOMENTS = st.datetimes(timezones=st.just(UTC))


@pytest.mark.parametrize(
    ("given_time", "expected"),
    [
        pytest.param("2026-11-15", datetime(2026, 11, 15, tzinfo=UTC), id="a date is its midnight"),
        pytest.param("2026-11-15T09:30:00Z", datetime(2026, 11, 15, 9, 30, tzinfo=UTC), id="zulu"),
        pytest.param("2026-11-15T09:30:00+02:00", datetime(2026, 11, 15, 7, 30, tzinfo=UTC), id="offset"),
        pytest.param(datetime(2026, 11, 15, 9), datetime(2026, 11, 15, 9, tzinfo=UTC), id="naive is UTC"),  # noqa: DTZ001
        pytest.param(
            datetime(2026, 11, 15, 9, tzinfo=timezone(timedelta(hours=-5))),
            datetime(2026, 11, 15, 14, tzinfo=UTC),
            id="aware is converted",
        ),
        pytest.param(0, datetime(1970, 1, 1, tzinfo=UTC), id="epoch"),
        pytest.param("9999-12-31", datetime(9999, 12, 31, tzinfo=UTC), id="far future is kept"),
    ],
)
def test_a_time_in_any_usual_form_becomes_aware_utc(given_time: object, expected: datetime) -> None:
    assert parse_time(given_time) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", ["", "tomorrow", "2026-13-01", None, True, [], 1e300, "2026-11-15T25:00"])
def test_what_is_not_a_time_is_refused_with_a_hint(bad: object) -> None:
    with pytest.raises(InvalidInput, match="not a time") as caught:
        parse_time(bad)  # type: ignore[arg-type]
    assert "ISO 8601" in (caught.value.hint or "")


@given(MOMENTS, MOMENTS)
def test_the_order_of_stored_times_is_the_order_of_times(one: datetime, other: datetime) -> None:
    assert (iso(one) < iso(other)) == (one < other)


@given(MOMENTS)
def test_a_stored_time_comes_back_as_it_was(moment: datetime) -> None:
    assert from_iso(iso(moment)) == moment
    assert len(iso(moment)) == 27


@pytest.mark.parametrize(
    ("seconds", "label"),
    [
        (-3600, "in the future"),
        (-30, "just now"),
        (0, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (119, "1 minute ago"),
        (3599, "59 minutes ago"),
        (3600, "1 hour ago"),
        (86399, "23 hours ago"),
        (86400, "yesterday"),
        (2 * 86400 - 1, "yesterday"),
        (2 * 86400, "2 days ago"),
        (14 * 86400 - 1, "13 days ago"),
        (14 * 86400, "2 weeks ago"),
        (60 * 86400, "1 month ago"),
        (100 * 86400, "3 months ago"),
        (729 * 86400, "23 months ago"),
        (731 * 86400, "2 years ago"),
        (3653 * 86400, "10 years ago"),
    ],
)
def test_an_age_reads_well_at_every_boundary(seconds: int, label: str) -> None:
    assert age_label(NOW - timedelta(seconds=seconds), NOW) == label


def test_a_time_in_the_future_has_age_zero() -> None:
    assert age_days(NOW + timedelta(days=3), NOW) == 0.0
    assert age_days(NOW - timedelta(days=3), NOW) == 3.0
