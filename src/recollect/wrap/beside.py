"""The memory beside a conversation: asked before a call, told after it, and never a reason for a call to fail.

In: what the user says, what was answered. Out: recalled text as quoted data, or nothing. Whatever goes wrong is logged
by its type and goes no further. A memory that does not answer within `patience` seconds is not waited for: the call
goes on without it, what it is told is written meanwhile, and it is asked again after a while. It is asked in threads of
its own, never in those of the application.
"""

from __future__ import annotations

import asyncio
import atexit
import inspect
import logging
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

from recollect.clock import now
from recollect.errors import InvalidInput
from recollect.model import check_id
from recollect.wrap.lanes import Lane

_log = logging.getLogger("recollect.wrap")
REST_SECONDS = 30.0  # after a failure the memory is left alone for so long
MOST_WAITING = 1_000  # exchanges that wait to be written; more are dropped, and that is logged
_AT_ONCE = 4  # questions of calls that run beside each other
_QUERY = 2_000  # characters of a long message that are asked with: its beginning and its end
_LATE = "it did not answer in time"

Exchange = list[tuple[str, str, str, datetime]]
Task = Future[Any] | asyncio.Future[Any]


class Beside:
    """One memory, one conversation."""

    def __init__(
        self,
        memory: Any,
        session: str | Callable[[], str],
        *,
        max_tokens: int = 2_000,
        patience: float = 2.0,
        record: bool = True,
        asking: Mapping[str, Any] | None = None,
    ) -> None:
        if not callable(session):
            check_id(session, "session")
        if max_tokens < 1 or patience <= 0:
            raise InvalidInput("max_tokens and patience must be more than 0")
        self.awaits = inspect.iscoroutinefunction(getattr(memory, "context", None))
        self._memory = memory
        self._session = session
        self._max_tokens = max_tokens
        self._patience = patience
        self._record = record
        self._asking = dict(asking or {})
        self._resting_until = 0.0
        self._waiting: set[Task] = set()
        self._latest: dict[str, asyncio.Future[Any]] = {}  # by session, what an awaited memory was told last
        self._lock = threading.Lock()
        self._recalling = Lane("recollect-recalls", _AT_ONCE)
        self._recording = Lane("recollect-records", 1)  # one, so that what was said stays in order
        _open.add(self)

    # -- for clients that block ----------------------------------------------------------------------------------------

    def recall(self, said: str | None) -> str:
        """What is known about what the user says, as text to stand before it; empty when there is nothing."""
        ask = self._question(said)
        task = None if ask is None else self._started(lambda: self._recalling.submit(ask))
        if task is None:
            return ""
        found = self._waited(task)
        task.cancel()  # whoever asked has gone on
        return str(getattr(found, "text", ""))

    def keep(self, said: str | None, answer: str, began: datetime) -> None:
        """Write down what was said and answered."""
        exchange = self._exchange(said, answer, began)
        if not exchange:
            return
        task = self._started(lambda: self._recording.submit(self._memory.record_many, exchange))
        if task is not None and not self._rests():
            self._waited(task)

    def close(self) -> None:
        """Wait a little for what is still being written."""
        wait([one for one in self._unfinished() if isinstance(one, Future)], self._patience)

    def _waited(self, task: Future[Any]) -> Any:
        try:
            return task.result(self._patience)
        except TimeoutError:
            self._failed(_LATE)
        except Exception:  # noqa: S110 - told by _done, whatever it was: the call goes on without it
            pass
        return None

    # -- for clients that are awaited ----------------------------------------------------------------------------------

    async def recall_soon(self, said: str | None) -> str:
        """As `recall`."""
        ask = self._question(said)
        if ask is None:
            return ""
        begin = (lambda: asyncio.ensure_future(ask())) if self.awaits else (lambda: self._recalling.submit(ask))
        task = self._started(begin)
        if task is None:
            return ""
        try:
            return str(getattr(await self._waited_soon(task), "text", ""))
        finally:
            task.cancel()  # whoever asked has gone on

    async def keep_soon(self, said: str | None, answer: str, began: datetime) -> None:
        """As `keep`."""
        exchange = self._exchange(said, answer, began)
        if not exchange:
            return
        if self.awaits:
            task = self._started(lambda: self._told_after(exchange))
        else:
            task = self._started(lambda: self._recording.submit(self._memory.record_many, exchange))
        if task is not None and not self._rests():
            await self._waited_soon(task)

    async def close_soon(self) -> None:
        """As `close`."""
        loop = asyncio.get_running_loop()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                for one in self._unfinished():
                    if isinstance(one, Future) or one.get_loop() is loop:
                        await _ended(one)

    def _told_after(self, exchange: Exchange) -> asyncio.Future[Any]:
        """The exchange on its way to a memory that is awaited, behind the one before it in its conversation."""
        session, loop = exchange[0][0], asyncio.get_running_loop()
        before = self._latest.get(session)

        async def tell() -> Any:
            if before is not None and before.get_loop() is loop:
                await asyncio.wait([before])
            return await self._memory.record_many(exchange)

        def told(task: asyncio.Future[Any]) -> None:
            if self._latest.get(session) is task:
                del self._latest[session]

        task = asyncio.ensure_future(tell())
        self._latest[session] = task
        task.add_done_callback(told)
        return task

    async def _waited_soon(self, task: Task) -> Any:
        try:
            async with asyncio.timeout(self._patience):
                await _ended(task)
        except TimeoutError:
            self._failed(_LATE)
            return None
        return None if task.cancelled() or task.exception() is not None else task.result()

    # -- both ----------------------------------------------------------------------------------------------------------

    def _question(self, said: str | None) -> Callable[[], Any] | None:
        """How it is asked: what this conversation said stands in it already. None when it is not asked."""
        if said is None or self._rests():
            return None
        session = self._named()
        if session is None:
            return None
        narrowed = {"exclude_session": session, **self._asking}
        return partial(self._memory.context, _query(said), self._max_tokens, **narrowed)

    def _named(self) -> str | None:
        """The conversation's name, made where the call is made; None when somebody's function fails."""
        try:
            return check_id(self._session() if callable(self._session) else self._session, "session")
        except Exception as error:
            self._failed(type(error).__name__)
            return None

    def _started(self, begin: Callable[[], Any]) -> Any:
        """What was begun, until it is done; None when too much waits, or nothing can be begun any more."""
        with self._lock:
            if len(self._waiting) >= MOST_WAITING:
                self._failed("too much waits to be written")
                return None
            try:
                task = begin()
            except RuntimeError as error:  # the interpreter ends
                self._failed(type(error).__name__)
                return None
            self._waiting.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: Task) -> None:
        with self._lock:
            self._waiting.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(type(error).__name__)

    def _unfinished(self) -> list[Task]:
        with self._lock:
            return list(self._waiting)

    def _exchange(self, said: str | None, answer: str, began: datetime) -> Exchange:
        session = self._named() if self._record else None
        if session is None:
            return []
        spoken = [(session, "user", said, began)] if said is not None else []
        return [*spoken, *([(session, "assistant", answer, now())] if answer.strip() else [])]

    def _rests(self) -> bool:
        return time.monotonic() < self._resting_until

    def _failed(self, why: str) -> None:
        """The type of what went wrong and nothing else: its words may quote what was said."""
        self._resting_until = time.monotonic() + REST_SECONDS
        _log.warning("The memory was left out of a call: %s.", why)


_open: weakref.WeakSet[Beside] = weakref.WeakSet()


@atexit.register
def _end() -> None:
    """A program that ends waits a little for what is still being written, and not for a memory that hangs."""
    tasks = [task for beside in _open for task in beside._unfinished() if isinstance(task, Future)]
    wait(tasks, max((beside._patience for beside in _open), default=0))


async def _ended(task: Task) -> None:
    """Wait until it is done, however; whoever waits no longer does not end it."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def tell(_: Any) -> None:
        with suppress(RuntimeError):  # the loop ended before it was done
            loop.call_soon_threadsafe(done.set)

    task.add_done_callback(tell)
    await done.wait()


def _query(said: str) -> str:
    """What is asked with: of a long message the beginning and the end, each line of it once."""
    if len(said) <= _QUERY:
        return said
    lines = "\n".join(dict.fromkeys(said.split("\n")))
    return lines if len(lines) <= _QUERY else f"{lines[: _QUERY // 2]}\n{lines[-_QUERY // 2 :]}"
