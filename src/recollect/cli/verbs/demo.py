"""`recollect demo`: sample sessions are captured into a temporary memory, which is then asked. Leaves nothing behind.

The transcripts of three coding agents that ship with Recollect (`recollect.cli.samples`) are copied into the temporary
directory and swept there; the sessions of this user's own agents, and settings about them, are not looked at.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.cli import samples
from recollect.cli.cards import digest_lines, gist_lines, hit_lines
from recollect.cli.opening import find_place
from recollect.cli.wording import in_words
from recollect.clock import now
from recollect.model import Scope

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.distill.digest import Digest
    from recollect.facade import Recollect
    from recollect.model import Memory, Session
    from recollect.pipeline.sweep import Report
    from recollect.settings import Settings

OWNER = Scope("demo", "you")
_OUTCOMES = ("added", "superseding")
_OWN = (
    *("embedder", "embedding_url", "embedding_model", "embedding_dim", "embedding_api_key", "threads"),
    "quick_questions",
)


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
        settings = _settings(args, args.keep or folder / "data")
        with Recollect.open(settings=settings, scope=OWNER, background=False) as memory:
            told = _tell(memory, folder / "agents", console)
    told["seconds"] = round(time.perf_counter() - started, 2)
    if console.json:
        console.document(told)
        return 0
    kept = f"The data is kept in {args.keep}." if args.keep else "The demo's data is removed again."
    console.line()
    console.line(f"That took {told['seconds']:.1f} seconds. {kept}")
    console.line("Your turn: ", ("recollect install", "bold"), "  for your agents,")
    console.line("           ", ("recollect sweep", "bold"), "    for their sessions so far")
    return 0


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    from tempfile import TemporaryDirectory

    from recollect.errors import InvalidInput

    if keep is not None and keep.exists():
        raise InvalidInput(f"{keep} exists already", hint="Give --keep a new directory.")
    with TemporaryDirectory(prefix="recollect-demo-") as name:
        yield Path(name)


def _settings(args: Namespace, data_dir: Path) -> Settings:
    """The defaults, so that the story is the same everywhere; only the embedder is this user's."""
    from recollect.cli.verbs.model import weights_folder
    from recollect.settings import Settings

    place = find_place(args)
    own = {name: getattr(place.loaded.settings, name) for name in _OWN}
    model_dir = Path(args.model_dir) if args.model_dir else weights_folder(place)
    aliases = {samples.DIRECTORY: samples.PROJECT}
    return Settings(data_dir=data_dir, model_dir=model_dir, projects=aliases, **own)


# -- the story ---------------------------------------------------------------------------------------------------------


def _tell(memory: Recollect, folder: Path, console: Output) -> dict[str, Any]:
    """Fill the memory, ask it, show the rest; the same as one document for --json."""
    at = now()
    told = _capture(memory, folder, at, console)
    told["answers"] = [_ask(memory, ask, console) for ask in _questions(at)]
    gist = memory.gist(samples.CLAUDE)
    block = samples.within(memory, samples.PROJECT).standing("claude")
    if not console.json:
        console.heading("What a session was about, in sentences (no language model was asked)")
        console.lines(list(gist_lines(gist)) if gist else [])
        console.heading(f"What tomorrow's first session in {samples.PROJECT} begins with ({block.tokens} tokens)")
        console.raw(block.text)
    return told | {"gist": gist, "standing": block}


def _capture(memory: Recollect, folder: Path, at: datetime, console: Output) -> dict[str, Any]:
    """Sweep, record, remember; sweep again."""
    places = samples.write_transcripts(folder, at)
    first = memory.sweep(places)
    samples.record_chat(memory, at)
    distilled = memory.distill()
    sessions = [_session(memory, session) for session in reversed(memory.sessions())]
    covered, digest = memory.coverage(places).totals(), memory.digest(samples.CODEX)
    hybrid = memory.embedder() is not None
    vectors = memory.embed_pending()
    again = memory.sweep(places)
    memories = memory.memories(history=True)
    assert digest is not None
    if not console.json:
        console.heading("Sessions of three coding agents are swept, one chat is recorded")
        _show_sweep(memory, first, covered, console)
        _show_sessions(memory, sessions, console, vectors, hybrid=hybrid)
        console.heading("What a session did, computed from its events (no language model was asked)")
        _show_digest(digest, console)
        console.heading("A second sweep adds nothing")
        _show_report(again, console)
        console.heading("What is worth knowing next week, by rules (no language model was asked)")
        _show_memories(memories, console)
    return {
        "sweep": first.as_dict(),
        "coverage": covered,
        "sessions": sessions,
        "digest": digest.as_dict(),
        "second_sweep": again.as_dict(),
        "distilled": {name: first.memories.get(name, 0) + distilled.outcomes[name] for name in _OUTCOMES},
        "memories": memories,
        "mode": "hybrid" if hybrid else "lexical",
    }


def _session(memory: Recollect, session: Session) -> dict[str, Any]:
    """A session for the table; its gist is made on the way."""
    memory.summarize(session.id)
    digest = memory.digest(session.id)
    return {
        "session": session.id,
        "agent": session.flavor,
        "title": session.title,
        "project": session.project,
        "turns": session.turns,
        "at": session.started_at,
        "outcome": session.outcome,
        "tokens": digest.cost.tokens if digest else None,
    }


