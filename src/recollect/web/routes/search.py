"""The search page: a question or none, what narrows it, and what was found; and what is suggested while one types.

Somebody who looks here does not use a memory: nothing is counted as read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from recollect.facade import Recollect
from recollect.model import KINDS, Recall
from recollect.recall.profile import Profile, profile_named, weighed
from recollect.store.port import SharedContext
from recollect.store.statsport import Facets
from recollect.text import one_line
from recollect.web.asking import FEW, HOME, MANY, Links, Wanted, wanted
from recollect.web.cards import Card, card_of_hit, card_of_memory
from recollect.web.marking import words_in
from recollect.web.pages import Fields, Who
from recollect.web.paths import memory_address, project_label

LOOK = 5_000  # memories that are counted for the facets, the newest
TYPED = 3_000  # memories that are looked at while one types
SUGGESTED, LEAST = 6, 2  # memories suggested; characters typed before anything is
_VALUES = 8  # of one facet, those there are most of
NEEDS: dict[tuple[str, str], str | None] = {
    ("GET", HOME): "read",
    ("GET", "/page/suggest"): "read",
    ("POST", "/page/remember"): "speak",
}


class Value(NamedTuple):
    """One value of a facet: how many memories have it, and where it is switched on or off."""

    name: str
    label: str
    number: int
    address: str
    on: bool


class Facet(NamedTuple):
    """What memories can be narrowed by."""

    title: str
    values: list[Value]


class Found(NamedTuple):
    """What the page lists."""

    cards: list[Card]
    recall: Recall | None = None  # None: nothing was asked
    more: bool = False


def router() -> APIRouter:
    routes = APIRouter(include_in_schema=False)
    routes.add_api_route(HOME, search, methods=["GET"], response_model=None)
    routes.add_api_route("/page/suggest", suggest, methods=["GET"], response_model=None)
    routes.add_api_route("/page/remember", remember, methods=["POST"], response_model=None)
    return routes


def search(request: Request, who: Who) -> Response:
    """Memories that answer, or the newest."""
    asked, memory = wanted(request.query_params), who.memory
    mine = memory.contexts.mine() if memory.scope.project is None else []  # a key for one project opens no others
    contexts = [one for one in mine if one.joined_at is not None]
    asked = _within(asked, contexts)
    found = _asked(memory, asked) if asked.q else _newest(memory, asked)
    counted = memory.store.stats.facets(memory.scope, memory.filter(**asked.filters()), look=LOOK, most=30)
    return who.show(
        "search.html",
        asked=asked,
        links=Links(asked),
        found=found,
        facets=_facets(asked, counted),
        counted=counted,
        contexts=contexts,
        chips=_chips(asked),
        kinds=KINDS,
        few=FEW,
        many=MANY,
        looked=LOOK,
    )


def suggest(who: Who, q: str = "") -> Response:
    """Memories with words that begin as typed, tags and projects; as JSON for the script of the page."""
    typed = one_line(q, 200)
    if len(typed) < LEAST:
        return JSONResponse({"items": []})
    memory = who.memory
    named = memory.store.stats.named(memory.scope, typed, look=TYPED, most=3)
    fitting = memory.store.memories.beginning(memory.scope, typed.split(), look=TYPED, limit=SUGGESTED)
    items = [_item(f"#{tag}", "tag", f"{HOME}?{urlencode({'tag': tag})}") for tag in named.tags]
    items += [_item(project, "project", f"{HOME}?{urlencode({'project': project})}") for project in named.projects]
    items += [_item(one_line(one.content, 90), one.kind, memory_address(one.id)) for one in fitting]
    return JSONResponse({"items": items})


def remember(who: Who, form: Fields) -> Response:
    """Keep something the person says."""
    who.asked.require("write")
    project = form.text("project", most=300).strip()
    memory = who.asked.memory(project=project) if project else who.memory
    kept = memory.remember(form.text("content"), form.text("kind", "note", 40), form.text("why", most=1_000) or None)
    return who.back(memory_address(kept.id), "remembered")


# -- what is found -----------------------------------------------------------------------------------------------------


def _asked(memory: Recollect, asked: Wanted) -> Found:
    limit = MANY if asked.more else FEW
    ways: dict[str, Any] = {"abstain": False if asked.anyway else None, **asked.filters()}
    found = memory.recall(asked.q, limit, tiers=asked.tiers, contexts=asked.contexts, count=False, **ways)
    words, profile = words_in(asked.q), _profile(memory, asked)
    cards = [card_of_hit(hit, words, profile) for hit in found.hits]
    return Found(cards, found, more=len(cards) == limit and not asked.more)


def _newest(memory: Recollect, asked: Wanted) -> Found:
    found = memory.memories(FEW + 1, (asked.page - 1) * FEW, **asked.filters())
    return Found([card_of_memory(one) for one in found[:FEW]], more=len(found) > FEW)


def _profile(memory: Recollect, asked: Wanted) -> Profile:
    """The weights recall ranked with."""
    own = memory.store.use.ranking(memory.scope)
    if "memory" not in asked.tiers:
        return profile_named("relevance")
    return weighed(profile_named("balanced"), own.weights if own else None)


def _within(asked: Wanted, contexts: list[SharedContext]) -> Wanted:
    """Without contexts that the person is not in."""
    known = {one.id for one in contexts}
    return replace(asked, contexts=tuple(one for one in asked.contexts if one in known))


# -- what narrows it ---------------------------------------------------------------------------------------------------


def _facets(asked: Wanted, counted: Facets) -> list[Facet]:
    lists = (
        ("Kind", "kinds", counted.kinds),
        ("Project", "projects", counted.projects),
        ("Agent", "agents", counted.agents),
        ("Trust", "trusts", counted.trusts),
        ("Tag", "tags", counted.tags),
    )
    made, links = [], Links(asked)
    for title, facet, counts in lists:
        on: tuple[str, ...] = getattr(asked, facet)
        shown = [name for name in counts if name not in on][:_VALUES]
        values = [
            Value(name, project_label(name), counts.get(name, 0), leads(facet, name), name in on)
            for leads, names in ((asked.without, on), (links.to, shown))
            for name in names
        ]
        made.append(Facet(title, values))
    return [facet for facet in made if facet.values]


def _chips(asked: Wanted) -> list[tuple[str, str]]:
    """What narrows it now, in words, each with the address without it."""
    lists = (("kinds", ""), ("projects", "project "), ("agents", "agent "), ("trusts", "trust "), ("tags", "#"))
    chips = [
        (f"{before}{value}", asked.without(facet, value)) for facet, before in lists for value in getattr(asked, facet)
    ]
    single = (("since", "since {}"), ("until", "until {}"))
    chips += [
        (told.format(value), asked.address(**{name: ""})) for name, told in single if (value := getattr(asked, name))
    ]
    flags = (("pinned", "pinned"), ("archived", "with archived"), ("history", "with superseded"))
    return chips + [(told, asked.address(**{name: False})) for name, told in flags if getattr(asked, name)]


def _item(text: str, what: str, address: str) -> dict[str, str]:
    return {"text": one_line(text, 120), "what": what, "address": address}
