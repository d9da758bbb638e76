"""Digests that are due: sessions that grew since theirs was made, and all of them when the rules changed."""

from __future__ import annotations

from collections.abc import Iterator

from recollect.clock import Clock
from recollect.distill.digest import DIGEST_VERSION, digest_of
from recollect.model import Event, Scope
from recollect.store.port import Store

_PAGE = 500


def digest_due(store: Store, scope: Scope, clock: Clock) -> int:
    """Make every digest that is due; returns how many were made."""
    made = 0
    for session_id in store.digests.due(scope, version=DIGEST_VERSION):
        made += make_digest(store, scope, session_id, clock)
    return made


def make_digest(store: Store, scope: Scope, session_id: str, clock: Clock) -> bool:
    """Make one session's digest again from its events."""
    session = store.sessions.get(scope, session_id)
    if session is None:
        return False
    walk = _Walk(store, scope, session_id)
    digest = digest_of(session, walk, store.captures.costs(scope, session_id))
    if walk.last < 0:
        return False
    store.digests.put(scope, digest, covers=walk.last, at=clock())
    return True


class _Walk:
    """A session's events a page at a time, remembering the last one."""

    def __init__(self, store: Store, scope: Scope, session: str) -> None:
        self._store, self._scope, self._session = store, scope, session
        self.last = -1

    def __iter__(self) -> Iterator[Event]:
        while page := self._store.sessions.history(self._scope, self._session, after=self.last, first=_PAGE):
            yield from page
            self.last = page[-1].position
