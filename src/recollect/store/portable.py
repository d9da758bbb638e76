"""Everything of a scope as JSON Lines, and back: lossless, in a stable order, harmless to do twice.

One object a line: first `recollect` (format), then each session with its events and gist, then the memories with their
versions, then the patterns with what was done to them. Written for any store; it is also how one store is moved into
another.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from recollect.clock import iso, parse_time
from recollect.errors import Conflict, InvalidInput, NotFound, ScopeError
from recollect.model import (
    ORIGINS,
    RELATIONS,
    TRUSTS,
    WAYS,
    Cost,
    Event,
    Evidence,
    Gist,
    Memory,
    MemoryVersion,
    Scope,
    Session,
    check_id,
    parse_kind,
    parse_tags,
    parse_unit,
)
from recollect.store.learnedrecords import Learned, learned, parse_pattern
from recollect.store.port import Store
from recollect.store.ports.memories import Filter
from recollect.store.ports.use import SOURCES, VERDICTS, Feedback
from recollect.store.rows.patterns import is_lost, reworded
from recollect.text import require_text, storable

FORMAT = 1
_PAGE = 200
_EVENTS = 500  # read at a time: a session has no bound
_MEMORIES = 1_000  # written at a time


def export(store: Store, scope: Scope, *, now: datetime) -> Iterator[dict[str, Any]]:
    """Every session, event, gist, memory and pattern the scope sees."""
    yield {"type": "recollect", "format": FORMAT, "exported_at": iso(now)}
    for session in _pages(lambda limit, offset: store.sessions.find(scope, limit=limit, offset=offset)):
        yield from export_session(store, scope, session)
    everything = Filter(now=now, archived=True, history=True)
    for memory in _pages(lambda limit, offset: store.memories.find(scope, everything, limit=limit, offset=offset)):
        yield export_memory(memory, store.memories.versions(scope, memory.id))
    for feedback in _pages(lambda limit, offset: store.use.every(scope, limit=limit, offset=offset)):
        yield {"type": "feedback", **_plain(feedback)}
    for pattern in _pages(lambda limit, offset: store.patterns.find(scope, limit=limit, offset=offset)):
        yield learned(store, scope, pattern)


def export_session(store: Store, scope: Scope, session: Session) -> Iterator[dict[str, Any]]:
    """One session with its events, costs and gist."""
    yield {"type": "session", **_plain(session, skip=("turns", "flavor", "outcome"))}
    for event in _events(store, scope, session.id):
        yield {"type": "event", **_plain(event, skip=("position", "raw", "bodies"))}
    for cost in store.captures.costs(scope, session.id):
        yield {"type": "cost", **_plain(cost)}
    gist = store.gists.get(scope, session.id)
    if gist is not None:
        yield {"type": "gist", **_plain(gist, skip=("project",))}


def export_memory(memory: Memory, versions: Iterable[MemoryVersion] = ()) -> dict[str, Any]:
    """One memory with how it read before."""
    old = [_plain(version, skip=("memory",)) for version in versions]
    return {"type": "memory", **_plain(memory), "versions": old}


def load(store: Store, scope: Scope, records: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Take exported records in; counts what was new, what was known already, and what had been forgotten."""
    return _Loading(store, scope).run(records)


