"""A consultant over a real store and a scripted endpoint: what the tests of spending stand on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from recollect.model import Event, Scope
from recollect.models.language import LanguageModel
from recollect.pipeline.consulting import Consultant, consult, egress_redact
from recollect.pipeline.spending import Purse
from recollect.settings import Settings, load
from recollect.store.sqlite.store import SqliteStore
from tests.flow.memory_fixture import HandClock

ANN = Scope("acme", "ann")


@dataclass
class Desk:
    """One store, one clock, and the pauses that were made instead of slept."""

    folder: Path
    clock: HandClock
    store: SqliteStore
    pauses: list[float] = field(default_factory=list)

    def settings(self, **given: Any) -> Settings:
        return load({}, data_dir=self.folder, **given).settings

    def purse(self, model: LanguageModel, stopping: Callable[[], bool] = lambda: False, **given: Any) -> Purse:
        settings = self.settings(**given)
        redact = egress_redact(settings)
        return Purse(
            self.store.ledger, model, settings, self.clock, redact, sleep=self.pauses.append, stopping=stopping
        )

    def consultant(self, model: LanguageModel, scope: Scope = ANN, **given: Any) -> Consultant:
        found = consult(self.store, scope, self.settings(**given), self.clock, model=model, sleep=self.pauses.append)
        assert found is not None
        return found

    def spent(self, scope: Scope = ANN) -> tuple[int, int]:
        """Calls and tokens of today."""
        rows = self.store.ledger.spent(scope, since=self.clock())
        return sum(row.calls for row in rows), sum(row.input + row.output for row in rows)

    def restart(self) -> None:
        """As another process would find it."""
        self.store.close()
        self.store = SqliteStore(self.folder)


@pytest.fixture
def desk(tmp_path: Path, clock: HandClock) -> Iterator[Desk]:
    desk = Desk(tmp_path / "data", clock, SqliteStore(tmp_path / "data"))
    yield desk
    desk.store.close()


def history(desk: Desk, session: str, scope: Scope = ANN) -> list[Event]:
    return desk.store.sessions.history(scope, session)
