"""What a caller asks, checked: filters, tiers, limits and profile in any usual form become one `Question`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

from recollect.clock import parse_time
from recollect.errors import InvalidInput
from recollect.model import TIERS, Tier, check_id, parse_kind, parse_tags, parse_trust, parse_unit
from recollect.recall.answer import Question
from recollect.recall.profile import OWN, Profile, profile_named, weighed
from recollect.settings import Settings
from recollect.store.ports.memories import Filter
from recollect.text import storable

MAX_LIMIT = 1_000


def filter_of(now: datetime, given: dict[str, Any]) -> Filter:
    """A checked filter from plain values; times in any form `parse_time` takes."""
    checked = dict(given)
    for name in ("since", "until", "as_of"):
        if checked.get(name) is not None:
            checked[name] = parse_time(checked[name])
    for name in ("project", "session", "exclude_session"):
        if checked.get(name) is not None:
            checked[name] = check_id(checked[name], name)
    if checked.get("min_importance") is not None:
        checked["min_importance"] = parse_unit(checked["min_importance"], "min_importance")
    checked["kinds"] = tuple(map(parse_kind, checked.get("kinds") or ()))
    checked["tags"] = parse_tags(checked.get("tags"))
    checked["trusts"] = tuple(map(parse_trust, checked.get("trusts") or ()))
    checked["flavors"] = tuple(check_id(one, "agent") for one in checked.get("flavors") or ())
    try:
        return Filter(now=now, **checked)
    except TypeError:
        unknown = sorted(checked.keys() - set(Filter.__slots__))
        raise InvalidInput(f"unknown filter {', '.join(unknown)!r}") from None


def question_of(
    query: object,
    where: Filter,
    tiers: Iterable[Tier],
    limit: int | None,
    settings: Settings,
    *,
    profile: str | None = None,
    abstain: bool | None = None,
    weights: Mapping[str, float] | None = None,
) -> Question:
    """The question a caller asks; what is not said is as the settings say. `weights` are those of who asks."""
    if not isinstance(query, str):
        raise InvalidInput(f"a query is text, not {type(query).__name__}")
    chosen = tuple(dict.fromkeys(tiers))
    return Question(
        text=storable(query),
        tiers=_searched(chosen, where),
        where=where,
        limit=check_limit(settings.recall_limit if limit is None else limit),
        profile=_profile(profile or ("balanced" if "memory" in chosen else "relevance"), settings, weights),
        abstain=settings.abstain if abstain is None else abstain,
    )


def check_limit(limit: object) -> int:
    """How many may be asked for: 1 to 1,000."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(f"limit must be a whole number from 1 to {MAX_LIMIT}")
    return limit


def _searched(tiers: tuple[Tier, ...], where: Filter) -> tuple[Tier, ...]:
    if not tiers or set(tiers) - set(TIERS):
        raise InvalidInput("tiers are memory, gist and turn")
    if where.kinds or where.tags or where.trusts or where.pinned or where.min_importance is not None:
        return tuple(tier for tier in tiers if tier == "memory")  # only memories have these
    return tiers


def _profile(name: str, settings: Settings, weights: Mapping[str, float] | None) -> Profile:
    chosen = _shaped(name, settings.decay, settings.decay_factor, settings.use_half_life_days)
    return weighed(chosen, weights) if name == OWN else chosen


@lru_cache(maxsize=16)
def _shaped(name: str, decay: str, factor: float, half_life: float) -> Profile:
    """A profile with the settings' way of forgetting."""
    if decay not in ("hyperbolic", "exponential"):
        raise InvalidInput("decay must be hyperbolic or exponential")
    if half_life <= 0:
        raise InvalidInput("use_half_life_days must be more than 0")
    way: Literal["hyperbolic", "exponential"] = "exponential" if decay == "exponential" else "hyperbolic"
    return replace(profile_named(name), decay=way, decay_factor=factor, use_half_life=half_life)
