"""`recollect install` and `uninstall` (P16): settings get what is ours, keep what is theirs, and come back."""

from __future__ import annotations

import json
import re
import shlex
import stat
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.flow.conftest import Cli

AGENTS = ("claude-code", "codex", "grok", "gemini", "opencode", "cursor")
HOMES = (".claude", ".codex", ".grok", ".gemini", ".config/opencode", ".cursor")
Tree = dict[str, tuple[int, bytes | str | None]]


@pytest.fixture(autouse=True)
def bare_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No agent of this machine is found."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.fixture
def used(own_home: Path) -> Path:
    """A home in which every agent was set up by its user, each in another layout."""
    theirs = '{"matcher": "*", "hooks": [{"type": "command", "command": "echo mine", "timeout": 60}]}'
    written = {
        ".claude/settings.json": '{\n\t"model": "opus",\n\t"hooks": {"Stop": [' + theirs + "]}\n}",
        ".claude.json": '{"numStartups":5,"mcpServers":{"other":{"command":"x"}},"projects":{}}',
        ".claude/agents/mine.md": "---\nname: mine\n---\n",
        ".codex/config.toml": '# mine\r\nmodel = "gpt"\r\n\r\n[tui]\r\nx = 1',
        ".codex/hooks.json": '{"description": "mine", "hooks": {"Stop": [' + theirs + "]}}\n",
        ".grok/config.toml": "[mcp_servers.other]\ncommand = 'x'\n",
        ".gemini/settings.json": '{\n  // mine\n  "theme": "dark", // yes\n}\n',
        ".config/opencode/opencode.jsonc": "\ufeff{\n    /* nothing */\n}\n",
        ".cursor/hooks.json": '{"version": 1, "hooks": {"stop": [{"command": "./x.sh"}]}}',
        ".cursor/mcp.json": "{}",
    }
    for name, text in written.items():
        file = own_home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    (own_home / ".claude.json").chmod(0o600)
    (own_home / ".codex/config.toml").chmod(0o640)
    return own_home


def tree(home: Path) -> Tree:
    """Every file, link and directory below, to the byte."""

    def shown(path: Path) -> bytes | str | None:
        if path.is_symlink():
            return str(path.readlink())
        return path.read_bytes() if path.is_file() else None

    return {
        str(path.relative_to(home)): (stat.S_IMODE(path.lstat().st_mode), shown(path))
        for path in sorted(home.rglob("*"))
    }


def installed_hooks(home: Path) -> Iterator[tuple[str, str, dict[str, Any], int]]:
    """Every hook of ours: the agent, the event, the entry, and its unit (how many to the second)."""
    files = {
        "claude": (".claude/settings.json", 1),
        "codex": (".codex/hooks.json", 1),
        "grok": (".grok/hooks/recollect.json", 1),
        "gemini": (".gemini/settings.json", 1000),
        "cursor": (".cursor/hooks.json", 1),
    }
    for agent, (name, unit) in files.items():
        for event, entries in json.loads((home / name).read_text())["hooks"].items():
            for entry in entries:
                for handler in entry.get("hooks", [entry]):
                    if "hook.py" in handler["command"]:
                        yield agent, event, handler, unit


# -- what is written ---------------------------------------------------------------------------------------------------


def test_every_hook_is_absolute_quick_and_plain(cli: Cli, own_home: Path) -> None:
    """P16: parsed as the agents do."""
    assert cli("install", *AGENTS).code == 0
    found = list(installed_hooks(own_home))
    events = {agent: {event for one, event, *_ in found if one == agent} for agent, *_ in found}
    usual = {"SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact", "SessionEnd"}
    assert events == {
        **dict.fromkeys(("claude", "codex", "grok"), usual),
        "gemini": {"SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"},
        "cursor": {"sessionStart", "beforeSubmitPrompt", "stop", "sessionEnd"},
    }
    for agent, event, handler, unit in found:
        assert 1 <= handler["timeout"] / unit <= (3 if event.casefold() == "sessionend" else 10)
        assert not re.search(r"[$`;|&<>\n]", handler["command"])
        python, isolated, bare, hook, data, name = shlex.split(handler["command"])
        assert (isolated, bare, name) == ("-I", "-S", agent)
        assert all(Path(path).is_absolute() for path in (python, hook, data))
        assert Path(python).is_file()
        assert Path(hook).is_file()
        assert data == str(own_home / ".local/share/recollect")
        assert "async" not in handler
    assert json.loads((own_home / ".codex/hooks.json").read_text()).keys() <= {"description", "hooks"}


