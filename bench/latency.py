"""How fast Recollect is on this machine, every figure beside what it is measured against in the same run.

In: sizes and a seed. Out: one table line a figure (`--json` for machines): value, ratio to a baseline, goal. Sections:
ingest, recall (warm), growth (same scope, larger store), cold (new process), memory; `--peers` adds other programs.
Machines and neighbours differ: compare the ratios, not the milliseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

import peers
from corpus import Corpus
from recollect import settings
from recollect.facade import Recollect
from recollect.ids import uuid7
from recollect.model import TIERS, Memory, Scope, Tier
from recollect.models.port import Embedder, for_questions
from recollect.store.ports.search import Waiting

ROOT = Path(__file__).resolve().parent.parent
OURS = Scope("bench", "us")
BATCH = 100  # messages in one record_many, as when a session is swept
COMMIT = 20_000  # rows in one transaction while a large store is built
TURNS = 20  # in a session
BARE_PYTHON = "python -c pass"
DATABASE = "recollect.db"


@dataclass(frozen=True, slots=True)
class Plan:
    """The sizes of a run."""

    ingest: int = 2_000
    scope: int = 10_000
    real: int = 500
    queries: int = 300
    growth: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    starts: int = 15
    peer_rows: int = 20_000


QUICK = Plan(ingest=60, scope=400, real=40, queries=15, growth=(400, 1_200), starts=2, peer_rows=800)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line: what was measured, how much it was, and how that compares."""

    section: str
    name: str
    value: float | None
    unit: str
    ratio: float | None
    baseline: str
    goal: str
    met: bool | None
    note: str

    def line(self) -> str:
        """The line of the table."""
        value = "-" if self.value is None else f"{self.value:,.{0 if self.value >= 1000 else 2}f} {self.unit}"
        ratio = "" if self.ratio is None else f"{self.ratio:.2f} x {self.baseline}"
        goal = self.goal + {None: "", True: ": met", False: ": MISSED"}[self.met]
        return f"| {self.section} | {self.name} | {value} | {ratio} | {goal} | {self.note} |"


@dataclass(slots=True)
class Report:
    """The figures so far, each printed as it comes."""

    figures: list[Figure] = field(default_factory=list)

    def add(
        self,
        section: str,
        name: str,
        value: float | None,
        unit: str,
        *,
        beside: tuple[str, float] | None = None,
        goal: tuple[str, bool] | None = None,
        note: str = "",
    ) -> None:
        """Take in and print one figure; `beside` is the baseline and its value."""
        baseline, base = beside or ("", 0.0)
        ratio = None if value is None or not base else value / base
        text, met = goal or ("", None)
        if not self.figures:
            print("| section | figure | value | ratio | goal | note |\n|---|---|---|---|---|---|")
        self.figures.append(Figure(section, name, value, unit, ratio, baseline, text, met, note))
        print(self.figures[-1].line(), flush=True)


@dataclass(frozen=True, slots=True)
class Bench:
    """What every section needs: where to work, how large, with which embedder, and where figures go."""

    folder: Path
    plan: Plan
    seed: int
    embedder: Embedder
    model_dir: Path | None
    report: Report
    keep: bool = False

    def open(self, name: str, embedder: Embedder | None = None, *, background: bool = False) -> Recollect:
        """A memory in a folder of its own."""
        chosen = settings.load({}, data_dir=self.folder / name).settings
        return Recollect.open(scope=OURS, settings=chosen, embedder=embedder or self.embedder, background=background)


