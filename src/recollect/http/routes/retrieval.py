"""The routes that give something back: search, context, prompts, memories by id and in lists, figures, the export."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from time import perf_counter
from typing import Annotated, Any

import orjson
from fastapi import Query, Response
from fastapi.responses import StreamingResponse

from recollect.clock import age_days
from recollect.facade import Recollect
from recollect.http.answering import Router
from recollect.http.asked import Asked
from recollect.http.routes import paging
from recollect.http.routes.changing import Id, WhoseQuery
from recollect.http.routes.common import TAGGED, Who, etag, opened
from recollect.http.schemas.asking import ListedMemories, ListedRecords
from recollect.http.schemas.memories import (
    BeliefRecord,
    MemoryPage,
    MemoryRecord,
    MemoryVersionRecord,
    MemoryVersions,
    Span,
)
from recollect.http.schemas.searching import (
    ChatMessage,
    ContextAnswer,
    ContextFacts,
    ContextRequest,
    Facets,
    Filters,
    MessagesAnswer,
    MessagesRequest,
    PromptAnswer,
    PromptRequest,
    RecordAnswer,
    RecordSearch,
    ScoreParts,
    SearchAnswer,
    SearchRequest,
    SearchResult,
    StatsAnswer,
)
from recollect.mcp.reading import records, records_text
from recollect.model import MAX_TAG_CHARS, TIERS, Hit
from recollect.store.ports.memories import Filter

_CHUNK = 65_536  # bytes of an export that are sent at a time
_FILTERS = (
    *("tags", "min_importance", "since", "until", "as_of", "session", "exclude_session", "archived"),
    *("history", "trusts", "flavors", "pinned"),
)


def router() -> Router:
    """The routes of the retrieval role, but for sessions."""
    routes = Router(tags=["retrieval"])
    routes.post("/search")(search)
    routes.post("/context")(context)
    routes.post("/messages")(messages)
    routes.post("/prompt")(prompt)
    routes.post("/memory/search")(search_records)
    routes.get("/memory/records", tags=["memories"])(list_records)
    routes.get("/memory/stats", tags=["memories"])(stats)
    routes.get("/memories", tags=["memories"])(list_memories)
    routes.get("/memories/{memory_id}", responses=TAGGED, tags=["memories"])(get_memory)
    routes.get("/memories/{memory_id}/versions", tags=["memories"])(memory_versions)
    routes.get("/memories/{memory_id}/why", tags=["memories"])(memory_why)
    told: dict[int | str, dict[str, Any]] = {
        200: {"content": {"application/x-ndjson": {}}, "description": "One record a line."}
    }
    routes.get("/export", response_class=StreamingResponse, responses=told)(export)
    return routes


# -- questions ---------------------------------------------------------------------------------------------------------


def search(given: SearchRequest, who: Who) -> SearchAnswer:
    """The right few things for a question, the best first, each with why it was found; or none, and `abstained`."""
    memory, where = opened(who, given), _where(given.filters)
    ways: dict[str, Any] = {"profile": given.profile, "mode": given.mode, "abstain": given.abstain}
    began = perf_counter()
    found = memory.recall(given.query, given.top_k, tiers=_tiers(given.filters), **where, **ways)
    _count(who, bool(found.hits), found.abstained, began)
    results = [_result(who, hit) for hit in found.hits]
    facets = _facets(memory, memory.filter(**where)) if given.facets else None
    told: dict[str, Any] = {"abstained": found.abstained, "mode": found.mode, "note": found.note}
    return SearchAnswer(results=results, count=len(results), facets=facets, **told)


def search_records(given: RecordSearch, who: Who) -> RecordAnswer:
    """The right few records for a question, in full, and as text for a model: `[type] content`, its tags and why."""
    wanted = {"query": given.query, "limit": given.limit}
    wanted |= {name: value for name in ("record_type", "project_tag") if (value := getattr(given, name)) is not None}
    began = perf_counter()
    found = records(opened(who, given), wanted)
    _count(who, bool(found.hits), found.abstained, began)
    results = [_result(who, hit) for hit in found.hits]
    return RecordAnswer(
        results=results,
        count=len(results),
        abstained=found.abstained,
        mode=found.mode,
        note=found.note,
        text=records_text(found) if found.hits else "",
    )


def context(given: ContextRequest, who: Who) -> ContextAnswer:
    """What is remembered about a question as delimited, quoted text of at most `max_tokens`: the best first, while it
    fits. It is data for a prompt, never instructions."""
    where = _where(given.filters)
    if given.session_id is not None:
        where["exclude_session"] = given.session_id
    began = perf_counter()
    made = opened(who, given).context(given.query, given.max_tokens, given.top_k, _tiers(given.filters), **where)
    _count(who, bool(made.ids), made.abstained, began)
    told: dict[str, Any] = {"abstained": made.abstained, "mode": made.mode, "note": made.note}
    facts = ContextFacts(ids=list(made.ids), count=len(made.ids), **told)
    return ContextAnswer(context=made.text, token_count=made.tokens, metadata=facts)


def messages(given: MessagesRequest, who: Who) -> MessagesAnswer:
    """A chat request in tiers: persona, gists and details of other sessions, recent turns, the new message."""
    counts = {"recent": given.recent, "gists": given.gists, "details": given.details}
    made = opened(who, given).messages(given.persona, given.session, given.message, **counts)
    return MessagesAnswer(messages=[ChatMessage.model_validate(one) for one in made])


def prompt(given: PromptRequest, who: Who) -> PromptAnswer:
    """A whole prompt as text: the session's recent turns, what was recalled from others, the new message."""
    sizes = {"recent": given.recent, "max_tokens": given.max_tokens}
    return PromptAnswer(prompt=opened(who, given).prompt(given.session, given.message, **sizes))


