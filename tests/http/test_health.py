"""Health is whether work gets done: C21. It says 503 while something hangs, and 200 again when that is over."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest

from recollect import serving
from recollect.errors import StoreUnavailable
from recollect.http import health
from recollect.model import Scope
from recollect.models.tiny import TinyEmbedder
from recollect.pipeline import standstill
from recollect.pipeline.embedding import embed_waiting
from recollect.pipeline.standstill import Standstill
from recollect.store.ports.queue import Tasks
from recollect.store.ports.search import Waiting
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


@pytest.mark.timed
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


@pytest.mark.timed
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


class Queue:
    """Texts that wait for a vector, by number; the newest first, as a store gives them."""

    def __init__(self) -> None:
        self.texts: list[int] = []

    def waiting(self, limit: int) -> list[Waiting]:
        return [Waiting("memory", doc, doc, (), 0) for doc in sorted(self.texts, reverse=True)[:limit]]

    def pending(self) -> int:
        return len(self.texts)


Look = Callable[[Iterable[int]], float]


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Look:
    """A look 100 seconds after the one before, at these texts."""
    queue, now = Queue(), [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    standstill = Standstill(queue)  # type: ignore[arg-type]

    def at(texts: Iterable[int]) -> float:
        now[0] += 100
        queue.texts = list(texts)
        return standstill.look()

    return at


def test_texts_that_came_since_the_last_look_do_not_stand_still(look: Look) -> None:
    """However rarely one looks, and however many more there are each time."""
    assert [look(texts) for texts in ([1, 2], [3, 4], [5, 6, 7], [8, 9, 10, 11])] == [0, 0, 0, 0]


def test_a_text_that_is_still_there_stands_still_whatever_came_since(look: Look) -> None:
    assert [look(texts) for texts in ([1], [1, 2], [1, 2, 3], [2, 3, 4], [2, 3, 4], [])] == [0, 100, 200, 0, 100, 0]


def test_an_import_that_goes_on_is_not_stuck(look: Look) -> None:
    """Every look finds more waiting than ever was the least, and fewer than at the look before now and then."""
    counts = (10, 500, 400, 900, 800, 1500, 1400, 1400, 1400)
    assert [look(range(count)) for count in counts] == [0, 100, 0, 100, 0, 100, 0, 100, 200]


def test_three_batches_with_looks_between_are_never_stuck(
    each_store: str, inside: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = inside(health_stuck_seconds=300)
    moved = [0.0]
    real = time.monotonic
    monkeypatch.setattr(standstill.time, "monotonic", lambda: real() + moved[0])
    for batch in range(3):
        for number in range(batch + 1):
            app.client.post("/ingest", json={"content": f"the tower number {batch}{number} of the harbour"})
        assert app.client.get("/health").json()["status"] == "ok", "they were written this moment"
        embed_waiting(app.serving.store, TinyEmbedder())
        moved[0] += 400
    app.client.post("/ingest", json={"content": "nobody makes a vector of this"})
    assert app.client.get("/health").json()["status"] == "ok"
    moved[0] += 299
    assert app.client.get("/health").json()["status"] == "ok"
    moved[0] += 2
    app.client.post("/ingest", json={"content": "nor of this"})
    stuck = app.client.get("/health")
    assert (stuck.status_code, stuck.json()["status"]) == (503, "stuck")
    embed_waiting(app.serving.store, TinyEmbedder())
    assert app.client.get("/health").json()["status"] == "ok"


def test_a_server_looks_at_what_waits_by_itself(inside: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that how long is known to the second, also when nobody asked for an hour."""
    monkeypatch.setattr(serving, "FLUSH_SECONDS", 0.05)
    app = inside(health_stuck_seconds=0.5)
    app.serving.start()
    app.client.post("/ingest", json={"content": "nobody makes a vector of this"})
    time.sleep(1.0)
    assert app.client.get("/health").json()["status"] == "stuck"


class Bus:
    """What takes events, as it tells of itself."""

    def __init__(self, **told: Any) -> None:
        self.told = {"connected": True, "dead": 0, "oldest_seconds": 0.0, **told}

    def health(self) -> dict[str, Any]:
        return self.told

    def stop(self) -> None:
        pass


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ({}, "ok"),
        ({"oldest_seconds": 299.0}, "ok"),
        ({"connected": False}, "degraded"),
        ({"connected": False, "stalled_seconds": 900.0}, "degraded"),
        ({"dead": 1}, "degraded"),
        ({"oldest_seconds": 900.0, "stalled_seconds": 1.0}, "degraded"),
        ({"oldest_seconds": 301.0}, "stuck"),
        ({"oldest_seconds": 900.0, "stalled_seconds": 600.0, "dead": 3}, "stuck"),
    ],
    ids=str,
)
def test_a_bus_that_takes_nothing_is_told(inside: Make, told: dict[str, Any], status: str) -> None:
    """Without Redis the rest goes on; a backlog that gets less is not stuck."""
    app = inside(health_stuck_seconds=300)
    app.serving.bus = Bus(**told)
    answer = app.client.get("/health")
    assert answer.json()["status"] == status
    assert answer.status_code == (503 if status == "stuck" else 200)


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
