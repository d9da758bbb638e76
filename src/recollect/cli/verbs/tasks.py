"""`recollect tasks`: what is to be done in the background, what became of it, and to take one back or do it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.opening import find_place, open_place
from recollect.cli.values import whole
from recollect.clock import age_label, now
from recollect.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.store.port import Store
    from recollect.store.ports.queue import Task

_STATES = ("waiting", "running", "done", "dead", "cancelled")


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=("list", "cancel", "requeue"), default="list", help="default: list"
    )
    parser.add_argument("id", nargs="?", metavar="ID", help="cancel, requeue: the task, or enough of its end")
    parser.add_argument("--state", choices=_STATES, help="list: only these; dead ones say why")
    parser.add_argument("--everyone", action="store_true", help="the tasks of every user of the store")
    parser.add_argument("--limit", type=whole, default=50, metavar="N", help="list: how many (default: 50)")


def run(args: Namespace, console: Output) -> int:
    if (args.action == "list") != (args.id is None):
        raise InvalidInput(f"tasks {args.action} takes {'no' if args.action == 'list' else 'the'} id of a task")
    if not 1 <= args.limit <= 1_000:
        raise InvalidInput("--limit is 1 to 1,000")
    place = find_place(args, everywhere=True)
    with open_place(place) as memory:
        store = memory.store
        if args.action == "list":
            found = _found(store, args, place.scope)
            return _list(store, found, args, console)
        task = _one(store, args, place.scope)
        change = store.tasks.cancel if args.action == "cancel" else store.tasks.requeue
        task = change(task.scope, task.id, at=now())
    if console.json:
        console.document(_plain(task))
    else:
        console.line(f"Task {task.id} ({task.kind}) is {task.state} now.")
    return 0


def _found(store: Store, args: Namespace, scope: Any) -> list[Task]:
    if args.everyone:
        return store.tasks.everywhere(state=args.state, limit=args.limit)
    return store.tasks.find(scope, state=args.state, limit=args.limit)


def _one(store: Store, args: Namespace, scope: Any) -> Task:
    """The task of this id; the last digits are enough when only one of the newest ends so."""
    whole_id = None if args.everyone else store.tasks.get(scope, args.id)
    if whole_id is not None:
        return whole_id
    args.state, args.limit = None, 1_000
    alike = [task for task in _found(store, args, scope) if len(args.id) >= 4 and task.id.endswith(args.id.lower())]
    if len(alike) != 1:
        raise NotFound(
            f"{'no' if not alike else 'more than one'} task {args.id[:60]}", hint="`recollect tasks` lists them."
        )
    return alike[0]


def _list(store: Store, found: list[Task], args: Namespace, console: Output) -> int:
    at = now()
    if console.json:
        console.document({"tasks": [_plain(task) for task in found], "backlog": store.tasks.backlog(at=at)})
        return 0
    if not found:
        console.note("There are no such tasks." if args.state else "There are no tasks.")
        return 0
    whose = ("user",) if args.everyone else ()
    rows = [
        (
            task.id,
            *((f"{task.scope.tenant}/{task.scope.user}",) if args.everyone else ()),
            task.kind,
            task.state,
            str(task.attempts),
            _when(task, at),
            task.error or task.subject,
        )
        for task in found
    ]
    console.table(("id", *whose, "task", "state", "tries", "when", "about, or why it failed"), rows)
    return 0


def _when(task: Task, at: Any) -> str:
    if task.ended_at is not None:
        return age_label(task.ended_at, at)
    if task.state == "waiting" and task.due_at is not None and task.due_at > at:
        return f"due {task.due_at:%m-%d %H:%M:%S} UTC"
    return age_label(task.made_at or at, at)


def _plain(task: Task) -> dict[str, Any]:
    return {
        "id": task.id,
        "tenant": task.scope.tenant,
        "user": task.scope.user,
        "kind": task.kind,
        "subject": task.subject,
        "state": task.state,
        "attempts": task.attempts,
        "due_at": task.due_at,
        "leased_until": task.leased_until,
        "worker": task.worker,
        "error": task.error,
        "made_at": task.made_at,
        "ended_at": task.ended_at,
    }
