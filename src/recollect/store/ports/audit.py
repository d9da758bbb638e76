"""What was done to a store, when and by whom: rows chained so that none goes missing unseen.

A port and its values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from recollect.model import Scope


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the audit: what was done to what, when, by whom, with which key, how it went and how long it took."""

    number: int | None  # None: noted before there was a chain
    at: datetime
    action: str
    subject: str
    details: Mapping[str, Any]
    actor: str | None = None
    key: str | None = None
    result: str = "done"
    duration_ms: int | None = None
    session: str | None = None  # of what was recorded: the session it is in, as long as that is there


@dataclass(frozen=True, slots=True)
class Chain:
    """An owner's audit, followed from its first row: how many are whole, and the first thing that is wrong."""

    tenant: str
    user: str
    rows: int
    before: int = 0  # rows from before there was a chain; its first row signs them
    anchored: int = 0  # the last row that the anchor knows
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the audit is whole: every chain, and what is wrong with the anchor itself."""

    chains: tuple[Chain, ...]
    faults: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        return not self.faults and not any(chain.fault for chain in self.chains)


class Audit(Protocol):
    """What was done, only ever added to, in chains that show when a row was changed."""

    def note(
        self,
        scope: Scope,
        action: str,
        subject: str,
        *,
        at: datetime,
        result: str = "done",
        duration_ms: int = 0,
        details: Mapping[str, object] | None = None,
    ) -> None: ...
    def find(
        self,
        scope: Scope,
        *,
        limit: int,
        offset: int = 0,
        action: str | None = None,
        subject: str | None = None,
        look: int | None = None,
    ) -> list[Entry]: ...
    def verify(self, scope: Scope | None = None, *, anchor: Path | None = None) -> Verdict: ...
    def anchor(self, *, at: datetime, file: Path | None = None) -> int: ...
