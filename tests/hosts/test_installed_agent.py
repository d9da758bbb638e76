"""`recollect install`, then the real agent: hooks fire, the server and skills are there, and all of it goes again."""

from __future__ import annotations

import json
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from recollect.capture.notice import notice_of
from recollect.capture.spool import Spool
from tests.hosts.host import Host
from tests.hosts.scripted_model import Say

pytestmark = pytest.mark.slow

SKILLED = ["codex", "claude"]  # those that we give skills
LISTED = {"claude": "recollect: ", "gemini": "recollect: ", "opencode": "recollect"}
EVENTS = {"session_start", "user_prompt", "stop", "session_end"}
RUN = {
    "codex": "its 6 hooks run",
    "claude": "its 6 hooks run",
    "gemini": "its 4 hooks run",
    "opencode": "its plugin is there",
}
TOOLS = {"memory_search", "memory_get", "memory_save", "memory_forget", "memory_context", "memory_status"}


def install(host: Host, verb: str = "install") -> dict[str, Any]:
    found: dict[str, Any] = host.recollect(verb, host.agent.name)["agents"][0]
    return found


def files(home: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below, to the byte."""
    return {
        str(path.relative_to(home)): (stat.S_IMODE(path.stat().st_mode), path.read_bytes())
        for path in sorted(home.rglob("*"))
        if path.is_file()
    }


def ask(host: Host, *words: str) -> str:
    """What the agent's own command says; Gemini CLI says it on stderr."""
    done = subprocess.run(
        [str(host.agent.binary), *words], env=host.env, cwd=host.project, capture_output=True, text=True, timeout=90
    )
    assert done.returncode == 0, done
    return done.stdout or done.stderr


def told(host: Host) -> set[str]:
    """The events that hooks left a record of."""
    spool = Spool(host.data_dir)
    return {notice.event for path in host.waiting() if (notice := notice_of(spool.read(path)))}


def test_the_hooks_fire_and_the_run_is_kept(bare: Host) -> None:
    assert install(bare)["changes"]
    with Spool(bare.data_dir).alone() as mine:  # else the server would have read the records by now
        assert mine
        bare.run("What is here?", bare.agent.shell("cat README"), Say("There are widgets."))
        assert told(bare) == EVENTS - ({"session_end"} if bare.agent.flavor == "opencode" else set())
    report = bare.drain()
    assert (report["ingested"], bare.covered()) == (1, True)
    found = {each["name"]: each for each in bare.recollect("doctor")["findings"]}
    assert found[bare.agent.name]["text"].startswith(f"{RUN[bare.agent.flavor]}; last heard of ")


def test_the_server_is_registered_and_its_tools_reach_the_model(bare: Host) -> None:
    install(bare)
    if bare.agent.flavor == "codex":
        servers = {each["name"]: each for each in json.loads(ask(bare, "mcp", "list", "--json"))}
        assert servers["recollect"]["enabled"]
        assert servers["recollect"]["transport"]["args"] == ["-P", "-m", "recollect", "mcp"]
    else:
        assert re.search(LISTED[bare.agent.flavor], ask(bare, "mcp", "list"))
    bare.run("What is here?", Say("There are widgets."))
    seen = json.dumps(bare.model.requests)
    assert {name for name in TOOLS if name in seen} == TOOLS


@pytest.mark.parametrize("agent", SKILLED, indirect=True)
def test_the_skills_and_the_subagent_are_offered_to_the_model(bare: Host) -> None:
    install(bare)
    bare.run("What is here?", Say("There are widgets."))
    seen = json.dumps(bare.model.requests)
    for name in ("recollect-remember", "recollect-recall", "recollect-forget", "recollect-status"):
        assert name in seen
    assert ("memory-recall" in seen) == (bare.agent.flavor == "claude")


def test_uninstalled_the_home_is_what_it_was_to_the_byte(bare: Host) -> None:
    before = files(bare.home)
    install(bare)
    assert files(bare.home) != before
    install(bare, "uninstall")
    assert files(bare.home) == before
    assert not bare.data_dir.exists()


def test_uninstalled_after_a_run_nothing_of_ours_is_left_in_the_settings(bare: Host) -> None:
    """What the agent wrote itself in between stays, and it works as before."""
    before = files(bare.home)
    install(bare)
    bare.run("What is here?", Say("There are widgets."))
    install(bare, "uninstall")
    after = files(bare.home)
    for name, (_, data) in before.items():
        assert after[name][1].startswith(data.rstrip()), name
    ours = {name for name, (_, data) in after.items() if b"recollect" in data}
    settings = ("settings.json", "hooks.json", "config.toml", ".claude.json", "opencode.json", "recollect.js", ".md")
    assert {name for name in ours if name.endswith(settings)} == set()
    records = bare.waiting()
    asked = len(bare.model.requests)
    bare.run("What is here?", Say("There are widgets."))
    assert "memory_search" not in json.dumps(bare.model.requests[asked:])
    assert set(bare.waiting()) <= set(records)  # the server of the first run may have read some as it ended


@pytest.mark.parametrize("agent", ["codex"], indirect=True)
def test_what_codex_noted_about_our_tools_goes_with_the_server(bare: Host) -> None:
    """Else it would find a server without a command, and not start at all."""
    before = files(bare.home)
    install(bare)
    config = bare.home / ".codex" / "config.toml"
    with config.open("a") as file:
        file.write('\n[mcp_servers.recollect.tools.memory_save]\napproval_mode = "approve"\n')
    assert json.loads(ask(bare, "mcp", "list", "--json"))
    install(bare, "uninstall")
    assert json.loads(ask(bare, "mcp", "list", "--json")) == []
    assert files(bare.home)[".codex/config.toml"] == before[".codex/config.toml"]
