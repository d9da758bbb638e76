"""From `remember` to what the hook prints: laid ready by the memory itself, shown at a start, on a prompt, and once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Recollect, Scope, hook
from recollect.frame import without_blocks
from recollect.project import resolve
from recollect.text import dedup_key
from tests.prepared_fixture import event

Open = Callable[..., Recollect]
PORT = "Postgres for local development listens on port 5433."
ASKING = "on which port does postgres listen for local development"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    (folder / "src").mkdir(parents=True)
    return folder


@pytest.fixture
def memory(opened: Open, here: Path) -> Recollect:
    one = opened(Scope(project=resolve(here).name))
    one.directory = here
    return one


def printed(memory: Recollect, name: str, here: Path, agent: str = "claude", **more: str) -> str:
    """The text that the hook puts before the agent; empty when it says nothing."""
    body = event(name, cwd=str(here), **more)
    said = hook.reply(str(memory.settings.data_dir), agent, body, {}, time.monotonic() + 5)
    if not said:
        return ""
    found = json.loads(said)
    return str(found.get("additional_context") or found["hookSpecificOutput"]["additionalContext"])


@pytest.mark.parametrize(
    ("agent", "name"),
    [*((name, "SessionStart") for name in ("claude", "codex", "gemini", "opencode")), ("cursor", "sessionStart")],
)
def test_what_is_remembered_is_there_when_the_next_session_starts(
    memory: Recollect, here: Path, agent: str, name: str
) -> None:
    memory.remember(PORT, kind="fact")
    memory.prepare()
    text = printed(memory, name, here, agent, source="startup")
    assert f"> {PORT}" in text
    assert printed(memory, name, here / "src", agent) == text


@pytest.mark.parametrize(
    ("agent", "name"),
    [("claude", "UserPromptSubmit"), ("gemini", "BeforeAgent"), ("opencode", "UserPromptSubmit")],
)
def test_what_is_remembered_answers_a_prompt_once(memory: Recollect, here: Path, agent: str, name: str) -> None:
    memory.remember(PORT, kind="fact")
    memory.prepare()
    text = printed(memory, name, here, agent, prompt=ASKING)
    assert f"> {PORT}" in text
    assert without_blocks(text, "gone") == ("gone\n", 1)
    assert printed(memory, name, here, agent, prompt=ASKING) == ""


def test_what_the_start_showed_is_not_shown_again_on_a_prompt(memory: Recollect, here: Path) -> None:
    memory.remember('The port of "postgres" for local development is 5433, say the café\\team\'s notes.', kind="fact")
    memory.prepare()
    assert "5433" in printed(memory, "SessionStart", here, source="startup")
    assert printed(memory, "UserPromptSubmit", here, prompt=ASKING) == ""
    assert "5433" in printed(memory, "UserPromptSubmit", here, prompt=ASKING, session_id="s-2")


def test_what_is_forgotten_is_not_shown_any_more(memory: Recollect, here: Path) -> None:
    kept = memory.remember(PORT, kind="fact")
    memory.prepare()
    memory.forget(kept.id)
    memory.prepare()
    assert "5433" not in printed(memory, "SessionStart", here, source="startup")
    assert printed(memory, "UserPromptSubmit", here, prompt=ASKING) == ""


@pytest.mark.parametrize(("mode", "expected"), [("off", False), ("nudge", True), ("recall", True)])
def test_the_setting_decides_what_a_prompt_gets(opened: Open, here: Path, mode: str, expected: bool) -> None:
    memory = opened(Scope(project=resolve(here).name), inject_prompt=mode)
    memory.directory = here
    memory.remember(PORT, kind="fact")
    memory.prepare()
    text = printed(memory, "UserPromptSubmit", here, prompt=ASKING)
    assert bool(text) is expected
    assert ("5433" in text) is (mode == "recall")


def test_a_start_that_was_shown_is_known_again(memory: Recollect, here: Path) -> None:
    memory.remember(PORT, kind="fact")
    memory.prepare()
    text = printed(memory, "SessionStart", here, source="startup")
    assert memory.store.captures.was_injected(memory.scope, dedup_key(text))
