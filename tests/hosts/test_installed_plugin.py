"""The plugin in this repository, taken in by the real agents: valid, and its hooks, server and skills work."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.capture.notice import notice_of
from recollect.capture.spool import Spool
from tests.hosts.host import Host
from tests.hosts.scripted_model import Say

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def plugged(bare: Host, tmp_path: Path) -> Host:
    """An agent that took the plugin from a copy of this repository, with `recollect` on its PATH."""
    shop = tmp_path / "repository"
    for name in ("plugins", ".claude-plugin"):
        shutil.copytree(ROOT / name, shop / name)
    command = tmp_path / "bin" / "recollect"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m recollect "$@"\n')
    command.chmod(0o755)
    bare.env["PATH"] = f"{command.parent}:{bare.env['PATH']}"
    bare.env["RECOLLECT_DATA_DIR"] = str(bare.data_dir)
    add = "add" if bare.agent.flavor == "codex" else "install"
    ask(bare, "plugin", "marketplace", "add", str(shop))
    ask(bare, "plugin", add, "recollect@recollect")
    return bare


def ask(host: Host, *words: str) -> str:
    done = subprocess.run(
        [str(host.agent.binary), *words], env=host.env, cwd=host.project, capture_output=True, text=True, timeout=90
    )
    assert done.returncode == 0, done
    return done.stdout


@pytest.mark.parametrize("agent", ["codex", "claude"], indirect=True)
def test_hooks_server_and_skills_of_the_plugin_work(plugged: Host) -> None:
    plugged.data_dir.mkdir(mode=0o700)
    spool = Spool(plugged.data_dir)
    with spool.alone() as mine:
        assert mine
        plugged.run("What is here?", Say("There are widgets."))
        notices = [notice_of(spool.read(path)) for path in plugged.waiting()]
    assert [notice.flavor for notice in notices if notice] == [plugged.agent.flavor] * len(notices)
    events = sorted(notice.event for notice in notices if notice)
    assert events == ["session_end", "session_start", "stop", "user_prompt"]  # each once
    seen = json.dumps(plugged.model.requests)
    for name in ("recollect:remember", "recollect:recall", "recollect:forget", "recollect:status", "memory_search"):
        assert name in seen
    assert plugged.drain()["ingested"] == 1


@pytest.mark.parametrize("agent", ["claude"], indirect=True)
def test_claude_code_finds_no_fault_in_it(bare: Host) -> None:
    for path in (ROOT, ROOT / "plugins" / "recollect"):
        assert "Validation passed" in ask(bare, "plugin", "validate", "--strict", str(path))
