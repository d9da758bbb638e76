"""Detecting: reads the sessions of a store, and says what repeats in them.

Sessions with a digest come in, one after the other, each with its events; a `Detection` goes out. What one session
shows is computed from it alone, so the work grows with the number of sessions; and it is kept, so that the next time
only sessions that changed are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from recollect.errors import InvalidInput, RecollectError
from recollect.learn.cluster import MIN_FREQUENCY, candidates_of
from recollect.learn.health import by_flavor, health_of
from recollect.learn.rank import ranked
from recollect.learn.shown import mark_of, packed, unpacked
from recollect.learn.signals import signals_of
from recollect.learn.values import Detection, Health, Signal
from recollect.model import Scope, Session
from recollect.store.port import Store
from recollect.store.ports.learn import SignalState

Progress = Callable[[int, int], None]
_PAGE = 500
_CHUNK = 100  # sessions whose signals are fetched and kept together


@dataclass(frozen=True, slots=True)
class Survey:
    """What every session of a scope shows by itself."""

    sessions: tuple[Session, ...]  # those with a digest
    signals: tuple[Signal, ...]
    health: tuple[Health, ...]  # of each of them
    parents: Mapping[str, str]  # session -> the one it worked for


def detect(
    store: Store,
    scope: Scope,
    *,
    since: datetime | None = None,
    project: str | None = None,
    min_frequency: int = MIN_FREQUENCY,
    now: datetime,
    progress: Progress = lambda done, total: None,
    kept: bool = True,
) -> Detection:
    """What repeats in the sessions of a scope, of one project or of all, that went on after `since`."""
    if isinstance(min_frequency, bool) or not isinstance(min_frequency, int) or not 1 <= min_frequency <= 10_000:
        raise InvalidInput("the lowest frequency is a whole number from 1 to 10,000")
    scope = scope.within(project if project is not None else scope.project)
    seen = survey(store, scope, since=since, progress=progress, kept=kept)
    found = candidates_of(seen.signals, min_frequency=min_frequency, parents=seen.parents)
    return Detection(tuple(ranked(found, now)), len(seen.health), len(seen.signals), by_flavor(seen.health))


def survey(
    store: Store,
    scope: Scope,
    *,
    since: datetime | None = None,
    progress: Progress = lambda done, total: None,
    kept: bool = True,
) -> Survey:
    """The signals and the health of each session of a scope; without `kept`, every session is read."""
    sessions = [one for one in _sessions(store, scope) if _wanted(one, scope.project, since)]
    states = store.signals.states(scope)
    due = [one for one in sessions if one.id in states]
    read: list[Session] = []
    signals: list[Signal] = []
    health: list[Health] = []
    for start in range(0, len(due), _CHUNK):
        chunk = due[start : start + _CHUNK]
        for number, (session, found, well) in enumerate(_shown(store, scope, chunk, states, kept=kept)):
            progress(start + number, len(due))
            read.append(session)
            signals += found
            health.append(well)
    progress(len(due), len(due))
    parents = {one.id: one.parent for one in sessions if one.parent}
    return Survey(tuple(read), tuple(signals), tuple(health), parents)


def _shown(
    store: Store, scope: Scope, sessions: Sequence[Session], states: Mapping[str, SignalState], *, kept: bool
) -> Iterator[tuple[Session, list[Signal], Health]]:
    """What each of some sessions shows: as it was kept, or read anew and then kept for the next time."""
    marks = {one.id: mark_of(one, states[one.id]) for one in sessions}
    known = store.signals.kept(scope, [id_ for id_, mark in marks.items() if states[id_].mark == mark]) if kept else {}
    made: dict[str, tuple[SignalState, str, str]] = {}
    for session in sessions:
        mark, text = known.get(session.id, ("", ""))
        found = unpacked(session, text) if mark == marks[session.id] else None
        if found is None:
            found = _read(store, scope, session)
            if found is None:
                continue
            made[session.id] = (states[session.id], marks[session.id], packed(*found))
        yield session, *found
    if made and kept:
        with suppress(RecollectError):  # a store that cannot be written to now is read again the next time
            store.signals.keep(scope, made)


def _read(store: Store, scope: Scope, session: Session) -> tuple[list[Signal], Health] | None:
    digest = store.digests.get(scope, session.id)
    if digest is None:
        return None
    return signals_of(session, digest, store.sessions.history(scope, session.id)), health_of(digest)


def _sessions(store: Store, scope: Scope) -> Iterator[Session]:
    offset = 0
    while page := store.sessions.find(scope, limit=_PAGE, offset=offset):
        yield from page
        offset += len(page)


def _wanted(session: Session, project: str | None, since: datetime | None) -> bool:
    if project is not None and session.project != project:
        return False
    last = session.ended_at or session.started_at
    return since is None or (last is not None and last >= since)
