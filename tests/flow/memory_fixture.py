"""A ready memory for flow tests: a clock that stands still until moved, the tiny embedder, no background thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect, Scope
from recollect.models.tiny import TinyEmbedder
from recollect.settings import load

# In a file whose tests run on each store: one that looks into the file, or that would take very long on a server.
IN_A_FILE = pytest.mark.parametrize("each_store", ["sqlite"], indirect=True)


class HandClock:
    """A clock moved by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 15, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        self.now += timedelta(**by)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def opened(tmp_path: Path, clock: HandClock) -> Iterator[Callable[..., Recollect]]:
    """Opens the same data directory as often as asked, each time as another program would."""
    memories: list[Recollect] = []

    def open_memory(scope: Scope | None = None, **given: Any) -> Recollect:
        names = ("embedder", "summarizer", "background", "count_tokens")
        parts = {"embedder": TinyEmbedder(), "background": False} | {k: v for k, v in given.items() if k in names}
        settings = load(data_dir=tmp_path / "data", **{k: v for k, v in given.items() if k not in names}).settings
        memories.append(Recollect.open(settings=settings, scope=scope, clock=clock, **parts))
        return memories[-1]

    yield open_memory
    for memory in memories:
        memory.close()


@pytest.fixture
def memory(opened: Callable[..., Recollect]) -> Recollect:
    return opened()
