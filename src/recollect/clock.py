"""Time: one clock, UTC everywhere, one text form, and ages a person can read.

Every stored time is aware UTC, written as fixed-width ISO 8601 (`2026-11-15T22:00:00.000000Z`) so that text order is
time order. A naive time is taken as UTC; a time in the future is kept as given and treated as age zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from recollect.errors import InvalidInput

Clock = Callable[[], datetime]
TimeLike = datetime | str | int | float

_DAY = timedelta(days=1)
_AGES = (  # upper bound in seconds, unit in seconds, name
    (3600, 60, "minute"),
    (86400, 3600, "hour"),
    (14 * 86400, 86400, "day"),
    (60 * 86400, 7 * 86400, "week"),
    (730 * 86400, 30.44 * 86400, "month"),
    (math.inf, 365.25 * 86400, "year"),
)


def now() -> datetime:
    """The current time, aware, in UTC."""
    return datetime.now(UTC)


def parse_time(value: TimeLike) -> datetime:
    """Aware UTC from a datetime, ISO 8601 text (date alone is its midnight), or seconds since 1970."""
    try:
        if isinstance(value, bool):
            raise TypeError
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC)
        moment = datetime.fromisoformat(value.strip()) if isinstance(value, str) else value
        if moment.tzinfo is None:
            return moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC)
    except (ValueError, TypeError, AttributeError, OverflowError, OSError):
        raise InvalidInput(
            f"not a time: {str(value)[:60]!r}", hint="Use ISO 8601, for example 2026-11-15 or 2026-11-15T09:30:00Z."
        ) from None


def iso(moment: datetime) -> str:
    """The stored form of a time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"


def from_iso(text: str) -> datetime:
    """Back from the stored form."""
    return datetime.fromisoformat(text)


def age_days(moment: datetime, at: datetime) -> float:
    """Days from `moment` to `at`; never negative."""
    return max(0.0, (at - moment) / _DAY)


def age_label(moment: datetime, at: datetime) -> str:
    """How long ago in words: 'just now', '5 minutes ago', 'yesterday', '3 weeks ago', 'in the future'."""
    seconds = (at - moment).total_seconds()
    if seconds < -60:
        return "in the future"
    if seconds < 60:
        return "just now"
    if 86400 <= seconds < 2 * 86400:
        return "yesterday"
    _, unit, name = next(row for row in _AGES if seconds < row[0])
    count = max(1, int(seconds // unit))
    return f"{count} {name}{'s' if count != 1 else ''} ago"