# -- memories ----------------------------------------------------------------------------------------------------------


def get_memory(memory_id: Id, whose: WhoseQuery, who: Who, response: Response) -> MemoryRecord:
    """One memory. The ETag is its version: send it as `If-Match` to change exactly this."""
    kept = opened(who, whose).get(str(memory_id))
    response.headers.update(etag(kept.version))
    return MemoryRecord.of(kept)


def list_memories(asked: Annotated[ListedMemories, Query()], who: Who) -> MemoryPage:
    """Memories, the newest first."""
    filters = asked.model_dump(
        include={"session", "since", "until", "min_importance", "archived", "history"}, exclude_none=True
    )
    filters |= {f"{name}s": [value] for name in ("kind", "tag", "trust") if (value := getattr(asked, name)) is not None}
    memory = opened(who, asked)
    place = paging.read(asked.cursor, memory.scope, ["memories", filters])
    page, after = paging.memories(memory, asked.limit, place, filters)
    cursor = None if after is None else paging.write(after, memory.scope, ["memories", filters])
    return MemoryPage(memories=[MemoryRecord.of(one) for one in page], next_cursor=cursor)


def list_records(asked: Annotated[ListedRecords, Query()], who: Who) -> MemoryPage:
    """Records, the newest first, by type and project tag."""
    memory, about = opened(who, asked), ["records", asked.type, asked.project_tag]
    place = paging.read(asked.cursor, memory.scope, about)
    filters: dict[str, Any] = {} if asked.type is None else {"kinds": [asked.type]}
    way = _way(memory, asked.project_tag, filters) if place is None else place.way
    if way == "tag":
        filters["tags"] = [asked.project_tag]
    elif way == "project":
        filters["project"] = asked.project_tag
    page, after = paging.memories(memory, asked.limit, place, filters)
    cursor = None if after is None else paging.write(after._replace(way=way), memory.scope, about)
    return MemoryPage(memories=[MemoryRecord.of(one) for one in page], next_cursor=cursor)


def _way(memory: Recollect, tag: str | None, kinds: dict[str, Any]) -> str:
    """What a project tag is here: nothing, a tag that is borne, or else the name of a project."""
    if tag is None:
        return ""
    borne = len(tag) <= MAX_TAG_CHARS and memory.memories(1, tags=[tag], **kinds)
    return "tag" if borne else "project"


