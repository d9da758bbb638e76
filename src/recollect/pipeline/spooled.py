"""What hooks left, read as it comes: a look into one directory, and a drain when something waits.

In: where the data directory is, and how it is drained. A record that has to wait for its transcript is tried again ever
more rarely; a new one is read at once. It loads next to nothing until there is something to read, and nothing that goes
wrong here takes down whoever runs it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

SECONDS = 2.0  # between two looks
MOST_SECONDS = 300.0


class Draining:
    """Looks for records, and reads them."""

    def __init__(self, folder: Callable[[], Path], drain: Callable[[], object], seconds: float = SECONDS) -> None:
        self._folder, self._drain, self._seconds = folder, drain, seconds
        self._left: set[str] = set()
        self._pause = seconds
        self._due = 0.0

    def look(self) -> None:
        """Read what waits, if it is time to."""
        try:
            folder = self._folder()
        except Exception:
            return  # settings that cannot be read: whoever is asked something next says so
        found = records(folder)
        if not found or (found <= self._left and time.monotonic() < self._due):
            return
        quietly(self._drain)
        self._left = records(folder)
        self._pause = min(MOST_SECONDS, self._pause * 2) if self._left else self._seconds
        self._due = time.monotonic() + self._pause


def records(data_dir: Path) -> set[str]:
    """The names of what hooks left; the cheapest look there is."""
    from recollect.hook import SPOOL, SUFFIX

    try:
        return {name for name in os.listdir(data_dir / SPOOL) if name.endswith(SUFFIX)}  # noqa: PTH208 - cheapest
    except OSError:
        return set()


def quietly(work: Callable[[], object]) -> None:
    """Background work must never take a server down; what it did not do is still there to be done."""
    try:
        work()
    except Exception as error:
        import logging

        logging.getLogger(__name__).info("background work failed: %s", type(error).__name__)
