"""Health is whether work gets done: C21. It says 503 while something hangs, and 200 again when that is over."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from recollect.errors import StoreUnavailable
from recollect.http import health
from recollect.http.health import Progress
from recollect.model import Scope
from recollect.store.queueport import Tasks
from tests.http.conftest import Inside

Make = Callable[..., Inside]


@pytest.fixture(autouse=True)
def asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "FRESH", 0.0)


def test_a_stranger_hears_only_whether_it_works(inside: Make) -> None:
    app = inside()
    assert set(app.stranger().get("/health").json()) == {"status", "version", "role", "queue"}
    told = app.client.get("/health").json()
    assert told["model"] == {"name": "tiny", "dim": told["model"]["dim"], "ready": True, "problem": None}
    assert told["counts"] == {"memories": 0, "sessions": 0, "turns": 0}
    assert told["status"] == "ok"


def test_it_tells_of_the_last_write(each_store: str, inside: Make) -> None:
    app = inside()
    assert app.client.get("/health").json()["last_write_at"] is None
    app.client.post("/ingest", json={"content": "the deploy is on fridays"})
    told = app.client.get("/health").json()
    assert told["last_write_at"].startswith("2026-11-15T12:00:00")
    assert (told["counts"]["memories"], told["pending_vectors"]) == (1, 1)
    assert told["store"] == ("postgres" if each_store else "sqlite")


def test_a_task_that_waits_too_long_is_stuck_and_then_not(each_store: str, inside: Make) -> None:
    """503 until the queue moves again."""
    app = inside(health_stuck_seconds=300)
    tasks: Tasks = app.serving.store.tasks
    tasks.put(Scope("acme", "ann"), "distill", "s:1", at=app.clock())
    app.clock.move(seconds=299)
    assert app.stranger().get("/health").json()["status"] == "ok"
    app.clock.move(seconds=2)
    stuck = app.stranger().get("/health")
    assert (stuck.status_code, stuck.json()["status"]) == (503, "stuck")
    assert stuck.json()["queue"]["oldest_seconds"] == 301.0
    [task] = tasks.claim(worker="w", at=app.clock(), until=app.clock() + timedelta(minutes=1))
    tasks.finish(task, at=app.clock())
    assert app.stranger().get("/health").status_code == 200


def test_a_store_that_does_not_answer_is_stuck_and_then_not(inside: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    app = inside()
    monkeypatch.setattr(health, "SECONDS", 0.2)
    slow = [0.8]
    pending = app.serving.store.vectors.pending

    def sleepy() -> int:
        time.sleep(slow[0])
        return pending()

    monkeypatch.setattr(app.serving.store.vectors, "pending", sleepy)
    begun = time.monotonic()
    answers = [app.client.get("/health") for _ in range(3)]
    assert [one.status_code for one in answers] == [503, 503, 503]
    assert time.monotonic() - begun < 1.5
    slow[0] = 0.0
    time.sleep(1.0)
    assert app.client.get("/health").status_code == 200


def test_it_tells_how_it_is_however_many_threads_are_taken(inside: Make) -> None:
    """Neither keys nor repeats wait for what is slow, and health has a thread of its own."""
    app = inside(serve_threads=2)
    over = threading.Event()

    async def take(number: int) -> None:
        for _ in range(number):
            asyncio.get_running_loop().run_in_executor(None, over.wait, 20)

    assert app.client.portal is not None
    try:
        app.client.portal.call(take, 2 * 2 + 7)
        begun = time.monotonic()
        kept = app.client.post("/ingest", json={"content": "x y z"}, headers={"Idempotency-Key": "k"})
        assert kept.status_code == 201
        app.client.portal.call(take, 1)
        assert app.client.get("/health", headers={"X-API-Key": ""}).json()["status"] == "ok"
        assert time.monotonic() - begun < 5
    finally:
        over.set()


def test_a_store_that_fails_is_stuck_and_says_nothing_of_itself(inside: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    app = inside()

    def fails(**_: Any) -> Any:
        raise StoreUnavailable("cannot open /secret/place on db.internal")

    monkeypatch.setattr(app.serving.store.tasks, "backlog", fails)
    answer = app.client.get("/health")
    assert (answer.status_code, answer.json()["status"]) == (503, "stuck")
    assert "secret" not in answer.text


def test_a_store_that_fails_is_503_on_every_route(inside: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    app = inside()

    def fails(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("cannot open /secret/place on db.internal")

    monkeypatch.setattr(app.serving.store.quotas, "get", fails)
    answer = app.client.get("/quota")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "store_unavailable")
    assert answer.headers["retry-after"] == "5"
    assert "secret" not in answer.text
    assert b'recollect_store_errors_total{kind="store_unavailable"} 1.0' in app.metrics.render()[0]


def test_a_mistake_of_ours_tells_nothing_but_its_id(
    inside: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app = inside()

    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a memory's own words")

    monkeypatch.setattr(app.serving.store.quotas, "get", fails)
    answer = app.client.get("/quota")
    told = answer.json()["error"]
    assert (answer.status_code, told["code"]) == (500, "internal")
    assert told["request_id"] == answer.headers["x-request-id"]
    assert "own words" not in answer.text + caplog.text
    assert told["request_id"] in caplog.text


def test_a_model_that_is_missing_is_degraded_not_stuck(inside: Make) -> None:
    app = inside()
    app.serving.meaning._embedder, app.serving.meaning.missing = None, "not installed"
    answer = app.stranger().get("/health")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")


def test_a_queue_that_moves_is_not_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    progress = Progress()
    waited = []
    for pending in (0, 5, 9, 9, 4, 8, 8, 0, 3):
        now[0] += 100
        waited.append(progress.waited(pending))
    assert waited == [0, 0, 100, 200, 0, 100, 200, 0, 0]


def test_an_import_that_goes_on_is_not_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look finds more waiting than ever was the least, and fewer than at the look before now and then."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    progress = Progress()
    waited = []
    for pending in (10, 500, 400, 900, 800, 1500, 1400, 1400, 1400):
        now[0] += 200
        waited.append(progress.waited(pending))
    assert waited == [0, 200, 0, 200, 0, 200, 0, 200, 400]


def test_figures_need_a_key_unless_they_are_public(inside: Make) -> None:
    app = inside()
    assert app.stranger().get("/metrics").status_code == 401
    app.client.get("/whoami")
    told = app.client.get("/metrics")
    assert 'recollect_http_requests_total{method="GET",route="/whoami",status="200"} 1.0' in told.text
    for permissions, status in ((("read", "write", "act"), 403), (("admin",), 200)):
        key = app.auth(app.key(*permissions))
        assert app.stranger().get("/metrics", headers=key).status_code == status, "they are of all tenants"
    assert inside(metrics_public=True).stranger().get("/metrics").status_code == 200
