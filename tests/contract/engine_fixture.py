"""Vector engines for tests: which there are, stores with one beside them, and vectors that lie in clusters."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from recollect.model import Scope
from recollect.settings import Settings
from recollect.store.engines.attached import connect
from recollect.store.engines.port import Engine
from recollect.store.opening import open_database, open_store
from recollect.store.port import Store
from tests.contract.samples import ANN, TINY, embed_waiting, memory, talk

if TYPE_CHECKING:
    from recollect.store.ports.search import Matrix
    from tests.services.stores import Emptied

NEEDS = {"lancedb": "lancedb", "qdrant": "qdrant_client"}
TEXTS = (
    *("the ferry leaves at noon", "walruses sleep on ice", "soup with dumplings", "penguins in winter"),
    *("the build needs node 20", "staging listens on 5433", "tests run in random order", "harbour seals bark"),
)


def each_engine(kind: str) -> Any:
    """A parameter that is skipped, by name, where the engine's package is not installed."""
    missing = importlib.util.find_spec(NEEDS[kind]) is None
    return pytest.param(kind, marks=pytest.mark.skipif(missing, reason=f"{NEEDS[kind]} is not installed"))


ENGINES = [each_engine(kind) for kind in sorted(NEEDS)]


def settings_for(kind: str, folder: Path, **changes: Any) -> Settings:
    """Settings with an engine that is asked whatever the size: LanceDB in a folder, Qdrant's local mode in memory."""
    values: dict[str, Any] = {"data_dir": folder / "data", "vector_engine": kind, "vector_engine_from": 0}
    values["vector_engine_url"] = ":memory:" if kind == "qdrant" else str(folder / "engine")
    return replace(Settings(), **{**values, **changes})


@pytest.fixture(params=ENGINES)
def kind(request: pytest.FixtureRequest) -> str:
    """The name of an engine."""
    return str(request.param)


@pytest.fixture
def engine(kind: str, tmp_path: Path) -> Iterator[Engine]:
    """An engine with nothing in it."""
    made = connect(settings_for(kind, tmp_path))
    yield made
    made.close()


Beside = Callable[..., Store]


@pytest.fixture(params=["sqlite", "postgres"])
def beside(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> Iterator[Beside]:
    """Opens the same store with an engine beside it, or (`vector_engine="store"`) without."""
    opened: list[Any] = []
    emptied: Emptied | None = None
    if request.param == "postgres":
        emptied = request.getfixturevalue("emptied")
        emptied.give(1)

    def make(**changes: Any) -> Store:
        settings = settings_for(kind, tmp_path, **changes)
        store = open_store(settings) if emptied is None else open_database(emptied.settings(1, settings))
        opened.append(store)
        return store

    yield make
    for store in opened:
        with store.database.write(None) as tx:
            tx.run("engine.leave")
        store.close()


def fill(store: Store, scope: Scope = ANN) -> None:
    """A few memories and turns, with their vectors."""
    for number, text in enumerate(TEXTS):
        store.memories.add(scope, memory(text))
        store.sessions.append(scope, talk(f"chat:{number}", text, f"assistant: about {text}, yes"))
    embed_waiting(store)


def asked(text: str) -> Matrix:
    rows: Matrix = TINY.embed([text])
    return rows[0]


def clustered(count: int, dim: int, seed: int) -> Matrix:
    """Unit vectors that lie around centres, as those of texts do."""
    chance = np.random.default_rng(seed)
    centres = np.random.default_rng(7).standard_normal((200, dim)).astype(np.float32)
    rows = centres[chance.integers(0, len(centres), count)]
    rows = rows + 0.9 * chance.standard_normal((count, dim)).astype(np.float32)
    made: Matrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16).astype(np.float32)
    return made
