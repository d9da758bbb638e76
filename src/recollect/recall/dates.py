"""The stretch of time a question names: "in May 2023", "on 3 July 2024", "2026-11-15". English, explicit dates only.

Relative ones ("two weeks ago") are left alone: measured, they did not help (docs/benchmarks.md). A day is widened a
little, because people date things loosely and talk about them afterwards.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "(" + "|".join(f"{month}|{month[:3]}\\.?" for month in _MONTHS) + "|sept\\.?)"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"((?:19|20)\d\d)"
_ISO = re.compile(r"\b((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?\b")
_DAY_FIRST = re.compile(rf"\b{_DAY}(?: of)? {_MONTH},? {_YEAR}\b", re.IGNORECASE)
_MONTH_FIRST = re.compile(rf"\b{_MONTH} {_DAY},? {_YEAR}\b", re.IGNORECASE)
_MONTH_ONLY = re.compile(rf"\b{_MONTH},? {_YEAR}\b", re.IGNORECASE)

Window = tuple[datetime, datetime]


def window(question: str) -> Window | None:
    """From when to when, or None when the question names no date."""
    text = question[:2_000]
    if found := _ISO.search(text):
        return _around(int(found[1]), int(found[2]), int(found[3]) if found[3] else None)
    if found := _DAY_FIRST.search(text):
        return _around(int(found[3]), _number(found[2]), int(found[1]))
    if found := _MONTH_FIRST.search(text):
        return _around(int(found[3]), _number(found[1]), int(found[2]))
    if found := _MONTH_ONLY.search(text):
        return _around(int(found[2]), _number(found[1]), None)
    return None


def _number(name: str) -> int:
    return 1 + next(i for i, month in enumerate(_MONTHS) if month.startswith(name.casefold().rstrip(".")[:3]))


def _around(year: int, month: int, day: int | None) -> Window | None:
    try:
        first = datetime(year, month, day or 1, tzinfo=UTC)
    except ValueError:
        return None
    if day is not None:
        return first - timedelta(days=1), first + timedelta(days=3)
    return first, (first + timedelta(days=32)).replace(day=1) + timedelta(days=7)
