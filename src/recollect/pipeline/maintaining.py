"""What is due is done: gists, archive, expire, redact, purge, vectors, quarantine, the files. Twice does no more.

Each is a job with a name of its own: `run_jobs` does some of them, `maintain` all that are done regularly. What takes
long or locks tables is done only when it is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from recollect.clock import Clock
from recollect.errors import InvalidInput
from recollect.model import Scope
from recollect.pipeline import jobs
from recollect.pipeline.gists import IDLE, summarize_due
from recollect.pipeline.hubs import quarantine_hubs
from recollect.pipeline.jobs import Ran
from recollect.pipeline.making import Making
from recollect.pipeline.reads import Reads
from recollect.pipeline.told import forget_told
from recollect.settings import Settings
from recollect.store.port import Store
from recollect.store.ports.keeping import UPKEEP, Ages, Upkeep

if TYPE_CHECKING:
    from recollect.pipeline.consolidating import Consolidation

Stop = Callable[[], bool]
Counts = Mapping[str, int]

# Job -> what it does, in the order they are done.
JOBS = {
    "gists": "make the gists that are due",
    "archive": "put away memories that are old and little read",
    "expire": "put away memories that ended long ago",
    "redact": "remove the text of what was softly forgotten some days ago",
    "purge": "remove its row after some more",
    "embed": "make the vectors that wait",
    "quarantine": "put away what comes up for every question",
    "consolidate": "merge near-duplicates, put away what is stale, relate memories, roll gists up",
    "vacuum": "let the database use the room of what was deleted again, and learn anew what it holds",
    "anchor": "write down, outside the database, how far the audit has come",
    "sizes": "note how large everything is",
    "scrub": "write the database's files anew, so that no byte of what was deleted is left; locks tables",
    "reindex": "make every index again from the rows",
    "reembed": "make every vector again with the configured embedder",
}
BY_NAME = ("consolidate", "scrub", "reindex", "reembed")  # never done unless asked for
REGULAR = tuple(job for job in JOBS if job not in BY_NAME)
_UPKEEP = {"archive": "archived", "expire": "expired", "redact": "redacted", "purge": "purged"}


@dataclass(frozen=True, slots=True)
class Work:
    """What the jobs are done with: `embed` makes the vectors that wait, `reembed` all of them."""

    store: Store
    scope: Scope
    settings: Settings
    clock: Clock
    making: Making
    reads: Reads
    embed: Callable[[Stop], int]
    reembed: Callable[[Stop], int]


def regular(settings: Settings) -> tuple[str, ...]:
    """The jobs that are done when none is named."""
    return tuple(job for job in JOBS if job in REGULAR or (job == "consolidate" and settings.consolidate))


def maintain(work: Work) -> Upkeep:
    """Do all that is due; what fails is raised."""
    done = {ran.job: ran.counts for ran in run_jobs(work, raising=True)}
    if work.settings.consolidate:
        run_jobs(work, ["consolidate"])  # when too much would change, that is noted, and nothing fails
    counts = {name: done[job].get("memories", 0) for job, name in _UPKEEP.items()}
    return Upkeep(**counts, quarantined=done["quarantine"].get("memories", 0))


def run_jobs(
    work: Work,
    names: Sequence[str] = REGULAR,
    *,
    dry_run: bool = False,
    raising: bool = False,
    before: Callable[[str], None] = lambda job: None,
) -> list[Ran]:
    """Do these jobs, one after the other; with `dry_run`, only count what they would do."""
    unknown = [name for name in names if name not in JOBS]
    if unknown:
        raise InvalidInput(f"there is no job {unknown[0][:40]!r}", hint="Jobs: " + ", ".join(JOBS))
    work.reads.write()
    done = []
    for name in names:
        before(name)
        if dry_run:
            done.append(Ran(name, "skipped", work.clock(), counts=_would_do(work, name)))
            continue

        def doing(stop: Stop, name: str = name) -> Counts:
            return _do(work, name, stop)

        done.append(jobs.run(work.store.notes, name, work.clock, doing, raising=raising))
        if done[-1].state == "cancelled":
            break
    return done


def _do(work: Work, name: str, stop: Stop) -> Counts:
    store, now = work.store, work.clock()
    if name in UPKEEP:
        done = store.keeping.upkeep(now=now, ages=_ages(work.settings, now), steps=(name,), stop=stop)
        if done.redacted or done.purged:
            forget_told(work.settings.data_dir)
        return {"memories": getattr(done, _UPKEEP[name])}
    if name == "gists":
        made = summarize_due(
            store, work.scope, work.making.summarizer(), work.clock, work.settings.summarize_after, stop
        )
        return {"gists": made}
    if name == "quarantine":
        return {"memories": quarantine_hubs(store, work.scope, work.clock)}
    if name == "consolidate":
        return _consolidated(work, stop)
    if name in ("embed", "reembed"):
        return {"texts": (work.embed if name == "embed" else work.reembed)(stop)}
    if name == "reindex":
        return store.keeping.reindex()
    if name == "anchor":
        return {"chains": store.audit.anchor(at=now)}
    if name == "sizes":
        return _total(store)
    return store.keeping.vacuum(full=name == "scrub")


def _would_do(work: Work, name: str) -> Counts:
    store, now = work.store, work.clock()
    if name in UPKEEP:
        done = store.keeping.upkeep(now=now, ages=_ages(work.settings, now), steps=(name,), dry_run=True)
        return {"memories": getattr(done, _UPKEEP[name])}
    if name == "gists":
        due = store.gists.due(work.scope, after=work.settings.summarize_after, quiet_since=now - IDLE)
        return {"gists": len(due)}
    if name == "embed":
        return {"texts": store.vectors.pending()}
    if name == "consolidate":
        return _consolidation(work).plan().counts
    if name in ("reembed", "reindex"):
        counts = store.keeping.health(deep=False).counts
        return {"texts": sum(counts[tier] for tier in ("memories", "gists", "turns"))}
    if name == "sizes":
        return _total(store)
    return {"due": int(store.keeping.scrub_due())} if name == "scrub" else {}


def _consolidation(work: Work) -> Consolidation:
    from recollect.pipeline.consolidating import Consolidation

    return Consolidation(work.store, work.scope, work.settings, work.clock)


def _consolidated(work: Work, stop: Stop) -> Counts:
    done = _consolidation(work).run(stop=stop)
    return {} if done.run is None else done.run.counts


def _total(store: Store) -> Counts:
    """S1.120: what the tables take, with and without their indexes, and how many memories are active."""
    sizes = store.keeping.sizes()
    active = store.keeping.health(deep=False).counts["memories"]
    return {
        "bytes": sum(size.bytes for size in sizes),
        "index_bytes": sum(size.indexes for size in sizes),
        "tables": len(sizes),
        "memories": active,
    }


def _ages(settings: Settings, now: datetime) -> Ages:
    return Ages(
        archive_before=now - timedelta(days=settings.archive_after_days),
        archive_reads=settings.archive_reads_below,
        redact_before=now - timedelta(days=settings.redact_after_days),
        purge_before=now - timedelta(days=settings.purge_after_days),
    )
