"""What leaves as a whole is noted in the audit before its first record is given: how much it is, and with which key.

Reading piece by piece is not noted, or the audit would be full of it. An export is everything at once: rare, and the
first thing that whoever finds a key would ask for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from datetime import datetime
from typing import Any

from recollect.errors import StoreFull, StoreReadOnly
from recollect.model import Scope, Session
from recollect.pipeline.transcribing import records_of
from recollect.store import portable
from recollect.store.port import Store
from recollect.store.ports.memories import Filter


def export(store: Store, scope: Scope, *, now: datetime) -> Iterator[dict[str, Any]]:
    """Everything in scope, as records for JSON Lines; nothing is made or noted where there is nothing."""
    held = store.stats.held(scope)
    everything = Filter(now=now, archived=True, history=True)
    memories = store.stats.tally(scope, everything, by="month", most=1).memories
    counts = {"sessions": held.sessions, "turns": held.turns, "memories": memories}
    if any(counts.values()):
        _note(store, scope, "everything" if scope.project is None else "project", counts, now)
    yield from portable.export(store, scope, now=now)


def export_session(store: Store, scope: Scope, session: Session, *, now: datetime) -> Iterator[dict[str, Any]]:
    """The same of one session."""
    note_session(store, scope, session, now=now)
    yield from records_of(store, scope, session, now=now)


def note_session(store: Store, scope: Scope, session: Session, *, now: datetime) -> None:
    """Note that a session leaves; it is told by its first event, as where it was recorded."""
    first = store.sessions.history(scope, session.id, first=1)
    counts = {"sessions": 1, "turns": session.turns}
    _note(store, scope, first[0].key if first else "session", counts, now)


def _note(store: Store, scope: Scope, subject: str, counts: Mapping[str, int], now: datetime) -> None:
    """What cannot be noted is given to nobody who came with a key; whoever has the machine can save what is theirs."""
    with suppress(StoreFull, StoreReadOnly) if scope.key is None else nullcontext():
        store.audit.note(scope.within(None), "export", subject, at=now, details=counts)
