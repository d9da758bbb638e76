"""Work in the background: done by its kind, tried again, dead in the end; no caller fails for it (P25, P47, S4.10)."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from recollect import Recollect, Scope
from recollect.errors import StoreUnavailable
from recollect.model import Gist
from recollect.models.tiny import TinyEmbedder
from recollect.pipeline import embedding
from recollect.pipeline import tasks as module
from recollect.pipeline.distilling import Distilled
from recollect.pipeline.tasks import LEASE, Done, TaskWorker, again_after
from recollect.recall.meaning import Meaning
from recollect.settings import Settings
from recollect.store.opening import open_store
from recollect.store.port import Store
from recollect.store.ports.queue import ATTEMPTS
from tests.contract.samples import event
from tests.flow.memory_fixture import HandClock

ANN, EVE = Scope("acme", "ann"), Scope("other", "eve")


class Bench:
    """A store that is worked through, by a clock that is moved by hand."""

    def __init__(self, settings: Settings, clock: HandClock) -> None:
        self.settings, self.clock = settings, clock
        self.store: Store = open_store(settings, queued=True)
        database: Any = self.store.database  # type: ignore[attr-defined]
        database.terms = replace(database.terms, clock=clock)
        self.meaning = Meaning(self.store, settings, TinyEmbedder())
        self.done: list[Done] = []
        self.workers: list[TaskWorker] = []

    def memory(self, scope: Scope = ANN) -> Recollect:
        return Recollect(self.store, scope, self.settings, clock=self.clock, hosted=True, meaning=self.meaning)

    def worker(self, memory_of: Callable[[Scope], Any] | None = None, **how: Any) -> TaskWorker:
        given: dict[str, Any] = {"embeds": False, "on_done": self.done.append, **how}
        made = TaskWorker(self.store, memory_of or self.memory, self.settings, self.clock, **given)
        self.workers.append(made)
        return made

    def put(self, *sessions: str, scope: Scope = ANN) -> None:
        """To distill these sessions, in each of which something was said, and nothing else."""
        database: Any = self.store.database  # type: ignore[attr-defined]
        before, database.terms = database.terms, replace(database.terms, queued=False)
        self.store.sessions.append(scope, [event(session, 0, "hello") for session in sessions])
        database.terms = before
        for session in sessions:
            self.store.tasks.put(scope, "distill", session, at=self.clock())

    def states(self) -> Counter[str]:
        return Counter(task.state for task in self.store.tasks.everywhere(limit=5_000))


@pytest.fixture
def bench(tmp_path: Path, clock: HandClock) -> Iterator[Bench]:
    made = Bench(Settings(data_dir=tmp_path / "data", tenant="acme", user="ann"), clock)
    yield made
    for worker in made.workers:
        worker.stop(1)
    made.store.close()


class Fake:
    """A memory whose work is what the test says, whatever session it is."""

    def __init__(self, act: Callable[[str], None] = lambda session: None) -> None:
        self._act = act

    def distill(self, sessions: Iterable[str] | None = None) -> Distilled:
        (session,) = sessions or ()
        self._act(session)
        return Distilled(sessions=1)

    def summarize(self, session: str) -> Gist | None:
        return None

    def embed_pending(self, progress: Any = None, stop: Any = None) -> int:
        return 0


def wait_until(true: Callable[[], object], seconds: float = 10) -> None:
    until = monotonic() + seconds
    while not true():
        assert monotonic() < until, "it did not come about"
        sleep(0.01)


# -- what the kinds do -------------------------------------------------------------------------------------------------


def test_what_is_recorded_becomes_a_memory_without_a_call_waiting_for_it(bench: Bench) -> None:
    memory = bench.memory()
    memory.record("chat:1", "user", "We decided to use PostgreSQL for billing because of row-level security.")
    assert memory.memories() == []
    assert bench.worker().run_due() == {"done": 1, "later": 1}
    assert [found.content for found in memory.memories()] != []
    assert {(done.kind, done.outcome, done.tenant) for done in bench.done} == {
        ("distill", "done", "acme"),
        ("gist", "later", "acme"),
    }


def test_a_gist_is_made_when_enough_was_said_or_after_a_while(bench: Bench) -> None:
    memory = bench.memory()
    memory.record_many([("chat:long", "user", f"The tide was high on day {day}.") for day in range(8)])
    memory.record("chat:short", "user", "The harbour is closed on Sunday.")
    bench.worker().run_due()
    assert memory.gist("chat:long") is not None
    assert memory.gist("chat:short") is None
    assert bench.store.tasks.backlog(at=bench.clock()).later == 1
    bench.clock.move(minutes=31)
    bench.worker().run_due()
    assert memory.gist("chat:short") is not None
    assert bench.states() == {"done": 4}


def test_where_distilling_is_off_its_task_is_done_and_makes_nothing(tmp_path: Path, clock: HandClock) -> None:
    bench = Bench(Settings(data_dir=tmp_path / "off", distill=False), clock)
    memory = bench.memory()
    memory.record("chat:1", "user", "We decided to use PostgreSQL for billing because of row-level security.")
    assert bench.worker().run_due()["done"] == 1
    assert memory.memories() == []
    bench.store.close()


@pytest.mark.parametrize("when", ["before", "while"])
def test_work_for_a_session_that_was_forgotten_ends(bench: Bench, when: str) -> None:
    memory = bench.memory()
    memory.record("chat:1", "user", "hello")
    if when == "before":
        task = bench.store.tasks.find(ANN, kind="distill", limit=1)[0]
        memory.forget(session="chat:1")
        bench.store.tasks.put(ANN, "distill", task.subject, at=bench.clock())
        bench.store.tasks.put(ANN, "gist", task.subject, at=bench.clock())
        assert bench.worker().run_due() == {"done": 2}
        return

    def forget(session: str) -> None:
        memory.forget(session=session)

    assert bench.worker(lambda scope: Fake(forget)).run_due() == {"lost": 1}
    assert bench.states() == {}


def test_vectors_that_wait_are_made_without_a_task(bench: Bench) -> None:
    memory = bench.memory()
    memory.remember("The tide tables are in the harbour office.")
    bench.memory(EVE).remember("Lighthouse keepers work at night.")
    bench.worker(embeds=True).run_due()
    assert bench.store.vectors.pending() == 0
    bench.memory().remember("The ferry leaves at noon.")
    bench.store.tasks.put(ANN, "embed", at=bench.clock())
    bench.worker().run_due()
    assert bench.store.vectors.pending() == 0


# -- failing -----------------------------------------------------------------------------------------------------------


def drained(bench: Bench, worker: TaskWorker) -> list[float]:
    """Everything done, the clock moved to whatever is due next; returns the pauses there were."""
    pauses: list[float] = []
    while True:
        worker.run_due()
        waiting = [task.due_at for task in bench.store.tasks.everywhere(state="waiting", limit=5_000) if task.due_at]
        if not waiting:
            return pauses
        pauses.append((min(waiting) - bench.clock()).total_seconds())
        bench.clock.now = min(waiting)


def test_one_bad_task_in_a_thousand_costs_itself_alone(bench: Bench) -> None:
    """P25."""
    names = [f"chat:{number}" for number in range(1_000)]
    bench.put(*names[::2])
    bench.put(*names[1::2], scope=EVE)
    tried: Counter[str] = Counter()
    bad = True

    def act(session: str) -> None:
        tried[session] += 1
        if session == "chat:500" and bad:
            raise ValueError("the secret words of the session")

    worker = bench.worker(lambda scope: Fake(act))
    pauses = drained(bench, worker)
    assert bench.states() == {"done": 999, "dead": 1}
    assert tried == {f"chat:{number}": ATTEMPTS if number == 500 else 1 for number in range(1_000)}
    assert pauses == [again_after(number).total_seconds() for number in range(1, ATTEMPTS)]
    (dead,) = bench.store.tasks.everywhere(state="dead", limit=9)
    assert (dead.attempts, dead.error, dead.subject) == (ATTEMPTS, "ValueError", "chat:500")
    bad = False
    bench.store.tasks.requeue(dead.scope, dead.id, at=bench.clock())
    worker.run_due()
    assert bench.states() == {"done": 1_000}


def test_a_failure_tells_its_kind_and_nothing_of_the_content(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = bench.memory()
    memory.record("chat:1", "user", "my password is canary-4711")

    def broken(*args: object, **kwargs: object) -> None:
        raise KeyError("canary-4711")

    monkeypatch.setattr("recollect.pipeline.distilling.distill", broken)
    with caplog.at_level(logging.DEBUG):
        assert bench.worker().run_due()["failed"] == 1
    (failed,) = bench.store.tasks.find(ANN, kind="distill", limit=9)
    assert failed.error == "TaskFailed: it cannot be distilled: KeyError"
    assert "canary" not in caplog.text


def test_pauses_grow_and_end_at_five_minutes() -> None:
    assert [again_after(number).total_seconds() for number in (1, 2, 3, 4, 5, 99)] == [4, 16, 64, 256, 300, 300]


def test_somebody_else_at_the_same_session_puts_it_off_without_an_attempt(bench: Bench) -> None:
    class Busy(Fake):
        def distill(self, sessions: Iterable[str] | None = None) -> Distilled:
            return Distilled()

    bench.put("chat:1")
    assert bench.worker(lambda scope: Busy()).run_due() == {"later": 1}
    (task,) = bench.store.tasks.find(ANN, limit=9)
    assert (task.state, task.attempts, task.due_at) == ("waiting", 0, bench.clock() + module.SOON)


def test_a_store_that_cannot_be_reached_for_a_while_does_not_end_the_worker(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOOK", 0.01)
    away, real, asked = threading.Event(), bench.store.tasks.claim, threading.Event()
    away.set()

    def claim(**how: Any) -> Any:
        if away.is_set():
            asked.set()
            raise StoreUnavailable("the database is away")
        return real(**how)

    monkeypatch.setattr(bench.store.tasks, "claim", claim)
    bench.worker(lambda scope: Fake()).start()
    assert asked.wait(5)
    bench.put("chat:1")
    away.clear()
    wait_until(lambda: bench.states() == {"done": 1})


def test_what_cannot_be_counted_is_done_all_the_same(bench: Bench) -> None:
    def on_done(done: Done) -> None:
        raise RuntimeError

    bench.put("chat:1")
    assert bench.worker(lambda scope: Fake(), on_done=on_done).run_due() == {"done": 1}


# -- many --------------------------------------------------------------------------------------------------------------


def test_a_tenant_with_a_thousand_tasks_puts_another_off_by_one_task(bench: Bench) -> None:
    """P47."""
    bench.put(*(f"chat:{number}" for number in range(1_000)))
    order: list[str] = []

    def act(session: str) -> None:
        order.append(session)
        if len(order) in (10, 20, 21):
            bench.put(f"eve:{len(order)}", scope=EVE)
        if len(order) == 30:
            worker._stopping.set()

    worker = bench.worker(lambda scope: Fake(act))
    worker.run_due()
    waits = {name: at - int(name.partition(":")[2]) for at, name in enumerate(order, 1) if name.startswith("eve:")}
    assert waits == {"eve:10": 1, "eve:20": 1, "eve:21": 2}


def test_a_task_is_kept_while_it_runs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_HEARTBEAT", 0.02)
    begun, end = threading.Event(), threading.Event()

    def act(session: str) -> None:
        begun.set()
        end.wait(10)

    bench.put("chat:1")
    bench.worker(lambda scope: Fake(act)).start()
    assert begun.wait(5)
    (task,) = bench.store.tasks.find(ANN, limit=1)
    for _ in range(3):  # longer than the lease, in steps shorter than it
        bench.clock.move(seconds=40)
        wait_until(lambda: bench.store.tasks.find(ANN, limit=1)[0].leased_until == bench.clock() + LEASE)
    assert bench.store.tasks.claim(worker="other", at=bench.clock(), until=bench.clock() + LEASE) == []
    end.set()
    wait_until(lambda: bench.states() == {"done": 1})
    assert task.attempts == 1


@pytest.mark.timed
def test_stopping_gives_back_what_does_not_end_in_time(bench: Bench) -> None:
    begun, end = threading.Event(), threading.Event()

    def act(session: str) -> None:
        begun.set()
        end.wait(20)

    bench.put("chat:1", "chat:2", "chat:3")
    worker = bench.worker(lambda scope: Fake(act))
    worker.start()
    assert begun.wait(5)
    since = monotonic()
    worker.stop(0.3)
    assert monotonic() - since < 2
    assert bench.states() == {"waiting": 3}
    assert {task.attempts for task in bench.store.tasks.find(ANN, limit=9)} == {0}
    other = bench.worker(lambda scope: Fake())
    assert other.run_due() == {"done": 3}
    end.set()
    wait_until(lambda: [done.outcome for done in bench.done].count("lost") == 1)
    assert bench.states() == {"done": 3}


def test_stopping_lets_what_is_nearly_done_end(bench: Bench) -> None:
    begun = threading.Event()

    def act(session: str) -> None:
        begun.set()
        sleep(0.2)

    bench.put("chat:1", "chat:2", "chat:3")
    worker = bench.worker(lambda scope: Fake(act))
    worker.start()
    assert begun.wait(5)
    worker.stop()
    assert bench.states() == {"done": 1, "waiting": 2}


def test_a_cancelled_task_counts_for_nothing_when_it_ends(bench: Bench) -> None:
    def act(session: str) -> None:
        (task,) = bench.store.tasks.find(ANN, limit=1)
        bench.store.tasks.cancel(ANN, task.id, at=bench.clock())

    bench.put("chat:1")
    assert bench.worker(lambda scope: Fake(act)).run_due() == {"lost": 1}
    assert bench.states() == {"cancelled": 1}


def test_what_is_done_can_be_looked_at_for_a_day(bench: Bench) -> None:
    bench.store.tasks.put(ANN, "flood", at=bench.clock())
    bench.store.answers.begin(ANN, "k", "f", at=bench.clock(), until=bench.clock() + timedelta(days=1))
    bench.worker().run_due()
    assert bench.states() == {"done": 1}
    bench.clock.move(hours=25)
    bench.worker().run_due()
    assert bench.states() == {}
    assert bench.store.answers.tidy(before=bench.clock()) == 0, "they were dropped with it"


class Embedding(Fake):
    """Makes vectors as a memory does, and tells of each batch."""

    def __init__(self, bench: Bench, heard: list[str], act: Callable[[int], None]) -> None:
        super().__init__(lambda session: heard.append("task"))
        self._bench, self._heard, self._each = bench, heard, act

    def embed_pending(self, progress: Any = None, stop: Any = None) -> int:
        def told(count: int) -> None:
            self._heard.append("batch")
            self._each(len(self._heard))

        return embedding.embed_waiting(self._bench.store, TinyEmbedder(), stop=stop, progress=told)


def test_an_import_that_waits_for_vectors_lets_tasks_have_their_turn(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P47: one thread, however many texts wait."""
    monkeypatch.setattr(embedding, "BATCH", 2)
    monkeypatch.setattr(module, "_SLICE", 0.0)
    for number in range(8):
        bench.memory().remember(f"The tide table of day {number} is in drawer {number}.")
    bench.store.tasks.claim(worker="w", at=bench.clock() + LEASE, until=bench.clock() + 2 * LEASE, limit=9)
    heard: list[str] = []
    made = Embedding(bench, heard, lambda count: bench.put("chat:1") if count == 1 else None)
    assert bench.worker(lambda scope: made, embeds=True).run_due() == {"done": 1}
    assert heard == ["batch", "task", *["batch"] * 4], "what was said in the session waits for a vector, too"
    assert bench.store.vectors.pending() == 0


