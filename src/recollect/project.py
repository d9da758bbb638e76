"""Which project a directory belongs to, and by which rule: explained, never guessed silently.

Order: an alias from the settings, the normalised address of the remote `origin` (clones and worktrees are one
project), the git common directory (worktrees of a repository without a remote), the directory itself. Git's own files
are read; git is not run, and nothing in a repository can change a setting.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from recollect.ids import stable_key
from recollect.model import MAX_ID_CHARS

_REMOTE = re.compile(r'^\s*\[remote "origin"\]\s*$(.*?)(?=^\s*\[|\Z)', re.MULTILINE | re.DOTALL)
_URL = re.compile(r"^\s*url\s*=\s*(\S+)\s*$", re.MULTILINE)
_SCP_LIKE = re.compile(r"^(?:[^@/]+@)?([^:/]+):(?!//)(.+)$")
_SCHEME = re.compile(r"^[a-z+]+://(?:[^@/]*@)?([^/:]+)(?::\d+)?/(.+)$", re.IGNORECASE)
_SMALL_FILE = 1_000_000


@dataclass(frozen=True, slots=True)
class Project:
    """A project's name and the rule that gave it."""

    name: str | None
    rule: str
    directory: str


def resolve(directory: Path, aliases: Mapping[str, str] | None = None) -> Project:
    """The project of a directory. The home directory and the root are nobody's project."""
    here = Path(os.path.abspath(directory))  # noqa: PTH100 - links stay as the user sees them
    for parent in (here, *here.parents):
        if aliases and str(parent) in aliases:
            return Project(aliases[str(parent)], f"alias for {parent} in the settings", str(here))
    top, common = _git_dirs(here)
    if common is not None:
        remote = _remote(common)
        if remote and aliases and remote in aliases:
            return Project(aliases[remote], f"alias for {remote} in the settings", str(here))
        if remote:
            return Project(remote, "remote `origin` of the git repository", str(here))
        name = common.parent if common.name == ".git" else common
        return Project(_short(str(name)), "git repository without a remote", str(here))
    if here in (Path.home(), Path(here.anchor)):
        return Project(None, "the home directory and the root are not projects", str(here))
    return Project(_short(str(top or here)), "directory", str(here))


def top_of(directory: Path) -> Path | None:
    """The top of the working tree that a directory is in, if it is in one."""
    return _git_dirs(directory)[0]


def _short(path: str) -> str:
    """A path as a name: the end of one that is too long for a name, and a hash of all of it."""
    return path if len(path) <= MAX_ID_CHARS else f"…{path[-200:]}#{stable_key(path)[:12]}"


def normalise_remote(url: str) -> str:
    """One name for one repository: host/path in lower case, without user, port, scheme or `.git`."""
    match = _SCHEME.match(url) or _SCP_LIKE.match(url)
    name = f"{match[1]}/{match[2]}" if match else url
    return name.rstrip("/").removesuffix(".git").rstrip("/").casefold()


def _git_dirs(start: Path) -> tuple[Path | None, Path | None]:
    """The top of the working tree and the common git directory, when `start` is inside one."""
    for folder in (start, *start.parents):
        dot = folder / ".git"
        if dot.is_dir():
            return folder, dot
        if dot.is_file():
            pointer = _read(dot).removeprefix("gitdir:").strip()
            if pointer:
                private = Path(os.path.normpath(folder / pointer))
                shared = _read(private / "commondir").strip()
                return folder, Path(os.path.normpath(private / shared)) if shared else private
    return None, None


def _remote(common: Path) -> str | None:
    section = _REMOTE.search(_read(common / "config"))
    url = _URL.search(section[1]) if section else None
    return _short(normalise_remote(url[1])) if url else None


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_SMALL_FILE).decode("utf-8", "replace")
    except OSError:
        return ""
