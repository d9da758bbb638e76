"""What several people share: contexts, their members, and what is proposed to them.

A port and its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from recollect.model import Memory, Scope


@dataclass(frozen=True, slots=True)
class SharedContext:
    """A context that several people share, as one of them sees it."""

    id: str  # its name in the store: no two have the same
    name: str  # what people call it
    reviewed: bool  # memories come in by approved proposals alone
    own_approval: bool  # a reviewer may approve what they proposed themselves
    made_at: datetime
    role: str  # of MEMBER_ROLES
    added_by: str
    added_at: datetime
    joined_at: datetime | None  # None: asked to join, and not in it yet


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody in a shared context, or asked to join it."""

    tenant: str
    user: str
    role: str
    added_by: str
    added_at: datetime
    joined_at: datetime | None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A copy of a private memory that somebody wants to be shared, and what became of it.

    Where the memory came from stays with its owner: here is only who said it to them (`origin`), how far they trusted
    it, who worded it (`maker`), and in how many places of their sessions it stands (`evidenced`).
    """

    id: str
    source: str  # the private memory; told to its owner alone
    kind: str
    content: str
    origin: str
    trust: str
    maker: str
    occurred_at: datetime
    why: str | None = None
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    project: str | None = None
    evidenced: int = 0
    reason: str | None = None
    proposed_by: str = ""
    proposed_at: datetime | None = None
    state: str = "open"  # open, approved, rejected or withdrawn
    decided_by: str | None = None
    decided_at: datetime | None = None
    decision: str | None = None  # why it was decided so
    edited: bool = False
    memory: str | None = None  # what it became
    withdrawn_by: str | None = None
    withdrawn_at: datetime | None = None


class Contexts(Protocol):
    """What several people share. The scope is that of who asks; a context they have not joined does not exist for them.

    What is in a context is read and written by the other ports, in the scope `scope.in_context(context)`.
    """

    def create(
        self, scope: Scope, name: str, *, at: datetime, reviewed: bool = False, own_approval: bool = False
    ) -> SharedContext: ...
    def mine(self, scope: Scope) -> list[SharedContext]: ...
    def get(self, scope: Scope, context: str) -> SharedContext: ...
    def join(self, scope: Scope, context: str, *, at: datetime) -> SharedContext: ...
    def dissolve(self, scope: Scope, context: str, *, at: datetime) -> None: ...
    def members(self, scope: Scope, context: str) -> list[Member]: ...
    def add_member(self, scope: Scope, context: str, member: tuple[str, str], role: str, *, at: datetime) -> None: ...
    def remove_member(self, scope: Scope, context: str, member: tuple[str, str], *, at: datetime) -> None: ...
    def propose(self, scope: Scope, context: str, proposal: Proposal, *, at: datetime) -> Proposal: ...
    def proposals(
        self, scope: Scope, context: str, *, state: str | None = None, limit: int, offset: int = 0
    ) -> list[Proposal]: ...
    def proposal(self, scope: Scope, context: str, proposal_id: str) -> Proposal: ...
    def approve(
        self,
        scope: Scope,
        context: str,
        proposal_id: str,
        memory: Memory,
        *,
        decision: str | None,
        at: datetime,
        replacing: Sequence[Memory] = (),
    ) -> Proposal: ...
    def reject(
        self, scope: Scope, context: str, proposal_id: str, *, decision: str | None, at: datetime
    ) -> Proposal: ...
    def withdraw(self, scope: Scope, context: str, proposal_id: str, *, at: datetime) -> Proposal: ...
