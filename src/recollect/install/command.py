"""The commands that go into agents' settings: the hook, the MCP server, and how a skill calls the command line.

Every path is absolute and as it was given: an interpreter of a virtual environment is named by its place there, which
stays when what it points to is upgraded. A command is the same text each time, for Codex trusts a hook by its text.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect import hook
from recollect.install.errors import BadSettings
from recollect.settings import default_data_dir

SERVER = "recollect"  # the name of the MCP server in every agent's settings

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")  # no shell takes these for anything but themselves
_QUOTED = re.compile(r"[\w@%+=:,./ ()\[\]{}#~^-]+")  # nor these, between single quotes
_FLEETING = ("archive-v0", "builds-v0", "environments-v2")  # where uv keeps what `uvx` runs, until it is cleaned


@dataclass(frozen=True, slots=True)
class Program:
    """This installation of Recollect: its interpreter, its hook, and where it keeps everything."""

    python: Path
    hook: Path
    data_dir: Path

    def hook_words(self, agent: str) -> list[str]:
        return [str(self.python), "-I", "-S", str(self.hook), str(self.data_dir), agent]

    def hook_command(self, agent: str) -> str:
        """The hook as one line for a shell."""
        return " ".join(map(quoted, self.hook_words(agent)))

    def server_words(self) -> list[str]:
        # -P: an agent starts it in a repository, and nothing that lies there may be loaded in the place of a module.
        return [str(self.python), "-P", "-m", "recollect", "mcp"]

    def server_env(self) -> dict[str, str]:
        """What the server has to be told, for an agent may hand on few variables or none."""
        elsewhere = self.data_dir != default_data_dir({})
        return {"RECOLLECT_DATA_DIR": str(self.data_dir)} if elsewhere else {}

    def shell(self) -> str:
        """How `recollect` is called from a shell, without its verb."""
        words = [str(self.python), "-P", "-m", "recollect"]
        words += ["--data-dir", str(self.data_dir)] if self.server_env() else []
        return " ".join(map(quoted, words))


def this_program(data_dir: Path) -> Program:
    """The one that runs now."""
    if not hasattr(os, "getuid"):
        raise BadSettings("hooks work on Linux and macOS only", hint="`recollect sweep` works without them.")
    python = Path(sys.executable).absolute()
    program = Program(python, Path(hook.__file__).absolute(), data_dir.absolute())
    if any(part in _FLEETING for part in python.parts):
        raise BadSettings(
            f"Recollect runs from a temporary place ({python}), where hooks would soon find nothing",
            hint="Install it first: `uv tool install recollect`, then `recollect install`.",
        )
    for word in program.hook_words("claude"):
        quoted(word)
    return program


def quoted(word: str) -> str:
    """The word as every shell reads it; one that some shell could read as more than a word is refused."""
    if _PLAIN.fullmatch(word):
        return word
    if not _QUOTED.fullmatch(word) or not word.isprintable():
        raise BadSettings(
            f"the path {word!r} has a character that cannot stand safely in a hook's command",
            hint="Keep Recollect and its data directory under paths of letters, digits, spaces and . _ - /",
        )
    return f"'{word}'"


def is_hook(command: object) -> bool:
    """Whether a command in an agent's settings is one that `install` wrote, now or in another version."""
    if not isinstance(command, str) or "hook.py" not in command:
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return len(words) == 6 and words[1:3] == ["-I", "-S"] and Path(words[3]).parts[-2:] == ("recollect", "hook.py")


def is_server(value: object) -> bool:
    """Whether an entry for an MCP server is one that `install` wrote."""
    if not isinstance(value, Mapping):
        return False
    command, args = value.get("command"), value.get("args", [])
    words: Any = [command, *args] if isinstance(command, str) and isinstance(args, list) else command
    return isinstance(words, list) and words[1:] == ["-P", "-m", "recollect", "mcp"]


def toml_server(program: Program) -> dict[str, str]:
    """The keys of the server's table in TOML, each with its value as it is written."""
    command, *args = program.server_words()
    keys = {"command": _text(command), "args": f"[{', '.join(map(_text, args))}]"}
    env = program.server_env()
    if env:
        keys["env"] = "{ " + ", ".join(f"{name} = {_text(value)}" for name, value in env.items()) + " }"
    return keys


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)  # a basic string of TOML has the escapes of JSON
