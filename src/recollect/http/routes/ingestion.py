"""The routes that bring something in: a memory word for word, many of them, a turn to be distilled, captured events."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fastapi import Response
from pydantic import ValidationError

from recollect.errors import RecollectError, StoreError
from recollect.facade import Recollect
from recollect.http.answering import Router
from recollect.http.asked import Asked
from recollect.http.errors import Refused, invalid, refusal_of
from recollect.http.routes import changing
from recollect.http.routes.common import Who, opened
from recollect.http.schemas.errors import ErrorDetail, FieldProblem
from recollect.http.schemas.ingesting import (
    BatchResult,
    EventsGiven,
    EventsTaken,
    Ingest,
    IngestBatch,
    Ingested,
    IngestedBatch,
    Status,
    TurnGiven,
    TurnTaken,
)
from recollect.http.schemas.memories import METADATA, SOURCE_ID, SOURCE_TYPE
from recollect.pipeline.settling import Settled

_STATUS: dict[str, Status] = {"added": "stored"}  # the others are called what they are
_NOTHING_NEW = ("known", "withheld")
_NOT_THEIRS = (
    "kept as a note: only the user's own words make a preference. A key with `speak` says so with origin `user`, "
    "and POST /memories/{id}/confirm makes one of it later."
)


def router() -> Router:
    """The routes of the ingestion role, but for tasks."""
    routes = Router(tags=["ingestion"])
    known: dict[int | str, dict[str, Any]] = {200: {"model": Ingested, "description": "It was known already."}}
    routes.post("/ingest", status_code=201, responses=known)(ingest)
    routes.post("/ingest/batch")(ingest_batch)
    routes.post("/memory/ingest", status_code=202)(ingest_turn)
    routes.post("/v1/events", status_code=202)(ingest_events)
    routes.routes += changing.router().routes
    return routes


def ingest(given: Ingest, who: Who, response: Response) -> Ingested:
    """Keep one thing, word for word. What is known already is not kept twice, and takes the place of what it corrects.

    201: there is a new memory. 200: it was known already.
    """
    settled, taken, notice = _kept(who, opened(who, given), given)
    if settled.outcome in _NOTHING_NEW:
        response.status_code = 200
    else:
        _count(who, "ingest")
    return Ingested(
        memory_id=None if settled.outcome == "withheld" else settled.memory.id,
        status=_status(settled),
        kind=settled.memory.kind,  # type: ignore[arg-type]
        redacted=taken,
        others=[one.id for one in settled.others],
        notice=notice,
    )


def ingest_batch(given: IngestBatch, who: Who) -> IngestedBatch:
    """Keep many things, each as POST /ingest would. One that cannot be kept costs only itself.

    When the store itself fails, so does the whole request; sent again, what was kept is known.
    """
    memories: dict[tuple[str | None, str | None], Recollect] = {}
    results = [_batched(who, memories, item) for item in given.items]
    known = sum(one.status in _NOTHING_NEW for one in results)
    failed = sum(one.error is not None for one in results)
    stored = len(results) - known - failed
    _count(who, "batch", stored)
    return IngestedBatch(results=results, stored=stored, known=known, failed=failed)


def ingest_turn(given: TurnGiven, who: Who) -> TurnTaken:
    """Record what a user said and what was answered, both or neither. Memories are made of it in the background.

    Through a key without `speak` nothing of it is trusted as the user's own word. Secrets are taken out first.
    """
    project = given.context_id or given.project_tag
    memory, at = who.memory(user=given.user_id, project=project), given.occurred_at or who.clock()
    session = given.session_id or f"api:{at:%Y-%m-%d}"
    said = [("user", given.user_message), ("assistant", given.assistant_message)]
    exchanges = [
        {
            "session": session,
            "role": role,
            "content": text,
            "occurred_at": given.occurred_at,
            "key": _known_by(who, given.occurred_at, role) if given.key is None else f"{given.key}:{role}",
            "meta": _noted(given.metadata),
        }
        for role, text in said
    ]
    done = memory.take_in(exchanges)
    _count(who, "turn")
    task = _distilling(who, memory, session)
    return TurnTaken(session_id=session, turn_id=done.ids[0], task=task, redacted=done.redacted)


def ingest_events(given: EventsGiven, who: Who) -> EventsTaken:
    """Record messages of conversations, in order, all or none. What is sent again with its key or time is known.

    Secrets are taken out of them, of titles and of metadata first.
    """
    memory = opened(who, given)
    exchanges = []
    titles: dict[str, str] = {}
    for number, event in enumerate(given.events):
        told = event.model_dump(include={"session", "role", "content", "occurred_at", "key"})
        told["key"] = event.key or _known_by(who, event.occurred_at, str(number))
        exchanges.append({**told, "meta": _noted(event.metadata)})
        if event.title is not None:
            titles[event.session] = event.title
    done = memory.take_in(exchanges, titles)
    _count(who, "events", len(done.ids))
    return EventsTaken(ids=list(done.ids), accepted=len(done.ids), redacted=done.redacted)


# -- how it is kept ----------------------------------------------------------------------------------------------------


def _kept(who: Asked, memory: Recollect, given: Ingest) -> tuple[Settled, int, str | None]:
    """What became of it, how many secrets were taken out, and what else to say."""
    kind = "note" if given.content_type == "conversation" else given.content_type
    origin = given.origin or ("user" if kind == "preference" and who.may("speak") else "import")
    if origin == "user":
        who.require("speak")
    notice = None
    if kind == "preference" and origin != "user":
        kind, notice = "note", _NOT_THEIRS
    meta = {SOURCE_TYPE: given.source_type, SOURCE_ID: given.source_id, METADATA: given.metadata}
    fields = {
        "content": given.content,
        "kind": kind,
        "why": given.why,
        "tags": given.tags,
        "importance": given.importance,
        "origin": origin,
        "occurred_at": given.occurred_at,
        "expires_at": given.expires_at,
        "meta": {name: value for name, value in meta.items() if value is not None},
    }
    if given.confidence is not None:
        fields["confidence"] = given.confidence
    settled, taken = memory.keep(fields)
    return settled, taken, notice


def _status(settled: Settled) -> Status:
    return _STATUS.get(settled.outcome) or settled.outcome  # type: ignore[return-value]


def _batched(who: Asked, memories: dict[tuple[str | None, str | None], Recollect], item: Any) -> BatchResult:
    try:
        given = Ingest.model_validate(item)
        whose = (given.user_id, given.context_id)
        if whose not in memories:
            memories[whose] = opened(who, given)
        settled, _, _ = _kept(who, memories[whose], given)
    except ValidationError as error:
        return BatchResult(error=_detail(invalid(error.errors(include_url=False, include_input=False))))
    except StoreError:
        raise
    except RecollectError as error:
        return BatchResult(error=_detail(refusal_of(error)))
    kept = None if settled.outcome == "withheld" else settled.memory.id
    return BatchResult(memory_id=kept, status=_status(settled), kind=settled.memory.kind)  # type: ignore[arg-type]


def _detail(refused: Refused) -> ErrorDetail:
    fields = None if refused.fields is None else [FieldProblem(**one) for one in refused.fields]
    return ErrorDetail(code=refused.code, message=refused.message, hint=refused.hint, fields=fields)


def _noted(metadata: dict[str, Any] | None) -> dict[str, Any]:
    return {} if metadata is None else {METADATA: metadata}


def _count(who: Asked, way: str, number: int = 1) -> None:
    if who.metrics is not None:
        who.metrics.ingested(way, number)


def _known_by(who: Asked, occurred_at: datetime | None, which: str) -> str | None:
    """What a message without a key or a time of its own is known by when its request is sent again."""
    return None if who.repeat_key is None or occurred_at is not None else f"{who.repeat_key}:{which}"


def _distilling(who: Asked, memory: Recollect, session: str) -> str:
    """The task that makes memories of a session. The write put it, unless nothing was new and it was done long ago."""
    found = memory.store.tasks.latest(memory.scope, "distill", session)
    return memory.store.tasks.put(memory.scope, "distill", session, at=who.clock()) if found is None else found.id
