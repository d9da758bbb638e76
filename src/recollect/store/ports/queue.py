"""What a store keeps of work that is done later, and of requests that were answered: two ports and their values.

`Tasks` is the queue: whoever writes puts a task, whoever has time claims it for a while. `Answers` is how a request
that is sent twice is done once. Like every port they begin with a scope; only those who do the work look at all owners.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, Protocol

from recollect.model import Scope

# distill: memories of a session; gist: its summary; embed: vectors that wait; flood: put away what says the same again.
TASK_KINDS = ("distill", "gist", "embed", "flood", "consolidate")
TASK_STATES = ("waiting", "running", "done", "dead", "cancelled")
ATTEMPTS = 5  # how often a task is begun before it is dead
ANSWERING = timedelta(minutes=2)  # a request that is not answered by then died: the next of the same key is let in
PLAIN = "plain:"  # a fingerprint that begins so is of a request whose answer quotes nothing that can be forgotten


@dataclass(frozen=True, slots=True)
class Task:
    """Something to be done for an owner. One that is not ended is the only one of its kind and subject.

    `due_at` is when it may be begun; while it runs, `leased_until` is when it may be begun by somebody else. `claim`
    tells one claim from every other: whoever lost a task cannot end it any more. `error` holds types and our own words,
    never content.
    """

    id: str
    scope: Scope
    kind: str
    subject: str = ""  # the session it is about, if it is about one
    state: str = "waiting"
    attempts: int = 0
    due_at: datetime | None = None
    leased_until: datetime | None = None
    worker: str | None = None
    error: str | None = None
    made_at: datetime | None = None
    ended_at: datetime | None = None
    claim: int = 0


@dataclass(frozen=True, slots=True)
class Backlog:
    """The whole queue in figures: what is due and waits, what runs, what is due later, what is dead.

    `oldest_seconds` is how long the oldest has been due without being begun, or without its worker being heard of.
    """

    waiting: int = 0
    running: int = 0
    dead: int = 0
    oldest_seconds: float = 0.0
    by_kind: Mapping[str, int] = field(default_factory=dict)  # what waits, by its kind
    later: int = 0


@dataclass(frozen=True, slots=True)
class Answered:
    """A request of this key was there before: it is still running, it was answered, or it was another request."""

    state: Literal["running", "done", "other"]
    status: int = 0
    body: bytes = b""


class Tasks(Protocol):
    """Work that is to be done: put once, claimed by one at a time, tried again, dead in the end or done."""

    def put(self, scope: Scope, kind: str, subject: str = "", *, at: datetime, due_at: datetime | None = None) -> str:
        """The task of this kind and subject: a new one, or the one that waits; one that runs is done once more."""
        ...

    def claim(
        self, *, worker: str, at: datetime, until: datetime, kinds: Sequence[str] = (), limit: int = 1
    ) -> list[Task]:
        """Take tasks that are due, whosever they are: first those of the tenant that was served longest ago."""
        ...

    def extend(self, task: Task, *, until: datetime) -> bool:
        """Keep a claimed task for longer; False when it is not the caller's any more."""
        ...

    def finish(self, task: Task, *, at: datetime) -> bool:
        """It is done; False when it is not the caller's any more."""
        ...

    def fail(self, task: Task, *, at: datetime, error: str, again_at: datetime | None) -> bool:
        """It failed, and is to be tried again then; None: never, it is dead. False when it is not the caller's."""
        ...

    def release(self, task: Task, *, at: datetime, due_at: datetime | None = None) -> bool:
        """Give a claimed task back as if it had not been begun; False when it is not the caller's any more."""
        ...

    def find(
        self, scope: Scope, *, state: str | None = None, kind: str | None = None, limit: int, offset: int = 0
    ) -> list[Task]:
        """The owner's tasks, the newest first."""
        ...

    def get(self, scope: Scope, task_id: str) -> Task | None: ...
    def latest(self, scope: Scope, kind: str, subject: str) -> Task | None:
        """The owner's task of this kind and subject that is not ended, or else the newest that is."""
        ...

    def cancel(self, scope: Scope, task_id: str, *, at: datetime) -> Task:
        """It is not to be done (any more); NotFound, or Conflict when it is done already."""
        ...

    def requeue(self, scope: Scope, task_id: str, *, at: datetime) -> Task:
        """It is to be done (again) now, with all its attempts; NotFound, or Conflict when the same waits already."""
        ...

    def everywhere(self, *, state: str | None = None, limit: int) -> list[Task]:
        """Every owner's tasks, the newest first: for whoever looks after the store."""
        ...

    def backlog(self, *, at: datetime) -> Backlog: ...
    def tidy(self, *, before: datetime) -> int:
        """Drop what was done or cancelled before; what is dead stays until somebody has looked at it."""
        ...


class Answers(Protocol):
    """What requests with a key of their own were answered."""

    def begin(self, scope: Scope, key: str, fingerprint: str, *, at: datetime, until: datetime) -> Answered | None:
        """None: it is the caller's to do, and then to `finish` or `drop`; the answer is kept until then.

        The fingerprint is of the request: the same key with another one is "other". Forgetting takes the answers away,
        and none that is begun by then is kept; one whose fingerprint begins with PLAIN quotes nothing, and stays.
        """
        ...

    def finish(self, scope: Scope, key: str, *, status: int, body: bytes, at: datetime) -> None: ...
    def drop(self, scope: Scope, key: str) -> None:
        """It was not done: whoever sends it again does it."""
        ...

    def tidy(self, *, before: datetime) -> int:
        """Drop the answers that were to be kept until before then."""
        ...
