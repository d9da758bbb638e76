"""One warm process for a data directory: who holds the lock listens on the socket, and answers hooks one by one.

In: what answers a request. Out: a thread that waits until the lock is free, listens, and stops when told to; the lock
goes with the process, however that ends, and the next one takes over. A client that says nothing, too much or nonsense
is dropped; it never holds up another for longer than its own request takes.
"""

from __future__ import annotations

import logging
import os
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from recollect import warmwire
from recollect.hook import open_private
from recollect.lock import alone

RETRY_SECONDS = 1.0  # how often one that waits looks whether the lock is free
LOOK_SECONDS = 2.0  # how often one that listens looks whether its socket is still there
REQUEST_SECONDS = 0.5  # how long a client may take to say what it wants
MOST_CLIENTS = 32
_LOG = logging.getLogger(__name__)


class Answering(Protocol):
    """What a server asks: an answer; what is to be done after it, and while nobody asks; to let go of everything."""

    def answer(self, request: Mapping[str, bytes]) -> Mapping[str, bytes]: ...
    def afterwards(self) -> None: ...
    def rest(self) -> None: ...
    def close(self) -> None: ...


@dataclass(slots=True)
class _Client:
    """A connection, when it was made, and what it said so far."""

    line: socket.socket
    until: float
    said: bytes = b""


class WarmServer:
    """Answers the hooks of one data directory, unless another process does. Use `start` and `stop`, or `with`."""

    def __init__(self, data_dir: Path, make: Callable[[], Answering]) -> None:
        self._data_dir = data_dir.absolute()
        self._make = make
        self._stopping = threading.Event()
        self._listening = threading.Event()
        self._woken, self._wake = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="recollect-warm", daemon=True)

    def start(self) -> None:
        """Begin to listen, now or when the one who does is gone."""
        self._thread.start()

    def stop(self, seconds: float = 5.0) -> bool:
        """End, waiting at most so long; whether it has ended."""
        self._stopping.set()
        with suppress(OSError):
            self._wake.send(b".")
        if self._thread.ident is not None:
            self._thread.join(seconds)
        if self._thread.is_alive():
            return False
        self._woken.close()
        self._wake.close()
        return True

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def listens(self, within: float = 0.0) -> bool:
        """Whether this is the one who answers, or becomes it within so many seconds."""
        return self._listening.wait(within)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with alone(self._data_dir / warmwire.LOCK) as mine:
                    if mine:
                        self._listen()
            except Exception as error:  # a full disk, a data directory that is gone: hooks do without
                _LOG.info("not listening: %s", type(error).__name__)
            self._stopping.wait(RETRY_SECONDS)

    def _listen(self) -> None:
        """Until the socket is gone or the end has come; then nothing of it is left behind."""
        folder = open_private(str(self._data_dir), make=False)
        try:
            address = warmwire.address(str(self._data_dir), folder)
            if address is None:
                self._stopping.wait()  # no path that a socket could have: keep the lock, so that nobody tries again
                return
            where = Path(address)
            where.unlink(missing_ok=True)  # of one that was killed
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
                listener.bind(address)
                where.chmod(0o600)  # before anybody is listened to
                listener.listen(MOST_CLIENTS)
                listener.setblocking(False)
                listening = _Round(listener, self._woken, where, self._make(), self._stopping)
                self._listening.set()
                try:
                    listening.run()
                finally:
                    self._listening.clear()
        finally:
            os.close(folder)


class _Round:
    """From listening to the end of it: the clients there are, and the answers they get."""

    def __init__(
        self,
        listener: socket.socket,
        woken: socket.socket,
        where: Path,
        answering: Answering,
        stopping: threading.Event,
    ) -> None:
        self._listener, self._woken, self._where, self._stopping = listener, woken, where, stopping
        self._answering = answering
        self._inode = where.lstat().st_ino
        self._clients: dict[int, _Client] = {}
        self._selector = selectors.DefaultSelector()
        self._look_at = time.monotonic() + LOOK_SECONDS

    def run(self) -> None:
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        try:
            while not self._stopping.is_set() and self._still_there():
                for key, _ in self._selector.select(self._pause()):
                    if key.fileobj is self._listener:
                        self._accept()
                    elif key.fd in self._clients:
                        self._hear(self._clients[key.fd])
                self._drop_slow()
        finally:
            for client in list(self._clients.values()):
                self._drop(client)
            self._selector.close()
            if self._is_there():
                self._where.unlink(missing_ok=True)
            self._answering.close()

    def _still_there(self) -> bool:
        """Whether hooks still find the socket; looked at now and then."""
        if time.monotonic() < self._look_at:
            return True
        self._look_at = time.monotonic() + LOOK_SECONDS
        self._quietly(self._answering.rest)
        return self._is_there()

    def _is_there(self) -> bool:
        try:
            return self._where.lstat().st_ino == self._inode
        except OSError:
            return False

    def _pause(self) -> float:
        """Seconds until something is due though nobody says anything."""
        due = min([self._look_at, *(client.until for client in self._clients.values())])
        return max(0.0, due - time.monotonic())

    def _accept(self) -> None:
        try:
            line, _ = self._listener.accept()
        except OSError:
            return
        if not is_ours(line):
            line.close()
            return
        if len(self._clients) >= MOST_CLIENTS:
            self._drop(next(iter(self._clients.values())))
        line.setblocking(False)
        self._clients[line.fileno()] = _Client(line, time.monotonic() + REQUEST_SECONDS)
        self._selector.register(line, selectors.EVENT_READ)

    def _hear(self, client: _Client) -> None:
        """Take what came; when the request is whole, answer it."""
        try:
            got = client.line.recv(warmwire.missing(client.said))
            client.said += got
            whole = not warmwire.missing(client.said)
        except BlockingIOError:
            return
        except (OSError, ValueError):
            self._drop(client)
            return
        if whole:
            self._answer(client)
        if whole or not got:
            self._drop(client)
        if whole:
            self._quietly(self._answering.afterwards)

    def _answer(self, client: _Client) -> None:
        """One send is enough: a socket takes more than an answer has. Who is gone already is not answered."""
        try:
            if _hung_up(client.line):
                return
            request = warmwire.unpack(client.said)
            client.line.send(warmwire.pack(self._answering.answer(request)))
        except (OSError, ValueError):
            pass
        except Exception as error:  # a store that is locked, an embedder that failed: the prepared index will do
            _LOG.info("no answer: %s", type(error).__name__)
            with suppress(OSError):
                client.line.send(warmwire.pack({"state": warmwire.PASS}))

    def _quietly(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # a store that is locked, a disk that is full: hooks do without
            _LOG.info("after an answer: %s", type(error).__name__)

    def _drop_slow(self) -> None:
        now = time.monotonic()
        for client in [client for client in self._clients.values() if client.until <= now]:
            self._drop(client)

    def _drop(self, client: _Client) -> None:
        del self._clients[client.line.fileno()]
        self._selector.unregister(client.line)
        client.line.close()


def _hung_up(line: socket.socket) -> bool:
    try:
        return not line.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False


def is_ours(line: socket.socket) -> bool:
    """Whether a process of the same user is at the other end. Where that cannot be asked, the directory vouches."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return bool(user == os.getuid())
