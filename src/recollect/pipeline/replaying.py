"""Replaying: would memory have told in time what a user's sessions had to find out again?

The sessions of a scope come in, in the order they happened; a `Replay` goes out, and nothing is changed: no read is
counted, nothing is written. For each need, memory is asked as of its moment. What was said, done or kept later is never
used: sessions that had not ended by then are left out whole, a memory counts as it was said and trusted by then, and in
the words it had. What cannot be turned back: how rare a word is, is counted over the store as it is today.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from recollect import promptindex
from recollect.distill.values.sayings import Saying, sayings_of, with_sayings
from recollect.errors import InvalidInput
from recollect.inject.excerpt import excerpt
from recollect.inject.hosts import HOSTS, Block, compiled
from recollect.inject.quote import entry as quoted
from recollect.inject.selection import ranked, select
from recollect.inject.standing import entry
from recollect.learn.cluster import roots_of
from recollect.learn.moments import Moment, costs_of, moment_of
from recollect.learn.needs import Need, needs_of
from recollect.learn.reading import read_session
from recollect.learn.replay import Replay, Replayed, Source, tallied
from recollect.learn.telling import Shown, leads, tells
from recollect.learn.values import Waste
from recollect.model import TIERS, Hit, Memory, Scope, Session
from recollect.pipeline.detecting import Progress, survey
from recollect.recall.answer import answer
from recollect.recall.asking import filter_of, question_of
from recollect.settings import Settings
from recollect.store.port import Store
from recollect.store.ports.memories import Filter
from recollect.text import estimate_tokens, one_line

if TYPE_CHECKING:
    from recollect.recall.meaning import Meant

LIMIT, MOST = 500, 10_000  # needs that are replayed
_HOST = "claude"  # whose form and limits the texts at a start have
_PAGE, _INDEXED = 500, 2_000
_MORE = 20  # hits asked for beyond the limit, for those that are left out
_SAID_CHARS = 200
_NO_VECTORS = "searched by words alone: with the embedding model, what is meant is found too"

Embed = Callable[[str], "Meant"]


def replay(
    store: Store,
    scope: Scope,
    settings: Settings,
    embed: Embed,
    *,
    now: datetime,
    since: datetime | None = None,
    project: str | None = None,
    limit: int = LIMIT,
    progress: Progress = lambda done, total: None,
) -> Replay:
    """What memory would have told, over sessions that began after `since`, of one project or of all."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST:
        raise InvalidInput(f"the limit is a whole number from 1 to {MOST:,}")
    whole = scope.within(None)
    seen = survey(store, whole)
    project = project if project is not None else scope.project
    sessions = {one.id: one for one in seen.sessions}
    wanted = {one.id for one in seen.sessions if _wanted(one, project, since)}
    ended = {one.id: _end(one) for one in seen.sessions}
    needs = [one for one in needs_of(seen.signals, parents=seen.parents, ended=ended) if one.signal.session in wanted]
    kept, left_out = needs[-limit:], max(len(needs) - limit, 0)
    roots = {one: _top(one, seen.parents) for one in sessions} | roots_of(seen.signals, seen.parents)
    work = _Replaying(store, whole, settings, embed, sessions, ended, roots, _Past(store, whole, now, ended))
    by_session: dict[str, list[Need]] = {}
    for need in kept:
        by_session.setdefault(need.signal.session, []).append(need)
    found: list[Replayed] = []
    for number, session in enumerate(sorted(wanted, key=lambda name: (_begin(sessions[name]), name))):
        progress(number, len(wanted))
        found += work.session(sessions[session], by_session.get(session, []))
    progress(len(wanted), len(wanted))
    return work.told(found, left_out)


def _wanted(session: Session, project: str | None, since: datetime | None) -> bool:
    return (project is None or session.project == project) and (since is None or _begin(session) >= since)


def _top(session: str, parents: Mapping[str, str]) -> str:
    """The session that this one worked for, however far above."""
    seen = {session}
    while (above := parents.get(session)) is not None and above not in seen:
        seen.add(above)
        session = above
    return session


def _begin(session: Session) -> datetime:
    return session.started_at or session.ended_at or datetime.min.replace(tzinfo=UTC)


def _end(session: Session) -> datetime:
    return session.ended_at or session.started_at or datetime.max.replace(tzinfo=UTC)


@dataclass(slots=True)
class _Kept:
    """A memory with all the times it was said."""

    memory: Memory
    sayings: list[Saying]


