"""What comes into an opened memory: messages, things worth knowing, the sessions of agents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.capture.exchange import Exchange
from recollect.clock import TimeLike
from recollect.distill.memory import new_memory
from recollect.facade.opened import Opened
from recollect.model import Evidence, Memory

if TYPE_CHECKING:
    from recollect.distill.digest import Digest
    from recollect.pipeline.coverage import Coverage
    from recollect.pipeline.distilling import Distilled
    from recollect.pipeline.drain import Drained
    from recollect.pipeline.recording import Recorded
    from recollect.pipeline.settling import Settled
    from recollect.pipeline.sweep import Report


class Capturing(Opened):
    """Keeps what is given, told or found."""

    def record(
        self, session: str, role: str, content: str, occurred_at: TimeLike | None = None, *, key: str | None = None
    ) -> str:
        """Keep one message of a conversation; returns its id. The same message given again is the same event.

        Secrets are taken out first, and what stands between `<private>` and `</private>`.
        """
        exchange = {"session": session, "role": role, "content": content, "occurred_at": occurred_at, "key": key}
        return self.record_many([exchange])[0]

    def record_many(self, exchanges: Iterable[Exchange]) -> list[str]:
        """Keep many messages in one transaction: (session, role, content[, occurred_at]) or mappings; returns ids."""
        return list(self.take_in(exchanges).ids)

    def take_in(
        self, exchanges: Iterable[Exchange], titles: Mapping[str, str] | None = None, *, speaks: bool = True
    ) -> Recorded:
        """The same, with what sessions are called, by their ids; returns ids, and how many secrets were taken out.

        Not `speaks`: nobody vouches for these that the user's words are the user's.
        """
        from recollect.pipeline.recording import record

        given = (self.store, self.scope, self.settings, exchanges)
        done = record(*given, now=self._clock(), titles=titles, speaks=speaks and self._speaks)
        if done.ids:
            self._ring()
        return done

    def remember(
        self,
        content: str,
        kind: str = "note",
        why: str | None = None,
        tags: Iterable[str] | None = None,
        importance: float | None = None,
        *,
        confidence: float = 1.0,
        origin: str = "user",
        session: str | None = None,
        evidence: Iterable[Evidence] = (),
        anchors: Iterable[str] = (),
        occurred_at: TimeLike | None = None,
        expires_at: TimeLike | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Memory:
        """Keep one thing worth knowing, and let it take the place of what it says anew or otherwise.

        What this project knows already is not kept twice: that memory is returned. Secrets are taken out first.
        """
        given = {
            "content": content,
            "kind": kind,
            "why": why,
            "tags": tags,
            "importance": importance,
            "confidence": confidence,
            "origin": origin,
            "session": session,
            "evidence": evidence,
            "anchors": anchors,
            "occurred_at": occurred_at,
            "expires_at": expires_at,
            "meta": meta,
        }
        settled, _ = self.keep(given)
        return settled.memory

    def keep(self, given: Mapping[str, Any]) -> tuple[Settled, int]:
        """The same, from the fields that `remember` takes: what became of it, and how many secrets were taken out."""
        from recollect.pipeline.cleaning import without_secrets

        clean, taken = without_secrets(given, self.settings)
        return self.settle(new_memory(clean, project=self.scope.project, now=self._clock())), taken

    def settle(self, memory: Memory, replacing: Sequence[str] = ()) -> Settled:
        """Let a memory take its place among those there are; it ends those it is `replacing`, by id."""
        from recollect.pipeline.settling import settle

        if memory.trust == "user":
            self._require_speech()
        settled = settle(self.store, self.scope, memory, self._clock, replacing=replacing)
        self._changed()
        return settled

    def sweep(
        self,
        sources: Mapping[str, Sequence[str | Path]] | None = None,
        *,
        dry_run: bool = False,
        progress: Callable[[int, int, str], None] = lambda done, total, name: None,
    ) -> Report:
        """Capture every agent's sessions that are new or changed: read, clean, store, digest, keep the raw budget.

        `sources` narrows it to agents, and to directories where given: {"claude": ["~/logs"], "codex": []}.
        """
        from recollect.lock import alone
        from recollect.pipeline.roots import discover
        from recollect.pipeline.sweep import Report, sweep

        with nullcontext(True) if dry_run else alone(self.settings.data_dir / "sweep.lock") as free:
            if not free:
                return Report(busy=True)
            found = discover(self.settings, _places(sources))
            report = sweep(
                self.store, self.scope, self.settings, self._clock, found, dry_run=dry_run, progress=progress
            )
        if not dry_run:
            self._distilled(report)
        return report

    def drain(self) -> Drained:
        """Read the sessions that hooks told of since the last time."""
        from recollect.pipeline.drain import drain

        drained = drain(self.store, self.scope, self.settings, self._clock)
        if drained.records:
            self._distilled(drained.report)
        return drained

    def backfill(
        self,
        agent: str,
        *,
        project: str | None = None,
        session: str | None = None,
        limit: int | None = None,
        dry_run: bool = False,
        progress: Callable[[int, int, str], None] = lambda done, total, name: None,
    ) -> Report:
        """Take an agent's old sessions in, with their original times; what is there already stays as it is."""
        from recollect.pipeline.backfill import backfill

        report = backfill(
            *(self.store, self.scope, self.settings, self._clock, agent),
            project=project,
            session=session,
            limit=limit,
            dry_run=dry_run,
            progress=progress,
        )
        if not dry_run:
            self._distilled(report)
        return report

    def coverage(self, sources: Mapping[str, Sequence[str | Path]] | None = None) -> Coverage:
        """The turns in agents' own files held against the turns stored, session by session."""
        from recollect.capture.spool import Spool
        from recollect.pipeline.coverage import coverage
        from recollect.pipeline.roots import discover

        found = coverage(self.store, self.scope, discover(self.settings, _places(sources)))
        spool = Spool(self.settings.data_dir.absolute())
        found.missed_hooks, found.refused_records = spool.missed(), spool.refused()
        found.waiting_records = len(spool.waiting())
        return found

    def digest(self, session: str) -> Digest | None:
        """What a captured session was: goal, files, commands, tests, errors, cost, outcome."""
        return self.store.digests.get(self.scope, session)

    def distill(self, sessions: Iterable[str] | None = None) -> Distilled:
        """Make memories of these sessions, or of all that are due; what is known already is not made twice."""
        done = self._making.distill_due() if sessions is None else self._making.distill(sessions)
        if done.changed:
            self._readying.renew()
        self._ring()
        return done

    def _distilled(self, report: Report) -> None:
        """After sessions were read: memories of all that are due, whatever their project."""
        if self.settings.distill:
            done = self._making.distill_due(every_project=True)
            report.distilled(done.outcomes, done.failed)
        self._readying.renew()
        self._ring()


def _places(sources: Mapping[str, Sequence[str | Path]] | None) -> dict[str, list[Path]] | None:
    """Where to look, from what a caller gave: absolute directories by agent."""
    if sources is None:
        return None
    return {agent: [Path(place).expanduser().absolute() for place in places] for agent, places in sources.items()}
