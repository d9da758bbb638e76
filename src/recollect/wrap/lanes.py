"""A lane: threads of its own that do what they are given, in the order it came.

They belong neither to the application (its event loop's threads stay free, however long something hangs here) nor to
the interpreter's end (which waits for none of them). A thread with nothing to do for a while ends by itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any

IDLE_SECONDS = 10.0  # how long a thread waits for more to do


class Lane:
    """At most so many threads; with one, nothing overtakes anything."""

    def __init__(self, name: str, threads: int) -> None:
        self._name, self._most = name, threads
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = self._unfinished = 0

    def submit(self, work: Callable[..., Any], *given: Any) -> Future[Any]:
        """Have it done, with the context variables of the one who asks; RuntimeError when no thread can be started."""
        task: Future[Any] = Future()
        within = copy_context().run
        with self._lock:
            if self._threads < min(self._unfinished + 1, self._most):
                threading.Thread(target=self._work, name=self._name, daemon=True).start()
                self._threads += 1
            self._unfinished += 1
            self._jobs.put((task, within, (work, *given)))
        return task

    def _work(self) -> None:
        while self._did_one():
            pass

    def _did_one(self) -> bool:
        try:
            task, work, given = self._jobs.get(timeout=IDLE_SECONDS)
        except Empty:
            return not self._left()
        try:
            if task.set_running_or_notify_cancel():
                _do(task, work, given)
        finally:
            with self._lock:
                self._unfinished -= 1
        return True

    def _left(self) -> bool:
        """Whether this thread is to end: nothing came, and nothing comes while the lane is held."""
        with self._lock:
            if not self._jobs.empty():
                return False
            self._threads -= 1
            return True


def _do(task: Future[Any], work: Callable[..., Any], given: tuple[Any, ...]) -> None:
    try:
        made = work(*given)
    except BaseException as error:
        task.set_exception(error)
    else:
        task.set_result(made)
