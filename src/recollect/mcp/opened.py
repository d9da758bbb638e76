"""The memory behind the tools: opened when it is first needed, in the project the client works in.

The project is that of the client's first root when it tells its roots, else that of the working directory, unless the
command line or a setting fixes it. Reads see that project and what belongs to none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.cli.opening import Place
    from recollect.facade import Recollect
    from recollect.mcp.allowance import Allowance
    from recollect.model import Scope
    from recollect.settings import Settings


class Opened:
    """One memory at a time. `find` tells the place as the command line would; `fixed`: roots do not change it."""

    def __init__(self, find: Callable[[], Place], *, fixed: bool = False) -> None:
        self._find = find
        self._fixed = fixed
        self._lock = threading.RLock()
        self._place: Place | None = None
        self._root: Path | None = None
        self._memory: Recollect | None = None
        self._allowance: Allowance | None = None
        self.used: Callable[[str], None] = lambda name: None  # told after every call

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._found().loaded.settings

    @property
    def owner(self) -> Scope:
        """Whose memory it is, in no project."""
        return self._found().scope.within(None)

    @property
    def allowance(self) -> Allowance:
        """What agents may still write."""
        from recollect.mcp.allowance import Allowance

        with self._lock:
            if self._allowance is None:
                self._allowance = Allowance(self.settings.data_dir, self.settings.mcp_writes_per_hour)
            return self._allowance

    def memory(self) -> Recollect:
        """The memory, opened if it is not, and moved if the client moved."""
        with self._lock:
            scope = self._scope()
            if self._memory is not None and self._memory.scope != scope:
                self._memory.close()
                self._memory = None
            if self._memory is None:
                from recollect.facade import Recollect

                self._memory = Recollect.open(settings=self.settings, scope=scope, background=False)
                self._memory.directory = self._directory()
            return self._memory

    def move(self, roots: list[str]) -> None:
        """The client's roots, as `file:` addresses: the first that is a directory here is where it works."""
        folders = (directory_of(uri) for uri in roots)
        self._root = next((folder for folder in folders if folder is not None), None)

    def without_places(self, text: str) -> str:
        """A message without the names of our directories."""
        try:
            data_dir = self.settings.data_dir
        except Exception:
            return text
        for place, name in ((data_dir.absolute(), "the data directory"), (Path.home(), "~")):
            text = text.replace(str(place), name)
        return text

    def close(self) -> None:
        with self._lock:
            if self._memory is not None:
                self._memory.close()
                self._memory = None

    def _found(self) -> Place:
        with self._lock:
            if self._place is None:
                self._place = self._find()
            return self._place

    def _directory(self) -> Path | None:
        """Where the client works, if its project goes by that."""
        place = self._found()
        if self._follows():
            return self._root
        return Path(place.directory) if place.directory else None

    def _follows(self) -> bool:
        return self._root is not None and not self._fixed and not self._found().loaded.settings.project

    def _scope(self) -> Scope:
        place = self._found()
        if self._root is None or not self._follows():
            return place.scope
        from recollect.project import resolve

        return place.scope.within(resolve(self._root, place.loaded.settings.projects).name)


def directory_of(uri: str) -> Path | None:
    """The directory on this machine that a `file:` address names."""
    from urllib.parse import unquote, urlsplit

    try:
        parts = urlsplit(uri)
        path = Path(unquote(parts.path, errors="strict"))
        if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not path.is_absolute():
            return None
        return path if path.is_dir() else None
    except (ValueError, OSError):
        return None
