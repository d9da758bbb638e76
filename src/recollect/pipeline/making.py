"""Who makes memories and gists: the rules and a session's own sentences, or the language model in the settings.

Sessions go in by name, or all that are due; what was made of them comes out. The modules that do it are loaded when
they are needed, so that whoever only reads does not wait for them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.clock import Clock
from recollect.model import Scope
from recollect.settings import Settings
from recollect.store.port import Store

if TYPE_CHECKING:
    from recollect.distill.gist import Summarizer
    from recollect.pipeline.consulting import Consultant
    from recollect.pipeline.distilling import Distilled


def lock_of(data_dir: Path, scope: Scope) -> Path:
    """The lock of whoever asks a language model about this owner's sessions: one owner's slow answer is their own.

    There are 4,096 of them, so that many owners do not leave as many files; two that share one wait for each other.
    """
    owner = hashlib.sha256(f"{scope.tenant}\0{scope.user}".encode()).hexdigest()
    return data_dir / f"distill-{owner[:3]}.lock"


class Making:
    """The makers of one scope; `stopping` says that no language model is to be asked any more."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        settings: Settings,
        clock: Clock,
        summarizer: Summarizer | None,
        stopping: Callable[[], bool],
    ) -> None:
        self._store, self._scope, self._settings, self._clock = store, scope, settings, clock
        self._summarizer = summarizer
        self._stopping = stopping

    def summarizer(self) -> Summarizer:
        """Who makes gists."""
        if self._summarizer is None:
            from recollect.distill.gist import ExtractiveSummarizer

            model = self._consultant()
            self._summarizer = model.summarizer() if model else ExtractiveSummarizer()
        return self._summarizer

    def distill(self, sessions: Iterable[str]) -> Distilled:
        """Memories of these sessions."""
        from recollect.pipeline.distilling import Distilled, distill_sessions

        with self._paid_once() as free:
            if not free:
                return Distilled()
            model = self._consultant()
            judge = model.judge if model else None
            return distill_sessions(self._store, self._scope, sessions, self._clock, extractor=model, judge=judge)

    def distill_due(
        self, only: Callable[[str], bool] = lambda session: True, *, every_project: bool = False
    ) -> Distilled:
        """Memories of all sessions that are due and that `only` lets through."""
        from recollect.pipeline.distilling import Distilled, distill_due

        scope = self._scope.within(None) if every_project else self._scope
        with self._paid_once() as free:
            if not free:
                return Distilled()
            model = self._consultant()
            judge = model.judge if model else None
            return distill_due(self._store, scope, self._clock, only=only, extractor=model, judge=judge)

    def distill_talk(self) -> Distilled:
        """Memories of what programs recorded; agents' sessions are distilled by whoever reads them."""
        from recollect.capture.sources import FLAVORS

        return self.distill_due(lambda session: session.partition(":")[0] not in FLAVORS)

    def _paid_once(self) -> AbstractContextManager[bool]:
        """Where a language model is asked, one at a time does it for an owner: two would pay for the same answer.

        Whoever comes second does nothing; the sessions stay due, or the first one makes their memories.
        """
        if self._settings.llm == "none":
            return nullcontext(True)
        from recollect.lock import alone

        return alone(lock_of(self._settings.data_dir, self._scope))

    def _consultant(self) -> Consultant | None:
        """The language model in the settings, within its budget; None by default."""
        if self._settings.llm == "none":
            return None
        from recollect.pipeline.consulting import consult

        return consult(self._store, self._scope.within(None), self._settings, self._clock, stopping=self._stopping)
