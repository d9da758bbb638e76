"""Doing what the queue holds: tasks are claimed, done by their kind, and ended; whatever happens, nobody's call fails.

A store and a way to open any owner's memory come in; what was done comes out by `on_done`. A worker takes one task a
thread at a time, keeps it while it works, and tries again later what failed; what fails every time is dead, with its
reason. One that is stopped gives back what it has not begun, and after some seconds what it has not ended. Texts that
wait for a vector are a queue of their own: they are embedded in between, a few seconds at a time, so that neither waits
for all of the other.
"""

from __future__ import annotations

import logging
import os
import platform
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, NamedTuple, Protocol

from recollect import clock as time
from recollect.clock import Clock
from recollect.errors import NotFound
from recollect.ids import uuid7
from recollect.model import Gist, Scope
from recollect.settings import Settings
from recollect.store.port import Store
from recollect.store.ports.queue import ATTEMPTS, Task

if TYPE_CHECKING:
    from recollect.pipeline.distilling import Distilled

LEASE = timedelta(seconds=60)
KEPT = timedelta(days=1)  # how long what is done can be looked at
SOON = timedelta(seconds=5)  # when a task is tried again that somebody else is at
_HEARTBEAT = 10.0  # seconds between two looks at what is held
_LOOK = 1.0  # seconds between two looks at an empty queue
_EMBED_EVERY, _TIDY_EVERY = 5.0, 3_600.0
_SLICE = 5.0  # seconds of embedding after which a task has its turn
_LONGEST_WAIT = timedelta(minutes=5)
_LONGEST_PAUSE = 30.0  # seconds, after a store that cannot be reached
_log = logging.getLogger(__name__)


class Doing(Protocol):
    """As much of an open memory as a task needs."""

    def distill(self, sessions: Iterable[str] | None = None) -> Distilled: ...
    def summarize(self, session: str) -> Gist | None: ...
    def embed_pending(self, progress: Callable[[int], None] = ..., stop: Callable[[], bool] = ...) -> int: ...


