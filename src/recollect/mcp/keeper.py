"""What an MCP server does while nobody asks: reads what hooks told of, makes vectors, lays ready what agents are shown.

It starts after the first answer, so no client waits for it. While there is nothing to do it looks into one directory
every two seconds and holds nothing open; vectors are made only once a search has loaded the model anyway. Unless
another process does, it also answers the hooks of prompts (`warm`).
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from recollect.mcp.tools import SEARCHES, WRITES
from recollect.pipeline.spooled import SECONDS, Draining, quietly

if TYPE_CHECKING:
    from recollect.mcp.opened import Opened
    from recollect.warm.server import WarmServer


class Keeper:
    """One thread; it ends with the process, and `stop` lets it finish what it is at."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._stopping = threading.Event()
        self._bell = threading.Event()
        self._vectors_wanted = False
        self._texts_wanted = False
        self._thread: threading.Thread | None = None
        self._warm: WarmServer | None = None
        opened.used = self.used

    def start(self) -> None:
        """Begin; doing it twice changes nothing."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="recollect-mcp-keeper", daemon=True)
            self._thread.start()

    def used(self, name: str) -> None:
        """A tool was called: after a search the model may be there for texts that wait; after a write, agents are
        to be shown something else.
        """
        self._vectors_wanted |= name in SEARCHES
        self._texts_wanted |= name in WRITES
        self._bell.set()

    def stop(self, seconds: float) -> bool:
        """End, waiting at most so long; whether it has ended."""
        until = time.monotonic() + seconds
        self._stopping.set()
        self._bell.set()
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                return False
        return self._warm is None or self._warm.stop(max(0.0, until - time.monotonic()))

    def _run(self) -> None:
        quietly(self._start_warm)
        draining = Draining(lambda: self._opened.settings.data_dir, self._drain, SECONDS)
        while not self._stopping.is_set():
            draining.look()
            if self._texts_wanted and not self._stopping.is_set():
                self._texts_wanted = False
                quietly(self._lay_ready)
            if self._vectors_wanted and not self._stopping.is_set():
                self._vectors_wanted = False
                quietly(self._make_vectors)
            self._bell.wait(SECONDS)
            self._bell.clear()
        draining.look()  # an agent that ends tells its hooks so first: the next one begins with what this one did

    def _drain(self) -> None:
        """With a memory that is open only as long as that takes."""
        from recollect.facade import Recollect

        with Recollect.open(settings=self._opened.settings, scope=self._opened.owner, background=False) as memory:
            memory.drain()

    def _start_warm(self) -> None:
        from recollect.warm import warm_server

        warm = warm_server(self._opened.settings, self._opened.owner)
        warm.start()
        self._warm = warm

    def _lay_ready(self) -> None:
        """What an agent forgot is not shown to the next one, from now on and not only when we end."""
        from recollect.hookreply import PREPARED

        settings = self._opened.settings
        if settings.memory_files or (settings.data_dir / PREPARED).is_dir():
            self._opened.memory().prepare()

    def _make_vectors(self) -> None:
        from recollect.mcp.vectors import catch_up

        catch_up(self._opened.memory())
