"""The agents Recollect can be installed for: where each keeps its settings, and what of ours belongs there.

Timeouts are in the agent's own unit. The hook leaves after 0.4 s whatever happens; what is asked for is what a machine
under load may need to start it. Nothing runs asynchronously: Claude Code drops such hooks when it ends.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.install import texts
from recollect.install.command import Program, toml_server
from recollect.install.jsonfile import JsonFile
from recollect.install.ownfile import OwnFile
from recollect.install.tomlfile import TomlFile

Part = JsonFile | TomlFile | OwnFile
Env = Mapping[str, str]

SECONDS, LAST_SECONDS = 5, 3  # Codex gives a hook at the end of a session no more than 3
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact", "SessionEnd")
GEMINI_EVENTS = ("SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd")
CURSOR_EVENTS = ("sessionStart", "beforeSubmitPrompt", "stop", "sessionEnd")


@dataclass(frozen=True, slots=True)
class Host:
    """One agent on this machine."""

    name: str  # as it is called on the command line
    agent: str  # as it is called in records and sessions
    title: str
    sign: str | None  # what shows that it is here, None when nothing does
    parts: tuple[Part, ...]
    then: str  # what is left for the user to do


@dataclass(frozen=True, slots=True)
class _Kind:
    """What makes a host of an agent's name."""

    agent: str
    title: str
    binaries: tuple[str, ...]
    home: Callable[[Path, Env], Path]
    parts: Callable[[Path, Path, Env, Program], tuple[Part, ...]]
    then: str


def host(name: str, home: Path, env: Env, program: Program) -> Host:
    """An agent by its name."""
    kind = KINDS[name]
    folder = kind.home(home, env)
    on_path = next((one for one in kind.binaries if shutil.which(one, path=env.get("PATH", ""))), None)
    sign = str(folder) if folder.is_dir() else f"`{on_path}` on the PATH" if on_path else None
    return Host(name, kind.agent, kind.title, sign, kind.parts(folder, home, env, program), kind.then)


# -- where each keeps its settings -------------------------------------------------------------------------------------


def _claude_home(home: Path, env: Env) -> Path:
    given = env.get("CLAUDE_CONFIG_DIR", "").split(",")[0].strip()
    return _folder(given) if given else home / ".claude"


def _named(variable: str, folder: str) -> Callable[[Path, Env], Path]:
    def find(home: Path, env: Env) -> Path:
        given = env.get(variable, "").strip()
        return _folder(given) if given else home / folder

    return find


def _gemini_home(home: Path, env: Env) -> Path:
    given = env.get("GEMINI_CLI_HOME", "").strip()
    return (_folder(given) if given else home) / ".gemini"


def _opencode_home(home: Path, env: Env) -> Path:
    given = env.get("XDG_CONFIG_HOME", "").strip()
    return (_folder(given) if given else home / ".config") / "opencode"


def _folder(given: str) -> Path:
    return Path(given).expanduser().absolute()


# -- what belongs there ------------------------------------------------------------------------------------------------


def _claude(folder: Path, home: Path, env: Env, program: Program) -> tuple[Part, ...]:
    state = (folder if env.get("CLAUDE_CONFIG_DIR", "").strip() else home) / ".claude.json"
    return (
        *_skills(folder / "skills", program),
        OwnFile(folder / "agents" / f"{texts.SUBAGENT}.md", texts.installed_subagent(program), "subagent"),
        JsonFile(
            state,
            servers="mcpServers",
            server={"type": "stdio", **_server(program), "env": program.server_env()},
            locked=True,
        ),
        JsonFile(folder / "settings.json", hooks=_grouped("claude", program)),
    )


def _codex(folder: Path, home: Path, env: Env, program: Program) -> tuple[Part, ...]:
    return (
        *_skills(folder / "skills", program),
        TomlFile(folder / "config.toml", toml_server(program)),
        JsonFile(folder / "hooks.json", hooks=_grouped("codex", program)),
    )


