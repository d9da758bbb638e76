"""The routes that tell of work in the background: what waits, runs or failed; cancelling it, and doing it again."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from recollect.errors import NotFound
from recollect.http.answering import Router
from recollect.http.routes import paging
from recollect.http.routes.changing import WhoseQuery
from recollect.http.routes.common import Who, opened
from recollect.http.schemas.asking import ListedTasks
from recollect.http.schemas.tasks import TaskPage, TaskRecord
from recollect.http.schemas.values import MemoryId

TaskPath = Annotated[MemoryId, Path(description="The id of a task.")]


def router() -> Router:
    """Tasks of the key's user."""
    routes = Router(tags=["tasks"])
    routes.get("/tasks")(list_tasks)
    routes.get("/tasks/{task_id}")(get_task)
    routes.post("/tasks/{task_id}/cancel")(cancel_task)
    routes.post("/tasks/{task_id}/requeue")(requeue_task)
    return routes


def list_tasks(asked: Annotated[ListedTasks, Query()], who: Who) -> TaskPage:
    """Tasks, the newest first."""
    memory = opened(who, asked)
    about = ["tasks", asked.state]
    place = paging.read(asked.cursor, memory.scope, about)
    page, after = paging.tasks(memory, asked.limit, place, asked.state)
    cursor = None if after is None else paging.write(after, memory.scope, about)
    return TaskPage(tasks=[TaskRecord.of(one) for one in page], next_cursor=cursor)


def get_task(task_id: TaskPath, whose: WhoseQuery, who: Who) -> TaskRecord:
    """One task."""
    memory = opened(who, whose)
    found = memory.store.tasks.get(memory.scope, str(task_id))
    if found is None:
        raise NotFound("no such task", hint="What is done is dropped after a day.")
    return TaskRecord.of(found)


def cancel_task(task_id: TaskPath, whose: WhoseQuery, who: Who) -> TaskRecord:
    """It is not to be done any more."""
    memory = opened(who, whose)
    return TaskRecord.of(memory.store.tasks.cancel(memory.scope, str(task_id), at=who.clock()))


def requeue_task(task_id: TaskPath, whose: WhoseQuery, who: Who) -> TaskRecord:
    """It is to be done again, now; for what is dead or was cancelled."""
    memory = opened(who, whose)
    found = memory.store.tasks.requeue(memory.scope, str(task_id), at=who.clock())
    who.serving.ring()
    return TaskRecord.of(found)
