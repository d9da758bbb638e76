"""Recollect: the memory a program opens. One method a thing one can do; the stages do the work.

Opened on a data directory it is the embedded store, opened on the address of a PostgreSQL database it is that one;
every call stays inside the scope it was opened with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from recollect import clock as time
from recollect.capture.exchange import Exchange
from recollect.clock import Clock, TimeLike
from recollect.distill.memory import new_memory
from recollect.errors import Conflict, InvalidInput, ModelError, NotAllowed, NotFound, ScopeError
from recollect.model import (
    TIERS,
    Context,
    Event,
    Evidence,
    Gist,
    Memory,
    MemoryVersion,
    Recall,
    Scope,
    Session,
    Tier,
    Turn,
    check_id,
)
from recollect.pipeline.making import Making
from recollect.pipeline.reads import Reads
from recollect.pipeline.readying import Readying, Unshown
from recollect.pipeline.worker import Worker
from recollect.recall.answer import answer
from recollect.recall.asking import check_limit, filter_of, question_of
from recollect.recall.budget import CountTokens
from recollect.recall.meaning import UNSET, Meaning
from recollect.settings import Settings
from recollect.settings import load as load_settings
from recollect.store.port import Filter, Health, Receipt, Store, Upkeep
from recollect.text import estimate_tokens

if TYPE_CHECKING:
    from recollect.distill.digest import Digest
    from recollect.distill.gist import Summarizer
    from recollect.inject.hosts import Block
    from recollect.learn.replay import Replay
    from recollect.learn.values import Detection
    from recollect.models.port import Embedder
    from recollect.pipeline.consolidating import Consolidated, Consolidation
    from recollect.pipeline.coverage import Coverage
    from recollect.pipeline.curating import Patterns
    from recollect.pipeline.distilling import Distilled
    from recollect.pipeline.drain import Drained
    from recollect.pipeline.freshness import Freshness
    from recollect.pipeline.insights import Insights
    from recollect.pipeline.jobs import Ran
    from recollect.pipeline.maintaining import Work
    from recollect.pipeline.prepare import Prepared
    from recollect.pipeline.ranking import Ranking
    from recollect.pipeline.recording import Recorded
    from recollect.pipeline.settling import Settled
    from recollect.pipeline.sharing import Contexts
    from recollect.pipeline.sweep import Report
    from recollect.recall.belief import Belief
    from recollect.recall.related import Related
    from recollect.recall.usefulness import Usage
    from recollect.recall.validity import Grounds, Look


class Recollect:
    """A memory in one scope. Use `Recollect.open`, as a context manager."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        settings: Settings,
        *,
        embedder: Embedder | None = UNSET,
        summarizer: Summarizer | None = None,
        clock: Clock = time.now,
        count_tokens: CountTokens = estimate_tokens,
        background: bool = True,
        hosted: bool = False,
        meaning: Meaning | None = None,
        reads: Reads | None = None,
        readying: Readying | None = None,
        ring: Callable[[], None] | None = None,
        freshness: Freshness | None = None,
        speaks: bool = True,
    ) -> None:
        """`hosted`: one of many memories over a store that another opened and closes, and that lends them what they
        share; agents of this machine are shown nothing of it. Not `speaks`: nothing it writes is the user's own word.
        """
        if scope.by is not None:
            raise ScopeError("a shared context is opened by its members", hint="Open your own; its `contexts` has it.")
        self.store = store
        self.scope = scope
        self.settings = settings
        self._clock = clock
        self._count_tokens = count_tokens
        self._hosted, self._speaks = hosted, speaks
        self._meaning = meaning or Meaning(store, settings, embedder)
        self._freshness = freshness
        self._reads = reads or Reads(store, scope, clock)
        self._worker = Worker(self._background) if background and not hosted else None
        self._ring = ring or (self._worker.ring if self._worker else lambda: None)
        self.directory: Path | None = None  # where it is used: hooks there tell of the project before a session ran
        self._grounds: Grounds | None = None
        shown = Unshown if hosted else Readying
        self._readying = readying or shown(store, scope, settings, clock, lambda: self.directory)
        stopping = self._worker.stopping if self._worker else lambda: False
        self._making = Making(store, scope, settings, clock, summarizer, stopping)

    @classmethod
    def open(
        cls,
        data_dir: str | Path | None = None,
        url: str | None = None,
        scope: Scope | None = None,
        *,
        settings: Settings | None = None,
        **parts: Any,
    ) -> Self:
        """Open the memory in a data directory (default: the one of this user), or at an address.

        `url` is `postgresql://…` or `sqlite:///DIR`; without it the setting `database_url` decides. What belongs to
        this machine (spool, locks, what hooks are shown) stays in the data directory. `parts` may replace the embedder,
        summarizer, clock or token counter, or switch the background worker off. With the `https://…` of a server it is
        a `recollect.client.Client`, which has the methods of `recollect.client.MemoryAPI`.
        """
        from recollect.store.opening import located, open_store

        if (server := url or str(data_dir)).startswith(("http://", "https://")):
            found = import_module("recollect.client.opening")  # by name: it stands around this, not before it
            return found.opened(server, None if url is None else data_dir, scope, settings, parts)  # type: ignore[no-any-return]
        if settings is None:
            settings = load_settings(data_dir=data_dir).settings
        elif data_dir is not None:
            settings = replace(settings, data_dir=Path(data_dir))
        settings = located(settings, url)
        if scope is None:
            owner = Scope(settings.tenant, settings.user) if settings.user else Scope(settings.tenant)
            scope = owner.within(settings.project or None)
        return cls(open_store(settings), scope, settings, **parts)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the background worker, write down the reads, close the store; one that is hosted leaves all that."""
        if self._hosted:
            return
        if self._worker is not None:
            self._worker.stop()
        self._reads.write()
        self._readying.refresh()
        self.store.close()

    # -- capture ---------------------------------------------------------------------------------------------------

    def record(
        self, session: str, role: str, content: str, occurred_at: TimeLike | None = None, *, key: str | None = None
    ) -> str:
        """Keep one message of a conversation; returns its id. The same message given again is the same event.

        Secrets are taken out first, and what stands between `<private>` and `</private>`.
        """
        exchange = {"session": session, "role": role, "content": content, "occurred_at": occurred_at, "key": key}
        return self.record_many([exchange])[0]

    def record_many(self, exchanges: Iterable[Exchange]) -> list[str]:
        """Keep many messages in one transaction: (session, role, content[, occurred_at]) or mappings; returns ids."""
        return list(self.take_in(exchanges).ids)

    def take_in(
        self, exchanges: Iterable[Exchange], titles: Mapping[str, str] | None = None, *, speaks: bool = True
    ) -> Recorded:
        """The same, with what sessions are called, by their ids; returns ids, and how many secrets were taken out.

        Not `speaks`: nobody vouches for these that the user's words are the user's.
        """
        from recollect.pipeline.recording import record

        given = (self.store, self.scope, self.settings, exchanges)
        done = record(*given, now=self._clock(), titles=titles, speaks=speaks and self._speaks)
        if done.ids:
            self._ring()
        return done

    def remember(
        self,
        content: str,
        kind: str = "note",
        why: str | None = None,
        tags: Iterable[str] | None = None,
        importance: float | None = None,
        *,
        confidence: float = 1.0,
        origin: str = "user",
        session: str | None = None,
        evidence: Iterable[Evidence] = (),
        anchors: Iterable[str] = (),
        occurred_at: TimeLike | None = None,
        expires_at: TimeLike | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Memory:
        """Keep one thing worth knowing, and let it take the place of what it says anew or otherwise.

        What this project knows already is not kept twice: that memory is returned. Secrets are taken out first.
        """
        given = {
            "content": content,
            "kind": kind,
            "why": why,
            "tags": tags,
            "importance": importance,
            "confidence": confidence,
            "origin": origin,
            "session": session,
            "evidence": evidence,
            "anchors": anchors,
            "occurred_at": occurred_at,
            "expires_at": expires_at,
            "meta": meta,
        }
        settled, _ = self.keep(given)
        return settled.memory

    def keep(self, given: Mapping[str, Any]) -> tuple[Settled, int]:
        """The same, from the fields that `remember` takes: what became of it, and how many secrets were taken out."""
        from recollect.pipeline.cleaning import without_secrets

        clean, taken = without_secrets(given, self.settings)
        return self.settle(new_memory(clean, project=self.scope.project, now=self._clock())), taken

    def settle(self, memory: Memory, replacing: Sequence[str] = ()) -> Settled:
        """Let a memory take its place among those there are; it ends those it is `replacing`, by id."""
        from recollect.pipeline.settling import settle

        if memory.trust == "user":
            self._require_speech()
        settled = settle(self.store, self.scope, memory, self._clock, replacing=replacing)
        self._changed()
        return settled

    def sweep(
        self,
        sources: Mapping[str, Sequence[str | Path]] | None = None,
        *,
        dry_run: bool = False,
        progress: Callable[[int, int, str], None] = lambda done, total, name: None,
    ) -> Report:
        """Capture every agent's sessions that are new or changed: read, clean, store, digest, keep the raw budget.

        `sources` narrows it to agents, and to directories where given: {"claude": ["~/logs"], "codex": []}.
        """
        from recollect.lock import alone
        from recollect.pipeline.roots import discover
        from recollect.pipeline.sweep import Report, sweep

        with nullcontext(True) if dry_run else alone(self.settings.data_dir / "sweep.lock") as free:
            if not free:
                return Report(busy=True)
            found = discover(self.settings, _places(sources))
            report = sweep(
                self.store, self.scope, self.settings, self._clock, found, dry_run=dry_run, progress=progress
            )
        if not dry_run:
            self._distilled(report)
        return report

    def drain(self) -> Drained:
        """Read the sessions that hooks told of since the last time."""
        from recollect.pipeline.drain import drain

        drained = drain(self.store, self.scope, self.settings, self._clock)
        if drained.records:
            self._distilled(drained.report)
        return drained

    def backfill(
        self,
        agent: str,
        *,
        project: str | None = None,
        session: str | None = None,
        limit: int | None = None,
        dry_run: bool = False,
        progress: Callable[[int, int, str], None] = lambda done, total, name: None,
    ) -> Report:
        """Take an agent's old sessions in, with their original times; what is there already stays as it is."""
        from recollect.pipeline.backfill import backfill

        report = backfill(
            *(self.store, self.scope, self.settings, self._clock, agent),
            project=project,
            session=session,
            limit=limit,
            dry_run=dry_run,
            progress=progress,
        )
        if not dry_run:
            self._distilled(report)
        return report

    def coverage(self, sources: Mapping[str, Sequence[str | Path]] | None = None) -> Coverage:
        """The turns in agents' own files held against the turns stored, session by session."""
        from recollect.capture.spool import Spool
        from recollect.pipeline.coverage import coverage
        from recollect.pipeline.roots import discover

        found = coverage(self.store, self.scope, discover(self.settings, _places(sources)))
        spool = Spool(self.settings.data_dir.absolute())
        found.missed_hooks, found.refused_records = spool.missed(), spool.refused()
        found.waiting_records = len(spool.waiting())
        return found

    def digest(self, session: str) -> Digest | None:
        """What a captured session was: goal, files, commands, tests, errors, cost, outcome."""
        return self.store.digests.get(self.scope, session)

    def distill(self, sessions: Iterable[str] | None = None) -> Distilled:
        """Make memories of these sessions, or of all that are due; what is known already is not made twice."""
        done = self._making.distill_due() if sessions is None else self._making.distill(sessions)
        if done.changed:
            self._readying.renew()
        self._ring()
        return done

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

    # -- recall ----------------------------------------------------------------------------------------------------

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

    def detect(
        self,
        *,
        since: TimeLike | None = None,
        project: str | None = None,
        min_frequency: int = 3,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Detection:
        """What repeats across sessions and agents: candidates for patterns, the most worthwhile first."""
        from recollect.pipeline.detecting import detect

        after = None if since is None else time.parse_time(since)
        named = None if project is None else check_id(project, "project")
        ways: dict[str, Any] = {"since": after, "project": named, "min_frequency": min_frequency, "progress": progress}
        return detect(self.store, self.scope, now=self._clock(), **ways)

    def replay(
        self,
        *,
        since: TimeLike | None = None,
        project: str | None = None,
        limit: int = 500,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Replay:
        """How often memory would have told in time what later sessions found out again; changes nothing."""
        from recollect.pipeline.replaying import replay

        after = None if since is None else time.parse_time(since)
        named = None if project is None else check_id(project, "project")
        ways: dict[str, Any] = {"since": after, "project": named, "limit": limit, "progress": progress}
        embed = partial(self._meaning.of, mode="auto", whose=self.scope.tenant)
        return replay(self.store, self.scope, self.settings, embed, now=self._clock(), **ways)

    @property
    def patterns(self) -> Patterns:
        """What repeats, as a person reviewed it: the catalogue, where its rules were put, and what became of it."""
        from recollect.pipeline.curating import Patterns

        parts = (self.store, self.scope, self.settings, self._clock, self._changed, self._require_speech)
        return Patterns(*parts, hosted=self._hosted)

    def insights(
        self, days: int = 30, *, project: str | None = None, agent: str | None = None, whole: bool = False
    ) -> Insights:
        """What was kept, asked, run and spent in so many days, by day; `whole` tells what the whole store takes."""
        from recollect.pipeline.insights import gather

        what = (self.store, self.scope, self.settings, self._clock())
        return gather(*what, days, project=project, agent=agent, whole=whole)

    @property
    def ranking(self) -> Ranking:
        """The weights hits are ranked by: fitted to what was used, shown, or reset."""
        from recollect.pipeline.ranking import Ranking

        return Ranking(self.store, self.scope, self.settings, self._clock, self._meaning.of)

    @property
    def consolidation(self) -> Consolidation:
        """Near-duplicates, what is stale, relations, roll-ups: plan it, run it, undo a run, look at what came of it."""
        from recollect.pipeline.consolidating import Consolidation

        return Consolidation(self.store, self.scope, self.settings, self._clock, self._changed)

    def consolidate(self, *, dry_run: bool = False, share: float | None = None) -> Consolidated:
        """Merge near-duplicates, put away what is stale, relate memories, roll gists up; `consolidation.undo` can."""
        from recollect.pipeline.consolidating import Consolidated

        self._reads.write()
        return Consolidated(self.consolidation.plan()) if dry_run else self.consolidation.run(share)

    def relations(self, memory_id: str) -> tuple[Related, ...]:
        """What a memory has to do with others, one step far."""
        return self.consolidation.relations(memory_id)

    def _look(self, at: str | Path | None) -> Look | None:
        """A way to check memories against the repository where recall is done."""
        place = at if at is not None else self.directory
        if place is None:
            return None
        if self._grounds is None:
            from recollect.recall.validity import Grounds

            self._grounds = Grounds()
        return self._grounds.look(Path(place), self.settings.projects, self._clock())

    def filter(self, **given: Any) -> Filter:
        """A checked filter from plain values."""
        return filter_of(self._clock(), given)

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

    # -- sessions --------------------------------------------------------------------------------------------------

    def ensure_session(self, session: str, title: str | None = None) -> Session:
        """The session, made if absent; its title set if given, without secrets."""
        if title is not None:
            from recollect.pipeline.cleaning import privacy_of
            from recollect.pipeline.recording import clean_title

            title = clean_title(title, privacy_of(self.settings))
        return self.store.sessions.ensure(self.scope, check_id(session, "session"), at=self._clock(), title=title)

    def sessions(self, limit: int = 100, offset: int = 0) -> list[Session]:
        """Sessions, the latest first."""
        return self.store.sessions.find(self.scope, limit=check_limit(limit), offset=max(0, offset))

    def history(self, session: str) -> list[Event]:
        """All that was said in a session, oldest first."""
        return self.store.sessions.history(self.scope, session)

    def recent(self, session: str, n: int = 10) -> list[Event]:
        """The last n messages of a session, oldest first."""
        return self.store.sessions.history(self.scope, session, last=max(0, n))

    def turn(self, turn_id: str) -> Turn | None:
        """One turn, by its id."""
        return self.store.sessions.turn(self.scope, turn_id)

    def gist(self, session: str) -> Gist | None:
        """The gist of a session, as last made."""
        return self.store.gists.get(self.scope, session)

    def unsummarized(self, session: str) -> int:
        """How many messages the session's gist does not cover yet."""
        return self.store.gists.unsummarized(self.scope, session)

    def summarize(self, session: str) -> Gist | None:
        """Make the session's gist now. None when nothing was said or another process is making it."""
        from recollect.pipeline.gists import summarize

        gist = summarize(self.store, self.scope, session, self._making.summarizer(), self._clock)
        self._ring()
        return gist

    # -- memories --------------------------------------------------------------------------------------------------

    def get(self, memory_id: str) -> Memory:
        """One memory, or NotFound."""
        from recollect.pipeline.changing import found

        return found(self.store, self.scope, memory_id)

    def memories(self, limit: int = 100, offset: int = 0, **filters: Any) -> list[Memory]:
        """Memories, newest first, filtered like `recall`."""
        return self.store.memories.find(
            self.scope, self.filter(**filters), limit=check_limit(limit), offset=max(0, offset)
        )

    def forgotten(self, limit: int = 100, offset: int = 0, **filters: Any) -> list[Memory]:
        """What was softly forgotten and can be brought back, the latest first, filtered like `recall`."""
        where = self.filter(**{"archived": True, "history": True, **filters})
        return self.store.memories.forgotten(self.scope, where, limit=check_limit(limit), offset=max(0, offset))

    def versions(self, memory_id: str) -> list[MemoryVersion]:
        """How a memory read before, oldest first."""
        return self.store.memories.versions(self.scope, memory_id)

    def belief(self, memory_id: str, at: str | Path | None = None) -> Belief:
        """Why a memory is believed: the words it rests on, its history, what says otherwise; deleted ones too."""
        from recollect.pipeline.changing import found
        from recollect.recall.belief import belief

        memory = found(self.store, self.scope, memory_id, deleted=True)
        return replace(belief(self.store, self.scope, memory, self._look(at)), usage=self.usage(memory_id))

    def feedback(
        self,
        memory_id: str,
        verdict: str,
        session: str | None = None,
        *,
        note: str | None = None,
        undo: bool = False,
        source: str = "user",
    ) -> Usage:
        """Say that a memory was helpful, harmful or cited, in a session or at all; `undo` takes that back.

        Said again of the same session it counts once. Being recalled or shown counts for nothing.
        """
        from recollect.pipeline.feedback import give

        who = source if self._speaks else "agent"
        given: dict[str, Any] = {"session": session, "note": note, "undo": undo, "source": who}
        told = give(self.store, self.scope, self.settings, self._clock(), self.get(memory_id).id, verdict, **given)
        self._changed()
        return told

    def usage(self, memory_id: str) -> Usage:
        """How useful a memory proved, what was said of it, and where it was put before an agent lately."""
        from recollect.recall.usefulness import usage

        return usage(self.store, self.scope, memory_id, self._clock(), self.settings.use_half_life_days)

    def update(self, memory_id: str, *, expected_version: int | None = None, **changes: Any) -> Memory:
        """Change content, kind, why, tags, importance, confidence or expires_at; the old wording is kept.

        `archived` puts it away or back in the same step.
        """
        from recollect.pipeline.changing import changed, take_apart

        archived = changes.pop("archived", None)
        memory = self.get(memory_id)
        if memory.trust == "user" and changes.keys() & {"content", "kind", "why"}:
            self._require_speech()  # else anybody's words would come to be trusted as the user's
        if expected_version is not None:
            memory = replace(memory, version=expected_version)
        new = changed(memory, changes, self.settings)
        if archived is not None:
            new = replace(new, archived_at=self._clock() if archived else None)
        kept = self.store.memories.update(self.scope, new, at=self._clock(), note="update")
        if new.content != memory.content:
            take_apart(self.store, self.scope, kept, self._clock())
        self._changed()
        return kept

    def to_project(self, memory_id: str, project: str | None, *, expected_version: int | None = None) -> Memory:
        """Put a memory into another project, or with None into no project, with what it took the place of.

        What holds there is worked out again. Only a memory that was opened outside of any project can do it.
        """
        from recollect.pipeline.rehoming import rehome

        memory = self.get(memory_id)
        if memory.trust == "user":
            self._require_speech()  # agents of the other project are told it as the user's own word
        kept = rehome(self.store, self.scope, memory, project, self._clock, expected_version=expected_version)
        self._changed()
        return kept

    def supersede(self, memory_id: str, content: str, **fields: Any) -> Memory:
        """Say it anew: the old memory stays as history, the new one is what is true now."""
        from recollect.pipeline.changing import said_anew

        old = self.get(memory_id)
        new = said_anew(old, content, fields, self.settings, self._clock())
        return self.settle(new, replacing=(old.id,)).memory

    def confirm(self, memory_id: str, kind: str | None = None, *, expected_version: int | None = None) -> Memory:
        """The user says that a memory is so: from now on it is trusted as their own word, and may be a preference."""
        from recollect.distill.memory import confirmed
        from recollect.pipeline.settling import resettle

        self._require_speech()

        def edit(memory: Memory) -> Memory:
            if expected_version not in (None, memory.version):
                raise Conflict("this memory was changed since you read it", hint="Read it again, then confirm it.")
            return confirmed(memory, self._clock(), kind)

        kept = resettle(self.store, self.scope, self.get(memory_id).id, edit, self._clock, note="confirm")
        self._changed()
        return kept

    def pin(self, memory_id: str, on: bool = True, *, expected_version: int | None = None) -> Memory:
        """A person wants agents of its project told a memory before all else; upkeep never puts it away then."""
        from recollect.pipeline.changing import pinned

        self._require_speech()
        changed = pinned(self.get(memory_id), self._clock(), on=on)
        if expected_version is not None:
            changed = replace(changed, version=expected_version)
        kept = self.store.memories.update(self.scope, changed, at=self._clock(), note="pin" if on else "unpin")
        self._changed()
        return kept

    def archive(self, memory_id: str, archived: bool = True, *, expected_version: int | None = None) -> Memory:
        """Put a memory away (or back): it is found only when asked for."""
        memory = self.get(memory_id)
        version = memory.version if expected_version is None else expected_version
        changed = replace(memory, archived_at=self._clock() if archived else None, version=version)
        kept = self.store.memories.update(self.scope, changed, at=self._clock(), note="archive")
        self._changed()
        return kept

    def forget(
        self,
        memory_id: str | None = None,
        *,
        session: str | None = None,
        everything: bool = False,
        soft: bool = False,
        with_merged: bool = False,
    ) -> Receipt:
        """Take a memory, a session or everything in scope away for good; `soft`: a memory that can be restored.

        Other wordings that were merged into a memory go `with_merged`; else they hold again, and the receipt says so.
        """
        if [memory_id is not None, session is not None, everything].count(True) != 1:
            raise InvalidInput("forget one of: a memory, a session, or everything")
        if with_merged and memory_id is None:
            raise InvalidInput("only a memory has other wordings that were merged into it")
        now = self._clock()
        if everything or session is not None:
            from recollect.pipeline.changing import forget_said

            receipt = forget_said(self.store, self.scope, self.settings, session, now)
            return self._readying.forgotten(receipt, everything=everything)
        assert memory_id is not None
        if not soft:
            gone = self.store.keeping.forget_memory(self.scope, memory_id, at=now, with_merged=with_merged)
            return self._readying.forgotten(gone)
        from recollect.pipeline.changing import forget_softly

        softly = forget_softly(self.store, self.scope, self.get(memory_id), now, with_merged=with_merged)
        self._changed()
        return softly

    def restore(self, memory_id: str) -> Memory:
        """Bring a softly forgotten memory back while its text is still there."""
        memory = self.store.memories.get(self.scope, memory_id)
        if memory is None or memory.deleted_at is None or not memory.content:
            raise NotFound(f"no deleted memory {memory_id[:60]} that can be restored")
        return self.reinstate(memory_id)[0]

    def revoke(self, source: str, *, dry_run: bool = False) -> Receipt:
        """Take away softly, as one step, what came from a session, an origin or a maker; `reinstate` gives it back.

        What others said too stays and is trusted as they are; what the source had superseded holds again.
        """
        from recollect.pipeline.revoking import revoke, would_revoke

        check_id(source, "source")
        if dry_run:
            return Receipt(would_revoke(self.store, self.scope, source, self._clock()).counts, complete=False)
        counts = revoke(self.store, self.scope, source, self._clock).counts
        self._changed()
        return Receipt(counts, complete=False)

    def reinstate(self, name: str) -> tuple[Memory, ...]:
        """Bring back a memory that was superseded, merged, archived or softly forgotten, or all revoked of a source."""
        from recollect.pipeline.revoking import bring_back, reinstate

        if self.store.memories.get(self.scope, name) is not None:
            back: tuple[Memory, ...] = (bring_back(self.store, self.scope, name, self._clock),)
        else:
            back = reinstate(self.store, self.scope, name, self._clock)
        self._changed()
        return back

    # -- keeping ---------------------------------------------------------------------------------------------------

    def embed_pending(
        self, progress: Callable[[int], None] = lambda n: None, stop: Callable[[], bool] = lambda: False
    ) -> int:
        """Make the vectors that wait, now, in this thread; returns how many."""
        from recollect.pipeline.embedding import embed_waiting

        embedder = self.embedder()
        return 0 if embedder is None else embed_waiting(self.store, embedder, stop=stop, progress=progress)

    def reembed(
        self, progress: Callable[[int], None] = lambda n: None, stop: Callable[[], bool] = lambda: False
    ) -> int:
        """Drop every vector and make them again with the configured embedder; can be interrupted and continued."""
        from recollect.pipeline.embedding import embed_waiting

        embedder = self.embedder()
        if embedder is None:
            raise ModelError(self._meaning.missing, hint="Set an embedder first: `recollect model install`.")
        if not self._meaning.fits(embedder) or not self.store.vectors.pending(1):
            self.store.vectors.restart()
        return embed_waiting(self.store, embedder, stop=stop, progress=progress)

    def maintain(self, progress: Callable[[int], None] = lambda n: None) -> Upkeep:
        """Gists that are due, vectors that wait, archive, quarantine, redact, purge. Twice changes nothing more."""
        from recollect.pipeline.maintaining import maintain

        done = maintain(self._work(progress))
        self._readying.changed()
        return done

    def run_jobs(
        self,
        names: Sequence[str] | None = None,
        progress: Callable[[int], None] = lambda n: None,
        *,
        dry_run: bool = False,
        before: Callable[[str], None] = lambda job: None,
    ) -> list[Ran]:
        """Do some of the jobs that `maintain` does, and others by name; with `dry_run`, count what they would do."""
        from recollect.pipeline.maintaining import regular, run_jobs

        wanted = regular(self.settings) if names is None else names
        done = run_jobs(self._work(progress), wanted, dry_run=dry_run, before=before)
        if not dry_run:
            self._readying.changed()
        return done

    def _work(self, progress: Callable[[int], None]) -> Work:
        from recollect.pipeline.maintaining import Work

        parts = (self.store, self.scope, self.settings, self._clock, self._making, self._reads)
        return Work(*parts, partial(self.embed_pending, progress), partial(self.reembed, progress))

    def health(self, deep: bool = False) -> Health:
        """How the store is; `deep` checks every page and every hash."""
        return self.store.keeping.health(deep=deep)

    def export(self) -> Iterator[dict[str, Any]]:
        """Everything in scope, as records for JSON Lines; before the first is given, the audit notes it."""
        from recollect.pipeline.exporting import export

        return export(self.store, self.scope, now=self._clock())

    def load(self, records: Iterable[Mapping[str, Any]]) -> dict[str, int]:
        """Take exported records in; what is there already stays as it is."""
        from recollect.store.portable import load

        counts = load(self.store, self.scope, records)
        self._changed()
        return counts

    def backup(self, target: str | Path) -> int:
        """Write a verified copy of the whole store; returns its size in bytes. It is noted until it is deleted."""
        from recollect.pipeline.backups import back_up

        return back_up(self.store, Path(target), self._clock, keep_days=self.settings.backup_keep_days).bytes

    # -- inside ----------------------------------------------------------------------------------------------------

    def embedder(self) -> Embedder | None:
        """The configured embedder, loaded when first needed; None when there is none."""
        return self._meaning.embedder()

    def _require_speech(self) -> None:
        if not self._speaks:
            raise NotAllowed(
                "this key may not speak for the user", hint="Say another origin, or use a key with `speak`."
            )

    def _distilled(self, report: Report) -> None:
        """After sessions were read: memories of all that are due, whatever their project."""
        if self.settings.distill:
            done = self._making.distill_due(every_project=True)
            report.distilled(done.outcomes, done.failed)
        self._readying.renew()
        self._ring()

    def _changed(self) -> None:
        """Memories changed: there are vectors to make, and what agents are shown is to be said anew."""
        self._readying.changed()
        self._ring()

    def _background(self, stopping: Callable[[], bool]) -> float | None:
        """One round of the worker; returns the seconds after which it should look again, if it should."""
        from recollect.lock import alone
        from recollect.pipeline.embedding import embed_waiting
        from recollect.pipeline.gists import summarize_due

        summarize_due(self.store, self.scope, self._making.summarizer(), self._clock, self.settings.summarize_after)
        if self.settings.distill and self._making.distill_talk().changed:
            self._readying.changed()
        again = self._readying.refresh_rested()
        embedder = self.embedder()
        if embedder is not None and self._meaning.fits(embedder):
            with alone(self.settings.data_dir / "embed.lock") as free:
                if free:
                    embed_waiting(self.store, embedder, stop=stopping)
        return again


def _places(sources: Mapping[str, Sequence[str | Path]] | None) -> dict[str, list[Path]] | None:
    """Where to look, from what a caller gave: absolute directories by agent."""
    if sources is None:
        return None
    return {agent: [Path(place).expanduser().absolute() for place in places] for agent, places in sources.items()}
