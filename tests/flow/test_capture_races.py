"""What happens to a session between being found and being stored: it vanishes, is forgotten, or shares a body."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from recollect import Recollect, Scope
from recollect.pipeline.ingest import Ingest
from recollect.pipeline.roots import discover
from recollect.pipeline.sweep import sweep
from recollect.store.sqlite.bodies import SqliteBodies
from tests.flow.conftest import Cli
from tests.flow.transcripts_fixture import Agents, as_lines, claude_turn, grow, uid

S, T = uid("one"), uid("two")


@pytest.fixture
def agents(own_home: Path) -> Agents:
    return Agents(own_home)


def test_a_file_that_vanishes_before_it_is_read_is_no_failure(memory: Recollect, agents: Agents) -> None:
    path = agents.claude(S, 1)
    found = list(discover(memory.settings))
    path.unlink()
    report = sweep(memory.store, memory.scope, memory.settings, memory._clock, found)
    assert (report.discovered, report.failed, report.empty) == (1, 0, 1)
    assert memory.coverage().failed == []


def test_forgetting_a_session_while_it_is_swept_keeps_it_forgotten(
    memory: Recollect, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = agents.claude(S, 1)
    memory.sweep()
    grow(path, claude_turn(S, 1, "my secret plan"))
    asked = Ingest.refuses

    def forgets_after_asking(self: Ingest, reading: object) -> str | None:
        answer = asked(self, reading)  # type: ignore[arg-type]
        if memory.sessions():
            memory.forget(session=f"claude:{S}")
        return answer

    monkeypatch.setattr(Ingest, "refuses", forgets_after_asking)
    memory.sweep()
    monkeypatch.undo()
    assert memory.sweep().withheld <= 1
    assert memory.sessions() == []
    assert not memory.recall("secret plan", abstain=False).hits


def test_forgetting_a_session_leaves_the_body_another_came_to_share(
    memory: Recollect, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.settings = replace(memory.settings, raw_inline_bytes=1_000)
    log = "the same long log\n" * 400
    agents.claude(S, 1, output=log)
    memory.sweep()
    remove = SqliteBodies.remove

    def another_comes_first(self: SqliteBodies, scope: Scope | None, owner: int, hashes: list[bytes]) -> None:
        agents.claude(T, 1, output=log)
        memory.sweep()
        remove(self, scope, owner, hashes)

    monkeypatch.setattr(SqliteBodies, "remove", another_comes_first)
    memory.forget(session=f"claude:{S}")
    monkeypatch.undo()
    (body,) = [body for event in memory.history(f"claude:{T}") for body in event.bodies]
    assert memory.store.bodies.get(memory.scope, body.hash) == log.encode()


def test_a_line_too_long_to_read_is_a_gap(memory: Recollect, agents: Agents) -> None:
    path = agents.claude(S, 1)
    huge = claude_turn(S, 1, "x" * (33 << 20))[:1]
    path.write_bytes(path.read_bytes() + as_lines(huge))
    memory.sweep()
    (found,) = memory.coverage().sessions
    assert found.gaps == ["1 lines are too long to be read"]


def test_the_cost_that_comes_after_the_answer_reaches_the_digest(memory: Recollect, agents: Agents) -> None:
    path = agents.codex(T, 1)
    memory.sweep()
    used = {"input_tokens": 900, "cached_input_tokens": 0, "output_tokens": 100, "total_tokens": 1_000}
    info = {"total_token_usage": used, "last_token_usage": used}
    grow(
        path,
        [
            {
                "timestamp": "2026-03-01T09:30:00.000Z",
                "type": "event_msg",
                "payload": {"type": "token_count", "info": info},
            }
        ],
    )
    assert memory.sweep().analyzed == 1
    digest = memory.digest(f"codex:{T}")
    assert digest is not None
    assert digest.cost.tokens == 1_000


@pytest.mark.parametrize(
    "words",
    [["--watch", "--every", "0"], ["--every", "5"], ["--spool", "--source", "claude"]],
    ids=["never", "no watch", "spool of a source"],
)
def test_what_makes_no_sense_is_said(cli: Cli, words: list[str]) -> None:
    ran = cli("sweep", *words)
    assert ran.code == 2
    assert "--" in ran.err


def test_an_opt_in_that_withholds_says_so(cli: Cli, agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    agents.claude(S, 1)
    monkeypatch.setenv("RECOLLECT_CAPTURE_ONLY", "cluade")
    ran = cli("sweep")
    assert ran.code == 0
    assert "Only these are captured (capture_only): cluade" in ran.err
