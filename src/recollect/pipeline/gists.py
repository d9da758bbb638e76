"""Gists are made again when a session has grown enough, by one maker at a time, from where the truth is: its events."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from recollect.clock import Clock
from recollect.distill.gist import Summarizer, gist_of
from recollect.errors import NotFound
from recollect.model import Gist, Scope
from recollect.store.port import Store

LEASE = timedelta(minutes=5)
IDLE = timedelta(minutes=30)


def summarize(store: Store, scope: Scope, session: str, summarizer: Summarizer, clock: Clock) -> Gist | None:
    """Make the session's gist now; None when somebody else is making it or nothing was said."""
    if store.sessions.get(scope, session) is None:
        raise NotFound(f"no session {session}")
    now = clock()
    if not store.gists.lease(scope, session, now=now, until=now + LEASE):
        return None
    try:
        events = store.sessions.history(scope, session)
        content = gist_of(events, summarizer)
        if not content:
            return None
        last = events[-1]
        gist = Gist(session, content, last.position, last.occurred_at, clock(), summarizer.name)
        store.gists.put(scope, gist)
        return store.gists.get(scope, session)
    finally:
        store.gists.release(scope, session)


def summarize_due(store: Store, scope: Scope, summarizer: Summarizer, clock: Clock, after: int) -> int:
    """Make the gists of every session that has grown by `after` events, or that has grown and gone quiet."""
    due = store.gists.due(scope, after=after, quiet_since=clock() - IDLE)
    made = 0
    for session in due:
        with suppress(NotFound):  # forgotten meanwhile
            made += summarize(store, scope, session, summarizer, clock) is not None
    return made
