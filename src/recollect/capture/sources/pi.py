"""pi: `~/.pi/agent/sessions/--<cwd with dashes>--/<time>_<session>.jsonl`, a tree of entries in one file.

    {"type":"session","version":3,"id":S,"timestamp":T,"cwd":C,"parentSession":"/…/<time>_<parent>.jsonl"}
    {"type":"message","id":"a1b2c3d4","parentId":P,"timestamp":T,"message":{"role":"user","content":[…],"timestamp":ms}}
    {"type":"message", …, "message":{"role":"assistant","content":[{"type":"thinking"|"text"|"toolCall", …}],"model":M,
     "stopReason":"stop"|"toolUse"|"error"|"aborted","usage":{"input":…,"output":…,"cacheRead":…,"cost":{"total":USD}}}}
    {"type":"message", …, "message":{"role":"toolResult","toolCallId":I,"toolName":N,"content":[…],"isError":false}}
    {"type":"compaction"|"branch_summary","summary":…}   {"type":"custom_message", …}   {"type":"session_info","name":…}

An entry's id has eight digits: only with its time does it name an event. A fork copies entries with both. All branches
are read; where one begins stands a rewind. Files of version 1 have no ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from recollect.capture.bodies import decoded
from recollect.capture.lines import records
from recollect.capture.toolcall import describe, result_origin
from recollect.capture.transcript import Reading, Transcript, dict_of, moment, text_of, whole
from recollect.model import Body, Cost, Event

flavor = "pi"

_ROLES = frozenset("user assistant toolResult bashExecution custom hookMessage branchSummary compactionSummary".split())
_EXIT = re.compile(r"Command exited with code (\d{1,5})\b")


def roots(home: Path, env: Mapping[str, str]) -> list[Path]:
    given = env.get("PI_CODING_AGENT_DIR", "").strip()
    return [(Path(given).expanduser() if given else home / ".pi" / "agent") / "sessions"]


def discover(root: Path) -> Iterator[Transcript]:
    for path in sorted(root.rglob("*.jsonl")):
        yield Transcript(flavor, root, path, _native(path.name), (path,))


def _native(name: str) -> str:
    """The session's id out of a file name `<time>_<id>.jsonl`."""
    stem = name.removesuffix(".jsonl")
    return stem.split("_", 1)[-1] or stem


def recognises(record: Mapping[str, Any]) -> bool:
    kind = record.get("type")
    if kind == "session":
        return isinstance(record.get("cwd"), str) and isinstance(record.get("id"), str) and "timestamp" in record
    message = dict_of(record.get("message"))
    # Droid's entries look the same but for the time in milliseconds within.
    return kind == "message" and text_of(message.get("role")) in _ROLES and isinstance(message.get("timestamp"), int)


def read(reading: Reading) -> Iterator[Event | Cost]:
    state = _State(reading)
    for record in records(reading):
        kind = text_of(record.get("type"))
        handle = _HANDLERS.get(kind)
        yield from state.follow(record)
        if handle is not None:
            yield from handle(state, record)
        elif kind not in _IGNORED:
            reading.counts["unknown_records"] += 1


