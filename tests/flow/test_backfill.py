"""Backfill: the sessions that were there before Recollect, chosen, with the times they really had."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.errors import InvalidInput, NotFound
from tests.flow.conftest import Cli
from tests.flow.transcripts_fixture import START, Agents, as_lines, claude, everything, fresh, uid

S, T, U = uid("one"), uid("two"), uid("three")


@pytest.fixture
def agents(own_home: Path) -> Agents:
    return Agents(own_home)


def aged(path: Path, day: int) -> Path:
    """A file last written on this day."""
    os.utime(path, (1_700_000_000 + day * 86_400,) * 2)
    return path


def sessions(memory: Recollect) -> set[str]:
    return {session.id for session in memory.sessions()}


def test_events_keep_the_times_they_had(memory: Recollect, agents: Agents) -> None:
    agents.claude(S, 3)
    report = memory.backfill("claude")
    assert (report.ingested, report.events_added, report.analyzed) == (1, 12, 1)
    events = memory.history(f"claude:{S}")
    assert events[0].occurred_at == START
    assert {event.way for event in events} == {"backfill"}
    assert events[0].recorded_at > events[-1].occurred_at
    (session,) = memory.sessions()
    assert (session.started_at, session.ended_at) == (START, events[-1].occurred_at)


def test_doing_it_again_adds_nothing(memory: Recollect, agents: Agents) -> None:
    """P29: nor does it after a sweep, nor a sweep after it."""
    agents.claude(S, 3, output="y" * 70_000)
    agents.subagent(S, "x1")
    memory.backfill("claude")
    rows = everything(memory)
    for again in (memory.backfill("claude"), memory.sweep(), memory.backfill("claude")):
        assert (again.events_added, again.events_changed, again.analyzed) == (0, 0, 0)
    assert everything(memory) == rows == fresh(memory)


def test_only_the_named_agent_is_read(memory: Recollect, agents: Agents) -> None:
    agents.claude(S, 1)
    agents.codex(T, 1)
    memory.backfill("codex")
    assert sessions(memory) == {f"codex:{T}"}


@pytest.mark.parametrize("agent", ["walrus", "", "CLAUDE", "claude,codex", "../claude"])
def test_an_agent_nobody_knows_is_an_error(memory: Recollect, cli: Cli, agent: str) -> None:
    with pytest.raises(InvalidInput):
        memory.backfill(agent)
    ran = cli("backfill", agent)
    assert ran.code == 2
    assert "claude" in ran.err  # says which there are


@pytest.mark.parametrize("by", ["directory", "name", "home"])
def test_a_project_by_its_directory_or_its_name(
    memory: Recollect, agents: Agents, own_home: Path, tmp_path: Path, by: str
) -> None:
    """A repository is named by its remote, a directory by itself."""
    repository = own_home / "repository"
    (repository / ".git").mkdir(parents=True)
    (repository / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.org:ann/app.git\n')
    agents.claude(S, 1, cwd=str(repository), folder="-a")
    agents.claude(T, 1, cwd="/srv/other", folder="-b")
    wanted = {"directory": str(repository), "name": "example.org/ann/app", "home": "~/repository"}[by]
    memory.backfill("claude", project=wanted)
    assert sessions(memory) == {f"claude:{S}"}


def test_a_project_nobody_worked_in_is_said(memory: Recollect, agents: Agents, cli: Cli) -> None:
    agents.claude(S, 1)
    with pytest.raises(NotFound):
        memory.backfill("claude", project="/srv/nothing")
    assert cli("backfill", "claude", "--project", "/srv/nothing").code == 1


@pytest.mark.parametrize("given", [S, f"claude:{S}"], ids=["native id", "session id"])
def test_one_session_and_its_subagents(memory: Recollect, agents: Agents, given: str) -> None:
    agents.claude(S, 1)
    agents.subagent(S, "x1")
    agents.claude(T, 1)
    memory.backfill("claude", session=given)
    assert sessions(memory) == {f"claude:{S}", f"claude:{S}/agent-x1"}


def test_a_session_is_not_taken_for_one_whose_name_begins_the_same(memory: Recollect, agents: Agents) -> None:
    for name in ("walk", "walk-2", "walking"):
        agents.claude(name, 1)
    memory.backfill("claude", session="walk")
    assert sessions(memory) == {"claude:walk"}


def test_a_session_is_found_by_what_its_file_says_too(memory: Recollect, agents: Agents) -> None:
    """Older versions put subagents beside the sessions: only the records tell whose they are."""
    path = agents.claude_path(S).parent / "agent-old1.jsonl"
    path.write_bytes(as_lines({**line, "isSidechain": True, "sessionId": S} for line in claude(U, 1)))
    agents.claude(T, 1)
    memory.backfill("claude", session=S)
    assert sessions(memory) == {f"claude:{S}/agent-old1"}


def test_the_newest_sessions_with_their_subagents(memory: Recollect, agents: Agents) -> None:
    aged(agents.claude(S, 1), 1)
    aged(agents.subagent(S, "x1"), 1)
    aged(agents.claude(T, 1), 3)
    aged(agents.subagent(T, "x2"), 2)
    aged(agents.subagent(T, "x3"), 3)
    aged(agents.claude(U, 1), 4)
    memory.backfill("claude", limit=1)
    assert sessions(memory) == {f"claude:{U}"}
    memory.backfill("claude", limit=2)
    assert sessions(memory) == {f"claude:{U}", f"claude:{T}", f"claude:{T}/agent-x2", f"claude:{T}/agent-x3"}
    memory.backfill("claude")
    assert len(sessions(memory)) == 6


def test_a_fork_leaves_what_it_copied_with_the_older_session(memory: Recollect, agents: Agents) -> None:
    """Oldest first, however they are named: what both hold belongs to the one that was there before."""
    old, new = sorted((S, T), reverse=True)
    path = aged(agents.claude(old, 2), 1)
    copied = path.read_bytes()
    fork = agents.claude_path(new)
    fork.write_bytes(copied.replace(old.encode(), new.encode()) + as_lines(claude(new, 1, first=2)))
    aged(fork, 2)
    memory.backfill("claude")
    assert len(memory.history(f"claude:{old}")) == 8
    assert len(memory.history(f"claude:{new}")) == 4


def test_a_damaged_file_does_not_stop_the_choice(memory: Recollect, agents: Agents) -> None:
    agents.claude(S, 1)
    agents.claude_path(T).mkdir()
    (agents.claude_path(U)).write_bytes(os.urandom(5_000))
    assert memory.backfill("claude", session=S).ingested == 1
    assert memory.backfill("claude", project="/srv/app").ingested == 1
    assert memory.backfill("claude").failed == 1


def test_with_a_model_a_dry_run_says_what_it_would_cost(
    cli: Cli, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S4.18."""
    agents.claude(S, 50)
    monkeypatch.setenv("RECOLLECT_LLM", "anthropic")
    monkeypatch.setenv("RECOLLECT_LLM_MODEL", "claude-haiku-4-5")
    found = cli("backfill", "claude", "--dry-run", "--json").json
    assert 0.05 < found["cost_estimate_usd"] < 0.5
    assert "for about 0." in cli("backfill", "claude", "--dry-run").err
    monkeypatch.setenv("RECOLLECT_LLM_MODEL", "a-model-of-our-own")
    assert cli("backfill", "claude", "--dry-run", "--json").json["cost_estimate_usd"] is None


def test_a_dry_run_counts_and_writes_nothing(cli: Cli, agents: Agents, own_home: Path) -> None:
    agents.claude(S, 2)
    found = cli("backfill", "claude", "--dry-run", "--json").json
    assert (found["ingested"], found["turns"], found["dry_run"], found["cost_estimate_usd"]) == (1, 2, True, 0.0)
    assert not (own_home / ".local").exists()
    assert cli("backfill", "claude", "--json").json["events_added"] == 8


def test_the_command_takes_a_session_a_number_and_a_project(cli: Cli, agents: Agents) -> None:
    agents.claude(S, 1)
    agents.claude(T, 1)
    assert cli("backfill", "claude", "--session", S, "--json").json["discovered"] == 1
    assert cli("backfill", "claude", "--limit", "1", "--json").json["discovered"] == 1
    assert cli("backfill", "claude", "--project", "/srv/app", "--json").json["discovered"] == 2
    assert cli("backfill", "claude", "--limit", "-3").code == 2
