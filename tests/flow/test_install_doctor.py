"""`recollect doctor` knows whether hooks are installed, whether they run, and when something was last heard of them."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.flow.conftest import Cli
from tests.flow.test_install import bare_path as bare_path
from tests.flow.transcripts_fixture import Agents, uid


def findings(cli: Cli) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in cli("doctor", "--json").json["findings"]}


def fire(home: Path, event: str, **told: Any) -> None:
    """Do what Codex does at this event: run the command in its settings, by a shell."""
    hooks = json.loads((home / ".codex/hooks.json").read_text())["hooks"]
    body = json.dumps({"hook_event_name": event, **told}).encode()
    done = subprocess.run(["/bin/sh", "-c", hooks[event][0]["hooks"][0]["command"]], input=body, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_agent_without_hooks_is_noted(cli: Cli, own_home: Path) -> None:
    assert "agents" not in findings(cli)
    (own_home / ".codex").mkdir()
    (own_home / ".gemini").mkdir()
    found = findings(cli)["agents"]
    assert (found["state"], found["text"]) == ("note", "not installed for codex, gemini")
    assert "recollect install codex gemini" in found["todo"]


def test_hooks_that_run_and_were_never_heard_of_are_noted(cli: Cli, own_home: Path) -> None:
    cli("install", "codex", "opencode")
    found = findings(cli)
    assert (found["codex"]["state"], found["codex"]["text"]) == ("note", "its 6 hooks run; nothing heard of it yet")
    assert "/hooks" in found["codex"]["todo"]
    assert found["opencode"]["text"] == "its plugin is there; nothing heard of it yet"
    assert not (own_home / ".local/share/recollect/spool").exists()  # they were tried elsewhere


def test_a_record_that_waits_was_heard_and_so_was_one_that_was_read(cli: Cli, own_home: Path) -> None:
    cli("install", "codex")
    fire(own_home, "Stop", session_id="s-1")
    assert findings(cli)["codex"]["text"] == "its 6 hooks run; last heard of just now"
    assert findings(cli)["codex"]["state"] == "ok"
    cli("install", "claude-code")
    path = Agents(own_home).claude(uid("one"), 2)
    hooks = json.loads((own_home / ".claude/settings.json").read_text())["hooks"]["Stop"]
    body = json.dumps({"hook_event_name": "Stop", "session_id": uid("one"), "transcript_path": str(path)}).encode()
    subprocess.run(shlex.split(hooks[0]["hooks"][0]["command"]), input=body, check=True)
    assert cli("sweep", "--spool").code == 0
    assert "last heard of just now" in findings(cli)["claude-code"]["text"]


@pytest.mark.parametrize("part", [0, 3], ids=["interpreter", "hook"])
def test_a_hook_that_does_not_run_is_bad(part: int, cli: Cli, own_home: Path) -> None:
    """Python or Recollect went elsewhere."""
    cli("install", "codex")
    file = own_home / ".codex/hooks.json"
    words = shlex.split(json.loads(file.read_text())["hooks"]["Stop"][0]["hooks"][0]["command"])
    file.write_text(file.read_text().replace(words[part], f"/gone/recollect/{Path(words[part]).name}"))
    ran = cli("doctor")
    assert ran.code == 1
    assert "its hook does not run: " in ran.out
    assert "recollect install codex" in ran.out
    cli("install", "codex")
    assert cli("doctor").code == 0


def test_a_hook_that_is_missing_or_leads_elsewhere_is_bad(cli: Cli, own_home: Path, tmp_path: Path) -> None:
    cli("install", "codex", "--data-dir", str(tmp_path / "other"))
    assert findings(cli)["codex"]["text"].startswith(f"its hooks write to {tmp_path / 'other'}, not to ")
    cli("install", "codex")
    file = own_home / ".codex/hooks.json"
    hooks = json.loads(file.read_text())
    del hooks["hooks"]["Stop"]
    file.write_text(json.dumps(hooks))
    assert findings(cli)["codex"]["text"] == "it has no hook for Stop"


def test_settings_that_cannot_be_read_are_bad(cli: Cli, own_home: Path) -> None:
    cli("install", "codex")
    (own_home / ".codex/hooks.json").write_text('{"recollect": ')
    found = findings(cli)["codex"]
    assert found["state"] == "bad"
    assert "hooks.json is not valid JSON" in found["text"]
