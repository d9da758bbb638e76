"""What a store keeps of distilling: digests, how far each session was looked at, and what models were paid.

Ports and their values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from recollect.model import Scope

if TYPE_CHECKING:
    from recollect.distill.digest import Digest


@dataclass(frozen=True, slots=True)
class Distillation:
    """What was made of a session: the positions of the last events that the rules and a language model saw."""

    session: str
    version: int
    covers: int
    made_at: datetime
    asked: int = -1
    kept: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Charge:
    """One call to a language model, as it is paid for."""

    use: str  # turn, session, gist or collision
    model: str
    input: int
    output: int
    usd: float
    at: datetime
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Caps:
    """What may be spent in a day, by the owner and, where set, by one project of theirs."""

    tokens: int
    usd: float
    project_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Spending:
    """What was spent on one day, in one project, for one use."""

    day: str
    project: str | None
    use: str
    model: str
    calls: int
    input: int
    output: int
    usd: float


class Unanswered(NamedTuple):
    """How many calls to a model went unanswered since its last answer, and when the latest was made."""

    calls: int
    last: datetime | None


class Digests(Protocol):
    """What each session was, computed from its events."""

    def get(self, scope: Scope, session: str) -> Digest | None: ...
    def put(self, scope: Scope, digest: Digest, *, covers: int, at: datetime, health: int | None = None) -> None: ...
    def due(self, scope: Scope, *, version: int) -> list[str]: ...
    def unscored(self, scope: Scope, *, limit: int) -> list[Digest]: ...
    def score(self, scope: Scope, health: Mapping[str, int]) -> None: ...


class Distillations(Protocol):
    """How far each session was distilled."""

    def get(self, scope: Scope, session: str) -> Distillation | None: ...
    def put(self, scope: Scope, distillation: Distillation) -> None: ...
    def due(self, scope: Scope, *, version: int) -> list[str]: ...


class Ledger(Protocol):
    """What language models were paid. A charge is debited before the call, if the caps allow it, or not at all."""

    def reserve(self, scope: Scope, charge: Charge, caps: Caps) -> int | None: ...
    def settle(self, scope: Scope, ticket: int, charge: Charge) -> None: ...
    def spent(self, scope: Scope, *, since: datetime) -> list[Spending]: ...
    def unanswered(self, scope: Scope, *, model: str, since: datetime) -> Unanswered: ...