def test_the_server_is_registered_with_every_agent(cli: Cli, own_home: Path) -> None:
    cli("install", *AGENTS)
    words = [sys.executable, "-P", "-m", "recollect", "mcp"]
    for name in (".claude.json", ".gemini/settings.json", ".cursor/mcp.json"):
        server = json.loads((own_home / name).read_text())["mcpServers"]["recollect"]
        assert [server["command"], *server["args"]] == words
        assert server.get("env", {}) == {}
    for name in (".codex/config.toml", ".grok/config.toml"):
        server = tomllib.loads((own_home / name).read_text())["mcp_servers"]["recollect"]
        assert [server["command"], *server["args"]] == words
    server = json.loads((own_home / ".config/opencode/opencode.json").read_text())["mcp"]["recollect"]
    assert server == {"type": "local", "command": words, "enabled": True}


def test_another_data_directory_is_told_to_hooks_servers_and_skills(cli: Cli, own_home: Path, tmp_path: Path) -> None:
    data = tmp_path / "my data"
    assert cli("install", *AGENTS, "--data-dir", str(data)).code == 0
    assert {shlex.split(handler["command"])[4] for _, _, handler, _ in installed_hooks(own_home)} == {str(data)}
    env = {"RECOLLECT_DATA_DIR": str(data)}
    assert json.loads((own_home / ".claude.json").read_text())["mcpServers"]["recollect"]["env"] == env
    assert tomllib.loads((own_home / ".codex/config.toml").read_text())["mcp_servers"]["recollect"]["env"] == env
    opencode = json.loads((own_home / ".config/opencode/opencode.json").read_text())["mcp"]["recollect"]
    assert opencode["environment"] == env
    assert f"--data-dir '{data}'" in (own_home / ".claude/skills/recollect-recall/SKILL.md").read_text()
    assert cli("uninstall", "all", "--data-dir", str(data)).code == 0
    assert tree(own_home) == {}
    assert not data.exists()


def test_skills_and_the_subagent_are_there_and_complete(cli: Cli, own_home: Path) -> None:
    cli("install", *AGENTS)
    names = {"remember", "recall", "forget", "status"}
    for home, more in ((".claude", set()), (".codex", set()), (".grok", {"memory"})):
        skills = {folder.name: folder / "SKILL.md" for folder in (own_home / home / "skills").iterdir()}
        assert skills.keys() == {f"recollect-{name}" for name in names | more}
        for name, file in skills.items():
            head = file.read_text().split("---\n")[1]
            assert f"\nname: {name}\n" in head
            assert 20 < len(re.search(r"^description: (.*)$", head, re.MULTILINE)[1]) < 1024  # type: ignore[index]
            assert "{{" not in file.read_text()
    agent = (own_home / ".claude/agents/memory-recall.md").read_text()
    assert "\nname: memory-recall\n" in agent
    assert f"{sys.executable} -P -m recollect recall" in agent
    assert (
        str(own_home / ".local/share/recollect/memory")
        in (own_home / ".grok/skills/recollect-memory/SKILL.md").read_text()
    )


