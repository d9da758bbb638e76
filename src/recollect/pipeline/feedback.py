"""What somebody says of a memory's use is checked and kept; what it comes to goes out.

In: a memory, a verdict, and where it was so. A verdict is data about a memory, never a word of the memory itself. An
agent's word counts once a session that is really there, and neither writes over nor takes back what the user said.
"""

from __future__ import annotations

from datetime import datetime

from recollect.errors import InvalidInput, NotFound
from recollect.model import Scope, check_id
from recollect.pipeline.cleaning import without_secrets
from recollect.recall.usefulness import Usage, usage
from recollect.settings import Settings
from recollect.store.port import Store
from recollect.store.ports.use import AGENT, GIVEN, USER, Feedback
from recollect.text import require_text

NOTE_CHARS = 1_000


def give(
    store: Store,
    scope: Scope,
    settings: Settings,
    now: datetime,
    memory_id: str,
    verdict: str,
    *,
    session: str | None = None,
    note: str | None = None,
    undo: bool = False,
    source: str = USER,
) -> Usage:
    """Keep a verdict on a memory, or take it back; returns how the memory stands."""
    if verdict not in GIVEN:
        raise InvalidInput(f"unknown verdict {str(verdict)[:40]!r}", hint="Verdicts: " + ", ".join(GIVEN))
    if source not in (USER, AGENT):
        raise InvalidInput("feedback is given by a user or an agent")
    if session is not None:
        check_id(session, "session")
        if source == AGENT and store.sessions.get(scope, session) is None:
            session = None  # else it could make up as many as it likes, and each would count
    if undo:
        own = AGENT if source == AGENT else None
        if not store.use.take_back(scope, memory_id, verdict, session, at=now, source=own):
            where = f" in session {session[:60]}" if session else ""
            who = "no agent" if own else "nobody"
            raise NotFound(f"{who} said {verdict} of it{where}", hint=f"`recollect show {memory_id}` tells what was.")
    else:
        clean = _clean(note, settings)
        store.use.give(scope, Feedback(memory_id, verdict, now, session, source, clean))
    return usage(store, scope, memory_id, now, settings.use_half_life_days)


def _clean(note: str | None, settings: Settings) -> str | None:
    """The note without secrets."""
    if note is None or not note.strip():
        return None
    clean, _ = without_secrets({"why": require_text(note, "note", NOTE_CHARS)}, settings)
    return str(clean["why"])
