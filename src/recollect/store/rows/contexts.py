"""Contexts that several people share: their members, and proposals with what became of them.

Whoever asks does so in their own scope. What they may do is looked up in the transaction that does it: who was removed
a moment ago is let in no more. A context one has not joined is answered like one that does not exist.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from recollect.clock import from_iso, iso
from recollect.errors import Conflict, InvalidInput, NotFound, ScopeError
from recollect.model import COMMONS, MEMBER_ROLES, SHARED, Memory, Scope, check_id
from recollect.store.ports.contexts import Member, Proposal, SharedContext
from recollect.store.ports.memories import Memories
from recollect.store.rows.audit import audit
from recollect.store.rows.tx import Database, Tx, require_member

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
MOST_OPEN = 100  # proposals of one member that wait in one context
_TIMES = ("occurred_at", "proposed_at", "decided_at", "withdrawn_at")
_COLUMNS = (
    "id source project kind content why tags importance origin trust maker evidenced occurred_at reason "
    "proposed_tenant proposed_by proposed_at state decided_by decided_at decision edited memory withdrawn_by "
    "withdrawn_at"
).split()


class RowContexts:
    """Shared contexts over rows."""

    def __init__(self, database: Database, memories: Memories) -> None:
        self._db = database
        self._memories = memories

    def create(
        self, scope: Scope, name: str, *, at: datetime, reviewed: bool = False, own_approval: bool = False
    ) -> SharedContext:
        """Make a context whose admin is who makes it. The commons is made once in a store, and always reviewed."""
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                "the name of a context is 1 to 64 small letters, digits, dots, dashes",
                hint="For example: backend-team.",
            )
        commons = name == COMMONS.removeprefix(SHARED)
        # Nobody is to learn by trying which names others chose, so the name alone is not what the store knows it by.
        context = COMMONS if commons else f"{SHARED}{name}~{secrets.token_hex(4)}"
        if commons:
            reviewed, own_approval = True, False
        with self._db.write(_kept(scope, context)) as tx:
            params = {"name": name, "reviewed": reviewed, "own_approval": own_approval, "made_at": iso(at)}
            owner = tx.ensure().owner
            if tx.one("contexts.add", {"owner": owner, **params}) is None:
                raise Conflict("there is a commons already", hint="`recollect contexts join commons` joins it.")
            added = {"role": "admin", "added_by": _who(scope, context), "added_at": iso(at), "joined_at": iso(at)}
            tx.run("contexts.put_member", {"owner": owner, **_member(scope), **added})
            _note(tx, scope, at, "context", context, {"reviewed": reviewed})
            return self._get(tx, scope, context)

    def mine(self, scope: Scope) -> list[SharedContext]:
        """The contexts one is in, and those one is asked to join."""
        if scope.by is not None:
            raise ScopeError("a shared context is no member of another")
        with self._db.read(scope) as tx:
            return [_context(row) for row in tx.run("contexts.mine", _member(scope))]

    def get(self, scope: Scope, context: str) -> SharedContext:
        """A context one is in."""
        with self._db.read(scope.in_context(context)) as tx:
            return self._get(tx, scope, context)

    def join(self, scope: Scope, context: str, *, at: datetime) -> SharedContext:
        """Enter a context one was asked into; the commons is open to everybody, to read and to propose."""
        with self._inside(scope, context) as tx:
            me = _member(scope)
            if context == COMMONS and self._standing(tx, scope)[0] is None:
                added = {"role": "writer", "added_by": _who(scope, context), "added_at": iso(at), "joined_at": None}
                tx.run("contexts.put_member", {"owner": _owner(tx), **me, **added})
            found = self._standing(tx, scope)
            if found[0] is None:
                require_member(scope.in_context(context))
            tx.run("contexts.join", {"owner": _owner(tx), **me, "at": iso(at)})
            _note(tx, scope, at, "join", _who(scope, context), {})
            return self._get(tx, scope, context)

    def dissolve(self, scope: Scope, context: str, *, at: datetime) -> None:
        """End a context whose memories were forgotten: its members, and what was proposed."""
        with self._inside(scope, context) as tx:
            self._require(tx, scope, context, "admin")
            _note(tx, scope, at, "dissolve", context, {})
            for step in ("drop_proposals", "drop_members", "drop"):
                tx.run(f"contexts.{step}", {"owner": _owner(tx)})

    # -- members -------------------------------------------------------------------------------------------------------

    def members(self, scope: Scope, context: str) -> list[Member]:
        """Who is in it or asked to join; of the commons only admins are told."""
        with self._db.read(scope.in_context(context)) as tx:
            owner = _owner(tx)
            if context == COMMONS and self._standing(tx, scope)[0] != "admin":
                raise ScopeError("only its admins see who is in the commons")
            return [
                Member(tenant, user, role, by, from_iso(added), joined and from_iso(joined))
                for tenant, user, role, by, added, joined in tx.run("contexts.members", {"owner": owner})
            ]

    def add_member(self, scope: Scope, context: str, member: tuple[str, str], role: str, *, at: datetime) -> None:
        """Ask somebody to join, or give them another role; they are in it once they have joined."""
        if role not in MEMBER_ROLES:
            raise InvalidInput(f"unknown role {str(role)[:40]!r}", hint="Roles: " + ", ".join(MEMBER_ROLES))
        them = _named(scope, context, member)
        with self._inside(scope, context) as tx:
            self._require(tx, scope, context, "admin")
            if role != "admin":
                self._keep_an_admin(tx, them)
            added = {"role": role, "added_by": _who(scope, context), "added_at": iso(at), "joined_at": None}
            tx.run("contexts.put_member", {"owner": _owner(tx), **them, **added})
            _note(tx, scope, at, "member", _label(context, member), {"role": role})

    def remove_member(self, scope: Scope, context: str, member: tuple[str, str], *, at: datetime) -> None:
        """Take somebody out, or leave; from here on they see nothing of it."""
        them = _named(scope, context, member)
        with self._inside(scope, context) as tx:
            role, _ = self._standing(tx, scope)
            if role is None:
                require_member(scope.in_context(context))
            if member != (scope.tenant, scope.user):
                self._require(tx, scope, context, "admin")
            self._keep_an_admin(tx, them)
            if tx.one("contexts.drop_member", {"owner": _owner(tx), **them}) is None:
                raise NotFound("no such member")
            _note(tx, scope, at, "remove member", _label(context, member), {})

    # -- proposals -----------------------------------------------------------------------------------------------------

    def propose(self, scope: Scope, context: str, proposal: Proposal, *, at: datetime) -> Proposal:
        """Lay a copy before the reviewers; the same one again is the one that is there."""
        with self._inside(scope, context) as tx:
            self._require(tx, scope, context, "writer")
            params = {"owner": _owner(tx), **_member(scope), **_params(proposal), "at": iso(at)}
            known = tx.run("contexts.same", params).fetchone()
            if known is not None:
                return self._proposal(tx, scope, context, known[0])
            if (tx.one("contexts.open_of", params) or 0) >= MOST_OPEN:
                raise Conflict(f"{MOST_OPEN} of your proposals wait there already", hint="Withdraw some, or wait.")
            tx.run("contexts.propose", params)
            _note(tx, scope, at, "propose", proposal.id, {"kind": proposal.kind})
            return self._proposal(tx, scope, context, proposal.id)

    def proposals(
        self, scope: Scope, context: str, *, state: str | None = None, limit: int, offset: int = 0
    ) -> list[Proposal]:
        """The newest first: all of them for who reviews, else one's own."""
        with self._db.read(scope.in_context(context)) as tx:
            role, _ = self._standing(tx, scope)
            window = {"state": state, "all": role in ("reviewer", "admin"), "limit": limit, "offset": offset}
            found = tx.run("contexts.proposals", {"owner": _owner(tx), **_member(scope), **window})
            return [_proposal_of(row, scope, context) for row in found]

    def proposal(self, scope: Scope, context: str, proposal_id: str) -> Proposal:
        """One of those that `proposals` shows."""
        with self._db.read(scope.in_context(context)) as tx:
            return self._proposal(tx, scope, context, proposal_id)

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
    ) -> Proposal:
        """Put the memory that a proposal is to become into the context, and note it: both or neither."""
        with self._inside(scope, context) as tx:
            found = self._to_decide(tx, scope, context, proposal_id)
            if _is_mine(found) and not self._standing(tx, scope)[1].own_approval:
                raise ScopeError("nobody approves what they proposed themselves", hint="Let another reviewer look.")
            kept = self._share(_kept(scope, context), memory, replacing, at)
            edited = (found.content, found.why, found.kind) != (memory.content, memory.why, memory.kind)
            done = {"state": "approved", "decision": decision, "edited": edited, "memory": kept.id}
            self._decide(tx, scope, context, proposal_id, done, at)
            _note(tx, scope, at, "approve", proposal_id, {"memory": kept.id, "edited": edited})
            return self._proposal(tx, scope, context, proposal_id)

    def reject(self, scope: Scope, context: str, proposal_id: str, *, decision: str | None, at: datetime) -> Proposal:
        """Say no."""
        with self._inside(scope, context) as tx:
            self._to_decide(tx, scope, context, proposal_id)
            done = {"state": "rejected", "decision": decision, "edited": False, "memory": None}
            self._decide(tx, scope, context, proposal_id, done, at)
            _note(tx, scope, at, "reject", proposal_id, {})
            return self._proposal(tx, scope, context, proposal_id)

    def withdraw(self, scope: Scope, context: str, proposal_id: str, *, at: datetime) -> Proposal:
        """Take back what one proposed, or as a reviewer anything: its words go, what it became is softly deleted."""
        with self._inside(scope, context) as tx:
            self._require(tx, scope, context, "reader")
            found = self._proposal(tx, scope, context, proposal_id)
            if found.state == "withdrawn":
                return found
            kept = found.memory and self._find(tx, found.memory)
            if kept and kept.deleted_at is None and _came_by(kept, proposal_id):
                gone = replace(kept, deleted_at=at)
                self._memories.update(_kept(scope, context), gone, at=at, note="withdraw")
            who = {"withdrawn_by": _who(scope, context), "at": iso(at)}
            tx.run("contexts.withdraw", {"owner": _owner(tx), "id": proposal_id, **who})
            _note(tx, scope, at, "withdraw", proposal_id, {})
            return self._proposal(tx, scope, context, proposal_id)

    # -- inside --------------------------------------------------------------------------------------------------------

    @contextmanager
    def _inside(self, scope: Scope, context: str) -> Iterator[Tx]:
        """A write in a context that is there; what who asks may do is for the caller to look up in it."""
        asked = scope.in_context(context)
        with self._db.write(_kept(scope, context)) as tx:
            if tx.rows is None:
                require_member(asked)
            yield tx

    def _get(self, tx: Tx, scope: Scope, context: str) -> SharedContext:
        found = tx.run("contexts.get", {"owner": _owner(tx), **_member(scope)}).fetchone()
        if found is None:
            require_member(scope.in_context(context))
        return _context((context, *found))

    def _standing(self, tx: Tx, scope: Scope) -> tuple[str | None, Any]:
        """The role of who asks, None without one, and the context's row; an unanswered invitation counts as a role."""
        assert tx.scope is not None
        found = tx.run("contexts.get", {"owner": _owner(tx), **_member(scope)}).fetchone()
        if found is None:
            require_member(scope.in_context(tx.scope.user))
        if found[4] is None:
            return None, found
        return str(found[4]), _context((tx.scope.user, *found))

    def _require(self, tx: Tx, scope: Scope, context: str, role: str) -> None:
        """Who asks has joined, and may do at least what this role may."""
        mine, standing = self._standing(tx, scope)
        if mine is None or standing.joined_at is None:
            require_member(scope.in_context(context))
        assert mine is not None
        if MEMBER_ROLES.index(mine) < MEMBER_ROLES.index(role):
            raise ScopeError(f"this takes a {role}, and your role in this context is {mine}")

    def _keep_an_admin(self, tx: Tx, without: Mapping[str, object]) -> None:
        if not tx.one("contexts.other_admins", {"owner": _owner(tx), **without}):
            raise Conflict("a context has at least one admin", hint="Make somebody else its admin first.")

    def _proposal(self, tx: Tx, scope: Scope, context: str, proposal_id: str) -> Proposal:
        row = tx.run("contexts.proposal", {"owner": _owner(tx), "id": proposal_id}).fetchone()
        found = row and _proposal_of(row, scope, context)
        if not found or not (_is_mine(found) or self._standing(tx, scope)[0] in ("reviewer", "admin")):
            raise NotFound("no such proposal", hint="`recollect contexts proposals NAME` lists them.")
        return found

    def _to_decide(self, tx: Tx, scope: Scope, context: str, proposal_id: str) -> Proposal:
        self._require(tx, scope, context, "reviewer")
        found = self._proposal(tx, scope, context, proposal_id)
        if found.state != "open":
            raise Conflict(f"the proposal is {found.state}")
        return found

    def _decide(
        self, tx: Tx, scope: Scope, context: str, proposal_id: str, done: Mapping[str, object], at: datetime
    ) -> None:
        who = {"decided_by": _who(scope, context), "at": iso(at)}
        tx.run("contexts.decide", {"owner": _owner(tx), "id": proposal_id, **done, **who})

    def _share(self, kept: Scope, memory: Memory, replacing: Sequence[Memory], at: datetime) -> Memory:
        """The memory in the context; one that says the same and that nobody had looked at is trusted from now on."""
        found, new = self._memories.add(kept, memory, replacing=replacing)
        if not new and found.trust == "quoted" and memory.trust != "quoted":
            return self._memories.update(
                kept, replace(found, trust=memory.trust, meta=memory.meta), at=at, note="approve"
            )
        return found

    def _find(self, tx: Tx, memory_id: str) -> Memory | None:
        from recollect.store.rows.memories import memory_of

        assert tx.rows is not None
        row = tx.run("memories.get", {**tx.rows.params(), "id": memory_id}).fetchone()
        return None if row is None else memory_of(row)


