"""What a store keeps of transcripts: which were read and how far, the events found in them, and large bodies apart.

Ports and their values. None of the values holds content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol

from recollect.model import Cost, Event, Scope, Session


@dataclass(frozen=True, slots=True)
class Seen:
    """What was read of one transcript: enough to know whether it changed, and what it held. Never content.

    `turns` are the keys of the human prompts in the file, `withheld` those of them that were not to be kept; `state` is
    `read`, `withheld` (all of it), `empty` (no session in it) or `failed` (and `error` says why).
    """

    name: str
    flavor: str
    session: str | None
    state: str
    read_at: datetime
    way: str = "sweep"
    error: str | None = None
    fingerprint: str = ""
    complete_to: int = 0
    turns: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of events that were given."""

    added: int = 0
    changed: int = 0
    known: int = 0
    forgotten: int = 0


@dataclass(frozen=True, slots=True)
class Covered:
    """One transcript held against the store: how many of its turns are there, by which way, and which are not."""

    seen: Seen
    stored: int
    forgotten: int
    missing: tuple[str, ...]
    ways: Mapping[str, str]  # key of a stored turn -> the way it came


class Evicted(NamedTuple):
    """What evicting bodies freed, and the sessions that lost one before a digest covered them."""

    bytes: int
    undigested: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RawUse:
    """What one session's bodies take on disk, whether its digest covers it, and when the last of them came."""

    session: str
    bytes: int
    digested: bool
    born: float


class Captures(Protocol):
    """What was read of agents' own files, and what their requests cost."""

    def ingest(
        self,
        scope: Scope,
        about: Session,
        events: Sequence[Event],
        costs: Sequence[Cost] = (),
        *,
        transcript: Seen | None = None,
        changes: bool = True,
    ) -> Ingested: ...
    def seen(self, scope: Scope, name: str) -> Seen | None: ...
    def note(self, scope: Scope, seen: Seen) -> None: ...
    def coverage(self, scope: Scope) -> list[Covered]: ...
    def costs(self, scope: Scope, session: str) -> list[Cost]: ...
    def injected(self, scope: Scope, hashes: Sequence[str], *, at: datetime) -> None: ...
    def was_injected(self, scope: Scope, text_hash: str) -> bool: ...


class Bodies(Protocol):
    """Bodies too big for a row, and what they take."""

    def get(self, scope: Scope, body_hash: str) -> bytes | None: ...
    def use(self, scope: Scope) -> list[RawUse]: ...
    def evict(self, scope: Scope, session: str, *, at: datetime, undigested: bool = False) -> Evicted: ...
    def tidy(self, scope: Scope) -> int: ...
    def tick(self, now: datetime) -> float: ...
