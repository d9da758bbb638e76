"""From what a hook showed to what a session shows: where a memory was injected, and whether its agent used it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect, hook, hookreply
from recollect.frame import block_name
from recollect.pipeline.showing import GRACE, TAKEN
from tests.flow.memory_fixture import HandClock
from tests.flow.transcripts_fixture import Agents, claude_turn, grow, uid
from tests.prepared_fixture import event

Open = Callable[..., Recollect]
S, T = uid("one"), uid("two")
CLAUDE = f"claude:{S}"
PORT = "Postgres for local development listens on port 5433."
ASKING = "on which port does postgres listen for local development"


@pytest.fixture
def agents(own_home: Path) -> Agents:
    return Agents(own_home)


@pytest.fixture(autouse=True)
def real_times(clock: HandClock) -> None:
    """Hooks note the time of this machine."""
    clock.now = datetime.now(UTC) + timedelta(minutes=5)


def ask(memory: Recollect, name: str = "UserPromptSubmit", session: str = S, agent: str = "claude", **more: Any) -> str:
    """What the hook puts before the agent."""
    given = {"session_id": session, "cwd": "/srv/app", **({"prompt": ASKING} if name == "UserPromptSubmit" else {})}
    said = hook.reply(str(memory.settings.data_dir), agent, event(name, **given, **more), {}, time.monotonic() + 5)
    if not said:
        return ""
    found = json.loads(said)
    return str(found.get("additional_context") or found["hookSpecificOutput"]["additionalContext"])


def work(memory: Recollect, agents: Agents, session: str = S, **turn: Any) -> None:
    """A session whose turns come after what was shown, told of by a hook and read."""
    path = agents.claude(session, 0)
    lines = claude_turn(session, 1, said="start the database, please", **turn)
    now = datetime.now(UTC) + timedelta(seconds=30)
    for number, line in enumerate(lines):
        line["timestamp"] = (now + timedelta(seconds=number)).isoformat()
    grow(path, lines)
    told = {"session_id": session, "transcript_path": str(path), "hook_event_name": "Stop", "cwd": "/srv/app"}
    hook.capture(str(memory.settings.data_dir), "claude", json.dumps(told).encode(), {})
    memory.drain()


def known(memory: Recollect) -> str:
    kept = memory.remember(PORT, kind="fact")
    memory.prepare()
    return kept.id


def verdicts(memory: Recollect, memory_id: str) -> list[tuple[str, str, str | None]]:
    return sorted((one.verdict, one.source, one.session) for one in memory.usage(memory_id).feedback)


def test_what_did_harm_comes_last_at_a_start_and_what_helped_first(memory: Recollect) -> None:
    facts = [
        f"The walrus service {number} is called {name}" for number, name in enumerate(("arctic", "borneo", "cyprus"))
    ]
    ids = [memory.remember(fact, kind="fact").id for fact in facts]
    memory.prepare()

    def order() -> list[str]:
        text = ask(memory, "SessionStart", source="startup")
        return sorted((fact for fact in facts if fact in text), key=text.index)

    first, second, third = order()
    memory.feedback(ids[facts.index(first)], "harmful")
    memory.feedback(ids[facts.index(third)], "helpful")
    memory.prepare()
    assert order() == [third, second, first]
    memory.feedback(ids[facts.index(first)], "harmful", undo=True)
    memory.feedback(ids[facts.index(third)], "helpful", undo=True)
    memory.prepare()
    assert order() == [first, second, third]


def test_it_is_known_where_and_when_a_memory_was_shown_on_a_prompt(memory: Recollect, agents: Agents) -> None:
    kept = known(memory)
    text = ask(memory)
    assert "5433" in text
    work(memory, agents)
    (shown,) = memory.store.use.injections(memory.scope, memory=kept)
    assert (shown.session, shown.host, shown.event, shown.block) == (CLAUDE, "claude", "prompt", block_name(text))
    assert abs(shown.at - datetime.now(UTC)) < timedelta(minutes=1)
    assert memory.store.use.injections(memory.scope, session=CLAUDE) == [shown]
    assert memory.usage(kept).injections == (shown,)


def test_and_at_a_start(memory: Recollect, agents: Agents) -> None:
    kept = known(memory)
    text = ask(memory, "SessionStart", source="startup")
    work(memory, agents)
    (shown,) = memory.store.use.injections(memory.scope, memory=kept)
    assert (shown.event, shown.block) == ("start", block_name(text))


def test_what_was_shown_and_not_used_is_no_feedback(memory: Recollect, agents: Agents) -> None:
    kept = known(memory)
    ask(memory)
    work(memory, agents, command="echo hello", answer="I said hello.")
    assert len(memory.usage(kept).injections) == 1
    assert memory.usage(kept).feedback == ()
    assert memory.usage(kept).usefulness == 0.0


def test_what_was_shown_and_used_is_cited(memory: Recollect, agents: Agents) -> None:
    kept = known(memory)
    ask(memory)
    work(memory, agents, command="pg_ctl -o '-p 5433' start", answer="It listens on 5433.", output="no")
    assert ("cited", "digest", CLAUDE) in verdicts(memory, kept)
    assert memory.usage(kept).usefulness > 0


def test_used_in_a_session_that_succeeded_counts_for_it_too(memory: Recollect, agents: Agents) -> None:
    kept = known(memory)
    ask(memory)
    work(memory, agents, command="pytest --port 5433", answer="All pass on 5433.", output="12 passed in 0.4s")
    digest = memory.digest(CLAUDE)
    assert digest is not None
    expected = {"cited"} | ({"success"} if digest.outcome == "success" else set())
    assert {verdict for verdict, _, _ in verdicts(memory, kept)} == expected


def test_used_without_being_shown_is_nothing(memory: Recollect, agents: Agents) -> None:
    kept = known(memory)
    work(memory, agents, command="pg_ctl -o '-p 5433' start", answer="It listens on 5433.")
    assert memory.usage(kept).feedback == ()


def test_a_session_that_grew_is_looked_at_again_and_twice_is_once(memory: Recollect, agents: Agents) -> None:
    kept = known(memory)
    ask(memory)
    work(memory, agents, command="echo hello", answer="Hello.")
    assert memory.usage(kept).feedback == ()
    path = agents.claude_path(S)
    line = claude_turn(S, 2, said="go on", command="pg_ctl -o '-p 5433' start", answer="On 5433.")
    for number, each in enumerate(line):
        each["timestamp"] = (datetime.now(UTC) + timedelta(seconds=60 + number)).isoformat()
    grow(path, line)
    told = {"session_id": S, "transcript_path": str(path), "hook_event_name": "Stop", "cwd": "/srv/app"}
    for _ in range(2):
        hook.capture(str(memory.settings.data_dir), "claude", json.dumps(told).encode(), {})
        memory.drain()
    assert [verdict for verdict, _, _ in verdicts(memory, kept)].count("cited") == 1


def test_lines_of_sessions_that_are_not_captured_wait_a_while_and_go(memory: Recollect, clock: HandClock) -> None:
    known(memory)
    ask(memory, session=T)
    file = memory.settings.data_dir / hookreply.SHOWN
    assert T.encode().hex() in file.read_text()
    memory.drain()
    assert T.encode().hex() in file.read_text(), "it may still come"
    assert not (memory.settings.data_dir / TAKEN).exists()
    clock.move(seconds=GRACE.total_seconds() + 600)
    memory.drain()
    assert not file.exists()
    assert memory.store.use.injections(memory.scope) == []


def test_damaged_lines_cost_only_themselves(memory: Recollect, agents: Agents) -> None:
    kept = known(memory)
    file = memory.settings.data_dir / hookreply.SHOWN
    file.write_bytes(b"\xff\xfe nonsense\n1 2 3\n99 prompt claude aaaaaaaaaaaa zz 00\nprompt")
    ask(memory)
    work(memory, agents)
    assert len(memory.usage(kept).injections) == 1


def test_a_full_file_is_not_added_to(memory: Recollect) -> None:
    known(memory)
    file = memory.settings.data_dir / hookreply.SHOWN
    file.write_bytes(b"\n" * hookreply.MAX_SHOWN)
    assert "5433" in ask(memory)
    assert file.stat().st_size == hookreply.MAX_SHOWN


def test_what_is_old_is_forgotten(opened: Open, agents: Agents, clock: HandClock) -> None:
    memory = opened(injections_keep_days=3)
    kept = known(memory)
    ask(memory)
    work(memory, agents)
    clock.move(days=4)
    ask(memory, session=T)
    memory.drain()
    assert memory.usage(kept).injections == ()


def test_forgetting_the_session_takes_the_lines_that_wait(memory: Recollect, agents: Agents) -> None:
    known(memory)
    work(memory, agents)
    ask(memory)
    ask(memory, session=T)
    memory.forget(session=CLAUDE)
    left = (memory.settings.data_dir / hookreply.SHOWN).read_text()
    assert S.encode().hex() not in left
    assert T.encode().hex() in left


@pytest.mark.parametrize("agent", ["codex", "gemini", "opencode"])
def test_other_hosts_are_noted_under_their_names(memory: Recollect, agent: str) -> None:
    known(memory)
    assert "5433" in ask(memory, "SessionStart", agent=agent, source="startup")
    assert f" start {agent} " in (memory.settings.data_dir / hookreply.SHOWN).read_text()


def test_cursor_is_noted_under_its_own_name_for_a_session(memory: Recollect) -> None:
    known(memory)
    ask(memory, "sessionStart", agent="cursor", conversation_id="conv", cursor_version="1")
    line = (memory.settings.data_dir / hookreply.SHOWN).read_text()
    assert " start cursor " in line
    assert b"conv".hex() in line