class _Loading:
    """One import: which session is whose project, which were forgotten, and the events that wait to be written."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store = store
        self._scope = scope
        self._counts: Counter[str] = Counter()
        self._projects: dict[str, str | None] = {}
        self._skipped: set[str] = set()
        self._waiting: list[Event] = []
        self._memories: list[tuple[Memory, list[MemoryVersion]]] = []

    def run(self, records: Iterable[Mapping[str, Any]]) -> dict[str, int]:
        for number, record in enumerate(records, 1):
            try:
                self._take(record)
            except (InvalidInput, ScopeError, NotFound) as error:
                raise InvalidInput(f"record {number}: {error}", hint=error.hint) from None
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                raise InvalidInput(f"record {number} is not one of ours: {error!r}") from None
        self._flush()
        self._flush_memories()
        return dict(self._counts)

    def _take(self, record: Mapping[str, Any]) -> None:
        kind = record.get("type")
        if kind == "event":
            self._event(parse_event(record))
            return
        self._flush()
        if kind == "session":
            self._session(record)
        elif kind == "gist":
            self._gist(parse_gist(record))
        elif kind == "cost":
            self._cost(parse_cost(record))
        elif kind == "memory":
            self._memory(*parse_memory(record, self._scope))
        elif kind == "pattern":
            self._pattern(parse_pattern(record))
        elif kind == "feedback":
            self._flush_memories()
            self._feedback(parse_feedback(record))
        elif kind != "recollect":
            raise InvalidInput(f"unknown record type {str(kind)[:40]!r}")
        elif record["format"] != FORMAT:
            raise InvalidInput(f"format {record['format']!r} is not known", hint="Upgrade Recollect to read this.")

    def _session(self, record: Mapping[str, Any]) -> None:
        session = check_id(record["id"], "session")
        project = _optional(record["project"], lambda name: check_id(name, "project")) or self._scope.project
        until = parse_time(record["ended_at"])
        if self._store.keeping.forgotten(self._scope, session) is not None:
            # Whatever its dates say. Events that are really new make the session again by themselves.
            self._skipped.add(session)
            self._counts["forgotten"] += 1
            return
        self._projects[session] = project
        scope = self._scope.within(project)
        known = self._store.sessions.get(scope, session) is not None
        title = _optional(record["title"], lambda text: require_text(text, "title", 500))
        at, meta = parse_time(record["started_at"]), _object(record["meta"])
        facts = parse_facts(session, record)
        self._store.sessions.ensure(scope, session, at=at, until=until, title=title, meta=meta, facts=facts)
        self._counts["known" if known else "sessions"] += 1

    def _event(self, event: Event) -> None:
        if self._waiting and (self._waiting[-1].session != event.session or len(self._waiting) >= _PAGE):
            self._flush()
        self._waiting.append(event)

    def _flush(self) -> None:
        if self._waiting:
            project = self._projects.get(self._waiting[0].session, self._scope.project)
            added = self._store.sessions.append(self._scope.within(project), self._waiting)
            self._counts.update(events=sum(added), known=len(added) - sum(added))
            self._waiting.clear()

    def _cost(self, cost: Cost) -> None:
        if cost.session not in self._skipped:
            scope = self._scope.within(self._projects.get(cost.session, self._scope.project))
            self._store.captures.ingest(scope, Session(cost.session, ""), (), [cost])
            self._counts["costs"] += 1

    def _gist(self, gist: Gist) -> None:
        if gist.session in self._skipped:
            return
        scope = self._scope.within(self._projects.get(gist.session, self._scope.project))
        there = self._store.gists.get(scope, gist.session)
        if there is not None and there.covers >= gist.covers:
            self._counts["known"] += 1
            return
        self._store.gists.put(scope, gist)
        self._counts["gists"] += 1

    def _pattern(self, given: Learned) -> None:
        """A pattern that is not there yet, without what shows sessions that were forgotten here."""
        pattern, found, whole = given.pattern, given.evidence, self._scope.within(None)
        forgotten = self._store.keeping.forgotten
        shown = [one for one in found if forgotten(whole, one.session) is None]
        if len(shown) < len(found) and is_lost(pattern.state, pattern.version, others=bool(shown)):
            self._counts["forgotten"] += 1
            return
        versions = given.versions
        if len(shown) < len(found):
            newest = sorted(shown, key=lambda one: (one.at, one.session), reverse=True)
            pattern, versions = reworded(pattern, versions, newest)
        at = pattern.decided_at or pattern.last_seen
        try:
            if self._store.patterns.get(whole, pattern.id) is not None:
                raise Conflict("it is there")
            self._store.patterns.put(whole, pattern, at=at, was=None, told=versions, evidence=shown)
        except Conflict:
            self._counts["known"] += 1
            return
        for rollout in given.rollouts:
            self._store.patterns.put_rollout(whole, rollout)
        self._counts["patterns"] += 1

    def _feedback(self, feedback: Feedback) -> None:
        """What was said of a memory that is here; of one that is not, it is nobody's."""
        use, of = self._store.use, (feedback.verdict, feedback.session)
        gone = feedback.session is not None and self._store.keeping.forgotten(self._scope, feedback.session) is not None
        if gone or self._store.memories.get(self._scope, feedback.memory) is None:
            self._counts["forgotten"] += 1
        elif of in {(one.verdict, one.session) for one in use.feedback(self._scope, feedback.memory)}:
            self._counts["known"] += 1
        else:
            use.give(self._scope, feedback)
            self._counts["feedback"] += 1

    def _memory(self, memory: Memory, versions: list[MemoryVersion]) -> None:
        self._memories.append((memory, versions))
        if len(self._memories) >= _MEMORIES:
            self._flush_memories()

    def _flush_memories(self) -> None:
        if self._memories:
            added = self._store.memories.add_many(self._scope, self._memories)
            self._counts["known"] += len(added) - sum(added)
            if any(added):
                self._counts["memories"] += sum(added)
            self._memories.clear()


