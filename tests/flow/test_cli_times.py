"""Times as a person types them: a named day is its beginning in UTC, a span is counted from this very moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from recollect.cli.values import time_ago
from recollect.errors import InvalidInput
from tests.flow.conftest import Cli

NOON = datetime(2026, 11, 15, 12, 30, 5, 7, tzinfo=UTC)
LAST_MOMENT = datetime(2026, 11, 15, 23, 59, 59, 999_999, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 16, tzinfo=UTC)
WORDS = {
    "today": ("today", NOON, "2026-11-15"),
    "today before midnight": ("today", LAST_MOMENT, "2026-11-15"),
    "today at midnight": ("today", MIDNIGHT, "2026-11-16"),
    "yesterday": ("yesterday", NOON, "2026-11-14"),
    "yesterday before midnight": ("yesterday", LAST_MOMENT, "2026-11-14"),
    "yesterday at midnight": ("yesterday", MIDNIGHT, "2026-11-15"),
    "yesterday over a year's end": ("Yesterday", datetime(2027, 1, 1, tzinfo=UTC), "2026-12-31"),
    "last week": ("last  week", NOON, "2026-11-08"),
    "days": ("3 days ago", LAST_MOMENT, "2026-11-12"),
    "one day": ("1 day ago", MIDNIGHT, "2026-11-15"),
    "weeks": ("2 Weeks ago", NOON, "2026-11-01"),
    "hours": ("3 hours ago", NOON, "2026-11-15T09:30:05.000007"),
    "minutes": ("31 minutes ago", NOON, "2026-11-15T11:59:05.000007"),
    "span": ("3d", NOON, "2026-11-12T12:30:05.000007"),
    "date": ("2026-11-14", NOON, "2026-11-14"),
}


@pytest.mark.parametrize(("words", "at", "meant"), WORDS.values(), ids=WORDS)
def test_words_mean_a_moment_in_utc(words: str, at: datetime, meant: str) -> None:
    assert time_ago(words, lambda: at) == datetime.fromisoformat(meant).replace(tzinfo=UTC)


@pytest.mark.parametrize("words", ["tomorrow", "last fortnight", "days ago", "-1 days ago", "3 days", "a day ago", ""])
def test_other_words_are_refused_with_those_that_are_known(words: str) -> None:
    with pytest.raises(InvalidInput, match="not a time") as refused:
        time_ago(words)
    assert "yesterday" in str(refused.value.hint)


def test_too_long_ago_is_refused() -> None:
    for words in ("999999 weeks ago", "999999 days ago", "999999w"):
        with pytest.raises(InvalidInput, match="too long"):
            time_ago(words)


def test_what_is_not_given_is_no_time() -> None:
    assert time_ago(None) is None


@pytest.mark.parametrize("flag", ["--since", "--until", "--as-of"])
def test_the_words_go_with_every_flag_of_time(cli: Cli, flag: str) -> None:
    for words in ("today", "yesterday", "last week", "3 days ago"):
        assert cli("list", flag, words).code == 0
        assert cli("recall", "x", "--mode", "lexical", flag, words).code == 0


def test_since_yesterday_has_what_was_said_today(cli: Cli) -> None:
    cli("remember", "The harbour freezes in winter")
    assert len(cli("list", "--since", "yesterday", "--json").json["memories"]) == 1
    assert cli("list", "--until", "yesterday", "--json").json["memories"] == []


def test_a_clock_of_another_zone_is_read_in_utc() -> None:
    zone = timezone(timedelta(hours=13))
    assert time_ago("2026-11-16T01:00:00+13:00", lambda: NOON.astimezone(zone)) == datetime(
        2026, 11, 15, 12, tzinfo=UTC
    )
