"""Recorded exchanges become events, cleaned. What is given twice is one event.

An exchange is the same as another when its caller says so (`key`), or when session, role, text and time are the same;
of several such in one batch each counts. Without a key or a time it happened now, and is always new. The text that
counts is the cleaned one: two that differ only in a secret are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from recollect.clock import iso, parse_time
from recollect.errors import InvalidInput
from recollect.ids import stable_key, uuid7
from recollect.model import ROLES, Event, check_id
from recollect.text import storable

if TYPE_CHECKING:
    from recollect.capture.privacy import Privacy

MAX_CHARS = 10_000_000
_FIELDS = ("session", "role", "content", "occurred_at", "key")

Exchange = Mapping[str, Any] | Sequence[Any]


def events_of(exchanges: Iterable[Exchange], *, now: datetime, privacy: Privacy, speaks: bool = True) -> list[Event]:
    """Checked events, in the order given. Not `speaks`: nobody vouches that the user's words are the user's."""
    seen: Counter[tuple[str, ...]] = Counter()
    events = [_event(_checked(_named(exchange)), now, privacy, seen) for exchange in exchanges]
    return events if speaks else [replace(one, origin="import") if one.origin == "user" else one for one in events]


def check(exchanges: Iterable[Exchange]) -> None:
    """InvalidInput, with the reason, when one of these is no exchange."""
    for exchange in exchanges:
        _checked(_named(exchange))


def _named(exchange: Exchange) -> dict[str, Any]:
    if isinstance(exchange, Mapping):
        unknown = sorted(set(exchange) - set(_FIELDS) - {"meta"})
        if unknown or not {"session", "role", "content"} <= set(exchange):
            raise InvalidInput("an exchange has session, role, content and may have occurred_at, key and meta")
        return dict(exchange)
    if isinstance(exchange, str) or not 3 <= len(exchange) <= len(_FIELDS):
        raise InvalidInput("an exchange is (session, role, content) or (session, role, content, occurred_at)")
    return dict(zip(_FIELDS, exchange, strict=False))


def _checked(given: dict[str, Any]) -> dict[str, Any]:
    check_id(given["session"], "session")
    role, content = given["role"], given["content"]
    if role not in ROLES:
        raise InvalidInput(f"unknown role {str(role)[:40]!r}", hint="Roles: " + ", ".join(ROLES))
    if not isinstance(content, str) or not content.strip():
        raise InvalidInput("content must be text that is not empty")
    if len(content) > MAX_CHARS:
        raise InvalidInput(f"content has {len(content):,} characters; the limit is {MAX_CHARS:,}")
    if given.get("occurred_at") is not None:
        given["occurred_at"] = parse_time(given["occurred_at"])
    if given.get("key") is not None:
        check_id(given["key"], "key")
    return given


def _event(given: Mapping[str, Any], now: datetime, privacy: Privacy, seen: Counter[tuple[str, ...]]) -> Event:
    session, role, at = given["session"], given["role"], given.get("occurred_at") or now
    kind, origin = ROLES[role]
    text = privacy.text(storable(given["content"]))
    if given.get("key") is not None:
        native: tuple[str, ...] = ("key", given["key"])
    elif given.get("occurred_at") is not None:
        native = ("said", role, iso(at), privacy.same(text))
        seen[(session, *native)] += 1
        native = (*native, str(seen[(session, *native)]))
    else:
        native = ("new", uuid7())
    key, meta = stable_key("recorded", session, kind, *native), given.get("meta")
    return Event(key, session, kind, role, origin, text, at, now, meta=dict(privacy.value(meta)) if meta else {})
