"""What tools return, as text: every remembered line quoted as data, each result within the bytes a client will take.

Stored text comes out defanged, through `line`, `label` or `quote` alone. A line of a result begins with `[` (ours), `>`
(quoted) or, for `recall`, `-`; nothing that was remembered can look like one of ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import datetime

from recollect.clock import age_label
from recollect.frame import name_of
from recollect.inject.defang import defang
from recollect.inject.excerpt import excerpt
from recollect.inject.quote import NOTICE, label
from recollect.model import Hit, Memory, MemoryVersion
from recollect.text import estimate_tokens, one_line

MAX_BYTES = 19_500  # of the text as JSON; with what stands around it a result is below 20,000
ROW_CHARS = 160
_ROOM = 600  # bytes kept for the notice and the last lines


def line(text: str, limit: int = ROW_CHARS) -> str:
    """Remembered text on one line."""
    return one_line(defang(text), limit)


def size(text: str) -> int:
    """How many bytes a text takes in a result."""
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace"))


def counted(count: int, what: str) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def cut(text: str, most: int, shape: Callable[[str], str] = str) -> str:
    """As much of the beginning as fits into so many bytes, in the shape it is shown in."""
    while text and (takes := size(shape(text))) > most:
        text = text[: min(len(text) - 1, len(text) * most // takes)]
    return text


def page(entries: Iterable[str], *closing: str) -> str:
    """The notice, as many whole entries as fit, and what is to be said at the end."""
    kept: list[str] = []
    room, left = MAX_BYTES - _ROOM - sum(map(size, closing)), 0
    for entry in entries:
        if left or size(entry) > room:
            left += 1
            continue
        kept.append(entry)
        room -= size(entry)
    ends = [*closing, *([f"[{left} more did not fit; ask for fewer]"] if left else [])]
    body = "\n".join([*kept, *ends])
    return f"{NOTICE} {name_of(body)}\n{body}"


# -- one thing remembered ----------------------------------------------------------------------------------------------


def hit_row(hit: Hit, question: str) -> str:
    """A hit in short: id, kind, age, who said it, what its full text costs; then one line of it."""
    tokens = estimate_tokens(hit.content) + estimate_tokens(hit.why or "")
    who = f"shared, {hit.trust}" if hit.context else said(hit.origin, hit.trust)
    parts = [label(hit.id, 255), hit.kind or hit.tier, hit.age, who, f"~{tokens:,} tokens"]
    parts += ["superseded"] if hit.superseded_by else []
    parts += [label(note, 80) for note in hit.notes]
    return f"[{' · '.join(parts)}]\n> {line(excerpt(one_line(hit.content), question, ROW_CHARS))}"


def memory_row(memory: Memory, now: datetime) -> str:
    """A memory in short, like a hit."""
    tokens = estimate_tokens(memory.content) + estimate_tokens(memory.why or "")
    age, who = age_label(memory.occurred_at, now), said(memory.origin, memory.trust)
    return f"[{memory.id} · {memory.kind} · {age} · {who} · ~{tokens:,} tokens]\n> {line(memory.content)}"


def said(origin: str, trust: str) -> str:
    """Who said it, and whether that was checked."""
    return f"said by {origin}" + (", checked" if trust == "checked" else "")


def memory_head(memory: Memory, now: datetime) -> str:
    """Everything about a memory that is not its text."""
    parts = [memory.id, memory.kind, said(memory.origin, memory.trust)]
    parts.append(f"{memory.occurred_at:%Y-%m-%d} ({age_label(memory.occurred_at, now)})")
    parts += [f"project {label(memory.project, 80)}"] if memory.project else []
    parts += [f"session {label(memory.session, 255)}"] if memory.session else []
    parts += [f"importance {memory.importance:g}", f"version {memory.version}"]
    parts += ["archived"] if memory.archived_at else []
    parts += [f"expires {memory.expires_at:%Y-%m-%d}"] if memory.expires_at else []
    return f"[{' · '.join(parts)}]"


def reasons(memory: Memory) -> list[str]:
    """Why, tags and anchors, where there are any."""
    found = [f"> why: {line(memory.why, 1_000)}"] if memory.why else []
    found += [f"[tags: {label(', '.join(memory.tags), 500)}]"] if memory.tags else []
    return found + ([f"[anchors: {label(', '.join(memory.anchors), 500)}]"] if memory.anchors else [])


def version_row(old: MemoryVersion) -> str:
    """How a memory read before."""
    return f"[version {old.version}, until {old.until:%Y-%m-%d %H:%M} UTC]\n> {line(old.content, 500)}"


def record(kind: str, content: str, tags: tuple[str, ...], why: str | None) -> str:
    """`[type] content`, then its tags and why, each on a line of its own."""
    lines = [f"[{kind}] {line(content, 1_000)}"]
    lines += [f"- tags: {line(', '.join(tags), 500)}"] if tags else []
    lines += [f"- why: {line(why, 1_000)}"] if why else []
    return "\n".join(lines)
