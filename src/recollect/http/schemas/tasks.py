"""Work in the background as it is told over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Self

from recollect.http.schemas.values import Told
from recollect.store.ports.queue import Task

TaskState = Literal["waiting", "running", "done", "dead", "cancelled"]


class TaskRecord(Told):
    """Something that is done in the background."""

    id: str
    kind: str
    """`distill`: memories of a session; `gist`: its summary; `embed`: vectors; `flood`: what says the same again."""
    subject: str
    """The session it is about, or nothing."""
    state: TaskState
    """`dead`: it failed every time; `error` says how."""
    attempts: int
    error: str | None = None
    made_at: datetime | None = None
    due_at: datetime | None = None
    """When it may be begun (again)."""
    leased_until: datetime | None = None
    """While it runs: when another worker may take it."""
    ended_at: datetime | None = None

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls(**{name: getattr(task, name) for name in cls.model_fields})


class TaskPage(Told):
    """One page of tasks, the newest first."""

    tasks: list[TaskRecord]
    next_cursor: str | None = None
