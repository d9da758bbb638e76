"""What a store keeps worth knowing: memories with their versions.

A port and its values: what may be seen of them, and what makes them weigh.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from recollect.model import Memory, MemoryVersion, Scope


@dataclass(frozen=True, slots=True)
class Filter:
    """What recall may see. Empty fields do not narrow; nothing here can widen a scope."""

    now: datetime
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    project: str | None = None
    session: str | None = None
    exclude_session: str | None = None
    min_importance: float | None = None
    trusts: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    archived: bool = False
    history: bool = False
    flavors: tuple[str, ...] = ()  # from sessions of these agents
    pinned: bool = False  # only what a person pinned

    @property
    def narrows(self) -> bool:
        """Whether it asks for some of what there is, not just for what holds."""
        return self.selects or self.exclude_session is not None

    @property
    def selects(self) -> bool:
        """Whether what it asks for may be few of all."""
        asked = (self.kinds, self.tags, self.trusts, self.flavors, self.pinned)
        named = (self.project, self.session, self.min_importance, self.since, self.until, self.as_of)
        return any(asked) or any(one is not None for one in named)

    def holds(self, memory: Memory) -> bool:
        """Whether a memory is one that holds, or may be asked for all the same."""
        over = memory.superseded_at is not None or (memory.expires_at is not None and memory.expires_at <= self.now)
        away = memory.archived_at is not None
        return memory.deleted_at is None and (self.archived or not away) and (self.history or not over)


@dataclass(frozen=True, slots=True)
class Weighing:
    """What a memory's worth to somebody who did not ask is made of. Only memories of these kinds have any."""

    kinds: Mapping[str, float]
    kind: float = 0.0
    importance: float = 0.0
    recency: float = 0.0
    decay: float = 0.0  # a day
    own: float = 0.0  # for being the project's own
    confirmed: float = 0.0


class Memories(Protocol):
    """Things worth knowing, with their history."""

    def add(
        self,
        scope: Scope,
        memory: Memory,
        versions: Sequence[MemoryVersion] = (),
        *,
        replacing: Sequence[Memory] = (),
    ) -> tuple[Memory, bool]: ...
    def add_many(self, scope: Scope, memories: Sequence[tuple[Memory, Sequence[MemoryVersion]]]) -> list[bool]: ...
    def get(self, scope: Scope, memory_id: str) -> Memory | None: ...
    def get_many(self, scope: Scope, memory_ids: Iterable[str]) -> dict[str, Memory]: ...
    def find(self, scope: Scope, where: Filter, *, limit: int, offset: int = 0) -> list[Memory]: ...
    def forgotten(self, scope: Scope, where: Filter, *, limit: int, offset: int = 0) -> list[Memory]: ...
    def weightiest(self, scope: Scope, weighing: Weighing, *, now: datetime, limit: int) -> list[Memory]: ...
    def beginning(self, scope: Scope, words: Sequence[str], *, look: int, limit: int) -> list[Memory]: ...
    def update(self, scope: Scope, memory: Memory, *, at: datetime, note: str) -> Memory: ...
    def change(
        self,
        scope: Scope,
        memories: Sequence[Memory],
        *,
        adding: Sequence[Memory] = (),
        at: datetime,
        note: str,
        subject: str | None = None,
    ) -> bool: ...
    def versions(self, scope: Scope, memory_id: str) -> list[MemoryVersion]: ...
    def of_session(self, scope: Scope, session: str) -> list[Memory]: ...
    def in_slot(self, scope: Scope, slot: str, *, history: bool = False) -> list[Memory]: ...
    def like(self, scope: Scope, memory: Memory) -> list[Memory]: ...
    def replaced(self, scope: Scope, memory_id: str) -> list[Memory]: ...
    def from_source(self, scope: Scope, source: str, *, deleted: bool = False) -> list[Memory]: ...
    def newest(self, scope: Scope, *, since: datetime, limit: int) -> list[tuple[int, Memory]]: ...
    def marks(self, scope: Scope, *, now: datetime) -> dict[str | None, str]: ...
    def touch(self, scope: Scope, ids: Mapping[str, int], *, at: datetime) -> None: ...
