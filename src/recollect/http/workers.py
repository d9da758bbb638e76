"""Several processes behind one address: one binds it, hands what comes to the others and looks after them.

The others are forked from it, once it has what all of them read and none of them changes, the model above all. So that
lies in memory once, and what one of them has just read is in the processor's cache for the others. It has no threads
and opens nothing: what must not cross a fork is made after it. One that ends before it is told to is made again.
"""

from __future__ import annotations

import gc
import math
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.http.doorman import Doorman
from recollect.http.listening import LAST_SECONDS
from recollect.metrics import FOLDER_VARIABLE, forget_process
from recollect.settings import environment

if TYPE_CHECKING:
    from recollect.models.port import Embedder
    from recollect.settings import Settings

AGAIN_SECONDS = 1.0  # how long a process that ended is waited for before it is made again
LATE_SECONDS = 10.0  # how long the others are waited for once one could answer
_LOOK_SECONDS = 0.1
_ENDS = (signal.SIGTERM, signal.SIGINT)


class Workers:
    """So many processes, made from this one and kept up until it is told to stop."""

    def __init__(self, where: socket.socket, number: int) -> None:
        self.code = 0  # with which this process is to end
        self._where, self._number = where, number
        self._folder = tempfile.mkdtemp(prefix="recollect-metrics-")
        environment()[FOLDER_VARIABLE] = self._folder  # of all of them
        self._doorman = Doorman(where)
        self._pids: set[int] = set()
        self._next = 0.0  # when another may be made
        self._stopping = False

    def run(self, ready: Callable[[], None]) -> socket.socket | None:
        """Look after them until told to stop, then None. In each of them: the line over which its connections come."""
        looks_after = os.getpid()
        for number in _ENDS:
            signal.signal(number, self._stop)
        try:
            return self._keep_up(ready)
        finally:
            if os.getpid() == looks_after:
                self._end()

    def _keep_up(self, ready: Callable[[], None]) -> socket.socket | None:
        first_at, begun = math.inf, False  # when the first could answer, and whether callers are let in
        while not self._stopping:
            # One goes before the others: where none can begin, one says why.
            while len(self._pids) < (1 if first_at == math.inf else self._number) and time.monotonic() >= self._next:
                line = self._fork()
                if line is not None:
                    return line
            self._doorman.work(_LOOK_SECONDS)
            failed = self._ended()
            if first_at == math.inf and failed:
                self.code = failed[0]
                return None
            if first_at == math.inf and self._doorman.takers:
                first_at = time.monotonic()
            # Callers stay where they first went: nobody is let in until there are all of them to choose from.
            late = time.monotonic() > first_at + LATE_SECONDS
            if not begun and (self._doorman.takers == self._number or late):
                begun = True
                self._doorman.begin()
                ready()
        return None

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _fork(self) -> socket.socket | None:
        """Make another; its line, in that one."""
        line, looks_after = self._doorman.line(), os.getpid()
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)  # until it is clear whose signal it is
        try:
            pid = os.fork()
        except OSError:  # no room for another now; as long as one answers, that can wait
            if not self._pids:
                raise
            pid, self._next = -1, time.monotonic() + AGAIN_SECONDS
        if pid == 0:
            self._become_one(looks_after)
        elif pid > 0:
            self._pids.add(pid)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
        if pid == 0:
            return line
        line.close()
        return None

    def _become_one(self, looks_after: int) -> None:
        """What a process does first that was just made."""
        os.setpgid(0, 0)  # a group of its own: Ctrl-C is for who looks after it. Told twice, it would not finish
        for number in _ENDS:
            signal.signal(number, signal.SIG_DFL)
        self._doorman.close()
        self._where.close()
        threading.Thread(target=_end_with, args=(looks_after,), name="recollect-parent", daemon=True).start()

    def _ended(self) -> list[int]:
        """With which codes some of them have ended meanwhile; they are made again in a moment."""
        codes = []
        for pid in tuple(self._pids):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                codes.append(os.waitstatus_to_exitcode(status))
                self._pids.discard(pid)
                forget_process(Path(self._folder), pid)
                self._next = time.monotonic() + AGAIN_SECONDS
        return codes

    def _end(self) -> None:
        """End all of them together."""
        self._doorman.close()
        for pid in self._pids:
            os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + LAST_SECONDS
        while self._pids and time.monotonic() < until:
            self._ended()
            time.sleep(0.01)
        for pid in self._pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._where.close()


def read_model(settings: Settings, *, texts: bool) -> Embedder | None:
    """The model that is part of Recollect, for all that will be forked; None where each has to see to its own.

    `texts`: they embed texts too, not only questions. What has threads cannot be shared so, nor what lies in libraries
    that do not survive a fork, as those of macOS.
    """
    from recollect.errors import RecollectError
    from recollect.models.choose import choose
    from recollect.models.port import for_questions

    if sys.platform != "linux" or settings.embedder != "minilm" or settings.threads > 1:
        return None
    model, _ = choose(settings)
    if model is None:
        return None
    try:
        for_questions(model).embed(["ready"])
        if texts:
            model.embed(["ready"])
    except RecollectError:  # whoever is asked by meaning says what is wrong with it
        return None
    gc.collect()
    gc.freeze()  # what is looked through for garbage is written to, and then no longer shared
    return model


def _end_with(parent: int) -> None:
    """End when the process that looks after this one is gone: nobody else would."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os.kill(os.getpid(), signal.SIGTERM)
