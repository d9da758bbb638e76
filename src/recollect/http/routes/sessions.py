"""The routes that tell of sessions: which there are, what was said in them, what they were about."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from recollect.http.answering import Router
from recollect.http.routes import paging
from recollect.http.routes.changing import SessionPath, WhoseQuery
from recollect.http.routes.common import Who, opened, session_of
from recollect.http.schemas.asking import Listed, ListedHistory
from recollect.http.schemas.memories import MemoryRecord
from recollect.http.schemas.sessions import (
    EventRecord,
    GistRecord,
    SessionDetail,
    SessionGist,
    SessionHistory,
    SessionPage,
    SessionRecord,
)
from recollect.http.schemas.values import MAX_LIMIT, carried


def router() -> Router:
    """Sessions, to be read. What a session's address ends with stands before the address of the session itself."""
    routes = Router(tags=["sessions"])
    routes.get("/sessions")(list_sessions)
    routes.get("/sessions/{session_id:path}/history")(session_history)
    routes.get("/sessions/{session_id:path}/gist")(session_gist)
    routes.get("/sessions/{session_id:path}")(get_session)
    return routes


def list_sessions(asked: Annotated[Listed, Query()], who: Who) -> SessionPage:
    """Sessions, the latest first."""
    memory = opened(who, asked)
    place = paging.read(asked.cursor, memory.scope, "sessions")
    page, after = paging.sessions(memory, asked.limit, place)
    cursor = None if after is None else paging.write(after, memory.scope, "sessions")
    return SessionPage(sessions=[SessionRecord.of(one) for one in page], next_cursor=cursor)


def get_session(session_id: SessionPath, whose: WhoseQuery, who: Who) -> SessionDetail:
    """A session with its gist, its digest and the memories made of it."""
    memory = opened(who, whose)
    session, gist, digest = session_of(memory, session_id), memory.gist(session_id), memory.digest(session_id)
    made = memory.memories(MAX_LIMIT, session=session_id, archived=True, history=True)
    return SessionDetail(
        session=SessionRecord.of(session),
        gist=None if gist is None else GistRecord.of(gist),
        digest=None if digest is None else carried(digest.as_dict()),
        memories=[MemoryRecord.of(one) for one in made],
    )


def session_history(session_id: SessionPath, asked: Annotated[ListedHistory, Query()], who: Who) -> SessionHistory:
    """What was said in a session, oldest first, page by page."""
    memory = opened(who, asked)
    session_of(memory, session_id)
    if asked.last:
        said = [event for event in memory.recent(session_id, asked.limit) if event.position > asked.after]
        return SessionHistory(session=session_id, events=[EventRecord.of(event) for event in said])
    found = memory.store.sessions.history(memory.scope, session_id, after=asked.after, first=asked.limit + 1)
    page = found[: asked.limit]
    return SessionHistory(
        session=session_id,
        events=[EventRecord.of(event) for event in page],
        next_after=page[-1].position if len(found) > len(page) else None,
    )


def session_gist(session_id: SessionPath, whose: WhoseQuery, who: Who) -> SessionGist:
    """The gist of a session as last made, and how much of the session it does not cover yet."""
    memory = opened(who, whose)
    session_of(memory, session_id)
    gist, left = memory.gist(session_id), memory.unsummarized(session_id)
    return SessionGist(session=session_id, gist=None if gist is None else GistRecord.of(gist), unsummarized=left)
