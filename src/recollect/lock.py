"""One at a time: a lock on a file that the system lets go when the process ends, however it ends."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def waiting(lock: Path, seconds: float) -> Iterator[bool]:
    """The same after waiting for whoever holds it; False when that takes longer than so many seconds."""
    until = time.monotonic() + seconds
    while True:
        with alone(lock) as free:
            if free or time.monotonic() >= until:
                yield free
                return
        time.sleep(0.01)


@contextmanager
def alone(lock: Path) -> Iterator[bool]:
    """True when no other process holds this lock; where files cannot be locked, always."""
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    try:
        yield taken(handle)
    finally:
        os.close(handle)


def taken(handle: int, seconds: float = 0.0) -> bool:
    """Whether the lock on an open file or directory is ours, until it is closed; asked for so many seconds."""
    try:
        import fcntl
    except ImportError:
        return True
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(0.01)
