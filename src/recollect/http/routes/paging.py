"""Cursors: where a list goes on, as opaque text that fits the list it came from and no other.

A cursor names the last row that was given, not a number of rows, so what is added or taken away meanwhile neither
repeats nor hides the others. It opens nothing: whoever makes one up gets another place in their own list, or 422.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol, TypeVar

import orjson

from recollect.clock import from_iso, iso
from recollect.errors import InvalidInput
from recollect.facade import Recollect
from recollect.model import Memory, Scope, Session
from recollect.store.ports.learn import Pattern
from recollect.store.ports.queue import Task

_CHECKED = 12  # bytes of the hash that holds a cursor to its list
_OVERLAP = 32  # rows before a place that are looked at again, for what moved meanwhile


class _Row(Protocol):
    @property
    def id(self) -> str: ...


_R = TypeVar("_R", bound=_Row)


class Place(NamedTuple):
    """Where a list goes on: after the row of this time and id, which was the so-manieth (of that time)."""

    at: str
    id: str
    number: int
    way: str = ""  # how the list was made, where there is more than one way


def write(place: Place, scope: Scope, about: object) -> str:
    """A place in the list of this scope and these filters, as text."""
    told = orjson.dumps([*place])
    return base64.urlsafe_b64encode(_seal(told, scope, about) + told).decode().rstrip("=")


def read(cursor: str | None, scope: Scope, about: object) -> Place | None:
    """Back from that text; InvalidInput when it is not of this list."""
    if cursor is None:
        return None
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        told = raw[_CHECKED:]
        if raw[:_CHECKED] != _seal(told, scope, about):
            raise ValueError
        at, id_, number, way = orjson.loads(told)
        place = Place(str(at), str(id_), int(number), str(way))
        if place.at:
            from_iso(place.at)
        if not 0 <= place.number < 2**53:
            raise ValueError
    except (ValueError, TypeError, binascii.Error):
        raise InvalidInput(
            "this cursor is not one of this list", hint="Send `next_cursor` as it came, with the same filters."
        ) from None
    return place


def _seal(told: bytes, scope: Scope, about: object) -> bytes:
    owner = [scope.tenant, scope.user, scope.project]
    return hashlib.sha256(orjson.dumps([owner, about], default=str) + b"\n" + told).digest()[:_CHECKED]


def memories(
    memory: Recollect, limit: int, place: Place | None, filters: dict[str, Any]
) -> tuple[list[Memory], Place | None]:
    """One page of memories, the newest first, and where it goes on."""
    where = dict(filters)
    skip = 0
    if place is not None:
        at = from_iso(place.at)
        until: datetime | None = where.get("until")
        where["until"] = at if until is None else min(until, at)
        skip = place.number
    found = memory.memories(limit + 1, skip, **where)
    page = found[:limit]
    if len(found) <= limit:
        return page, None
    last = page[-1]
    same = sum(one.occurred_at == last.occurred_at for one in page)
    before = skip if place is not None and from_iso(place.at) == last.occurred_at else 0
    return page, Place(iso(last.occurred_at), last.id, same + before, "" if place is None else place.way)


def sessions(memory: Recollect, limit: int, place: Place | None) -> tuple[list[Session], Place | None]:
    """One page of sessions, the latest first, and where it goes on. One with new events comes first again."""

    def time_of(one: Session) -> str:
        return iso(one.ended_at) if one.ended_at else ""

    def is_after(one: Session, place: Place) -> bool:
        return (time_of(one), _Down(one.id)) < (place.at, _Down(place.id))

    return _after(memory.sessions, limit, place, is_after, time_of)


def tasks(memory: Recollect, limit: int, place: Place | None, state: str | None) -> tuple[list[Task], Place | None]:
    """One page of tasks, the newest first, and where it goes on."""

    def find(limit: int, offset: int) -> list[Task]:
        return memory.store.tasks.find(memory.scope, state=state, limit=limit, offset=offset)

    def is_after(one: Task, place: Place) -> bool:
        return one.id < place.id  # ids are made in order of time

    return _after(find, limit, place, is_after, lambda one: "")


def patterns(
    memory: Recollect, limit: int, place: Place | None, state: str | None
) -> tuple[list[Pattern], Place | None]:
    """One page of patterns, the worthiest first, and where it goes on: after that pattern, or where it was."""
    every = memory.patterns.find(state)
    start = 0
    if place is not None:
        start = next((at + 1 for at, one in enumerate(every) if one.id == place.id), place.number)
    page = every[start : start + limit]
    if start + limit >= len(every) or not page:
        return page, None
    return page, Place("", page[-1].id, start + limit)


def _after(
    find: Callable[[int, int], Sequence[_R]],
    limit: int,
    place: Place | None,
    is_after: Callable[[_R, Place], bool],
    time_of: Callable[[_R], str],
) -> tuple[list[_R], Place | None]:
    """The rows after a place, in their order, sought around where it was."""
    number = 0 if place is None else place.number
    while True:
        start = max(0, number - _OVERLAP)
        found = list(find(limit + 1 + 2 * _OVERLAP, start))
        rest = found if place is None else [one for one in found if is_after(one, place)]
        page = rest[:limit]
        if len(rest) <= limit and len(found) <= limit + 2 * _OVERLAP:
            return page, None
        if page:
            last = page[-1]
            return page, Place(time_of(last), last.id, start + found.index(last) + 1)
        number = start + len(found) + _OVERLAP  # much was added before the place: look further on


class _Down(str):
    """An id, where the greater one comes first."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)