def _pages(find: Any) -> Iterator[Any]:
    offset = 0
    while page := find(_PAGE, offset):
        yield from page
        offset += len(page)


def _events(store: Store, scope: Scope, session: str) -> Iterator[Event]:
    """Everything said in a session, a page at a time."""
    after = -1
    while page := store.sessions.history(scope, session, after=after, first=_EVENTS):
        yield from page
        after = page[-1].position


def _plain(
    value: Session | Event | Cost | Gist | Memory | MemoryVersion | Evidence | Feedback, skip: tuple[str, ...] = ()
) -> dict[str, Any]:
    """A value as JSON can hold it."""
    return {field.name: _json(getattr(value, field.name)) for field in fields(value) if field.name not in skip}


def _json(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, Evidence):
        return _plain(value)
    if isinstance(value, tuple):
        return [_json(item) for item in value]
    return value


def parse_event(record: Mapping[str, Any]) -> Event:
    """An exported event; anything odd about it is InvalidInput."""
    return Event(
        key=_key(record["key"]),
        session=check_id(record["session"], "session"),
        kind=check_id(record["kind"], "kind"),
        role=check_id(record["role"], "role"),
        origin=_one_of(record["origin"], ORIGINS, "origin"),
        text=storable(record["text"]),
        occurred_at=parse_time(record["occurred_at"]),
        recorded_at=parse_time(record["recorded_at"]),
        meta=_object(record["meta"]),
        way=_one_of(record.get("way", "record"), WAYS, "way"),
    )


def parse_facts(session: str, record: Mapping[str, Any]) -> Session:
    """What an exported session was; records of before there were captured sessions say nothing of it."""

    def short(name: str) -> str | None:
        return _optional(record.get(name), lambda text: require_text(text, name, 4_096))  # type: ignore[no-any-return]

    models = record.get("models", [])
    if not isinstance(models, list) or record.get("interactive") not in (None, True, False):
        raise InvalidInput("a session's models are a list, and `interactive` is true, false or null")
    return Session(
        id=session,
        flavor="",
        parent=_optional(record.get("parent"), lambda parent: check_id(parent, "parent")),
        relation=_one_of(record.get("relation", "root"), RELATIONS, "relation"),
        cwd=short("cwd"),
        branch=short("branch"),
        commit=short("commit"),
        models=_texts(models, "models"),
        agent_version=short("agent_version"),
        interactive=record.get("interactive"),
    )


def parse_cost(record: Mapping[str, Any]) -> Cost:
    """An exported cost."""
    usd = record["usd"]
    if usd is not None and (isinstance(usd, bool) or not isinstance(usd, int | float) or not 0 <= usd < 1e9):
        raise InvalidInput("usd must be a number from 0")
    return Cost(
        key=_key(record["key"]),
        session=check_id(record["session"], "session"),
        at=parse_time(record["at"]),
        model=_optional(record["model"], lambda model: check_id(model, "model")),
        **{name: _whole(record[name], name) for name in _BUCKETS},
        usd=None if usd is None else float(usd),
        usd_source=_one_of(record["usd_source"], ("reported", "catalog", "none"), "usd_source"),
    )


_BUCKETS = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output", "reasoning")


def _key(value: object) -> str:
    key = str(value)
    if len(key) != 32 or not all(c in "0123456789abcdef" for c in key):
        raise InvalidInput(f"key {key[:40]!r} is not 32 hex digits")
    return key


def parse_gist(record: Mapping[str, Any]) -> Gist:
    """An exported gist."""
    return Gist(
        session=check_id(record["session"], "session"),
        content=require_text(record["content"], "gist"),
        covers=_whole(record["covers"], "covers"),
        occurred_at=parse_time(record["occurred_at"]),
        created_at=parse_time(record["created_at"]),
        maker=check_id(record["maker"], "maker"),
    )


def parse_feedback(record: Mapping[str, Any]) -> Feedback:
    """An exported verdict on a memory."""
    return Feedback(
        memory=check_id(record["memory"], "memory"),
        verdict=_one_of(record["verdict"], VERDICTS, "verdict"),
        at=parse_time(record["at"]),
        session=_optional(record["session"], lambda session: check_id(session, "session")),
        source=_one_of(record["source"], SOURCES, "source"),
        note=_optional(record["note"], lambda note: require_text(note, "note", 1_000)),
    )


