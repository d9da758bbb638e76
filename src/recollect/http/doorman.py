"""New connections shared out among processes: each goes to the one that has the fewest.

In: a socket that listens, in the process that looks after the others. Out: in each of the others, the connections that
are its own. If all of them waited on the one socket, whoever is awake first would take everything that waits: under
load one process has most of the work while another has little, and half of the callers wait twice as long.

Over its line a process says that it takes connections, and then each time that one of them has ended.
"""

from __future__ import annotations

import asyncio
import selectors
import socket
import time
from collections.abc import Callable
from contextlib import suppress

TAKES, ENDED, HANDED = b"+", b"-", b"c"
_AT_ONCE = 64  # connections that are handed over before anything else is looked at
_PAUSE = 0.01  # seconds, when nobody has room for another


class Doorman:
    """Takes what comes to a listening socket and hands it to the processes behind it, while it is let work."""

    def __init__(self, where: socket.socket) -> None:
        self._where = where
        self._has: dict[socket.socket, int] = {}  # by line, how many connections the process at its end has
        self._lines: set[socket.socket] = set()
        self._waiting: socket.socket | None = None  # a caller that nobody has room for
        self._selector = selectors.DefaultSelector()
        self._begun = self._open = False

    @property
    def takers(self) -> int:
        """How many processes take connections."""
        return len(self._has)

    def begin(self) -> None:
        """Let callers in from now on."""
        self._begun = True
        self._listen()

    def line(self) -> socket.socket:
        """The end of a new line, for the process that is to take connections over it; close it here after."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._lines.add(ours)
        self._selector.register(ours, selectors.EVENT_READ)
        return theirs

    def work(self, seconds: float) -> None:
        """Hand over what comes, for so long."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._waiting is not None and self._handed(self._waiting):
                self._waiting = None
            for key, _ in self._selector.select(left if self._waiting is None else min(left, _PAUSE)):
                found = key.fileobj
                assert isinstance(found, socket.socket)
                if found in self._lines:  # still: one may have been given up meanwhile
                    self._hear(found)
                elif found is self._where and self._waiting is None:
                    self._share_out()
            if self._waiting is not None:
                time.sleep(_PAUSE)

    def close(self) -> None:
        """Hand over nothing more, in this process; one that was forked from it has its own ends of everything."""
        self._selector.close()
        for one in (*self._lines, self._waiting):
            if one is not None:
                one.close()

    def _hear(self, line: socket.socket) -> None:
        """What a process says; when it is gone it says nothing any more."""
        try:
            said = line.recv(4_096)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        if not said:
            self._forget(line)
            return
        self._has[line] = self._has.get(line, 0) - said.count(ENDED)
        self._listen()

    def _share_out(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                caller, _ = self._where.accept()
            except OSError:  # nobody is waiting; or too many files are open, and those who wait go on waiting
                return
            if not self._handed(caller):
                self._waiting = caller
                return

    def _handed(self, caller: socket.socket) -> bool:
        """Whether a process has got it: the one with the fewest whose line has room."""
        for line in sorted(self._has, key=self._has.__getitem__):
            try:
                socket.send_fds(line, [HANDED], [caller.fileno()])
            except BlockingIOError:
                continue
            except OSError:
                self._forget(line)
                continue
            self._has[line] += 1
            caller.close()
            return True
        return False

    def _listen(self) -> None:
        """Let callers wait where they are while nobody takes them."""
        wanted = self._begun and bool(self._has)
        if wanted and not self._open:
            self._selector.register(self._where, selectors.EVENT_READ)
        elif self._open and not wanted:
            self._selector.unregister(self._where)
        self._open = wanted

    def _forget(self, line: socket.socket) -> None:
        self._selector.unregister(line)
        self._lines.discard(line)
        self._has.pop(line, None)
        line.close()
        self._listen()


class Arrivals:
    """The connections that come over a line, each made into a protocol; they end with `ended`."""

    def __init__(self, line: socket.socket, protocol: Callable[[], asyncio.Protocol]) -> None:
        self._line = line
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._beginning: set[asyncio.Task[None]] = set()
        line.setblocking(False)
        self._loop.add_reader(line.fileno(), self._take)
        self._say(TAKES)

    def ended(self) -> None:
        """One of them is over."""
        self._say(ENDED)

    def close(self) -> None:
        """Take no more."""
        if self._line.fileno() >= 0:
            self._loop.remove_reader(self._line.fileno())
            self._line.close()

    def _say(self, what: bytes) -> None:
        with suppress(OSError):  # who looks after us is gone, and we shall be soon
            self._line.send(what)

    def _take(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                said, callers, _, _ = socket.recv_fds(self._line, 1, 1)
            except BlockingIOError:
                return
            except OSError:
                said, callers = b"", []
            if not said:
                self.close()
                return
            for caller in callers:
                task = self._loop.create_task(self._begin(socket.socket(fileno=caller)))
                self._beginning.add(task)
                task.add_done_callback(self._beginning.discard)

    async def _begin(self, caller: socket.socket) -> None:
        try:
            caller.setblocking(False)
            await self._loop.connect_accepted_socket(self._protocol, caller)
        except OSError:
            caller.close()
            self.ended()
