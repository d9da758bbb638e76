"""Every figure is told once and stays small: what happens is counted, what a store knows is read seldom and briefly."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import get_args

import pytest

from recollect.clock import now
from recollect.errors import StoreError
from recollect.http.alarms import Alarms
from recollect.metrics import (
    DEFINED,
    FOLDER_VARIABLE,
    MOST_ROUTES,
    NAMES,
    READ_SECONDS,
    Defined,
    Figures,
    Listener,
    Metrics,
    watch_store,
)
from recollect.model import Scope
from recollect.pipeline.settling import Outcome
from recollect.settings import load
from recollect.store.engines.port import EngineFailed
from recollect.store.opening import located, open_store
from recollect.store.port import Store
from recollect.store.ports.queue import TASK_KINDS
from tests.contract.samples import ANN, LATER, memory
from tests.ops.files import ROOT


def told(metrics: Metrics) -> dict[str, float]:
    """Each line of the answer: name with labels -> value."""
    body, kind = metrics.render()
    assert kind.startswith("text/plain; version=")
    lines = [line for line in body.decode().splitlines() if not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_what_happens_is_counted() -> None:
    metrics = Metrics()
    metrics.request("/memories/{id}", "GET", 404, 0.004)
    metrics.recalled("abstained", 0.02)
    metrics.ingested("batch", 7)
    metrics.ingested("batch", 0)
    metrics.task("distill", "failed", 1.5)
    metrics.bus("dead")
    metrics.limited("key")
    metrics.alarm("wrong_keys")
    metrics.store_error("store_busy")
    metrics.quota_refused()
    with metrics.in_flight():
        assert told(metrics)["recollect_http_in_flight"] == 1
    found = told(metrics)
    for name in (
        'recollect_http_requests_total{method="GET",route="/memories/{id}",status="404"}',
        'recollect_http_request_seconds_count{route="/memories/{id}"}',
        'recollect_recalls_total{outcome="abstained"}',
        'recollect_tasks_total{kind="distill",outcome="failed"}',
        'recollect_bus_messages_total{outcome="dead"}',
        'recollect_rate_limited_total{by="key"}',
        'recollect_alarms_total{kind="wrong_keys"}',
        'recollect_store_errors_total{kind="store_busy"}',
        "recollect_quota_refused_total",
    ):
        assert found[name] == 1, name
    assert found['recollect_ingested_total{way="batch"}'] == 7
    assert found["recollect_http_in_flight"] == 0


# -- the words of labels -----------------------------------------------------------------------------------------------

COUNTERS = [one for one in DEFINED if one.type == "counter"]
WORDED = [(one, label) for one in DEFINED for label in one.words]


def series(one: Defined) -> list[str]:
    """Every series of a counter whose labels have known words."""
    every = [[(label, word) for word in one.words[label]] for label in sorted(one.labels)]
    said = [",".join(f'{label}="{word}"' for label, word in chosen) for chosen in product(*every)]
    return [f"recollect_{one.name}{{{words}}}" if words else f"recollect_{one.name}" for words in said]


@pytest.mark.parametrize(
    "one", [one for one in COUNTERS if set(one.words) == set(one.labels)], ids=lambda one: one.name
)
def test_a_counter_whose_words_are_known_begins_at_0(one: Defined) -> None:
    """What is first seen at 1 has not risen, as a monitor counts: the first alarm would wake nobody."""
    found = told(Metrics())
    assert {name: found.get(name) for name in series(one)} == dict.fromkeys(series(one), 0.0)


def test_several_processes_begin_at_0_too(tmp_path: Path) -> None:
    work = "import sys\nfrom recollect.metrics import Metrics\nsys.stdout.write(Metrics().render()[0].decode())\n"
    env = {**os.environ, FOLDER_VARIABLE: str(tmp_path)}
    answer = subprocess.run([sys.executable, "-c", work], env=env, capture_output=True, text=True, check=True).stdout
    for name in [*series(NAMES["alarms_total"]), *series(NAMES["store_errors_total"])]:
        assert f"{name} 0.0\n" in answer


def test_the_failures_of_a_route_begin_at_0_when_it_is_first_asked() -> None:
    metrics = Metrics()
    metrics.request("/search", "POST", 200, 0.01)
    found = told(metrics)
    for status in ("401", "403", "500", "503"):
        assert found[f'recollect_http_requests_total{{method="POST",route="/search",status="{status}"}}'] == 0


@pytest.mark.parametrize(("one", "label"), WORDED, ids=[f"{one.name}-{label}" for one, label in WORDED])
def test_the_page_names_every_word_of_a_label_and_no_other(one: Defined, label: str) -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    [row] = [line for line in page.splitlines() if line.startswith(f"| `recollect_{one.name}`")]
    named = re.search(rf"`{label}`: ([^;|]*)", re.sub(r"\([^)]*\)", "", row.rpartition(" | ")[2]))
    assert named, f"{row} does not say what `{label}` may be"
    assert sorted(re.findall(r"\w+", named[1])) == sorted(one.words[label])


def test_the_words_are_those_that_are_told() -> None:
    """What the code tells, it tells by a word that is defined; and no word is defined that nobody tells."""
    metrics = Metrics()
    alarms = Alarms(metrics)
    for what in ("wrong_key", "delete", "export"):
        alarms.note(what, "somebody", 10_000)
    alarms.wrote("somebody", 10_000)
    assert all(told(metrics)[name] == 1 for name in series(NAMES["alarms_total"]))
    kinds = {StoreError, EngineFailed, *StoreError.__subclasses__()}
    assert set(NAMES["store_errors_total"].words["kind"]) == {kind().code for kind in kinds}
    assert NAMES["tasks_total"].words["kind"] == TASK_KINDS
    assert set(get_args(Outcome)) < set(NAMES["bus_messages_total"].words["outcome"])


def test_a_word_that_nobody_knows_is_other() -> None:
    metrics = Metrics()
    for tell in (metrics.alarm, metrics.bus, metrics.limited, metrics.store_error, metrics.ingested):
        tell("made_up")
    metrics.task("made_up", "done", 0.1)
    metrics.recalled("made_up", 0.1)
    assert b"made_up" not in metrics.render()[0]
    others = {name.partition("{")[0] for name, value in told(metrics).items() if '"other"' in name and value == 1}
    worded = {f"recollect_{one.name}" for one, _ in WORDED} - {"recollect_http_requests_total"}
    assert worded <= others


# -- what is read ------------------------------------------------------------------------------------------------------


def test_two_registries_do_not_meet() -> None:
    one, other = Metrics(), Metrics()
    one.quota_refused()
    assert told(other)["recollect_quota_refused_total"] == 0


def test_nothing_from_outside_becomes_a_label() -> None:
    """A path, a query or a key that is taken for a route makes no series of its own."""
    metrics = Metrics()
    metrics.request('/x"} 1\nevil{', "BREW", 404, 0.0)
    metrics.limited("ann@example.com wants more")
    for number in range(MOST_ROUTES + 50):
        metrics.request(f"/made/up/{number}", "GET", 404, 0.0)
    found = told(metrics)
    routes = {re.search(r'route="([^"]*)"', name)[1] for name in found if "route=" in name}  # type: ignore[index]
    assert len(routes) == MOST_ROUTES + 1
    assert found['recollect_http_requests_total{method="other",route="other",status="404"}'] == 1
    assert found['recollect_rate_limited_total{by="other"}'] == 1


def test_a_reader_is_asked_at_most_once_in_its_interval() -> None:
    moment, asked = [100.0], []

    def read() -> Figures:
        asked.append(moment[0])
        return {"bus_lag": len(asked), "queue_waiting": {"distill": 3}}

    metrics = Metrics(clock=lambda: moment[0])
    metrics.watch("bus", read)
    for at in (100.0, 101.0, 104.9):
        moment[0] = at
        assert told(metrics)["recollect_bus_lag"] == 1
    moment[0] = 105.0
    found = told(metrics)
    assert found["recollect_bus_lag"] == 2
    assert found['recollect_queue_waiting{kind="distill"}'] == 3
    assert asked == [100.0, 105.0]


@pytest.mark.timed
def test_a_reader_that_fails_or_hangs_costs_only_its_own_figures() -> None:
    let_go = threading.Event()

    def hangs() -> Figures:
        let_go.wait(30)
        return {"vectors_pending": 5}

    def fails() -> Figures:
        raise RuntimeError("secret words of a driver")

    metrics = Metrics()
    metrics.watch("hangs", hangs)
    metrics.watch("fails", fails)
    metrics.watch("works", lambda: {"bus_dead": 2, "nothing_we_know": 1})
    began = time.monotonic()
    found = told(metrics)
    assert time.monotonic() - began < READ_SECONDS + 1
    assert found["recollect_bus_dead"] == 2
    assert "recollect_vectors_pending" not in found
    assert {name: found[f'recollect_reader_up{{reader="{name}"}}'] for name in ("hangs", "fails", "works")} == {
        "hangs": 0,
        "fails": 0,
        "works": 1,
    }
    assert "nothing_we_know" not in metrics.render()[0].decode()
    let_go.set()


@pytest.fixture
def store(each_store: str) -> Iterator[Store]:
    opened = open_store(located(load().settings))
    yield opened
    opened.close()


def test_a_store_tells_what_waits_and_what_it_takes(store: Store) -> None:
    store.memories.add(ANN, memory("the walrus sleeps at noon"))
    metrics = Metrics()
    settings = load({"RECOLLECT_LLM": "command", "HOME": os.environ["HOME"]}).settings
    watch_store(metrics, store, settings, clock=lambda: LATER, scope=ANN)
    found = told(metrics)
    assert found["recollect_vectors_pending"] == 1
    assert found['recollect_store_rows{table="memories"}'] == 1
    assert found['recollect_store_bytes{part="database"}'] > 0
    assert found["recollect_disk_free_bytes"] > 0
    assert found["recollect_budget_tokens_left"] == 200_000
    assert found["recollect_coverage_ratio"] == 1
    assert found["recollect_queue_oldest_seconds"] >= 0
    assert all(found[f'recollect_reader_up{{reader="{name}"}}'] == 1 for name in ("queue", "store", "budget"))


def test_nobodys_budget_is_told_on_a_server_for_many(store: Store) -> None:
    metrics = Metrics()
    watch_store(metrics, store, load({"RECOLLECT_LLM": "command"}).settings, clock=now, scope=ANN, hosted=True)
    assert not [name for name in told(metrics) if "budget" in name or "coverage" in name]


def test_the_age_of_the_newest_backup_is_told(store: Store, tmp_path: Path) -> None:
    from recollect.pipeline.backups import back_up

    metrics = Metrics()
    watch_store(metrics, store, load().settings, clock=now)
    assert "recollect_last_backup_seconds" not in told(metrics)
    back_up(store, tmp_path / "copy", now, keep_days=3)
    metrics = Metrics()
    watch_store(metrics, store, load().settings, clock=now)
    assert 0 <= told(metrics)["recollect_last_backup_seconds"] < 60


def test_several_processes_are_told_of_together(tmp_path: Path) -> None:
    """Whichever is asked counts for all; one that ended has nothing in flight any more."""
    shared = tmp_path / "shared"
    shared.mkdir()
    work = (
        "import os, sys\nfrom recollect.metrics import Metrics\n"
        "m = Metrics()\nm.request('/search', 'POST', 200, 0.01)\nheld = m.in_flight()\nheld.__enter__()\n"
        "print(os.getpid(), file=sys.stderr, flush=True)\nos._exit(0)\n"  # as one that was killed
    )
    env = {**os.environ, FOLDER_VARIABLE: str(shared)}
    for _ in range(2):
        ended = subprocess.run([sys.executable, "-c", work], env=env, capture_output=True, text=True, check=True)
    last = int(ended.stderr)
    asks = (
        "import sys\nfrom pathlib import Path\nfrom recollect.metrics import Metrics, forget_process\n"
        f"m = Metrics()\nforget_process(Path({str(shared)!r}), {last})\n"
        "m.watch('bus', lambda: {'bus_lag': 4})\nsys.stdout.write(m.render()[0].decode())\n"
    )
    answer = subprocess.run([sys.executable, "-c", asks], env=env, capture_output=True, text=True, check=True).stdout
    assert 'recollect_http_requests_total{method="POST",route="/search",status="200"} 2.0' in answer
    assert "recollect_http_in_flight 1.0" in answer
    assert "recollect_bus_lag 4.0" in answer
    assert answer.count("# TYPE recollect_http_requests_total counter") == 1


def test_a_process_without_a_server_can_be_asked() -> None:
    metrics = Metrics()
    metrics.task("gist", "done", 0.2)
    listener = Listener(metrics, 0)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{listener.port}/metrics", timeout=5) as answer:
            assert b'recollect_tasks_total{kind="gist",outcome="done"} 1.0' in answer.read()
            assert answer.headers["Cache-Control"] == "no-store"
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{listener.port}/etc/passwd", timeout=5)
        refused.value.close()
        assert refused.value.code == 404
    finally:
        listener.close()


@pytest.mark.parametrize("one", DEFINED, ids=[one.name for one in DEFINED])
def test_every_metric_is_documented(one: object) -> None:
    name = one.name  # type: ignore[attr-defined]
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    [row] = [line for line in page.splitlines() if line.startswith(f"| `recollect_{name}`")]
    kind = {"read": "gauge"}.get(one.type, one.type)  # type: ignore[attr-defined]
    assert f"| {kind} |" in row
    for label in one.labels:  # type: ignore[attr-defined]
        assert f"`{label}`" in row
    assert one.help.rstrip(".") in row  # type: ignore[attr-defined]


def test_no_metric_is_documented_that_there_is_not() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    names = set(re.findall(r"^\| `recollect_(\w+)`", page, re.MULTILINE))
    assert names == {one.name for one in DEFINED}


def test_the_owner_of_a_scope_is_in_no_figure(store: Store) -> None:
    metrics = Metrics()
    scope = Scope("tenant-walrus", "user-walrus")
    store.memories.add(scope, memory("walrus content"))
    watch_store(metrics, store, load().settings, clock=now, scope=scope)
    assert b"walrus" not in metrics.render()[0]
