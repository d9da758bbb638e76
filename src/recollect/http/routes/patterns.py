"""The routes of what was learned: the catalogue of patterns, and a person's decisions on it.

They look and decide; nothing is put before agents here: rolling out changes files, and is done where those lie.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Path, Query

from recollect.http.answering import Router
from recollect.http.routes import paging
from recollect.http.routes.changing import WhoseQuery
from recollect.http.routes.common import Who, opened
from recollect.http.schemas.patterns import (
    Decision,
    ListedPatterns,
    PatternChange,
    PatternId,
    PatternPage,
    PatternRecord,
    PatternTold,
    Wording,
)

PatternPath = Annotated[PatternId, Path(description="The id of a pattern, or its beginning.")]


def router() -> Router:
    """Patterns of the key's user."""
    routes = Router(tags=["patterns"])
    routes.get("/patterns")(list_patterns)
    routes.get("/patterns/{pattern_id}")(get_pattern)
    routes.post("/patterns/{pattern_id}/approve")(approve_pattern)
    routes.post("/patterns/{pattern_id}/reject")(reject_pattern)
    routes.post("/patterns/{pattern_id}/edit")(edit_pattern)
    return routes


def list_patterns(asked: Annotated[ListedPatterns, Query()], who: Who) -> PatternPage:
    """What repeats, as it was last looked for: what spans agents first, then what is worth most."""
    memory = opened(who, asked)
    about = ["patterns", asked.state]
    place = paging.read(asked.cursor, memory.scope, about)
    page, after = paging.patterns(memory, asked.limit, place, asked.state)
    cursor = None if after is None else paging.write(after, memory.scope, about)
    return PatternPage(patterns=[PatternRecord.of(one) for one in page], next_cursor=cursor)


def get_pattern(pattern_id: PatternPath, whose: WhoseQuery, who: Who) -> PatternTold:
    """One pattern, with what was done to it."""
    patterns = opened(who, whose).patterns
    found = patterns.get(pattern_id)
    history = [PatternChange.of(one) for one in patterns.history(found.id)]
    return PatternTold(**PatternRecord.of(found).model_dump(), history=history)


def approve_pattern(
    pattern_id: PatternPath, whose: WhoseQuery, who: Who, given: Annotated[Wording | None, Body()] = None
) -> PatternRecord:
    """The user says that it is so, as it is or in other words. What is rolled out stays as it is."""
    who.require("speak")
    said = given or Wording()
    patterns = opened(who, whose).patterns
    return PatternRecord.of(patterns.approve(pattern_id, said.reason, rule=said.rule, statement=said.statement))


def reject_pattern(
    pattern_id: PatternPath, whose: WhoseQuery, who: Who, given: Annotated[Decision | None, Body()] = None
) -> PatternRecord:
    """The user says no; it stays away until much more shows it. What is rolled out is taken back first: else 409."""
    who.require("speak")
    return PatternRecord.of(opened(who, whose).patterns.reject(pattern_id, given.reason if given else None))


def edit_pattern(pattern_id: PatternPath, given: Wording, whose: WhoseQuery, who: Who) -> PatternRecord:
    """The user says it in other words."""
    who.require("speak")
    patterns = opened(who, whose).patterns
    return PatternRecord.of(patterns.edit(pattern_id, rule=given.rule, statement=given.statement, reason=given.reason))
