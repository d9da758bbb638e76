"""The signals of one session: each family looks at the same reading and yields what it finds."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.distill.digest import Digest
from recollect.learn.reading import read_session
from recollect.learn.signals.commands import command_signals
from recollect.learn.signals.edits import edit_signals
from recollect.learn.signals.errors import error_signals
from recollect.learn.signals.instructions import instruction_signals
from recollect.learn.signals.people import people_signals
from recollect.learn.signals.recipes import recipe_signals
from recollect.learn.values import Signal
from recollect.model import Event, Session

SIGNALS_VERSION = 2
MAX_SIGNALS = 300
_FAMILIES = (*(error_signals, command_signals, edit_signals, people_signals, instruction_signals, recipe_signals),)


def signals_of(session: Session, digest: Digest, events: Sequence[Event]) -> list[Signal]:
    """Every signal of a session, from its events in order of position. The same rows give the same signals."""
    if not events:
        return []
    reading = read_session(session, digest, events)
    return [signal for family in _FAMILIES for signal in family(reading)][:MAX_SIGNALS]
