"""Sessions in which something repeats, taken in as capturing does, and projects to roll rules out to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from recollect import Recollect
from recollect.ids import stable_key
from recollect.pipeline.digests import digest_due
from recollect.store.ports.learn import Pattern
from tests.unit.learn.learning_fixture import START, Told, stale_edit

STALE = "An edit fails because the text to be replaced"


def keep(memory: Recollect, *sessions: Told, project: str | None = "app") -> None:
    """Take sessions in, with their digests."""
    for told in sessions:
        told.session = replace(told.session, project=project)
        events = [replace(event, key=stable_key(event.key), way="sweep") for event in told.events]
        memory.store.captures.ingest(memory.scope.within(None), told.session, events)
    digest_due(memory.store, memory.scope.within(None), lambda: START)


def missing_go(name: str, flavor: str = "claude", day: int = 0) -> Told:
    return Told(name, flavor, day=day).ask("Hello").run("go test ./...", "zsh:1: command not found: go", 127)


def quiet(name: str, flavor: str = "claude", day: int = 0) -> Told:
    """A session in which nothing went wrong."""
    return Told(name, flavor, day=day).ask("Fix the parser").say().edit().say("Done.")


def fill(memory: Recollect) -> None:
    """Two agents that met the same, and one that met something three times."""
    keep(memory, stale_edit("a"), stale_edit("b", "codex", day=1), stale_edit("c", "codex", day=2))
    keep(memory, *(missing_go(f"p{n}", day=3) for n in range(3)), project="other")


def found(memory: Recollect, words: str = STALE) -> Pattern:
    """The pattern that says so, refreshed."""
    memory.patterns.refresh()
    return next(one for one in memory.patterns.find() if words in one.statement)


def approved(memory: Recollect, words: str = STALE) -> Pattern:
    return memory.patterns.approve(found(memory, words).id, "seen often")


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder: bytes of files, None for directories."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in below(folder)}


def below(folder: Path) -> Iterable[Path]:
    return sorted(path for path in folder.rglob("*") if ".git" not in path.parts)
