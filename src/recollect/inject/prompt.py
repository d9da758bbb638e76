"""A whole prompt as text: the conversation so far, what was recalled for it, the new message."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.model import Event

_SPEAKERS = {"user": "User", "assistant": "Assistant"}


def build(recent: Sequence[Event], context: str, message: str) -> str:
    """History, then the context in its frame, then `User: …`; what is empty leaves nothing behind."""
    talk = [f"{_SPEAKERS[event.role]}: {event.text}" for event in recent if event.role in _SPEAKERS]
    return "\n\n".join(part for part in ("\n".join(talk), context.strip("\n"), f"User: {message}") if part) + "\n"
