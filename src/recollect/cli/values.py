"""What a person types as what the façade takes: times (ISO, `30d`, `yesterday`), text from arguments or standard input.

A day that is named, by its date or by a word, is its beginning in UTC.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta

from recollect.clock import Clock, now, parse_time
from recollect.errors import InvalidInput

_SPAN = re.compile(r"(\d{1,7})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGO = re.compile(r"(\d{1,6}) (minute|hour|day|week)s? ago")
_DAYS_AGO = {"today": 0, "yesterday": 1, "last week": 7}
_WHEN = "Use a date such as 2026-11-15, a span such as 12h or 30d, or: today, yesterday, last week, 3 days ago."
MAX_STDIN = 1_000_000


def time_ago(text: str | None, clock: Clock = now) -> datetime | None:
    """A moment: ISO 8601, a span back from now (`90m`, `12h`, `30d`, `2w`), or words such as `yesterday`."""
    if text is None:
        return None
    words = " ".join(text.casefold().split())
    ago = _AGO.fullmatch(words)
    if ago is not None and ago[2] in ("minute", "hour"):
        return _moment(ago[1] + ago[2][0], -1, clock)
    days = _DAYS_AGO.get(words) if ago is None else int(ago[1]) * (7 if ago[2] == "week" else 1)
    if days is not None:
        return _moment(f"{days}d", -1, lambda: clock().replace(hour=0, minute=0, second=0, microsecond=0))
    return _moment(text, -1, clock)


def time_ahead(text: str | None) -> datetime | None:
    """A moment still to come: ISO 8601, or a span from now."""
    moment = None if text is None else _moment(text, 1, now)
    if moment is not None and moment <= now():
        raise InvalidInput(f"{text} is not in the future", hint="Give a later date, or a span such as 30d.")
    return moment


def text_of(words: Sequence[str]) -> str:
    """The words as one text; `-` alone reads standard input."""
    return read_stdin() if list(words) == ["-"] else " ".join(words)


def read_stdin() -> str:
    """Standard input as text, without the line ends after it."""
    data = sys.stdin.buffer.read(MAX_STDIN + 1)
    if len(data) > MAX_STDIN:
        raise InvalidInput(f"standard input has more than {MAX_STDIN:,} bytes")
    try:
        return data.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"standard input is not UTF-8 text (byte {error.start})") from None


def whole(text: str) -> int:
    """A whole number a database can hold; used as an argparse type."""
    number = int(text)
    if abs(number) > 10**12:
        raise ValueError
    return number


def _moment(text: str, direction: int, clock: Clock) -> datetime:
    span = _SPAN.fullmatch(text.strip())
    if span is None:
        try:
            return parse_time(text)
        except InvalidInput as error:
            raise InvalidInput(str(error), hint=_WHEN if direction < 0 else error.hint) from None
    try:
        return clock() + direction * timedelta(**{_UNITS[span[2]]: int(span[1])})
    except OverflowError:
        raise InvalidInput(f"{text} is too long a time") from None
