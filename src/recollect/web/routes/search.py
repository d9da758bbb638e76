"""The search page: a question or none, what narrows it, and what was found; and what is suggested while one types.

Somebody who looks here does not use a memory: nothing is counted as read. What was softly forgotten is in no index: it
is listed, the latest first, and words are looked for in what is listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from recollect.errors import InvalidInput
from recollect.facade import Recollect
from recollect.model import KINDS, Memory, Recall
from recollect.recall.profile import Profile, profile_named, weighed
from recollect.store.ports.contexts import SharedContext
from recollect.store.ports.stats import Facets
from recollect.text import one_line
from recollect.web.asking import FEW, HOME, MANY, Links, Wanted, wanted
from recollect.web.cards import Card, card_of_hit, card_of_memory
from recollect.web.facets import chips_of, facets_of
from recollect.web.marking import words_in
from recollect.web.pages import Fields, Form, Page, Who
from recollect.web.paths import memory_address
from recollect.web.places import is_known, known_projects
from recollect.web.refusing import in_its_words, without_command

LOOK = 5_000  # memories that are counted for the facets, the newest
TYPED = 3_000  # memories that are looked at while one types
SUGGESTED, LEAST = 6, 2  # memories suggested; characters typed before anything is
_VALUES = 40  # of one facet that are offered
_SOUGHT = 1_000  # memories softly forgotten, in which words are looked for
_REMEMBERED = ("content", "kind", "project", "why")  # the fields of the form
NEEDS: dict[tuple[str, str], str | None] = {
    ("GET", HOME): "read",
    ("GET", "/page/suggest"): "read",
    ("POST", "/page/remember"): "speak",
}


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
    return _shown(who, wanted(request.query_params))


def _shown(
    who: Page, asked: Wanted, status: int = 200, form: Mapping[str, str] | None = None, problem: str | None = None
) -> Response:
    """The page; with what somebody wanted to be remembered, and why that cannot be."""
    memory = who.memory
    mine = memory.contexts.mine() if memory.scope.project is None else []  # a key for one project opens no others
    contexts = [one for one in mine if one.joined_at is not None]
    asked = _within(asked, contexts)
    found, counted = _found(memory, asked), _counted(memory, asked)
    return who.show(
        "search.html",
        status,
        asked=asked,
        links=Links(asked),
        found=found,
        note=_note(who, found),
        nothing="" if found.cards else _nothing(memory, asked, found),
        facets=[] if asked.forgotten else facets_of(asked, counted, lambda without: _counted(memory, without)),
        counted=counted,
        contexts=contexts,
        chips=chips_of(asked),
        kinds=KINDS,
        projects=known_projects(memory) if who.may("speak") and who.may("write") else [],
        form=form or {"content": "", "kind": "note", "project": asked.project or "", "why": ""},
        problem=problem,
        few=FEW,
        many=MANY,
        looked=LOOK,
        days=memory.settings.redact_after_days,
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
    """Keep something the person says; what cannot be kept comes back in its form."""
    who.asked.require("write")
    given = {name: _raw(form, name) for name in _REMEMBERED}
    try:
        project = form.text("project", most=300).strip()
        memory = who.asked.memory(project=project) if project else who.memory
        new = bool(project) and not is_known(who.memory, project)
        kept = memory.remember(
            form.text("content"), form.text("kind", "note", 40), form.text("why", most=1_000).strip() or None
        )
    except InvalidInput as error:
        return _shown(who, Wanted(), 422, given, in_its_words(str(error), "/page/remember"))
    return who.back(memory_address(kept.id), "remembered-new-project" if new else "remembered")


def _raw(form: Form, name: str) -> str:
    """A field as it came, however long it is."""
    return next(iter(form.many(name)), "").replace("\r\n", "\n")


# -- what is found -----------------------------------------------------------------------------------------------------


def _found(memory: Recollect, asked: Wanted) -> Found:
    if asked.impossible:
        return Found([])
    if asked.forgotten:
        return _forgotten(memory, asked)
    return _asked(memory, asked) if asked.q else _newest(memory, asked)


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


def _forgotten(memory: Recollect, asked: Wanted) -> Found:
    """What can be brought back; of those with all the words, where there are some."""
    start, ways = (asked.page - 1) * FEW, {**asked.filters(), "archived": True, "history": True}
    if asked.q:
        pieces = asked.q.casefold().split()
        fits = [one for one in memory.forgotten(_SOUGHT, **ways) if _holds(one, pieces)][start : start + FEW + 1]
    else:
        fits = memory.forgotten(FEW + 1, start, **ways)
    words = words_in(asked.q) if asked.q else None
    return Found([card_of_memory(one, words) for one in fits[:FEW]], more=len(fits) > FEW)


def _holds(memory: Memory, pieces: list[str]) -> bool:
    text = f"{memory.content} {memory.why or ''} {' '.join(memory.tags)}".casefold()
    return all(piece in text for piece in pieces)


def _nothing(memory: Recollect, asked: Wanted, found: Found) -> str:
    """Why nothing is listed, in a word for the template."""
    if asked.impossible:
        return "impossible"
    if asked.forgotten:
        return "forgotten"
    if asked.page > 1 and not asked.q:
        return "page"
    if asked.narrowed:
        return "filters" if found.recall is None else "filtered"
    there = memory.memories(1, archived=True, history=True)
    if found.recall is None:
        return "away" if there else "empty"
    if not there and not memory.store.stats.held(memory.scope).turns and not asked.contexts:
        return "empty"
    return "far" if found.recall.abstained else "none"


def _note(who: Page, found: Found) -> str | None:
    """What may be missing from what was found."""
    note = found.recall.note if found.recall else None
    return without_command(note) if who.hosted else note


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


def _counted(memory: Recollect, asked: Wanted) -> Facets:
    where = memory.filter(**asked.filters())
    return memory.store.stats.facets(memory.scope, where, look=LOOK, most=_VALUES)


def _item(text: str, what: str, address: str) -> dict[str, str]:
    return {"text": one_line(text, 120), "what": what, "address": address}
