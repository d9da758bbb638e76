"""The routes that change what is there: a memory edited, confirmed, restored or taken away; a session too."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Path, Query, Response

from recollect.errors import InvalidInput
from recollect.http.answering import Router
from recollect.http.routes.common import TAGGED, IfMatch, Who, etag, expected, opened, session_of
from recollect.http.schemas.asking import Forgetting, Whose
from recollect.http.schemas.memories import (
    Confirmation,
    FeedbackGiven,
    MemoryChange,
    MemoryRecord,
    ReceiptRecord,
    UsageRecord,
)
from recollect.http.schemas.sessions import GistRecord, SessionGist
from recollect.http.schemas.values import MemoryId, SessionId

WhoseQuery = Annotated[Whose, Query()]
Id = Annotated[MemoryId, Path(description="The id of a memory.")]
SessionPath = Annotated[SessionId, Path(description="The id of a session; a slash in it is sent as %2F or as it is.")]


def router() -> Router:
    """Changes to memories and sessions."""
    routes = Router(tags=["memories"])
    routes.patch("/memories/{memory_id}", responses=TAGGED)(change_memory)
    routes.post("/memories/{memory_id}/confirm", responses=TAGGED)(confirm_memory)
    routes.post("/memories/{memory_id}/restore", responses=TAGGED)(restore_memory)
    routes.post("/memories/{memory_id}/feedback")(give_feedback)
    routes.delete("/memories/{memory_id}")(forget_memory)
    routes.post("/sessions/{session_id:path}/summarize", tags=["sessions"])(summarize)
    routes.delete("/sessions/{session_id:path}", tags=["sessions"])(forget_session)
    return routes


def change_memory(
    memory_id: Id, given: MemoryChange, whose: WhoseQuery, who: Who, response: Response, if_match: IfMatch = None
) -> MemoryRecord:
    """Change a memory; how it read before is kept as a version. With `If-Match`, only if nobody changed it meanwhile.

    The words of what is trusted as the user's can be changed only through a key with `speak`.
    """
    memory, version, changes = opened(who, whose), expected(if_match), given.said()
    if not changes:
        raise InvalidInput("nothing is to be changed", hint="Send at least one field.")
    if changes.keys() == {"archived"}:
        kept = memory.archive(str(memory_id), changes["archived"], expected_version=version)
    else:
        kept = memory.update(str(memory_id), expected_version=version, **changes)
    response.headers.update(etag(kept.version))
    return MemoryRecord.of(kept)


def confirm_memory(
    memory_id: Id,
    whose: WhoseQuery,
    who: Who,
    response: Response,
    given: Annotated[Confirmation | None, Body()] = None,
    if_match: IfMatch = None,
) -> MemoryRecord:
    """The user says that it is so: from now on it is trusted as their own word, and may be a preference. With
    `If-Match`, only if nobody changed it meanwhile."""
    who.require("speak")
    kind, version = None if given is None else given.kind, expected(if_match)
    kept = opened(who, whose).confirm(str(memory_id), kind, expected_version=version)
    response.headers.update(etag(kept.version))
    return MemoryRecord.of(kept)


def restore_memory(memory_id: Id, whose: WhoseQuery, who: Who, response: Response) -> MemoryRecord:
    """Bring back a memory that was taken away softly, while its text is still there."""
    kept = opened(who, whose).restore(str(memory_id))
    response.headers.update(etag(kept.version))
    return MemoryRecord.of(kept)


def give_feedback(memory_id: Id, given: FeedbackGiven, whose: WhoseQuery, who: Who) -> UsageRecord:
    """Say that a memory was helpful, harmful or cited: its rank moves a little. Said again of the same session, it
    counts once. Without `speak` it is an agent's word."""
    memory = opened(who, whose)
    told = memory.feedback(str(memory_id), given.verdict, given.session, note=given.note, undo=given.undo)
    return UsageRecord.of(told)


def forget_memory(memory_id: Id, asked: Annotated[Forgetting, Query()], who: Who) -> ReceiptRecord:
    """Take a memory away for good; with `soft`, so that it can be restored for a week."""
    return ReceiptRecord.of(opened(who, asked).forget(str(memory_id), soft=asked.soft))


def forget_session(session_id: SessionPath, whose: WhoseQuery, who: Who) -> ReceiptRecord:
    """Take a session away for good: all that was said in it, its gist, and the memories made of it."""
    return ReceiptRecord.of(opened(who, whose).forget(session=session_id))


def summarize(session_id: SessionPath, whose: WhoseQuery, who: Who) -> SessionGist:
    """Make the session's gist now."""
    memory = opened(who, whose)
    session_of(memory, session_id)
    gist = memory.summarize(session_id) or memory.gist(session_id)
    left = memory.unsummarized(session_id)
    return SessionGist(session=session_id, gist=None if gist is None else GistRecord.of(gist), unsummarized=left)
