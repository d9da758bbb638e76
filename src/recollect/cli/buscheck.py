"""The bus looked at, in words, for `recollect doctor`: whether Redis answers, what waits, what is dead, what is odd."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.findings import Finding
from recollect.cli.wording import counted
from recollect.errors import RecollectError

if TYPE_CHECKING:
    from recollect.bus.stream import Figures
    from recollect.settings import Settings


def look(settings: Settings) -> list[Finding]:
    """One row on the stream, and one for each setting that is odd; nothing where no Redis is set."""
    if not settings.redis_url:
        return []
    from recollect.bus.cautions import cautions
    from recollect.bus.connecting import connect, told
    from recollect.bus.stream import Stream

    try:
        client = connect(settings.redis_url)
        try:
            with told():
                row = _stream(Stream(client, settings).figures(), settings)
        finally:
            client.close()
    except RecollectError as error:
        row = Finding("bus", "bad", str(error), error.hint)
    return [row, *(Finding("bus", "bad" if one.stops else "note", one.text, one.todo) for one in cautions(settings))]


def _stream(seen: Figures, settings: Settings) -> Finding:
    waits = f"{counted(seen.lag, 'events')} {'waits' if seen.lag == 1 else 'wait'}"
    late = seen.lag and 0 < settings.health_stuck_seconds < seen.oldest_seconds
    if seen.lag and not seen.readers:
        waits += " and nobody reads the stream"
    elif late:
        waits += f", the oldest for {seen.oldest_seconds:,.0f} seconds"
    text = f"Redis answers; {waits}, {counted(seen.dead, 'dead letters')}"
    if seen.lag and not seen.readers:
        return Finding("bus", "note", text, "`recollect worker` or `recollect serve` reads it.")
    if late:
        return Finding("bus", "bad", text, "The log of the worker or server says what it waits for.")
    if seen.dead:
        return Finding("bus", "note", text, "`recollect bus dead` says why; `requeue` or `drop` them.")
    return Finding("bus", "ok", text)
