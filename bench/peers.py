"""The same job done by other programs: memories of many users in, one user's memories asked, all with the same vectors.

Each peer is installed into a virtual environment of its own (`.cache/peers/<name>`), only when it is asked for, and
runs there: this file is then its own program (`peers.py NAME JOB`), reads the job from a folder and prints its times.
No vector is computed while the clock runs; no peer calls a language model.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from latency import Bench

PEERS = {"chromadb": 1, "mem0ai": 5}  # each does this part of the job: mem0 takes tens of milliseconds a text
HOME = Path(__file__).resolve().parent.parent / ".cache" / "peers"
LIMIT = 10
BATCH = 100
Job = dict[str, Any]
Times = dict[str, Any]


# -- our side ----------------------------------------------------------------------------------------------------------


def compare(bench: Bench, name: str) -> None:
    """Do the job ourselves, let the peer do it, and print both."""
    folder = bench.folder / f"peer-{name}"
    job = write_job(bench, folder, bench.plan.peer_rows // PEERS[name])
    python = install(name)
    ours = do_ours(bench, job, one_by_one=name == "mem0ai")
    env = {**os.environ, "HOME": str(folder), "PYTHONPATH": ""}
    done = subprocess.run([python, __file__, name, str(folder)], capture_output=True, text=True, env=env)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["it failed"])[-1][:120]
        bench.report.add("peers", name, None, "ms", note=f"not measured: {reason}")
        return
    print_both(bench, f"{name} {version(python, name)}", job, ours, json.loads(done.stdout.splitlines()[-1]))


def print_both(bench: Bench, name: str, job: Job, ours: Times, theirs: Times) -> None:
    """Every figure of the peer as a multiple of ours."""
    from latency import percentile

    rows, scope = len(job["texts"]), job["users"].count("us")
    for who, times in (("recollect", ours), (name, theirs)):
        rate, base = rows / times["insert"], rows / ours["insert"]
        bench.report.add(
            "peers",
            f"{who}: insert",
            rate,
            "texts/s",
            beside=("recollect", base),
            note=f"{times['how']}; {rows:,} texts",
        )
        for share in (50, 95):
            value, beside = percentile(times["queries"], share), percentile(ours["queries"], share)
            note = f"{scope:,} of {rows:,} memories are the user's; vectors given"
            bench.report.add("peers", f"{who}: query p{share}", value, "ms", beside=("recollect", beside), note=note)


def write_job(bench: Bench, folder: Path, rows: int) -> Job:
    """Texts, owners, questions and all their vectors, in a folder the peer can read."""
    import numpy as np

    from corpus import Corpus
    from latency import random_units

    corpus = Corpus(bench.seed)
    texts = list(corpus.sentences(rows))
    users = ["us" if i % 2 == 0 else f"user-{i % 20}" for i in range(rows)]
    ours = [text for text, user in zip(texts, users, strict=True) if user == "us"]
    asked = corpus.questions(ours[: bench.plan.real])
    questions = [next(asked) for _ in range(bench.plan.queries)]
    vectors = random_units(bench.seed, rows, bench.embedder.dim)
    places = [2 * i for i in range(min(bench.plan.real, len(ours)))]
    vectors[places] = bench.embedder.embed([texts[i] for i in places])
    folder.mkdir()
    np.save(folder / "texts.npy", vectors)
    np.save(folder / "questions.npy", bench.embedder.embed(questions))
    job: Job = {"texts": texts, "users": users, "questions": questions, "batch": BATCH, "limit": LIMIT}
    (folder / "job.json").write_text(json.dumps(job))
    return job


def do_ours(bench: Bench, job: Job, *, one_by_one: bool) -> Times:
    """The job in Recollect: the ordinary calls, durable when they return; recall is hybrid."""
    import numpy as np

    from latency import KnownVectors, timed
    from recollect.model import Scope

    folder = bench.folder / f"peer-{'mem0ai' if one_by_one else 'chromadb'}"
    vectors = np.concatenate([np.load(folder / "texts.npy"), np.load(folder / "questions.npy")])
    known = KnownVectors(bench.embedder, job["texts"] + job["questions"], vectors)
    with bench.open(f"ours-{one_by_one}", known) as memory:
        write = _remember if one_by_one else _record_many
        scopes = {user: Scope("bench", user) for user in set(job["users"])}
        insert = timed(lambda: (write(memory, scopes, job), memory.embed_pending()))
        memory.scope = scopes["us"]
        tiers = ("memory",) if one_by_one else ("turn",)
        ask = _asking(lambda question, _: memory.recall(question, limit=LIMIT, tiers=tiers, abstain=False))
        queries = ask(job["questions"], job["questions"])
    return {"insert": insert, "queries": queries, "how": "remember, one by one" if one_by_one else "record_many(100)"}


def _remember(memory: Any, scopes: dict[str, Any], job: Job) -> None:
    for text, user in zip(job["texts"], job["users"], strict=True):
        memory.scope = scopes[user]
        memory.remember(text)


def _record_many(memory: Any, scopes: dict[str, Any], job: Job) -> None:
    by_user: dict[str, list[str]] = {}
    for text, user in zip(job["texts"], job["users"], strict=True):
        by_user.setdefault(user, []).append(text)
    for user, texts in by_user.items():
        memory.scope = scopes[user]
        for start in range(0, len(texts), BATCH):
            memory.record_many([(f"s{start}", "user", text) for text in texts[start : start + BATCH]])


def install(name: str) -> str:
    """The Python of the peer's own environment, made if it is missing."""
    folder = HOME / name
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        print(f"installing {name} into {folder} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", name], check=True, stderr=subprocess.DEVNULL)
        (folder / ".ready").touch()
    return str(python)