def _questions(at: datetime) -> list[Ask]:
    then = f"{at - timedelta(days=20):%Y-%m-%d}"
    return [
        Ask("What did we decide about the job queue?", "a decision", {"limit": 1, "tiers": ("memory",)}),
        Ask("How was the time zone problem of the forecast fixed?", "an error and its fix, weeks later",
            {"limit": 2, "tiers": ("turn",)}),
        Ask("Which Python version does the CI runner have?", "what only the output of a command said",
            {"limit": 1, "tiers": ("turn",)}),
        Ask("Which port does tide listen on?", "what is true now", {"limit": 1, "tiers": ("memory",)}),
        Ask("Which port does tide listen on?", f"what was true on {then}",
            {"limit": 1, "tiers": ("memory",), "as_of": then}),
        Ask("What must the family cook avoid for the child?", "something said in passing, in a chat", {"limit": 1}),
        Ask("What is the wifi password of the office?", "nobody ever said: it says nothing rather than guess", {}),
    ]  # fmt: skip


# -- showing it --------------------------------------------------------------------------------------------------------


def _show_report(report: Report, console: Output) -> None:
    names = ("discovered", "ingested", "skipped_unchanged", "analyzed", "failed")
    console.line(" / ".join(f"{name} {getattr(report, name):,}" for name in names))
    console.line(f"  {report.turns:,} turns read, {report.events_added:,} events added")


def _show_sweep(memory: Recollect, report: Report, covered: dict[str, Any], console: Output) -> None:
    _show_report(report, console)
    counts = {name.removeprefix("withheld:"): count for name, count in report.counts.items()}
    secret = sum(count for name, count in counts.items() if name.startswith("secret:"))
    withheld = in_words({"secrets": secret, "private parts": counts.get("private", 0)})
    console.line(("withheld: ", "bold"), f"{withheld}. In their place is kept:")
    for session, mark in ((samples.GROK, "[REDACTED:"), (samples.CLAUDE, "[private]")):
        for event in memory.history(session):
            console.lines([["  ", (_around(line, mark), "dim")] for line in event.text.splitlines() if mark in line])
    console.line(
        *(("coverage: ", "bold"), f"{covered['percent']:g} % of {covered['turns_on_disk']:,} turns in the agents'"),
        f" files are stored, {covered['gaps']} gaps",
    )


def _around(line: str, mark: str) -> str:
    """The end of a line, with what stands before the mark."""
    place = line.index(mark)
    return line if place < 100 else f"… {line[line.rindex('. ', 0, place - 2) + 2 :]}"


def _show_sessions(
    memory: Recollect, sessions: list[dict[str, Any]], console: Output, vectors: int, *, hybrid: bool
) -> None:
    if not console.fancy:
        console.line()
    headers = ("agent", "when", "turns", "outcome", "tokens", "title")
    console.table(headers, [_row(one) for one in sessions])
    console.line(f"Kept: {in_words(memory.health().counts)}.")
    if hybrid:
        console.line(f"Searching by words and by meaning: {vectors} texts were embedded on this machine.")
    else:
        console.line(("Words only: the embedding model is not installed.", "bold yellow"), " Answers by meaning need")
        console.line("`recollect model install` (84 MB, once); then run the demo again.")


def _row(one: dict[str, Any]) -> list[str]:
    tokens = f"{one['tokens']:,}" if one["tokens"] else ""
    return [one["agent"], f"{one['at']:%Y-%m-%d}", str(one["turns"]), one["outcome"] or "", tokens, one["title"] or ""]


def _show_digest(digest: Digest, console: Output) -> None:
    console.lines(list(digest_lines(digest)))
    for error in digest.errors[:1]:
        console.line("  ", ("fingerprint", "dim"), f" {error.key}, the same for this error in any session")


def _show_memories(memories: list[Memory], console: Output) -> None:
    rows = [
        (one.kind, f"said by {one.origin}", f"{one.occurred_at:%Y-%m-%d}", _told(one))
        for one in sorted(memories, key=lambda one: one.occurred_at)
        if one.trust != "quoted"
    ]
    console.table(("kind", "who", "when", "content"), rows)


def _told(memory: Memory) -> str:
    why = f" (because {memory.why})" if memory.why else ""
    return f"{memory.content}{why}{' [superseded]' if memory.superseded_at else ''}"


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
            shown = replace(hit, content=_telling(hit.content, ask.question)) if hit.tier == "turn" else hit
            console.lines(list(hit_lines(shown)))
    return {"question": ask.question, "shows": ask.shows, "recall": found}


def _telling(turn: str, question: str) -> str:
    """Of a turn what was asked and answered, and of all that tools printed the line that has more of the question."""
    from recollect.store.searchtext import query_terms

    terms = query_terms(question)
    asked, mark, rest = turn.partition("\nassistant: ")
    said, *printed = rest.split("\n")
    short = f"{asked}{mark}{said}"
    best = max(printed, key=lambda line: _shared(terms, line), default="")
    return f"{short}\n  … {best.strip()} …" if _shared(terms, best) > _shared(terms, short) else short


def _shared(terms: list[str], text: str) -> int:
    return sum(term in text.casefold() for term in terms)