def test_the_variables_of_the_agents_lead_the_way(
    cli: Cli, own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And back: also when they are not set any more, for the inventory knows."""
    places = {
        "CLAUDE_CONFIG_DIR": "claude",
        "CODEX_HOME": "codex",
        "GROK_HOME": "grok",
        "GEMINI_CLI_HOME": "gemini",
        "XDG_CONFIG_HOME": "config",
    }
    for variable, name in places.items():
        monkeypatch.setenv(variable, str(tmp_path / "else" / name))
    cli("install", *AGENTS)
    found = {str(path.relative_to(tmp_path / "else")) for path in (tmp_path / "else").rglob("*") if path.is_file()}
    assert {"claude/.claude.json", "claude/settings.json", "codex/hooks.json", "grok/hooks/recollect.json"} <= found
    assert {
        "gemini/.gemini/settings.json",
        "config/opencode/opencode.json",
        "config/opencode/plugins/recollect.js",
    } <= found
    for variable in places:
        monkeypatch.delenv(variable)
    assert cli("uninstall", "all").code == 0
    assert not (tmp_path / "else").exists()
    assert tree(own_home) == {}


# -- and taken out -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", [*AGENTS, "all"])
def test_install_and_uninstall_leave_every_byte_as_it_was(agent: str, cli: Cli, used: Path) -> None:
    """P16."""
    before = tree(used)
    assert cli("install", agent).code == 0
    after = tree(used)
    assert after != before
    assert {name for name in before if before[name] != after[name]} == {
        name for name in before if f"{name}.recollect-backup" in after
    }
    for name in before:
        assert after[name][0] == before[name][0], name
        if f"{name}.recollect-backup" in after:
            assert after[f"{name}.recollect-backup"] == before[name]
    assert cli("uninstall", agent).code == 0
    assert tree(used) == before


@pytest.mark.parametrize("text", ["", "\n", "{}", "{ }\n", '{"hooks": {}}', '{"hooks": {"Stop": [], "Other": []}}'])
def test_what_was_there_and_empty_is_so_again(text: str, cli: Cli, own_home: Path) -> None:
    """By the inventory: nothing else could tell."""
    file = own_home / ".codex" / "hooks.json"
    file.parent.mkdir()
    file.write_text(text)
    before = tree(own_home)
    assert cli("install", "codex").code == 0
    assert cli("uninstall", "codex").code == 0
    assert tree(own_home) == before


def test_an_empty_home_is_empty_again(cli: Cli, own_home: Path) -> None:
    cli("install", *AGENTS)
    inventory = own_home / ".local/share/recollect/install.json"
    assert stat.S_IMODE(inventory.stat().st_mode) == 0o600
    assert stat.S_IMODE(inventory.parent.stat().st_mode) == 0o700
    assert cli("uninstall", "all").code == 0
    assert tree(own_home) == {}


def test_doing_it_again_changes_nothing(cli: Cli, used: Path) -> None:
    cli("install", "all")
    once = tree(used)
    ran = cli("install", "all", "--json")
    assert tree(used) == once
    assert [each["changes"] for each in ran.json["agents"]] == [[]] * 6
    cli("uninstall", "all")
    gone = tree(used)
    assert cli("uninstall", "all").code == 0
    assert cli("uninstall", "codex").code == 0
    assert tree(used) == gone


def test_without_the_inventory_it_is_found_by_what_it_is(cli: Cli, used: Path) -> None:
    """In this home nothing was there and empty before, so even this is exact."""
    (used / ".cursor/mcp.json").unlink()
    before = tree(used)
    cli("install", "all")
    (used / ".local/share/recollect/install.json").unlink()
    assert cli("uninstall", "all").code == 0
    left = {name: what for name, what in tree(used).items() if name not in before}
    assert {name: before[name] for name in before} == {name: tree(used)[name] for name in before}
    assert all(what is None for _, what in left.values())  # empty directories: nobody knows whose they were


def test_a_broken_inventory_is_as_none(cli: Cli, used: Path) -> None:
    cli("install", "codex")
    for text in ("{", "[]", '{"agents": 5}', '{"agents": {"codex": 5}}', '{"agents": {"codex": {"files": []}}}'):
        (used / ".local/share/recollect/install.json").write_text(text)
        assert cli("uninstall", "codex", "--dry-run").code == 0
    assert cli("uninstall", "codex").code == 0
    assert "recollect" not in (used / ".codex/hooks.json").read_text()


def test_what_the_user_changed_in_between_stays(cli: Cli, used: Path) -> None:
    """Only ours goes, and the copy from before stays, for it is not what is there now."""
    cli("install", "claude-code")
    file = used / ".claude/settings.json"
    mine = '{"hooks": [{"type": "command", "command": "echo more"}]}'
    changed = file.read_text().replace('"model": "opus"', '"model": "sonnet"')
    changed = changed.replace('"Stop": [', f'"Stop": [{mine}, ').replace(
        '"SubagentStop": [', f'"SubagentStop": [{mine}, '
    )
    file.write_text(changed)
    ran = cli("uninstall", "claude-code")
    settings = json.loads(file.read_text())
    assert settings["model"] == "sonnet"
    commands = {event: [one["hooks"][0]["command"] for one in groups] for event, groups in settings["hooks"].items()}
    assert commands == {"Stop": ["echo more", "echo mine"], "SubagentStop": ["echo more"]}
    assert "settings.json.recollect-backup stays" in ran.out
    assert (used / ".claude/settings.json.recollect-backup").exists()


def test_a_skill_that_somebody_changed_stays_and_is_named(cli: Cli, own_home: Path) -> None:
    cli("install", "claude-code")
    skill = own_home / ".claude/skills/recollect-recall/SKILL.md"
    changed = skill.read_text() + "\nAlways answer in rhyme.\n"
    skill.write_text(changed)
    assert f"{skill.name} was changed" in cli("install", "claude-code").out
    ran = cli("uninstall", "claude-code")
    assert "recollect-recall/SKILL.md was changed since it was installed and stays" in ran.out
    assert skill.read_text() == changed
    assert not (own_home / ".claude/agents").exists()


def test_a_file_of_theirs_in_our_place_is_left_alone(cli: Cli, own_home: Path) -> None:
    file = own_home / ".claude/agents/memory-recall.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: memory-recall\n---\nMine.\n")
    before = tree(own_home)
    assert "memory-recall.md is not ours and stays as it is" in cli("install", "claude-code").out
    cli("uninstall", "claude-code")
    assert tree(own_home) == before


def test_an_older_skill_of_ours_is_renewed(cli: Cli, own_home: Path, tmp_path: Path) -> None:
    cli("install", "codex", "--data-dir", str(tmp_path / "old"))
    cli("install", "codex")
    skill = (own_home / ".codex/skills/recollect-recall/SKILL.md").read_text()
    assert "--data-dir" not in skill
    hooks = (own_home / ".codex/hooks.json").read_text()
    assert str(tmp_path / "old") not in hooks
    assert hooks.count("hook.py") == 6
    assert tomllib.loads((own_home / ".codex/config.toml").read_text())["mcp_servers"].keys() == {"recollect"}


# -- what is shown -----------------------------------------------------------------------------------------------------


def test_bare_install_changes_nothing_and_shows_what_it_would_do(cli: Cli, own_home: Path) -> None:
    (own_home / ".codex").mkdir()
    before = tree(own_home)
    ran = cli("install")
    assert ran.code == 0
    assert "codex        not installed" in ran.out
    assert "make     ~/.codex/hooks.json  (6 hooks)" in ran.out
    assert "recollect install codex" in ran.out
    assert "Not found: claude-code, grok, gemini, opencode, cursor" in ran.out
    assert tree(own_home) == before
    found = cli("install", "--json").json
    assert (found["due"], found["dry_run"]) == (["codex"], True)
    assert found["not_found"] == ["claude-code", "grok", "gemini", "opencode", "cursor"]
    assert tree(own_home) == before


def test_bare_uninstall_changes_nothing_and_shows_what_it_would_do(cli: Cli, own_home: Path) -> None:
    assert "installed for no agent" in cli("uninstall").out
    cli("install", "codex", "cursor")
    before = tree(own_home)
    ran = cli("uninstall")
    assert "recollect uninstall codex cursor" in ran.out
    assert "remove   ~/.cursor/hooks.json" in ran.out
    assert tree(own_home) == before


def test_an_agent_is_found_by_its_program_too(cli: Cli, tmp_path: Path) -> None:
    binary = tmp_path / "bin" / "grok"
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o755)
    assert "grok         not installed  `grok` on the PATH" in cli("install").out


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_a_dry_run_shows_every_line_and_changes_none(verb: str, cli: Cli, used: Path) -> None:
    if verb == "uninstall":
        cli("install", "all")
    before = tree(used)
    ran = cli(verb, "all", "--dry-run")
    assert tree(used) == before
    sign = "+" if verb == "install" else "-"
    assert f"--- {used}/.codex/config.toml\n+++ {used}/.codex/config.toml\n@@" in ran.out
    assert f"\n{sign}[mcp_servers.recollect]\n" in ran.out
    assert ran.out.rstrip().endswith("Nothing was changed.")
    found = cli(verb, "all", "--dry-run", "--json").json
    assert all(change["diff"] for each in found["agents"] for change in each["changes"])
    assert tree(used) == before


def test_a_long_line_is_cut_when_it_is_shown(cli: Cli, own_home: Path) -> None:
    """Claude Code may keep megabytes on one line."""
    (own_home / ".claude.json").write_text(json.dumps({"history": "secret " * 100_000}))
    ran = cli("install", "claude-code", "--dry-run")
    assert max(map(len, ran.out.splitlines())) < 600


@pytest.mark.parametrize("words", [("install", "emacs"), ("uninstall", "emacs"), ("install", "codex", "vi")])
def test_an_agent_nobody_knows_is_refused(words: tuple[str, ...], cli: Cli, own_home: Path) -> None:
    ran = cli(*words)
    assert ran.code == 2
    assert "claude-code, codex, grok" in ran.err
    assert tree(own_home) == {}


def test_all_of_none_is_refused(cli: Cli, own_home: Path) -> None:
    ran = cli("install", "all")
    assert (ran.code, "no agent was found" in ran.err) == (2, True)
    assert tree(own_home) == {}
