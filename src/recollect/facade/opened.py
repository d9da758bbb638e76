"""What every part of an opened memory stands on: its store, its scope, and what it does beside what is asked of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from recollect.clock import Clock, now
from recollect.errors import NotAllowed, ScopeError
from recollect.model import Memory, Scope
from recollect.pipeline.making import Making
from recollect.pipeline.reads import Reads
from recollect.pipeline.readying import Readying, Unshown
from recollect.pipeline.worker import Worker
from recollect.recall.asking import filter_of
from recollect.recall.budget import CountTokens
from recollect.recall.meaning import UNSET, Meaning
from recollect.settings import Settings
from recollect.store.port import Store
from recollect.store.ports.memories import Filter
from recollect.text import estimate_tokens

if TYPE_CHECKING:
    from recollect.distill.gist import Summarizer
    from recollect.models.port import Embedder
    from recollect.pipeline.freshness import Freshness
    from recollect.recall.validity import Grounds, Look


class Opened:
    """A memory that was opened, and what it works with."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        settings: Settings,
        *,
        embedder: Embedder | None = UNSET,
        summarizer: Summarizer | None = None,
        clock: Clock = now,
        count_tokens: CountTokens = estimate_tokens,
        background: bool = True,
        hosted: bool = False,
        meaning: Meaning | None = None,
        reads: Reads | None = None,
        readying: Readying | None = None,
        ring: Callable[[], None] | None = None,
        freshness: Freshness | None = None,
        speaks: bool = True,
    ) -> None:
        """`hosted`: one of many memories over a store that another opened and closes, and that lends them what they
        share; agents of this machine are shown nothing of it. Not `speaks`: nothing it writes is the user's own word.
        """
        if scope.by is not None:
            raise ScopeError("a shared context is opened by its members", hint="Open your own; its `contexts` has it.")
        self.store = store
        self.scope = scope
        self.settings = settings
        self._clock = clock
        self._count_tokens = count_tokens
        self._hosted, self._speaks = hosted, speaks
        self._meaning = meaning or Meaning(store, settings, embedder)
        self._freshness = freshness
        self._reads = reads or Reads(store, scope, clock)
        self._worker = Worker(self._background) if background and not hosted else None
        self._ring = ring or (self._worker.ring if self._worker else lambda: None)
        self.directory: Path | None = None  # where it is used: hooks there tell of the project before a session ran
        self._grounds: Grounds | None = None
        shown = Unshown if hosted else Readying
        self._readying = readying or shown(store, scope, settings, clock, lambda: self.directory)
        stopping = self._worker.stopping if self._worker else lambda: False
        self._making = Making(store, scope, settings, clock, summarizer, stopping)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the background worker, write down the reads, close the store; one that is hosted leaves all that."""
        if self._hosted:
            return
        if self._worker is not None:
            self._worker.stop()
        self._reads.write()
        self._readying.refresh()
        self.store.close()

    def embedder(self) -> Embedder | None:
        """The configured embedder, loaded when first needed; None when there is none."""
        return self._meaning.embedder()

    def filter(self, **given: Any) -> Filter:
        """A checked filter from plain values."""
        return filter_of(self._clock(), given)

    def get(self, memory_id: str) -> Memory:
        """One memory, or NotFound."""
        from recollect.pipeline.changing import found

        return found(self.store, self.scope, memory_id)

    def _look(self, at: str | Path | None) -> Look | None:
        """A way to check memories against the repository where recall is done."""
        place = at if at is not None else self.directory
        if place is None:
            return None
        if self._grounds is None:
            from recollect.recall.validity import Grounds

            self._grounds = Grounds()
        return self._grounds.look(Path(place), self.settings.projects, self._clock())

    def _require_speech(self) -> None:
        if not self._speaks:
            raise NotAllowed(
                "this key may not speak for the user", hint="Say another origin, or use a key with `speak`."
            )

    def _changed(self) -> None:
        """Memories changed: there are vectors to make, and what agents are shown is to be said anew."""
        self._readying.changed()
        self._ring()

    def _background(self, stopping: Callable[[], bool]) -> float | None:
        """One round of the worker; returns the seconds after which it should look again, if it should."""
        from recollect.lock import alone
        from recollect.pipeline.embedding import embed_waiting
        from recollect.pipeline.gists import summarize_due

        summarize_due(self.store, self.scope, self._making.summarizer(), self._clock, self.settings.summarize_after)
        if self.settings.distill and self._making.distill_talk().changed:
            self._readying.changed()
        again = self._readying.refresh_rested()
        embedder = self.embedder()
        if embedder is not None and self._meaning.fits(embedder):
            with alone(self.settings.data_dir / "embed.lock") as free:
                if free:
                    embed_waiting(self.store, embedder, stop=stopping)
        return again
