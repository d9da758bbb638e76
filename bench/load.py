"""How the service holds up under many callers, on both stores, the crowd in a second process on the same machine.

    python bench/load.py [--stores sqlite,postgres] [--users 50] [--memories 10000] [--seconds 60] [--workers 2]
                         [--concurrency 1,10,50,200] [--plot docs/images/load.svg] [--peer chromadb]

Every user has a key of their own and so many memories. Searches are different questions of random users; nothing is
asked twice on purpose. Closed: each connection asks as soon as it is answered, the hardest crowd there is. Paced: each
user asks once a second, as people do; then all of them ask and tell something once a second. All users have the same
texts, so that the real model embeds each of them once. Beside each figure stands how long the same piece of work took
on the idle machine right after it: a machine that others share is not the same from one minute to the next.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

import loadplot
from corpus import Corpus
from latency import Report
from postgres import BATCH, Random, database
from recollect.clock import now
from recollect.ids import uuid7
from recollect.model import Memory, Scope
from recollect.models.minilm import MiniLM
from recollect.models.port import Embedder
from recollect.pipeline.embedding import embed_waiting
from recollect.settings import Settings
from recollect.store.opening import open_store
from recollect.store.port import Store

ROOT = Path(__file__).resolve().parent.parent
WEIGHTS = ROOT / ".cache" / "models" / "all-MiniLM-L6-v2"
WARM_SECONDS = 40
QUESTIONS = 5_000
KEPT_OPEN = 500
TENANT = "load"
_PACED = [f"What did we decide about the release of version {number}?" for number in range(64)]


class MiniLMShaped(Random):
    """Vectors of the size and name of the real model's, made without it."""

    name = "all-MiniLM-L6-v2"


class Remembering:
    """The real model, which embeds each text once."""

    name, dim = MiniLM.name, MiniLM.dim

    def __init__(self) -> None:
        self._model = MiniLM(WEIGHTS, threads=os.cpu_count() or 1)
        self._made: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        new = list(dict.fromkeys(text for text in texts if text not in self._made))
        if new:
            self._made |= zip(new, self._model.embed(new), strict=True)
        return np.stack([self._made[text] for text in texts])

    def pace(self) -> float:
        """How quick the machine is at the moment: the milliseconds that it takes for the same texts, on all cores."""
        spent = []
        for _ in range(9):
            started = time.perf_counter()
            self._model.embed(_PACED)
            spent.append((time.perf_counter() - started) * 1000)
        return median(spent)


@dataclass(frozen=True, slots=True)
class Service:
    """A running server: where it listens, whose keys open it, and what can be asked of it."""

    port: int
    keys: tuple[str, ...]
    texts: tuple[str, ...]


