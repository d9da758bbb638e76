"""How fast Recollect is on PostgreSQL, every figure beside what it is measured against in the same run.

    python bench/postgres.py [--url postgresql://…] [--rows 10000,100000,1000000] [--readers 50] [--only SECTIONS]

Without a URL it starts the server of the test suite. Sections: import (memories a second without vectors), recall (one
user's 10,000 memories while the whole table grows; the embedded store beside it), readers (many at once), neighbours
(recall@10 against exact search at 100,000 vectors, for owners with half of them, a hundredth, and seven).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import numpy as np
import psycopg
from numpy.typing import NDArray

from corpus import Corpus
from latency import KnownVectors, Report
from recollect import Recollect
from recollect.clock import now
from recollect.model import Memory, Scope
from recollect.settings import Settings
from recollect.store.port import Store
from recollect.store.ports.memories import Filter
from recollect.store.postgres.search import PostgresSearch
from recollect.store.postgres.store import PostgresStore
from recollect.store.sqlite.store import SqliteStore

US = Scope("bench", "us")
OWN = 10_000  # memories of the user whose questions are timed
BATCH = 1_000
SIZE = 384
QUERIES = 200


class Random:
    """Stands for an embedding model: a fixed direction for every text, near those of the same topic."""

    name, dim = "random", SIZE

    def __init__(self, topics: int = 1_000, seed: int = 5) -> None:
        self._random = np.random.default_rng(seed)
        self._topics = self._random.normal(size=(topics, SIZE)).astype(np.float32)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        near = self._topics[self._random.integers(0, len(self._topics), len(texts))]
        found = near + 0.8 * self._random.normal(size=near.shape).astype(np.float32)
        return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)


def timed(work: Callable[[str], object], items: Sequence[str]) -> tuple[float, float]:
    """The middle and the 95th percentile of the milliseconds each takes."""
    spent = []
    for item in items:
        started = time.perf_counter()
        work(item)
        spent.append((time.perf_counter() - started) * 1000)
    return statistics.median(spent), sorted(spent)[int(len(spent) * 0.95)]


@contextmanager
def database(url: str | None) -> Iterator[str]:
    """The owner's address of an empty database, dropped at the end."""
    if url is None:
        sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
        from tests.services.postgres import running

        with (
            tempfile.TemporaryDirectory() as folder,
            running(Path(folder), "bench", {"shared_buffers": "2GB"}) as server,
        ):
            yield server.empty_database()
        return
    name = f"recollect_bench_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def fill(store: Store, memories: Sequence[Memory]) -> float:
    """Import the memories; returns how many a second."""
    started = time.perf_counter()
    for at in range(0, len(memories), BATCH):
        store.memories.add_many(US, [(memory, ()) for memory in memories[at : at + BATCH]])
    return len(memories) / (time.perf_counter() - started)


def embed(store: Store, model: Random) -> float:
    """Give every text its vector; returns how many a second."""
    started, stored = time.perf_counter(), 0
    while waiting := store.vectors.waiting(BATCH):
        vectors = model.embed([""] * len(waiting))
        rows = [(item, vectors[at : at + 1]) for at, item in enumerate(waiting)]
        stored += store.vectors.put((model.name, model.dim), rows)
    return stored / (time.perf_counter() - started)


