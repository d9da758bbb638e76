"""A worker's health is whether its work gets done: its check in compose fails while something is stuck, not before."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recollect.bus.connecting import connect
from recollect.bus.consumer import Consumer
from recollect.bus.stream import Stream
from recollect.cli.workerhealth import WorkerHealth
from recollect.metrics import Figures, Listener, Metrics
from recollect.settings import Settings, load
from tests.bus.conftest import event, until
from tests.bus.test_forged_events import SECRETS, signed, write
from tests.ops.files import OPS
from tests.services.shared import free_port

LATE = 300.0


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def asked(port: int, path: str = "/health") -> tuple[int, dict[str, Any]]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read() or b"{}")


def health_of(figures: Figures, clock: Hand) -> WorkerHealth:
    metrics = Metrics(clock=clock)
    metrics.watch("queue", lambda: figures, every=0.0)
    return WorkerHealth(metrics, replace(Settings(), health_stuck_seconds=LATE), clock=clock)


def queue(oldest: float = 0.0, dead: int = 0) -> dict[str, float]:
    return {"queue_oldest_seconds": oldest, "queue_dead": dead, "queue_running": 0}


def test_a_worker_with_nothing_to_do_is_well() -> None:
    clock = Hand()
    health = health_of(queue(), clock)
    clock.now += 10 * LATE
    well, told = health.tell()
    assert (well, told["status"], told["role"]) == (True, "ok", "worker")


def test_work_that_is_due_for_long_is_stuck_unless_some_of_it_ends() -> None:
    """However much waits: a queue that moves is not stuck, and one where each task is only put off does not move."""
    clock, figures = Hand(), queue(oldest=10 * LATE)
    health = health_of(figures, clock)
    assert health.tell()[0], "it has just begun"
    clock.now += LATE - 1
    health.ended("done")
    clock.now += LATE - 1
    assert health.tell()[0]
    health.ended("later")
    clock.now += 2
    well, told = health.tell()
    assert (well, told["status"]) == (False, "stuck")
    health.ended("failed")
    assert health.tell()[0]
    figures.update(queue())
    clock.now += 10 * LATE
    assert health.tell()[0]


def test_what_failed_for_good_is_no_reason_to_start_it_anew() -> None:
    well, told = health_of(queue(dead=3), Hand()).tell()
    assert (well, told["status"]) == (True, "degraded")


def test_without_redis_tasks_go_on(tmp_path: Path) -> None:
    clock = Hand()
    health = health_of(queue(), clock)
    settings = load(data_dir=tmp_path / "data").settings
    health.bus = Consumer(f"redis://127.0.0.1:{free_port()}", lambda scope: pytest.fail("nothing came"), settings)
    health.bus.start()
    try:
        until(lambda: health.tell()[1]["bus"]["last_error"])
        health.bus._well_at -= 10 * LATE
        well, told = health.tell()
        assert (well, told["status"], told["bus"]["connected"]) == (True, "degraded", False)
    finally:
        health.bus.stop()


def test_a_store_that_does_not_answer_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.metrics.READ_SECONDS", 0.2)
    let_go, metrics = threading.Event(), Metrics()
    metrics.watch("queue", lambda: queue() if let_go.wait(30) else {}, every=0.0)
    listener = Listener(metrics, 0, health=WorkerHealth(metrics, Settings()).tell)
    try:
        status, told = asked(listener.port)
        assert (status, told["status"], told["problem"]) == (503, "stuck", "the store does not answer")
        let_go.set()
        until(lambda: asked(listener.port)[0] == 200)
    finally:
        let_go.set()
        listener.close()


def test_a_process_that_has_no_verdict_has_no_such_page() -> None:
    listener = Listener(Metrics(), 0)
    try:
        assert asked(listener.port)[0] == 404
    finally:
        listener.close()


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    file = tmp_path / "keys.json"
    write(file, {"acme": {"main": SECRETS["acme"]}})
    return file


@pytest.fixture
def given(redis_url: str, tmp_path: Path, keys: Path) -> dict[str, str]:
    name = f"health:{secrets.token_hex(4)}"
    redis = {"REDIS_URL": redis_url, "RECOLLECT_REDIS_STREAM": name, "RECOLLECT_REDIS_CHANNEL": name}
    own = {"RECOLLECT_REDIS_KEYS_FILE": str(keys), "RECOLLECT_DATA_DIR": str(tmp_path / "data")}
    return {**redis, **own, "RECOLLECT_EMBEDDER": "none", "RECOLLECT_HEALTH_STUCK_SECONDS": "2"}


@pytest.fixture
def worker(given: dict[str, str]) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    port = free_port()
    words = [sys.executable, "-m", "recollect", "worker", "--hosted", "--metrics-port", str(port), "--json"]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **given}
    )
    assert process.stdout is not None
    assert "pid" in process.stdout.readline()
    try:
        yield port, process
    finally:
        process.kill()
        process.communicate(timeout=20)


def checked(port: int) -> int:
    """What the health check of the image says."""
    command = [sys.executable, str(OPS / "healthcheck.py"), f"http://127.0.0.1:{port}/health"]
    return subprocess.run(command, capture_output=True).returncode


def test_a_bus_that_stopped_makes_the_check_fail_until_it_goes_on(
    worker: tuple[int, subprocess.Popen[str]], given: dict[str, str], keys: Path
) -> None:
    """Spoilt by a rotation: the worker says what it waits for, as JSON, and its check fails; mended, it is well."""
    port, process = worker
    assert checked(port) == 0
    stream = Stream(connect(given["REDIS_URL"]), load(given).settings)
    keys.write_text("{")
    stream.add(json.dumps(signed(event("A patient walrus."))).encode())
    until(lambda: checked(port) == 1)
    status, told = asked(port)
    assert (status, told["status"], told["bus"]["last_error"]) == (503, "stuck", "KeysUnreadable")
    assert told["bus"]["lag"] == 1
    write(keys, {"acme": {"main": SECRETS["acme"]}})
    until(lambda: checked(port) == 0)
    until(lambda: asked(port)[1]["bus"]["lag"] == 0)
    process.terminate()
    _, said = process.communicate(timeout=20)
    lines = [json.loads(line) for line in said.splitlines()]
    (waits,) = [line for line in lines if "the bus waits" in line["message"]]
    assert waits["level"] == "warning"
    assert "redis_keys_file" in waits["message"]
    assert "walrus" not in said
    stream.redis.close()
