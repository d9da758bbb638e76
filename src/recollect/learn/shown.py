"""What a session shows, as text that can be kept, and a mark that tells whether it still holds.

Signals and health come in and go out unchanged: what is read back is equal to what was put in. The mark names all that
they are made from: the digest and the last event of the session, what is known of the session itself, and the version
of the rules. Text that is damaged, or of another form, is none: the session is then simply read again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from recollect.learn.signals import SIGNALS_VERSION
from recollect.learn.values import Health, Penalty, Signal, Waste
from recollect.model import Session
from recollect.store.ports.learn import SignalState
from recollect.version import __version__


def mark_of(session: Session, state: SignalState) -> str:
    """What a session's signals are made from, in short."""
    of = [__version__, SIGNALS_VERSION, state.version, state.covers, state.made_at, state.last]
    about = [session.id, session.flavor, session.project, session.parent, session.relation, session.cwd]
    return hashlib.sha256(json.dumps([*of, *about, session.interactive]).encode("utf-8", "surrogatepass")).hexdigest()[
        :32
    ]


def packed(signals: Sequence[Signal], health: Health) -> str:
    """Signals and health of one session as text."""
    told = [[one.name, one.count, one.points] for one in health.penalties]
    return json.dumps(
        {"signals": [_packed(one) for one in signals], "health": [health.score, told, health.outcome]},
        separators=(",", ":"),
    )


def unpacked(session: Session, text: str) -> tuple[list[Signal], Health] | None:
    """The same back; None when the text is not one of ours."""
    try:
        found = json.loads(text)
        score, told, outcome = found["health"]
        penalties = tuple(Penalty(str(name), int(count), int(points)) for name, count, points in told)
        health = Health(session.id, session.flavor, int(score), penalties, str(outcome))
        return [_unpacked(session, one) for one in found["signals"]], health
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _packed(one: Signal) -> list[Any]:
    cost = [one.cost.seconds, one.cost.tokens, one.cost.usd]
    about = [one.kind, one.key, one.statement, one.root, one.at.isoformat(), list(one.events)]
    return [*about, one.origin, one.count, cost, dict(one.detail)]


def _unpacked(session: Session, told: Sequence[Any]) -> Signal:
    kind, key, statement, root, at, events, origin, count, (seconds, tokens, usd), detail = told
    return Signal(
        kind=kind,
        key=key,
        statement=statement,
        session=session.id,
        root=root,
        flavor=session.flavor,
        project=session.project,
        at=datetime.fromisoformat(at),
        events=tuple(events),
        origin=origin,
        count=count,
        cost=Waste(seconds, tokens, usd),
        detail=detail,
    )
