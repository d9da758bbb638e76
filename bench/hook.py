"""How long an agent waits for the hook, beside a bare interpreter started the same way in the same run.

In: how many starts, how many memories. Out: one table line a figure: the hook, `python -I -S -c pass`, and what the
hook adds; alone, and several at once. The two are started in turns, so that a busy neighbour disturbs both. Measured
are an event without an answer, a session's start, and a prompt answered from the prepared index and by a warm process.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from corpus import Corpus
from recollect import promptindex, settings, warmwire
from recollect.facade import Recollect
from recollect.models.port import Embedder
from recollect.warm.answers import Answers
from recollect.warm.server import WarmServer

ROOT = Path(__file__).resolve().parent.parent
HOOK = ROOT / "src" / "recollect" / "hook.py"
WEIGHTS = ROOT / ".cache" / "models" / "all-MiniLM-L6-v2"
BARE = (sys.executable, "-I", "-S", "-c", "pass")
AT_ONCE = (1, 8)
# Milliseconds that the hook may add at p95, by how many run at once.
GOALS = {"stop": (25.0, 150.0), "start": (25.0, 150.0), "index": (60.0, 150.0), "warm": (60.0, 150.0)}
START_CHARS = 6_000
OF_WARM = b"said by user"  # stands in what the warm process says, and not in the index made here


@dataclass(frozen=True, slots=True)
class Figure:
    """One line: a percentile of the hook and of a bare interpreter, in milliseconds, and how many were answered."""

    event: str
    at_once: int
    share: int
    hook: float
    bare: float
    answered: str

    @property
    def added(self) -> float:
        return self.hook - self.bare

    def line(self) -> str:
        """The line of the table."""
        goal = GOALS[self.event][AT_ONCE.index(self.at_once)] if self.share == 95 else None
        verdict = "" if goal is None else f"<= {goal:.0f} ms: {'met' if self.added <= goal else 'MISSED'}"
        ratio = f"{self.hook / self.bare:.2f}"
        return (
            f"| {self.event} | {self.at_once} | p{self.share} | {self.hook:.1f} ms | {self.bare:.1f} ms | "
            f"{self.added:+.1f} ms | {ratio} | {verdict} | {self.answered} |"
        )


class Payloads:
    """What an agent writes on stdin, each time from another session, and about another memory."""

    def __init__(self, event: str, size: int, prompts: Sequence[str]) -> None:
        self._event, self._prompts, self._count = event, prompts, 0
        self._message = ("The deploy goes out on Friday. " * (size // 31 + 1))[:size]

    def next(self) -> bytes:
        self._count += 1
        session = f"0199c0de-0000-7000-8000-{self._count:012d}"
        more = {
            "stop": {"hook_event_name": "Stop", "last_assistant_message": self._message},
            "start": {"hook_event_name": "SessionStart", "source": "startup"},
        }
        prompt = {"hook_event_name": "UserPromptSubmit", "prompt": self._prompts[self._count % len(self._prompts)]}
        path = f"/home/ann/.claude/projects/app/{session}.jsonl"
        given = {"session_id": session, "transcript_path": path, "cwd": "/home/ann/app"}
        return json.dumps({**given, **more.get(self._event, prompt)}).encode()


def waits(command: Sequence[str], stdins: Sequence[bytes]) -> tuple[list[float], list[bytes]]:
    """Seconds from start to end of processes started together, and what each of them printed."""
    began: dict[int, float] = {}
    running = []
    for _ in stdins:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        began[process.pid] = start
        running.append(process)
    for process, stdin in zip(running, stdins, strict=True):
        assert process.stdin
        try:
            process.stdin.write(stdin)
            process.stdin.close()
        except BrokenPipeError:
            pass  # the bare interpreter reads nothing
    taken = []
    while began:
        pid, status = os.waitpid(-1, 0)
        if pid in began:
            taken.append(time.perf_counter() - began.pop(pid))
            assert status == 0, command
    said = []
    for process in running:
        process.returncode = 0  # already waited for
        assert process.stdout
        with process.stdout as out:
            said.append(out.read() or b"")
    return taken, said


def percentile(times: Sequence[float], share: int) -> float:
    """In milliseconds, of times in seconds; the smallest that this share does not exceed."""
    ordered = sorted(times)
    return 1000 * ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def measure(data_dir: Path, event: str, payloads: Payloads, starts: int, at_once: int) -> list[Figure]:
    """Start hook and bare interpreter in turns, `starts` of each."""
    hook = (sys.executable, "-I", "-S", str(HOOK), str(data_dir), "claude")
    shutil.rmtree(data_dir / "spool", ignore_errors=True)
    for command in (hook, BARE):  # the first start reads files and makes the key
        waits(command, [payloads.next() for _ in range(at_once)])
    taken: dict[tuple[str, ...], list[float]] = {hook: [], BARE: []}
    said: list[bytes] = []
    for turn in range(-(-starts // at_once)):
        for command in (hook, BARE) if turn % 2 else (BARE, hook):
            times, printed = waits(command, [payloads.next() for _ in range(at_once)])
            taken[command] += times
            said += printed if command is hook else []
    written = len(list((data_dir / "spool").glob("*.record")))
    assert written == len(taken[hook]) + at_once, f"{written} records"
    answered = f"{sum(map(bool, said)) / len(said):.0%}"
    if event == "warm":
        answered += f", {sum(OF_WARM in one for one in said) / len(said):.0%} by the warm process"
    return [
        Figure(event, at_once, share, percentile(taken[hook], share), percentile(taken[BARE], share), answered)
        for share in (50, 95)
    ]


# -- what the hook finds -----------------------------------------------------------------------------------------------


def embedder_in(folder: Path | None) -> Embedder:
    """MiniLM where its weights are; else the one that needs none."""
    from recollect.models.minilm import MiniLM
    from recollect.models.tiny import TinyEmbedder

    return MiniLM(folder) if folder is not None and folder.is_dir() else TinyEmbedder()


def open_memory(data_dir: Path, model_dir: Path | None) -> Recollect:
    chosen = settings.load({}, data_dir=data_dir).settings
    return Recollect.open(settings=chosen, embedder=embedder_in(model_dir), background=False)


def fill(data_dir: Path, count: int, model_dir: Path | None) -> list[str]:
    """Memories with vectors, the files that lie ready for hooks, and prompts about some of the memories."""
    corpus = Corpus()
    memories = [replace(corpus.memory(), trust="user") for _ in range(count)]
    with open_memory(data_dir, model_dir) as memory:
        for one in memories:
            memory.store.memories.add(memory.scope, one)
        memory.embed_pending()
    prepared = data_dir / "prepared"
    for folder in ("start", "prompt"):
        (prepared / folder).mkdir(parents=True, mode=0o700)
    said = {"hookEventName": "SessionStart", "additionalContext": corpus.sentence() * (START_CHARS // 100)}
    entries = [(one.id, one.content, f"> {one.content}\n") for one in memories]
    files = {
        "mode": b"recall\n",
        "start/user.claude": json.dumps({"hookSpecificOutput": said}).encode(),
        "prompt/user.index": promptindex.build(entries),
    }
    for name, content in files.items():
        (prepared / name).write_bytes(content)
        (prepared / name).chmod(0o600)
    questions = corpus.questions([one.content for one in memories])
    telling = (question for question in questions if len(promptindex.asked_for(question)) > promptindex.MIN_WORDS)
    return list(islice(telling, 1_000))


def serve(data_dir: Path, model_dir: Path | None) -> None:
    """Be the warm process until stdin ends; says when it is warm."""
    with WarmServer(data_dir, lambda: Answers(lambda: open_memory(data_dir, model_dir))) as warm:
        assert warm.listens(5)
        request = warmwire.pack({"prompt": b"which port has postgres for development", "cwd": b"/"})
        state = warmwire.PASS
        while state == warmwire.PASS:
            answer = warmwire.ask(str(data_dir / warmwire.SOCKET), request, time.monotonic() + 60)
            state = answer["state"]
        print("warm", flush=True)
        sys.stdin.read()


@contextmanager
def serving(data_dir: Path, model_dir: Path | None) -> Iterator[None]:
    """A warm process beside the hooks."""
    words = [
        sys.executable,
        __file__,
        "--serve",
        str(data_dir),
        *(["--model-dir", str(model_dir)] if model_dir else []),
    ]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "warm\n"
        yield
        process.communicate()


# -- the command line --------------------------------------------------------------------------------------------------


def arguments(given: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=100, help="of each, alone; eight times as many at once")
    parser.add_argument("--size", type=int, default=2_000, help="characters of the message on stdin")
    parser.add_argument("--memories", type=int, default=10_000, help="that a prompt is held against")
    parser.add_argument("--only", choices=tuple(GOALS), action="append", help="measure only this")
    parser.add_argument("--model-dir", type=Path, default=WEIGHTS, help="where the weights of MiniLM are")
    parser.add_argument("--work-dir", type=Path, help="where the spool is (default: the temporary folder)")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    """Measure and print."""
    args = arguments(given)
    if args.serve:
        serve(args.serve, args.model_dir)
        return 0
    print(f"machine: {os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}; ", end="")
    print(f"load {os.getloadavg()[0]:.2f}; {args.memories:,} memories\n")
    print("| event | at once | share | hook | bare python | added | ratio | goal | answered |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="recollect-bench-", dir=args.work_dir))
    try:
        prompts = fill(folder / "data", args.memories, args.model_dir)
        for event in args.only or GOALS:
            with serving(folder / "data", args.model_dir) if event == "warm" else nullcontext():
                for at_once in AT_ONCE:
                    payloads = Payloads(event, args.size, prompts)
                    (folder / "data" / "said").unlink(missing_ok=True)
                    for figure in measure(folder / "data", event, payloads, args.starts * at_once, at_once):
                        print(figure.line(), flush=True)
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
