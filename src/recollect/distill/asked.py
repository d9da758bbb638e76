"""What a language model is asked: events, utterances or memories in, bounded questions out.

Whatever was said goes out as JSON between two lines with a word nobody can guess, and the instructions say that it is
data. Secrets are taken out once more first, before anything is cut. Events go by short names (`e1`, `e2` …), which the
answer must cite. A long session becomes several questions, each event in one of them, so what is asked grows with the
session and no faster.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from recollect.clock import iso
from recollect.distill.gist import Utterance
from recollect.model import KINDS, Event, Memory
from recollect.models.language import MAX_CALL_BYTES, Ask
from recollect.text import present, storable

Redact = Callable[[str], str]

# What a model is used for -> the prompt in force. A changed prompt is a new file with the next number.
PROMPTS = {"turn": "turn-1", "session": "session-1", "gist": "gist-1", "collision": "collision-1"}
MAX_TOKENS = {"turn": 1_200, "session": 2_400, "gist": 800, "collision": 400}
MAX_RECORDS = {"turn": 3, "session": 8}
VERDICTS = ("same", "newer", "contradiction", "unrelated")

_AROUND = 2_048  # bytes of a request that are neither instructions, schema nor record
_CHARS = {"user": 4_000, "assistant": 2_000, "tool": 600, "gist": 4_000}  # of one text; the middle is left out
_SPOKEN = frozenset(("user_prompt", "assistant_text", "human_intervention"))
_DONE = frozenset(("tool_call", "tool_result", "test_run", "edit", "error"))
_LOOKING = frozenset(("read", "search", "fetch", "plan", "task"))  # what such tools show is not what was learned
_CUT = " […] "


def _object(**properties: Any) -> dict[str, Any]:
    """A schema in the strict form that every provider takes: all of it is there, and nothing else."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _one_of(words: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(words)}


_TEXT = {"type": "string"}
_RECORD = _object(
    kind=_one_of([kind for kind in KINDS if kind != "skill_idea"]),
    content=_TEXT,
    why=_TEXT,
    tags=_list(_TEXT),
    importance={"type": "number"},
    evidence=_list(_object(event=_TEXT, quote=_TEXT)),
)
SCHEMAS: dict[str, Mapping[str, Any]] = {
    "turn": _object(memories=_list(_RECORD)),
    "session": _object(memories=_list(_RECORD)),
    "gist": _object(gist=_TEXT),
    "collision": _object(verdict=_one_of(VERDICTS)),
}


@dataclass(frozen=True, slots=True)
class Question:
    """One question about events: what to ask, which event each short name means, and the last position it shows."""

    ask: Ask
    names: Mapping[str, Event] = field(repr=False)
    last: int


@cache
def prompt_text(use: str) -> str:
    """The instructions for a use."""
    return (Path(__file__).parent / "prompts" / f"{PROMPTS[use]}.txt").read_text(encoding="utf-8").strip()


def ask_about_events(events: Sequence[Event], redact: Redact) -> Iterator[tuple[str, Question]]:
    """(use, question) for each part of what happened; none when nobody said anything.

    One prompt with its answer is a turn; more is a session.
    """
    shown = [event for event in events if _is_shown(event)]
    if not any(event.kind in _SPOKEN for event in shown):
        return
    use = "turn" if sum(event.kind == "user_prompt" for event in events) <= 1 else "session"
    builder = _Builder(use)
    names: dict[str, Event] = {}
    last = -1
    for event in shown:
        line = _line(_record(event, f"e{len(names) + 1}", redact))
        if not builder.takes(line):
            yield use, Question(builder.ask(), names, last)
            builder, names = _Builder(use), {}
            line = _line(_record(event, "e1", redact))
        builder.add(line)
        names[f"e{len(names) + 1}"] = event
        last = event.position
    yield use, Question(builder.ask(), names, max(event.position for event in events))


def ask_for_gist(said: Sequence[Utterance], redact: Redact) -> Iterator[Ask]:
    """Questions for the gist of each part of what was said."""
    builder = _Builder("gist")
    begun = False
    for one in said:
        line = _line({"who": one.role, "text": _cleaned(one.text, one.role, redact)})
        if not builder.takes(line):
            yield builder.ask()
            builder = _Builder("gist")
        builder.add(line)
        begun = True
    if begun:
        yield builder.ask()


def ask_about_collision(first: Memory, second: Memory, redact: Redact) -> Ask:
    """How a memory stands to an older one."""
    builder = _Builder("collision")
    for which, memory in (("first", first), ("second", second)):
        text = _cleaned(memory.content, "user", redact)
        builder.add(_line({"which": which, "at": iso(memory.occurred_at), "text": text}))
    return builder.ask()


class _Builder:
    """One question, filled line by line up to what a call may have."""

    def __init__(self, use: str) -> None:
        self._use = use
        self._mark = secrets.token_hex(8)
        self._lines: list[str] = []
        self._system = prompt_text(use).replace("{mark}", self._mark)
        self._room = MAX_CALL_BYTES - _AROUND - _bytes(self._system) - _bytes(SCHEMAS[use])

    def takes(self, line: str) -> bool:
        """Whether a line still fits; the first one always does."""
        return not self._lines or _bytes(line) <= self._room

    def add(self, line: str) -> None:
        self._lines.append(line)
        self._room -= _bytes(line)

    def ask(self) -> Ask:
        edge = f"=== {self._mark} ==="
        prompt = "\n".join((edge, *self._lines, edge))
        return Ask(self._system, prompt, SCHEMAS[self._use], MAX_TOKENS[self._use])


def _is_shown(event: Event) -> bool:
    if not event.text.strip() or event.origin == "injected":
        return False
    return event.kind in _SPOKEN or (event.kind in _DONE and event.meta.get("action") not in _LOOKING)


def _record(event: Event, name: str, redact: Redact) -> dict[str, str]:
    who = event.role if event.kind in _SPOKEN and event.role in ("user", "assistant") else "tool"
    record = {"id": name, "who": who}
    if event.kind in _DONE and isinstance(event.meta.get("tool"), str):
        record["tool"] = _cleaned(event.meta["tool"][:60], "tool", redact)
    return {**record, "text": _cleaned(event.text, who, redact)}


def _cleaned(text: str, who: str, redact: Redact) -> str:
    """Text as it may leave: without secrets, without what cannot be seen, and not too long."""
    text = present(redact(storable(text))).strip()
    limit = _CHARS.get(who, 600)
    if len(text) <= limit:
        return text
    half = (limit - len(_CUT)) // 2
    return text[:half] + _CUT + text[-half:]


def _line(record: Mapping[str, str]) -> str:
    return json.dumps(record, ensure_ascii=False)


def _bytes(value: Any) -> int:
    """What a value takes in the body of a request."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
