"""The memory beside a conversation: asked before a call, told after it, and never a reason for a call to fail.

In: what the user says, what was answered. Out: recalled text as quoted data, or nothing. Whatever goes wrong is logged
by its type and goes no further. A memory that does not answer within `patience` seconds is not waited for: the call
goes on without it, what it is told is written meanwhile, and it is asked again after a while.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from typing import Any

from recollect.clock import now
from recollect.errors import InvalidInput
from recollect.model import check_id

_log = logging.getLogger("recollect.wrap")
REST_SECONDS = 30.0  # after a failure the memory is left alone for so long
MOST_WAITING = 1_000  # exchanges that wait to be written; more are dropped, and that is logged
_QUERY = 2_000  # characters of a long message that are asked with: its beginning and its end


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
        self._waiting: set[Any] = set()
        self._lock = threading.Lock()
        self._recalling = ThreadPoolExecutor(1, "recollect-recalls")
        self._recording = ThreadPoolExecutor(1, "recollect-records")  # one, so that what was said stays in order

    def close(self) -> None:
        """Wait a little for what is still being written."""
        self._recalling.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            waiting = [one for one in self._waiting if isinstance(one, Future)]
        for one in waiting:
            self._waited(one)
        self._recording.shutdown(wait=False)

    # -- for clients that block ----------------------------------------------------------------------------------------

    def recall(self, said: str | None) -> str:
        """What is known about what the user says, as text to stand before it; empty when there is nothing."""
        if said is None or self._rests():
            return ""
        task = self._started(self._recalling, self._context, said)
        return str(self._waited(task) or "") if task is not None else ""

    def keep(self, said: str | None, answer: str, began: datetime) -> None:
        """Write down what was said and answered."""
        exchange = self._exchange(said, answer, began)
        if not exchange:
            return
        task = self._started(self._recording, self._memory.record_many, exchange)
        if task is not None and not self._rests():
            self._waited(task)

    def _context(self, said: str) -> str:
        return str(self._memory.context(_query(said), self._max_tokens, **self._narrowed()).text)

    def _started(self, place: ThreadPoolExecutor, work: Callable[..., Any], *given: Any) -> Future[Any] | None:
        with self._lock:
            if len(self._waiting) >= MOST_WAITING:
                self._failed("too much waits to be written")
                return None
            try:
                task = place.submit(work, *given)
            except RuntimeError as error:  # it was closed, or the interpreter ends
                self._failed(type(error).__name__)
                return None
            self._waiting.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: Any) -> None:
        with self._lock:
            self._waiting.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(type(error).__name__)

    def _waited(self, task: Future[Any]) -> Any:
        try:
            return task.result(self._patience)
        except TimeoutError:
            self._failed("it did not answer in time")
        except Exception:  # noqa: S110 - told by _done, whatever it was: the call goes on without it
            pass
        return None

    # -- for clients that are awaited ----------------------------------------------------------------------------------

    async def recall_soon(self, said: str | None) -> str:
        """As `recall`."""
        if said is None or self._rests():
            return ""
        if not self.awaits:
            return str(await self._patiently(asyncio.to_thread(self._context, said)) or "")
        context = self._memory.context(_query(said), self._max_tokens, **self._narrowed())
        return str(getattr(await self._patiently(context), "text", ""))

    async def keep_soon(self, said: str | None, answer: str, began: datetime) -> None:
        """As `keep`."""
        exchange = self._exchange(said, answer, began)
        if not exchange:
            return
        record = self._memory.record_many
        await self._patiently(record(exchange) if self.awaits else asyncio.to_thread(record, exchange))

    async def _patiently(self, work: Awaitable[Any] | Coroutine[Any, Any, Any]) -> Any:
        task = asyncio.ensure_future(work)
        self._waiting.add(task)  # held until it is done: a loop forgets what nobody holds
        task.add_done_callback(self._done)
        finished, _ = await asyncio.wait([task], timeout=self._patience)
        if not finished:
            self._failed("it did not answer in time")
            return None
        return None if task.cancelled() or task.exception() is not None else task.result()

    # -- both ----------------------------------------------------------------------------------------------------------

    def _narrowed(self) -> dict[str, Any]:
        """How it is asked: what this conversation said stands in it already."""
        return {"exclude_session": self._named(), **self._asking}

    def _named(self) -> str:
        return self._session() if callable(self._session) else self._session

    def _exchange(self, said: str | None, answer: str, began: datetime) -> list[tuple[str, str, str, datetime]]:
        if not self._record:
            return []
        try:
            session = check_id(self._named(), "session")
        except Exception as error:  # a name made by somebody else's function
            self._failed(type(error).__name__)
            return []
        spoken = [(session, "user", said, began)] if said is not None else []
        return [*spoken, *([(session, "assistant", answer, now())] if answer.strip() else [])]

    def _rests(self) -> bool:
        return time.monotonic() < self._resting_until

    def _failed(self, why: str) -> None:
        """The type of what went wrong and nothing else: its words may quote what was said."""
        self._resting_until = time.monotonic() + REST_SECONDS
        _log.warning("The memory was left out of a call: %s.", why)


def _query(said: str) -> str:
    """What is asked with: of a long message the beginning and the end, each line of it once."""
    if len(said) <= _QUERY:
        return said
    lines = "\n".join(dict.fromkeys(said.split("\n")))
    return lines if len(lines) <= _QUERY else f"{lines[: _QUERY // 2]}\n{lines[-_QUERY // 2 :]}"
