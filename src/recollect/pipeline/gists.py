"""Gists are made again when a session has grown enough, by one maker at a time, from where the truth is: its events."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from recollect.clock import Clock
from recollect.distill.gist import ExtractiveSummarizer, Summarizer, gist_of
from recollect.errors import ModelError, NotFound
from recollect.model import Event, Gist, Scope, Session
from recollect.store.port import Store

LEASE = timedelta(minutes=5)
IDLE = timedelta(minutes=30)


def summarize(store: Store, scope: Scope, session: str, summarizer: Summarizer, clock: Clock) -> Gist | None:
    """Make the session's gist now; None when somebody else is making it or nothing was said."""
    about = store.sessions.get(scope, session)
    if about is None:
        raise NotFound(f"no session {session}")
    now = clock()
    if not store.gists.lease(scope, session, now=now, until=now + LEASE):
        return None
    try:
        content, maker, last = _written(store, scope, about, summarizer)
        if content and last is not None:
            store.gists.put(scope, Gist(session, content, last.position, last.occurred_at, clock(), maker))
        return store.gists.get(scope, session) if content else None
    finally:
        store.gists.release(scope, session)


def _written(store: Store, scope: Scope, about: Session, summarizer: Summarizer) -> tuple[str, str, Event | None]:
    """The gist, who wrote it, and the last event it tells of; None when there is nothing new.

    A summarizer that is paid for by the word carries the gist on from where it ended, so that a session costs what it
    is long and not its square. When it cannot be had, the gist is made of the session's own sentences.
    """
    if getattr(summarizer, "incremental", False):
        old = store.gists.get(scope, about.id)
        events = store.sessions.history(scope, about.id, after=-1 if old is None else old.covers)
        earlier = "" if old is None else old.content
        if not events:
            return earlier, summarizer.name, None
        with suppress(ModelError):
            paid = summarizer.for_session(about) if hasattr(summarizer, "for_session") else summarizer
            return gist_of(events, paid, earlier) or earlier, summarizer.name, events[-1]
        summarizer = ExtractiveSummarizer()
    events = store.sessions.history(scope, about.id)
    return gist_of(events, summarizer), summarizer.name, events[-1] if events else None


def summarize_due(
    store: Store,
    scope: Scope,
    summarizer: Summarizer,
    clock: Clock,
    after: int,
    stop: Callable[[], bool] = lambda: False,
) -> int:
    """Make the gists of every session that has grown by `after` events, or that has grown and gone quiet."""
    due = store.gists.due(scope, after=after, quiet_since=clock() - IDLE)
    made = 0
    for session in due:
        if stop():
            break
        with suppress(NotFound):  # forgotten meanwhile
            made += summarize(store, scope, session, summarizer, clock) is not None
    return made