def _kept(scope: Scope, context: str) -> Scope:
    """The context for the store's own work, after the same checks of names as for who asks."""
    asked = scope.in_context(context)
    return replace(Scope.of_owner(asked.tenant, asked.user), key=scope.key)


def _note(tx: Tx, scope: Scope, at: datetime, action: str, subject: str, details: Mapping[str, object]) -> None:
    """Note in the context's own audit what a member did."""
    audit(tx, _owner(tx), at, action, subject, details, actor=f"{scope.tenant}/{scope.user}")


def _owner(tx: Tx) -> int:
    assert tx.rows is not None
    return tx.rows.owner


def _member(scope: Scope) -> dict[str, object]:
    return {"member_tenant": scope.tenant, "member": scope.user}


def _named(scope: Scope, context: str, member: tuple[str, str]) -> dict[str, object]:
    """A member by name: of one's own tenant, but in the commons of any."""
    tenant, user = (check_id(name, "member") for name in member)
    if tenant.startswith(SHARED) or user.startswith(SHARED):
        raise InvalidInput("the name of a member cannot begin with @")
    if context != COMMONS and tenant != scope.tenant:
        raise InvalidInput("a shared context is for users of its own tenant")
    return {"member_tenant": tenant, "member": user}


def _who(scope: Scope, context: str) -> str:
    return _label(context, (scope.tenant, scope.user))


