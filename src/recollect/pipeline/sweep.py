"""One sweep: discover, normalise, store, digest, evict. What is unchanged is skipped; one bad file costs only itself.

Doing it again changes nothing; killed at any point, the next one carries on. With `dry_run` everything is read and
nothing is written.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from recollect.capture.privacy import Privacy
from recollect.capture.redact import Redactor
from recollect.capture.transcript import Transcript
from recollect.clock import Clock
from recollect.model import Scope
from recollect.pipeline.cleaning import install_key
from recollect.pipeline.digests import digest_due
from recollect.pipeline.ingest import Ingest, Result
from recollect.pipeline.retention import Retention, retain
from recollect.settings import Settings
from recollect.store.port import Store

Progress = Callable[[int, int, str], None]
MAX_PROBLEMS = 100


@dataclass(slots=True)
class Report:
    """What a sweep did."""

    discovered: int = 0
    ingested: int = 0
    skipped_unchanged: int = 0
    analyzed: int = 0
    failed: int = 0
    withheld: int = 0
    empty: int = 0
    events_added: int = 0
    events_changed: int = 0
    turns: int = 0
    busy: bool = False  # another sweep was running, so this one did nothing
    by_agent: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    problems: list[dict[str, str]] = field(default_factory=list)
    retention: Retention = field(default_factory=Retention)
    memories: dict[str, int] = field(default_factory=dict)  # what distilling came to: added, superseding, retired …

    def add(self, transcript: Transcript, result: Result) -> None:
        self.discovered += 1
        if result.state == "unchanged":
            self.skipped_unchanged += 1
            return
        if result.state == "read":
            self.ingested += 1
            self.by_agent[transcript.flavor] = self.by_agent.get(transcript.flavor, 0) + 1
        elif result.state == "failed":
            self.failed += 1
            self.problem(transcript.name, result.error or "")
        else:
            setattr(self, result.state, getattr(self, result.state) + 1)
        self.events_added += result.added
        self.events_changed += result.changed
        self.turns += result.turns
        self.counts = dict(Counter(self.counts) + result.counts)

    def problem(self, name: str, error: str) -> None:
        """What went wrong with a transcript, or with a session's digest."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append({"transcript": name, "error": error})

    def digests(self, made: int, failed: Mapping[str, str]) -> None:
        """Digests that were made, and those that could not be."""
        self.analyzed += made
        for session, error in failed.items():
            self.problem(session, error)

    def distilled(self, outcomes: Mapping[str, int], failed: Mapping[str, str]) -> None:
        """Memories that were made, and sessions of which none could be."""
        self.memories = dict(Counter(self.memories) + Counter(outcomes))
        for session, error in failed.items():
            self.problem(session, error)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def privacy_for(store: Store, scope: Scope, settings: Settings, *, dry_run: bool = False) -> Callable[[], Privacy]:
    """Makes the privacy of each session: one redactor for all, with this installation's key."""
    key = secrets.token_bytes(32) if dry_run else install_key(settings.data_dir)
    redactor = Redactor(key, pii=settings.redact_personal)
    return lambda: Privacy(redactor, settings.deny_paths, lambda text: store.captures.was_injected(scope, text))


def sweep(
    store: Store,
    scope: Scope,
    settings: Settings,
    clock: Clock,
    transcripts: Iterable[Transcript],
    *,
    way: str = "sweep",
    dry_run: bool = False,
    again: bool = False,
    progress: Progress = lambda done, total, name: None,
) -> Report:
    """Take every transcript in, make the digests that are due, keep the raw budget."""
    report = Report()
    privacy = privacy_for(store, scope, settings, dry_run=dry_run)
    ingest = Ingest(store, scope, settings, privacy, clock, way=way, dry_run=dry_run, again=again)
    found = list(transcripts)
    for number, transcript in enumerate(found):
        progress(number, len(found), transcript.name)
        report.add(transcript, ingest.take(transcript))
    progress(len(found), len(found), "")
    if not dry_run:
        report.digests(*digest_due(store, scope.within(None), clock))
        report.retention = retain(store, scope.within(None), settings, clock())
    return report