def fill(store: Store, users: int, memories: Sequence[Memory], model: Embedder) -> tuple[str, ...]:
    """The same memories under ids of their own for every user; returns a key for each user."""
    keys = []
    for number in range(users):
        scope = Scope(TENANT, f"user-{number:03}")
        own = [replace(memory, id=uuid7()) for memory in memories]
        for at in range(0, len(own), BATCH):
            store.memories.add_many(scope, [(memory, ()) for memory in own[at : at + BATCH]])
        keys.append(store.keys.create(scope, at=now(), permissions=("read", "write")).text)
        print(f"\r{number + 1} of {users} users filled", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    embed_waiting(store, model)
    return tuple(keys)


@contextmanager
def served(settings: Settings, workers: int, keys: tuple[str, ...], texts: tuple[str, ...]) -> Iterator[Service]:
    """The real server, as `recollect serve --hosted` starts it, without limits on rates."""
    env = {
        **os.environ,
        "RECOLLECT_DATA_DIR": str(settings.data_dir),
        "RECOLLECT_MODEL_DIR": str(WEIGHTS),
        "RECOLLECT_SERVE_RATE_PER_MINUTE": "0",
        "RECOLLECT_SERVE_RATE_PER_IP_PER_MINUTE": "0",
        "RECOLLECT_SERVE_AT_ONCE": "1000",
        "RECOLLECT_QUOTA_INGESTS_PER_DAY": "1000000000",
        "RECOLLECT_QUOTA_MEMORIES": "1000000000",
    }
    if settings.database_url:
        env["RECOLLECT_DATABASE_URL"] = settings.database_url
    command = [sys.executable, "-m", "recollect", "serve", "--hosted", "--json", "--port", str(free_port())]
    server = subprocess.Popen(
        [*command, "--workers", str(workers)], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert server.stdout is not None
        ready = json.loads(server.stdout.readline())
        yield Service(int(ready["address"].rsplit(":", 1)[1].strip("/")), keys, texts)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)


def rest(service: Service) -> None:
    """Wait until what the crowd brought in is distilled and embedded: each figure is of its own work alone."""
    request = urllib.request.Request(f"http://127.0.0.1:{service.port}/health", headers={"X-API-Key": service.keys[0]})
    until = time.monotonic() + 300
    while time.monotonic() < until:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            found = json.loads(answer.read())
        if not found["queue"]["waiting"] and not found["queue"]["running"] and not found.get("pending_vectors"):
            return
        time.sleep(0.5)


def free_port() -> int:
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        return int(line.getsockname()[1])


def searches(service: Service, corpus: Corpus, count: int) -> list[tuple[str, dict[str, str], str]]:
    questions = corpus.questions(service.texts)
    chosen = random.Random(3)
    return [
        ("/search", {"X-API-Key": chosen.choice(service.keys)}, json.dumps({"query": next(questions), "top_k": 10}))
        for _ in range(count)
    ]


def ingests(service: Service, corpus: Corpus, count: int) -> list[tuple[str, dict[str, str], str]]:
    chosen = random.Random(4)
    return [
        ("/ingest", {"X-API-Key": chosen.choice(service.keys)}, json.dumps({"content": text, "content_type": "fact"}))
        for text in corpus.sentences(count)
    ]


def crowd(
    service: Service, folder: Path, requests: Sequence[Any], connections: int, seconds: float, **more: Any
) -> Any:
    """Let the crowd loose; what it saw comes back."""
    job = folder / "job.json"
    facts = {"host": "127.0.0.1", "port": service.port, "connections": connections, "seconds": seconds, **more}
    job.write_text(json.dumps({**facts, "requests": list(requests)}), encoding="utf-8")
    command = [sys.executable, str(Path(__file__).with_name("loadgen.py")), str(job)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    found["p50"], found["p95"] = (percentile(found["spent"], share) for share in (0.5, 0.95))
    found["errors"] = sum(count for status, count in found["statuses"].items() if not status.startswith("2"))
    return found


def together(
    service: Service, folder: Path, requests: Sequence[Sequence[Any]], users: int, seconds: float
) -> list[Any]:
    """Crowds at the same time, one for each kind of request, in each of which every user asks once a second."""

    def loose(number: int) -> Any:
        own = folder / str(number)
        own.mkdir()
        return crowd(service, own, requests[number], users, seconds, rate=users)

    with ThreadPoolExecutor(len(requests)) as crowds:
        return list(crowds.map(loose, range(len(requests))))


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else float("nan")


def measured(
    report: Report, name: str, service: Service, options: argparse.Namespace, model: Remembering
) -> dict[int, tuple[float, float]]:
    """Searches and ingests at every crowd, paced ones, and connections that are only held."""

    def loose(*crowded: Any, **more: Any) -> Any:
        found = crowd(service, Path(folder), *crowded, **more)
        rest(service)
        return {**found, "pace": model.pace()}

    corpus = Corpus(11)
    curve: dict[int, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        asked, given = searches(service, corpus, QUESTIONS), ingests(service, corpus, QUESTIONS)
        crowd(service, Path(folder), asked, 10, WARM_SECONDS)  # as on any day: those who ask have their vectors at hand
        for connections in options.concurrency:
            seconds = options.seconds if connections == 50 else min(20, options.seconds)
            found = loose(asked, connections, seconds)
            brought = loose(given, connections, min(20, seconds))
            curve[connections] = (found["p95"], brought["p95"])
            add(report, name, f"search, {connections} at once", found, 50 if connections == 50 else None, 200)
            add(report, name, f"ingest, {connections} at once", brought, 100 if connections == 50 else None, 500)
        paced = loose(asked, len(service.keys), options.seconds, rate=len(service.keys))
        add(report, name, f"search, {len(service.keys)} users once a second", paced, 50, 200)
        paced = loose(given, len(service.keys), min(20, options.seconds), rate=len(service.keys))
        add(report, name, f"ingest, {len(service.keys)} users once a second", paced, 100, 500)
        both = together(service, Path(folder), (asked, given), len(service.keys), options.seconds)
        rest(service)
        pace = model.pace()
        for what, found, goal, floor in zip(("search", "ingest"), both, (50, 100), (200, 500), strict=True):
            paced = {**found, "pace": pace}
            add(report, name, f"{what}, {len(service.keys)} users each of both once a second", paced, goal, floor)
        held(report, name, service, Path(folder), asked)
    return curve


def add(report: Report, store: str, name: str, found: Any, goal: float | None, floor: float) -> None:
    rate = len(found["spent"]) / found["seconds"]
    crowd_took = f"the crowd took {found['cpu']:.1f} s of CPU"
    note = f"p50 {found['p50']:.1f} ms, {rate:.0f}/s, {found['errors']} errors, {crowd_took}, pace {found['pace']:.0f}"
    target = None if goal is None else (f"{goal:.0f} ms (floor {floor:.0f})", found["p95"] <= goal)
    report.add(store, f"{name}, p95", found["p95"], "ms", goal=target, note=note)


def held(report: Report, name: str, service: Service, folder: Path, asked: Sequence[Any]) -> None:
    """Connections that say nothing do not keep others out."""
    with ExitStack() as lines:
        for _ in range(KEPT_OPEN):
            lines.enter_context(socket.create_connection(("127.0.0.1", service.port), timeout=10))
        found = crowd(service, folder, asked, 10, 5)
    report.add(
        name, f"search, 10 at once beside {KEPT_OPEN} silent connections, p95", found["p95"], "ms",
        goal=("no errors", found["errors"] == 0), note=f"{found['errors']} errors",
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stores", default="sqlite,postgres")
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--concurrency", type=lambda text: [int(one) for one in text.split(",")], default=[1, 10, 50, 200]
    )
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--peer", choices=["chromadb"])
    options = parser.parse_args()
    report, corpus, model = Report(), Corpus(7), Remembering()
    memories = [corpus.memory() for _ in range(options.memories)]
    texts = tuple(memory.content for memory in memories)
    curves: dict[str, dict[int, tuple[float, float]]] = {}
    for name in options.stores.split(","):
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            url = stack.enter_context(database(None)) if name == "postgres" else ""
            settings = Settings(data_dir=folder / "data", database_url=url)
            store = open_store(settings)
            started = time.perf_counter()
            keys = fill(store, options.users, memories, model)
            print(f"{name}: filled in {time.perf_counter() - started:.0f} s", file=sys.stderr)
            if not url:
                store.keeping.vacuum()  # as `recollect maintain` does every night
            store.close()
            if url:
                with psycopg.connect(url, autocommit=True) as owner:
                    owner.execute("VACUUM ANALYZE")  # as the server does by itself within minutes; not in a test's
            service = stack.enter_context(served(settings, options.workers, keys, texts))
            curves[name] = measured(report, name, service, options, model)
    if options.peer:
        import loadpeer

        curves[options.peer] = loadpeer.measured(report, options, memories, model)
    if options.plot:
        options.plot.parent.mkdir(parents=True, exist_ok=True)
        options.plot.write_text(loadplot.drawn(curves), encoding="utf-8")


if __name__ == "__main__":
    main()
