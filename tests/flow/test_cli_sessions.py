"""Sessions through the command line: listed, read, summed up, shown, forgotten."""

from __future__ import annotations

import pytest

from recollect import Recollect, Scope
from recollect.model import os_user
from tests.flow.conftest import Cli


@pytest.fixture
def session(cli: Cli) -> str:
    """One session of four messages that belongs to no project, and a memory made of it."""
    with Recollect.open(scope=Scope("local", os_user()), background=False) as memory:
        memory.record_many(
            [
                ("claude:s1", "user", "How do we deploy the lighthouse service?", "2026-01-02T10:00:00Z"),
                ("claude:s1", "assistant", "With make deploy, from the main branch only.", "2026-01-02T10:01:00Z"),
                ("claude:s1", "user", "And how do we roll back?", "2026-01-02T10:02:00Z"),
                ("claude:s1", "assistant", "make rollback takes the last good image.", "2026-01-02T10:03:00Z"),
            ]
        )
        memory.ensure_session("claude:s1", "Deploying")
        memory.remember("The lighthouse is deployed from main.", kind="fact", session="claude:s1")
    return "claude:s1"


def test_sessions_are_listed_and_read(cli: Cli, session: str) -> None:
    listed = cli("sessions")
    assert session in listed.out
    assert "Deploying" in listed.out
    told = cli("sessions", session)
    assert told.out.index("How do we deploy") < told.out.index("make rollback")
    assert cli("sessions", "--json", session).json["events"][0]["role"] == "user"
    assert cli("sessions", "claude:none").code == 1


def test_a_session_without_a_title_is_told_by_what_was_asked_first(cli: Cli) -> None:
    with Recollect.open(scope=Scope("local", os_user()), background=False) as memory:
        memory.record_many(
            [
                ("claude:s2", "assistant", "Hello.", "2026-01-02T10:00:00Z"),
                ("claude:s2", "user", "Why does the \n  foghorn fail?", "2026-01-02T10:01:00Z"),
                ("claude:s2", "user", "And the lamp?", "2026-01-02T10:02:00Z"),
                ("claude:s3", "assistant", "Nobody asked.", "2026-01-02T10:03:00Z"),
            ]
        )
    shown = {line.split()[0]: line for line in cli("sessions").out.splitlines()}
    assert shown["claude:s2"].endswith("Why does the foghorn fail?")
    assert "Nobody" not in shown["claude:s3"]
    assert [one["title"] for one in cli("sessions", "--json").json["sessions"]] == [None, None]


def test_the_gist_is_made_when_asked_for(cli: Cli, session: str) -> None:
    gist = cli("sessions", session, "--gist", "--json").json["gist"]
    assert gist["covers"] == 3
    assert cli("sessions", session, "--gist").out.startswith("[gist] ")
    assert cli("sessions", "--gist").code == 2


def test_show_takes_a_session_or_a_turn(cli: Cli, session: str) -> None:
    shown = cli("show", session)
    assert "Deploying" in shown.out
    assert "deployed from main" in shown.out
    turn = cli("recall", "roll back", "--tier", "turn", "--mode", "lexical", "--json").json["hits"][0]["id"]
    assert "last good image" in cli("show", turn).out
    assert cli("show", turn, "--json").json["turn"]["session"] == session


def test_a_session_is_forgotten_with_what_was_made_of_it(cli: Cli, session: str) -> None:
    counts = cli("forget", "--session", session, "--yes", "--json").json["counts"]
    assert counts == {"sessions": 1, "events": 4, "turns": 2, "gists": 0, "memories": 1}
    assert cli("sessions", session).code == 1
    assert cli("forget", "--session", session, "--yes").code == 1


def test_show_follows_what_superseded_what(cli: Cli) -> None:
    with Recollect.open(scope=Scope("local", os_user()), background=False) as memory:
        first = memory.remember("Port 8000", kind="fact")
        second = memory.supersede(first.id, "Port 8080")
        third = memory.supersede(second.id, "Port 9090")
        memory.update(third.id, content="Port 9091")
    found = cli("show", second.id, "--json").json
    assert [one["content"] for one in found["successors"]] == ["Port 9091"]
    assert [one["content"] for one in found["superseded"]] == ["Port 8000"]
    shown = cli("show", third.id).out
    assert "version 1" in shown
    assert "Port 9090" in shown
    assert f"superseded  {first.id}" in shown


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        (["--agent", "claude"], True),
        (["--agent", "codex"], False),
        (["--title", "DEPLOY"], True),
        (["--title", "deploying nothing"], False),
        (["--since", "2026-01-02"], True),
        (["--since", "2026-01-03"], False),
        (["--until", "2026-01-02"], False),
        (["--outcome", "unknown"], True),
        (["--outcome", "success"], False),
    ],
    ids=str,
)
def test_the_list_is_narrowed(cli: Cli, session: str, flags: list[str], found: bool) -> None:
    told = cli("sessions", "--json", *flags).json["sessions"]
    assert [one["id"] for one in told] == ([session] if found else [])


def test_words_are_sought_inside_a_session(cli: Cli, session: str) -> None:
    assert cli("sessions", session, "--find", "And ROLL").out == "turn 2, user prompt: And how do we roll back?\n"
    assert "Nothing in this session" in cli("sessions", session, "--find", "zebra").err
    told = cli("sessions", session, "--find", "deploy", "--json").json
    assert [one["turn"] for one in told["found"]] == [1, 1]
    assert cli("sessions", "--find", "x").code == 2


def test_a_session_is_written_out(cli: Cli, session: str) -> None:
    told = cli("sessions", session, "--markdown").out
    assert told.startswith("# Deploying\n")
    assert "> make rollback takes the last good image." in told
    lines = cli("export", "--session", session).out.splitlines()
    assert len(lines) == 1 + 1 + 4 + 1
    assert cli("export", "--session", "claude:none").code == 1


def test_what_happened_is_told_line_by_line(cli: Cli, session: str) -> None:
    told = cli("follow", "--once").out
    assert told.index("How do we deploy") < told.index("The lighthouse is deployed from main.")
    lines = cli("follow", "--once", "--json", "--session", session, "-n", "3").json["lines"]
    assert [line["what"] for line in lines] == ["prompt", "answer", "memory"]
    assert cli("follow", "--once", "--session", "chat:none").out == ""
