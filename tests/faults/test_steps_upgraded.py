"""P08: what runs changed is kept when the journal learns a new kind of step; old runs can be undone after that."""

from __future__ import annotations

from pathlib import Path

from recollect.store.sqlite.store import SqliteStore
from tests.contract.samples import ANN
from tests.faults.old_schema import leave

BEFORE = 16  # the last schema whose runs gave nothing back


def test_the_journal_of_before_is_there(data_dir: Path) -> None:
    leave(
        data_dir,
        BEFORE,
        "INSERT INTO owners (row, tenant, user) VALUES (1, 'acme', 'ann');"
        "INSERT INTO consolidations (owner, id, home, content, made_at) "
        "VALUES (1, 'r1', '', '{\"counts\":{\"relate\":1}}', '2026-03-01T12:00:00.000000Z');"
        "INSERT INTO consolidation_steps (owner, run, number, kind, subject, other, content) "
        "VALUES (1, 'r1', 1, 'relate', 'm1', '', '{\"before\":{},\"after\":{}}');",
    )
    store = SqliteStore(data_dir)
    assert [(step.kind, step.subject, step.number) for step in store.consolidations.steps(ANN, "r1")] == [
        ("relate", "m1", 1)
    ]
    with store.database.write(ANN) as tx:
        named = {"owner": 1, "run": "r1", "number": 2, "kind": "release", "subject": "m2", "other": "m3"}
        tx.run("consolidations.put_step", {**named, "content": "{}"})
    store.close()
