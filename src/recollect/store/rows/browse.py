"""Looking through sessions in rows: bounded lists, pages by position, and what is new by row number.

Rows of one owner get their numbers in the order in which they are committed: the embedded store has one writer, and in
PostgreSQL the writers of one owner take turns. So what is new after a row is all that has a greater number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from heapq import merge
from typing import Any

from recollect.clock import from_iso, iso
from recollect.model import NO_PROJECT, Scope
from recollect.store.ports.browse import (
    LOOK,
    MOST_CHOICES,
    Child,
    Choices,
    Extent,
    Listed,
    Mark,
    New,
    Passage,
    SessionFilter,
)
from recollect.store.rows.captures import read_seen
from recollect.store.rows.memories import contained
from recollect.store.rows.sessions import check_event, find_session, read_event, read_session
from recollect.store.rows.tx import Database, Rows, Tx, project_row

_HASH = re.compile(r"[0-9a-f]{64}")
_EVENT = 15  # columns of an event
_WHOLE = 2_000_000  # characters of a text that is not to be cut
_LONGEST_META = 100_000  # characters of what else is known of an event; a page does without more
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class RowBrowse:
    """What a person looks through, in rows."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def sessions(self, scope: Scope, where: SessionFilter, *, limit: int, offset: int = 0) -> list[Listed]:
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            params = {**_filter(tx, rows, where), "limit": limit, "offset": offset}
            found = [(read_session(row[:-1]), row[-1]) for row in tx.run("browse.sessions", params)]
            names = json.dumps([session.id for session, _ in found])
            children = dict(tx.run("browse.child_counts", {**rows.params(), "parents": names}).fetchall())
        return [Listed(session, _digest(told), int(children.get(session.id, 0))) for session, told in found]

    def days(self, scope: Scope, where: SessionFilter) -> dict[str, int]:
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return {}
            return {day: int(count) for day, count in tx.run("browse.days", _filter(tx, rows, where))}

    def choices(self, scope: Scope, *, most: int = MOST_CHOICES) -> Choices:
        """The agents, projects and outcomes of sessions."""
        found: dict[str, dict[str, int]] = {"flavor": {}, "project": {}, "outcome": {}}
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return Choices()
            params = {**rows.params(), "most": most, "none": NO_PROJECT}
            for what, name, count in tx.run("browse.choices", params):
                found[what][name] = int(count)
        ordered = (dict(sorted(found[what].items(), key=lambda one: (-one[1], one[0]))) for what in found)
        return Choices(*ordered)

    def children(self, scope: Scope, parents: Sequence[str], *, limit: int) -> list[Child]:
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None or not parents:
                return []
            params = {**rows.params(), "parents": json.dumps(list(parents)), "limit": limit}
            return [Child(read_session(row[:-1]), row[-1]) for row in tx.run("browse.children", params)]

    def extent(self, scope: Scope, session: str) -> Extent:
        """How long a session is and where it came from. Agents' files are an owner's: in a project none are told."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            found = rows and find_session(tx, rows, session)
            if not rows or not found:
                return Extent()
            kinds: dict[str, int] = {}
            ways: dict[str, int] = {}
            for kind, way, count in tx.run("browse.extent", {"session": found[0]}):
                kinds[kind] = kinds.get(kind, 0) + int(count)
                ways[way] = ways.get(way, 0) + int(count)
            files = tx.run("browse.transcripts", {**rows.params(), "id": session}).fetchall()
        return Extent(sum(kinds.values()), kinds, ways, tuple(read_seen(row) for row in files))

    def passages(self, scope: Scope, session: str, *, after: int, first: int, most: int) -> list[Passage]:
        with self._db.read(scope) as tx:
            found = tx.rows and find_session(tx, tx.rows, session)
            if not found:
                return []
            params = {"session": found[0], "after": after, "until": after + first}  # positions have no holes
            params |= {"most": most, "most_meta": _LONGEST_META}
            return [_passage(session, row) for row in tx.run("browse.passages", params)]

    def matching(
        self, scope: Scope, session: str, words: Sequence[str], *, limit: int, after: int = -1
    ) -> list[Passage]:
        with self._db.read(scope) as tx:
            found = tx.rows and find_session(tx, tx.rows, session)
            if not found or not words:
                return []
            params = {"session": found[0], "after": after, "words": _patterns(words), "limit": limit}
            params |= {"most": _WHOLE, "most_meta": _LONGEST_META}
            return [_passage(session, row) for row in tx.run("browse.matching", params)]

    def media(self, scope: Scope, session: str, body_hash: str) -> str | None:
        with self._db.read(scope) as tx:
            found = tx.rows and find_session(tx, tx.rows, session)
            if not found or not _HASH.fullmatch(body_hash):
                return None
            params = {"session": found[0], "hash": bytes.fromhex(body_hash)}
            row = tx.run("browse.media", params).fetchone()
            return None if row is None else str(row[0])

    # -- what is new -----------------------------------------------------------------------------------------------

    def mark(self, scope: Scope, *, at: datetime) -> Mark:
        with self._db.read(scope) as tx:
            rows = tx.rows
            last = (0, 0) if rows is None else tx.row("browse.mark", {"owner": rows.owner})
        return Mark(int(last[0] or 0), int(last[1] or 0), *[_number(at)] * 3)

    def last(self, scope: Scope, *, since: datetime, limit: int, most: int) -> list[New]:
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            asked = {**rows.params(), "limit": limit, "most": most}
            events = [_event(row) for row in tx.run("browse.last_events", asked).fetchall()[::-1]]
            memories = [_memory(row) for row in tx.run("browse.last_memories", asked).fetchall()[::-1]]
            others = _timed(tx, asked, Mark(0, 0, *[_number(since)] * 3))
        return sorted((new for kind in (events, memories, *others) for new, _ in kind), key=lambda new: new.at)

    def since(self, scope: Scope, mark: Mark, *, limit: int, most: int) -> tuple[list[New], Mark]:
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return [], mark
            asked = {**rows.params(), "limit": limit, "most": most, "look": LOOK}
            events, event = _numbered(tx, "event", mark.event, asked)
            memories, memory = _numbered(tx, "memory", mark.memory, asked)
            timed = _timed(tx, asked, mark)
        found = merge(events, memories, *timed, key=lambda one: one[0].at)  # each kind stays in its own order
        told: list[New] = []
        at = mark
        for new, changed in found:
            at = at._replace(**{name: max(getattr(at, name), value) for name, value in changed.items()})
            told.append(new._replace(mark=at))
        return told, at._replace(event=max(event, at.event), memory=max(memory, at.memory))


_Found = tuple[New, Mapping[str, int]]  # and what it moves a mark to


def _timed(tx: Tx, asked: Mapping[str, object], mark: Mark) -> list[list[_Found]]:
    """What is found by its time: gists, tasks that ended, memories that were shown."""
    return [
        [read(row) for row in tx.run(f"browse.new_{what}", {**asked, "after": _time(after)}).fetchall()[::-1]]
        for what, after, read in (
            ("gists", mark.gist, _gist),
            ("tasks", mark.task, _task),
            ("shown", mark.shown, _shown),
        )
    ]


def _numbered(tx: Tx, thing: str, after: int, asked: Mapping[str, object]) -> tuple[list[_Found], int]:
    """New rows of a table in the order of their numbers, and the number that was looked up to."""
    until = tx.one(f"browse.until_{thing}", {**asked, "after": after})
    if until is None:
        return [], after
    params = {**asked, "after": after, "until": until}
    table, read = ("events", _event) if thing == "event" else ("memories", _memory)
    found = tx.run(f"browse.new_{table}", params).fetchall()[::-1]
    told = [read(row) for row in found]
    if told and len(told) == asked["limit"]:
        more = (tx.one(f"browse.count_{table}", params) or 0) - len(told)
        if more > 0:
            at = told[0][0].at
            told.insert(0, (New("more", f"more-{thing}-{after}", at, thing, "", more, None, {}, Mark()), {}))
    return told, until


def _event(row: tuple[Any, ...]) -> _Found:
    number, key, kind, session, text, chars, at, meta = row
    new = New("event", key.hex(), from_iso(at), kind, text, int(chars), session, json.loads(meta), Mark())
    return new, {"event": int(number)}


def _memory(row: tuple[Any, ...]) -> _Found:
    number, id_, kind, session, text, chars, at = row
    return New("memory", id_, from_iso(at), kind, text, int(chars), session, {}, Mark()), {"memory": int(number)}


def _gist(row: tuple[Any, ...]) -> _Found:
    session, maker, text, chars, made = row
    at = from_iso(made)
    return New("gist", f"{session} {made}", at, maker, text, int(chars), session, {}, Mark()), {"gist": _number(at)}


def _task(row: tuple[Any, ...]) -> _Found:
    id_, kind, subject, state, error, ended = row
    at = from_iso(ended)
    told = New("task", id_, at, kind, error or "", len(error or ""), subject or None, {"state": state}, Mark())
    return told, {"task": _number(at)}


def _shown(row: tuple[Any, ...]) -> _Found:
    session, when, memory, host, event, block, text, chars = row
    at, meta = from_iso(when), {"memory": memory, "event": event, "block": block}
    told = New("shown", f"{session} {when} {memory}", at, host, text, int(chars), session, meta, Mark())
    return told, {"shown": _number(at)}


def _number(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


def _time(number: int) -> str:
    return iso(_EPOCH + number * _MICROSECOND)


def _passage(session: str, row: tuple[Any, ...]) -> Passage:
    chars, turn = int(row[_EVENT]), int(row[_EVENT + 1])
    event = read_event(session, row[:_EVENT])
    if len(event.text) == chars:
        check_event(session, row[0], event.text, row[5])
    return Passage(event, chars, turn)


def _filter(tx: Tx, rows: Rows, where: SessionFilter) -> dict[str, object]:
    nowhere = where.project == NO_PROJECT
    return {
        **rows.params(),
        "flavor": where.flavor,
        "project": None if nowhere else project_row(tx, rows.owner, where.project),
        "nowhere": nowhere,
        "outcome": where.outcome,
        "since": where.since and iso(where.since),
        "until": where.until and iso(where.until),
        "words": _patterns(where.words) if where.words else None,
    }


def _patterns(words: Sequence[str]) -> str:
    return json.dumps([contained(word) for word in words])


def _digest(told: str | None) -> Any:
    from recollect.distill.digest import Digest

    return None if told is None else Digest.from_dict(json.loads(told))
