"""Questions to an opened memory, and what agents are told before they ask."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from recollect.clock import TimeLike
from recollect.facade.sessions import Sessions
from recollect.model import TIERS, Context, Recall, Tier
from recollect.recall.answer import answer
from recollect.recall.asking import question_of
from recollect.store.ports.memories import Filter

if TYPE_CHECKING:
    from recollect.inject.hosts import Block
    from recollect.pipeline.prepare import Prepared
    from recollect.pipeline.sharing import Contexts


class Recalling(Sessions):
    """Gives the right few things back."""

    def recall(
        self,
        query: str,
        limit: int | None = None,
        kinds: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        project: str | None = None,
        session: str | None = None,
        exclude_session: str | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        as_of: TimeLike | None = None,
        tiers: Iterable[Tier] = TIERS,
        *,
        min_importance: float | None = None,
        archived: bool = False,
        history: bool = False,
        profile: str | None = None,
        abstain: bool | None = None,
        mode: Literal["auto", "lexical", "hybrid"] = "auto",
        at: str | Path | None = None,
        contexts: Iterable[str] = (),
        trusts: Iterable[str] = (),
        flavors: Iterable[str] = (),
        pinned: bool = False,
        count: bool = True,
    ) -> Recall:
        """The right few things for a question, each explained (and counted as read); or none, and `abstained`.

        `at` is a directory of the project: what memories say of its files is checked there. `contexts` are shared ones
        to be asked too. Without `count`, nothing is counted: somebody only looks.
        """
        where = self.filter(
            trusts=trusts,
            flavors=flavors,
            pinned=pinned,
            kinds=kinds,
            tags=tags,
            project=project,
            session=session,
            exclude_session=exclude_session,
            since=since,
            until=until,
            as_of=as_of,
            min_importance=min_importance,
            archived=archived,
            history=history,
        )
        ways: dict[str, Any] = {"profile": profile, "abstain": abstain, "mode": mode, "at": at, "contexts": contexts}
        found = self._answer(query, limit, tuple(tiers), where, **ways)
        if count:
            self._reads.add(hit.id for hit in found.hits if hit.tier == "memory" and hit.context is None)
            self._reads.asked(found)
        return found

    def _answer(
        self,
        query: str,
        limit: int | None,
        tiers: tuple[Tier, ...],
        where: Filter,
        *,
        profile: str | None = None,
        abstain: bool | None = None,
        mode: Literal["auto", "lexical", "hybrid"] = "auto",
        at: str | Path | None = None,
        contexts: Iterable[str] = (),
    ) -> Recall:
        own = self.store.use.ranking(self.scope)
        ways: dict[str, Any] = {"profile": profile, "abstain": abstain, "weights": own.weights if own else None}
        question = question_of(query, where, tiers, limit, self.settings, **ways)
        look, shared = self._look(at), (contexts,) if isinstance(contexts, str) else tuple(contexts)

        def ask() -> Recall:
            meant = self._meaning.of(question.text, mode, self.scope.tenant)
            found = answer(self.store, self.scope, question, meant, look)
            return self.contexts.beside(found, shared, question, meant) if shared else found

        return ask() if self._freshness is None or mode == "lexical" else self._freshness.answer(self.scope, ask)

    @property
    def contexts(self) -> Contexts:
        """What is shared with others, by name: contexts, their members, proposals and memories."""
        from recollect.pipeline.sharing import Contexts

        return Contexts(self.store, self.scope, self.settings, self._clock, self._ring)

    def context(
        self,
        query: str,
        max_tokens: int = 2_000,
        limit: int | None = None,
        tiers: Iterable[Tier] = TIERS,
        **filters: Any,
    ) -> Context:
        """What was recalled as delimited, quoted text of at most `max_tokens`; what fits counts as read."""
        from recollect.inject.context import render

        how = {name: filters.pop(name) for name in ("profile", "abstain", "mode", "at", "contexts") if name in filters}
        found = self._answer(query, limit, tuple(tiers), self.filter(**filters), **how)
        context = render(found, max_tokens, self._count_tokens)
        own = [hit.id for hit in found.hits if hit.tier == "memory" and hit.context is None]
        self._reads.add(memory_id for memory_id in own if memory_id in context.ids)
        self._reads.asked(found)
        self._reads.shown(context.text)
        return context

    def messages(
        self, persona: str, session: str, message: str, *, recent: int = 10, gists: int = 3, details: int = 4
    ) -> list[dict[str, str]]:
        """A chat request in tiers: persona, gists and details of other sessions, recent turns, the new message."""
        from recollect.inject.messages import build

        general = self.recall(message, limit=gists, exclude_session=session, tiers=("gist",), abstain=False).hits
        known = [self.store.gists.get(self.scope, hit.id) for hit in general]
        sharp = self.recall(message, limit=details, exclude_session=session, tiers=("memory", "turn")).hits
        return build(persona, [gist for gist in known if gist], sharp, self.recent(session, recent), message)

    def prompt(self, session: str, message: str, *, recent: int = 10, max_tokens: int = 2_000) -> str:
        """A whole prompt as text: the session's recent turns, what was recalled from others, the new message."""
        from recollect.inject.prompt import build

        context = self.context(message, max_tokens, exclude_session=session)
        return build(self.recent(session, recent), context.text, message)

    def prepare(self, directory: Path | None = None) -> Prepared:
        """Lay ready what hooks will show agents, from what is known now; `directory` is one of this project's."""
        return self._readying.prepare(directory)

    def standing(self, host: str = "claude", directory: Path | None = None) -> Block:
        """What an agent is told before it asks, in its host's form, without what the host loads there by itself."""
        from recollect.pipeline.prepare import standing

        return standing(self.store, self.scope, self.settings, self._clock(), host, directory)

    def put_into(self, file: str | Path) -> Block:
        """Keep the same in a marked block in this file from now on."""
        from recollect.pipeline.prepare import put_into

        return put_into(self.store, self.scope, self.settings, self._clock, Path(file))

    def take_out_of(self, file: str | Path) -> bool:
        """Take that block out again, and every other byte is as it was; whether there was one."""
        from recollect.pipeline.prepare import take_out_of

        return take_out_of(self.settings, Path(file))
