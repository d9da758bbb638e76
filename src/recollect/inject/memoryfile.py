"""The names of memory files: one of the user, one of each project, and those that the settings name."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

FOLDER, USER = "memory", "user.md"
PROJECT = "{project}"  # in a name from the settings: one such file for each project
_NOT_SLUG = re.compile(r"[^a-z0-9]+")


def slug_of(project: str) -> str:
    """A project as part of a file's name: its last word to read, a hash to tell it from others."""
    word = _NOT_SLUG.sub("-", project.rstrip("/").rpartition("/")[2].casefold()).strip("-")[:40].strip("-")
    return f"{word or 'project'}-{hashlib.sha256(project.encode('utf-8', 'replace')).hexdigest()[:8]}"


def file_of(project: str | None) -> str:
    """The name of a project's file in the data directory, or of the user's own."""
    return USER if project is None else f"{slug_of(project)}.md"


def named_file(template: str, project: str | None) -> Path | None:
    """The file that a setting means for a project; without a place for it in the name, for the user only."""
    if PROJECT in template:
        return None if project is None else Path(template.replace(PROJECT, slug_of(project)))
    return Path(template) if project is None else None
