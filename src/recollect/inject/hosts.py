"""Each host's form of the same selection: how much it takes, and how its hook wants it said.

A host whose hooks are not listened to (Grok) has its text in a file instead. Tokens are counted on the safe side: three
bytes each, which is one for each Chinese, Japanese or Korean character.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from recollect.errors import InvalidInput
from recollect.inject.selection import Selection
from recollect.inject.standing import content, delimited, entry, filed, tagged

START = "SessionStart"
ROOM = 200  # characters that stay free for the line a hook adds when nobody reads what hooks leave (`unread`)
Shape = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class Form:
    """What one host takes. Characters are those of all that its hook prints; 0 means no limit but the budget."""

    name: str
    shape: Shape | None = None  # the event and the text as its hook prints them; None when there is no hook to do it
    frame: Callable[[str, datetime | None], str] = tagged
    ages: bool = True  # a file outlives the day, so it tells dates alone, and changes only when memories do
    max_chars: int = 0
    max_tokens: int = 0
    max_lines: int = 0
    max_bytes: int = 0

    def fits(self, text: str, budget: int) -> bool:
        """Whether the host takes this text whole and it stays within the budget."""
        said, room = (self.shape(START, text), ROOM) if self.shape else (text, 0)
        tokens = count_tokens(text)
        return (
            tokens <= budget
            and (not self.max_tokens or tokens + room // 3 <= self.max_tokens)
            and (not self.max_chars or len(said) + room <= self.max_chars)
            and (not self.max_lines or text.count("\n") <= self.max_lines)
            and (not self.max_bytes or len(text.encode()) <= self.max_bytes)
        )


@dataclass(frozen=True, slots=True)
class Block:
    """A text for one host, the memories in it, and its size in tokens. Nothing to say is an empty text."""

    host: str
    text: str
    ids: tuple[str, ...]
    tokens: int

    @property
    def output(self) -> str:
        """Exactly what the host's hook prints at the start of a session."""
        return said(self.host, START, self.text)


def count_tokens(text: str) -> int:
    """About how many tokens, on the safe side."""
    return -(-len(text.encode("utf-8", "replace")) // 3)


def _additional_context(event: str, text: str) -> str:
    return _json({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


HOSTS = {
    host.name: host
    for host in (
        Form("claude", _additional_context, max_chars=10_000),
        Form("codex", _additional_context, max_chars=10_000, max_tokens=2_500),
        Form("gemini", _additional_context, max_chars=10_000),
        Form("opencode", _additional_context, max_chars=10_000),
        Form("cursor", lambda event, text: _json({"additional_context": text}), max_chars=10_000),
        Form("grok", frame=filed, ages=False, max_lines=200, max_bytes=25_000),
        Form("file", frame=filed, ages=False, max_lines=200, max_bytes=25_000),
        Form("prompt", frame=delimited),
    )
}
HOOKED = tuple(name for name, host in HOSTS.items() if host.shape)


def host_of(name: str) -> Form:
    """A host by its name, or InvalidInput."""
    if name not in HOSTS:
        raise InvalidInput(f"unknown host {name[:40]!r}", hint="Hosts: " + ", ".join(HOSTS))
    return HOSTS[name]


def said(name: str, event: str, text: str) -> str:
    """A text as this host's hook prints it at an event; empty stays empty."""
    shape = host_of(name).shape
    return shape(event, text) if shape and text else text


def compiled(selection: Selection, host: Form, budget: int, told: Callable[..., str] = entry) -> Block:
    """The best of a selection in the host's form: whole memories, stopping at the first that does not fit.

    `told` is how one memory is told, for who tells the same ones often.
    """
    at = selection.at if host.ages else None
    notes = selection.notes
    said = [(one.kind, told(one, at, mixed=selection.mixed, notes=notes.get(one.id, ()))) for one in selection.memories]
    text, kept = "", 0
    suggestion = selection.suggestion
    if suggestion and not host.fits(host.frame(content((), selection.ailment, suggestion), at), budget):
        suggestion = None
    for number in range(len(said) + 1):
        if inner := content(said[:number], selection.ailment, suggestion):
            longer = host.frame(inner, at)
            if not host.fits(longer, budget):
                break
            text, kept = longer, number
    ids = tuple(memory.id for memory in selection.memories[:kept])
    return Block(host.name, text, ids, count_tokens(text))
