"""The stream that events wait in, the group that reads it, and the dead letters beside it.

In: events as bytes. Out: entries, each given to one reader and taken from the stream's list of pending ones only by an
acknowledgement. Nothing unread or pending is ever trimmed: entries leave below the lowest pending one and below what
every group was given, whatever the length. Needs Redis 6.2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from recollect.bus.message import FIELD, MAX_BYTES
from recollect.errors import NotFound
from recollect.settings import Settings

DEAD_DAYS = 30  # how long a dead letter is kept
GONE_DAYS = 1  # how long a reader that has nothing pending may be silent before its name is dropped
AGAIN_SECONDS = 3_600  # how long a requeued event has to be read
_COUNTED = 200  # unread entries that are counted one by one where Redis does not count them (before 7.0)
_LOOKED_AT = 16  # pending entries looked at in one search for what others left


class Entry(NamedTuple):
    """One event in the stream, and how often it was given to a reader."""

    id: str
    event: bytes
    deliveries: int = 1

    @property
    def added_at(self) -> datetime:
        """When Redis took it."""
        return time_of(self.id)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that could not be stored, and why."""

    id: str
    entry: str
    code: str
    reason: str
    attempts: int
    at: datetime
    event: bytes = field(repr=False)
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Figures:
    """How the stream is. `waiting`: what no reader was given yet; at least that many when it is 200."""

    length: int = 0
    waiting: int = 0
    pending: int = 0
    dead: int = 0
    oldest_seconds: float = 0.0
    readers: int = 0

    @property
    def lag(self) -> int:
        """Events that are not stored yet."""
        return self.waiting + self.pending


