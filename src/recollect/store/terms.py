"""The terms a store is opened on: how much one owner may have, what signs the audit, and by which clock.

Nothing is limited unless it is set: a memory on one's own machine never refuses. Who opens a store for others sets
`HOSTED_QUOTAS`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from recollect import clock as time
from recollect.clock import Clock
from recollect.settings import Settings
from recollect.store import anchor, signing
from recollect.store.ports.access import Limits
from recollect.store.signing import Signer

HOSTED_QUOTAS = Limits(memories=50_000, ingests=1_000)


@dataclass(frozen=True, slots=True)
class Terms:
    """What every transaction of a store is held to."""

    signer: Signer
    anchor: Path
    limits: Limits = field(default_factory=Limits)
    clock: Clock = time.now
    queued: bool = False  # what is written puts the work it makes into the queue, in the same transaction


def terms_in(data_dir: Path) -> Terms:
    """No limits; keys and anchor in the data directory."""
    return Terms(Signer(data_dir / signing.FILE_NAME), data_dir / anchor.FILE_NAME)


def terms_of(settings: Settings, *, queued: bool = False) -> Terms:
    """As the settings say; `queued` for a store that somebody else works through."""
    given = settings.audit_key_file
    signer = Signer(given, ours=False) if given else Signer(settings.data_dir / signing.FILE_NAME)
    return Terms(
        signer,
        settings.audit_anchor_file or settings.data_dir / anchor.FILE_NAME,
        Limits(settings.quota_memories, settings.quota_ingests_per_day),
        queued=queued,
    )
