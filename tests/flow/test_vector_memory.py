"""S1.112: a process keeps the vectors of whom it was asked for lately, no more than it may, and answers the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Recollect, Scope
from recollect.models.tiny import TinyEmbedder
from recollect.settings import Settings
from recollect.store.sqlite.store import SqliteStore


@pytest.mark.parametrize(("room", "kept"), [(1, 1), (10_000_000, 3)], ids=["no room", "room for all"])
def test_vectors_that_do_not_fit_are_read_again_and_answers_stay_the_same(tmp_path: Path, room: int, kept: int) -> None:
    store = SqliteStore(tmp_path / "data", vector_memory=room)
    scopes = [Scope("acme", f"user{number}") for number in range(3)]

    def opened(scope: Scope) -> Recollect:
        return Recollect(store, scope, Settings(data_dir=tmp_path), embedder=TinyEmbedder(), background=False)

    for scope in scopes:
        opened(scope).remember(f"the parrot of {scope.user} is called Figaro")
    opened(scopes[0]).embed_pending()
    for scope in scopes * 2:
        found = opened(scope).recall("what is the parrot called", abstain=False, tiers=("memory",))
        assert [hit.content for hit in found.hits] == [f"the parrot of {scope.user} is called Figaro"]
        assert found.mode == "hybrid"
    assert len(store.search.memory) == kept
    store.close()
