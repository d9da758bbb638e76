"""The skills, the subagent and the plugin for OpenCode as text: templates in `texts/`, filled in for where they go.

Installed for one user they are called `recollect-remember` and name this installation by its path; in the plugin that
is shipped they are called `remember` (a plugin's name comes before) and call `recollect` from the PATH.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from recollect.install.command import Program

SKILLS = ("remember", "recall", "forget", "status")
SUBAGENT = "memory-recall"
PREFIX = "recollect-"

_FOLDER = Path(__file__).parent / "texts"


def installed_skill(name: str, program: Program) -> str:
    """A skill as it goes into an agent's own directory."""
    return _filled(f"{name}.md", {"prefix": PREFIX, "server": "mcp__recollect__", **_of(program)})


def installed_subagent(program: Program) -> str:
    return _filled(f"{SUBAGENT}.md", {"server": "mcp__recollect__", **_of(program)})


def shipped_skill(name: str) -> str:
    """A skill as it stands in the plugin."""
    return _filled(
        f"{name}.md", {"prefix": "", "server": "mcp__plugin_recollect_recollect__", "recollect": "recollect"}
    )


def shipped_subagent() -> str:
    return _filled(f"{SUBAGENT}.md", {"server": "mcp__plugin_recollect_recollect__", "recollect": "recollect"})


def opencode_plugin(program: Program) -> str:
    return _filled("opencode.js", {"command": json.dumps(program.hook_words("opencode"), ensure_ascii=False)})


def _of(program: Program) -> dict[str, str]:
    return {"recollect": program.shell(), "memory": str(program.data_dir / "memory")}


def _filled(name: str, values: Mapping[str, str]) -> str:
    text = (_FOLDER / name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace("{{" + key + "}}", value)
    return text
