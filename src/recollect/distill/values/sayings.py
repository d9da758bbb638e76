"""Every time a memory was said: when, by whom, how far that is trusted. What it is trusted is the most of these.

A memory that was said once tells it by its own fields; one that was said again keeps the list in its `meta`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from recollect.clock import iso, parse_time
from recollect.errors import InvalidInput
from recollect.model import TRUSTS, Memory

MAX_SAYINGS = 16
SAID_META = "said"


@dataclass(frozen=True, slots=True)
class Saying:
    """One time it was said. `confirmed`: the user said that it is so, in whoever's words."""

    at: datetime
    trust: str
    origin: str
    maker: str
    session: str | None = None
    confirmed: bool = False

    @property
    def rank(self) -> int:
        return rank_of(self.trust)


def rank_of(trust: str) -> int:
    """How far this trust goes; more is more."""
    return len(TRUSTS) - TRUSTS.index(trust)


def sayings_of(memory: Memory) -> list[Saying]:
    """When and by whom a memory was said, oldest first."""
    told = memory.meta.get(SAID_META)
    found = [saying for item in told if (saying := _read(item))] if isinstance(told, list) else []
    return sorted(found, key=lambda one: (one.at, one.rank)) or _by_fields(memory)


def first_saying(memory: Memory) -> Saying:
    """How a memory was said when it was made."""
    return _by_fields(memory)[0]


def confirmation(memory: Memory, at: datetime) -> Saying:
    """The user says that a memory is so."""
    return Saying(at, "user", memory.origin, memory.maker, confirmed=True)


def _by_fields(memory: Memory) -> list[Saying]:
    trust = memory.trust
    if memory.confirmed_at is not None and memory.origin != "user":
        trust = "quoted"  # before it was confirmed
    said = Saying(memory.occurred_at, trust, memory.origin, memory.maker, memory.session)
    return [said] if memory.confirmed_at is None else [said, confirmation(memory, memory.confirmed_at)]


def with_sayings(memory: Memory, sayings: Iterable[Saying]) -> Memory:
    """The memory as said then: from the first of these times on, and trusted as the most trusted of them."""
    said = sorted(dict.fromkeys(sayings), key=lambda one: (one.at, one.rank))
    if not said:
        return memory
    best = max(said, key=lambda one: one.rank)  # the first of the most trusted
    confirmed = [one.at for one in said if one.confirmed]
    meta = {name: value for name, value in memory.meta.items() if name != SAID_META}
    if len(said) > 1:
        meta[SAID_META] = [_written(one) for one in _few(said)]
    return replace(
        memory,
        kind="note" if memory.kind == "preference" and best.trust != "user" else memory.kind,
        occurred_at=said[0].at,
        trust=best.trust,
        origin=best.origin,
        maker=best.maker,
        session=best.session or next((one.session for one in said if one.session), None),
        confirmed_at=max(confirmed) if confirmed else None,
        meta=meta,
    )


def _few(said: list[Saying]) -> list[Saying]:
    """The first, the most trusted and the latest, when there are too many: being repeated takes no trust away."""
    if len(said) <= MAX_SAYINGS:
        return said
    kept = {said[0], max(said, key=lambda one: (one.rank, one.confirmed)), *said[2 - MAX_SAYINGS :]}
    return [one for one in said if one in kept]


def _written(saying: Saying) -> dict[str, Any]:
    told: dict[str, Any] = {"at": iso(saying.at), "trust": saying.trust, "origin": saying.origin, "maker": saying.maker}
    if saying.session is not None:
        told["session"] = saying.session
    if saying.confirmed:
        told["confirmed"] = True
    return told


def _read(item: object) -> Saying | None:
    """A saying out of `meta`, which may come from an import: what is not one is passed over."""
    if not isinstance(item, Mapping) or item.get("trust") not in TRUSTS:
        return None
    origin, maker, session = item.get("origin"), item.get("maker"), item.get("session")
    if not isinstance(origin, str) or not isinstance(maker, str) or not isinstance(session, str | None):
        return None
    confirmed = item.get("confirmed") is True
    trust = item["trust"] if origin == "user" or confirmed or item["trust"] != "user" else "quoted"
    try:
        return Saying(parse_time(item.get("at", "")), trust, origin, maker, session, confirmed)
    except InvalidInput:
        return None
