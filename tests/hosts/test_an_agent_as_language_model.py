"""A real agent as language model: `codex exec` and `claude -p` answer us, and none of it is captured (P18)."""

from __future__ import annotations

import json
import shlex

import pytest

from recollect import Recollect
from recollect.models.language import TASK_MARK
from recollect.settings import load
from tests.hosts.host import Host
from tests.hosts.scripted_model import Say

pytestmark = pytest.mark.slow
# As a user would write them, but without what keeps an agent from writing its session down.
COMMANDS = {
    "codex": "exec --json --skip-git-repo-check --sandbox read-only --dangerously-bypass-hook-trust -",
    "claude": "-p --output-format json",
}
TOLD = "The office cat is called Miso."
ANSWER = {"memories": [{"kind": "fact", "content": TOLD, "evidence": [{"event": "e1", "quote": TOLD}]}]}


@pytest.mark.parametrize("agent", COMMANDS, indirect=True)
def test_an_agent_answers_and_its_run_is_not_captured(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in host.env.items():
        monkeypatch.setenv(name, value)
    command = f"{shlex.quote(str(host.agent.binary))} {COMMANDS[host.agent.flavor]}"
    settings = load(data_dir=host.data_dir, llm="command", llm_command=command, embedder="none").settings
    host.model.follow(Say(json.dumps(ANSWER)))
    with Recollect.open(settings=settings, background=False) as memory:
        memory.record("chat:1", "user", f"By the way: {TOLD}")
        memory.record("chat:1", "assistant", "A fine name.")
        memory.distill()
        kept = [one for one in memory.memories() if one.maker.startswith("command:")]
        [row] = memory.store.ledger.spent(memory.scope, since=memory._clock())
    asked = json.dumps(host.model.requests[0])
    assert TASK_MARK in asked
    assert "By the way" in asked
    assert [one.content for one in kept] == [TOLD]
    assert (row.use, row.calls) == ("turn", 1)
    assert row.input >= host.model.total().input

    assert host.waiting() == []
    assert host.agent.transcripts(host.home), "it was written down, so a sweep sees it"
    host.recollect("sweep")
    assert [session.id for session in host.sessions()] == ["chat:1"]
    assert TASK_MARK not in "".join(event.text for event in host.events())
