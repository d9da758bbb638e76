"""What one shares with others, and what they share: contexts by name, their members, proposals and memories.

A private memory becomes a shared one by a copy that somebody else looked at. The copy has the words and the reason,
without secrets; where they came from (sessions, evidence, files) stays with its owner. Nothing shared is the reader's
own word: it is said by somebody else, no preference, and trusted as `checked` at most, where a reviewer approved it and
who proposed it trusted it themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.clock import Clock
from recollect.distill.memory import MAX_WHY_CHARS, checked_changes, new_memory
from recollect.distill.values.sayings import rank_of
from recollect.errors import Conflict, InvalidInput, NotFound, ScopeError
from recollect.ids import uuid7
from recollect.model import COMMONS, SHARED, Hit, Memory, Recall, Scope, check_id
from recollect.recall.credit import SHARED_META, credit_of, shared_note
from recollect.settings import Settings
from recollect.store.port import Store
from recollect.store.ports.contexts import Member, Proposal, SharedContext
from recollect.store.ports.memories import Filter
from recollect.text import require_text

if TYPE_CHECKING:
    from recollect.recall.answer import Question
    from recollect.recall.meaning import Meant

EDITS = ("content", "why", "kind", "tags")  # what a reviewer may put otherwise
_LOCAL = re.compile(r"[/~…\\]|[A-Za-z]:[/\\]")  # a project that is called as a directory of somebody's machine
_PAGE = 100


class Contexts:
    """The shared contexts of one user, by name or id."""

    def __init__(
        self, store: Store, scope: Scope, settings: Settings, clock: Clock, changed: Callable[[], None] = lambda: None
    ) -> None:
        self._store, self._scope, self._settings, self._clock, self._changed = store, scope, settings, clock, changed

    # -- contexts and their members ------------------------------------------------------------------------------------

    def mine(self) -> list[SharedContext]:
        """The contexts one is in, and those one is asked to join."""
        return self._store.contexts.mine(self._scope)

    def create(self, name: str, *, reviewed: bool = False, own_approval: bool = False) -> SharedContext:
        """Make a context and be its admin. With `reviewed`, memories come in by approved proposals alone."""
        check_id(name, "context")
        if any(one.name == name for one in self.mine()):
            raise Conflict(f"you have a context {name} already")
        made = {"reviewed": reviewed, "own_approval": own_approval}
        return self._store.contexts.create(self._scope, name, at=self._clock(), **made)

    def find(self, name: str, *, invited: bool = False) -> SharedContext:
        """The context one means, by name or id; with `invited`, one that was not joined yet too."""
        check_id(name, "context")
        fits = [one for one in self.mine() if name in (one.name, one.id) and (invited or one.joined_at is not None)]
        if len(fits) > 1:
            ids = ", ".join(one.id for one in fits)
            raise InvalidInput(f"{len(fits)} contexts are called {name}", hint=f"Give the id of one: {ids}.")
        if not fits:
            raise NotFound(f"no context {name[:60]} of yours", hint="`recollect contexts` lists them.")
        return fits[0]

    def switched_on(self) -> list[SharedContext]:
        """Those of the setting `contexts`; what one is not in, or what two are called, is left out without a word."""
        joined = [one for one in self.mine() if one.joined_at is not None] if self._settings.contexts else []
        named = {name: [one for one in joined if name in (one.name, one.id)] for name in self._settings.contexts}
        return list({fits[0].id: fits[0] for fits in named.values() if len(fits) == 1}.values())

    def join(self, name: str) -> SharedContext:
        """Enter a context one was asked into, or the commons."""
        is_commons = name in (COMMONS, COMMONS.removeprefix(SHARED))
        try:
            context = COMMONS if is_commons else self.find(name, invited=True).id
            return self._store.contexts.join(self._scope, context, at=self._clock())
        except NotFound:
            if not is_commons:
                raise
            raise NotFound(
                "there is no commons here", hint="Who runs this store makes it: `recollect contexts create commons`."
            ) from None

    def leave(self, name: str) -> None:
        """Be a member no more, or say no to an invitation."""
        me = (self._scope.tenant, self._scope.user)
        self._store.contexts.remove_member(self._scope, self.find(name, invited=True).id, me, at=self._clock())

    def dissolve(self, name: str) -> None:
        """End a context, as its admin: what is in it is forgotten for good, and nobody is in it any more."""
        context = self.find(name)
        if context.role != "admin":
            raise ScopeError(f"only an admin can end {context.name}")
        self._store.keeping.forget_all(self._inside(context).within(None), at=self._clock())
        self._store.contexts.dissolve(self._scope, context.id, at=self._clock())

    def members(self, name: str) -> list[Member]:
        """Who is in it."""
        return self._store.contexts.members(self._scope, self.find(name).id)

    def add(self, name: str, member: str, role: str = "reader") -> None:
        """Ask somebody to join, or give them another role. In the commons they are called `tenant/user`."""
        context = self.find(name).id
        self._store.contexts.add_member(self._scope, context, self._member(context, member), role, at=self._clock())

    def remove(self, name: str, member: str) -> None:
        """Take somebody out: from now on they see nothing of it."""
        context = self.find(name).id
        self._store.contexts.remove_member(self._scope, context, self._member(context, member), at=self._clock())

    def _member(self, context: str, member: str) -> tuple[str, str]:
        check_id(member, "member")
        if context != COMMONS:
            return self._scope.tenant, member
        tenant, slash, user = member.partition("/")
        if not slash:
            raise InvalidInput("a member of the commons is called tenant/user")
        return tenant, user

    # -- proposals -----------------------------------------------------------------------------------------------------

    def propose(self, memory_id: str, name: str, reason: str | None = None) -> Proposal:
        """Lay a copy of one's own memory before a context's reviewers."""
        context = self.find(name).id
        memory = self._store.memories.get(self._scope, memory_id)
        if memory is None or memory.deleted_at is not None:
            raise NotFound(f"no memory {memory_id[:60]}", hint="`recollect list` shows ids.")
        if memory.superseded_at is not None:
            raise InvalidInput("this memory was superseded", hint="Propose the one that holds now.")
        self._check_own(memory)
        return self._store.contexts.propose(self._scope, context, self._copy(memory, context, reason), at=self._clock())

    def _check_own(self, memory: Memory) -> None:
        """What rests on sessions that are not here may be somebody else's: it is not one's own to share."""
        for session in {span.session for span in memory.evidence} | ({memory.session} if memory.session else set()):
            if self._store.sessions.get(self._scope.within(None), session) is None:
                raise InvalidInput(
                    "this memory comes from a session that is not in your memory",
                    hint="If you know it yourself, say it: `recollect remember TEXT`, then propose that.",
                )

    def _copy(self, memory: Memory, context: str, reason: str | None) -> Proposal:
        clean = self._clean({"content": memory.content, "why": memory.why, "tags": memory.tags}, context)
        return Proposal(
            id=uuid7(),
            source=memory.id,
            kind=_kind(memory.kind),
            content=clean["content"],
            origin=memory.origin,
            trust=memory.trust,
            maker=memory.maker,
            occurred_at=memory.occurred_at,
            why=clean["why"],
            tags=clean["tags"],
            importance=memory.importance,
            project=None if context == COMMONS or _LOCAL.match(memory.project or "/") else memory.project,
            evidenced=len(memory.evidence),
            reason=self._reason(reason, context),
        )

    def proposals(self, name: str, state: str | None = "open", limit: int = _PAGE, offset: int = 0) -> list[Proposal]:
        """What was proposed, the newest first: all of it for who reviews, else one's own."""
        if state not in (None, "open", "approved", "rejected", "withdrawn"):
            raise InvalidInput(f"unknown state {str(state)[:40]!r}", hint="open, approved, rejected or withdrawn.")
        context = self.find(name).id
        return self._store.contexts.proposals(self._scope, context, state=state, limit=limit, offset=max(0, offset))

    def approve(self, name: str, proposal_id: str, reason: str | None = None, **edits: Any) -> Proposal:
        """Let a proposal in, as it is or with other words; it may take the place of what the context held true."""
        if unknown := sorted(edits.keys() - set(EDITS)):
            raise InvalidInput(f"cannot change {unknown[0]!r}", hint="Can change: " + ", ".join(EDITS))
        context = self.find(name)
        proposal = self._store.contexts.proposal(self._scope, context.id, proposal_id)
        memory = self._approved(context, proposal, {key: value for key, value in edits.items() if value is not None})
        done = self._store.contexts.approve(
            *(self._scope, context.id, proposal_id, memory),
            decision=self._reason(reason, context.id),
            at=self._clock(),
            replacing=self._older(self._scope.in_context(context.id), memory),
        )
        self._changed()
        return done

    def _approved(self, context: SharedContext, proposal: Proposal, edits: Mapping[str, Any]) -> Memory:
        """The memory a proposal becomes: somebody else's word, trusted no further than who proposed it did."""
        from recollect.pipeline.settling import slot_for

        told = {"content": proposal.content, "why": proposal.why, "kind": proposal.kind, "tags": proposal.tags, **edits}
        changes = checked_changes(self._clean(told, context.id))
        memory = Memory(
            id=uuid7(),
            kind=_kind(changes["kind"]),
            content=changes["content"],
            project=proposal.project,
            origin="import",
            occurred_at=proposal.occurred_at,
            recorded_at=self._clock(),
            why=changes["why"],
            tags=changes["tags"],
            importance=proposal.importance,
            trust="quoted" if proposal.trust == "quoted" else "checked",
            maker=proposal.maker,
            meta={SHARED_META: self._credit(context, proposal)},
        )
        return replace(memory, slot=slot_for(memory))

    def _credit(self, context: SharedContext, proposal: Proposal) -> dict[str, str]:
        """Who proposed and who approved; what is open to all tells nobody's name."""
        if context.id == COMMONS:
            return {"in": context.name, "proposal": proposal.id}
        who = {"by": proposal.proposed_by, "approved_by": self._scope.user}
        return {"in": context.name, "proposal": proposal.id, **who}

    def _older(self, shared: Scope, memory: Memory) -> list[Memory]:
        """What the context held true of the same slot until then."""
        if memory.slot is None:
            return []
        return [
            one
            for one in self._store.memories.in_slot(shared.within(None), memory.slot)
            if one.project == memory.project
            and one.occurred_at <= memory.occurred_at
            and one.content != memory.content
            and rank_of(one.trust) <= rank_of(memory.trust)
        ]

    def reject(self, name: str, proposal_id: str, reason: str | None = None) -> Proposal:
        """Say no, and why."""
        context = self.find(name).id
        decision = self._reason(reason, context)
        return self._store.contexts.reject(self._scope, context, proposal_id, decision=decision, at=self._clock())

    def withdraw(self, name: str, proposal_id: str) -> Proposal:
        """Take back what one proposed; if it was approved, it is shared no more."""
        return self._store.contexts.withdraw(self._scope, self.find(name).id, proposal_id, at=self._clock())

    # -- what is shared ------------------------------------------------------------------------------------------------

    def memories(self, name: str, limit: int = _PAGE, offset: int = 0) -> list[Memory]:
        """What a context holds, the newest first."""
        where = Filter(now=self._clock())
        return self._store.memories.find(self._inside(self.find(name)), where, limit=limit, offset=max(0, offset))

    def get(self, memory_id: str) -> tuple[SharedContext, Memory] | None:
        """A memory of a context one is in, by its id, and which context that is."""
        for context in self.mine():
            if context.joined_at is not None:
                found = self._store.memories.get(self._inside(context), memory_id)
                if found is not None and found.deleted_at is None:
                    return context, found
        return None

    def remember(self, name: str, content: str, kind: str = "note", **fields: Any) -> Memory:
        """Write into a context that takes memories without a review; nobody checked it, so it is quoted."""
        from recollect.pipeline.settling import settle

        context = self.find(name)
        if context.reviewed:
            raise InvalidInput(f"{context.name} takes proposals", hint="`recollect contexts propose` makes one.")
        given = self._clean({**fields, "content": content, "kind": kind}, context.id)
        meta = {SHARED_META: {"in": context.name, "by": self._scope.user}}
        memory = new_memory({**given, "origin": "import", "meta": meta}, project=self._scope.project, now=self._clock())
        settled = settle(self._store, self._inside(context), memory, self._clock)
        self._changed()
        return settled.memory

    def forget(self, name: str, memory_id: str) -> None:
        """Take a memory out of a context; who may write there may."""
        inside, now = self._inside(self.find(name)), self._clock()
        memory = self._store.memories.get(inside, memory_id)
        if memory is None or memory.deleted_at is not None:
            raise NotFound(f"no memory {memory_id[:60]} in {name}")
        self._store.memories.update(inside, replace(memory, deleted_at=now), at=now, note="delete")

    def beside(self, own: Recall, names: Iterable[str], question: Question, meant: Meant) -> Recall:
        """An answer together with what these contexts say to the same question."""
        from recollect.recall.answer import answer
        from recollect.recall.several import merged

        asked = (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))
        contexts = [self.find(name) for name in asked]
        if "memory" not in question.tiers:
            return own
        found: list[tuple[Hit, str | None]] = []
        for context in contexts:
            inside = self._inside(context)
            told = answer(self._store, inside, replace(question, tiers=("memory",)), meant)
            found += [self._told(inside, context, hit) for hit in told.hits]
        return merged(own, found, question.limit)

    def _told(self, inside: Scope, context: SharedContext, hit: Hit) -> tuple[Hit, str | None]:
        """A hit with where it is from, and whose it is if nobody looked at it."""
        memory = self._store.memories.get(inside, hit.id)
        credit = {} if memory is None else credit_of(memory)
        source = f"{context.id}/{credit.get('by', '')}" if hit.trust == "quoted" else None
        return replace(hit, context=context.name, notes=(shared_note(context.name, credit), *hit.notes)), source

    # -- inside --------------------------------------------------------------------------------------------------------

    def _inside(self, context: SharedContext) -> Scope:
        return self._scope.in_context(context.id)

    def _clean(self, given: Mapping[str, Any], context: str) -> dict[str, Any]:
        """Without secrets; what is open to all, without e-mail addresses and the like too."""
        from recollect.pipeline.cleaning import without_secrets

        settings = replace(self._settings, redact_personal=True) if context == COMMONS else self._settings
        clean, _ = without_secrets(given, settings)
        if clean.get("tags"):
            clean["tags"] = tuple(tag for tag in clean["tags"] if not without_secrets({"why": tag}, settings)[1])
        return clean

    def _reason(self, reason: str | None, context: str) -> str | None:
        if reason is None:
            return None
        told: str = self._clean({"why": require_text(reason, "reason", MAX_WHY_CHARS)}, context)["why"]
        return told


def _kind(kind: str) -> str:
    """A preference is one person's; what several share is what they decided."""
    return "decision" if kind == "preference" else kind
