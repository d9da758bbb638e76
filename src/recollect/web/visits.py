"""Who may look at the page: a link that works once becomes a visit, which a cookie names for a week.

On one's own machine both are empty files, named by a hash, in a private folder of the data directory; so every process
of a server knows them, a link is used up by the one that takes its file away, and nothing there opens anything. On a
server for others the cookie holds the visitor's key, which is looked up anew like any other.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from recollect.errors import InvalidKey
from recollect.http.knowing import LOCAL, Knowing
from recollect.keys import PERMISSIONS, Grant
from recollect.serving import Serving
from recollect.store import datadir

FOLDER = "page"
LINK_SECONDS = 3_600.0
VISIT_SECONDS = 7 * 86_400.0
MOST = 100  # links and visits that are kept, the newest
_TOUCHED = 600.0  # seconds after which a visit that goes on is noted
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


class Passes:
    """Random texts that are good for a while, each a file named by its hash."""

    def __init__(self, folder: Path, seconds: float, clock: Callable[[], float] = time.time) -> None:
        self._folder, self._seconds, self._clock = folder, seconds, clock

    def issue(self) -> str:
        """A new one."""
        self._tidy()
        text = secrets.token_urlsafe(32)
        datadir.create_private(self._file(text))
        return text

    def is_good(self, text: str) -> bool:
        """Whether it was issued and is not over; one that is used goes on."""
        if not _TOKEN.fullmatch(text):
            return False
        age = self._age(self._file(text))
        if age is None or age > self._seconds:
            return False
        if age > _TOUCHED:
            with suppress(OSError):
                os.utime(self._file(text), (self._clock(), self._clock()))
        return True

    def use_up(self, text: str) -> bool:
        """Whether it was good; it is not any more."""
        if not _TOKEN.fullmatch(text):
            return False
        file = self._file(text)
        age = self._age(file)
        try:
            file.unlink()  # only one of those who try at once succeeds
        except OSError:
            return False
        return age is not None and age <= self._seconds

    def _file(self, text: str) -> Path:
        return self._folder / hashlib.sha256(text.encode()).hexdigest()

    def _age(self, file: Path) -> float | None:
        try:
            return self._clock() - file.lstat().st_mtime
        except OSError:
            return None

    def _tidy(self) -> None:
        """Take away those that are over, and the oldest when there are very many."""
        datadir.prepare(self._folder)
        known = sorted(self._folder.iterdir(), key=lambda file: self._age(file) or 0.0)
        for place, file in enumerate(known):
            if place >= MOST - 1 or (self._age(file) or 0.0) > self._seconds:
                with suppress(OSError):
                    file.unlink()


def links(data_dir: Path) -> Passes:
    """Links that open the page once."""
    return Passes(data_dir / FOLDER / "links", LINK_SECONDS)


def visits(data_dir: Path) -> Passes:
    """What cookies name."""
    return Passes(data_dir / FOLDER / "visits", VISIT_SECONDS)


class Visitors:
    """Tells whose a cookie is."""

    def __init__(self, serving: Serving, knowing: Knowing) -> None:
        self._knowing = knowing
        self._visits = None if serving.hosted else visits(serving.settings.data_dir)
        self._local = Grant(LOCAL, serving.owner, PERMISSIONS)

    def was_good(self, text: str) -> bool:
        """Whether it is known: then it is let in, however many old cookies came from the same address."""
        return self._knowing.was_good(text) if self._visits is None else self._visits.is_good(text)

    async def grant(self, text: str) -> Grant:
        """What it opens; InvalidKey when that is nothing. A key opens no page of one's own machine."""
        if self._visits is None:
            return await self._knowing.grant(text)
        if not self._visits.is_good(text):
            raise InvalidKey
        return self._local
