"""What agents keep in other forms than JSON Lines: documents that are one JSON value, and SQLite databases.

A document is read whole, so its size is bounded. A database belongs to a program that may be writing it: it is opened
for reading only, nothing is attached to it, its schema is not trusted, and one that is locked or damaged is a
BadTranscript, not a crash.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import orjson

from recollect.capture.beneath import open_beneath
from recollect.capture.lines import open_transcript
from recollect.errors import BadTranscript

MAX_DOCUMENT = 64 << 20
MAX_VALUE = 32 << 20  # bytes of one JSON value in a row
_WAIT_MS = 2_000


def document(root: Path, path: Path, limit: int = MAX_DOCUMENT) -> bytes:
    """The bytes of a file that is read whole; BadTranscript when it is bigger than the limit."""
    parts, size = [], 0
    with open_transcript(root, path) as file:
        while chunk := file.read(1 << 20):
            size += len(chunk)
            if size > limit:
                raise BadTranscript(f"{path} has more than {limit >> 20} MiB")
            parts.append(chunk)
    return b"".join(parts).removeprefix(b"\xef\xbb\xbf")


def parsed(data: object) -> Any:
    """The JSON value in text or bytes, or None when there is none."""
    if not isinstance(data, str | bytes):
        return None
    try:
        return orjson.loads(data)
    except ValueError:
        pass
    try:  # lone surrogates and bytes that are no UTF-8, which orjson refuses
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
        return json.loads(text, parse_float=_number, parse_int=_number, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None


def _number(digits: str) -> int | float | None:
    """A number as orjson has it: no bigger than 64 bits as a whole one, and never infinite."""
    try:
        found = int(digits)
        if abs(found) < 1 << 63:
            return found
    except ValueError:
        pass
    value = float(digits)
    return value if math.isfinite(value) else None


@contextmanager
def database(root: Path, path: Path) -> Iterator[apsw.Connection]:
    """Another program's database, for reading only."""
    open_beneath(root, path).close()  # refuses what is no plain file of this user under the root
    connection = None
    try:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(f"{path.absolute().as_uri()}?mode=ro", flags=flags)
        connection.set_busy_timeout(_WAIT_MS)
        connection.execute("PRAGMA trusted_schema=OFF; PRAGMA query_only=ON")
        yield connection
    except (apsw.BusyError, apsw.LockedError):
        raise BadTranscript(f"{path} is locked by the program that writes it; it will be read later") from None
    except apsw.Error as error:
        raise BadTranscript(f"{path} cannot be read: {str(error)[:200]}") from None
    finally:
        if connection is not None:
            connection.close()
