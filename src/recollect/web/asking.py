"""What somebody looks for on the search page, from the address and back to it.

In: the words of a query string, whatever they are: what makes no sense is left out, never refused. Out: a `Wanted`, the
filter it stands for, and the addresses that change one thing about it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import quote_plus, urlencode

from starlette.datastructures import QueryParams

from recollect.errors import InvalidInput
from recollect.model import KINDS, MAX_TAG_CHARS, TIERS, TRUSTS, Tier, check_id, parse_tags
from recollect.text import storable

HOME = "/memory"
MOST_QUERY = 1_000  # characters of a question
MOST_PAGES = 500
FEW, MANY = 20, 60  # hits on a page, and when more are asked for
_MANY_VALUES = 20  # of one facet
_FLAGS = ("archived", "history", "pinned", "forgotten")  # boxes
_OFF = dict.fromkeys(_FLAGS, False)
_NAMES = {"kinds": "kind", "tags": "tag", "projects": "project", "agents": "agent", "trusts": "trust"}  # in an address


@dataclass(frozen=True, slots=True)
class Wanted:
    """One look at the search page."""

    q: str = ""
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()  # one at most
    agents: tuple[str, ...] = ()
    trusts: tuple[str, ...] = ()
    tier: str = ""
    since: str = ""
    until: str = ""
    archived: bool = False
    history: bool = False
    pinned: bool = False
    forgotten: bool = False  # what can be brought back, instead of what is there
    anyway: bool = False  # what is nearest, however far it is
    more: bool = False
    contexts: tuple[str, ...] = ()
    page: int = 1

    @property
    def project(self) -> str | None:
        return self.projects[0] if self.projects else None

    @property
    def tiers(self) -> tuple[Tier, ...]:
        return tuple(tier for tier in TIERS if tier == self.tier) or TIERS

    @property
    def impossible(self) -> bool:
        """Whether no day is in the range."""
        return bool(self.since and self.until and self.since > self.until)

    @property
    def narrowed(self) -> bool:
        """Whether anything but the words says what is looked for."""
        facets = any(getattr(self, facet) for facet in _NAMES)
        return facets or bool(self.tier or self.since or self.until or self.pinned or self.forgotten)

    def filters(self) -> dict[str, Any]:
        """As the façade takes them."""
        return {
            "kinds": self.kinds,
            "tags": self.tags,
            "project": self.project,
            "flavors": self.agents,
            "trusts": self.trusts,
            "since": _day(self.since),
            "until": _day(self.until, ends=True),
            "archived": self.archived,
            "history": self.history,
            "pinned": self.pinned,
        }

    def but(self, **changes: Any) -> Wanted:
        """The same with something else about it; from its first page, unless that is what changes."""
        return replace(self, **{"page": 1, **changes})

    def address(self, **changes: Any) -> str:
        """Where that is asked for."""
        asked = urlencode(_pairs(self.but(**changes)))
        return f"{HOME}?{asked}" if asked else HOME

    def unfiltered(self) -> str:
        """The same words in all there is."""
        return self.address(**dict.fromkeys(_NAMES, ()), **dict.fromkeys(("tier", "since", "until"), ""), **_OFF)

    def without(self, facet: str, value: str) -> str:
        """The same without a value of a facet."""
        has: tuple[str, ...] = getattr(self, facet)
        return self.address(**{facet: tuple(one for one in has if one != value)})

    def hidden(self) -> list[tuple[str, str]]:
        """What a form that asks for other words keeps: all but what it has fields for."""
        fields = ("q", "since", "until", *_FLAGS, "anyway", "more", "page", "context")
        return [pair for pair in _pairs(self) if pair[0] not in fields]


class Links:
    """Addresses that narrow it further: a page has hundreds of them, so what they begin with is made once."""

    def __init__(self, asked: Wanted) -> None:
        self._begun = {facet: _begun(asked.address(**{facet: ()}), name) for facet, name in _NAMES.items()}

    def to(self, facet: str, value: str) -> str:
        """The same with this value of a facet, in place of another: with both it would be wider, not narrower."""
        return self._begun[facet] + quote_plus(value)


def _begun(address: str, name: str) -> str:
    return f"{address}{'&' if '?' in address else '?'}{name}="


def wanted(params: QueryParams) -> Wanted:
    """What an address asks for; what makes no sense is left out."""
    return Wanted(
        q=storable(params.get("q", "")).strip()[:MOST_QUERY],
        kinds=tuple(one for one in _each(params, "kind") if one in KINDS),
        tags=tuple(one for one in _each(params, "tag") if _is_tag(one)),
        projects=tuple(one for one in _each(params, "project") if _is_id(one))[:1],
        agents=tuple(one for one in _each(params, "agent") if _is_id(one)),
        trusts=tuple(one for one in _each(params, "trust") if one in TRUSTS),
        tier=tier if (tier := params.get("tier", "")) in TIERS else "",
        since=_as_day(params.get("since", "")),
        until=_as_day(params.get("until", "")),
        archived=bool(params.get("archived")),
        history=bool(params.get("history")),
        pinned=bool(params.get("pinned")),
        forgotten=bool(params.get("forgotten")),
        anyway=bool(params.get("anyway")),
        more=bool(params.get("more")),
        contexts=tuple(one for one in _each(params, "context") if _is_id(one)),
        page=page_of(params),
    )


def page_of(params: QueryParams) -> int:
    """Which page of a list; the first when it is none."""
    text = params.get("page", "")
    return min(MOST_PAGES, max(1, int(text))) if text.isdecimal() and len(text) < 6 else 1


def _pairs(one: Wanted) -> list[tuple[str, str]]:
    pairs = [("q", one.q), *((name, value) for facet, name in _NAMES.items() for value in getattr(one, facet))]
    pairs += [("tier", one.tier), ("since", one.since), ("until", one.until)]
    pairs += [(name, "1") for name in (*_FLAGS, "anyway", "more") if getattr(one, name)]
    pairs += [("context", value) for value in one.contexts]
    pairs += [("page", str(one.page))] if one.page > 1 else []
    return [(name, value) for name, value in pairs if value]


def _each(params: QueryParams, name: str) -> list[str]:
    return list(dict.fromkeys(params.getlist(name)[:_MANY_VALUES]))


def _is_tag(text: str) -> bool:
    try:
        return len(text) <= MAX_TAG_CHARS and parse_tags([text]) == (text,)
    except InvalidInput:
        return False


def _is_id(text: str) -> bool:
    try:
        return check_id(text, "name") == text
    except InvalidInput:
        return False


def _as_day(text: str) -> str:
    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        return ""


def _day(text: str, *, ends: bool = False) -> datetime | None:
    """The beginning of a day, or its last moment."""
    if not text:
        return None
    at = datetime.combine(date.fromisoformat(text), time(), UTC)
    return at + timedelta(days=1, microseconds=-1) if ends and at.year < 9999 else at
