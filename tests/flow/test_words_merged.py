"""Upkeep makes one segment of the many that writing leaves of the full-text index; what is found stays the same."""

from __future__ import annotations

from pathlib import Path

import apsw

from recollect import Recollect
from tests.flow.memory_fixture import HandClock


def segments(path: Path) -> dict[str, int]:
    with apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY) as link:
        return {
            table: link.execute(f"SELECT count(DISTINCT segid) FROM {table}_idx").fetchone()[0]
            for table in ("memory_fts", "turn_fts")
        }


def test_after_upkeep_a_word_is_looked_for_in_one_place(memory: Recollect, clock: HandClock, tmp_path: Path) -> None:
    for number in range(60):
        memory.remember(f"The walrus number {number} likes clams from bay {number * 7}")
        memory.record(f"s{number % 5}", "user", f"walrus watching, day {number}")
    file = next(tmp_path.rglob("recollect.db"))
    before = memory.recall("walrus bay 14", 50, abstain=False, mode="lexical")
    assert min(segments(file).values()) > 1
    memory.store.keeping.vacuum()
    assert segments(file) == {"memory_fts": 1, "turn_fts": 1}
    assert memory.recall("walrus bay 14", 50, abstain=False, mode="lexical").hits == before.hits
    assert not memory.store.keeping.health(deep=True).checks
    memory.store.keeping.vacuum()
    assert segments(file) == {"memory_fts": 1, "turn_fts": 1}
