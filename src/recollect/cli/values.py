"""What a person types as what the façade takes: times (ISO or `30d`), ids, text from arguments or standard input."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta

from recollect.clock import now, parse_time
from recollect.errors import InvalidInput

_SPAN = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
MAX_STDIN = 1_000_000


def time_ago(text: str | None) -> datetime | None:
    """A moment: ISO 8601, or a span back from now (`90m`, `12h`, `30d`, `2w`)."""
    return None if text is None else _moment(text, -1)


def time_ahead(text: str | None) -> datetime | None:
    """A moment still to come: ISO 8601, or a span from now."""
    moment = None if text is None else _moment(text, 1)
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


def _moment(text: str, direction: int) -> datetime:
    span = _SPAN.fullmatch(text.strip())
    if span is None:
        return parse_time(text)
    try:
        return now() + direction * timedelta(**{_UNITS[span[2]]: int(span[1])})
    except OverflowError:
        raise InvalidInput(f"{text} is too long a time") from None
