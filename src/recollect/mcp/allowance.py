"""How much agents may write in an hour, however many servers run: one small file of times in the data directory.

An agent that was talked into writing without end is stopped; a person on the command line is not counted.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from recollect.errors import RecollectError, StoreUnavailable

HOUR = 3_600.0
FILE_NAME = "mcp.writes"
_TIME = struct.Struct("<d")


class TooManyWrites(RecollectError):
    """Agents have written as much as they may in an hour."""


class Allowance:
    """Counts writes in a file that every server of this data directory shares."""

    def __init__(self, data_dir: Path, per_hour: int, clock: Callable[[], float] = time.time) -> None:
        self.per_hour = max(0, per_hour)
        self._file = data_dir / FILE_NAME
        self._clock = clock

    def take(self, writes: int = 1) -> None:
        """Count these writes, or refuse them all."""
        with self._opened() as file:
            now, times = self._clock(), self._recent(file)
            if len(times) + writes > self.per_hour:
                raise TooManyWrites(
                    f"agents may write {self.per_hour} times an hour, and that is used up",
                    hint=f"Try again in {self._minutes(times, now)} minutes, or ask the user to write it down with "
                    "`recollect remember`. The setting is mcp_writes_per_hour.",
                )
            file.seek(0)
            file.write(b"".join(map(_TIME.pack, [*times, *[now] * writes])))
            file.truncate()

    def left(self) -> int:
        """How many writes are left in this hour."""
        if not self._file.exists():
            return self.per_hour
        with self._opened() as file:
            return max(0, self.per_hour - len(self._recent(file)))

    def _recent(self, file: BinaryIO) -> list[float]:
        """The times within an hour of now; a clock that jumped makes none of them count for longer."""
        data = file.read(_TIME.size * 100_000)
        whole = data[: len(data) // _TIME.size * _TIME.size]
        now = self._clock()
        return [at for (at,) in _TIME.iter_unpack(whole) if abs(now - at) < HOUR]

    @staticmethod
    def _minutes(times: list[float], now: float) -> int:
        oldest = min(times, default=now)
        return max(1, round((oldest + HOUR - now) / 60))

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        try:
            handle = os.open(self._file, flags, 0o600)
        except OSError as error:
            raise StoreUnavailable(f"{FILE_NAME} cannot be used: {error.strerror}") from None
        with os.fdopen(handle, "r+b") as file:
            try:
                import fcntl

                fcntl.flock(handle, fcntl.LOCK_EX)
            except ImportError:  # Windows: two servers at the same moment may each count one too few
                pass
            yield file