class KnownVectors:
    """An embedder that has embedded everything before: recall without the cost of embedding."""

    def __init__(self, model: Embedder, texts: Sequence[str], vectors: NDArray[np.float32] | None = None) -> None:
        self.name, self.dim = model.name, model.dim
        vectors = model.embed(list(texts)) if vectors is None else vectors
        self._known = dict(zip(texts, vectors, strict=True))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors, looked up."""
        return np.stack([self._known[text] for text in texts])


# -- ingest ------------------------------------------------------------------------------------------------------------


def ingest(bench: Bench) -> None:
    """Texts alone, one by one and in batches, beside bare SQLite; then with vectors, beside the bare embedder."""
    texts = list(Corpus(bench.seed).sentences(bench.plan.ingest))
    ways: list[tuple[str, int, Callable[[Recollect], object]]] = [
        ("remember", 1, lambda memory: [memory.remember(text) for text in texts]),
        ("record", 1, lambda memory: [memory.record(f"one-{i // 50}", "user", t) for i, t in enumerate(texts)]),
        (f"record_many({BATCH})", BATCH, lambda memory: record_in_batches(memory, texts)),
    ]
    bare = {}
    for batch in (1, BATCH):
        bare[batch] = len(texts) / bare_sqlite(bench.folder / f"bare-{batch}.db", texts, batch)
        name = f"bare SQLite, {batch} a commit"
        bench.report.add("ingest", name, bare[batch], "texts/s", beside=("bare SQLite", bare[batch]))
    with bench.open("ingest-text") as memory:
        for name, batch, write in ways:
            rate = len(texts) / timed(lambda write=write: write(memory))
            bench.report.add("ingest", f"text only, {name}", rate, "texts/s", beside=("bare SQLite", bare[batch]))
    with_vectors(bench, texts, "remember", lambda memory, some: [memory.remember(text) for text in some])
    with_vectors(bench, texts, f"record_many({BATCH})", record_in_batches)


def with_vectors(bench: Bench, texts: list[str], name: str, write: Callable[[Recollect, list[str]], object]) -> None:
    """From the first write until nothing waits, in turns with the embedder alone on the same texts."""
    bench.embedder.embed(texts[:8])
    alone = ours = 0.0
    part = -(-len(texts) // 5)
    with bench.open(f"ingest-{len(name)}", background=True) as memory:
        for start in range(0, len(texts), part):
            some = texts[start : start + part]
            alone += timed(lambda some=some: bench.embedder.embed(some))
            ours += timed(lambda some=some: (write(memory, some), until_embedded(memory)))
    rate, goal = len(texts) / alone, (">= 0.90", alone / ours >= 0.9)
    bench.report.add("ingest", f"embedder alone, beside {name}", rate, "texts/s", beside=("embedder alone", rate))
    bench.report.add(
        "ingest", f"with vectors, {name}", len(texts) / ours, "texts/s", beside=("embedder alone", rate), goal=goal
    )


def bare_sqlite(path: Path, texts: list[str], batch: int) -> float:
    """Seconds to put the texts into a plain table of a SQLite file with the same promises (WAL, synchronous=FULL)."""
    connection = apsw.Connection(str(path))
    for statement in ("PRAGMA journal_mode = wal", "PRAGMA synchronous = full", "CREATE TABLE texts (text TEXT)"):
        connection.execute(statement).fetchall()

    def insert() -> None:
        for start in range(0, len(texts), batch):
            with connection:
                connection.executemany("INSERT INTO texts VALUES (?)", [(t,) for t in texts[start : start + batch]])

    seconds = timed(insert)
    connection.close()
    return seconds


def record_in_batches(memory: Recollect, texts: list[str]) -> None:
    """Each text a turn, a session a batch."""
    for start in range(0, len(texts), BATCH):
        session = uuid7()
        memory.record_many([(session, "user", text) for text in texts[start : start + BATCH]])


def until_embedded(memory: Recollect) -> None:
    """Wait for the background worker."""
    while memory.store.vectors.pending():
        time.sleep(0.002)


# -- recall, warm ------------------------------------------------------------------------------------------------------


def recall(bench: Bench) -> None:
    """Recall in a scope of many memories and many turns, beside the embedder on questions of the same making."""
    said = build_scope(bench)
    corpus = Corpus(bench.seed + 1)
    asked: tuple[tuple[str, tuple[Tier, ...]], ...] = (
        ("memories", ("memory",)),
        ("turns", ("turn",)),
        ("all tiers", TIERS),
    )
    with bench.open("scope") as memory:
        for name, tiers in asked:
            ask_in_turns(bench, memory, name, tiers, corpus.questions(said))


def ask_in_turns(bench: Bench, memory: Recollect, name: str, tiers: tuple[Tier, ...], asked: Iterator[str]) -> None:
    """The embedder, hybrid recall and lexical recall, each with questions of its own, one after the other."""

    def ask(mode: str) -> tuple[float, float]:
        question = next(asked)
        if mode == "embedder alone":
            return clocked(lambda: for_questions(bench.embedder).embed([question]))
        return clocked(lambda: memory.recall(question, tiers=tiers, mode=mode))

    modes = ("embedder alone", "hybrid", "lexical")
    for _ in range(10):
        [ask(mode) for mode in modes]
    rounds = [[ask(mode) for mode in modes] for _ in range(bench.plan.queries)]
    for share in (50, 95):
        walls = [[one[0] for one in times] for times in zip(*rounds, strict=True)]
        busy = [[one[1] for one in times] for times in zip(*rounds, strict=True)]
        values, alone = [percentile(times, share) for times in walls], percentile(walls[0], share)
        goals = (None, ("<= embedder + 4 ms", values[1] <= alone + 4), ("<= 5 ms", values[2] <= 5))
        for mode, value, cpu, goal in zip(modes, values, busy, goals, strict=True):
            bench.report.add(
                "recall",
                f"{name}, {mode}, p{share}",
                value,
                "ms",
                beside=("embedder alone", alone),
                goal=goal if share == 95 else None,
                note=f"processor {percentile(cpu, share):.2f} ms; embedder {value - alone:+.2f} ms",
            )


def build_scope(bench: Bench) -> list[str]:
    """A scope of `plan.scope` memories, as many turns and their gists; returns the texts whose vectors are real."""
    plan, corpus = bench.plan, Corpus(bench.seed)
    with bench.open("scope") as memory:
        fill(memory, ((OURS, corpus.memory()) for _ in range(plan.scope)))
        for session in range(plan.scope // TURNS):
            memory.record_many(corpus.conversation(f"chat:{session}", TURNS))
            memory.summarize(f"chat:{session}")
        rows: dict[Tier, list[Waiting]] = {tier: [] for tier in TIERS}
        while waiting := memory.store.vectors.waiting(10**9):  # an owner gets some thousands at a time
            for tier in TIERS:
                if items := [item for item in waiting if item.tier == tier]:
                    put_vectors(memory, bench, items, max(0, plan.real - len(rows[tier])))
                    rows[tier] += items
        counts = ", ".join(f"{len(items):,} of tier {tier}" for tier, items in rows.items())
        bench.report.add(
            "recall", "database of the scope", file_bytes(memory) / 1e6, "MB",
            note=f"{counts}; {plan.real} vectors a tier are real, the others random",
        )  # fmt: skip
    return [item.texts[0] for items in rows.values() for item in items[: plan.real]]


def put_vectors(memory: Recollect, bench: Bench, items: list[Waiting], real: int) -> None:
    """Real vectors for the first of them, random unit vectors for the rest; as many for each as it has texts."""
    texts = [text for item in items[:real] for text in item.texts]
    vectors = random_units(bench.seed, sum(len(item.texts) for item in items), bench.embedder.dim)
    if texts:
        vectors[: len(texts)] = bench.embedder.embed(texts)
    ends = np.cumsum([len(item.texts) for item in items])
    parts = np.split(vectors, ends[:-1])
    memory.store.vectors.put((bench.embedder.name, bench.embedder.dim), zip(items, parts, strict=True))


def random_units(seed: int, count: int, dim: int) -> NDArray[np.float32]:
    """Random vectors of length one."""
    vectors = np.random.default_rng(seed).standard_normal((count, dim), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


# -- growth ------------------------------------------------------------------------------------------------------------


def growth(bench: Bench) -> None:
    """The same scope in ever larger stores, its rows strewn among those of other owners."""
    first: dict[tuple[str, int], float] = {}
    for size in bench.plan.growth:
        asked = Corpus(bench.seed + 1).questions(build_grown(bench, size))
        asked = [next(asked) for _ in range(2 * bench.plan.queries + 20)]
        with bench.open(f"grown-{size}", KnownVectors(bench.embedder, asked)) as memory:
            ask_grown(bench, memory, size, asked, first)
            file_size(bench, memory, size)
        if not bench.keep:
            (bench.folder / f"grown-{size}" / DATABASE).unlink()


def ask_grown(
    bench: Bench, memory: Recollect, size: int, asked: list[str], first: dict[tuple[str, int], float]
) -> None:
    """Ask, and compare with the smallest store (`first`)."""
    times: dict[str, list[tuple[float, float]]] = {"lexical": [], "hybrid": []}
    for i, question in enumerate(asked):
        mode = ("lexical", "hybrid")[i % 2]
        times[mode].append(clocked(lambda q=question, m=mode: memory.recall(q, tiers=("memory",), mode=m)))
    for mode, share in ((mode, share) for mode in times for share in (50, 95)):
        value, cpu = (percentile(part, share) for part in zip(*times[mode][10:], strict=True))
        base = first.setdefault((mode, share), value)
        bench.report.add(
            "growth",
            f"{size:,} rows, {mode}, p{share}",
            value,
            "ms",
            beside=("the smallest store", base),
            goal=("<= 1.5 x", value <= 1.5 * base) if size > min(bench.plan.growth) else None,
            note=f"processor {cpu:.2f} ms" + ("; vector of the question given" if mode == "hybrid" else ""),
        )


def file_size(bench: Bench, memory: Recollect, size: int) -> None:
    """Bytes of the file, beside the bytes of the texts and of the vectors as float32."""
    with memory.store.database.reading() as connection:
        texts = connection.execute("SELECT sum(length(CAST(content AS BLOB))) FROM memories").fetchone()[0]
        vectors = connection.execute("SELECT count(*) FROM vectors").fetchone()[0]
    database, bare = file_bytes(memory), texts + vectors * 4 * bench.embedder.dim
    bench.report.add(
        "growth",
        f"{size:,} rows, database",
        database / 1e6,
        "MB",
        beside=("text + float32 vectors", bare / 1e6),
        goal=("<= 3 x", database <= 3 * bare) if vectors == size else None,
        note=f"{database / size:,.0f} bytes a row; {vectors:,} rows have vectors",
    )


def build_grown(bench: Bench, size: int) -> list[str]:
    """A store of `size` memories, `plan.scope` of them ours, evenly strewn; returns some of our texts."""
    plan, began = bench.plan, time.perf_counter()
    ours, theirs = Corpus(bench.seed), Corpus(bench.seed + 2)
    every = max(1, size // plan.scope)
    mine: list[str] = []

    def rows() -> Iterator[tuple[Scope, Memory]]:
        for i in range(size):
            if i % every == 0 and len(mine) < plan.scope:
                memory = ours.memory()
                mine.append(memory.content)
                yield OURS, memory
            else:
                yield Scope("bench", f"user-{theirs.random.randrange(every)}"), theirs.memory()

    with bench.open(f"grown-{size}") as memory:
        fill(memory, rows())
        with memory.store.database.reading() as connection:
            queue = list(connection.execute("SELECT doc, ticket FROM pending WHERE owner = 1 ORDER BY doc"))
        items = [Waiting("memory", doc, ticket, (text,), 1) for (doc, ticket), text in zip(queue, mine, strict=True)]
        put_vectors(memory, bench, items, plan.real)
    seconds = time.perf_counter() - began
    bench.report.add("growth", f"{size:,} rows, built", size / seconds, "rows/s", note=f"in {seconds:.0f} s")
    return mine[: plan.real]


def fill(memory: Recollect, rows: Iterable[tuple[Scope, Memory]]) -> None:
    """Write memories through the port, many in one transaction."""
    rows = iter(rows)
    written = COMMIT
    while written == COMMIT:
        with memory.store.database.writing():
            written = sum(1 for _, item in zip(range(COMMIT), rows, strict=False) if memory.store.memories.add(*item))


def file_bytes(memory: Recollect) -> int:
    """Size of the database with the write-ahead log emptied into it."""
    memory.store.database.checkpoint()
    return memory.store.database.path.stat().st_size


# -- a new process -----------------------------------------------------------------------------------------------------


def cold(bench: Bench) -> None:
    """From nothing to an answer on the command line, in turns with a bare interpreter."""
    question, env = ensure_scope(bench), child_environment(bench)
    command = [sys.executable, "-m", "recollect"]
    runs = {
        BARE_PYTHON: [sys.executable, "-c", "pass"],
        "recollect --version": [*command, "--version"],
        "recollect recall --mode lexical": [*command, "recall", "--mode", "lexical", question],
        "recollect recall": [*command, "recall", question],
    }
    failed = {name: reason for name, run in runs.items() if (reason := failure(run, env))}
    if bench.model_dir is None:
        failed["recollect recall"] = "no weights"
    taken: dict[str, list[float]] = {name: [] for name in runs if name not in failed}
    for _ in range(bench.plan.starts):
        for name in taken:
            taken[name].append(timed(lambda name=name: subprocess.run(runs[name], env=env, capture_output=True)))
    bare = 1000 * statistics.median(taken[BARE_PYTHON])
    for name in runs:
        if name in failed:
            bench.report.add("cold", name, None, "ms", note=f"not measured: {failed[name]}")
            continue
        value = 1000 * statistics.median(taken[name])
        goal = ("<= bare + 150 ms", value <= bare + 150) if name.endswith("lexical") else None
        note = f"median of {bench.plan.starts}, bare {value - bare:+.0f} ms"
        bench.report.add("cold", name, value, "ms", beside=(BARE_PYTHON, bare), goal=goal, note=note)


def failure(command: list[str], env: dict[str, str]) -> str:
    """Why a command does not work here; empty when it does. Also the run that warms the caches."""
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    return (done.stderr.strip().splitlines() or ["it failed"])[-1][:80] if done.returncode else ""


def child_environment(bench: Bench) -> dict[str, str]:
    """No settings from outside; our owner and our store, and the weights if there are any."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    env |= {"RECOLLECT_TENANT": OURS.tenant, "RECOLLECT_USER": OURS.user, "HOME": str(bench.folder)}
    env["RECOLLECT_DATA_DIR"] = str(bench.folder / "scope")
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is compiled once
    env["PYTHONPYCACHEPREFIX"] = str(bench.folder / "compiled")
    return env | ({"RECOLLECT_MODEL_DIR": str(bench.model_dir)} if bench.model_dir else {})


