"""Sessions as they are told over HTTP: what they are, what was said, what they were about."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

from recollect.http.schemas.memories import METADATA, MemoryRecord
from recollect.http.schemas.values import Told, carried
from recollect.model import Event, Gist, Session


class SessionRecord(Told):
    """One conversation, or one run of an agent."""

    id: str
    flavor: str
    """The agent it is of, or `chat`."""
    title: str | None = None
    project: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    turns: int
    parent: str | None = None
    relation: str = "root"
    cwd: str | None = None
    branch: str | None = None
    commit: str | None = None
    models: list[str]
    agent_version: str | None = None
    interactive: bool | None = None
    outcome: str | None = None

    @classmethod
    def of(cls, session: Session) -> Self:
        names = (
            *("id", "flavor", "title", "project", "started_at", "ended_at", "turns", "parent", "relation", "cwd"),
            *("branch", "commit", "agent_version", "interactive", "outcome"),
        )
        return cls(**{name: getattr(session, name) for name in names}, models=list(session.models))


class SessionPage(Told):
    """One page of sessions, the latest first."""

    sessions: list[SessionRecord]
    next_cursor: str | None = None


class GistRecord(Told):
    """What a session was about, in a few sentences."""

    session: str
    content: str
    covers: int
    """The position of the last event it covers."""
    occurred_at: datetime
    created_at: datetime
    maker: str
    project: str | None = None

    @classmethod
    def of(cls, gist: Gist) -> Self:
        names = ("session", "content", "covers", "occurred_at", "created_at", "maker", "project")
        return cls(**{name: getattr(gist, name) for name in names})


class SessionGist(Told):
    """The gist of a session; null when there is none, because nothing was said or it is being made."""

    session: str
    gist: GistRecord | None
    unsummarized: int
    """How many messages it does not cover yet."""


class SessionDetail(Told):
    """A session with what was made of it."""

    session: SessionRecord
    gist: GistRecord | None
    digest: dict[str, Any] | None
    """Of an agent's session: goal, files, commands, tests, errors, cost, outcome."""
    memories: list[MemoryRecord]
    """What was distilled from it, the newest first; at most 100."""


class EventRecord(Told):
    """One thing that was said or done in a session."""

    id: str
    session: str
    kind: str
    role: str
    origin: str
    content: str
    occurred_at: datetime
    recorded_at: datetime
    position: int
    metadata: dict[str, Any]
    """What was sent along with it."""

    @classmethod
    def of(cls, event: Event) -> Self:
        names = ("id", "session", "kind", "role", "origin", "content", "occurred_at", "recorded_at", "position")
        metadata = event.meta.get(METADATA) if event.way == "record" else None
        told = carried(metadata) if isinstance(metadata, dict) else {}
        return cls(**{name: getattr(event, name) for name in names}, metadata=told)


class SessionHistory(Told):
    """What was said in a session, oldest first."""

    session: str
    events: list[EventRecord]
    next_after: int | None = None
    """`after` of the next page; null: this was the last."""
