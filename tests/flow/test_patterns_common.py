"""`recollect patterns common`: off until one's own settings say otherwise; nobody agrees for somebody else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect, Scope
from recollect.errors import InvalidInput
from recollect.model import os_user
from tests.contract.test_patterns_contract import pattern
from tests.flow.conftest import Cli
from tests.flow.memory_fixture import HandClock

Open = Callable[..., Recollect]


def others(memory: Recollect, clock: HandClock, number: int, *, agree: bool = True, **changes: Any) -> None:
    for each in range(number):
        scope = Scope(memory.scope.tenant, f"user-{each}")
        memory.store.patterns.put(scope, pattern(**changes), at=clock(), was=None)
        memory.store.patterns.share(scope, agree, at=clock())


def test_it_is_off_by_default_and_says_how_to_switch_it_on(memory: Recollect, clock: HandClock) -> None:
    others(memory, clock, 5)
    with pytest.raises(InvalidInput, match="only who shares"):
        memory.patterns.common()


def test_switched_on_one_counts_and_is_told_and_switched_off_not_any_more(
    opened: Open, memory: Recollect, clock: HandClock
) -> None:
    others(memory, clock, 4)
    memory.store.patterns.put(memory.scope, pattern(), at=clock(), was=None)
    sharing = opened(share_patterns=True)
    assert [(one.id, one.users, one.statement) for one in sharing.patterns.common()] == [("p1", 5, None)]
    memory.patterns.approve("p1")  # with the settings as they are elsewhere: off
    assert sharing.store.patterns.common(memory.scope, 5) == []


def test_nobody_agrees_for_somebody_else(opened: Open, memory: Recollect, clock: HandClock) -> None:
    """An administrator who looks into another's memory, or a server that works for them."""
    others(memory, clock, 4)
    other = opened(Scope(memory.scope.tenant, "carol"), share_patterns=True)
    other.store.patterns.put(other.scope, pattern(), at=clock(), was=None)
    assert other.patterns.common() == []
    hosted = Recollect(memory.store, memory.scope, opened(share_patterns=True).settings, clock=clock, hosted=True)
    assert hosted.patterns.common() == []
    assert not memory.store.patterns.share(memory.scope, False, at=clock()), "nothing was agreed to"


@pytest.mark.parametrize("k", [4, 0, True, "5", 10**9])
def test_k_has_a_floor(opened: Open, k: Any) -> None:
    with pytest.raises(InvalidInput):
        opened(share_patterns=True).patterns.common(k)


def test_the_command(cli: Cli, own_home: Path, monkeypatch: pytest.MonkeyPatch, clock: HandClock) -> None:
    monkeypatch.setenv("RECOLLECT_SHARE_PATTERNS", "true")
    with Recollect.open(own_home / ".local" / "share" / "recollect", background=False, embedder=None) as memory:
        assert memory.scope.user == os_user()
        others(memory, clock, 5, state="approved", statement="Files are missing", rule="Look first.")
    ran = cli("patterns", "common")
    assert ran.code == 0
    assert "Look first." in ran.out
    assert cli("patterns", "common", "--json").json["common"] == [
        {"id": "p1", "kind": "error_repeated", "users": 5, "approved": 5, "statement": "Files are missing",
         "rule": "Look first."}
    ]  # fmt: skip
    assert "Nothing that at least 6" in cli("patterns", "common", "--k", "6").err
    assert cli("patterns", "common", "--k", "4").code == 2
    monkeypatch.setenv("RECOLLECT_SHARE_PATTERNS", "false")
    assert "only who shares" in cli("patterns", "common").err


@pytest.mark.parametrize(
    "words",
    [
        ("config", "set", "share_patterns", "false"),
        ("config", "unset", "share_patterns"),
        *[("patterns", *what) for what in (("list",), ("show", "p1"), ("history", "p1"), ("measure",))],
        ("detect",),
    ],
    ids=lambda words: " ".join(words),
)
def test_who_switches_it_off_counts_no_more_from_the_next_command_on(
    cli: Cli, own_home: Path, monkeypatch: pytest.MonkeyPatch, clock: HandClock, words: tuple[str, ...]
) -> None:
    data = own_home / ".local" / "share" / "recollect"
    with Recollect.open(data, background=False, embedder=None) as memory:
        memory.store.patterns.put(memory.scope, pattern(id="p1-long-enough"), at=clock(), was=None)
        others(memory, clock, 4, id="p1-long-enough")
    words = tuple("p1-long-enough" if word == "p1" else word for word in words)
    assert cli("config", "set", "share_patterns", "true").code == 0
    assert len(cli("patterns", "common", "--json").json["common"]) == 1
    if words[0] != "config":  # by hand, in the file
        file = next(own_home.rglob("config.toml"))
        file.write_text(file.read_text().replace("true", "false"))
    assert cli(*words).code == 0
    with Recollect.open(data, background=False, embedder=None) as memory:
        assert not memory.store.patterns.share(memory.scope, False, at=clock()), "it is off already"
