"""The same crowd before another program's server: Chroma, which installs from the package index and speaks HTTP.

It keeps and finds vectors; making them is left to its callers. So its searches come with their vectors given, which
ours have yet to make: its times are without the model, ours with it. Same users, same memories, same vectors.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import load
import peers
from corpus import Corpus
from latency import Report
from recollect.ids import uuid7
from recollect.model import Memory

_ROOT = "/api/v2/tenants/default_tenant/databases/default_database/collections"
_BATCH = 1_000
_QUESTIONS = 1_000


def measured(
    report: Report, options: argparse.Namespace, memories: Sequence[Memory], model: load.Remembering
) -> dict[int, tuple[float, float]]:
    """Searches and additions at every crowd."""
    chosen, questions = random.Random(5), Corpus(11).questions([memory.content for memory in memories])
    curve: dict[int, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as port:
        collection = said(port, _ROOT, {"name": "load", "configuration": {"hnsw": {"space": "cosine"}}})["id"]
        fill(port, collection, options.users, memories, model)
        service = load.Service(port, (), ())
        users = [f"user-{number:03}" for number in range(options.users)]
        asked = [
            (
                f"{_ROOT}/{collection}/query",
                {},
                json.dumps(
                    {
                        "query_embeddings": [vector.round(5).tolist()],
                        "n_results": 10,
                        "where": {"user": chosen.choice(users)},
                    }
                ),
            )
            for vector in model.embed(list(islice(questions, _QUESTIONS)))
        ]
        load.crowd(service, Path(folder), asked[:50], 4, 5)
        for connections in options.concurrency:
            seconds = min(20, options.seconds)
            found = load.crowd(service, Path(folder), asked, connections, seconds)
            curve[connections] = (found["p95"], float("nan"))
            paced = {**found, "pace": model.pace()}
            load.add(report, "chromadb", f"search, vector given, {connections} at once", paced, None, 200)
    return curve


def fill(port: int, collection: str, users: int, memories: Sequence[Memory], model: load.Remembering) -> None:
    started = time.perf_counter()
    for number in range(users):
        for at in range(0, len(memories), _BATCH):
            some = memories[at : at + _BATCH]
            said(
                port,
                f"{_ROOT}/{collection}/add",
                {
                    "ids": [str(uuid7()) for _ in some],
                    "embeddings": [vector.round(5).tolist() for vector in model.embed([one.content for one in some])],
                    "documents": [memory.content for memory in some],
                    "metadatas": [{"user": f"user-{number:03}", "kind": memory.kind} for memory in some],
                },
            )
    print(f"chromadb: filled in {time.perf_counter() - started:.0f} s", file=sys.stderr)


def said(port: int, path: str, body: Any) -> Any:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=300) as answer:  # noqa: S310
        return json.loads(answer.read() or b"null")


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """Chroma's server, in an environment of its own."""
    port, python = load.free_port(), Path(peers.install("chromadb"))
    command = [str(python.with_name("chroma")), "run", "--path", str(folder / "data"), "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v2/heartbeat", timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port
    finally:
        server.terminate()
        server.wait(20)
