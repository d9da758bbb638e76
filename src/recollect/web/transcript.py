"""One session as people read it: turns with what was said, calls with their results, what stood behind it folded away.

In: the events of one page, each perhaps cut. Out: turns of blocks, which hold all that a template shows. However long
the texts are, a page is bounded: once it has had its share, what follows on it is cut shorter. What the agent was told
stands where it was told, and a call that started a helper leads to the helper's session.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import SequenceMatcher
from itertools import islice
from typing import Any, NamedTuple

from recollect.model import Event
from recollect.pipeline.following import is_failure
from recollect.store.ports.browse import Child, Passage
from recollect.text import one_line
from recollect.web.paths import anchor
from recollect.web.sessions import Told

EVENTS = 150  # on a page
MOST = 6_000  # characters of one text that are read for a page
_SPOKEN, _BEHIND, _BRIEF = 6_000, 2_500, 300  # characters shown of words, of what is folded, and once a page is full
_FULL = 420_000  # characters after which a page is full
_TOLD = 20_000  # characters of what the agent was told at once
_ASKED = 120  # characters by which what a helper was asked is known again
_FIELDS = 20  # arguments of a call that are shown
_DIFF_LINES = 120
_CALLS = ("tool_call", "edit", "test_run")
_SPEAKERS = {"user_prompt": "User", "assistant_text": "Agent", "summary": "Summary", "error": "Error"}
_FOLDED = {"thinking": "Thought", "injected_context": "Context from the host"}
_NOTES = {
    "compaction": "The context was compacted",
    "human_intervention": "Somebody stepped in",
    "retry": "The request was sent again",
    "state": "Note",
}
_OLD, _NEW = ("old_string", "old_str", "oldText", "old_text"), ("new_string", "new_str", "newText", "new_text")
_WHOLE = ("content", "file_text", "contents")


class DiffLine(NamedTuple):
    """A line of an edit: ` `, `-` or `+`, and its text."""

    sign: str
    text: str


@dataclass(slots=True)
class Block:
    """One thing in a transcript. `kind` is speech, call, result, folded, note or told."""

    kind: str
    key: str
    at: datetime
    who: str = ""
    text: str = ""
    left: int = 0  # characters that are not shown
    line: str = ""  # what stands for it while it is folded
    origin: str = ""
    failed: bool | None = None  # of a call: None while it has no result here
    code: int | None = None  # exit
    fields: list[tuple[str, str]] = field(default_factory=list)
    diff: list[DiffLine] = field(default_factory=list)
    result: Block | None = None
    bodies: tuple[Any, ...] = ()
    task: bool = False  # of a call: it gave a helper something to do
    helper: str | None = None  # of a call and its result: what the helper is called
    started: str | None = None  # of a call: the session of the helper
    memories: Sequence[tuple[str, str]] = ()  # that were told: id, words
    marked: bool = False
    opened: bool = False  # something inside is marked

    @property
    def anchor(self) -> str:
        return anchor(self.key)


@dataclass(slots=True)
class TurnView:
    """A turn on a page, or as much of it as is there."""

    number: int  # from 1
    at: datetime
    continued: bool = False
    blocks: list[Block] = field(default_factory=list)

    @property
    def is_marked(self) -> bool:
        """Whether the event to be shown is in it."""
        return any(block.marked or block.opened for block in self.blocks)


class _Room:
    """How much of a page is left."""

    def __init__(self) -> None:
        self.used = 0

    def cut(self, text: str, most: int) -> str:
        """As much of a text as there is room for."""
        shown = text[: most if self.used < _FULL else min(most, _BRIEF)]
        self.used += len(shown)
        return shown


def turns_of(
    passages: Sequence[Passage],
    *,
    marked: str | None = None,
    continues: bool = False,
    told: Sequence[Told] = (),
    helpers: Sequence[Child] = (),
) -> list[TurnView]:
    """A page as turns. `continues`: its first turn began on the page before; `marked`: the event to be shown.

    `told` is what the agent was told while these events happened, the earliest first; `helpers` are the sessions that
    were started from this one.
    """
    room, pairs = _Room(), _Pairs()
    turns: list[TurnView] = []
    waiting = deque(told)
    for passage in passages:
        event = passage.event
        if not turns or turns[-1].number != passage.turn + 1:
            turns.append(TurnView(passage.turn + 1, event.occurred_at, continued=continues and not turns))
        while waiting and waiting[0].at <= event.occurred_at:
            turns[-1].blocks.append(_told(waiting.popleft(), room))
        block = _block(passage, room)
        if block is not None:
            block.marked = event.key == marked
            if not pairs.took(block, event.meta.get("call")):
                turns[-1].blocks.append(block)
    if turns:
        turns[-1].blocks += [_told(one, room) for one in waiting]
    for turn in turns:
        turn.blocks = [block for block in turn.blocks if block.key not in pairs.joined]
        for block in turn.blocks:
            if block.task:
                block.started = _started(block, helpers)
    return [turn for turn in turns if turn.blocks]


def told_between(told: Sequence[Told], after: datetime | None, until: datetime | None) -> list[Told]:
    """What was told after one event and up to another, the earliest first; None: from the first, to the last."""
    here = (one for one in told if (after is None or one.at > after) and (until is None or one.at <= until))
    return sorted(here, key=lambda one: one.at)


def _told(one: Told, room: _Room) -> Block:
    """What the agent was told at a moment, as one line."""
    number = len(one.memories)
    text = one.exact if one.exact is not None else "\n\n".join(words for _, words in one.memories)
    return Block(
        "told",
        f"told {one.at.isoformat()}",
        one.at,
        who=f"Told {one.host}",
        line=f"{number:,} {'memory' if number == 1 else 'memories'}",
        text=room.cut(text, _TOLD),
        origin="" if one.exact is None else "exact",
        memories=one.memories,
    )


def _started(call: Block, helpers: Sequence[Child]) -> str | None:
    """The session that a call started: by the name its result gives, else by what was asked."""
    if call.helper:
        return next((one.session.id for one in helpers if one.session.id.endswith(f"agent-{call.helper}")), None)
    asked = one_line(call.text, _ASKED)
    return next((one.session.id for one in helpers if asked and one_line(one.goal or "", _ASKED) == asked), None)


class _Pairs:
    """Calls and their results, whichever comes first: a result stands with the call it is of."""

    def __init__(self) -> None:
        self._calls: dict[str, Block] = {}
        self._results: dict[str, Block] = {}
        self.joined: set[str] = set()  # results that were shown before their call came

    def took(self, block: Block, call: object) -> bool:
        """Whether it is shown inside another."""
        if not isinstance(call, str):
            return False
        if block.kind == "call":
            self._calls[call] = block
            early = self._results.pop(call, None)
            if early is not None:
                _join(block, early)
                self.joined.add(early.key)
        elif block.kind == "result":
            asked = self._calls.get(call)
            if asked is not None and asked.result is None:
                _join(asked, block)
                return True
            self._results.setdefault(call, block)
        return False


def _join(call: Block, result: Block) -> None:
    """A result stands with the call it is of."""
    call.result, call.failed, call.code = result, result.failed, result.code
    call.opened, call.helper = result.marked, result.helper


def _block(passage: Passage, room: _Room) -> Block | None:
    event = passage.event
    if event.kind in _SPEAKERS and (event.text.strip() or event.bodies):
        return _made("speech", passage, room, _SPOKEN, who=_SPEAKERS[event.kind])
    if event.kind in _CALLS:
        return _call(passage, room)
    if event.kind == "tool_result":
        block = _made("result", passage, room, _BEHIND, who=one_line(str(event.meta.get("tool") or ""), 60))
        block.failed, block.code = is_failure(event.meta), _exit(event)
        block.line = one_line(event.text[:400], 140)
        helper = event.meta.get("agent")
        block.helper = helper[:100] if isinstance(helper, str) and helper else None
        return block
    if event.kind in _FOLDED and event.text.strip():
        block = _made("folded", passage, room, _BEHIND, who=_FOLDED[event.kind])
        block.line = one_line(event.text[:400], 140)
        return block
    if event.kind in _NOTES:
        what = one_line(str(event.meta.get("what") or ""), 40).replace("_", " ")
        said = f"{_NOTES[event.kind]}{f' ({what})' if what else ''}"
        return _made("note", passage, room, 400, who=said)
    return None  # ends of turns, and what is empty


def _made(kind: str, passage: Passage, room: _Room, most: int, **more: Any) -> Block:
    event = passage.event
    text = room.cut(event.text, most)
    left = passage.chars - len(text)
    return Block(
        kind, event.key, event.occurred_at, text=text, left=left, origin=event.origin, bodies=event.bodies, **more
    )


def _call(passage: Passage, room: _Room) -> Block:
    event = passage.event
    tool = one_line(str(event.meta.get("tool") or event.kind), 60)
    block = _made("call", passage, room, _BEHIND, who=tool)
    block.line = one_line(event.text[:400], 160)
    block.task = event.meta.get("action") == "task"
    given = event.meta.get("input")
    if isinstance(given, Mapping):
        block.diff = _diff(given, room)
        block.fields = list(_fields(given, room, skip=(*_OLD, *_NEW) if block.diff else ()))
    if event.meta.get("long"):
        block.fields = [("arguments", "too long for this page")]
    return block


def _fields(given: Mapping[str, Any], room: _Room, skip: Iterable[str]) -> Iterable[tuple[str, str]]:
    left_out = set(skip)
    for name, value in islice(given.items(), _FIELDS):
        if name not in left_out and value not in (None, "", [], {}):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            shown = room.cut(text, _BEHIND)
            yield one_line(str(name), 60), f"{shown} …" if len(shown) < len(text) else shown


def _diff(given: Mapping[str, Any], room: _Room) -> list[DiffLine]:
    """The lines an edit takes away and puts in; nothing when it is no such edit."""
    old = next((given[name] for name in _OLD if isinstance(given.get(name), str)), None)
    new = next((given[name] for name in _NEW if isinstance(given.get(name), str)), None)
    if old is None or new is None:
        return []
    before, after = room.cut(old, MOST).splitlines()[:400], room.cut(new, MOST).splitlines()[:400]
    found: list[DiffLine] = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            found += _few([DiffLine(" ", line) for line in before[a:b]])
        else:
            found += [DiffLine("-", line) for line in before[a:b]] + [DiffLine("+", line) for line in after[c:d]]
    return [*found[:_DIFF_LINES], DiffLine(" ", "…")] if len(found) > _DIFF_LINES else found


def _few(same: list[DiffLine]) -> list[DiffLine]:
    """What stayed, where there is much of it only its ends."""
    return same if len(same) <= 6 else [*same[:3], DiffLine(" ", "…"), *same[-3:]]


def _exit(event: Event) -> int | None:
    code = event.meta.get("exit")
    return code if isinstance(code, int) and not isinstance(code, bool) else None
