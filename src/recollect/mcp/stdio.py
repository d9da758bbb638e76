"""MCP over standard input and output: a line in, a line out, until the client is gone.

The main thread reads and answers what is quick, at once; tools run one after another in a thread of their own, so that
a ping, a cancellation or a client that leaves is never kept waiting. Standard output carries nothing but the protocol:
whatever else is printed goes to standard error. The process ends when its input does, or its parent, whichever is
first, and when nobody ever spoke to it; what is at hand is finished if that takes no more than two seconds.
"""

from __future__ import annotations

import os
import queue
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import NoReturn

from recollect.mcp.answering import Answering
from recollect.mcp.keeper import Keeper
from recollect.mcp.opened import Opened
from recollect.mcp.protocol import MAX_MESSAGE, Conversation, Message, too_long

FINISH_SECONDS = 2.0
ROOTS_SECONDS = 1.0  # how long the first tool call waits for the client to say where it works
_LOOK_SECONDS = 2.0  # how often the parent is looked for
_SILENT_SECONDS = 60.0  # a client that was going to speak has spoken by then ...
_ORPHAN_SECONDS = 5.0  # ... and by then where the parent was gone before we could see who it was
_CHUNK = 65_536
_QUEUED = 64


def serve(opened: Opened) -> int:
    """Speak with the client on the other side of standard input until it is gone."""
    return Server(opened, *_claim()).run()


class Server:
    """One client."""

    def __init__(self, opened: Opened, stdin: int, stdout: int) -> None:
        self._opened, self._in, self._out = opened, stdin, stdout
        self._parent = os.getppid()
        silence = _ORPHAN_SECONDS if self._parent == 1 else _SILENT_SECONDS
        self._leave_at = None if os.isatty(stdin) else time.monotonic() + silence
        self._keeper = Keeper(opened)
        self._settled = threading.Event()  # the client said where it works, or will not
        self._conversation = Conversation(Answering(opened).call, moved=self._moved)
        self._calls: queue.Queue[Message | None] = queue.Queue(_QUEUED)
        self._worker: threading.Thread | None = None
        self._writing = threading.Lock()
        self._gone = False  # nobody reads our answers any more

    def run(self) -> int:
        """Until the end of input. What a signal asks for ends it the same way."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, _leave)
        try:
            for line in self._lines():
                self._take(line)
        except SystemExit:
            pass
        return self._finish()

    def _take(self, line: bytes | None) -> None:
        message = too_long() if line is None else self._conversation.read(line)
        if message.slow:
            self._start_worker()
            self._calls.put(message)
            return
        self._send(self._conversation.reply(message))
        if self._conversation.asked_roots:
            self._settled.clear()
        self._keeper.start()

    # -- tools -----------------------------------------------------------------------------------------------------

    def _start_worker(self) -> None:
        if self._worker is None:
            self._worker = threading.Thread(target=self._work, name="recollect-mcp-tools", daemon=True)
            self._worker.start()

    def _work(self) -> None:
        while (message := self._calls.get()) is not None:
            if self._conversation.is_cancelled(message):
                continue
            if self._conversation.asked_roots:
                self._settled.wait(ROOTS_SECONDS)
            self._send(self._conversation.reply(message))
            self._keeper.start()

    def _moved(self, roots: list[str]) -> None:
        self._opened.move(roots)
        self._settled.set()

    # -- lines -----------------------------------------------------------------------------------------------------

    def _lines(self) -> Iterator[bytes | None]:
        """Each line that is not blank; None for one that is longer than a message may be."""
        held, skipping = b"", False
        while chunk := self._chunk():
            *whole, held = (held + chunk).split(b"\n")
            for line in whole:
                if skipping or len(line) > MAX_MESSAGE:
                    yield None
                elif line.strip():
                    yield line
                skipping = False
            if len(held) > MAX_MESSAGE:
                held, skipping = b"", True
        if held.strip() and not skipping:
            yield held

    def _chunk(self) -> bytes:
        """Some bytes; none at the end of input, or when there is nobody left to answer."""
        while not self._gone and os.getppid() == self._parent:
            if os.name == "nt" or select.select([self._in], [], [], _LOOK_SECONDS)[0]:
                self._leave_at = None
                return os.read(self._in, _CHUNK)
            if self._leave_at is not None and time.monotonic() >= self._leave_at:
                break
        return b""

    def _send(self, data: bytes | None) -> None:
        if data is None:
            return
        left = memoryview(data + b"\n")
        with self._writing:
            try:
                while left and not self._gone:
                    left = left[os.write(self._out, left) :]
            except OSError:
                self._gone = True

    # -- the end ---------------------------------------------------------------------------------------------------

    def _finish(self) -> int:
        """Finish what is at hand, close, and leave in time whatever still runs: nothing that was kept is lost by it."""
        until = time.monotonic() + FINISH_SECONDS
        if self._worker is not None:
            threading.Thread(target=self._calls.put, args=(None,), daemon=True).start()
            self._worker.join(max(0.0, until - time.monotonic()))
        ended = self._keeper.stop(max(0.0, until - time.monotonic()))
        if not ended or (self._worker is not None and self._worker.is_alive()):
            _leave_at_once()
        closing = threading.Thread(target=self._opened.close, daemon=True)
        closing.start()
        closing.join(max(0.1, until - time.monotonic()))
        if closing.is_alive():
            _leave_at_once()
        return 0


def _claim() -> tuple[int, int]:
    """Our own handles on the two pipes; what anybody else prints goes to standard error, and their input is empty."""
    stdin, stdout = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
    return stdin, stdout


def _leave(number: int, frame: object) -> NoReturn:
    raise SystemExit(0)


def _leave_at_once() -> NoReturn:
    sys.stderr.flush()
    os._exit(0)
