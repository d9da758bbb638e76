"""What agents are shown, kept in step with the memories: told of changes, it has `prepare` lay everything ready anew.

Nothing that was asked for fails because of it. What cannot be renewed now stays due, and the receipt of something
forgotten says when a text that tells of it may be left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from recollect.clock import Clock
from recollect.errors import RecollectError
from recollect.model import Scope
from recollect.settings import Settings
from recollect.store.port import Store
from recollect.store.ports.keeping import Receipt

if TYPE_CHECKING:
    from recollect.pipeline.prepare import Prepared

REST_SECONDS = 2.0  # while memories come in, what agents are shown is renewed no more often


class Readying:
    """The texts of one scope; `place` tells where it is used, for a project in which no session ran yet."""

    def __init__(
        self, store: Store, scope: Scope, settings: Settings, clock: Clock, place: Callable[[], Path | None]
    ) -> None:
        self._store, self._scope, self._settings, self._clock, self._place = store, scope, settings, clock, place
        self._stale = False  # what is laid ready does not say what the memories say now
        self._tried = -REST_SECONDS  # when it was last laid ready, on the clock of this process

    def changed(self) -> None:
        """Memories changed: what agents are shown is to be said anew."""
        self._stale = True

    def prepare(self, directory: Path | None = None) -> Prepared:
        """Lay everything ready now."""
        from recollect.pipeline.prepare import prepare

        self._stale, self._tried = False, monotonic()
        try:
            return prepare(self._store, self._scope, self._settings, self._clock, directory=directory or self._place())
        except BaseException:
            self._stale = True
            raise

    def renew(self) -> None:
        """The same after something else was done: that it fails does not undo that, and is made good the next time."""
        try:
            self.prepare()
        except (RecollectError, OSError) as error:
            import logging

            failure = type(error).__name__  # its text may hold a memory's
            logging.getLogger(__name__).warning("what agents are shown could not be renewed: %s", failure)

    def refresh(self) -> None:
        """Lay ready anew what changed, if agents are shown anything here."""
        if self._stale and self._is_used():
            self.renew()

    def refresh_rested(self) -> float | None:
        """The same, but not too often; returns the seconds after which it may be done, None when it need not."""
        if not self._stale or not self._is_used():
            return None
        rest = self._tried + REST_SECONDS - monotonic()
        if rest <= 0:
            self.renew()
            return None
        return rest

    def forgotten(self, receipt: Receipt, *, everything: bool = False) -> Receipt:
        """After something was forgotten: no text tells of it any more, or else the receipt is not complete."""
        from recollect.pipeline.prepare import forget

        try:
            done = forget(self._store, self._scope, self._settings, self._clock, everything=everything)
        except (RecollectError, OSError):
            self._stale = True
            return replace(receipt, complete=False)
        return replace(receipt, complete=False) if done.problems else receipt

    def _is_used(self) -> bool:
        from recollect.hookreply import PREPARED

        return bool(self._settings.memory_files) or (self._settings.data_dir / PREPARED).is_dir()


class Unshown(Readying):
    """The same where agents of this machine are shown nothing: a server for others writes no texts for them."""

    def prepare(self, directory: Path | None = None) -> Prepared:
        """There is nothing to lay ready."""
        from recollect.pipeline.prepare import Prepared

        return Prepared()

    def forgotten(self, receipt: Receipt, *, everything: bool = False) -> Receipt:
        """No text told of it."""
        return receipt

    def _is_used(self) -> bool:
        return False