class Stream:
    """The stream, group and dead letters that the settings name, over one client."""

    def __init__(self, client: Any, settings: Settings) -> None:
        self.redis = client
        self.name = settings.redis_stream
        self.group = settings.redis_group
        self.dead_name = f"{self.name}:dead"
        self._keep = settings.redis_keep

    def ensure(self) -> None:
        """Make the group where it is missing; it reads from the stream's beginning."""
        from redis.exceptions import ResponseError

        try:
            self.redis.xgroup_create(self.name, self.group, id="0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise

    # -- in and out ------------------------------------------------------------------------------------------------

    def add(self, event: bytes) -> str:
        """Keep an event until it is stored; returns its id."""
        return str(self.redis.xadd(self.name, {FIELD: event}).decode())

    def read(self, reader: str, count: int, wait: float = 0.0) -> list[Entry]:
        """The next events that nobody was given yet; waits so many seconds for the first."""
        wait_ms = int(wait * 1000) or None
        found = self.redis.xreadgroup(self.group, reader, {self.name: ">"}, count=count, block=wait_ms)
        return [_entry(id_, fields) for _, entries in found or () for id_, fields in entries]

    def take_over(self, reader: str, idle: float) -> Entry | None:
        """One event whose reader has been silent for so many seconds; it is this reader's from now on.

        One at a time: an event that ends its reader ends it alone, and the others are not counted as tried.
        """
        # XAUTOCLAIM in two steps: in Redis 6.2 that one gives an entry that somebody deleted as nothing, for ever.
        idle_ms = int(idle * 1000)
        for one in self.redis.xpending_range(self.name, self.group, "-", "+", _LOOKED_AT, idle=idle_ms):
            entry = self.again(reader, _text(one["message_id"]), idle)
            if entry is not None:
                return entry
        return None

    def again(self, reader: str, id_: str, idle: float) -> Entry | None:
        """An event that is pending, given once more, if nobody touched it for so many seconds."""
        found = self.redis.xclaim(self.name, self.group, reader, int(idle * 1000), [id_])
        kept = [one for one in found if one and one[0] is not None]
        if not kept:
            if not self.redis.xrange(self.name, id_, id_):
                self.redis.xack(self.name, self.group, id_)  # somebody deleted it: there is nothing to do any more
            return None
        told = self.redis.xpending_range(self.name, self.group, id_, id_, 1)
        entry = _entry(*kept[0])
        return entry._replace(deliveries=int(told[0]["times_delivered"]) if told else 1)

    def hold(self, reader: str, ids: Sequence[str], idle: float = 0.0) -> None:
        """Say that this reader is still at these; or, with `idle`, that others may take them."""
        if ids:
            self.redis.xclaim(self.name, self.group, reader, 0, list(ids), idle=int(idle * 1000), justid=True)

    def done(self, ids: Sequence[str]) -> None:
        """These are stored."""
        if ids:
            self.redis.xack(self.name, self.group, *ids)

    def leave(self, reader: str) -> None:
        """Take a reader's name out, if nothing is pending under it."""
        for one in self.redis.xinfo_consumers(self.name, self.group):
            if _text(one["name"]) == reader and not one["pending"]:
                self.redis.xgroup_delconsumer(self.name, self.group, reader)

    # -- dead letters ----------------------------------------------------------------------------------------------

    def bury(self, entry: Entry, *, code: str, reason: str, at: datetime) -> None:
        """Put it with the dead letters and out of the way, in one step."""
        letter = {
            FIELD: entry.event[:MAX_BYTES],
            "entry": entry.id,
            "code": code,
            "reason": reason[:500],
            "attempts": entry.deliveries,
            "at": at.isoformat(),
            **({"cut": "1"} if len(entry.event) > MAX_BYTES else {}),
        }
        with self.redis.pipeline(transaction=True) as both:
            both.xadd(self.dead_name, letter)
            both.xack(self.name, self.group, entry.id)
            both.execute()

    def dead(self, limit: int = 100, before: str | None = None) -> list[DeadLetter]:
        """Dead letters, newest first; those older than one of them."""
        last = f"({before}" if before else "+"
        return [_letter(id_, fields) for id_, fields in self.redis.xrevrange(self.dead_name, last, "-", count=limit)]

    def requeue(self, letter_id: str) -> str:
        """Put a dead letter back into the stream; returns its new id there."""
        letter = self.letter(letter_id)
        if letter.cut:
            raise NotFound("of this one only the beginning was kept: it was too large")
        with self.redis.pipeline(transaction=True) as both:
            both.set(self._again_key(letter.event), "1", ex=AGAIN_SECONDS)
            both.xadd(self.name, {FIELD: letter.event})
            both.xdel(self.dead_name, letter.id)
            return _text(both.execute()[1])

    def letter(self, letter_id: str) -> DeadLetter:
        """One dead letter; NotFound when there is none of this id."""
        from redis.exceptions import ResponseError

        try:
            found = self.redis.xrange(self.dead_name, letter_id, letter_id)
        except ResponseError:
            found = []
        if not found:
            raise NotFound(f"no dead letter {letter_id[:60]}", hint="`recollect bus dead` shows them.")
        return _letter(*found[0])

    def drop(self, letter_id: str) -> int:
        """Take one dead letter away for good; returns how many that were."""
        return int(self.redis.xdel(self.dead_name, self.letter(letter_id).id))

    def last_dead(self) -> str | None:
        """The id of the newest dead letter."""
        found = self.redis.xrevrange(self.dead_name, count=1)
        return _text(found[0][0]) if found else None

    def drop_dead(self, until: str) -> int:
        """Take all dead letters up to this one away for good; returns how many. What died later stays."""
        millis, number = _order(until)
        return int(self.redis.xtrim(self.dead_name, minid=f"{millis}-{number + 1}", approximate=False))

    def may_again(self, event: bytes) -> bool:
        """Whether somebody who may requeue did so with this event: then it may be older than others."""
        return bool(self.redis.exists(self._again_key(event)))

    def _again_key(self, event: bytes) -> str:
        return f"{self.name}:again:{hashlib.sha256(event).hexdigest()}"

    def first_use(self, words: Sequence[str], entry: str, seconds: int) -> bool:
        """Whether these words were never seen before, or only in this very entry."""
        key = f"{self.name}:nonce:{hashlib.sha256(chr(0).join(words).encode()).hexdigest()}"
        if self.redis.set(key, entry, nx=True, ex=seconds):
            return True
        return bool(self.redis.get(key) == entry.encode())

    # -- looking after it ------------------------------------------------------------------------------------------

    def trim(self) -> int:
        """Drop entries that every group is done with, when there are more than are to be kept; returns how many."""
        now = self._now()
        self.redis.xtrim(self.dead_name, minid=_id_of(now - timedelta(days=DEAD_DAYS)), approximate=False)
        self._drop_gone()
        if self.redis.xlen(self.name) <= self._keep:
            return 0
        lowest: tuple[int, int] | None = None
        for group in self.redis.xinfo_groups(self.name):
            # In this order: what is given out in between comes after what was given out last, and stays.
            given = _order(_text(group["last-delivered-id"]))
            first = self.redis.xpending(self.name, _text(group["name"]))["min"]
            bound = min(given, _order(_text(first))) if first else given
            lowest = bound if lowest is None else min(lowest, bound)
        if lowest is None:
            return 0
        return int(self.redis.xtrim(self.name, minid=f"{lowest[0]}-{lowest[1]}", approximate=False))

    def _drop_gone(self) -> None:
        for one in self.redis.xinfo_consumers(self.name, self.group):
            if not one["pending"] and one["idle"] > GONE_DAYS * 86_400_000:
                self.redis.xgroup_delconsumer(self.name, self.group, one["name"])

    def figures(self) -> Figures:
        """How many wait, since when, and how many are dead."""
        dead = int(self.redis.xlen(self.dead_name))
        group = self._group()
        if group is None:
            length = int(self.redis.xlen(self.name))
            first = self.redis.xrange(self.name, count=1) if length else []
            return Figures(length, length, 0, dead, self._age([id_ for id_, _ in first]))
        given = _text(group["last-delivered-id"])
        unread = self.redis.xrange(self.name, f"({given}", "+", count=1)
        first = self.redis.xpending(self.name, self.group)["min"]
        ids = [id_ for id_, _ in unread] + ([first] if first else [])
        waiting = self._waiting(group, given) if unread else 0
        length, pending = int(self.redis.xlen(self.name)), int(group["pending"])
        return Figures(length, waiting, pending, dead, self._age(ids), int(group["consumers"]))

    def _group(self) -> Mapping[str, Any] | None:
        from redis.exceptions import ResponseError

        try:
            groups = self.redis.xinfo_groups(self.name)
        except ResponseError:  # no such stream
            return None
        return next((group for group in groups if _text(group["name"]) == self.group), None)

    def _waiting(self, group: Mapping[str, Any], given: str) -> int:
        if group.get("lag") is not None:
            return int(group["lag"])
        return len(self.redis.xrange(self.name, f"({given}", "+", count=_COUNTED))

    def _age(self, ids: Sequence[bytes]) -> float:
        oldest = min((time_of(_text(id_)) for id_ in ids), default=None)
        return 0.0 if oldest is None else max(0.0, (self._now() - oldest).total_seconds())

    def _now(self) -> datetime:
        """What time it is at Redis, whose times the ids tell."""
        seconds, micros = self.redis.time()
        return datetime.fromtimestamp(seconds + micros / 1e6, UTC)


def time_of(id_: str) -> datetime:
    """When Redis took the entry of this id; the end of time for one that somebody made up."""
    try:
        return datetime.fromtimestamp(_order(id_)[0] / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.max.replace(tzinfo=UTC)


def _id_of(moment: datetime) -> str:
    return f"{int(moment.timestamp() * 1000)}-0"


def _order(id_: str) -> tuple[int, int]:
    first, _, second = id_.partition("-")
    return int(first), int(second or 0)


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _entry(id_: bytes, fields: Mapping[bytes, bytes] | None) -> Entry:
    return Entry(_text(id_), (fields or {}).get(FIELD.encode(), b""))


def _letter(id_: bytes, fields: Mapping[bytes, bytes]) -> DeadLetter:
    told = {_text(name): value for name, value in fields.items() if name != FIELD.encode()}
    words = {name: value.decode("utf-8", "replace") for name, value in told.items()}
    attempts = words.get("attempts", "")
    return DeadLetter(
        id=_text(id_),
        entry=words.get("entry", ""),
        code=words.get("code", ""),
        reason=words.get("reason", ""),
        attempts=int(attempts) if attempts.isdigit() else 0,
        at=time_of(_text(id_)),
        event=fields.get(FIELD.encode(), b""),
        cut="cut" in words,
    )
