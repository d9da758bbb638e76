"""Patterns as exported records, and back: with what was done to them, what shows them, and where they were put.

A pattern with its versions, sightings and roll-outs becomes one JSON object, lossless; anything odd about one that
comes back is InvalidInput. Words are data: nothing in a record can make a rule stand anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from pathlib import PurePath
from typing import Any, NamedTuple

from recollect.clock import iso, parse_time
from recollect.errors import InvalidInput
from recollect.model import Scope, check_id
from recollect.store.port import Store
from recollect.store.ports.learn import (
    MOST_SIGHTINGS,
    PATTERN_STATES,
    ROLLOUT_STATES,
    TARGETS,
    Pattern,
    PatternVersion,
    Rollout,
    Sighting,
)
from recollect.text import require_text, storable

_TRUSTS, _ORIGINS = ("user", "outcome", "observed"), ("user", "outcome", "other")
_WORDS, _PLACE = 4_000, 8_192
_MOST = 10_000


class Learned(NamedTuple):
    """One pattern with all that belongs to it."""

    pattern: Pattern
    versions: list[PatternVersion]
    evidence: list[Sighting]
    rollouts: list[Rollout]


def learned(store: Store, scope: Scope, pattern: Pattern) -> dict[str, Any]:
    """A pattern of a store as a record."""
    return {
        "type": "pattern",
        **_plain(pattern),
        "versions": [_plain(one) for one in store.patterns.versions(scope, pattern.id)],
        "evidence": [_plain(one) for one in store.patterns.evidence(scope, pattern.id, limit=MOST_SIGHTINGS)],
        "rollouts": [_plain(one) for one in store.patterns.rollouts(scope, pattern.id)],
    }


def parse_pattern(record: Mapping[str, Any]) -> Learned:
    """An exported pattern."""
    about = {name: value for name, value in record.items() if name not in ("type", "versions", "evidence", "rollouts")}
    pattern = Pattern(**_checked(about, _PATTERN))
    versions = [PatternVersion(**_checked(one, _VERSION)) for one in _listed(record, "versions")]
    if len({one.version for one in versions}) < len(versions):
        raise InvalidInput("two versions of a pattern have one number")
    evidence = [Sighting(**_checked(one, _SIGHTING)) for one in _listed(record, "evidence")]
    rollouts = [_with_own(Rollout(**_checked(one, _ROLLOUT))) for one in _listed(record, "rollouts")]
    if any(one.pattern != pattern.id for one in rollouts):
        raise InvalidInput("a roll-out is of another pattern")
    return Learned(pattern, versions, evidence, rollouts)


def _with_own(rollout: Rollout) -> Rollout:
    """A roll-out that made nothing but its file and directories above that: taking it back removes what it made."""
    if rollout.target == "memory":
        return rollout
    place = PurePath(rollout.place)
    own = {str(place), *map(str, place.parents)}
    return replace(rollout, made=tuple(one for one in rollout.made if one in own))


def _listed(record: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    found = record.get(name, [])
    if not isinstance(found, list) or len(found) > _MOST or not all(isinstance(one, dict) for one in found):
        raise InvalidInput(f"{name} of a pattern must be a list of objects")
    return found


def _checked(given: Mapping[str, Any], checks: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
    if given.keys() != checks.keys():
        odd = min(given.keys() ^ checks.keys())
        raise InvalidInput(f"a pattern's record has {odd!r} where it should not, or lacks it")
    return {name: check(given[name]) for name, check in checks.items()}


def _plain(value: Pattern | PatternVersion | Sighting | Rollout) -> dict[str, Any]:
    return {field.name: _json(getattr(value, field.name)) for field in fields(value)}


def _json(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    return list(value) if isinstance(value, tuple) else value


def _maybe(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else check(value)


def _id(value: Any) -> str:
    return check_id(value, "name")


def _words(value: Any) -> str:
    return require_text(value, "text", _WORDS)


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 2 * _PLACE:
        raise InvalidInput("a text of a pattern is too long, or none")
    return storable(value)


def _ids(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > _MOST:
        raise InvalidInput("names must be a list")
    return tuple(check_id(one, "name") for one in value)


def _places(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > _MOST:
        raise InvalidInput("places must be a list")
    return tuple(require_text(one, "place", _PLACE) for one in value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise InvalidInput("a count must be a whole number from 0")
    return value


def _version(value: Any) -> int:
    if _whole(value) < 1:
        raise InvalidInput("versions begin with 1")
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise InvalidInput("an amount must be a number from 0")
    return float(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput("edited must be true or false")
    return value


def _one_of(*allowed: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in allowed:
            raise InvalidInput(f"unknown word {str(value)[:40]!r} in a pattern")
        return str(value)

    return check


_PATTERN: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("id", "kind"), _id),
    **dict.fromkeys(("key", "statement"), _words),
    **dict.fromkeys(("first_seen", "last_seen"), parse_time),
    "trust": _one_of(*_TRUSTS),
    "rule": _maybe(_words),
    "state": _one_of(*PATTERN_STATES),
    "version": _version,
    **dict.fromkeys(("signals", "sessions", "tokens", "decided_sessions"), _whole),
    **dict.fromkeys(("flavors", "projects", "aliases", "decided_flavors"), _ids),
    **dict.fromkeys(("seconds", "score"), _number),
    "usd": _maybe(_number),
    "edited": _flag,
    **dict.fromkeys(("reviewer", "merged_into"), _maybe(_id)),
    "reason": _maybe(_words),
    "decided_at": _maybe(parse_time),
}
_VERSION: dict[str, Callable[[Any], Any]] = {
    "version": _version,
    "change": _id,
    "state": _one_of(*PATTERN_STATES),
    "statement": _words,
    **dict.fromkeys(("rule", "reason"), _maybe(_words)),
    "actor": _maybe(_id),
    "at": parse_time,
}
_SIGHTING: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("session", "flavor"), _id),
    "project": _maybe(_id),
    "at": parse_time,
    "origin": _one_of(*_ORIGINS),
    "count": _whole,
    "statement": _text,
    "events": _ids,
}
_ROLLOUT: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("id", "pattern"), _id),
    "version": _version,
    "target": _one_of(*TARGETS),
    "place": lambda value: require_text(value, "place", _PLACE),
    "begun_at": parse_time,
    "project": _maybe(_id),
    "state": _one_of(*ROLLOUT_STATES),
    "text": _text,
    "made": _places,
    "by": _maybe(_id),
    "held_back": _ids,
    "ended_at": _maybe(parse_time),
    "reason": _maybe(_words),
}
