"""What can be asked of a server, as steps: a request goes out, its answer comes in, a value is returned at the end.

Each method is a generator, so that it is written once for both clients: one sends the requests it yields and waits, the
other awaits. Names, arguments and values are the façade's. What only a memory in this process can do (look into a
directory, take evidence) is refused in words rather than left out in silence.
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from recollect.capture.exchange import Exchange, check
from recollect.client import reading
from recollect.client.reading import read
from recollect.client.wire import Request
from recollect.clock import TimeLike, iso, now, parse_time
from recollect.distill.memory import new_memory
from recollect.errors import InvalidInput, NotFound
from recollect.model import (
    TIERS,
    Context,
    Event,
    Evidence,
    Gist,
    Memory,
    MemoryVersion,
    Recall,
    Session,
    Tier,
    parse_kind,
    parse_tags,
    parse_trust,
)
from recollect.recall.asking import check_limit
from recollect.recall.usefulness import Usage
from recollect.store.ports.keeping import Health, Receipt
from recollect.text import storable

_T = TypeVar("_T")
_M = TypeVar("_M", bound=Callable[..., Any])
Steps = Generator[Request, Any, _T]

_PAGE = 100
_EVENTS, _EVENT_BYTES = 1_000, 900_000  # of one request; a server takes 1 MiB
_FIELDS = ("session", "role", "content", "occurred_at", "key")
_FILTERS = (
    *("kinds", "tags", "min_importance", "since", "until", "as_of", "session", "exclude_session", "archived"),
    *("history", "trusts", "flavors", "pinned"),
)


class Asks:
    """The questions of one user and project; None: those of the key."""

    def __init__(self, user: str | None = None, project: str | None = None) -> None:
        self.user = user
        self.project = project

    # -- capture -------------------------------------------------------------------------------------------------------

    def record(
        self, session: str, role: str, content: str, occurred_at: TimeLike | None = None, *, key: str | None = None
    ) -> Steps[str]:
        """Keep one message of a conversation; returns its id. The same message given again is the same event."""
        exchange = {"session": session, "role": role, "content": content, "occurred_at": occurred_at, "key": key}
        return (yield from self.record_many([exchange]))[0]

    def record_many(self, exchanges: Iterable[Exchange]) -> Steps[list[str]]:
        """Keep many messages: (session, role, content[, occurred_at]) or mappings; returns ids.

        Up to 1,000 of them, of 900 kB together as JSON, are kept in one transaction.
        """
        given = list(exchanges)
        check(given)  # the same errors as in this process, before anything is sent
        ids: list[str] = []
        for batch in _batches(list(map(_event, given))):
            body = {**self._whose(), "events": batch}
            ids += read(reading.ids, (yield Request("POST", ("v1", "events"), body=body, writes=True)))
        return ids

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
    ) -> Steps[Memory]:
        """Keep one thing worth knowing, and let it take the place of what it says anew or otherwise.

        What this project knows already is not kept twice: that memory is returned. Secrets are taken out first.
        """
        _only_here(session=session, evidence=tuple(evidence), anchors=tuple(anchors))
        given: dict[str, Any] = {"content": content, "kind": kind, "why": why, "importance": importance}
        given |= {"tags": None if tags is None else list(parse_tags(tags)), "confidence": confidence, "origin": origin}
        given |= {"occurred_at": occurred_at, "expires_at": expires_at, "meta": meta}
        made = new_memory(given, project=self.project, now=now())  # checked as in this process
        body = {**self._whose(), **_said(given), "content_type": made.kind}
        answer = yield Request("POST", ("ingest",), body=body, writes=True)
        kept = read(lambda told: reading.text_or_none(told, "memory_id"), answer)
        if kept is None:  # the user took it away before: it is not kept again
            return made
        return (yield from self.get(kept))

    # -- recall --------------------------------------------------------------------------------------------------------

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
    ) -> Steps[Recall]:
        """The right few things for a question, each explained (and counted as read); or none, and `abstained`.

        `at`, `contexts` and `count=False` need the memory in this process: they are refused.
        """
        _only_here(at=at, contexts=tuple(contexts), count=not count)
        query = _query(query)
        if not query.strip():
            return Recall(query, (), True, "lexical", "nothing here is close enough to the question")
        where: dict[str, Any] = {"kinds": kinds, "tags": tags, "session": session, "exclude_session": exclude_session}
        where |= {"since": since, "until": until, "as_of": as_of, "min_importance": min_importance}
        where |= {"archived": archived, "history": history, "trusts": trusts, "flavors": flavors, "pinned": pinned}
        body = {**self._whose(project), "query": query, "mode": mode, "filters": _filters(where, tiers)}
        body |= _given(top_k=limit, profile=profile, abstain=abstain)
        return read(reading.recall(query), (yield Request("POST", ("search",), body=body)))

    def context(
        self,
        /,
        query: str,
        max_tokens: int = 2_000,
        limit: int | None = None,
        tiers: Iterable[Tier] = TIERS,
        **filters: Any,
    ) -> Steps[Context]:
        """What was recalled as delimited, quoted text of at most `max_tokens`; what fits counts as read."""
        query = _query(query)
        if not query.strip():
            return Context("", 0, (), "lexical", "nothing was recalled", abstained=True)
        project = filters.pop("project", None)
        unknown = sorted(filters.keys() - set(_FILTERS))
        _only_here(**{name: filters[name] for name in unknown})
        body = {**self._whose(project), "query": query, "max_tokens": max_tokens, **_given(top_k=limit)}
        body["filters"] = _filters({name: filters.get(name) for name in _FILTERS}, tiers)
        return read(reading.context, (yield Request("POST", ("context",), body=body)))

    def messages(
        self, persona: str, session: str, message: str, *, recent: int = 10, gists: int = 3, details: int = 4
    ) -> Steps[list[dict[str, str]]]:
        """A chat request in tiers: persona, gists and details of other sessions, recent turns, the new message."""
        body = {"persona": persona, "session": session, "message": message}
        counts = {"recent": recent, "gists": gists, "details": details}
        answer = yield Request("POST", ("messages",), body={**self._whose(), **body, **counts})
        return read(reading.messages, answer)

    def prompt(self, session: str, message: str, *, recent: int = 10, max_tokens: int = 2_000) -> Steps[str]:
        """A whole prompt as text: the session's recent turns, what was recalled from others, the new message."""
        body = {"session": session, "message": message, "recent": recent, "max_tokens": max_tokens}
        answer = yield Request("POST", ("prompt",), body={**self._whose(), **body})
        return read(lambda told: reading.text(told, "prompt"), answer)

    # -- sessions ------------------------------------------------------------------------------------------------------

    def sessions(self, limit: int = 100, offset: int = 0) -> Steps[list[Session]]:
        """Sessions, the latest first."""
        return (yield from self._listed(("sessions",), {}, reading.page("sessions", reading.session), limit, offset))

    def history(self, session: str) -> Steps[list[Event]]:
        """All that was said in a session, oldest first."""
        events: list[Event] = []
        after: int | None = -1
        while after is not None:
            query = {**self._whose(), "limit": _PAGE, "after": after}
            try:
                answer = yield Request("GET", ("sessions", session, "history"), query)
            except NotFound:
                return []
            more, after = read(reading.history, answer)
            events += more
        return events

    def recent(self, session: str, n: int = 10) -> Steps[list[Event]]:
        """The last n messages of a session, oldest first."""
        if n < 1:
            return []
        if n > _PAGE:
            return (yield from self.history(session))[-n:]
        query = {**self._whose(), "limit": n, "last": True}
        try:
            answer = yield Request("GET", ("sessions", session, "history"), query)
        except NotFound:
            return []
        return read(reading.history, answer)[0]

    def gist(self, session: str) -> Steps[Gist | None]:
        """The gist of a session, as last made."""
        try:
            answer = yield Request("GET", ("sessions", session, "gist"), self._whose())
        except NotFound:
            return None
        return read(reading.gist, answer)

    def summarize(self, session: str) -> Steps[Gist | None]:
        """Make the session's gist now. None when nothing was said or another is making it."""
        answer = yield Request("POST", ("sessions", session, "summarize"), self._whose(), writes=True)
        return read(reading.gist, answer)

    # -- memories ------------------------------------------------------------------------------------------------------

    def get(self, memory_id: str) -> Steps[Memory]:
        """One memory, or NotFound."""
        return read(reading.memory, (yield Request("GET", ("memories", _id(memory_id)), self._whose())))

    def memories(self, /, limit: int = 100, offset: int = 0, **filters: Any) -> Steps[list[Memory]]:
        """Memories, newest first, filtered like `recall`."""
        known = ("session", "since", "until", "min_importance", "archived", "history")
        kinds: list[Any] = [*map(parse_kind, filters.pop("kinds", None) or ())] or [None]
        tags: list[Any] = [*parse_tags(filters.pop("tags", None))] or [None]
        trusts: list[Any] = [*map(parse_trust, filters.pop("trusts", None) or ())] or [None]
        project = filters.pop("project", None)
        _only_here(**{name: filters[name] for name in filters.keys() - set(known)})
        query = {**self._whose(project), **_plain({name: filters.get(name) for name in known})}
        how = reading.page("memories", reading.memory)
        found: dict[str, Memory] = {}
        for kind, tag, trust in ((kind, tag, trust) for kind in kinds for tag in tags for trust in trusts):
            asked = {**query, **_given(kind=kind, tag=tag, trust=trust)}
            some = yield from self._listed(("memories",), asked, how, check_limit(limit) + max(0, offset), 0)
            found |= {one.id: one for one in some}
        newest = list(found.values())
        if len(kinds) * len(tags) * len(trusts) > 1:  # of several lists one
            newest.sort(key=lambda one: (one.occurred_at, one.id), reverse=True)
        return newest[max(0, offset) : max(0, offset) + limit]

    def versions(self, memory_id: str) -> Steps[list[MemoryVersion]]:
        """How a memory read before, oldest first."""
        try:
            answer = yield Request("GET", ("memories", _id(memory_id), "versions"), self._whose())
        except NotFound:
            return []
        return read(reading.versions, answer)

    def update(self, /, memory_id: str, *, expected_version: int | None = None, **changes: Any) -> Steps[Memory]:
        """Change content, kind, why, tags, importance, confidence or expires_at; the old wording is kept."""
        if "tags" in changes:
            changes["tags"] = list(parse_tags(changes["tags"]))
        if "kind" in changes:
            changes["kind"] = parse_kind(changes["kind"])
        if changes.get("expires_at") is not None:
            changes["expires_at"] = iso(parse_time(changes["expires_at"]))
        return (yield from self._changed(memory_id, expected_version, changes))

    def archive(self, memory_id: str, archived: bool = True, *, expected_version: int | None = None) -> Steps[Memory]:
        """Put a memory away (or back): it is found only when asked for."""
        return (yield from self._changed(memory_id, expected_version, {"archived": archived}))

    def confirm(self, memory_id: str, kind: str | None = None, *, expected_version: int | None = None) -> Steps[Memory]:
        """The user says that a memory is so: from now on it is trusted as their own word, and may be a preference."""
        path, said = ("memories", _id(memory_id), "confirm"), {} if kind is None else {"kind": parse_kind(kind)}
        headers = _if_match(expected_version)
        return read(reading.memory, (yield Request("POST", path, self._whose(), said, writes=True, headers=headers)))

    def feedback(
        self,
        memory_id: str,
        verdict: str,
        session: str | None = None,
        *,
        note: str | None = None,
        undo: bool = False,
    ) -> Steps[Usage]:
        """Say that a memory was helpful, harmful or cited, in a session or at all; `undo` takes that back."""
        path, said = ("memories", _id(memory_id), "feedback"), {"session": session, "note": note, "undo": undo or None}
        body = {"verdict": verdict, **{name: value for name, value in said.items() if value is not None}}
        return read(reading.usage, (yield Request("POST", path, self._whose(), body, writes=True)))

    def restore(self, memory_id: str) -> Steps[Memory]:
        """Bring a softly forgotten memory back while its text is still there."""
        path = ("memories", _id(memory_id), "restore")
        return read(reading.memory, (yield Request("POST", path, self._whose(), writes=True)))

    def forget(
        self,
        memory_id: str | None = None,
        *,
        session: str | None = None,
        everything: bool = False,
        soft: bool = False,
    ) -> Steps[Receipt]:
        """Take a memory or a session away for good; `soft`: a memory that can be restored."""
        if [memory_id is not None, session is not None, everything].count(True) != 1:
            raise InvalidInput("forget one of: a memory, a session, or everything")
        _only_here(everything=everything)
        query = {**self._whose(), **({"soft": True} if soft and memory_id is not None else {})}
        path = ("sessions", session) if session is not None else ("memories", _id(memory_id or ""))
        return read(reading.receipt, (yield Request("DELETE", path, query, writes=True)))

    # -- the server ----------------------------------------------------------------------------------------------------

    def whoami(self) -> Steps[dict[str, Any]]:
        """Whose key this is, what it may do, and what is left of the quota."""
        return read(lambda told: reading.mapping({"all": told}, "all"), (yield Request("GET", ("whoami",))))

    def health(self) -> Steps[Health]:
        """How the server's store is, in figures; counted is what this user and project have."""
        health = read(reading.health, (yield Request("GET", ("health",))))
        if not self._whose():
            return health
        counts = read(reading.counts, (yield Request("GET", ("memory", "stats"), self._whose())))
        return replace(health, counts=counts)

    def exporting(self) -> Request:
        """The request for everything in scope."""
        return Request("GET", ("export",), self._whose())

    # -- inside --------------------------------------------------------------------------------------------------------

    def _whose(self, project: str | None = None) -> dict[str, Any]:
        return _given(user_id=self.user, context_id=project or self.project)

    def _changed(self, memory_id: str, version: int | None, changes: Mapping[str, Any]) -> Steps[Memory]:
        path, headers = ("memories", _id(memory_id)), _if_match(version)
        request = Request("PATCH", path, self._whose(), dict(changes), writes=True, headers=headers)
        return read(reading.memory, (yield request))

    def _listed(
        self,
        path: tuple[str, ...],
        query: Mapping[str, Any],
        how: Callable[[Any], tuple[list[_T], str | None]],
        limit: int,
        offset: int,
    ) -> Steps[list[_T]]:
        """So many of a list, after so many."""
        wanted = check_limit(limit) + max(0, offset) if offset else limit
        found: list[_T] = []
        cursor: str | None = None
        while len(found) < wanted:
            asked = {**self._whose(), **query, "limit": min(_PAGE, wanted - len(found)), **_given(cursor=cursor)}
            more, cursor = read(how, (yield Request("GET", path, asked)))
            found += more
            if cursor is None or not more:
                break
        return found[max(0, offset) : wanted]