class _State:
    """What is carried from line to line."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.calls: dict[str, tuple[str, str]] = {}  # call id -> tool name, action
        self.entries: set[str] = set()
        self.last: str | None = None
        self.begun = False

    def follow(self, record: Mapping[str, Any]) -> Iterator[Event]:
        """A rewind where an entry continues from an earlier one than the last."""
        entry = record.get("id")
        if not isinstance(entry, str) or record.get("type") == "session":
            return
        parent = record.get("parentId")
        # A parent that is not here (a label left out of a fork) tells nothing.
        known = parent is None or (isinstance(parent, str) and parent in self.entries)
        if self.last is not None and parent != self.last and known:
            meta = {"what": "rewind", "to": parent or ""}
            at = moment(record.get("timestamp"))
            yield self.reading.event("state", "system", "user", "", at, _id(self, record, "state"), meta)
        self.entries.add(entry)
        self.last = entry


def _session(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    reading = state.reading
    reading.model(record.get("modelId"))
    if state.begun:
        return
    state.begun = True
    reading.native = text_of(record.get("id")) or reading.native
    reading.cwd = text_of(record.get("cwd")) or None
    parent = text_of(record.get("parentSession")) or text_of(record.get("branchedFrom"))
    if parent:
        name = PurePosixPath(parent.replace("\\", "/")).name
        reading.parent, reading.relation = f"{flavor}:{_native(name)}", "fork"
    yield from ()


def _message(state: _State, record: dict[str, Any]) -> Iterator[Event | Cost]:
    message = dict_of(record.get("message"))
    handle = _SPEAKERS.get(text_of(message.get("role")))
    if handle is None:
        state.reading.counts["unknown_records"] += 1
        return
    at = moment(record.get("timestamp")) or moment(message.get("timestamp"))
    yield from handle(state, record, message, at)


def _user(state: _State, record: dict[str, Any], message: Mapping[str, Any], at: datetime | None) -> Iterator[Event]:
    text, bodies = _content(message.get("content"))
    if text.strip():
        native = _id(state, record, "user_prompt")
        yield state.reading.event("user_prompt", "user", "user", text, at, native, bodies=bodies)


def _assistant(
    state: _State, record: dict[str, Any], message: Mapping[str, Any], at: datetime | None
) -> Iterator[Event | Cost]:
    event = state.reading.event
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        block = dict_of(block)
        kind = block.get("type")
        if kind == "toolCall":
            yield _call(state, record, block, at)
            continue
        said, field = ("thinking", "thinking") if kind == "thinking" else ("assistant_text", "text")
        text = block.get(field)
        if isinstance(text, str) and text.strip():
            yield event(said, "assistant", "assistant", text, at, _id(state, record, said))
    yield from _ending(state, record, message, at)
    yield from _cost(state, record, message, at)


def _call(state: _State, record: Mapping[str, Any], block: Mapping[str, Any], at: datetime | None) -> Event:
    name, call = text_of(block.get("name")) or "unknown", text_of(block.get("id"))
    kind, text, meta = describe(name, block.get("arguments"), call)
    state.calls[call] = name, meta["action"]
    return state.reading.event(kind, "assistant", "assistant", text, at, _id(state, record, kind), meta)


def _ending(
    state: _State, record: Mapping[str, Any], message: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    """How an answer ended when it did not end by itself."""
    reason, text = message.get("stopReason"), text_of(message.get("errorMessage"))
    if reason == "error":
        yield state.reading.event("error", "system", "tool", text or "error", at, _id(state, record, "error"))
    elif reason == "aborted":
        native = _id(state, record, "human_intervention")
        yield state.reading.event("human_intervention", "system", "user", text or "aborted", at, native)


def _cost(state: _State, record: Mapping[str, Any], message: Mapping[str, Any], at: datetime | None) -> Iterator[Cost]:
    usage = dict_of(message.get("usage"))
    total = dict_of(usage.get("cost")).get("total")
    cost = state.reading.cost(
        _id(state, record, "cost"),
        at,
        message.get("model"),
        input=usage.get("input"),
        output=usage.get("output"),
        cache_read=usage.get("cacheRead"),
        cache_write_5m=usage.get("cacheWrite"),
        # A model pi knows no price of costs 0 in its file: that is not a price.
        usd=total if isinstance(total, int | float) and total > 0 else None,
    )
    if cost.tokens or cost.usd:
        yield cost


def _result(state: _State, record: dict[str, Any], message: Mapping[str, Any], at: datetime | None) -> Iterator[Event]:
    call = text_of(message.get("toolCallId"))
    text, bodies = _content(message.get("content"))
    tool, action = state.calls.get(call, (text_of(message.get("toolName")), ""))
    failed = message.get("isError") is True
    meta: dict[str, Any] = {"call": call, "tool": tool, "action": action}
    meta = {name: value for name, value in meta.items() if value} | {"error": failed}
    if action == "shell":
        code = _EXIT.search(text[-200:]) if failed else None
        if code or not failed:
            meta["exit"] = int(code[1]) if code else 0
    native = _id(state, record, "tool_result")
    yield state.reading.event("tool_result", "tool", result_origin(action), text, at, native, meta, bodies)


def _shell(state: _State, record: dict[str, Any], message: Mapping[str, Any], at: datetime | None) -> Iterator[Event]:
    """A command a person ran with `!`, and what it printed."""
    command, output = text_of(message.get("command")), text_of(message.get("output"))
    if command.strip():
        native = _id(state, record, "user_prompt")
        yield state.reading.event("user_prompt", "user", "user", f"!{command}", at, native)
    meta: dict[str, Any] = {"tool": "bash", "action": "shell"}
    code = message.get("exitCode")
    if isinstance(code, int) and not isinstance(code, bool):
        meta |= {"exit": code, "error": code != 0}
    native = _id(state, record, "tool_result")
    yield state.reading.event("tool_result", "tool", "tool", output, at, native, meta)


def _injected(
    state: _State, record: dict[str, Any], message: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    text, bodies = _content(message.get("content"))
    if text.strip():
        meta = {"from": text_of(message.get("customType"))}
        native = _id(state, record, "injected_context")
        yield state.reading.event("injected_context", "system", "tool", text, at, native, meta, bodies)


def _summary(state: _State, record: dict[str, Any], message: Mapping[str, Any], at: datetime | None) -> Iterator[Event]:
    text = text_of(message.get("summary"))
    if text.strip():
        native = _id(state, record, "summary")
        yield state.reading.event("summary", "system", "assistant", text, at, native)


def _custom_message(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    yield from _injected(state, record, record, moment(record.get("timestamp")))


def _branch_summary(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    yield from _summary(state, record, record, moment(record.get("timestamp")))


def _compaction(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    at = moment(record.get("timestamp"))
    meta = {"tokens": whole(record.get("tokensBefore"))}
    yield state.reading.event("compaction", "system", "tool", "", at, _id(state, record, "compaction"), meta)
    yield from _summary(state, record, record, at)


def _model(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    state.reading.model(record.get("modelId"))
    yield from ()


def _named(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    state.reading.titled(record.get("name"))
    yield from ()


def _content(content: object) -> tuple[str, tuple[Body, ...]]:
    if isinstance(content, str):
        return content, ()
    texts: list[str] = []
    bodies: list[Body] = []
    for block in content if isinstance(content, list) else ():
        block = dict_of(block)
        if block.get("type") == "image":
            body = decoded(text_of(block.get("data")), block.get("mimeType"))
            bodies += [body] if body else []
            texts.append("[image]")
        else:
            texts.append(text_of(block.get("text")))
    return "\n".join(filter(None, texts)), tuple(bodies)


def _id(state: _State, record: Mapping[str, Any], kind: str) -> tuple[str, ...]:
    entry, time = text_of(record.get("id")), text_of(record.get("timestamp"))
    if entry:
        return state.reading.again("entry", entry, time, kind)
    return state.reading.again(state.reading.native, time, kind)


_HANDLERS = {
    "message": _message,
    "session": _session,
    "compaction": _compaction,
    "branch_summary": _branch_summary,
    "custom_message": _custom_message,
    "model_change": _model,
    "session_info": _named,
}
_SPEAKERS = {
    "user": _user,
    "assistant": _assistant,
    "toolResult": _result,
    "bashExecution": _shell,
    "custom": _injected,
    "hookMessage": _injected,
    "branchSummary": _summary,
    "compactionSummary": _summary,
}
_IGNORED = frozenset(("thinking_level_change", "custom", "label"))
