"""Addresses of pages that other pages lead to, and short names for what they lead to."""

from __future__ import annotations

import hashlib
from urllib.parse import quote, urlencode


def memory_address(memory_id: str, action: str = "") -> str:
    """The page of a memory, or what is done to it there."""
    return f"/page/memories/{quote(memory_id, safe='')}{f'/{action}' if action else ''}"


def session_address(session: str) -> str:
    """The page of a session."""
    return f"/page/sessions/{quote(session, safe='')}"


def at_event(session: str, event: str) -> str:
    """The transcript of a session, opened where an event is."""
    return f"{session_address(session)}?{urlencode({'at': event})}#{anchor(event)}"


def anchor(event: str) -> str:
    """What an event is called inside its page."""
    return f"e-{hashlib.sha256(event.encode()).hexdigest()[:12]}"


def project_label(project: str, most: int = 30) -> str:
    """A project's name in little room: of a long one the end tells most, by whole parts where they fit."""
    if len(project) <= most:
        return project
    last = project[1 - most :]
    _, slash, parts = last.partition("/")
    return f"…/{parts}" if slash and len(parts) > most // 2 else f"…{last}"
