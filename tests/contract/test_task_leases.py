"""P26: whatever dies, and wherever, no task is stuck: after a lease and a drain every one has ended.

Workers come and go as a state machine. Each step of a worker (claim, extend, finish, fail, give back) may be its last,
before the step or after it; those who come later know nothing of those before. What was acknowledged is counted
outside: every put is followed by a whole run of its task that began after it, or by its task being dead or cancelled.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from recollect.model import Scope
from recollect.store.ports.queue import ATTEMPTS, TASK_STATES, Task
from recollect.store.sqlite.store import SqliteStore
from tests.contract.samples import ANN, EVE, T0

LEASE = timedelta(seconds=60)
WHO, SUBJECTS = st.sampled_from([ANN, EVE]), st.sampled_from(["chat:1", "chat:1", "chat:2"])
DIES = st.sampled_from([False, False, False, True])


class Queue(RuleBasedStateMachine):
    """A queue in a file, workers that die, and what must be true of it."""

    def __init__(self, store: SqliteStore) -> None:
        super().__init__()
        self.store = store
        with store.database.writing() as connection:
            connection.execute("DELETE FROM tasks")
        self.now = T0
        self.step = 0
        self.held: list[tuple[Task, int]] = []  # what workers believe is theirs, and when they began it
        self.owed: dict[tuple[Scope, str], int] = {}  # the last put of each work that no run was begun and ended after

    def teardown(self) -> None:
        self.drain()

    def tick(self) -> int:
        self.step += 1
        return self.step

    @rule(who=WHO, subject=SUBJECTS, later=st.sampled_from([0, 0, 0, 30]))
    def put(self, who: Scope, subject: str, later: int) -> None:
        due = self.now + timedelta(seconds=later)
        self.store.tasks.put(who, "distill", subject, at=self.now, due_at=due)
        self.owed[who, subject] = self.tick()

    @precondition(lambda self: self.held)
    @rule(at=st.integers(0, 9))
    def put_once_more(self, at: int) -> None:
        """While somebody is at it, or was."""
        task, _ = self.held[at % len(self.held)]
        self.put(task.scope, task.subject, 0)

    @rule(number=st.integers(1, 3), dies=DIES)
    def claim(self, number: int, dies: bool) -> None:
        """One that dies here has the task in the store, and nobody who knows of it."""
        found = self.store.tasks.claim(worker="w", at=self.now, until=self.now + LEASE, limit=number)
        begun = self.tick()
        self.held += [] if dies else [(task, begun) for task in found]

    @precondition(lambda self: self.held)
    @rule(at=st.integers(0, 9), dies=DIES)
    def finish(self, at: int, dies: bool) -> None:
        task, begun = self.held.pop(at % len(self.held))
        if not dies and self.store.tasks.finish(task, at=self.now):
            self.settle(task, begun)

    @precondition(lambda self: self.held)
    @rule(at=st.integers(0, 9), again=st.booleans(), dies=DIES)
    def fail(self, at: int, again: bool, dies: bool) -> None:
        task, _ = self.held.pop(at % len(self.held))
        again_at = self.now + timedelta(seconds=4) if again and task.attempts < ATTEMPTS else None
        if not dies:
            self.store.tasks.fail(task, at=self.now, error="ValueError", again_at=again_at)

    @precondition(lambda self: self.held)
    @rule(at=st.integers(0, 9), keeps=st.booleans())
    def extend_or_give_back(self, at: int, keeps: bool) -> None:
        if keeps:
            self.store.tasks.extend(self.held[at % len(self.held)][0], until=self.now + LEASE)
        else:
            self.store.tasks.release(self.held.pop(at % len(self.held))[0], at=self.now)

    @rule(seconds=st.sampled_from([1, 20, 61, 400]), killed=DIES)
    def time_passes(self, seconds: int, killed: bool) -> None:
        """All the workers may be killed meanwhile."""
        self.now += timedelta(seconds=seconds)
        if killed:
            self.held.clear()

    @rule(who=WHO, at=st.integers(0, 9), again=st.booleans())
    def somebody_decides(self, who: Scope, at: int, again: bool) -> None:
        tasks = self.store.tasks.find(who, limit=99)
        if tasks:
            task = tasks[at % len(tasks)]
            if again and task.state in ("dead", "cancelled"):
                live = [one for one in tasks if one.state in ("waiting", "running") and one.subject == task.subject]
                if not live:
                    self.store.tasks.requeue(who, task.id, at=self.now)
                    self.owed[who, task.subject] = self.tick()
            elif not again and task.state in ("waiting", "running"):
                self.store.tasks.cancel(who, task.id, at=self.now)
                self.owed.pop((who, task.subject), None)

    @invariant()
    def nothing_is_odd(self) -> None:
        tasks = self.store.tasks.everywhere(limit=999)
        live = [(task.scope, task.subject) for task in tasks if task.state in ("waiting", "running")]
        assert len(live) == len(set(live)), "one of each work at a time"
        assert all(task.state in TASK_STATES and 0 <= task.attempts <= ATTEMPTS for task in tasks)
        owed = {work for work in self.owed if work not in live}
        dead = {(task.scope, task.subject) for task in tasks if task.state == "dead"}
        assert owed <= dead, "what was acknowledged waits, runs or is dead for everybody to see"

    def settle(self, task: Task, begun: int) -> None:
        """A run that ended pays for every put before it began."""
        if self.owed.get((task.scope, task.subject), begun) < begun:
            del self.owed[task.scope, task.subject]

    def drain(self) -> None:
        """All are dead; a worker with an empty memory comes when the leases are over."""
        self.now += LEASE + timedelta(minutes=10)
        while found := self.store.tasks.claim(worker="new", at=self.now, until=self.now + LEASE, limit=9):
            begun = self.tick()
            for task in found:
                assert self.store.tasks.finish(task, at=self.now)
                self.settle(task, begun)
        left = [task.state for task in self.store.tasks.everywhere(limit=999) if task.state in ("waiting", "running")]
        assert left == []
        dead = {(task.scope, task.subject) for task in self.store.tasks.everywhere(state="dead", limit=999)}
        assert set(self.owed) <= dead


def test_no_task_is_stuck_whoever_dies_and_wherever(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    store.database._writer.pragma("synchronous", "off")  # what is lost with the power is another test's
    how = settings(max_examples=120, stateful_step_count=50, deadline=None)
    run_state_machine_as_test(lambda: Queue(store), settings=how)  # type: ignore[arg-type]
    store.close()
