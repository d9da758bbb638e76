"""Grok and Cursor also call the hooks they find in other agents' settings: a turn told of twice is there once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect, hook
from tests.flow.transcripts_fixture import everything

SAMPLE = Path(__file__).resolve().parents[1] / "fixtures" / "grok" / "legacy" / "019f6000-0000-7000-8000-000000000002"
SESSION = SAMPLE.name


@pytest.fixture
def grok(own_home: Path) -> Path:
    """A session as Grok keeps it."""
    folder = own_home / ".grok" / "sessions" / "%2Fsrv%2Fapp" / SESSION
    shutil.copytree(SAMPLE, folder)
    return folder


def tell(memory: Recollect, agent: str, event: str, **more: Any) -> None:
    """What Grok says to a hook that was registered for this agent."""
    told = {"hookEventName": event, "sessionId": SESSION, "cwd": "/srv/app", **more}
    env = {"GROK_SESSION_ID": SESSION, "GROK_HOOK_EVENT": event}
    hook.capture(str(memory.settings.data_dir), agent, json.dumps(told).encode(), env)


@pytest.mark.parametrize("also", [(), ("claude",), ("claude", "claude")], ids=["grok", "and claude", "twice"])
def test_a_turn_of_grok_is_kept_once_however_many_hooks_told_of_it(
    also: tuple[str, ...], memory: Recollect, grok: Path
) -> None:
    for agent in ("grok", *also):
        tell(memory, agent, "user_prompt_submit", prompt="Hello")
        tell(memory, agent, "stop", lastAssistantMessage="Bye", reason="end_turn")
    drained = memory.drain()
    assert (drained.report.ingested, drained.missing) == (1, [])
    assert [session.id for session in memory.sessions()] == [f"grok:{SESSION}"]
    alone = everything(memory)

    memory.sweep()
    assert everything(memory) == alone


def test_before_grok_has_written_anything_its_hooks_add_nothing(memory: Recollect) -> None:
    """Its own files say it all, a moment later; the words of a hook would be there twice then."""
    for agent in ("grok", "claude"):
        tell(memory, agent, "user_prompt_submit", prompt="Hello")
    assert memory.drain().report.events_added == 0
    assert memory.sessions() == []