class _Past:
    """The memories of an owner as they were at a moment."""

    def __init__(self, store: Store, scope: Scope, now: datetime, ended: Mapping[str, datetime]) -> None:
        self._store, self._scope, self._ended = store, scope, ended
        every = Filter(now=now, history=True)
        found = (_Kept(one, sayings_of(one)) for one in _pages(store, scope, every))
        self._kept = sorted(found, key=lambda one: (one.sayings[0].at, one.memory.id))
        self._times = [one.sayings[0].at for one in self._kept]
        self._by_id = {one.memory.id: one for one in self._kept}

    def at(self, moment: datetime, project: str | None) -> list[Memory]:
        """What a project could be told then, the best first."""
        before = self._kept[: bisect_left(self._times, moment)]
        mine = (one for one in before if one.memory.project in (None, project))
        return ranked(filter(None, (self._as_of(one, moment) for one in mine)), moment)

    def one(self, memory_id: str, moment: datetime) -> Memory | None:
        """A memory as it was then; None when it was not there."""
        kept = self._by_id.get(memory_id)
        return None if kept is None else self._as_of(kept, moment)

    def _as_of(self, kept: _Kept, moment: datetime) -> Memory | None:
        memory = kept.memory
        ended = self._ended
        said = [one for one in kept.sayings if max(one.at, ended.get(one.session or "", one.at)) < moment]
        if not said or (memory.superseded_at is not None and memory.superseded_at <= moment):
            return None
        past = replace(with_sayings(memory, said), superseded_at=None, superseded_by=None)
        if memory.version > 1:
            old = next(
                (one for one in self._store.memories.versions(self._scope, memory.id) if one.until > moment), None
            )
            if old is not None:
                worded = {"kind": old.kind, "content": old.content, "why": old.why, "tags": old.tags}
                past = replace(past, **worded, importance=old.importance)  # type: ignore[arg-type]
        return past


def _pages(store: Store, scope: Scope, where: Filter) -> Iterator[Memory]:
    offset = 0
    while page := store.memories.find(scope, where, limit=_PAGE, offset=offset):
        yield from page
        offset += len(page)


