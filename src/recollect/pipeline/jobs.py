"""Jobs that look after a store: one runner each at a time, seen from everywhere, and ended when somebody asks for it.

A name and something to do come in; what was done, how long it took and how it ended go out, and are noted in the
store.
Whoever runs a job holds a lease on it, a note that ends by itself: a runner that died is replaced at once on its own
machine, and elsewhere when the lease is over. A runner asks `stop` between its steps; each step is whole or not at all.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

from recollect.clock import Clock, from_iso, iso
from recollect.errors import RecollectError, ScopeError
from recollect.ids import uuid7
from recollect.store.port import Notes

PREFIX = "job:"
LEASE = timedelta(minutes=15)
LOOK_SECONDS = 1.0  # how often a runner looks whether it is to end
STATES = ("done", "cancelled", "failed", "skipped", "busy")


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a job: `state` is of STATES; what failed says why, without content."""

    job: str
    state: str
    started_at: datetime
    seconds: float = 0.0
    counts: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Runner:
    """Who runs a job now, until when it is theirs, and whether somebody asked them to end."""

    id: str
    host: str
    pid: int
    since: datetime
    until: datetime
    cancel: bool = False

    def lives(self, now: datetime) -> bool:
        """Whether the job is still theirs; on this machine a process that is gone holds nothing."""
        return now < self.until and (self.host != platform.node() or _is_alive(self.pid))


@dataclass(frozen=True, slots=True)
class Status:
    """One job as it is noted: who runs it, and how it went the last time."""

    job: str
    runner: Runner | None = None
    last: Ran | None = None


class Lease:
    """A job that is ours for now."""

    def __init__(self, notes: Notes, job: str, clock: Clock, runner: Runner, text: str) -> None:
        self._notes, self._job, self._clock = notes, job, clock
        self._runner, self._text = runner, text
        self._looked = monotonic()
        self.ended = False

    def stop(self) -> bool:
        """Whether to end now: somebody asked for it, or the job is somebody else's. Also makes the lease longer."""
        if not self.ended and monotonic() - self._looked >= LOOK_SECONDS:
            self._looked = monotonic()
            self._look()
        return self.ended

    def _look(self) -> None:
        now = self._notes.get(PREFIX + self._job)
        status = _status(self._job, now)
        theirs = status.runner
        if now is None or theirs is None or theirs.id != self._runner.id or theirs.cancel:
            self.ended = True
            return
        if self._clock() + LEASE / 2 > theirs.until:
            longer = replace(theirs, until=self._clock() + LEASE)
            self._notes.swap(PREFIX + self._job, now, _text(replace(status, runner=longer)))

    def finish(self, ran: Ran) -> None:
        """Note how it went, and let the job go, if it is still ours."""
        for _ in range(5):  # somebody may just be asking us to end
            now = self._notes.get(PREFIX + self._job)
            status = _status(self._job, now)
            if now is None or status.runner is None or status.runner.id != self._runner.id:
                return
            if self._notes.swap(PREFIX + self._job, now, _text(Status(self._job, None, ran))):
                return


def run(
    notes: Notes,
    job: str,
    clock: Clock,
    work: Callable[[Callable[[], bool]], Mapping[str, int]],
    *,
    raising: bool = False,
) -> Ran:
    """Do a job if nobody else is at it. `work` gets the question whether to stop, and tells what it did.

    What fails is told in what is returned, or raised with `raising`. What ends the process is noted and goes on up.
    """
    started, since = clock(), monotonic()
    lease = take(notes, job, clock)
    if lease is None:
        return Ran(job, "busy", started)

    def ran(state: str, counts: Mapping[str, int] = {}, error: str | None = None) -> Ran:
        return Ran(job, state, started, round(monotonic() - since, 3), dict(counts), error)

    ended = ran("cancelled")
    try:
        counts = work(lease.stop)
        ended = ran("cancelled" if lease.ended else "done", counts)
    except ScopeError as error:
        ended = ran("skipped", error=str(error))
    except RecollectError as error:
        ended = ran("failed", error=str(error))
        if raising:
            raise
    except Exception as error:
        ended = ran("failed", error=type(error).__name__)
        raise
    finally:
        lease.finish(ended)
    return ended


def take(notes: Notes, job: str, clock: Clock) -> Lease | None:
    """The lease on a job, or None while another has it."""
    key = PREFIX + job
    there = notes.get(key)
    status = _status(job, there)
    now = clock()
    if status.runner is not None and status.runner.lives(now):
        return None
    runner = Runner(uuid7(), platform.node(), os.getpid(), now, now + LEASE)
    text = _text(replace(status, runner=runner))
    return Lease(notes, job, clock, runner, text) if notes.swap(key, there, text) else None


def cancel(notes: Notes, jobs: tuple[str, ...], now: datetime) -> list[str]:
    """Ask whoever runs these jobs to end; returns those that run."""
    asked = []
    for job in jobs:
        for _ in range(5):
            there = notes.get(PREFIX + job)
            status = _status(job, there)
            if there is None or status.runner is None or not status.runner.lives(now):
                break
            wanted = _text(replace(status, runner=replace(status.runner, cancel=True)))
            if notes.swap(PREFIX + job, there, wanted):
                asked.append(job)
                break
    return asked


def statuses(notes: Notes, jobs: tuple[str, ...], now: datetime) -> list[Status]:
    """How each job is and was; a runner that is gone is not shown."""
    noted = notes.all(PREFIX)
    found = [_status(job, noted.get(PREFIX + job)) for job in jobs]
    return [one if one.runner is None or one.runner.lives(now) else replace(one, runner=None) for one in found]


@contextmanager
def terminable() -> Iterator[None]:
    """Let a request to terminate end the block as an interrupt would: what is open is closed, leases are let go."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _status(job: str, text: str | None) -> Status:
    """A note as it was written; one that cannot be read is as good as none."""
    try:
        told = json.loads(text or "{}")
        runner, last = told.get("runner"), told.get("last")
        return Status(
            job,
            runner and Runner(**_timed(runner, "since", "until")),
            last and Ran(job, **_timed(last, "started_at")),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return Status(job)


def _timed(told: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {**told, **{name: from_iso(told[name]) for name in names}}


def _text(status: Status) -> str:
    told: dict[str, Any] = {"runner": None, "last": None}
    if status.runner is not None:
        runner = status.runner
        told["runner"] = {
            "id": runner.id,
            "host": runner.host,
            "pid": runner.pid,
            "cancel": runner.cancel,
            "since": iso(runner.since),
            "until": iso(runner.until),
        }
    if status.last is not None:
        last = status.last
        told["last"] = {
            "state": last.state,
            "started_at": iso(last.started_at),
            "seconds": last.seconds,
            "counts": dict(last.counts),
            "error": last.error,
        }
    return json.dumps(told)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