class TaskFailed(Exception):
    """It was not done; the text says why and holds no content."""


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a task: done, later (not yet, or somebody else is at it), failed, dead, or lost."""

    kind: str
    outcome: str
    seconds: float
    tenant: str
    counts: Mapping[str, int] = field(default_factory=dict)
    busy: bool = False  # later, because somebody else is at it


@dataclass(frozen=True, slots=True)
class _Later:
    """It is not to be done before then; `busy`: because somebody else is at it."""

    at: datetime
    busy: bool = False


class _Embedded(NamedTuple):
    """How many texts got their vectors, and whether more wait."""

    made: int
    more: bool = False


def again_after(attempts: int) -> timedelta:
    """How long a task rests after so many attempts failed: four seconds, and four times as long each time."""
    return min(_LONGEST_WAIT, timedelta(seconds=4.0 ** min(attempts, 9)))


class TaskWorker:
    """Does tasks until it is stopped, in threads of its own; or those that are due, in the caller's."""

    def __init__(
        self,
        store: Store,
        memory_of: Callable[[Scope], Doing],
        settings: Settings,
        clock: Clock = time.now,
        *,
        threads: int = 1,
        name: str | None = None,
        on_done: Callable[[Done], None] = lambda done: None,
        embeds: bool = True,
    ) -> None:
        self.name = name or f"{platform.node()}:{os.getpid()}:{uuid7()[-4:]}"
        self._store, self._clock, self._on_done = store, clock, on_done
        self._doing = _Doing(store, memory_of, settings, clock)
        self._embeds = embeds
        self._bell, self._stopping = threading.Event(), threading.Event()
        self._held: dict[str, _Held] = {}
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._work, name=f"recollect-task-{n}", daemon=True) for n in range(threads)
        ]
        self._threads.append(threading.Thread(target=self._look_after, name="recollect-task-keeper", daemon=True))
        self._tidied = self._embedded = -_TIDY_EVERY
        self._turn = threading.Lock()  # one thread at a time embeds and tidies

    # -- from outside ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to work in the background."""
        for thread in self._threads:
            thread.start()

    def ring(self) -> None:
        """There is something to do."""
        self._bell.set()

    def stopping(self) -> bool:
        """Whether it was told to end."""
        return self._stopping.is_set()

    def stop(self, seconds: float = 4.0) -> None:
        """End: what has begun has so many seconds, then it is given back for others to begin anew."""
        self._stopping.set()
        self._bell.set()
        until = monotonic() + seconds
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, until - monotonic()))
        with self._lock:
            left = list(self._held.values())
        for held in left:
            self._try(held.release)

    def run_due(self) -> Counter[str]:
        """Do all that is due now, in this thread; returns how many tasks ended how."""
        done: Counter[str] = Counter()
        more = True
        while more:
            while not self.stopping() and (one := self._next()) is not None:
                done[one.outcome] += 1
            more = self._embed()
        self._tidy()
        return done

    # -- the threads -----------------------------------------------------------------------------------------------

    def _work(self) -> None:
        """One thread: a task after the other, until it is to end."""
        pause, was_busy = _LOOK, False
        while not self.stopping():
            try:
                self._bell.clear()
                done = self._next()
                more = self._beside()
                pause = _LOOK
                busy = done is not None and done.busy
                if more or (done is not None and not (busy and was_busy)):
                    was_busy = busy
                    continue
                was_busy = False  # two in a row that others are at: the next may be as well, so do not run through all
            except Exception as error:  # the store cannot be reached: the queue is there when it can be again
                pause = min(_LONGEST_PAUSE, 2 * pause)
                _log.warning("the queue cannot be worked on: %s", type(error).__name__)
            self._bell.wait(pause)

    def _beside(self) -> bool:
        """What is not in the queue: one thread at a time, now and then; whether there is more of it to do at once."""
        more = False
        if self._turn.acquire(blocking=False):
            try:
                if monotonic() - self._embedded >= _EMBED_EVERY:
                    more = self._embed()
                if monotonic() - self._tidied >= _TIDY_EVERY:
                    self._tidy()
            finally:
                self._turn.release()
        return more

    def _embed(self) -> bool:
        """A slice of the vectors that wait; whether more do. A failure is the log's, and the next round tries again."""
        more = False
        if self._embeds:
            try:
                made = self._doing.embed(self.stopping)
                more = made is not None and made.more
            except Exception as error:  # whatever an embedder raises, tasks are done all the same
                _log.warning("texts wait for their vectors: %s", type(error).__name__)
        self._embedded = -_TIDY_EVERY if more else monotonic()
        return more

    def _tidy(self) -> None:
        self._tidied = monotonic()
        now = self._clock()
        self._store.tasks.tidy(before=now - KEPT)
        self._store.answers.tidy(before=now)

    def _look_after(self) -> None:
        """Keep what is being worked on; whoever lost a task is told."""
        while not self._stopping.wait(_HEARTBEAT):
            with self._lock:
                held = list(self._held.values())
            for one in held:
                self._try(one.extend)

    def _try(self, act: Callable[[], object]) -> None:
        try:
            act()
        except Exception as error:
            _log.warning("a lease cannot be changed: %s", type(error).__name__)

    # -- one task --------------------------------------------------------------------------------------------------

    def _next(self) -> Done | None:
        """Claim one task and see it through; None when none is due."""
        now = self._clock()
        claimed = self._store.tasks.claim(worker=self.name, at=now, until=now + LEASE)
        if not claimed:
            return None
        (task,) = claimed
        if self.stopping():
            self._store.tasks.release(task, at=now)
            return None
        held = _Held(self._store, task, self._clock)
        with self._lock:
            self._held[task.id] = held
        try:
            return self._see_through(held)
        finally:
            with self._lock:
                self._held.pop(task.id, None)

    def _see_through(self, held: _Held) -> Done:
        """Do a task and say what became of it, in the queue and to who counts."""
        task, began = held.task, perf_counter()
        counts: Mapping[str, int] = {}
        busy = False
        try:
            made = self._doing.do(task, lambda: held.lost or self.stopping())
            if isinstance(made, _Later):
                busy = made.busy
                outcome = "later" if self._store.tasks.release(task, at=self._clock(), due_at=made.at) else "lost"
            else:
                counts = made
                outcome = "done" if self._store.tasks.finish(task, at=self._clock()) else "lost"
        except Exception as error:  # one task's failure is its own
            outcome = self._failed(task, error)
        done = Done(task.kind, outcome, perf_counter() - began, task.scope.tenant, counts, busy)
        try:
            self._on_done(done)
        except Exception as error:
            _log.warning("what was done cannot be counted: %s", type(error).__name__)
        return done

    def _failed(self, task: Task, error: Exception) -> str:
        """Note a failure; a store that cannot even take that leaves the task to whoever finds its lease over."""
        reason = f"{type(error).__name__}: {error}" if isinstance(error, TaskFailed) else type(error).__name__
        now = self._clock()
        again_at = now + again_after(task.attempts) if task.attempts < ATTEMPTS else None
        _log.warning("task %s (%s) failed, attempt %d: %s", task.id, task.kind, task.attempts, reason)
        try:
            noted = self._store.tasks.fail(task, at=now, error=reason, again_at=again_at)
        except Exception as worse:
            _log.warning("a failure cannot be noted: %s", type(worse).__name__)
            return "lost"
        return "lost" if not noted else "failed" if again_at else "dead"


