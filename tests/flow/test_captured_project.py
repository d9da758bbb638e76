"""Which project a captured session belongs to: by its directory as the agent wrote it, explained, never guessed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from recollect import Recollect
from tests.flow.transcripts_fixture import Agents, uid

S = uid("one")


@pytest.fixture
def agents(own_home: Path) -> Agents:
    return Agents(own_home)


def project_of(memory: Recollect, agents: Agents, cwd: str) -> str | None:
    agents.claude(S, 1, cwd=cwd)
    report = memory.sweep()
    assert (report.ingested, report.failed) == (1, 0), report.problems
    return next(session.project for session in memory.sessions() if session.id == f"claude:{S}")


def test_a_clone_gives_the_name_of_its_remote(memory: Recollect, agents: Agents, tmp_path: Path) -> None:
    folder = tmp_path / "work" / "src"
    (folder.parent / ".git").mkdir(parents=True)
    (folder.parent / ".git" / "config").write_text('[remote "origin"]\n\turl = git@host.example:team/Tide.git\n')
    folder.mkdir()
    assert project_of(memory, agents, str(folder)) == "host.example/team/tide"


def test_a_directory_that_is_not_here_names_itself(memory: Recollect, agents: Agents) -> None:
    assert project_of(memory, agents, "/no/such/place") == "/no/such/place"


def test_an_alias_comes_first(memory: Recollect, agents: Agents) -> None:
    memory.settings = replace(memory.settings, projects={"/no/such": "tide"})
    assert project_of(memory, agents, "/no/such/place") == "tide"


@pytest.mark.parametrize(
    "cwd", ["work/src", ".", "C:\\work", "/" + "x" * 3_900, ""], ids=lambda cwd: cwd[:10] or "none"
)
def test_what_is_no_directory_here_costs_no_session(memory: Recollect, agents: Agents, cwd: str) -> None:
    """Above all it is not taken for something beside our own working directory."""
    found = project_of(memory, agents, cwd)
    assert found is None or (cwd.startswith("/") and "x" in found)
