"""What settling asks for each new memory is found by an index of its own, however many memories there are."""

from __future__ import annotations

import apsw
import pytest

from recollect import Recollect
from recollect.store.ports.memories import Filter
from recollect.store.sqlite.database import QUERIES


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("in_slot", "memories_by_slot"),
        ("of_session", "memories_by_session"),
        ("like", "memories_by_text"),
        ("replaced", "memories_by_successor"),
        ("forgotten", "memories_forgotten"),
    ],
)
def test_each_question_has_its_index(memory: Recollect, query: str, index: str) -> None:
    memory.remember("postgres runs on port 5433", session="s1")
    names = ["owner", "slot", "session", "dedup_key", "project_name", "id", "history", "any_project", "scope_project"]
    names += ["limit", "offset", *Filter.__slots__]
    connection = apsw.Connection(str(memory.settings.data_dir / "recollect.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        rows = connection.execute(f"EXPLAIN QUERY PLAN {QUERIES[f'memories.{query}']}", dict.fromkeys(names, 1))
        plan = " ".join(str(row[3]) for row in rows)
    finally:
        connection.close()
    assert index in plan
