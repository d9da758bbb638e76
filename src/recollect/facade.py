"""Recollect: the memory a program opens. One method a thing one can do; the stages do the work.

Opened on a data directory it is the embedded store; every call stays inside the scope it was opened with.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from recollect import clock as time
from recollect.capture.exchange import Exchange, events_of
from recollect.clock import Clock, TimeLike, parse_time
from recollect.distill.importance import importance_of, tags_of
from recollect.errors import InvalidInput, ModelError, NotFound
from recollect.ids import uuid7
from recollect.model import (
    ORIGINS,
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
    parse_kind,
    parse_tags,
    parse_unit,
)
from recollect.pipeline.worker import Worker
from recollect.recall.answer import Question, answer
from recollect.recall.budget import CountTokens
from recollect.recall.profile import Profile, profile_named
from recollect.settings import Settings
from recollect.settings import load as load_settings
from recollect.store.port import Ages, Filter, Health, Receipt, Store, Upkeep
from recollect.text import estimate_tokens, require_text, storable

if TYPE_CHECKING:
    from recollect.distill.gist import Summarizer
    from recollect.models.port import Embedder
    from recollect.store.port import Matrix

MAX_LIMIT = 1_000
_FLUSH_READS = 64
_QUERY_CACHE = 256
_UNSET: Any = object()


class Recollect:
    """A memory in one scope. Use `Recollect.open`, as a context manager."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        settings: Settings,
        *,
        embedder: Embedder | None = _UNSET,
        summarizer: Summarizer | None = None,
        clock: Clock = time.now,
        count_tokens: CountTokens = estimate_tokens,
        background: bool = True,
    ) -> None:
        self.store = store
        self.scope = scope
        self.settings = settings
        self._clock = clock
        self._count_tokens = count_tokens
        self._summarizer = summarizer
        self._embedder = embedder
        self._no_embedder: str | None = None
        self._reads: Counter[str] = Counter()
        self._reads_lock = threading.Lock()
        self._asked: dict[str, Matrix] = {}
        self._worker = Worker(self._background) if background else None

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
        """Open the memory in a data directory (default: the one of this user).

        `parts` may replace the embedder, summarizer, clock or token counter, or switch the background worker off.
        """
        if settings is None:
            settings = load_settings(data_dir=data_dir).settings
        elif data_dir is not None:
            settings = replace(settings, data_dir=Path(data_dir))
        if url is not None and not url.startswith("sqlite:///"):
            raise InvalidInput(
                f"{url.split(':', 1)[0][:20]!r} is not a store", hint="Give a data_dir, or sqlite:///DIR."
            )
        if url is not None:
            settings = replace(settings, data_dir=Path("/" + url.removeprefix("sqlite:///").lstrip("/")))
        if scope is None:
            owner = Scope(settings.tenant, settings.user) if settings.user else Scope(settings.tenant)
            scope = owner.within(settings.project or None)
        from recollect.store.sqlite.store import SqliteStore

        return cls(SqliteStore(settings.data_dir), scope, settings, **parts)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the background worker, write down the reads, close the store."""
        if self._worker is not None:
            self._worker.stop()
        self._flush_reads()
        self.store.close()

    # -- capture ---------------------------------------------------------------------------------------------------

    def record(
        self, session: str, role: str, content: str, occurred_at: TimeLike | None = None, *, key: str | None = None
    ) -> str:
        """Keep one message of a conversation; returns its id. The same message given again is the same event."""
        exchange = {"session": session, "role": role, "content": content, "occurred_at": occurred_at, "key": key}
        return self.record_many([exchange])[0]

    def record_many(self, exchanges: Iterable[Exchange]) -> list[str]:
        """Keep many messages in one transaction: (session, role, content[, occurred_at]) or mappings; returns ids."""
        events = events_of(exchanges, now=self._clock())
        if events:
            self.store.sessions.append(self.scope, events)
            self._ring()
        return [event.id for event in events]

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
        """Keep one thing worth knowing. What this project knows already is not kept twice: that memory is returned."""
        now, kind = self._clock(), parse_kind(kind)
        if origin not in ORIGINS or origin == "injected":
            raise InvalidInput(f"unknown origin {str(origin)[:40]!r}")
        if kind == "preference" and origin != "user":
            raise InvalidInput(
                "only what a user said can be a preference", hint="Keep it as a note; the user can confirm it later."
            )
        content = require_text(content, "content")
        memory = Memory(
            id=uuid7(),
            kind=kind,
            content=content,
            project=self.scope.project,
            origin=origin,
            occurred_at=now if occurred_at is None else parse_time(occurred_at),
            recorded_at=now,
            why=None if why is None else require_text(why, "why", 1_000),
            tags=tags_of(content) if tags is None else parse_tags(tags),
            importance=importance_of(kind, content) if importance is None else parse_unit(importance, "importance"),
            confidence=parse_unit(confidence, "confidence"),
            session=None if session is None else check_id(session, "session"),
            evidence=tuple(evidence),
            anchors=tuple(anchors),
            meta=dict(meta or {}),
            expires_at=None if expires_at is None else parse_time(expires_at),
        )
        kept, _ = self.store.memories.add(self.scope, memory)
        self._ring()
        return kept

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
    ) -> Recall:
        """The right few things for a question, each explained (and counted as read); or none, and `abstained`."""
        where = self.filter(
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
        found = self._answer(query, limit, tuple(tiers), where, profile=profile, abstain=abstain, mode=mode)
        self._count_reads([hit.id for hit in found.hits if hit.tier == "memory"])
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
    ) -> Recall:
        question = Question(
            text=_query(query),
            tiers=_tiers(tiers, where),
            where=where,
            limit=_limit(self.settings.recall_limit if limit is None else limit),
            profile=self._profile(profile, tiers),
            abstain=self.settings.abstain if abstain is None else abstain,
        )
        vector, note = self._vector(question.text, mode)
        return answer(self.store, self.scope, question, vector, note)

    def filter(self, **given: Any) -> Filter:
        """A checked filter from plain values; times in any form `parse_time` takes."""
        for name in ("since", "until", "as_of"):
            if given.get(name) is not None:
                given[name] = parse_time(given[name])
        if given.get("min_importance") is not None:
            given["min_importance"] = parse_unit(given["min_importance"], "min_importance")
        for name in ("project", "session", "exclude_session"):
            if given.get(name) is not None:
                given[name] = check_id(given[name], name)
        given["kinds"] = tuple(map(parse_kind, given.get("kinds") or ()))
        given["tags"] = parse_tags(given.get("tags"))
        return Filter(now=self._clock(), **given)

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

        how = {name: filters.pop(name) for name in ("profile", "abstain", "mode") if name in filters}
        found = self._answer(query, limit, tuple(tiers), self.filter(**filters), **how)
        context = render(found, max_tokens, self._count_tokens)
        self._count_reads([hit.id for hit in found.hits if hit.tier == "memory" and hit.id in context.ids])
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

    # -- sessions --------------------------------------------------------------------------------------------------

    def ensure_session(self, session: str, title: str | None = None) -> Session:
        """The session, made if absent; its title set if given."""
        title = None if title is None else require_text(title, "title", 500)
        return self.store.sessions.ensure(self.scope, check_id(session, "session"), at=self._clock(), title=title)

    def sessions(self, limit: int = 100, offset: int = 0) -> list[Session]:
        """Sessions, the latest first."""
        return self.store.sessions.find(self.scope, limit=_limit(limit), offset=max(0, offset))

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

        gist = summarize(self.store, self.scope, session, self._maker(), self._clock)
        self._ring()
        return gist

    # -- memories --------------------------------------------------------------------------------------------------

    def get(self, memory_id: str) -> Memory:
        """One memory, or NotFound."""
        memory = self.store.memories.get(self.scope, memory_id)
        if memory is None or memory.deleted_at is not None:
            raise NotFound(f"no memory {memory_id[:60]}", hint="`recollect list` shows ids.")
        return memory

    def memories(self, limit: int = 100, offset: int = 0, **filters: Any) -> list[Memory]:
        """Memories, newest first, filtered like `recall`."""
        return self.store.memories.find(self.scope, self.filter(**filters), limit=_limit(limit), offset=max(0, offset))

    def versions(self, memory_id: str) -> list[MemoryVersion]:
        """How a memory read before, oldest first."""
        return self.store.memories.versions(self.scope, memory_id)

    def update(self, memory_id: str, *, expected_version: int | None = None, **changes: Any) -> Memory:
        """Change content, kind, why, tags, importance, confidence or expires_at; the old wording is kept."""
        memory = self.get(memory_id)
        if expected_version is not None:
            memory = replace(memory, version=expected_version)
        changed = replace(memory, **_checked(changes))
        kept = self.store.memories.update(self.scope, changed, at=self._clock(), note="update")
        self._ring()
        return kept

    def supersede(self, memory_id: str, content: str, **fields: Any) -> Memory:
        """Say it anew: the old memory stays as history, the new one is what is true now."""
        old = self.get(memory_id)
        fields = {"kind": old.kind, "tags": old.tags, "importance": old.importance, **fields}
        new = self.remember(content, **fields)
        if new.id == old.id:
            return new
        ended = replace(old, superseded_by=new.id, superseded_at=max(new.occurred_at, old.occurred_at))
        self.store.memories.update(self.scope, ended, at=self._clock(), note="supersede")
        return new

    def archive(self, memory_id: str, archived: bool = True) -> Memory:
        """Put a memory away (or back): it is found only when asked for."""
        changed = replace(self.get(memory_id), archived_at=self._clock() if archived else None)
        return self.store.memories.update(self.scope, changed, at=self._clock(), note="archive")

    def forget(
        self,
        memory_id: str | None = None,
        *,
        session: str | None = None,
        everything: bool = False,
        soft: bool = False,
    ) -> Receipt:
        """Take a memory, a session or everything in scope away for good; `soft`: a memory that can be restored."""
        if [memory_id is not None, session is not None, everything].count(True) != 1:
            raise InvalidInput("forget one of: a memory, a session, or everything")
        now = self._clock()
        if everything:
            return self.store.keeping.forget_all(self.scope, at=now)
        if session is not None:
            return self.store.keeping.forget_session(self.scope, session, at=now)
        assert memory_id is not None
        if not soft:
            return self.store.keeping.forget_memory(self.scope, memory_id, at=now)
        self.store.memories.update(self.scope, replace(self.get(memory_id), deleted_at=now), at=now, note="delete")
        return Receipt({"memories": 1}, complete=False)

    def restore(self, memory_id: str) -> Memory:
        """Bring a softly forgotten memory back while its text is still there."""
        memory = self.store.memories.get(self.scope, memory_id)
        if memory is None or memory.deleted_at is None or not memory.content:
            raise NotFound(f"no deleted memory {memory_id[:60]} that can be restored")
        kept = self.store.memories.update(
            self.scope, replace(memory, deleted_at=None), at=self._clock(), note="restore"
        )
        self._ring()
        return kept

    # -- keeping ---------------------------------------------------------------------------------------------------

    def embed_pending(self, progress: Callable[[int], None] = lambda n: None) -> int:
        """Make the vectors that wait, now, in this thread; returns how many."""
        from recollect.pipeline.embedding import embed_waiting

        embedder = self.embedder()
        return 0 if embedder is None else embed_waiting(self.store, embedder, progress=progress)

    def reembed(self, progress: Callable[[int], None] = lambda n: None) -> int:
        """Drop every vector and make them again with the configured embedder; can be interrupted and continued."""
        from recollect.pipeline.embedding import embed_waiting

        embedder = self.embedder()
        if embedder is None:
            raise ModelError(self._no_embedder, hint="Set an embedder first: `recollect model install`.")
        if self.store.vectors.model() not in (None, (embedder.name, embedder.dim)) or not self.store.vectors.pending():
            self.store.vectors.restart()
        return embed_waiting(self.store, embedder, progress=progress)

    def maintain(self, progress: Callable[[int], None] = lambda n: None) -> Upkeep:
        """Gists that are due, vectors that wait, archive, redact, purge. Doing it twice changes nothing more."""
        from recollect.pipeline.gists import summarize_due

        summarize_due(self.store, self.scope, self._maker(), self._clock, self.settings.summarize_after)
        self._flush_reads()
        now = self._clock()
        ages = Ages(
            archive_before=now - timedelta(days=self.settings.archive_after_days),
            archive_reads=self.settings.archive_reads_below,
            redact_before=now - timedelta(days=self.settings.redact_after_days),
            purge_before=now - timedelta(days=self.settings.purge_after_days),
        )
        upkeep = self.store.keeping.upkeep(now=now, ages=ages)
        self.embed_pending(progress)
        return upkeep

    def health(self, deep: bool = False) -> Health:
        """How the store is; `deep` checks every page and every hash."""
        return self.store.keeping.health(deep=deep)

    def export(self) -> Iterator[dict[str, Any]]:
        """Everything in scope, as records for JSON Lines."""
        from recollect.store.portable import export

        return export(self.store, self.scope, now=self._clock())

    def load(self, records: Iterable[Mapping[str, Any]]) -> dict[str, int]:
        """Take exported records in; what is there already stays as it is."""
        from recollect.store.portable import load

        counts = load(self.store, self.scope, records)
        self._ring()
        return counts

    def backup(self, target: str | Path) -> int:
        """Write a verified copy of the whole store; returns its size in bytes."""
        return self.store.backup(Path(target))

    # -- inside ----------------------------------------------------------------------------------------------------

    def embedder(self) -> Embedder | None:
        """The configured embedder, loaded when first needed; None (and why) when there is none."""
        if self._embedder is _UNSET:
            from recollect.models.choose import choose

            self._embedder, self._no_embedder = choose(self.settings)
        elif self._embedder is None and self._no_embedder is None:
            self._no_embedder = "no embedder"
        return self._embedder

    def _vector(self, query: str, mode: str) -> tuple[Matrix | None, str | None]:
        """The embedded question, or None and why the search is by words alone."""
        if mode == "lexical":
            return None, None
        embedder, model = self.embedder(), self.store.vectors.model()
        if embedder is None:
            return None, self._no_embedder
        if model is None:
            return None, "nothing is embedded yet"
        if model != (embedder.name, embedder.dim):
            return None, f"the vectors here are of {model[0]} ({model[1]}): run `recollect reembed`"
        try:
            if query not in self._asked:
                from recollect.models.port import check_vectors

                while len(self._asked) >= _QUERY_CACHE:
                    self._asked.pop(next(iter(self._asked)), None)
                self._asked[query] = check_vectors(embedder.embed([query]), 1, embedder.dim)[0]
            return self._asked[query], None
        except ModelError as error:
            return None, f"words only, the embedder failed: {error}"

    def _profile(self, name: str | None, tiers: Iterable[Tier]) -> Profile:
        chosen = profile_named(name or ("balanced" if "memory" in tuple(tiers) else "relevance"))
        if self.settings.decay not in ("hyperbolic", "exponential"):
            raise InvalidInput("decay must be hyperbolic or exponential")
        decay: Literal["hyperbolic", "exponential"] = (
            "exponential" if self.settings.decay == "exponential" else "hyperbolic"
        )
        return replace(chosen, decay=decay, decay_factor=self.settings.decay_factor)

    def _maker(self) -> Summarizer:
        if self._summarizer is None:
            from recollect.distill.gist import ExtractiveSummarizer

            self._summarizer = ExtractiveSummarizer()
        return self._summarizer

    def _ring(self) -> None:
        if self._worker is not None:
            self._worker.ring()

    def _background(self, stopping: Callable[[], bool]) -> None:
        """One round of the worker: gists that are due, then vectors, if no other process is at it."""
        from recollect.pipeline.embedding import alone, embed_waiting
        from recollect.pipeline.gists import summarize_due

        summarize_due(self.store, self.scope, self._maker(), self._clock, self.settings.summarize_after)
        embedder = self.embedder()
        if embedder is not None and self.store.vectors.model() in (None, (embedder.name, embedder.dim)):
            with alone(self.settings.data_dir / "embed.lock") as free:
                if free:
                    embed_waiting(self.store, embedder, stop=stopping)

    def _count_reads(self, ids: list[str]) -> None:
        with self._reads_lock:
            self._reads.update(ids)
            full = len(self._reads) >= _FLUSH_READS
        if full:
            self._flush_reads()

    def _flush_reads(self) -> None:
        with self._reads_lock:
            reads, self._reads = self._reads, Counter()
        if reads:
            self.store.memories.touch(self.scope, reads, at=self._clock())


def _query(query: object) -> str:
    if not isinstance(query, str):
        raise InvalidInput(f"a query is text, not {type(query).__name__}")
    return storable(query)


def _limit(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(f"limit must be a whole number from 1 to {MAX_LIMIT}")
    return limit


def _tiers(tiers: Iterable[Tier], where: Filter) -> tuple[Tier, ...]:
    chosen = tuple(dict.fromkeys(tiers))
    if not chosen or set(chosen) - set(TIERS):
        raise InvalidInput("tiers are memory, gist and turn")
    if where.kinds or where.tags or where.min_importance is not None:
        return tuple(tier for tier in chosen if tier == "memory")  # only memories have these
    return chosen


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "content": lambda value: require_text(value, "content"),
    "kind": parse_kind,
    "why": lambda value: None if value is None else require_text(value, "why", 1_000),
    "tags": parse_tags,
    "importance": lambda value: parse_unit(value, "importance"),
    "confidence": lambda value: parse_unit(value, "confidence"),
    "expires_at": lambda value: None if value is None else parse_time(value),
}


def _checked(changes: Mapping[str, Any]) -> dict[str, Any]:
    unknown = sorted(changes.keys() - _CHECKS.keys())
    if unknown:
        raise InvalidInput(f"cannot change {unknown[0]!r}", hint="Can change: " + ", ".join(_CHECKS))
    return {name: _CHECKS[name](value) for name, value in changes.items()}