def ensure_scope(bench: Bench) -> str:
    """Build the scope if no other section has; returns a question about it."""
    if not (bench.folder / "scope").exists():
        build_scope(bench)
    corpus = Corpus(bench.seed)
    return corpus.question(corpus.sentence())


# -- memory ------------------------------------------------------------------------------------------------------------

PROBE = """
import resource, sys
from pathlib import Path

def used():
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    now = [int(line.split()[1]) for line in lines if line.startswith("VmRSS")]
    print((now or [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss])[0] / 1024)

what, data, weights, question = sys.argv[1:]
if what == "nothing":
    used()
    raise SystemExit
if weights:
    from recollect.models.minilm import MiniLM
    embedder = MiniLM(Path(weights))
else:
    from recollect.models.tiny import TinyEmbedder
    embedder = TinyEmbedder()
if what == "embedder":
    from recollect.models.port import for_questions
    for_questions(embedder).embed([question])
    used()
    raise SystemExit
from recollect import settings
from recollect.facade import Recollect
from recollect.model import Scope
chosen = settings.load({}, data_dir=data).settings
with Recollect.open(scope=Scope("bench", "us"), settings=chosen, embedder=embedder, background=False) as memory:
    if what != "open":
        memory.recall(question, tiers=("memory",), mode=what)
    used()
"""


