"""One JSON line a request: when, which, how it went, how long it took, whose. Never content, a query or a key.

A line is made of values that are checked one by one here; there is no field that text from outside could get into.
"""

from __future__ import annotations

import logging
import re
import sys
from datetime import datetime
from typing import Any

import orjson

_WORD = re.compile(r"[A-Za-z0-9_.:/{}@ -]{0,120}")
_LOGGER = "recollect.access"


def line(at: datetime, **values: str | float | int | None) -> str:
    """A line of the log; words with anything odd in them are left out."""
    told: dict[str, Any] = {"time": at.isoformat(timespec="milliseconds")}
    for name, value in values.items():
        if isinstance(value, str):
            told[name] = value if _WORD.fullmatch(value) else "?"
        elif value is not None:
            told[name] = round(value, 2)
    return orjson.dumps(told).decode()


class JsonLines(logging.Formatter):
    """Everything else that is logged, in the same form: where, how bad, and our own words; no traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """One line. An exception is told by its type: its text may hold a memory's."""
        if record.name == _LOGGER:
            return record.getMessage()
        told = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": str(record.msg)[:500] if record.exc_info else record.getMessage()[:500],
        }
        if record.exc_info and record.exc_info[0] is not None:
            told["error"] = record.exc_info[0].__name__
        return orjson.dumps(told).decode()


def access() -> logging.Logger:
    """Where requests are logged."""
    return logging.getLogger(_LOGGER)


def set_up(*, requests: bool) -> None:
    """Log in JSON to standard error; `requests`: a line for each, not only for what went wrong."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("recollect").setLevel(logging.INFO)
    access().setLevel(logging.INFO if requests else logging.ERROR)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers[:], logger.propagate = [], True
        logger.setLevel(logging.ERROR)
