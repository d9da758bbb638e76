"""Who may come in, and how much they may have: keys and quotas.

Ports and their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from recollect.keys import Grant, Issued, Key
from recollect.model import Scope


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one owner may have; 0 means as much as they like."""

    memories: int = 0
    ingests: int = 0  # a day, in UTC


@dataclass(frozen=True, slots=True)
class Quota:
    """How much an owner has of what they may have; `own` are the limits set for them alone, None where not set."""

    limits: Limits
    own: tuple[int | None, int | None]
    memories: int
    ingests: int  # today
    resets_at: datetime

    @property
    def left(self) -> tuple[int | None, int | None]:
        """What is left of memories and of today's ingests; None for without end."""
        pairs = ((self.limits.memories, self.memories), (self.limits.ingests, self.ingests))
        memories, ingests = (max(0, limit - used) if limit else None for limit, used in pairs)
        return memories, ingests


class Keys(Protocol):
    """API keys. Each belongs to the scope it was made in; only `check` needs no scope, since it tells which one."""

    def create(
        self,
        scope: Scope,
        *,
        at: datetime,
        env: str = "live",
        permissions: Sequence[str] = ("read", "write"),
        name: str = "",
        expires_at: datetime | None = None,
    ) -> Issued: ...
    def find(self, scope: Scope) -> list[Key]: ...
    def revoke(self, scope: Scope, key_id: str, *, at: datetime) -> Key: ...
    def rotate(
        self, scope: Scope, key_id: str, *, at: datetime, until: datetime, expires_at: datetime | None = None
    ) -> Issued: ...
    def check(self, text: str, *, at: datetime, env: str | None = None) -> Grant: ...


class Quotas(Protocol):
    """How much each owner may have; held to in the transaction that writes."""

    def get(self, scope: Scope) -> Quota: ...
    def set(self, scope: Scope, *, memories: int | None, ingests: int | None, at: datetime) -> Quota: ...