def version(python: str, name: str) -> str:
    """The version of the installed peer."""
    code = f"from importlib.metadata import version; print(version({name!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


# -- the peers' side: runs in their environment ------------------------------------------------------------------------


def chromadb(job: Job, folder: Path, vectors: Any, asked: Any) -> Times:
    """A persistent collection with the default index; the user is a `where` condition."""
    import chromadb as chroma

    client = chroma.PersistentClient(str(folder / "chroma"), settings=chroma.Settings(anonymized_telemetry=False))
    collection = client.create_collection("memories", embedding_function=None, metadata={"hnsw:space": "cosine"})
    began, size = time.perf_counter(), job["batch"]
    for start in range(0, len(job["texts"]), size):
        part = slice(start, start + size)
        collection.add(
            ids=[str(i) for i in range(start, min(start + size, len(job["texts"])))],
            embeddings=vectors[part],
            documents=job["texts"][part],
            metadatas=[{"user": user} for user in job["users"][part]],
        )
    insert = time.perf_counter() - began
    ask = _asking(
        lambda _, vector: collection.query(query_embeddings=[vector], n_results=job["limit"], where={"user": "us"})
    )
    return {"insert": insert, "queries": ask(job["questions"], asked), "how": f"add, {size} at a time"}


def mem0ai(job: Job, folder: Path, vectors: Any, asked: Any) -> Times:
    """Its open-source `Memory` with its own default store (Qdrant on local files), `infer=False`."""
    os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(folder / "mem0"), OPENAI_API_KEY="none")  # before the import
    from mem0 import Memory

    memory = Memory.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {
                    "path": str(folder / "qdrant"),
                    "on_disk": True,
                    "embedding_model_dims": int(vectors.shape[1]),
                },
            },
            "history_db_path": str(folder / "history.db"),
        }
    )
    known = dict(zip(job["texts"] + job["questions"], [*vectors.tolist(), *asked.tolist()], strict=True))
    memory.embedding_model = _Known(known, asked[0].tolist())
    began = time.perf_counter()
    for text, user in zip(job["texts"], job["users"], strict=True):
        memory.add(text, user_id=user, infer=False)
    insert = time.perf_counter() - began
    ask = _asking(lambda question, _: memory.search(question, filters={"user_id": "us"}, top_k=job["limit"]))
    return {"insert": insert, "queries": ask(job["questions"], asked), "how": "add(infer=False), one by one"}


class _Known:
    """In place of mem0's embedder: looks vectors up. What it asks beside the texts (entities) gets a vector too."""

    def __init__(self, known: dict[str, list[float]], other: list[float]) -> None:
        self._known, self._other = known, other

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One vector."""
        return self._known.get(text, self._other)

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        """Several."""
        return [self.embed(text) for text in texts]


def _asking(ask: Callable[[Any, Any], Any]) -> Callable[[Any, Any], list[float]]:
    """Times of asking each question once, after the first five have warmed what there is to warm."""

    def run(questions: Any, vectors: Any) -> list[float]:
        times = []
        for question, vector in [*zip(questions[:5], vectors[:5], strict=True), *zip(questions, vectors, strict=True)]:
            began = time.perf_counter()
            ask(question, vector)
            times.append(time.perf_counter() - began)
        return times[5:]

    return run


def main(name: str, folder: Path) -> None:
    """Do the job in the folder as the named peer; the last line printed is the times."""
    import numpy as np

    job = json.loads((folder / "job.json").read_text())
    doing = {"chromadb": chromadb, "mem0ai": mem0ai}[name]
    print(json.dumps(doing(job, folder, np.load(folder / "texts.npy"), np.load(folder / "questions.npy"))))


if __name__ == "__main__":
    sys.path.remove(str(Path(__file__).parent))
    main(sys.argv[1], Path(sys.argv[2]))
