"""`recollect worker` and `recollect tasks`, as people and supervisors run them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.clock import now
from recollect.model import Scope
from recollect.settings import Settings
from recollect.store.opening import open_store
from recollect.store.port import Store
from tests.contract.samples import talk

ANN, EVE = Scope("acme", "ann"), Scope("other", "eve")
DECIDED = "We decided to use PostgreSQL for billing because of row-level security."
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    made = open_store(Settings(data_dir=folder), queued=True)
    yield made
    made.close()


@pytest.fixture
def recollect(folder: Path) -> Run:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "recollect", *words, "--data-dir", str(folder)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    return run


def told(run: Run, *words: str) -> Any:
    done = run(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_once_does_what_is_due_for_every_user_and_ends(store: Store, recollect: Run) -> None:
    for who in (ANN, EVE):
        store.sessions.append(who, talk("chat:1", DECIDED))
    found = told(recollect, "worker", "--once")
    assert found["tasks"] == {"done": 2, "later": 2}
    assert (found["backlog"]["waiting"], found["backlog"]["running"], found["backlog"]["dead"]) == (0, 0, 0)
    for who in (ANN, EVE):
        assert store.memories.of_session(who, "chat:1")
    again = recollect("worker", "--once")
    assert again.returncode == 0
    assert "none was due" in again.stdout


def test_tasks_are_listed_cancelled_and_put_back(store: Store, recollect: Run) -> None:
    store.sessions.append(ANN, talk("chat:1", DECIDED))
    store.sessions.append(EVE, talk("chat:9", DECIDED))
    as_ann = ("--tenant", "acme", "--user", "ann")
    listed = told(recollect, "tasks", *as_ann)
    assert [(task["kind"], task["state"], task["subject"]) for task in listed["tasks"]] == [
        ("gist", "waiting", "chat:1"),
        ("distill", "waiting", "chat:1"),
    ]
    assert listed["backlog"]["waiting"] == 4
    distill = listed["tasks"][1]["id"]
    assert told(recollect, "tasks", "cancel", distill, *as_ann)["state"] == "cancelled"
    assert [task["id"] for task in told(recollect, "tasks", "--state", "cancelled", *as_ann)["tasks"]] == [distill]
    assert told(recollect, "tasks", "requeue", distill[-8:], *as_ann)["state"] == "waiting"
    everyone = told(recollect, "tasks", "--everyone")["tasks"]
    assert {(task["tenant"], task["user"]) for task in everyone} == {("acme", "ann"), ("other", "eve")}
    shown = recollect("tasks", "--everyone").stdout
    assert "other/eve" in shown
    assert distill in shown


def test_a_dead_task_says_why_and_can_be_done_again(store: Store, recollect: Run) -> None:
    task_id = store.tasks.put(ANN, "distill", "chat:1", at=now())
    (task,) = store.tasks.claim(worker="w", at=now(), until=now())
    store.tasks.fail(task, at=now(), error="TaskFailed: it cannot be distilled: KeyError", again_at=None)
    shown = recollect("tasks", "--state", "dead", "--everyone")
    assert "it cannot be distilled: KeyError" in shown.stdout
    assert "1 dead" in recollect("worker", "--once").stdout
    assert told(recollect, "tasks", "requeue", task_id, "--everyone")["state"] == "waiting"
    assert told(recollect, "worker", "--once")["tasks"] == {"done": 1}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("cancel",), "the id of a task"),
        (("list", "x"), "no id of a task"),
        (("cancel", "nothing-like-this"), "no task nothing-like-this"),
        (("--state", "odd"), "invalid choice"),
        (("--limit", "0"), "--limit"),
    ],
)
def test_what_makes_no_sense_is_said(recollect: Run, words: tuple[str, ...], said: str) -> None:
    done = recollect("tasks", *words)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.timed
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_it_works_until_it_is_told_to_end_and_ends_within_seconds(
    store: Store, folder: Path, number: signal.Signals
) -> None:
    command = [sys.executable, "-m", "recollect", "worker", "--json", "--data-dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        ready = json.loads(worker.stdout.readline())
        assert ready["pid"] == worker.pid
        store.sessions.append(ANN, talk("chat:1", DECIDED))
        until = time.monotonic() + 20
        while not store.memories.of_session(ANN, "chat:1"):
            assert time.monotonic() < until, "nothing was done"
            time.sleep(0.05)
        os.kill(worker.pid, number)
        since = time.monotonic()
        _, said = worker.communicate(timeout=20)
        assert time.monotonic() - since < 5
    assert worker.returncode == 0, said
    assert store.tasks.backlog(at=now()).running == 0
