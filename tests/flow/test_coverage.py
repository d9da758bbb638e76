"""Coverage tells the truth: what is on disk, what is stored and how it came, what is missing, what was kept out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from recollect import Recollect, hook
from recollect.model import Scope
from recollect.pipeline.coverage import Coverage, SessionCoverage, gone
from tests.flow.conftest import Cli
from tests.flow.transcripts_fixture import Agents, as_lines, claude, claude_turn, grow, uid

S, T, U = uid("one"), uid("two"), uid("three")
CLAUDE = f"claude:{S}"


@pytest.fixture
def agents(own_home: Path) -> Agents:
    return Agents(own_home)


def one(found: Coverage, session: str = CLAUDE) -> SessionCoverage:
    (result,) = [each for each in found.sessions if each.session == session]
    return result


def figures(found: Coverage) -> tuple[int, int, int, float]:
    totals = found.totals()
    return totals["turns_on_disk"], totals["turns_stored"], totals["turns_withheld"], totals["percent"]


# -- complete ----------------------------------------------------------------------------------------------------------


def test_after_a_sweep_everything_is_covered(memory: Recollect, agents: Agents) -> None:
    agents.claude(S, 3)
    agents.subagent(S, "x1")
    agents.codex(T, 2)
    memory.sweep()
    found = memory.coverage()
    assert figures(found) == (6, 6, 0, 100.0)
    assert [each.gaps for each in found.sessions] == [[], [], []]
    assert (found.unread, found.failed) == ([], [])


def test_nothing_to_cover_is_covered(memory: Recollect) -> None:
    assert figures(memory.coverage()) == (0, 0, 0, 100.0)


@pytest.mark.parametrize("turns", range(1, 21))
@pytest.mark.parametrize("end", ["as agents end", "in a line", "in a character", "without newline", "compacted"])
def test_every_turn_on_disk_is_kept_however_the_session_ended(
    memory: Recollect, agents: Agents, turns: int, end: str
) -> None:
    """P19: sessions of 1 to 20 turns; hooks came at some of them, and the end was any."""
    path = agents.claude(S, 0)
    for number in range(turns):
        grow(path, claude_turn(S, number, f"größer {number}"))
        if number % 4 == 1:
            memory.sweep()
    data = path.read_bytes()
    torn = as_lines(claude_turn(S, turns, "zurück")[:1])
    if end == "in a line":
        path.write_bytes(data + torn[: len(torn) // 2])
    elif end == "in a character":
        path.write_bytes(data + torn[: torn.index("ü".encode()) + 1])
    elif end == "without newline":
        path.write_bytes(data.rstrip(b"\n"))
    elif end == "compacted":
        boundary = {"type": "system", "subtype": "compact_boundary", "uuid": uid("cut"), "sessionId": S, "content": "c"}
        summary = {**claude_turn(S, 90, "What was done so far.")[0], "isCompactSummary": True}
        grow(path, [boundary, summary])
    memory.sweep()
    assert figures(memory.coverage()) == (turns, turns, 0, 100.0)
    said = [event.text for event in memory.history(CLAUDE) if event.role == "user"]
    assert said == [f"größer {number}" for number in range(turns)]


def test_the_ways_turns_came_are_told_apart(memory: Recollect, agents: Agents) -> None:
    path = agents.claude(S, 2)
    told = {"session_id": S, "transcript_path": str(path), "hook_event_name": "Stop"}
    hook.capture(str(memory.settings.data_dir), "claude", json.dumps(told).encode(), {})
    memory.drain()
    grow(path, claude(S, 3, first=2))
    memory.sweep()
    agents.codex(T, 4)
    memory.backfill("codex")
    totals = memory.coverage().totals()
    assert totals["ways"] == {"hook": 2, "sweep": 3, "backfill": 4}
    assert one(memory.coverage()).ways == {"hook": 2, "sweep": 3}


def test_copied_history_counts_once(memory: Recollect, agents: Agents) -> None:
    """A fork holds what it came from, a resumed session may stand in two files."""
    path = agents.claude(S, 3)
    fork = agents.claude_path(T)
    fork.write_bytes(path.read_bytes().replace(S.encode(), T.encode()) + as_lines(claude(T, 2, first=3)))
    copy = agents.claude_path(S, "-elsewhere")
    shutil.copy(path, copy)
    memory.sweep()
    found = memory.coverage()
    assert figures(found) == (5, 5, 0, 100.0)
    assert one(found).on_disk == 3
    assert sorted(one(found).files) == sorted([str(path), str(copy)])
    assert one(found, f"claude:{T}").on_disk == 5


# -- gaps --------------------------------------------------------------------------------------------------------------


def test_a_lost_turn_is_named(memory: Recollect, agents: Agents, opened: Callable[..., Recollect]) -> None:
    """P19, P32: an event row that vanished behind our back, in the very store that is asked."""
    agents.claude(S, 4)
    memory.sweep()
    lost = [event for event in memory.history(CLAUDE) if event.role == "user"][2]
    memory.close()
    raw = apsw.Connection(str(memory.settings.data_dir / "recollect.db"))
    raw.execute("DELETE FROM events WHERE key = ?", (bytes.fromhex(lost.key),))
    raw.close()
    found = opened().coverage()
    assert figures(found) == (4, 3, 0, 75.0)
    assert one(found).gaps == [f"1 of 4 turns are not stored: {lost.key}"]
    assert not one(found).complete


def test_a_new_or_changed_file_is_named_unread(memory: Recollect, agents: Agents) -> None:
    path = agents.claude(S, 2)
    assert memory.coverage().unread == [str(path)]
    memory.sweep()
    assert memory.coverage().unread == []
    grow(path, claude(S, 1, first=2))
    other = agents.codex(T, 1)
    assert sorted(memory.coverage().unread) == sorted([str(path), str(other)])
    memory.sweep()
    assert memory.coverage().unread == []


def test_a_file_that_cannot_be_read_is_named(memory: Recollect, agents: Agents) -> None:
    path = agents.claude(S, 2)
    memory.sweep()
    path.unlink()
    path.mkdir()
    memory.sweep()
    found = memory.coverage()
    assert found.failed == [{"transcript": str(path), "error": found.failed[0]["error"]}]
    assert found.failed[0]["error"]
    assert one(found).gaps == [f"could not be read: {found.failed[0]['error']}"]
    assert one(found).stored == 2  # what was read before is still held against it
    assert found.unread == []


def test_a_session_whose_file_is_gone_stays_covered(memory: Recollect, agents: Agents) -> None:
    """Agents delete their files after some weeks: what was read of them is still told."""
    path = agents.claude(S, 2)
    memory.sweep()
    assert not gone(one(memory.coverage()))
    path.unlink()
    found = memory.coverage()
    assert figures(found) == (2, 2, 0, 100.0)
    assert gone(one(found))


def test_hooks_that_failed_are_counted(memory: Recollect, agents: Agents) -> None:
    data_dir = memory.settings.data_dir
    hook.capture(str(data_dir), "claude", b"{}", {})
    found = memory.coverage()
    assert (found.waiting_records, found.missed_hooks, found.refused_records) == (1, 0, 0)
    (record,) = (data_dir / "spool").glob("*.record")
    real = record.read_bytes()
    record.write_bytes(real[:-1] + bytes([real[-1] ^ 1]))
    memory.drain()
    found = memory.coverage()
    assert (found.waiting_records, found.refused_records) == (0, 1)


# -- kept out on purpose -----------------------------------------------------------------------------------------------


def test_what_is_switched_off_is_counted_apart(opened: Callable[..., Recollect], agents: Agents) -> None:
    agents.claude(S, 3)
    agents.codex(T, 2)
    memory = opened(capture_off=["codex"])
    memory.sweep()
    found = memory.coverage()
    assert figures(found) == (5, 3, 2, 100.0)
    assert found.totals()["withheld"] == {"switched off": 2}
    assert one(found, f"codex:{T}").withheld == 2
    assert found.totals()["gaps"] == 0


def test_what_is_private_is_counted_by_its_reason(memory: Recollect, agents: Agents) -> None:
    path = agents.claude(S, 1)
    grow(path, claude_turn(S, 1, "look at <private>my diary</private> please"))
    grow(path, claude_turn(S, 2, command="cat ~/.ssh/id_rsa", output="-----BEGIN walrus-----"))
    memory.sweep()
    found = memory.coverage()
    assert figures(found) == (3, 3, 0, 100.0)
    assert found.totals()["withheld"] == {"private": 1, "denied": 1}
    stored = str([event.text for event in memory.history(CLAUDE)])
    assert "diary" not in stored
    assert "walrus" not in stored


def test_sessions_of_observers_are_counted_apart(memory: Recollect, agents: Agents) -> None:
    """P18's other half: a memory tool's own session is on disk, and on purpose nowhere else."""
    agents.claude_path(S).write_bytes(as_lines(claude(S, 2, said="<recollect-task>Summarise this.")))
    memory.sweep()
    found = memory.coverage()
    assert figures(found) == (2, 0, 2, 100.0)
    assert found.totals()["withheld"] == {"ours": 2}
    assert memory.history(CLAUDE) == []


def test_forgotten_turns_are_counted_apart(memory: Recollect, agents: Agents) -> None:
    path = agents.claude(S, 2)
    agents.codex(T, 1)
    memory.sweep()
    memory.forget(session=CLAUDE)
    assert memory.coverage().unread == [str(path)]  # nothing is known of that file any more
    memory.sweep()
    found = memory.coverage()
    assert figures(found) == (3, 1, 2, 100.0)
    assert found.totals()["withheld"] == {"forgotten": 2}
    assert memory.history(CLAUDE) == []


# -- which are captured ------------------------------------------------------------------------------------------------


def kept(memory: Recollect) -> set[str]:
    return {session.id.partition(":")[0] + str(session.cwd) for session in memory.sessions()}


@pytest.mark.parametrize(
    ("off", "only", "left"),
    [
        ((), (), {"claude/srv/app", "claude/srv/app/inner", "claude/srv/apple", "codex/srv/app"}),
        (("claude",), (), {"codex/srv/app"}),
        (("/srv/app",), (), {"claude/srv/apple"}),
        (("/srv/app/",), (), {"claude/srv/apple"}),
        (("/srv/app/inner",), (), {"claude/srv/app", "claude/srv/apple", "codex/srv/app"}),
        (("codex", "/srv/apple"), (), {"claude/srv/app", "claude/srv/app/inner"}),
        ((), ("codex",), {"codex/srv/app"}),
        ((), ("/srv/app/inner", "codex"), {"claude/srv/app/inner", "codex/srv/app"}),
        (("codex",), ("/srv/app",), {"claude/srv/app", "claude/srv/app/inner"}),
        (("the app",), (), {"claude/srv/app/inner", "claude/srv/apple"}),
        ((), ("the app",), {"claude/srv/app", "codex/srv/app"}),
        ((), ("nothing there",), set()),
    ],
    ids=str,
)
def test_agents_projects_and_directories_are_switched(
    opened: Callable[..., Recollect], agents: Agents, off: tuple[str, ...], only: tuple[str, ...], left: set[str]
) -> None:
    agents.claude(S, 1)
    agents.claude(T, 1, cwd="/srv/app/inner", folder="-srv-app-inner")
    agents.claude(U, 1, cwd="/srv/apple", folder="-srv-apple")
    agents.codex(uid("codex"), 1)
    aliases = {"/srv/app/inner": "inner", "/srv/app": "the app"}
    memory = opened(capture_off=off, capture_only=only, projects=aliases)
    memory.sweep()
    assert kept(memory) == left
    assert memory.coverage().totals()["percent"] == 100.0


def test_a_directory_in_the_home_is_switched_by_its_short_name(
    opened: Callable[..., Recollect], agents: Agents, own_home: Path
) -> None:
    agents.claude(S, 1, cwd=f"{own_home}/secret/plans")
    agents.claude(T, 1)
    memory = opened(capture_off=["~/secret"])
    memory.sweep()
    assert kept(memory) == {"claude/srv/app"}


def test_what_was_withheld_is_captured_when_it_may_be(opened: Callable[..., Recollect], agents: Agents) -> None:
    agents.claude(S, 2)
    agents.codex(T, 1)
    memory = opened(capture_off=["claude"])
    assert memory.sweep().withheld == 1
    assert memory.sweep().skipped_unchanged == 2
    other = opened(capture_off=["codex"])
    report = other.sweep()
    assert (report.ingested, report.events_added) == (1, 8)
    assert figures(other.coverage()) == (3, 3, 0, 100.0)  # what is there already stays


def test_switching_off_later_keeps_what_is_there_and_takes_no_more(
    opened: Callable[..., Recollect], agents: Agents
) -> None:
    path = agents.claude(S, 2)
    opened().sweep()
    grow(path, claude(S, 3, first=2))
    memory = opened(capture_off=["claude"])
    memory.sweep()
    found = memory.coverage()
    assert len(memory.history(CLAUDE)) == 8
    assert figures(found) == (5, 2, 3, 100.0)


# -- asking ------------------------------------------------------------------------------------------------------------


def test_coverage_in_a_project_is_that_of_its_owner(memory: Recollect, agents: Agents) -> None:
    agents.claude(S, 2)
    memory.sweep()
    inside = Recollect(
        memory.store, Scope("local", memory.scope.user).within("/srv/app"), memory.settings, embedder=None
    )
    assert figures(inside.coverage()) == (2, 2, 0, 100.0)
    other = Recollect(memory.store, replace(memory.scope, user="bob"), memory.settings, embedder=None)
    assert other.coverage().sessions == []


def test_the_command_says_it_in_words_and_in_json(cli: Cli, agents: Agents) -> None:
    agents.claude(S, 3)
    agents.claude_path(T).mkdir()
    cli("sweep")
    grow(agents.codex(U, 1), [])
    ran = cli("coverage", "--all")
    assert ran.code == 0
    assert "100 % of 3 turns in 1 session (1 file is not read yet)" in ran.out
    assert "came by sweep 3" in ran.out
    assert CLAUDE in ran.out
    assert f"{U}.jsonl" in ran.err
    found = cli("coverage", "--json").json
    assert (found["turns_on_disk"], found["turns_stored"], found["percent"]) == (3, 3, 100.0)
    assert (found["unread_files"], found["failed_files"]) == (1, 1)
    assert found["by_session"][0]["session"] == CLAUDE
