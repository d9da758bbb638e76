"""Being asked to end: SIGTERM from a service manager, Ctrl-C from a person.

A handler that raises can raise anywhere: in a finalizer, where the exception is lost, or under a lock that is then
never let go. So the handler only notes that it was asked, and whoever runs for long looks at the note where it can
stop well. Asked a second time, it raises all the same: a person who presses Ctrl-C twice means now.
"""

from __future__ import annotations

import select
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stop:
    """Whether this process was asked to end, and by what."""

    def __init__(self, woken: socket.socket, wake: socket.socket) -> None:
        self._woken, self._wake = woken, wake
        self.asked: int = 0  # the signal; 0: nobody asked

    def wait(self, seconds: float | None = None) -> bool:
        """Sleep so long, or for ever, but no longer than until somebody asks; whether somebody did."""
        if not self.asked:
            # Not an Event: its lock would be taken by the handler while the sleeper holds it.
            select.select([self._woken], [], [], seconds)
        return bool(self.asked)

    def check(self) -> None:
        """Raise where it is well to stop, if somebody asked."""
        if self.asked:
            raise Stopped

    def note(self, number: int, frame: object) -> None:
        """The handler."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = number
        with suppress(OSError):
            self._wake.send(b".")


class Stopped(Exception):
    """Somebody asked this process to end, and it does."""


@contextmanager
def asked_to_stop() -> Iterator[Stop]:
    """Note what asks this process to end, while the block runs. Only the main thread may say this."""
    woken, wake = socket.socketpair()
    with woken, wake:
        stop = Stop(woken, wake)
        before = {number: signal.signal(number, stop.note) for number in SIGNALS}
        try:
            yield stop
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
