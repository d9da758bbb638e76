"""What somebody wants remembered, checked and completed: a new memory, or changes to one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from recollect.clock import parse_time
from recollect.distill.importance import importance_of, tags_of
from recollect.distill.values.sayings import confirmation, rank_of, sayings_of, with_sayings
from recollect.errors import InvalidInput
from recollect.ids import uuid7
from recollect.model import ORIGINS, Memory, check_id, parse_kind, parse_tags, parse_unit
from recollect.text import require_text

MAX_WHY_CHARS = 1_000


def _optional(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else check(value)


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "content": lambda value: require_text(value, "content"),
    "kind": parse_kind,
    "why": _optional(lambda value: require_text(value, "why", MAX_WHY_CHARS)),
    "tags": parse_tags,
    "importance": lambda value: parse_unit(value, "importance"),
    "confidence": lambda value: parse_unit(value, "confidence"),
    "expires_at": _optional(parse_time),
}


# What somebody does not say about a memory.
_UNSAID: dict[str, Any] = {
    "kind": "note",
    "why": None,
    "tags": None,
    "importance": None,
    "confidence": 1.0,
    "origin": "user",
    "session": None,
    "evidence": (),
    "anchors": (),
    "occurred_at": None,
    "expires_at": None,
    "meta": None,
    "slot": None,
}


def new_memory(given: Mapping[str, Any], *, project: str | None, now: datetime) -> Memory:
    """A memory from what the caller gave; tags and importance are worked out when they were not given."""
    unknown = sorted(given.keys() - _UNSAID.keys() - {"content"})
    if unknown:
        raise InvalidInput(f"a memory has no {unknown[0]!r}", hint="It has: content, " + ", ".join(_UNSAID))
    given = {**_UNSAID, **given}
    content, kind = _CHECKS["content"](given["content"]), parse_kind(given["kind"])
    origin, session, at = given["origin"], given["session"], given["occurred_at"]
    if origin not in ORIGINS or origin == "injected":
        raise InvalidInput(f"unknown origin {str(origin)[:40]!r}")
    check_preference(kind, "user" if origin == "user" else "quoted")
    tags, importance = given["tags"], given["importance"]
    return Memory(
        id=uuid7(),
        kind=kind,
        content=content,
        project=project,
        origin=origin,
        occurred_at=now if at is None else parse_time(at),
        recorded_at=now,
        why=_CHECKS["why"](given["why"]),
        tags=tags_of(content) if tags is None else parse_tags(tags),
        importance=importance_of(kind, content) if importance is None else _CHECKS["importance"](importance),
        confidence=_CHECKS["confidence"](given["confidence"]),
        session=None if session is None else check_id(session, "session"),
        evidence=tuple(given["evidence"]),
        anchors=tuple(given["anchors"]),
        meta=dict(given["meta"] or {}),
        trust="user" if origin == "user" else "quoted",
        slot=given["slot"],
        expires_at=_CHECKS["expires_at"](given["expires_at"]),
    )


def confirmed(memory: Memory, at: datetime, kind: str | None = None) -> Memory:
    """A memory that the user said is so: trusted as their own word, whoever said it first, and no longer put away."""
    if memory.superseded_at is not None:
        raise InvalidInput("this memory was superseded", hint="Say what is true now: `recollect remember TEXT`.")
    said = replace(with_sayings(memory, [*sayings_of(memory), confirmation(memory, at)]), archived_at=None)
    return said if kind is None else replace(said, kind=parse_kind(kind))


def check_may_supersede(new: Memory, old: Memory) -> None:
    """What is trusted less cannot take the place of what is trusted more: InvalidInput."""
    if rank_of(new.trust) < rank_of(old.trust):
        raise InvalidInput(
            f"what is {new.trust} cannot take the place of what is trusted as {old.trust}",
            hint="Remember it beside the other; it is shown as disputed, and the user can confirm it.",
        )


def check_preference(kind: str, trust: str) -> None:
    """A preference is what a user wants, so only a user can say it: InvalidInput for any other."""
    if kind == "preference" and trust != "user":
        raise InvalidInput(
            "only what a user said can be a preference", hint="Keep it as a note; the user can confirm it later."
        )


def checked_changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes to a memory, each checked like the field of a new one."""
    unknown = sorted(changes.keys() - _CHECKS.keys())
    if unknown:
        raise InvalidInput(f"cannot change {unknown[0]!r}", hint="Can change: " + ", ".join(_CHECKS))
    return {name: _CHECKS[name](value) for name, value in changes.items()}
