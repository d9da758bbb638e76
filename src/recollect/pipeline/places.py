"""Places outside of the data directory: files that hold a block of ours, directories of a project without a session.

Kept as `places.json` in the data directory; who changes it holds the lock of `prepare`. A file that cannot be read as
such holds no places.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from recollect.pipeline.folder import Folder

FILE = "places.json"


@dataclass(frozen=True, slots=True)
class Marked:
    """A file with a block: whose project it tells of, and whether the file was made for it."""

    project: str | None
    created: bool = False


@dataclass(slots=True)
class Places:
    """What there is, by path: files that the user named one by one, those that the settings name, directories."""

    files: dict[str, Marked] = field(default_factory=dict)
    kept: dict[str, Marked] = field(default_factory=dict)
    directories: dict[str, str | None] = field(default_factory=dict)

    def forget(self, project: str | None) -> dict[str, Marked]:
        """Nothing of this project is known any more, with None of none; returns the files that told of it."""
        gone = {
            path: one for path, one in (self.files | self.kept).items() if project is None or one.project == project
        }
        self.files = {path: one for path, one in self.files.items() if path not in gone}
        self.kept = {path: one for path, one in self.kept.items() if path not in gone}
        self.directories = {path: name for path, name in self.directories.items() if project and name != project}
        return gone


def load(data_dir: Path) -> Places:
    """The places as they were saved."""
    with Folder(data_dir) as folder:
        found = folder.read(FILE)
    try:
        given = json.loads(found or b"{}")
        files, kept = (
            {str(path): Marked(_name(one["project"]), bool(one["created"])) for path, one in _items(given, name)}
            for name in ("files", "kept")
        )
        return Places(files, kept, {str(path): _name(project) for path, project in _items(given, "directories")})
    except (ValueError, TypeError, KeyError, AttributeError):
        return Places()


def save(data_dir: Path, places: Places) -> None:
    """Keep these places; none at all leave no file."""
    with Folder(data_dir) as folder:
        if places == Places():
            folder.remove(FILE)
        else:
            folder.put(FILE, json.dumps(asdict(places), indent=1).encode())


def _items(given: dict[str, Any], name: str) -> list[tuple[Any, Any]]:
    return list(given.get(name, {}).items())


def _name(project: object) -> str | None:
    return None if project is None else str(project)
