"""One session written out: as records that can be imported again, or as Markdown for people.

In: a store, a scope and a session. Out: an iterator over records or pieces of text; a long session is read a little at
a time and never held as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from recollect.clock import iso
from recollect.model import Event, Scope, Session
from recollect.store.port import Store
from recollect.text import one_line, present

_EVENTS = 200  # read at a time
_SPEAKERS = {"user_prompt": "User", "assistant_text": "Agent", "summary": "Summary", "error": "Error"}
_CALLS = ("tool_call", "edit", "test_run")
_FENCES = re.compile(r"`{3,}")
_LONG = 4_000  # characters of a tool's result that are written out


def records_of(store: Store, scope: Scope, session: Session, *, now: datetime) -> Iterator[dict[str, Any]]:
    """A session as an export has it: itself, its events, costs and gist, and the memories made of it."""
    from recollect.store.portable import FORMAT, export_memory, export_session

    yield {"type": "recollect", "format": FORMAT, "exported_at": iso(now)}
    yield from export_session(store, scope, session)
    for memory in store.memories.of_session(scope, session.id):
        yield export_memory(memory, store.memories.versions(scope, memory.id))


def markdown_of(store: Store, scope: Scope, session: Session) -> Iterator[str]:
    """A session as Markdown: what was said in full, calls with their results, thoughts left out."""
    digest = None if session.title else store.digests.get(scope, session.id)
    yield f"# {one_line(session.title or (digest and digest.goal) or session.id, 200)}\n\n"
    for name, value in _facts(session):
        if value:
            yield f"- {name}: {one_line(str(value), 300)}\n"
    gist = store.gists.get(scope, session.id)
    if gist is not None:
        yield f"\n## Gist\n\n{_quoted(gist.content)}\n"
    yield "\n## Transcript\n"
    for event in _events(store, scope, session.id):
        yield from _event(event)


def _facts(session: Session) -> Iterator[tuple[str, object]]:
    yield "Session", f"`{session.id}`"
    yield "Agent", " ".join(filter(None, (session.flavor, session.agent_version)))
    yield "Models", ", ".join(session.models)
    yield "Project", session.project
    yield "Branch", session.branch
    yield "Began", session.started_at and f"{session.started_at:%Y-%m-%d %H:%M} UTC"
    yield "Last event", session.ended_at and f"{session.ended_at:%Y-%m-%d %H:%M} UTC"
    yield "Outcome", session.outcome


def _events(store: Store, scope: Scope, session: str) -> Iterator[Event]:
    after = -1
    while page := store.sessions.history(scope, session, after=after, first=_EVENTS):
        yield from page
        after = page[-1].position


def _event(event: Event) -> Iterator[str]:
    if event.kind in _SPEAKERS and event.text.strip():
        yield f"\n### {_SPEAKERS[event.kind]}, {event.occurred_at:%Y-%m-%d %H:%M} UTC\n\n{_quoted(event.text)}\n"
    elif event.kind in _CALLS:
        tool = one_line(str(event.meta.get("tool") or event.kind), 60)
        yield f"\n**{tool}**\n{_fenced(event.text)}"
    elif event.kind == "tool_result" and event.text.strip():
        code = event.meta.get("exit")
        told = f" (exit {code})" if isinstance(code, int) and code else ""
        yield f"\nResult{told}:\n{_fenced(event.text)}"
    elif event.kind == "compaction":
        yield "\n*The context was compacted here.*\n"


def _quoted(text: str) -> str:
    """Somebody's words as a quotation, so that nothing in them is a heading of ours."""
    return "\n".join(f"> {line}".rstrip() for line in present(text).strip().splitlines())


def _fenced(text: str) -> str:
    """Text in a fence that nothing in it can close."""
    shown = present(text).strip("\n")
    left = len(shown) - _LONG
    if left > 0:
        shown = f"{shown[:_LONG]}\n[… {left:,} characters more …]"
    fence = "`" * max(3, 1 + max((len(found[0]) for found in _FENCES.finditer(shown)), default=0))
    return f"{fence}\n{shown}\n{fence}\n"
