"""Our own model calls are never captured (P18): an agent that works for us fires every hook, and nothing is kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect import Recollect, hook
from recollect.models.language import TASK_MARK
from tests.flow.memory_fixture import HandClock
from tests.flow.transcripts_fixture import Agents, uid

# Stands for `claude -p`: writes its transcript, fires every hook it has, answers.
FAKE = """
import json, os, subprocess, sys
from pathlib import Path
prompt = sys.stdin.read()
session = {session!r} + str(os.getpid())
transcript = Path(os.environ["HOME"], ".claude", "projects", "-tmp", session + ".jsonl")
transcript.parent.mkdir(parents=True, exist_ok=True)
base = {{"sessionId": session, "cwd": os.getcwd(), "version": "2.1.0", "isSidechain": False, "userType": "external"}}
def line(kind, n, content):
    return dict(base, type=kind, uuid=session + str(n), timestamp="2026-03-01T09:00:0%d.000Z" % n,
                message={{"role": kind, "content": content}})
answer = json.dumps({{"memories": [], "gist": "They talked.", "verdict": "same"}})
lines = [line("user", 0, prompt), line("assistant", 1, [{{"type": "text", "text": answer}}])]
transcript.write_text("".join(json.dumps(one) + "\\n" for one in lines))
env = dict(os.environ)
if {forgets!r}:
    env.pop({inner!r})
for event in ("SessionStart", "UserPromptSubmit", "PreCompact", "SubagentStop", "Stop", "SessionEnd"):
    told = dict(session_id=session, transcript_path=str(transcript), hook_event_name=event, prompt=prompt)
    done = subprocess.run([sys.executable, "-I", "-S", {hook!r}, {data!r}, "claude"], input=json.dumps(told).encode(),
                          env=env, capture_output=True)
    assert done.returncode == 0
with open({log!r}, "a") as log:
    log.write(prompt + "\\n")
print(json.dumps({{"type": "result", "is_error": False, "result": answer, "usage": {{"input_tokens": 9000,
                  "output_tokens": 20}}, "total_cost_usd": 0.01}}))
"""


@pytest.fixture(autouse=True)
def an_hour_later(clock: HandClock) -> None:
    """Records bear the time of this machine; they are read an hour after."""
    clock.now = datetime.now(UTC) + timedelta(hours=1)


@pytest.mark.parametrize("forgets", [False, True], ids=["silenced", "mark alone"])
def test_a_run_that_works_for_us_leaves_nothing(
    opened: Callable[..., Recollect], own_home: Path, tmp_path: Path, forgets: bool
) -> None:
    """Also when the agent hands our variable on to none of its hooks: then the mark in its prompt is enough."""
    log, script, data = tmp_path / "log", tmp_path / "claude.py", tmp_path / "data"
    filled = FAKE.format(
        session=uid("inner")[:-12], inner=hook.INNER, forgets=forgets, hook=hook.__file__, data=str(data), log=str(log)
    )
    script.write_text(filled)
    memory = opened(llm="command", llm_command=f"'{sys.executable}' '{script}'", llm_daily_tokens=10**9)
    for number in range(3):
        memory.record("chat:1", "user", f"Please look at part {number} of the build.")
        memory.record("chat:1", "assistant", f"Part {number} is fine.")
    memory.distill()
    memory.summarize("chat:1")
    prompts = log.read_text().split(TASK_MARK)[1:]
    assert len(prompts) == 2
    assert list((own_home / ".claude").rglob("*.jsonl"))
    records = list((data / "spool").glob("*.record"))
    assert len(records) == (12 if forgets else 0)

    memory.drain()
    memory.sweep({"claude": []})
    memory.drain()
    assert list((data / "spool").glob("*.record")) == []
    assert [session.id for session in memory.sessions()] == ["chat:1"]
    assert TASK_MARK not in json.dumps(list(memory.export()))
    memory.distill()
    assert len(log.read_text().split(TASK_MARK)[1:]) == 2


def test_a_run_of_the_users_beside_it_is_kept(opened: Callable[..., Recollect], own_home: Path, tmp_path: Path) -> None:
    """Else the test above would show nothing."""
    path = Agents(own_home).claude(uid("mine"), 2)
    memory = opened()
    told = {"session_id": uid("mine"), "transcript_path": str(path), "hook_event_name": "Stop", "cwd": "/srv/app"}
    hook.capture(str(tmp_path / "data"), "claude", json.dumps(told).encode(), {})
    memory.drain()
    assert [session.id for session in memory.sessions()] == [f"claude:{uid('mine')}"]