class _Held:
    """A task in this worker's hands."""

    def __init__(self, store: Store, task: Task, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self.task = task
        self.lost = False

    def extend(self) -> None:
        if not self.lost:
            self.lost = not self._store.tasks.extend(self.task, until=self._clock() + LEASE)

    def release(self) -> None:
        self.lost = True
        self._store.tasks.release(self.task, at=self._clock())


class _Doing:
    """What each kind of task is."""

    def __init__(self, store: Store, memory_of: Callable[[Scope], Doing], settings: Settings, clock: Clock) -> None:
        self._store, self._memory_of, self._settings, self._clock = store, memory_of, settings, clock

    def do(self, task: Task, stop: Callable[[], bool]) -> Mapping[str, int] | _Later:
        """Do it; returns what it made, or when to ask again."""
        if task.kind == "distill":
            return self._distill(task)
        if task.kind == "gist":
            return self._gist(task)
        if task.kind == "flood":
            from recollect.pipeline.flood import hold_back

            return {"flooded": hold_back(self._store, task.scope, self._clock)}
        if task.kind == "consolidate":
            from recollect.pipeline.consolidating import Consolidation, TooMuch

            try:
                done = Consolidation(self._store, task.scope, self._settings, self._clock).run(stop=stop).run
            except TooMuch as error:
                raise TaskFailed(str(error)) from None
            return {} if done is None else done.counts
        if task.kind == "embed":
            made = self.embed(stop)
            if made is None:
                return _Later(self._clock() + SOON, busy=True)
            return _Later(self._clock()) if made.more else {"vectors": made.made}
        raise TaskFailed("nobody knows how to do this")

    def _distill(self, task: Task) -> Mapping[str, int] | _Later:
        if not self._settings.distill or not self._is_there(task):
            return {}
        made = self._memory_of(task.scope).distill([task.subject])
        if made.failed:
            raise TaskFailed(next(iter(made.failed.values())))
        if not made.sessions and self._is_there(task):
            return _Later(self._clock() + SOON, busy=True)  # somebody else is at it, or changed it
        return {name: count for name, count in made.outcomes.items() if count}

    def _gist(self, task: Task) -> Mapping[str, int] | _Later:
        grown = self._store.gists.unsummarized(task.scope, task.subject)
        if not grown:
            return {}
        from recollect.pipeline.gists import IDLE

        now = self._clock()
        latest = (task.made_at or now) + IDLE  # a session that grew by little is summarized when it had time to grow
        if grown < self._settings.summarize_after and now < latest:
            return _Later(latest)
        try:
            gist = self._memory_of(task.scope).summarize(task.subject)
        except NotFound:  # forgotten meanwhile
            return {}
        return {"gists": int(gist is not None)}

    def _is_there(self, task: Task) -> bool:
        """Whether anything was said in the session, and it was not forgotten."""
        return bool(self._store.sessions.history(task.scope, task.subject, first=1))

    def embed(self, stop: Callable[[], bool]) -> _Embedded | None:
        """Make vectors that wait, whosever they are, for a few seconds; None when another process here makes them."""
        from recollect.lock import alone

        if not self._store.vectors.waiting(1):
            return _Embedded(0)
        slice_ = _Slice(stop)
        settings = self._settings
        owner = Scope(settings.tenant, settings.user) if settings.user else Scope(settings.tenant)
        with alone(settings.data_dir / "embed.lock") as free:
            if not free:
                return None
            made = self._memory_of(owner).embed_pending(stop=slice_)
        return _Embedded(made, more=slice_.ended and made > 0)


class _Slice:
    """Says stop when somebody else does, or some seconds after it was first asked: until then a model is loaded."""

    def __init__(self, stop: Callable[[], bool]) -> None:
        self._stop = stop
        self._until: float | None = None
        self.ended = False  # by its seconds alone

    def __call__(self) -> bool:
        if self._stop():
            return True
        now = monotonic()
        if self._until is None:
            self._until = now + _SLICE
            return False
        self.ended = now >= self._until
        return self.ended