def grow(url: str, rows: int) -> None:
    """Copies of the user's memories for others, until the tables hold so many rows: what is never to be seen."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = recollect, public")
        connection.execute("SET maintenance_work_mem = '512MB'")
        have = connection.execute("SELECT count(*) FROM memories").fetchone()
        assert have is not None
        for number in range(int(have[0]) // OWN, rows // OWN):
            connection.execute(ANOTHER_USER.format(number=number))
        connection.execute("VACUUM ANALYZE")


ANOTHER_USER = (Path(__file__).parent / "another_user.sql").read_text(encoding="utf-8")


def open_memory(store: Store, embedder: KnownVectors) -> Recollect:
    folder = Path(tempfile.mkdtemp(prefix="recollect-bench-"))
    return Recollect(store, US, Settings(data_dir=folder), embedder=embedder, background=False)


def importing(report: Report, store: PostgresStore, beside: SqliteStore, memories: Sequence[Memory]) -> None:
    embedded = fill(beside, memories)
    speed = fill(store, memories)
    report.add(
        "import",
        "memories a second, no vectors",
        speed,
        "/s",
        beside=("embedded store", embedded),
        goal=("5,000", speed >= 5_000),
    )
    model = Random()
    report.add(
        "import", "vectors a second", embed(store, model), "/s", beside=("embedded store", embed(beside, Random()))
    )


def recalling(
    report: Report,
    url: str,
    store: PostgresStore,
    beside: SqliteStore,
    memories: Sequence[Memory],
    sizes: Sequence[int],
    corpus: Corpus,
) -> None:
    texts = [memory.content for memory in memories]
    questions = [question for question, _ in zip(corpus.questions(texts), range(QUERIES), strict=False)]
    known = KnownVectors(Random(seed=9), questions)  # type: ignore[arg-type]
    embedded, ours = open_memory(beside, known), open_memory(store, known)
    for memory in (embedded, ours):
        timed(lambda question, memory=memory: memory.recall(question), questions[:20])  # type: ignore[misc]
    base = timed(embedded.recall, questions)
    report.add("recall", f"embedded store, {OWN:,} memories, p50", base[0], "ms")
    report.add("recall", f"embedded store, {OWN:,} memories, p95", base[1], "ms")
    first = 0.0
    for rows in sizes:
        grow(url, rows)
        timed(ours.recall, questions[:20])
        middle, slow = timed(ours.recall, questions)
        report.add("recall", f"{rows:,} rows, p50", middle, "ms", beside=("embedded", base[0]))
        report.add(
            "recall", f"{rows:,} rows, p95", slow, "ms", beside=("embedded", base[1]), goal=("20 ms", slow <= 20)
        )
        if rows == 100_000:
            first = slow
    if first:
        report.add(
            "recall", f"p95, {sizes[-1]:,} rows to 100,000", slow / first, "x", goal=("1.5", slow <= 1.5 * first)
        )


def reading(report: Report, settings: Settings, readers: int, memories: Sequence[Memory], corpus: Corpus) -> None:
    texts = [memory.content for memory in memories]
    questions = [question for question, _ in zip(corpus.questions(texts), range(QUERIES), strict=False)]
    known = KnownVectors(Random(seed=9), questions)  # type: ignore[arg-type]
    store = PostgresStore(replace(settings, database_connections=10))
    memory = open_memory(store, known)
    spent: list[float] = []
    errors: list[BaseException] = []

    def read(number: int) -> None:
        for at in range(10):
            started = time.perf_counter()
            try:
                memory.recall(questions[(number * 7 + at) % len(questions)])
            except BaseException as error:
                errors.append(error)
            spent.append((time.perf_counter() - started) * 1000)

    started = time.perf_counter()
    threads = [threading.Thread(target=read, args=(number,)) for number in range(readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - started
    memory.close()
    report.add(
        "readers",
        f"{readers} at once, recalls a second",
        len(spent) / seconds,
        "/s",
        goal=("no errors", not errors),
        note=f"{len(errors)} errors",
    )
    report.add("readers", f"{readers} at once, p95", sorted(spent)[int(len(spent) * 0.95)], "ms", note="one process")


def neighbouring(report: Report, url: str, store: PostgresStore) -> None:
    """Owners with half of 100,000 vectors, a hundredth and seven; what the search gives against what is true."""
    from recollect.store.postgres.neighbours import make_index

    model, total = Random(topics=2_000, seed=11), 100_000
    corpus = Corpus(3)
    shares = {"half": total // 2, "a hundredth": total // 100, "seven": 7, "others": total // 2 - total // 100 - 7}
    for name, count in shares.items():
        scope = Scope("share", name.replace(" ", "-"))
        for at in range(0, count, BATCH):
            given = [(corpus.memory(), ()) for _ in range(min(BATCH, count - at))]
            store.memories.add_many(scope, given)
    embed(store, model)
    started = time.perf_counter()
    with psycopg.connect(url, autocommit=True) as owner:
        made = make_index(owner)
    report.add("neighbours", "approximate index made", time.perf_counter() - started, "s", note=str(made))
    where, truth = Filter(now=now()), PostgresSearch(store.database, exact=10**9)
    for name in ("half", "a hundredth", "seven"):
        scope = Scope("share", name.replace(" ", "-"))
        right = wanted = 0
        spent = []
        for query in model.embed([""] * 50):
            started = time.perf_counter()
            found = [match.doc for match in store.search.semantic(scope, "memory", query, where, 10)]
            spent.append((time.perf_counter() - started) * 1000)
            exact = [match.doc for match in truth.semantic(scope, "memory", query, where, 10)]
            assert len(found) == min(10, shares[name]), (name, len(found))
            right += len(set(found) & set(exact))
            wanted += len(exact)
        report.add(
            "neighbours",
            f"recall@10, {name} of {total:,}",
            right / wanted,
            "",
            goal=(".95", right / wanted >= 0.95),
            note=f"p50 {statistics.median(spent):.1f} ms",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="a superuser's address; a database is made in it and dropped")
    parser.add_argument("--rows", default="10000,100000,1000000")
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--only", default="import,recall,readers,neighbours")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    report, corpus = Report(), Corpus(7)
    memories = [corpus.memory() for _ in range(OWN)]
    only = options.only.split(",")
    with database(options.url) as url, tempfile.TemporaryDirectory() as folder:
        settings = Settings(database_url=url)
        store, beside = PostgresStore(settings), SqliteStore(Path(folder) / "data")
        if {"import", "recall", "readers"} & set(only):
            importing(report, store, beside, memories)
        if "recall" in only:
            recalling(report, url, store, beside, memories, [int(rows) for rows in options.rows.split(",")], corpus)
        if "readers" in only:
            reading(report, settings, options.readers, memories, corpus)
        if "neighbours" in only:
            neighbouring(report, url, store)
        store.close()
        beside.close()
    if options.json:
        options.json.write_text(json.dumps([asdict(figure) for figure in report.figures], indent=1))


if __name__ == "__main__":
    main()
