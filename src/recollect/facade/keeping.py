"""Upkeep of an opened memory: vectors, jobs, health, exports and backups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import ModelError
from recollect.facade.opened import Opened
from recollect.store.ports.keeping import Health, Upkeep

if TYPE_CHECKING:
    from recollect.pipeline.jobs import Ran
    from recollect.pipeline.maintaining import Work


class Keeping(Opened):
    """Keeps the store well."""

    def embed_pending(
        self, progress: Callable[[int], None] = lambda n: None, stop: Callable[[], bool] = lambda: False
    ) -> int:
        """Make the vectors that wait, now, in this thread; returns how many."""
        from recollect.pipeline.embedding import embed_waiting

        embedder = self.embedder()
        return 0 if embedder is None else embed_waiting(self.store, embedder, stop=stop, progress=progress)

    def reembed(
        self, progress: Callable[[int], None] = lambda n: None, stop: Callable[[], bool] = lambda: False
    ) -> int:
        """Drop every vector and make them again with the configured embedder; can be interrupted and continued."""
        from recollect.pipeline.embedding import embed_waiting

        embedder = self.embedder()
        if embedder is None:
            raise ModelError(self._meaning.missing, hint="Set an embedder first: `recollect model install`.")
        if not self._meaning.fits(embedder) or not self.store.vectors.pending(1):
            self.store.vectors.restart()
        return embed_waiting(self.store, embedder, stop=stop, progress=progress)

    def maintain(self, progress: Callable[[int], None] = lambda n: None) -> Upkeep:
        """Gists that are due, vectors that wait, archive, quarantine, redact, purge. Twice changes nothing more."""
        from recollect.pipeline.maintaining import maintain

        done = maintain(self._work(progress))
        self._readying.changed()
        return done

    def run_jobs(
        self,
        names: Sequence[str] | None = None,
        progress: Callable[[int], None] = lambda n: None,
        *,
        dry_run: bool = False,
        before: Callable[[str], None] = lambda job: None,
    ) -> list[Ran]:
        """Do some of the jobs that `maintain` does, and others by name; with `dry_run`, count what they would do."""
        from recollect.pipeline.maintaining import regular, run_jobs

        wanted = regular(self.settings) if names is None else names
        done = run_jobs(self._work(progress), wanted, dry_run=dry_run, before=before)
        if not dry_run:
            self._readying.changed()
        return done

    def _work(self, progress: Callable[[int], None]) -> Work:
        from recollect.pipeline.maintaining import Work

        parts = (self.store, self.scope, self.settings, self._clock, self._making, self._reads)
        return Work(*parts, partial(self.embed_pending, progress), partial(self.reembed, progress))

    def health(self, deep: bool = False) -> Health:
        """How the store is; `deep` checks every page and every hash."""
        return self.store.keeping.health(deep=deep)

    def export(self) -> Iterator[dict[str, Any]]:
        """Everything in scope, as records for JSON Lines; before the first is given, the audit notes it."""
        from recollect.pipeline.exporting import export

        return export(self.store, self.scope, now=self._clock())

    def load(self, records: Iterable[Mapping[str, Any]]) -> dict[str, int]:
        """Take exported records in; what is there already stays as it is."""
        from recollect.store.portable import load

        counts = load(self.store, self.scope, records)
        self._changed()
        return counts

    def backup(self, target: str | Path) -> int:
        """Write a verified copy of the whole store; returns its size in bytes. It is noted until it is deleted."""
        from recollect.pipeline.backups import back_up

        return back_up(self.store, Path(target), self._clock, keep_days=self.settings.backup_keep_days).bytes
