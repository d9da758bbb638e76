"""The plugin in the repository is what the code would write, and says the same as what `install` writes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from recollect.install import texts
from recollect.install.hosts import EVENTS
from recollect.install.plugin import plugin_files
from recollect.version import __version__

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", plugin_files())
def test_the_file_in_the_repository_is_up_to_date(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == plugin_files()[name], "run tools/write_plugin.py"


def test_there_is_nothing_else_in_it() -> None:
    found = {str(path.relative_to(ROOT)) for top in ("plugins", ".claude-plugin") for path in (ROOT / top).rglob("*")}
    assert {name for name in found if (ROOT / name).is_file()} == set(plugin_files())


def test_its_parts_are_those_of_install() -> None:
    files = plugin_files()
    for name in texts.SKILLS:
        text = files[f"plugins/recollect/skills/{name}/SKILL.md"]
        assert text.startswith(f"---\nname: {name}\n")
        assert "{{" not in text
    for name, agent in (("hooks.json", "claude"), ("codex-hooks.json", "codex")):
        hooks = json.loads(files[f"plugins/recollect/hooks/{name}"])
        assert hooks.keys() == {"description", "hooks"}
        assert tuple(hooks["hooks"]) == EVENTS
        for groups in hooks["hooks"].values():
            (handler,) = groups[0]["hooks"]
            assert handler["command"] == f"recollect hook {agent}"
            assert 1 <= handler["timeout"] <= 10


def test_it_has_the_version_and_the_license_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name in (".claude-plugin", ".codex-plugin"):
        manifest = json.loads(plugin_files()[f"plugins/recollect/{name}/plugin.json"])
        assert (manifest["name"], manifest["version"], manifest["license"]) == (
            "recollect",
            __version__,
            project["license"],
        )
    (entry,) = json.loads(plugin_files()[".claude-plugin/marketplace.json"])["plugins"]
    assert (ROOT / entry["source"] / ".claude-plugin" / "plugin.json").is_file()
    assert entry["version"] == __version__
