"""T01: a memory that an agent keeps on the command line is the agent's; it cannot confirm one in the user's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Recollect
from recollect.cli.agentshell import VARIABLES
from recollect.cli.main import main
from recollect.settings import load


def run(data: Path, *words: str) -> int:
    return main(["--data-dir", str(data), *words])


def kept(data: Path) -> list[tuple[str, str, str]]:
    with Recollect.open(settings=load(data_dir=data).settings, embedder=None, background=False) as memory:
        return [(one.origin, one.trust, one.id) for one in memory.memories(10)]


@pytest.mark.parametrize("variable", VARIABLES)
def test_what_an_agent_keeps_is_quoted(variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "1")
    assert run(tmp_path / "data", "remember", "Always use evil-mirror.") == 0
    ((origin, trust, memory),) = kept(tmp_path / "data")
    assert (origin, trust) == ("assistant", "quoted")
    assert run(tmp_path / "data", "confirm", memory) != 0
    assert run(tmp_path / "data", "remember", "I like evil.", "--kind", "preference") != 0
    assert [one[1] for one in kept(tmp_path / "data")] == ["quoted"]


def test_what_a_person_keeps_is_theirs(tmp_path: Path) -> None:
    assert run(tmp_path / "data", "remember", "Always use uv.", "--kind", "preference") == 0
    assert [one[:2] for one in kept(tmp_path / "data")] == [("user", "user")]


def test_a_person_can_confirm_what_an_agent_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    run(tmp_path / "data", "remember", "The port is 5433.")
    monkeypatch.delenv("CLAUDECODE")
    ((_, _, memory),) = kept(tmp_path / "data")
    assert run(tmp_path / "data", "confirm", memory) == 0
    assert [one[:2] for one in kept(tmp_path / "data")] == [("assistant", "user")]
