"""One memory by its id under /memory, which every role gives. It comes last: its address would hide others below it."""

from __future__ import annotations

from fastapi import Response

from recollect.http.answering import Router
from recollect.http.routes.changing import Id, WhoseQuery
from recollect.http.routes.common import TAGGED, Who
from recollect.http.routes.retrieval import get_memory
from recollect.http.schemas.memories import MemoryRecord


def router() -> Router:
    """The one route."""
    routes = Router(tags=["memories"])
    routes.get("/memory/{memory_id}", responses=TAGGED)(get_record)
    return routes


def get_record(memory_id: Id, whose: WhoseQuery, who: Who, response: Response) -> MemoryRecord:
    """One memory, as GET /memories/{memory_id}."""
    return get_memory(memory_id, whose, who, response)
