"""What leaves as a whole is in the audit, with who took it and how much it was (P49, T27)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect, Scope
from recollect.errors import StoreFull
from recollect.store.rows.audit import RowAudit
from tests.flow.conftest import Cli

pytestmark = pytest.mark.usefixtures("each_store")


def noted(memory: Recollect) -> list[Any]:
    return memory.store.audit.find(memory.scope.within(None), limit=10, action="export")


def fill(memory: Recollect) -> str:
    memory.remember("The walrus sings")
    memory.record("s", "assistant", "Good day.")
    return memory.record("s", "user", "Which port?")


def test_an_export_is_noted_before_its_first_record_with_how_much_it_was(memory: Recollect) -> None:
    fill(memory)
    records = memory.export()
    assert noted(memory) == [], "nothing was given out yet"
    next(records)
    (entry,) = noted(memory)
    assert (entry.subject, entry.details) == ("everything", {"sessions": 1, "turns": 2, "memories": 1})
    assert memory.store.audit.verify().whole


def test_of_one_project_it_says_so(opened: Callable[..., Recollect]) -> None:
    memory = opened(scope=Scope("local", "ann", "shop"))
    fill(memory)
    opened(scope=Scope("local", "ann", "farm")).remember("The barn is red")
    list(memory.export())
    (entry,) = noted(memory)
    assert (entry.subject, entry.details) == ("project", {"sessions": 1, "turns": 2, "memories": 1})


def test_who_has_nothing_is_not_made_by_looking(opened: Callable[..., Recollect]) -> None:
    nobody = opened(scope=Scope("local", "nobody"))
    assert [record["type"] for record in nobody.export()] == ["recollect"]
    assert noted(nobody) == []


def test_the_command_is_noted_too_and_tells_the_session_while_it_is_there(cli: Cli, work: Path) -> None:
    with Recollect.open() as memory:
        first = memory.record("s", "user", "Which port?")
    cli("export", "all.jsonl")
    assert cli("export", "all.jsonl").code == 2, "it is there already, so nothing left"
    cli("export", "--session", "s", "one.jsonl")
    entries = cli("audit", "--only", "export", "--json").json["entries"]
    assert [(one["subject"], one["session"]) for one in entries] == [(first, "s"), ("everything", None)]
    assert entries[0]["details"] == {"sessions": 1, "turns": 1}
    shown = cli("audit").out
    assert "session s" in shown
    assert first not in shown
    records = [json.loads(line) for line in (work / "one.jsonl").read_text().splitlines()]
    assert [record["type"] for record in records] == ["recollect", "session", "event"]
    cli("forget", "--session", "s", "--yes")
    assert first in cli("audit").out


@pytest.mark.parametrize("key", [None, "k" * 16], ids=["own", "with a key"])
def test_on_a_full_disk_one_gets_ones_own_out_and_nobody_elses(
    opened: Callable[..., Recollect], monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    """What cannot be noted is given to nobody who came with a key; whoever has the machine can save what is theirs."""
    memory = opened(scope=Scope("local", "ann", key=key))
    fill(memory)

    def full(*_: Any, **__: Any) -> None:
        raise StoreFull

    monkeypatch.setattr(RowAudit, "note", full)
    if key is None:
        assert len(list(memory.export())) == 5
    else:
        with pytest.raises(StoreFull):
            next(memory.export())
