"""Digests that are due: sessions that grew since theirs was made, and all of them when the rules changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from recollect.clock import Clock
from recollect.distill.digest import DIGEST_VERSION, digest_of
from recollect.errors import NotFound, StoreError
from recollect.learn.health import health_of
from recollect.model import Event, Scope
from recollect.pipeline.showing import confirm_use
from recollect.store.port import Store

_PAGE = 500


def digest_due(store: Store, scope: Scope, clock: Clock) -> tuple[int, dict[str, str]]:
    """Make every digest that is due; returns how many were made, and by session why one could not be."""
    done = make_digests(store, scope, store.digests.due(scope, version=DIGEST_VERSION), clock)
    score_digests(store, scope)
    return done


def score_digests(store: Store, scope: Scope) -> int:
    """Put down the health of sessions whose digest was made before it was kept; returns how many."""
    scored: dict[str, int] = {}
    while found := store.digests.unscored(scope, limit=_PAGE):
        new = {one.session: health_of(one).score for one in found if one.session not in scored}
        if not new:
            break  # what cannot be put down now is not asked for without end
        store.digests.score(scope, new)
        scored |= new
    return len(scored)


def make_digests(store: Store, scope: Scope, sessions: Iterable[str], clock: Clock) -> tuple[int, dict[str, str]]:
    """Make these digests; one that cannot be made costs only itself, and stays due."""
    made, failed = 0, {}
    for session in sessions:
        try:
            made += make_digest(store, scope, session, clock)
        except StoreError:
            raise
        except NotFound:
            continue  # forgotten meanwhile
        except Exception as error:
            failed[session] = f"its digest cannot be made: {type(error).__name__}"  # its text may quote the session
    return made, failed


def make_digest(store: Store, scope: Scope, session_id: str, clock: Clock) -> bool:
    """Make one session's digest again from its events."""
    session = store.sessions.get(scope, session_id)
    if session is None:
        return False
    walk = _Walk(store, scope, session_id)
    digest = digest_of(session, walk, store.captures.costs(scope, session_id))
    if walk.last < 0:
        return False
    store.digests.put(scope, digest, covers=walk.last, at=clock(), health=health_of(digest).score)
    confirm_use(store, scope, digest, _Walk(store, scope, session_id))
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