def _label(context: str, member: tuple[str, str]) -> str:
    """How a member is called: in the commons with their tenant."""
    return "/".join(member) if context == COMMONS else member[1]


def _is_mine(proposal: Proposal) -> bool:
    return bool(proposal.source)


def _came_by(memory: Memory, proposal_id: str) -> bool:
    """Whether a memory is there because of this proposal, and not since somebody wrote it before."""
    shared = memory.meta.get("shared")
    return isinstance(shared, Mapping) and shared.get("proposal") == proposal_id


def _context(row: Sequence[Any]) -> SharedContext:
    context, name, reviewed, own, made_at, role, by, added_at, joined_at = row
    moments = from_iso(added_at), joined_at and from_iso(joined_at)
    return SharedContext(context, name, bool(reviewed), bool(own), from_iso(made_at), role, by, *moments)


def _params(proposal: Proposal) -> dict[str, object]:
    names = "id source project kind content why importance origin trust maker evidenced reason".split()
    told: dict[str, object] = {name: getattr(proposal, name) for name in names}
    tags = json.dumps(proposal.tags, ensure_ascii=False)
    return {**told, "tags": tags, "occurred_at": iso(proposal.occurred_at)}


def _proposal_of(row: Sequence[Any], scope: Scope, context: str) -> Proposal:
    """A row as who asks may see it: where it came from is for who proposed it."""
    at = dict(zip(_COLUMNS, row, strict=True))
    by = (at.pop("proposed_tenant"), at["proposed_by"])
    times = {name: at[name] and from_iso(at[name]) for name in _TIMES}
    own = {"source": at["source"] if by == (scope.tenant, scope.user) else "", "proposed_by": _label(context, by)}
    return Proposal(**{**at, **times, **own, "tags": tuple(json.loads(at["tags"])), "edited": bool(at["edited"])})
