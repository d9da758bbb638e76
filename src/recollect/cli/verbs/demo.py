"""`recollect demo`: sample sessions into a temporary memory, then real questions to it. Leaves nothing behind.

The sessions ship in `recollect/demo`: each file is a header (session, title, project, how many days ago) and its
messages by the minute, so that their ages read the same whenever it is run.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.cli.cards import gist_lines, hit_lines
from recollect.cli.opening import find_place
from recollect.cli.wording import in_words
from recollect.clock import now
from recollect.model import Scope

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.facade import Recollect

SAMPLES = Path(__file__).parents[2] / "demo"
PROJECT = "github.com/harbor/tide"
OWNER = Scope("demo", "you")


class Ask(NamedTuple):
    """A question of the demo, and what it shows."""

    question: str
    shows: str
    options: dict[str, Any]


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--model-dir", type=Path, metavar="DIR", help="where the embedding model is installed")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the demo's data here (must not exist)")


def run(args: Namespace, console: Output) -> int:
    from recollect.facade import Recollect

    started = time.perf_counter()
    with _folder(args.keep) as folder:
        settings = replace(find_place(args).loaded.settings, data_dir=folder, model_dir=_model_dir(args), project="")
        with Recollect.open(settings=settings, scope=OWNER, background=False) as memory:
            told = _tell(memory, console)
    told["seconds"] = round(time.perf_counter() - started, 2)
    if console.json:
        console.document(told)
        return 0
    kept = f"The data is kept in {args.keep}." if args.keep else "The demo's data is removed again."
    console.line()
    console.line(f"That took {told['seconds']:.1f} seconds. {kept}")
    console.line("Your turn: ", ('recollect remember "…"', "bold"), "  then  ", ('recollect recall "…"', "bold"))
    return 0


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    from tempfile import TemporaryDirectory

    from recollect.errors import InvalidInput

    if keep is not None:
        if keep.exists():
            raise InvalidInput(f"{keep} exists already", hint="Give --keep a new directory.")
        yield keep
        return
    with TemporaryDirectory(prefix="recollect-demo-") as name:
        yield Path(name) / "data"


def _model_dir(args: Namespace) -> Path:
    from recollect.cli.verbs.model import weights_folder

    return Path(args.model_dir) if args.model_dir else weights_folder(find_place(args))


# -- the story ---------------------------------------------------------------------------------------------------------


def _tell(memory: Recollect, console: Output) -> dict[str, Any]:
    """Fill the memory, ask it, show the rest; the same as one document for --json."""
    at = now()
    if not console.json:
        console.heading("Four sessions of four agents go in")
    sessions = _load_sessions(memory, at)
    _remember(memory, at)
    hybrid = memory.embedder() is not None
    vectors = memory.embed_pending()
    if not console.json:
        _introduce(memory, sessions, console, vectors, hybrid=hybrid)
    answers = [_ask(memory, ask, console) for ask in _questions(at)]
    gist = memory.summarize("claude:5d1f0c7e")
    block = memory.context("How does tide run background jobs, and how is it deployed?", 400)
    if not console.json:
        console.heading("What a session was about, in short (no language model was asked)")
        console.lines(list(gist_lines(gist)) if gist else [])
        console.heading(f"The same memory as text for a prompt ({block.tokens} tokens of at most 400)")
        console.raw(block.text)
    mode = "hybrid" if hybrid else "lexical"
    return {"sessions": sessions, "mode": mode, "answers": answers, "gist": gist, "context": block}


def _load_sessions(memory: Recollect, at: datetime) -> list[dict[str, Any]]:
    told = []
    for file in sorted(SAMPLES.glob("*.jsonl")):
        head, *messages = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        start = at - timedelta(days=head["days_ago"])
        inside = _within(memory, head["project"])
        inside.record_many(
            [
                (head["session"], one["role"], one["content"], start + timedelta(minutes=one["minute"]))
                for one in messages
            ]
        )
        inside.ensure_session(head["session"], head["title"])
        inside.summarize(head["session"])
        told.append({"session": head["session"], "title": head["title"], "messages": len(messages), "at": start})
    return sorted(told, key=lambda one: one["at"])


def _within(memory: Recollect, project: str | None) -> Recollect:
    """The same open store, in a project."""
    from recollect.facade import Recollect

    return Recollect(memory.store, memory.scope.within(project), memory.settings, embedder=None, background=False)


def _remember(memory: Recollect, at: datetime) -> None:
    """A few memories, one of them said anew later."""
    tide = _within(memory, PROJECT)
    tide.remember(
        "The job queue of tide is a Postgres table read with SKIP LOCKED; Redis is only a cache.",
        kind="decision",
        why="a killed worker lost its job, and one database is enough to operate",
        tags=["jobs", "postgres"],
        session="claude:5d1f0c7e",
        occurred_at=at - timedelta(days=38),
    )
    tide.remember(
        "Store and compare times in UTC; convert only for display.",
        kind="lesson",
        why="test_forecast_window failed on CI after 22:00 UTC because of a naive datetime.now()",
        tags=["time"],
        session="codex:0199a4c2",
        occurred_at=at - timedelta(days=17.5),
    )
    port = tide.remember(
        "tide listens on port 8000.", kind="fact", tags=["deploy"], occurred_at=at - timedelta(days=60)
    )
    tide.supersede(
        port.id, "tide listens on port 8080.", why="the new ingress expects it", occurred_at=at - timedelta(days=6.1)
    )
    tide.remember(
        "Deploy on weekdays before 16:00 only.", kind="preference", session="grok:7b20e9aa", tags=["deploy"],
        occurred_at=at - timedelta(days=6.1),
    )  # fmt: skip
    memory.remember(
        "Mira is allergic to peanuts.", kind="fact", importance=0.9, session="chat:lisbon",
        occurred_at=at - timedelta(days=2.3),
    )  # fmt: skip


def _questions(at: datetime) -> list[Ask]:
    then = f"{at - timedelta(days=20):%Y-%m-%d}"
    return [
        Ask("Why did we stop keeping jobs in Redis?", "a decision, with its reason",
            {"limit": 1, "tiers": ("memory",)}),
        Ask("forecast test fails only on CI at night, how was it fixed?", "an error and its fix, weeks later",
            {"limit": 2, "tiers": ("memory", "turn")}),
        Ask("Which port does tide listen on?", "what is true now", {"limit": 1, "tiers": ("memory",)}),
        Ask("Which port does tide listen on?", f"what was true on {then}",
            {"limit": 1, "tiers": ("memory",), "as_of": then}),
        Ask("What must the family cook avoid for the child?", "something said in passing, in a chat", {"limit": 1}),
        Ask("What is the wifi password of the office?", "nobody ever said: it says nothing rather than guess", {}),
    ]  # fmt: skip


# -- showing it --------------------------------------------------------------------------------------------------------


def _introduce(
    memory: Recollect, sessions: list[dict[str, Any]], console: Output, vectors: int, *, hybrid: bool
) -> None:
    rows = [[one["session"], f"{one['at']:%Y-%m-%d}", str(one["messages"]), one["title"]] for one in sessions]
    console.table(("session", "when", "messages", "title"), rows)
    console.line(f"Kept: {in_words(memory.health().counts)}.")
    if hybrid:
        console.line(f"Searching by words and by meaning: {vectors} texts were embedded on this machine.")
    else:
        console.line(("Words only: the embedding model is not installed.", "bold yellow"), " Answers by meaning need")
        console.line("`recollect model install` (84 MB, once); then run the demo again.")


def _ask(memory: Recollect, ask: Ask, console: Output) -> dict[str, Any]:
    started = time.perf_counter()
    found = memory.recall(ask.question, **ask.options)
    spent = (time.perf_counter() - started) * 1_000
    if not console.json:
        console.heading(ask.shows)
        console.line(("? ", "bold yellow"), (ask.question, "bold"), (f"   {spent:.0f} ms, {found.mode}", "dim"))
        if not found.hits:
            console.line(("  (nothing) ", "bold"), "abstained: " if found.abstained else "", found.note or "")
        for hit in found.hits:
            console.lines(list(hit_lines(hit)))
    return {"question": ask.question, "shows": ask.shows, "recall": found}