def memory_versions(memory_id: Id, whose: WhoseQuery, who: Who) -> MemoryVersions:
    """How a memory read before, oldest first."""
    memory = opened(who, whose)
    kept = memory.get(str(memory_id))
    return MemoryVersions(id=kept.id, versions=[MemoryVersionRecord.of(old) for old in memory.versions(kept.id)])


def memory_why(memory_id: Id, whose: WhoseQuery, who: Who) -> BeliefRecord:
    """Why a memory is believed: the words it rests on, who said them, its history, and what says otherwise."""
    return BeliefRecord.of(opened(who, whose).belief(str(memory_id)))


def stats(whose: WhoseQuery, who: Who) -> StatsAnswer:
    """What is remembered here, in figures."""
    memory = opened(who, whose)
    tally = memory.store.stats.tally(memory.scope, memory.filter(), by="day")
    held = memory.store.stats.held(memory.scope)
    return StatsAnswer(
        memories=tally.memories,
        tokens=tally.tokens,
        kinds=dict(tally.kinds),
        tags=dict(tally.tags),
        days=dict(tally.periods),
        sessions=held.sessions,
        turns=held.turns,
        pending=held.pending,
    )


def export(whose: WhoseQuery, who: Who) -> StreamingResponse:
    """Everything of the scope as JSON Lines: sessions with their events and gists, memories with their versions.

    `recollect import` takes it in elsewhere. A stream that breaks off before its end was not all of it.
    """
    memory = opened(who, whose)
    name = f"recollect-{who.clock():%Y-%m-%d}.jsonl"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(lines_of(memory), media_type="application/x-ndjson", headers=headers)


def lines_of(memory: Recollect) -> Iterator[bytes]:
    """What an export is sent as, piece by piece: no more than one page of it is held at a time.

    Its first record is read at once: what is refused is refused before the answer begins.
    """
    exported = memory.export()
    return _pieces(chain((next(exported),), exported))


def _pieces(exported: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    chunk = bytearray()
    for record in exported:
        chunk += orjson.dumps(record, default=str) + b"\n"
        if len(chunk) >= _CHUNK:
            yield bytes(chunk)
            chunk.clear()
    yield bytes(chunk)


# -- between our words and theirs --------------------------------------------------------------------------------------


def _where(filters: Filters | None) -> dict[str, Any]:
    """The filters as the façade has them."""
    if filters is None:
        return {}
    where = {name: value for name in _FILTERS if (value := getattr(filters, name)) is not None}
    types = ["note" if one == "conversation" else one for one in filters.content_types or ()]
    kinds = list(dict.fromkeys([*types, *(filters.kinds or ())]))
    return {**where, "kinds": kinds} if kinds else where


def _tiers(filters: Filters | None) -> tuple[Any, ...]:
    return TIERS if filters is None or filters.tiers is None else tuple(filters.tiers)


def _count(who: Asked, found: bool, abstained: bool, began: float) -> None:
    if who.metrics is not None:
        outcome = "answered" if found else "abstained" if abstained else "empty"
        who.metrics.recalled(outcome, perf_counter() - began)


def _facets(memory: Recollect, where: Filter) -> Facets:
    return Facets.of(memory.store.stats.tally(memory.scope, where, by="month"))


def _result(who: Asked, hit: Hit) -> SearchResult:
    return SearchResult(
        id=hit.id,
        tier=hit.tier,
        content=hit.content,
        content_type=hit.kind or hit.tier,
        score=hit.score,
        parts=ScoreParts.of(hit.parts),
        age_days=round(age_days(hit.occurred_at, who.clock()), 4),
        age=hit.age,
        origin=hit.origin,
        trust=hit.trust,  # type: ignore[arg-type]
        tags=list(hit.tags),
        importance=hit.parts.importance,
        session=hit.session,
        context_id=hit.project,
        why=hit.why,
        created_at=hit.recorded_at,
        occurred_at=hit.occurred_at,
        superseded_by=hit.superseded_by,
        notes=list(hit.notes),
        evidence=[Span.of(span) for span in hit.evidence],
    )
