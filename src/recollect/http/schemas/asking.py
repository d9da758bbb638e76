"""What may stand behind the `?` of an address: whose memory, which part of a list."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from recollect.http.schemas.values import Asked, ContextId, Cursor, Kind, Limit, Moment, SessionId, Tag, Trust, UserId


class Whose(Asked):
    """Whose memory a request is about, when it is not simply the key's own."""

    user_id: UserId | None = None
    """The user. Another than the key's own needs a key with `act`."""
    context_id: ContextId | None = None
    """The project: what belongs to it, and what belongs to none. Without it: every project."""


class Listed(Whose):
    """One page of a list."""

    limit: Limit = 50
    """At most this many."""
    cursor: Cursor | None = None
    """`next_cursor` of the page before, as it is."""


class ListedMemories(Listed):
    """Which memories, the newest first."""

    kind: Kind | None = None
    """Only this kind."""
    tag: Tag | None = None
    """Only those that bear this tag."""
    session: SessionId | None = None
    """Only those that come from this session."""
    trust: Trust | None = None
    """Only those trusted as this: the user's own words, checked, or quoted."""
    since: Moment | None = None
    """Only what happened at or after this time."""
    until: Moment | None = None
    """Only what happened at or before this time."""
    min_importance: float | None = Field(default=None, ge=0, le=1)
    """Only those at least this important."""
    archived: bool = False
    """Also those that were put away."""
    history: bool = False
    """Also those that were superseded or have expired."""


class ListedRecords(Listed):
    """Which records, the newest first."""

    type: Kind | None = None
    """Only this type (= kind)."""
    project_tag: ContextId | None = None
    """Only those that bear this tag or, when none does, those of the project of this name."""


class ListedHistory(Whose):
    """Which part of what was said in a session, oldest first."""

    limit: Limit = 50
    """At most this many events."""
    after: int = Field(default=-1, ge=-1, le=2**31 - 1)
    """Only events after this position; `next_after` of the page before."""
    last: bool = False
    """The last of them instead of the first; there is no next page then."""


class ListedTasks(Listed):
    """Which tasks, the newest first."""

    state: Literal["waiting", "running", "done", "dead", "cancelled"] | None = None
    """Only those in this state."""


class Forgetting(Whose):
    """How a memory is to be taken away."""

    soft: bool = False
    """Keep it for a week so that it can be restored; without it, it is gone for good."""
