"""What happened around a time or a hit: turns, gists and memories of the sessions near it, in their order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.clock import now, parse_time
from recollect.errors import InvalidInput
from recollect.inject.quote import label
from recollect.mcp import rows
from recollect.model import Event, Session

if TYPE_CHECKING:
    from recollect.facade import Recollect

_SESSIONS = 8  # sessions near a moment that are looked into
_LOOKED = 1_000  # of the latest sessions, those among which the near ones are sought
_READ = 2_000  # characters of a message that are looked at for its one line
_EDGE = datetime.max.replace(tzinfo=UTC)


class Moment(NamedTuple):
    """One thing that happened."""

    at: datetime
    order: int
    row: str
    id: str


def timeline(memory: Recollect, given: dict[str, Any]) -> str:
    """The rows nearest to what was asked for, oldest first."""
    around, limit = given.get("around", ""), given.get("limit", 20)
    moments, center = _found(memory, around)
    if not moments:
        return "[nothing happened around that]"
    chosen = _nearest(moments, center, limit)
    closing = f"[{len(chosen)} of {rows.counted(len(moments), 'row')}; memory_get gives the full text]"
    return rows.page([moment.row for moment in chosen], closing)


def _found(memory: Recollect, around: str) -> tuple[list[Moment], int]:
    """Everything near it in order, and which of them stands in the middle."""
    sessions, at, id_ = _place(memory, around)
    moments = [moment for session in sessions for moment in _of_session(memory, session)]
    moments += _memories(memory, at, {moment.id for moment in moments})
    moments.sort(key=lambda moment: (moment.at, moment.order))
    named = [place for place, moment in enumerate(moments) if moment.id == id_]
    if named:
        return moments, named[0]
    return moments, sum(moment.at <= at for moment in moments)


def _place(memory: Recollect, around: str) -> tuple[list[Session], datetime, str]:
    """The sessions to look into, the moment, and the id that was meant."""
    if not around:
        return memory.sessions(_SESSIONS), now(), ""
    kept = memory.store.memories.get(memory.scope, around)
    if kept is not None and kept.deleted_at is None:
        event = next((span.event for span in kept.evidence if span.event), None)
        home = kept.session or next((span.session for span in kept.evidence), None)
        session = memory.store.sessions.get(memory.scope, home) if home else None
        near = [session] if session else _sessions_near(memory, kept.occurred_at)
        return near, kept.occurred_at, event or kept.id
    turn = memory.turn(around)
    if turn is not None:
        session = memory.store.sessions.get(memory.scope, turn.session)
        return [session] if session else [], turn.occurred_at, turn.id
    session = memory.store.sessions.get(memory.scope, around)
    if session is not None:
        return [session], session.ended_at or now(), ""
    try:
        at = parse_time(around)
    except InvalidInput:
        raise InvalidInput(
            f"{around[:60]!r} is neither a time nor an id that is known here",
            hint="Give ISO 8601, for example 2026-11-15T09:30, or an id from memory_search.",
        ) from None
    return _sessions_near(memory, at), at, ""


def _sessions_near(memory: Recollect, at: datetime) -> list[Session]:
    def distance(session: Session) -> timedelta:
        start, end = session.started_at or _EDGE, session.ended_at or session.started_at or _EDGE
        return max(start - at, at - end, timedelta(0))

    return sorted(memory.sessions(_LOOKED), key=distance)[:_SESSIONS]


def _of_session(memory: Recollect, session: Session) -> Iterator[Moment]:
    """The turns of a session, each under the id it can be read by, and its gist at the end."""
    name = label(session.id, 255)
    for order, (key, turn) in enumerate(_turns(memory.history(session.id))):
        at = turn[0].occurred_at
        head = f"[{at:%Y-%m-%d %H:%M} UTC · turn {key} · session {name}]"
        yield Moment(at, order, f"{head}\n" + "\n".join(map(_words, _ends(turn))), key)
    gist = memory.gist(session.id)
    if gist is not None:
        head = f"[{gist.occurred_at:%Y-%m-%d %H:%M} UTC · gist of session {name}]"
        yield Moment(gist.occurred_at, 1_000_000, f"{head}\n> {rows.line(gist.content, 300)}", session.id)


def _turns(events: list[Event]) -> Iterator[tuple[str, list[Event]]]:
    """What was said in each turn, with the turn's id: the key of the event that began it."""
    key = ""
    turn: list[Event] = []
    for event in events:
        if event.role == "user" or not key:
            if turn:
                yield key, turn
            key, turn = event.key, []
        if event.text.strip() and event.kind in ("user_prompt", "assistant_text"):
            turn.append(event)
    if turn:
        yield key, turn


def _ends(turn: list[Event]) -> list[Event]:
    """What was asked, and the last that was answered."""
    return [turn[0], turn[-1]] if len(turn) > 1 else turn


def _words(event: Event) -> str:
    return f"> {event.role}: {rows.line(event.text[:_READ])}"


def _memories(memory: Recollect, at: datetime, known: set[str]) -> Iterator[Moment]:
    """Memories of the days around it."""
    day = timedelta(days=1)
    since, until = max(at, datetime.min.replace(tzinfo=UTC) + 2 * day) - day, min(at, _EDGE - 2 * day) + day
    for one in memory.memories(200, since=since, until=until):
        if one.id not in known:
            yield Moment(one.occurred_at, 0, rows.memory_row(one, now()), one.id)


def _nearest(moments: list[Moment], center: int, limit: int) -> list[Moment]:
    """So many of them around the middle, in their order."""
    first = max(0, min(center - limit // 2, len(moments) - limit))
    return moments[first : first + limit]