def test_slices_of_an_import_follow_each_other_without_a_pause(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "BATCH", 2)
    monkeypatch.setattr(module, "_SLICE", 0.0)
    for number in range(20):
        bench.memory().remember(f"The tide table of day {number} is in drawer {number}.")
    bench.store.tasks.claim(worker="w", at=bench.clock() + LEASE, until=bench.clock() + 2 * LEASE, limit=9)
    monkeypatch.setattr(module, "_LOOK", 60.0)
    bench.worker(embeds=True).start()
    wait_until(lambda: bench.store.vectors.pending() == 0)


def test_an_embedder_that_fails_in_any_way_leaves_tasks_to_be_done(bench: Bench) -> None:
    def broken(count: int) -> None:
        raise ZeroDivisionError

    bench.memory().remember("The ferry leaves at noon.")
    bench.store.tasks.claim(worker="w", at=bench.clock() + LEASE, until=bench.clock() + 2 * LEASE, limit=9)
    bench.put("chat:1")
    made = Embedding(bench, [], broken)
    assert bench.worker(lambda scope: made, embeds=True).run_due() == {"done": 1}


def test_a_worker_does_not_run_through_a_queue_that_others_are_at(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One waits for a model that is slow: the others look again now and then, and do what they can meanwhile."""
    monkeypatch.setattr(module, "_LOOK", 0.5)
    tried: Counter[str] = Counter()

    class Busy(Fake):
        def distill(self, sessions: Iterable[str] | None = None) -> Distilled:
            tried["ann"] += 1
            return Distilled()

    bench.put(*(f"chat:{number}" for number in range(300)))
    bench.worker(lambda scope: Busy() if scope == ANN else Fake()).start()
    sleep(0.8)
    bench.put(*(f"eve:{number}" for number in range(10)), scope=EVE)
    wait_until(lambda: bench.states()["done"] == 10)
    assert tried["ann"] < 20
