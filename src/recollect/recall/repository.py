"""A repository as its files tell it: where it begins, what is checked out, whether a path is there, where a name went.

Git's own files are read; git is not run. Paths are data from memories: only what lies below the root is looked at, step
by step without following links, and every look at the disk is counted, so that no question can cost more than `LOOKS`.
Nothing here raises: what cannot be seen is not known.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path, PurePosixPath

from recollect.capture.beneath import open_beneath
from recollect.errors import RecollectError

LOOKS = 400  # at the disk, for one question
_SMALL = 1_000_000
_INDEX = 16_000_000  # bytes of git's index that are searched for a name
_WALKED = 2_000  # entries looked at where there is no such index
_DEEPEST, _LONGEST = 32, 1_000
_NOT_WALKED = frozenset((".git", "node_modules", ".venv", "venv", "__pycache__", "target", "dist", "build", ".tox"))
_HASH = re.compile(r"[0-9a-f]{40,64}")
_ODD = re.compile("[\x00-\x1f\x7f\\\\\ud800-\udfff]|://")


class Repository:
    """The tree around a directory; a directory outside of any repository is a tree by itself."""

    def __init__(self, root: Path, git: Path | None) -> None:
        self.root = root
        self.looks = 0
        self._git = git
        self._names: bytes | None = None

    @classmethod
    def around(cls, directory: Path) -> Repository:
        """The repository a directory is in."""
        here = Path(os.path.abspath(directory))  # noqa: PTH100 - links stay as the user sees them
        for folder in (here, *here.parents):
            dot = folder / ".git"
            try:
                mode = dot.lstat().st_mode
            except OSError:
                continue
            if stat.S_ISDIR(mode):
                return cls(folder, dot)
            pointer = _text(dot).removeprefix("gitdir:").strip()
            return cls(folder, Path(os.path.normpath(folder / pointer)) if pointer else None)
        return cls(here, None)

    def state(self) -> str:
        """What changes when something else is checked out or added: the commit of HEAD and the time of the index."""
        if self._git is None:
            return ""
        self.looks += 1
        try:
            touched = (self._git / "index").stat().st_mtime_ns
        except OSError:
            touched = 0
        return f"{self.head()}@{touched}"

    def head(self) -> str:
        """The commit that is checked out; empty when that cannot be told."""
        if self._git is None:
            return ""
        self.looks += 1
        told = _text(self._git / "HEAD").strip()
        if not told.startswith("ref:"):
            return told if _HASH.fullmatch(told) else ""
        name = told.removeprefix("ref:").strip()
        shared = _text(self._git / "commondir").strip()
        common = Path(os.path.normpath(self._git / shared)) if shared else self._git
        if ".." in name or name.startswith("/"):
            return ""
        self.looks += 2
        loose = _text(self._git / name).strip() or _text(common / name).strip()
        if _HASH.fullmatch(loose):
            return loose
        packed = re.search(rf"^([0-9a-f]{{40,64}}) {re.escape(name)}$", _text(common / "packed-refs"), re.MULTILINE)
        return packed[1] if packed else ""

    def inside(self, path: str) -> str | None:
        """A path of a memory as one below the root; None when it is not, or is no plain path."""
        if not path or len(path) > _LONGEST or _ODD.search(path) or path.startswith("~"):
            return None
        if path.startswith("/"):
            if not path.startswith(f"{self.root}/"):
                return None
            path = path[len(str(self.root)) + 1 :]
        parts = PurePosixPath(path).parts
        if not parts or ".." in parts or ".git" in parts or len(parts) > _DEEPEST:
            return None
        return "/".join(parts)

    def modified(self, path: str) -> float | None:
        """When a file below the root was last changed; None when it is not there or lies behind a link.

        A folder is there, and always was: that something in it changed says nothing.
        """
        where = self.root
        info = None
        for part in path.split("/"):
            where = where / part
            info = self._lstat(where)
            if info is None or stat.S_ISLNK(info.st_mode):
                return None
        if info is None:
            return None
        return info.st_mtime if stat.S_ISREG(info.st_mode) else 0.0

    def is_link(self, path: str) -> bool:
        """Whether a path goes over a link: then nothing is known about where it leads."""
        where = self.root
        for part in path.split("/"):
            where = where / part
            info = self._lstat(where)
            if info is None:
                return False
            if stat.S_ISLNK(info.st_mode):
                return True
        return False

    def read(self, path: str) -> str | None:
        """The beginning of a plain file below the root; None when there is none."""
        if not self._may_look():
            return None
        try:
            with open_beneath(self.root, self.root / path) as file:
                return file.read(_SMALL).decode("utf-8", "replace")
        except (RecollectError, OSError, ValueError):
            return None

    def elsewhere(self, path: str) -> list[str]:
        """Other files of the same name that are there, those first that end like the path."""
        name = path.rsplit("/", 1)[-1]
        found = [one for one in self._named(name) if one != path and self.modified(one) is not None]
        return sorted(found, key=lambda one: (not one.endswith(f"/{path}"), one))

    def _named(self, name: str) -> list[str]:
        index = self._index()
        if index is None:
            return self._walk(name)
        return list(_listed(index, name))[:20]

    def _index(self) -> bytes | None:
        """Git's list of files, where it holds whole paths (versions 2 and 3)."""
        if self._names is None and self._git is not None and self._may_look():
            try:
                with (self._git / "index").open("rb") as file:
                    data = file.read(_INDEX + 1)
            except OSError:
                data = b""
            whole = data[:4] == b"DIRC" and data[4:8] in (b"\0\0\0\2", b"\0\0\0\3") and len(data) <= _INDEX
            self._names = data if whole else b""
        return self._names or None

    def _walk(self, name: str) -> list[str]:
        found: list[str] = []
        left = _WALKED
        for folder, folders, files in os.walk(self.root, followlinks=False):
            self.looks += 1
            left -= len(folders) + len(files)
            folders[:] = sorted(set(folders) - _NOT_WALKED)
            if name in files:
                found.append((Path(folder) / name).relative_to(self.root).as_posix())
            if left < 0 or self.looks >= LOOKS:
                break
        return found

    def _lstat(self, path: Path) -> os.stat_result | None:
        if not self._may_look():
            return None
        try:
            return path.lstat()
        except (OSError, ValueError):
            return None

    def _may_look(self) -> bool:
        self.looks += 1
        return self.looks <= LOOKS

    @property
    def tired(self) -> bool:
        """Whether it looked as often as it may: what it does not see then may be there."""
        return self.looks >= LOOKS


def _listed(index: bytes, name: str) -> list[str]:
    """The paths in git's index that end in this name. The two bytes before a path tell how long it is."""
    wanted = name.encode() + b"\0"
    found: list[str] = []
    at = index.find(wanted)
    while at >= 0 and len(found) < 20:
        end = at + len(wanted) - 1
        for start in range(at, max(at - _LONGEST, 12), -1):
            if int.from_bytes(index[start - 2 : start], "big") == end - start:  # no letter is that small
                path = index[start:end].decode("utf-8", "replace")
                if path.rsplit("/", 1)[-1] == name:
                    found.append(path)
                break
        at = index.find(wanted, at + 1)
    return found


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_SMALL).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
