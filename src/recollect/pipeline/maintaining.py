"""What is due is done: gists, reads written down, archive, redact, purge, vectors, quarantine. Twice does no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from recollect.clock import Clock
from recollect.model import Scope
from recollect.pipeline.gists import summarize_due
from recollect.pipeline.hubs import quarantine_hubs
from recollect.pipeline.making import Making
from recollect.pipeline.reads import Reads
from recollect.settings import Settings
from recollect.store.port import Ages, Store, Upkeep


def maintain(
    store: Store,
    scope: Scope,
    settings: Settings,
    clock: Clock,
    making: Making,
    reads: Reads,
    embed: Callable[[], object],
) -> Upkeep:
    """Do what is due; `embed` makes the vectors that wait, which quarantine goes by."""
    summarize_due(store, scope, making.summarizer(), clock, settings.summarize_after)
    reads.write()
    now = clock()
    ages = Ages(
        archive_before=now - timedelta(days=settings.archive_after_days),
        archive_reads=settings.archive_reads_below,
        redact_before=now - timedelta(days=settings.redact_after_days),
        purge_before=now - timedelta(days=settings.purge_after_days),
    )
    upkeep = store.keeping.upkeep(now=now, ages=ages)
    embed()
    return replace(upkeep, quarantined=quarantine_hubs(store, scope, clock))