def named(ask: Callable[..., Any], method: _M) -> _M:
    """A client's method with the name, the words and the arguments of the question it asks, for `help`."""
    told = inspect.signature(ask)
    value = str(told.return_annotation).removeprefix("Steps[").removesuffix("]")
    method.__signature__ = told.replace(return_annotation=value)  # type: ignore[attr-defined]
    method.__name__, method.__doc__ = ask.__name__, ask.__doc__
    return method


# -- what is sent ------------------------------------------------------------------------------------------------------


def _given(**values: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _if_match(version: int | None) -> dict[str, str]:
    return {} if version is None else {"If-Match": f'"{version}"'}


def _only_here(**values: Any) -> None:
    for name, value in values.items():
        if value not in (None, False, (), "auto"):
            raise InvalidInput(f"{name!r} cannot be asked of a server", hint="It needs the memory in this process.")


def _id(memory_id: str) -> str:
    """An id as it may stand in a path; what is none is the id of nothing."""
    try:
        return str(uuid.UUID(memory_id))
    except (ValueError, AttributeError, TypeError):
        raise NotFound(f"no memory {str(memory_id)[:60]}") from None


def _query(query: object) -> str:
    if not isinstance(query, str):
        raise InvalidInput(f"a query is text, not {type(query).__name__}")
    return storable(query)


def _event(exchange: Exchange) -> dict[str, Any]:
    named = dict(exchange) if isinstance(exchange, Mapping) else dict(zip(_FIELDS, exchange, strict=False))
    named["content"] = storable(named["content"])
    if named.get("key") is None and named.get("occurred_at") is None:
        named["key"] = uuid.uuid4().hex  # so that it is the same message, however often it is sent
    return _plain({name: named.get(name) for name in _FIELDS})


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as JSON or an address has them: without those that are None, times as text."""
    given = _given(**values)
    times = {name: iso(parse_time(given[name])) for name in _TIMES if name in given}
    return {**given, **times}


_TIMES = ("occurred_at", "expires_at", "since", "until", "as_of")


def _said(given: Mapping[str, Any]) -> dict[str, Any]:
    """What is to be remembered, in the server's words."""
    body = _plain({name: value for name, value in given.items() if name not in ("kind", "meta")})
    return {**body, "metadata": dict(given["meta"])} if given["meta"] else body


def _filters(where: Mapping[str, Any], tiers: Iterable[Tier]) -> dict[str, Any]:
    """What narrows an answer; what narrows nothing is left out, so that an older server takes it too."""
    filters = _plain(where)
    for name, parse in _LISTS.items():
        if name in filters:
            filters[name] = list(parse(filters[name]))
    filters = {name: value for name, value in filters.items() if value not in ([], False)}
    return {**filters, "tiers": list(dict.fromkeys(tiers))}


_LISTS: dict[str, Callable[[Any], Iterable[str]]] = {
    "kinds": partial(map, parse_kind),
    "tags": parse_tags,
    "trusts": partial(map, parse_trust),
    "flavors": list,
}


def _batches(events: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The events in requests that a server takes."""
    import orjson

    batch: list[dict[str, Any]] = []
    size = 0
    for event in events:
        takes = 1_000 + len(orjson.dumps(event["content"]))
        if batch and (len(batch) >= _EVENTS or size + takes > _EVENT_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(event)
        size += takes
    if batch:
        yield batch