class _Replaying:
    """One replay: what is asked of memory at each moment, and what all of it takes."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        settings: Settings,
        embed: Embed,
        sessions: Mapping[str, Session],
        ended: Mapping[str, datetime],
        roots: Mapping[str, str],
        past: _Past,
    ) -> None:
        self._store, self._scope, self._settings, self._embed = store, scope, settings, embed
        self._sessions, self._ended, self._roots, self._past = sessions, ended, roots, past
        self._counted = self._tasks = 0
        self._start_tokens = self._prompt_tokens = self._asked_tokens = 0
        self._mode = "lexical"

    def session(self, session: Session, needs: Sequence[Need]) -> list[Replayed]:
        """The needs of one session; what is laid before its agent is counted whether it helps or not."""
        self._counted += 1
        self._tasks += session.parent is None
        best = self._past.at(_begin(session), session.project)
        start = self._start(best, _begin(session)) if self._settings.inject_start else None
        self._start_tokens += start.tokens if start else 0
        digest = self._store.digests.get(self._scope, session.id) if needs else None
        if digest is None:
            return []
        reading = read_session(session, digest, self._store.sessions.history(self._scope, session.id))
        moments = [(need, moment) for need in needs if (moment := moment_of(need, reading)) is not None]
        moments.sort(key=lambda one: (one[1].at, one[0].pattern))
        costs = costs_of(reading, (moment for _, moment in moments))
        index = promptindex.build(
            (one.id, " ".join((one.content, one.why or "", *one.tags)), entry(one, None, alone=True))
            for one in best[:_INDEXED]
        )
        laid = _shown(best, () if start is None else start.ids)
        recalled = _OnPrompts(index, {promptindex.name_of(one.id): one for one in best}, laid)
        if self._settings.inject_prompt == "recall":
            self._prompt_tokens += recalled.all([one.text for one in reading.prompts])
        return [
            self._met(need, moment, cost, laid, recalled) for (need, moment), cost in zip(moments, costs, strict=True)
        ]

    def _start(self, best: Sequence[Memory], moment: datetime) -> Block:
        return compiled(select(best, moment), HOSTS[_HOST], self._settings.inject_max_tokens)

    def _met(self, need: Need, moment: Moment, cost: Waste, laid: Sequence[Shown], recalled: _OnPrompts) -> Replayed:
        """How one need would have been met: by what is laid before the agent, else by asking, else not."""
        ways: list[tuple[str, Iterable[Shown]]] = [("start", laid)]
        if self._settings.inject_prompt == "recall":
            ways.append(("prompt", recalled.before(moment)))
        asked = self._asked(need, moment)
        ways.append(("asked", asked))
        way, by = next(
            ((way, one) for way, every in ways for one in every if tells(need, one, moment.error)), ("missed", None)
        )
        if by is None:
            by = next((one for one in asked if leads(need, one)), None)
            way = "led" if by is not None else "missed"
        signal = need.signal
        return Replayed(
            kind=need.kind,
            pattern=need.pattern,
            statement=need.statement,
            session=signal.session,
            flavor=signal.flavor,
            project=signal.project,
            at=moment.at,
            question=moment.question,
            known_since=need.earlier[-1].at,
            known_in=need.earlier[0].session,
            way=way,
            by=None if by is None else Source(by.id, by.tier, by.session, one_line(by.text, _SAID_CHARS)),
            cost=cost,
            ruled=need.ruled,
        )

    def _asked(self, need: Need, moment: Moment) -> list[Shown]:
        """What recall answers at that moment, to an agent in that project."""
        if not moment.question:
            return []
        scope = self._scope.within(need.signal.project)
        where = filter_of(moment.at, {"as_of": moment.at, "exclude_session": need.signal.session})
        limit = self._settings.recall_limit
        meant = self._embed(moment.question)
        question = question_of(moment.question, where, TIERS, min(limit + _MORE, 1_000), self._settings)
        found = answer(self._store, scope, question, meant)
        self._mode = found.mode
        root = self._roots.get(need.signal.session, need.signal.session)
        fair = [one for hit in found.hits if (one := self._fair(hit, moment, root)) is not None][:limit]
        self._asked_tokens += sum(estimate_tokens(quoted(one, moment.question)) for one in fair)
        return [_of_hit(one, moment.question) for one in fair]

    def _fair(self, hit: Hit, moment: Moment, root: str) -> Hit | None:
        """A hit as it would have been then; None when it was not there, or is of the same task."""
        if hit.tier == "memory":
            memory = self._past.one(hit.id, moment.at)
            if memory is None or self._is_of(memory.session, root):
                return None
            return replace(hit, content=memory.content, why=memory.why, trust=memory.trust, kind=memory.kind)
        over = self._ended.get(hit.session or "")
        known = over is not None and over < moment.at
        return hit if known and not self._is_of(hit.session, root) else None

    def _is_of(self, session: str | None, root: str) -> bool:
        return session is not None and self._roots.get(session, session) == root

    def told(self, found: Sequence[Replayed], left_out: int) -> Replay:
        """The figures."""
        tallies, total = tallied(found)
        newest = sorted(found, key=lambda one: (one.at, one.session, one.pattern), reverse=True)
        notes = [] if self._mode == "hybrid" else [_NO_VECTORS]
        return Replay(
            sessions=self._counted,
            tasks=self._tasks,
            tallies=tallies,
            total=total,
            found=tuple(newest),
            start_tokens=self._start_tokens,
            prompt_tokens=self._prompt_tokens,
            asked_tokens=self._asked_tokens,
            mode=self._mode,
            left_out=left_out,
            notes=tuple(notes),
        )


class _OnPrompts:
    """What the prepared index would have shown on the prompts of a session."""

    def __init__(self, index: bytes, named: Mapping[int, Memory], laid: Sequence[Shown]) -> None:
        self._index, self._named = index, named
        self._laid = {one.id for one in laid}

    def before(self, moment: Moment) -> Iterator[Shown]:
        """On the prompts before a moment, the last first."""
        for prompt in moment.prompts:
            for name, _ in promptindex.search(self._index, prompt):
                memory = self._named[name]
                if memory.id not in self._laid:
                    yield _of_memory(memory)

    def all(self, prompts: Iterable[str]) -> int:
        """How many tokens all of it takes, each entry once."""
        told: set[int] = set()
        tokens = 0
        for prompt in prompts:
            found = promptindex.search(self._index, prompt, without=told)
            text, names = promptindex.framed(
                self._index, [one for one in found if self._named[one[0]].id not in self._laid]
            )
            told.update(names)
            tokens += estimate_tokens(text) if text else 0
        return tokens


def _shown(best: Iterable[Memory], ids: Sequence[str]) -> list[Shown]:
    wanted = set(ids)
    return [_of_memory(one) for one in best if one.id in wanted]


def _of_memory(memory: Memory) -> Shown:
    text = "\n".join(filter(None, (memory.content, memory.why)))
    return Shown(memory.id, "memory", text, memory.session, memory.kind, memory.tags, memory.trust == "user")


def _of_hit(hit: Hit, question: str) -> Shown:
    """A hit as it is shown to whoever asked: of a long text only what answers the question."""
    text = "\n".join(filter(None, (excerpt(hit.content, question), hit.why)))
    from_user = hit.trust == "user" if hit.tier == "memory" else False
    return Shown(hit.id, hit.tier, text, hit.session, hit.kind, hit.tags, from_user)