def _grok(folder: Path, home: Path, env: Env, program: Program) -> tuple[Part, ...]:
    return (
        *_skills(folder / "skills", program, "memory"),
        TomlFile(folder / "config.toml", toml_server(program)),
        JsonFile(folder / "hooks" / "recollect.json", hooks=_grouped("grok", program)),
    )


def _gemini(folder: Path, home: Path, env: Env, program: Program) -> tuple[Part, ...]:
    handler = {"name": "recollect", "type": "command", "command": program.hook_command("gemini")}
    hooks = {event: {"hooks": [{**handler, "timeout": _seconds(event) * 1000}]} for event in GEMINI_EVENTS}
    server = {**_server(program), **_environment("env", program)}
    return (JsonFile(folder / "settings.json", hooks=hooks, servers="mcpServers", server=server),)


def _cursor(folder: Path, home: Path, env: Env, program: Program) -> tuple[Part, ...]:
    command = program.hook_command("cursor")
    hooks = {event: {"command": command, "timeout": _seconds(event)} for event in CURSOR_EVENTS}
    server = {**_server(program), **_environment("env", program)}
    return (
        JsonFile(folder / "mcp.json", servers="mcpServers", server=server),
        JsonFile(folder / "hooks.json", hooks=hooks, base={"version": 1}),
    )


def _opencode(folder: Path, home: Path, env: Env, program: Program) -> tuple[Part, ...]:
    names = ("opencode.json", "opencode.jsonc")
    config = next((folder / name for name in names if (folder / name).exists()), folder / names[0])
    server = {"type": "local", "command": program.server_words(), "enabled": True}
    return (
        JsonFile(
            config,
            servers="mcp",
            server={**server, **_environment("environment", program)},
            base={"$schema": "https://opencode.ai/config.json"},
        ),
        OwnFile(folder / "plugins" / "recollect.js", texts.opencode_plugin(program), "plugin that calls the hook"),
    )


def _grouped(agent: str, program: Program) -> dict[str, Mapping[str, Any]]:
    """Hooks as Claude Code has them, and those that do as it does."""
    handler = {"type": "command", "command": program.hook_command(agent)}
    return {event: {"hooks": [{**handler, "timeout": _seconds(event)}]} for event in EVENTS}


def _seconds(event: str) -> int:
    return LAST_SECONDS if event.casefold() == "sessionend" else SECONDS


def _server(program: Program) -> dict[str, Any]:
    command, *args = program.server_words()
    return {"command": command, "args": args}


def _environment(name: str, program: Program) -> dict[str, Any]:
    env = program.server_env()
    return {name: env} if env else {}


def _skills(folder: Path, program: Program, *more: str) -> tuple[Part, ...]:
    return tuple(
        OwnFile(folder / f"{texts.PREFIX}{name}" / "SKILL.md", texts.installed_skill(name, program), "skill")
        for name in (*texts.SKILLS, *more)
    )


KINDS: dict[str, _Kind] = {
    "claude-code": _Kind(
        *("claude", "Claude Code", ("claude",), _claude_home, _claude),
        then="It holds from the next session on.",
    ),
    "codex": _Kind(
        *("codex", "Codex", ("codex",), _named("CODEX_HOME", ".codex"), _codex),
        then="Codex runs a new hook only once you have trusted it: type /hooks in it and look at those of Recollect.",
    ),
    "grok": _Kind(
        *("grok", "Grok", ("grok",), _named("GROK_HOME", ".grok"), _grok),
        then="It holds from the next session on. Grok ignores what hooks print; a skill has it read the memory files.",
    ),
    "gemini": _Kind(
        *("gemini", "Gemini CLI", ("gemini",), _gemini_home, _gemini),
        then="It holds from the next session on.",
    ),
    "opencode": _Kind(
        *("opencode", "OpenCode", ("opencode",), _opencode_home, _opencode),
        then="It holds from the next start of OpenCode on.",
    ),
    "cursor": _Kind(
        *("cursor", "Cursor", ("cursor", "cursor-agent"), lambda home, env: home / ".cursor", _cursor),
        then="It holds from the next start of Cursor on; switch the server on in Cursor's settings if it asks.",
    ),
}
NAMES = tuple(KINDS)
