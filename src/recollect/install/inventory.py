"""What was installed, kept in `install.json` under the data directory, so that it can be taken out exactly.

For each agent: the variables that led to its settings, for each file whether it was made by us and which objects in it
were, and the directories that were made. Without it everything can still be found and taken out; only what was there
and empty before may be gone then.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recollect.install import files
from recollect.install.jsonfile import Place

NAME = "install.json"


@dataclass(slots=True)
class FileNote:
    """One file: whether we made it, and what we created in it (None: nobody knows)."""

    made: bool = False
    created: set[Place] | None = None


@dataclass(slots=True)
class AgentNote:
    """All of one agent."""

    variables: dict[str, str] = field(default_factory=dict)
    files: dict[Path, FileNote] = field(default_factory=dict)
    folders: set[Path] = field(default_factory=set)


@dataclass(slots=True)
class Inventory:
    """All agents that Recollect is installed for."""

    path: Path
    agents: dict[str, AgentNote] = field(default_factory=dict)
    folders: set[Path] = field(default_factory=set)  # those made for the data directory itself
    data: bytes | None = None  # as it was read

    def of(self, name: str) -> AgentNote:
        return self.agents.setdefault(name, AgentNote())

    def change(self) -> files.Change:
        """What it takes to have it on the disk as it is here; with no agent in it, it goes."""
        after = self._encoded() if self.agents else None
        return files.Change(self.path, self.data, after)

    def _encoded(self) -> bytes:
        agents = {
            name: {
                "variables": each.variables,
                "files": {
                    str(path): {
                        "made": note.made,
                        "created": None if note.created is None else sorted(map(list, note.created), key=repr),
                    }
                    for path, note in sorted(each.files.items())
                },
                "folders": sorted(map(str, each.folders)),
            }
            for name, each in sorted(self.agents.items())
        }
        whole = {"version": 1, "agents": agents, "folders": sorted(map(str, self.folders))}
        return (json.dumps(whole, indent=1) + "\n").encode()


def load(data_dir: Path) -> Inventory:
    """The inventory of this data directory; one that cannot be read is as none."""
    path = data_dir / NAME
    data = files.read(path)
    inventory = Inventory(path, data=data)
    try:
        found = json.loads(data) if data else {}
        for name, each in found.get("agents", {}).items():
            inventory.agents[name] = _agent(each)
        inventory.folders = set(map(Path, found.get("folders", [])))
    except (ValueError, TypeError, AttributeError, KeyError):
        inventory.agents.clear()
    return inventory


def _agent(given: Any) -> AgentNote:
    note = AgentNote(dict(given.get("variables", {})), folders=set(map(Path, given.get("folders", []))))
    for path, one in given["files"].items():
        created = one.get("created")
        note.files[Path(path)] = FileNote(bool(one.get("made")), None if created is None else set(map(tuple, created)))
    return note