def memory(bench: Bench) -> None:
    """Resident memory of fresh processes that each do one thing more."""
    question = ensure_scope(bench)
    names = {
        "nothing": "bare interpreter",
        "open": "after open",
        "lexical": "after the first lexical recall",
        "embedder": "embedder alone after one text",
        "hybrid": "after the first hybrid recall",
    }
    used = {}
    for what, name in names.items():
        given = [what, str(bench.folder / "scope"), str(bench.model_dir or ""), question]
        run = subprocess.run([sys.executable, "-c", PROBE, *given], capture_output=True, text=True, check=True)
        used[what] = float(run.stdout)
        base = "embedder" if what == "hybrid" else "nothing"
        bench.report.add("memory", name, used[what], "MB", beside=(names[base], used[base]))


# -- running -----------------------------------------------------------------------------------------------------------

SECTIONS: dict[str, Callable[[Bench], None]] = {
    "ingest": ingest,
    "recall": recall,
    "growth": growth,
    "cold": cold,
    "memory": memory,
}


def timed(work: Callable[[], object]) -> float:
    """Seconds the work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def clocked(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds the work takes, and of them what this process had the processor: neighbours disturb that less."""
    began = time.process_time()
    wall = timed(work)
    return wall, time.process_time() - began


def percentile(times: Sequence[float], share: int) -> float:
    """In milliseconds, of times in seconds."""
    return float(np.percentile(times, share)) * 1000


