"""What can go wrong between a publisher and the memory."""

from __future__ import annotations

from recollect.errors import InvalidInput, RecollectError


class BusUnavailable(RecollectError):
    """Redis cannot be reached."""


class KeysUnreadable(BusUnavailable):
    """The file of Redis keys cannot be used as it is."""


class BadMessage(InvalidInput):
    """This is not an event."""


class Forged(BadMessage):
    """Nobody whom we know signed this event."""


class Replayed(BadMessage):
    """This signed event was sent before, or too long ago."""