def parse_memory(record: Mapping[str, Any], scope: Scope) -> tuple[Memory, list[MemoryVersion]]:
    """An exported memory and its versions."""
    unknown = record.keys() - {field.name for field in fields(Memory)} - {"type", "versions"}
    if unknown:
        raise InvalidInput(f"unknown field {min(unknown)!r} in a memory")
    values = {name: check(record[name]) for name, check in _MEMORY.items()}
    values |= {name: check(record[name]) for name, check in _LATER.items() if name in record}
    values.setdefault("trust", "user" if values["origin"] == "user" else "quoted")
    if values["trust"] == "user" and values["origin"] != "user" and values.get("confirmed_at") is None:
        raise InvalidInput("only what a user said or confirmed is trusted as the user's")
    if values["kind"] == "preference" and values["trust"] != "user":
        raise InvalidInput("only what a user said or confirmed can be a preference")
    if values["project"] is None:
        values["project"] = scope.project
    versions = [_version(values["id"], old) for old in record.get("versions", ())]
    if len({old.version for old in versions}) < len(versions):
        raise InvalidInput("two versions of a memory have one number")
    return Memory(**values), versions


def _version(memory_id: str, record: Mapping[str, Any]) -> MemoryVersion:
    if record.keys() != _VERSION.keys():
        raise InvalidInput("a version of a memory has " + ", ".join(_VERSION))
    return MemoryVersion(memory=memory_id, **{name: check(record[name]) for name, check in _VERSION.items()})


def _optional(value: Any, check: Callable[[Any], Any]) -> Any:
    return None if value is None else check(value)


def _one_of(value: object, allowed: tuple[str, ...], what: str) -> str:
    if value not in allowed:
        raise InvalidInput(f"unknown {what} {str(value)[:40]!r}")
    return str(value)


def _whole(value: object, what: str, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**53:
        raise InvalidInput(f"{what} must be a whole number from {least}")
    return value


def _object(value: object) -> dict[str, Any]:
    """A JSON object whose texts can be stored."""
    if not isinstance(value, dict):
        raise InvalidInput("meta must be an object")
    json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate anywhere in it raises ValueError
    return value


def _texts(value: object, what: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InvalidInput(f"{what} must be a list")
    return tuple(require_text(item, what, 1_000) for item in value)


def _spans(value: object) -> tuple[Evidence, ...]:
    if not isinstance(value, list):
        raise InvalidInput("evidence must be a list")
    return tuple(
        Evidence(
            session=check_id(span["session"], "session"),
            event=_optional(span["event"], lambda key: check_id(key, "event")),
            start=_optional(span["start"], lambda n: _whole(n, "start")),
            end=_optional(span["end"], lambda n: _whole(n, "end")),
        )
        for span in value
    )


def _id(what: str) -> Callable[[Any], Any]:
    return lambda value: check_id(value, what)


def _maybe(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: _optional(value, check)


_WORDED: dict[str, Callable[[Any], Any]] = {
    "version": lambda value: _whole(value, "version", 1),
    "kind": parse_kind,
    "content": lambda value: require_text(value, "content"),
    "why": _maybe(lambda value: require_text(value, "why", 1_000)),
    "tags": parse_tags,
    "importance": lambda value: parse_unit(value, "importance"),
    "confidence": lambda value: parse_unit(value, "confidence"),
}
_VERSION = {**_WORDED, "until": parse_time}
_MEMORY = {
    **_WORDED,
    "id": _id("id"),
    "project": _maybe(_id("project")),
    "origin": lambda value: _one_of(value, tuple(name for name in ORIGINS if name != "injected"), "origin"),
    "occurred_at": parse_time,
    "recorded_at": parse_time,
    "session": _maybe(_id("session")),
    "evidence": _spans,
    "anchors": lambda value: _texts(value, "anchors"),
    "meta": _object,
    "accessed_at": _maybe(parse_time),
    "access_count": lambda value: _whole(value, "access_count"),
    "superseded_by": _maybe(_id("superseded_by")),
    "superseded_at": _maybe(parse_time),
    "expires_at": _maybe(parse_time),
    "archived_at": _maybe(parse_time),
    "deleted_at": _maybe(parse_time),
}
# Of what was exported before there were these, nothing is said: a memory is then trusted as its origin is.
_LATER: dict[str, Callable[[Any], Any]] = {
    "trust": lambda value: _one_of(value, TRUSTS, "trust"),
    "maker": _id("maker"),
    "slot": _maybe(_id("slot")),
    "confirmed_at": _maybe(parse_time),
}
