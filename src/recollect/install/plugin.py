"""The plugin that is shipped with the repository, file by file, from the same texts as `recollect install` writes.

`tools/write_plugin.py` writes it to `plugins/` and `.claude-plugin/`. Claude Code, Codex and Grok read it. A plugin
cannot know where Recollect is installed, so its hooks and its server call `recollect` from the PATH.
"""

from __future__ import annotations

import json
from typing import Any

from recollect.install import texts
from recollect.install.hosts import EVENTS, LAST_SECONDS, SECONDS
from recollect.version import __version__

NAME = "recollect"
ABOUT = "A memory that lasts: what was decided, learned and preferred in earlier sessions, with any agent."
KEYWORDS = ["memory", "recall", "context", "sessions"]
FOLDER = f"plugins/{NAME}"


def plugin_files() -> dict[str, str]:
    """Path in the repository -> text."""
    found = {
        ".claude-plugin/marketplace.json": _json(_marketplace()),
        f"{FOLDER}/.claude-plugin/plugin.json": _json(_manifest()),
        f"{FOLDER}/.codex-plugin/plugin.json": _json(_codex_manifest()),
        f"{FOLDER}/hooks/hooks.json": _json(_hooks("claude")),
        f"{FOLDER}/hooks/codex-hooks.json": _json(_hooks("codex")),
        f"{FOLDER}/.mcp.json": _json({"mcpServers": {NAME: {"command": "recollect", "args": ["mcp"]}}}),
        f"{FOLDER}/agents/{texts.SUBAGENT}.md": texts.shipped_subagent(),
    }
    return found | {f"{FOLDER}/skills/{name}/SKILL.md": texts.shipped_skill(name) for name in texts.SKILLS}


def _marketplace() -> dict[str, Any]:
    entry = {
        "name": NAME,
        "source": f"./{FOLDER}",
        "description": ABOUT,
        "version": __version__,
        "category": "productivity",
    }
    return {"name": NAME, "owner": {"name": "Recollect"}, "metadata": {"description": ABOUT}, "plugins": [entry]}


def _manifest() -> dict[str, Any]:
    return {
        "name": NAME,
        "version": __version__,
        "description": ABOUT,
        "author": {"name": "Recollect"},
        "license": "Apache-2.0",
        "keywords": KEYWORDS,
    }


def _codex_manifest() -> dict[str, Any]:
    face = {
        "displayName": "Recollect",
        "shortDescription": "A memory that lasts",
        "longDescription": ABOUT,
        "developerName": "Recollect",
        "category": "Productivity",
        "capabilities": ["Read", "Write"],
        "defaultPrompt": ["What did we decide about this last time?"],
    }
    parts = {"skills": "./skills/", "mcpServers": "./.mcp.json", "hooks": "./hooks/codex-hooks.json"}
    return {**_manifest(), **parts, "interface": face}


def _hooks(agent: str) -> dict[str, Any]:
    def group(event: str) -> dict[str, Any]:
        seconds = LAST_SECONDS if event == "SessionEnd" else SECONDS
        return {"hooks": [{"type": "command", "command": f"recollect hook {agent}", "timeout": seconds}]}

    return {"description": "Tells Recollect what happens.", "hooks": {event: [group(event)] for event in EVENTS}}


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
