"""How a store is kept: forgetting and its receipt, upkeep, repair, how much it takes and how it is.

A port and its values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol

from recollect.model import Scope


@dataclass(frozen=True, slots=True)
class Held:
    """A backup that may still hold what was forgotten, and until when it is kept."""

    id: str
    made_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Receipt:
    """What `forget` took away, and whether nothing of it is left in any file of the store.

    `remains` says in words where something may be left when it is not complete. `backups` are those that were made
    before: they are no part of the store, and hold it until they expire.
    """

    counts: Mapping[str, int]
    complete: bool
    remains: tuple[str, ...] = ()
    backups: tuple[Held, ...] = ()


def another_wording(memory_id: str) -> str:
    """What a receipt says remains when a memory that was merged into the forgotten one holds again."""
    return f"memory {memory_id}, another wording of it, which holds again"


UPKEEP = ("archive", "expire", "redact", "purge")


@dataclass(frozen=True, slots=True)
class Ages:
    """When upkeep acts: archive what is older and read less often, redact and purge what was deleted before."""

    archive_before: datetime
    archive_reads: int
    redact_before: datetime
    purge_before: datetime


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What one round of maintenance changed."""

    archived: int = 0
    redacted: int = 0
    purged: int = 0
    quarantined: int = 0  # archived because they come up for everything
    expired: int = 0  # archived because they ended long ago


class Size(NamedTuple):
    """What one table takes: rows, bytes with its indexes, and those of the indexes alone."""

    name: str
    rows: int
    bytes: int
    indexes: int


@dataclass(frozen=True, slots=True)
class Health:
    """How a store is, in figures."""

    counts: Mapping[str, int]
    pending: int
    model: tuple[str, int] | None
    bytes: Mapping[str, int]
    checks: Mapping[str, str] = field(default_factory=dict)


class Keeping(Protocol):
    """Taking away, giving back, and looking after the store."""

    def forget_memory(self, scope: Scope, memory_id: str, *, at: datetime, with_merged: bool = False) -> Receipt: ...
    def forget_session(self, scope: Scope, session: str, *, at: datetime) -> Receipt: ...
    def would_forget(self, scope: Scope, session: str) -> dict[str, int]: ...
    def forget_all(self, scope: Scope, *, at: datetime) -> Receipt: ...
    def forgotten(self, scope: Scope, session: str) -> datetime | None: ...
    def upkeep(
        self,
        *,
        now: datetime,
        ages: Ages,
        steps: Collection[str] = UPKEEP,
        dry_run: bool = False,
        stop: Callable[[], bool] = lambda: False,
    ) -> Upkeep: ...
    def rebuild(self, stop: Callable[[], bool] = lambda: False) -> Mapping[str, int]: ...
    def reindex(self) -> Mapping[str, int]: ...
    def vacuum(self, *, full: bool = False) -> Mapping[str, int]: ...
    def scrub_due(self) -> bool: ...
    def sizes(self) -> list[Size]: ...
    def health(self, *, deep: bool) -> Health: ...
