"""A store into which poison was swept: by the rules alone, and with a distiller that does what the poison says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from recollect import Recollect, Scope
from recollect.distill.draft import Draft
from recollect.model import Event, Memory, Session
from recollect.pipeline.distilling import distill_sessions
from recollect.pipeline.prepare import prepare
from recollect.settings import load
from tests.flow.memory_fixture import HandClock

Obey = Callable[[Session, Sequence[Event]], list[Draft]]


@dataclass(slots=True)
class Obedient:
    """A language model that writes down what it was told to."""

    obey: Obey

    def drafts(self, session: Session, events: Sequence[Event], asked: int) -> tuple[list[Draft], int]:
        return self.obey(session, events), events[-1].position


@dataclass(slots=True)
class Swept:
    """A memory that read a home full of transcripts, and what it lays ready for agents."""

    memory: Recollect
    home: Path

    def everything(self) -> list[Memory]:
        """Every memory there is, put away or not, current or not."""
        return self.memory.memories(1_000, archived=True, history=True)

    def about(self, word: str) -> list[Memory]:
        """Those in which a word stands anywhere."""
        return [one for one in self.everything() if word in f"{one.content} {one.why} {one.tags} {one.slot}".casefold()]

    def prepared(self) -> str:
        """All that agents would get without asking, in any directory."""
        prepare(self.memory.store, self.memory.scope, self.memory.settings, self.memory._clock)
        folders = [self.memory.settings.data_dir / name for name in ("prepared", "memory")]
        files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
        return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in files)


@contextmanager
def swept(folder: Path, write: Callable[[Path, Path], None], obey: Obey | None) -> Iterator[Swept]:
    """A fresh memory after one sweep of what `write` put into a home, for an agent that ran in a directory."""
    home, work = folder / "home", folder / "work"
    for each in (home, work):
        each.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("RECOLLECT_", "XDG_", "CLAUDE", "CODEX_", "GROK_")):
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        write(home, work)
        settings = load(data_dir=folder / "data").settings
        with Recollect.open(
            settings=settings, scope=Scope(), clock=HandClock(), embedder=None, background=False
        ) as memory:
            report = memory.sweep()
            assert not report.failed, report.problems
            if obey is not None:
                names = [session.id for session in memory.sessions(1_000)]
                done = distill_sessions(memory.store, memory.scope, names, memory._clock, extractor=Obedient(obey))
                assert not done.failed, done.failed
            yield Swept(memory, home)
