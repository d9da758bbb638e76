"""What was written a moment ago is found by its meaning, or the answer says what cannot be found yet."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from recollect.http.app import SECRET_FILE, create_app
from recollect.model import Scope
from recollect.pipeline import freshness
from recollect.pipeline.embedding import embed_waiting
from recollect.serving import Serving
from recollect.settings import load
from tests.flow.memory_fixture import HandClock
from tests.http.conftest import Service

README = Path(__file__).resolve().parents[2] / "README.md"
ASKED = {"query": "zebra crossing", "user_id": "ann"}


class Alike:
    """An embedder to which every text means the same."""

    name, dim = "alike", 4

    def embed(self, texts: Sequence[str]) -> Any:
        return np.full((len(texts), self.dim), 0.5, dtype=np.float32)


class NoTasks:
    """A worker with nothing but vectors to make."""

    def start(self) -> None: ...

    def ring(self) -> None: ...

    def stop(self, seconds: float) -> None: ...


class App:
    """A server in this process, and what it says to a search."""

    def __init__(self, data_dir: Path, clock: HandClock) -> None:
        settings = load(data_dir=data_dir).settings
        self.serving = Serving(settings, hosted=False, clock=clock, embedder=Alike())
        app = create_app(self.serving)
        secret = (data_dir / SECRET_FILE).read_text().strip()
        self.client = TestClient(app, base_url="http://127.0.0.1:8010", headers={"X-API-Key": secret})

    def write(self, *contents: str, user: str = "ann") -> None:
        items = [{"content": content, "user_id": user} for content in contents]
        answer = self.client.post("/ingest/batch", json={"items": items})
        assert answer.json()["stored"] == len(contents), answer.text

    def ask(self, path: str = "/search", **more: Any) -> tuple[Any, float]:
        """The answer, and how long it took."""
        began = time.monotonic()
        answer = self.client.post(path, json={**ASKED, **more})
        assert answer.status_code == 200, answer.text
        return answer.json(), time.monotonic() - began


@pytest.fixture
def app(tmp_path: Path, each_store: str, clock: HandClock) -> Iterator[App]:
    """Nobody makes vectors, unless the test says so."""
    made = App(tmp_path / "data", clock)
    yield made
    made.client.close()
    made.serving.close()


def many(number: int) -> list[str]:
    return [f"the locker number {n} belongs to the pier {n * 7}" for n in range(number)]


@pytest.mark.parametrize("path", ["/search", "/memory/search", "/context"])
def test_what_was_just_written_is_found_by_its_meaning(app: App, path: str) -> None:
    app.serving.start(lambda _: NoTasks())
    app.write("the harbour has two cranes")
    told, _ = app.ask(path)
    facts = told["metadata"] if path == "/context" else told
    assert (facts["count"], facts["mode"], facts["note"]) == (1, "hybrid", None)


def test_a_question_that_was_asked_twice_counts_once(app: App) -> None:
    app.serving.start(lambda _: NoTasks())
    app.write("the harbour has two cranes")
    app.ask()
    [day] = app.serving._reads_of(Scope("local", "ann"))._asked.values()
    assert (day.recalls, day.abstained) == (1, 0)


@pytest.mark.timed
def test_without_anybody_who_makes_vectors_the_answer_says_what_is_missing(app: App) -> None:
    app.write("the harbour has two cranes", "the ferry leaves at nine")
    app.write("somebody else's", user="bob")
    told, seconds = app.ask()
    assert (told["count"], told["abstained"]) == (0, True)
    assert told["note"].endswith("2 texts have no vector yet and can be found by words alone until then")
    assert seconds < freshness.SECONDS + 1


@pytest.mark.timed
def test_when_many_texts_wait_nobody_waits_for_them(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freshness, "SECONDS", 5.0)
    app.write("the harbour has two cranes")
    app.write(*many(freshness.FEW), user="bob")
    told, seconds = app.ask()
    assert "1 text has no vector yet" in told["note"]
    assert seconds < 2


@pytest.mark.timed
def test_only_some_wait_at_the_same_time(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freshness, "SECONDS", 5.0)
    app.write("the harbour has two cranes")
    places = max(1, app.serving.settings.serve_threads // freshness.SHARE)
    for _ in range(places):
        assert app.serving._freshness._places.acquire(blocking=False)
    told, seconds = app.ask()
    assert "1 text has no vector yet" in told["note"]
    assert seconds < 2


def test_nobody_waits_for_a_queue_that_stands_still(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freshness, "SECONDS", 5.0)
    monkeypatch.setattr(freshness, "STILL", 0.05)
    app.write("the harbour has two cranes")
    app.serving.standstill()
    time.sleep(0.1)
    assert app.ask()[1] < 2


@pytest.mark.timed
def test_what_is_found_is_told_at_once_and_what_may_be_missing_with_it(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "SECONDS", 5.0)
    app.write("the harbour has two cranes")
    told, seconds = app.ask(query="harbour cranes")
    assert (told["count"], told["note"]) == (
        1,
        "nothing is embedded yet; 1 text has no vector yet and can be found by words alone until then",
    )
    assert seconds < 2
    embed_waiting(app.serving.store, Alike())
    assert app.ask(query="harbour cranes")[0]["note"] is None


def test_who_asks_by_words_alone_is_told_nothing_of_vectors(app: App) -> None:
    app.write("the harbour has two cranes")
    assert "vector" not in (app.ask(mode="lexical")[0]["note"] or "")


def test_many_who_hear_nothing_cost_one_look(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freshness, "_MOMENT", 60.0)
    looks = []
    pending = app.serving.store.vectors.pending

    def counted(limit: int) -> Any:
        looks.append(limit)
        return pending(limit)

    monkeypatch.setattr(app.serving.store.vectors, "pending", counted)
    for _ in range(5):
        assert app.ask(user_id="nobody")[0]["count"] == 0
    assert looks == [freshness.FEW + 1]


def test_what_another_process_wrote_is_waited_for_too(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freshness, "SECONDS", 20.0)
    app.write("the harbour has two cranes")
    app.serving._freshness._wrote.clear()
    made = threading.Timer(0.3, embed_waiting, [app.serving.store, Alike()])
    made.start()
    assert app.ask()[0]["count"] == 1
    made.join()


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
@pytest.mark.slow
def test_the_calls_of_the_readme_can_be_pasted_at_once(
    start: Callable[..., Service], minilm_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a fresh store, with the real model: the second finds what the first one wrote, though it shares no word."""
    monkeypatch.setenv("RECOLLECT_MODEL_DIR", str(minilm_dir))
    service = start()
    block = README.read_text(encoding="utf-8").split("## As a service")[1].split("```")[1]
    calls = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ curl ")][:3]
    assert [re.search(r"localhost:8010(/\w+)", call)[1] for call in calls] == ["/ingest", "/search", "/context"]  # type: ignore[index]
    pasted = "; echo\n".join(calls).replace("localhost:8010", f"127.0.0.1:{service.port}")
    time.sleep(2)  # whoever reads on until there has waited as long
    ran = subprocess.run(
        ["bash", "-c", pasted],
        env={"MEMORY_API_KEY": service.secret, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=True,
    )
    stored, found, context = ran.stdout.decode().splitlines()
    assert '"status":"stored"' in stored
    assert '"content":"User prefers dark mode"' in found
    assert "> User prefers dark mode" in context