def machine() -> str:
    """What this runs on."""
    import onnxruntime

    return (
        f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, "
        f"SQLite {apsw.sqlite_lib_version()}, numpy {np.__version__}, onnxruntime {onnxruntime.__version__}"
    )


def choose_embedder(name: str, model_dir: Path) -> Embedder:
    """MiniLM from a folder (`exact`: for questions too), or the tiny one that needs no weights."""
    if name == "tiny":
        from recollect.models.tiny import TinyEmbedder

        return TinyEmbedder()
    from recollect.models.minilm import MiniLM

    return MiniLM(model_dir, quick=name != "exact")


def arguments(given: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="sections, with commas: " + ", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run, not how fast")
    parser.add_argument("--peers", nargs="?", const=",".join(peers.PEERS), help="compare: " + ", ".join(peers.PEERS))
    parser.add_argument("--embedder", choices=("minilm", "exact", "tiny"), default="minilm")
    parser.add_argument("--model-dir", type=Path, default=ROOT / ".cache/models/all-MiniLM-L6-v2")
    parser.add_argument("--growth", help="store sizes, with commas")
    parser.add_argument("--peer-rows", type=int, help="memories in the peers' store, half of them one user's")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--work-dir", type=Path, help="where the stores are built (default: the temporary folder)")
    parser.add_argument("--keep", action="store_true", help="leave the stores there, to look into them")
    args = parser.parse_args(given)
    args.peers = args.peers.split(",") if args.peers else []
    args.only = args.only.split(",") if args.only else [] if args.peers else list(SECTIONS)
    unknown = [name for name in args.only if name not in SECTIONS] + [n for n in args.peers if n not in peers.PEERS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    return args


def plan_of(args: argparse.Namespace) -> Plan:
    """The sizes asked for."""
    plan = QUICK if args.quick else Plan()
    if args.growth:
        plan = replace(plan, growth=tuple(sorted(int(size) for size in args.growth.split(","))))
    return replace(plan, peer_rows=args.peer_rows) if args.peer_rows else plan


def main(given: list[str] | None = None) -> int:
    """Run what is asked for."""
    args, report, began = arguments(given), Report(), time.perf_counter()
    print(f"machine: {machine()}; seed {args.seed}; embedder {args.embedder}; load {os.getloadavg()[0]:.2f}\n")
    folder = Path(tempfile.mkdtemp(prefix="recollect-bench-", dir=args.work_dir))
    try:
        model_dir = None if args.embedder == "tiny" else args.model_dir.resolve()
        embedder = choose_embedder(args.embedder, args.model_dir)
        bench = Bench(folder, plan_of(args), args.seed, embedder, model_dir, report, args.keep)
        for section in args.only:
            SECTIONS[section](bench)
        for name in args.peers:
            peers.compare(bench, name)
    finally:
        if not args.keep:
            shutil.rmtree(folder)
    print(f"\n{time.perf_counter() - began:.0f} s; load {os.getloadavg()[0]:.2f}")
    if args.json:
        figures = [asdict(figure) for figure in report.figures]
        args.json.write_text(json.dumps({"machine": machine(), "seed": args.seed, "figures": figures}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
