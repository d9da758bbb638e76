"""The background worker of an open Recollect: one thread that makes vectors and gists after writes return.

A write only rings its bell. The thread stops between two batches, and what it has not done is still queued in the
store; so closing is quick, and nothing depends on the thread having run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class Worker:
    """Runs `work` in a thread of its own until stopped: when it is rung, and as many seconds after as it returns."""

    def __init__(self, work: Callable[[Callable[[], bool]], float | None]) -> None:
        self._work = work
        self._bell = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._start = threading.Lock()

    def ring(self) -> None:
        """There is something to do."""
        self._bell.set()
        with self._start:
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._run, name="recollect-worker", daemon=True)
                self._thread.start()

    def stopping(self) -> bool:
        """Whether it was told to end."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """Finish the batch at hand and end."""
        self._stopping.set()
        self._bell.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        pause: float | None = None
        while True:
            self._bell.wait(pause)
            self._bell.clear()
            if self._stopping.is_set():
                return
            pause = None
            try:
                pause = self._work(self._stopping.is_set)
            except Exception as error:  # the worker must never take the caller down; the queue keeps what is left
                import logging

                logging.getLogger(__name__).warning("background work failed: %s", type(error).__name__)
