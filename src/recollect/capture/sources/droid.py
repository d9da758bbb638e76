"""Droid (Factory): `~/.factory/sessions/[<cwd>/]<session>.jsonl` with `<session>.settings.json`; and kept streams.

    {"type":"session_start","id":S,"title":T,"cwd":C,"version":V,"parent":…,"callingSessionId":…}
    {"type":"message","id":M,"parentId":P,"timestamp":T,"message":{"role":"user"|"assistant","content":[
     {"type":"text"|"thinking"|"image", …}, {"type":"tool_use","id":I, …}, {"type":"tool_result","tool_use_id":I, …}]}}
    {"type":"compaction_state","summaryText":…}   {"type":"agent_turn_outcome","reason":…}   {"type":"todo_state", …}
    settings: {"model":M,"tokenUsage":{"inputTokens":…,"outputTokens":…,"cacheReadTokens":…,"cacheCreationTokens":…}}
    stream-json: {"type":"system"|"message"|"tool_call"|"tool_result"|"completion"|"error","session_id":S, …}

Tokens are told for the whole session only: it has one cost. A message id that is no UUID is known in its session only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from recollect.capture.bodies import image_body
from recollect.capture.lines import open_transcript, records
from recollect.capture.toolcall import describe, result_origin
from recollect.capture.transcript import Reading, Transcript, dict_of, moment, text_of, whole
from recollect.errors import BadTranscript
from recollect.model import Body, Cost, Event

flavor = "droid"

MAX_SETTINGS = 64 << 20
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_STREAMED = frozenset(("system", "message", "tool_call", "tool_result", "reasoning", "completion", "error"))
_REMINDER = re.compile(r"\s*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)
_EXIT = re.compile(r"\(exit code: (\d{1,5})\)")


def roots(home: Path, env: Mapping[str, str]) -> list[Path]:
    given = env.get("FACTORY_DIR", "").strip()
    return [(Path(given).expanduser() if given else home / ".factory") / "sessions"]


def discover(root: Path) -> Iterator[Transcript]:
    for path in sorted(root.rglob("*.jsonl")):
        settings = path.with_suffix(".settings.json")
        yield Transcript(flavor, root, path, path.stem, (path, settings) if settings.is_file() else (path,))


def recognises(record: Mapping[str, Any]) -> bool:
    kind = text_of(record.get("type"))
    if kind == "session_start":
        return isinstance(record.get("id"), str)
    message = record.get("message")
    if kind == "message" and isinstance(message, dict):
        # pi's entries look the same but for a time within.
        return message.get("role") in ("user", "assistant") and "timestamp" not in message and "id" in record
    if kind not in _STREAMED or not (_session_of(record) and "timestamp" in record):
        return False
    return any(field in record for field in ("text", "toolName", "toolId", "value", "finalText")) or _opens(record)


def _opens(record: Mapping[str, Any]) -> bool:
    """The first record of a stream, which names its model; Claude's and Qwen's system records have a uuid."""
    return record.get("type") == "system" and "uuid" not in record and "model" in record and "cwd" in record


def _session_of(record: Mapping[str, Any]) -> str:
    return text_of(record.get("session_id")) or text_of(record.get("sessionId"))


def read(reading: Reading) -> Iterator[Event | Cost]:
    state = _State(reading)
    for record in records(reading):
        kind = text_of(record.get("type"))
        handle = _HANDLERS.get(kind)
        if handle is not None:
            yield from handle(state, record)
        elif kind not in _IGNORED:
            reading.counts["unknown_records"] += 1
    yield from _settings(reading)


class _State:
    """What is carried from line to line."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.calls: dict[str, tuple[str, str]] = {}  # call id -> tool name, action
        self.said = ""  # the last text of the agent, which a stream repeats at its end
        self.subagent = False
        self.prompted = False


def _start(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    reading = state.reading
    reading.native = text_of(record.get("id")) or reading.native
    reading.cwd = text_of(record.get("cwd")) or reading.cwd
    reading.titled(record.get("title"), 0)
    reading.titled(record.get("sessionTitle"), 1)
    version = text_of(record.get("version"))  # a number is the version of the format
    reading.agent_version = version or reading.agent_version
    caller, parent = text_of(record.get("callingSessionId")), text_of(record.get("parent"))
    if caller:
        state.subagent = True
        reading.parent, reading.relation = f"{flavor}:{caller}", "subagent"
    elif parent:
        reading.parent, reading.relation = f"{flavor}:{parent}", "fork"
    yield from ()


def _message(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    """A message of the store, or of a stream, where the text stands in the record itself."""
    message = record.get("message")
    at = moment(record.get("timestamp"))
    if not isinstance(message, dict):
        _notice_stream(state, record)
        message = {"role": record.get("role"), "content": text_of(record.get("text"))}
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": text_of(content)}]
    if message.get("role") == "assistant":
        state.reading.model(message.get("modelId"))
        for block in blocks:
            yield from _said(state, record, dict_of(block), at)
    elif message.get("role") == "user" and "hookEventName" not in message:
        yield from _user(state, record, message, blocks, at)


def _user(
    state: _State, record: dict[str, Any], message: Mapping[str, Any], blocks: list[Any], at: datetime | None
) -> Iterator[Event]:
    texts: list[str] = []
    bodies: list[Body] = []
    for block in blocks:
        block = dict_of(block)
        if block.get("type") == "tool_result":
            yield from _result(state, record, block, at)
            continue
        text, body = _block(block)
        texts.append(text)
        bodies += [body] if body else []
    host, own = _split("\n".join(filter(None, texts)))
    if message.get("visibility") in ("llm_only", "user_only") or message.get("userMessageSource") == "automation":
        host, own = "\n".join(filter(None, (host, own))), ""
    if host:
        native = _id(state, record, "injected_context")
        yield state.reading.event("injected_context", "system", "tool", host, at, native)
    if own:
        origin = "assistant" if state.subagent and not state.prompted else "user"
        state.prompted = True
        native = _id(state, record, "user_prompt")
        yield state.reading.event("user_prompt", "user", origin, own, at, native, bodies=tuple(bodies))


def _split(text: str) -> tuple[str, str]:
    """(what the host put before, the person's own words)"""
    place = 0
    while found := _REMINDER.match(text, place):
        place = found.end()
    return text[:place].strip(), text[place:].strip()


def _block(block: Mapping[str, Any]) -> tuple[str, Body | None]:
    kind = block.get("type")
    if kind == "image":
        return "[image]", image_body(block.get("source"))
    if kind == "document":
        source = dict_of(block.get("source"))
        plain = source.get("data") if source.get("type") == "text" else ""
        return text_of(source.get("parsed_data")) or text_of(plain) or "[document]", None
    return text_of(block.get("text")), None


def _said(state: _State, record: Mapping[str, Any], block: Mapping[str, Any], at: datetime | None) -> Iterator[Event]:
    event, kind = state.reading.event, block.get("type")
    if kind == "tool_use":
        yield _call(state, record, block.get("name"), block.get("id"), block.get("input"), at)
    elif kind == "tool_result":
        yield from _result(state, record, block, at)
    elif kind == "thinking":
        text = text_of(block.get("thinking"))
        if text.strip():
            yield event("thinking", "assistant", "assistant", text, at, _id(state, record, "thinking"))
    else:
        text, body = _block(block)
        if text.strip():
            state.said = text
            native = _id(state, record, "assistant_text")
            yield event("assistant_text", "assistant", "assistant", text, at, native, bodies=(body,) if body else ())


def _call(
    state: _State, record: Mapping[str, Any], name: object, call: object, given: object, at: datetime | None
) -> Event:
    tool, identity = text_of(name) or "unknown", text_of(call)
    kind, text, meta = describe(tool, given, identity)
    state.calls[identity] = tool, meta["action"]
    return state.reading.event(kind, "assistant", "assistant", text, at, _id(state, record, kind), meta)


def _result(state: _State, record: Mapping[str, Any], block: Mapping[str, Any], at: datetime | None) -> Iterator[Event]:
    content = block.get("content")
    texts: list[str] = [text_of(content)]
    bodies: list[Body] = []
    for part in content if isinstance(content, list) else ():
        text, body = _block(dict_of(part))
        texts.append(text)
        bodies += [body] if body else []
    text = "\n".join(filter(None, texts))
    found = _EXIT.search(text[:400])
    code = int(found[1]) if found else None
    call, failed = text_of(block.get("tool_use_id")), block.get("is_error") is True
    yield _answer(state, record, call, text, failed, code, at, tuple(bodies))


def _answer(
    state: _State,
    record: Mapping[str, Any],
    call: str,
    text: str,
    failed: bool,
    code: int | None,
    at: datetime | None,
    bodies: tuple[Body, ...] = (),
) -> Event:
    tool, action = state.calls.get(call, (text_of(record.get("toolName")), ""))
    facts: dict[str, Any] = {"call": call, "tool": tool, "action": action}
    meta = {name: value for name, value in facts.items() if value} | {"error": failed or bool(code)}
    if code is not None and action in ("shell", ""):
        meta["exit"] = code
    native = _id(state, record, "tool_result")
    return state.reading.event("tool_result", "tool", result_origin(action), text, at, native, meta, bodies)


def _compaction(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    at, text = moment(record.get("timestamp")), text_of(record.get("summaryText"))
    meta = {"tokens_after": whole(record.get("summaryTokens")), "removed": whole(record.get("removedCount"))}
    yield state.reading.event("compaction", "system", "tool", "", at, _id(state, record, "compaction"), meta)
    if text.strip():
        yield state.reading.event("summary", "system", "assistant", text, at, _id(state, record, "summary"))


def _outcome(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    meta = {"reason": text_of(record.get("reason"))}
    native = state.reading.again(state.reading.native, "outcome", text_of(record.get("turnId")))
    yield state.reading.event("turn_end", "system", "tool", "", moment(record.get("timestamp")), native, meta)


def _notice_stream(state: _State, record: Mapping[str, Any]) -> None:
    """What the envelope of a stream says about the session."""
    reading = state.reading
    session = _session_of(record)
    if session:
        reading.native = session
        reading.interactive = False


def _system(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    _notice_stream(state, record)
    state.reading.cwd = text_of(record.get("cwd")) or state.reading.cwd
    state.reading.model(record.get("model"))
    yield from ()


def _streamed_call(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    _notice_stream(state, record)
    name, call = record.get("toolName") or record.get("toolId"), record.get("toolCallId") or record.get("id")
    yield _call(state, record, name, call, record.get("parameters"), moment(record.get("timestamp")))


def _streamed_result(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    _notice_stream(state, record)
    value = record.get("value")
    found = dict_of(value)
    parts = (text_of(value), text_of(found.get("stdout")), text_of(found.get("stderr")))
    text = "\n".join(filter(None, parts))
    if not text and found and not found.keys() & {"stdout", "stderr"}:
        text = orjson.dumps(found, default=str).decode()
    code = found.get("exitCode")
    code = code if isinstance(code, int) and not isinstance(code, bool) else None
    call = text_of(record.get("toolCallId")) or text_of(record.get("id"))
    at = moment(record.get("timestamp"))
    yield _answer(state, record, call, text, record.get("isError") is True, code, at)


def _reasoning(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    block = {"type": "thinking", "thinking": record.get("text")}
    yield from _said(state, record, block, moment(record.get("timestamp")))


def _completion(state: _State, record: dict[str, Any]) -> Iterator[Event | Cost]:
    """The end of a streamed turn: its last text, mostly said before, and its tokens."""
    _notice_stream(state, record)
    at, text = moment(record.get("timestamp")), text_of(record.get("finalText"))
    if text.strip() and text != state.said:
        yield from _said(state, record, {"type": "text", "text": text}, at)
    usage = dict_of(record.get("usage"))
    cost = state.reading.cost(
        _id(state, record, "cost"),
        at,
        next(reversed(state.reading.models), None),
        input=usage.get("input_tokens"),
        output=usage.get("output_tokens"),
        cache_read=usage.get("cache_read_input_tokens"),
        cache_write_5m=usage.get("cache_creation_input_tokens"),
    )
    if cost.tokens:
        yield cost
    meta = {"ms": whole(record.get("durationMs"))} if whole(record.get("durationMs")) else {}
    yield state.reading.event("turn_end", "system", "tool", "", at, _id(state, record, "turn_end"), meta)


def _error(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    text = text_of(record.get("message")) or "error"
    at, native = moment(record.get("timestamp")), _id(state, record, "error")
    yield state.reading.event("error", "system", "tool", text, at, native)


def _settings(reading: Reading) -> Iterator[Cost]:
    """The session's tokens, from the file beside it. Thinking is taken to be part of the output."""
    found = _document(reading)
    usage = dict_of(found.get("tokenUsage"))
    cost = reading.cost(
        ("session", reading.native),
        None,
        found.get("model"),
        input=usage.get("inputTokens"),
        output=usage.get("outputTokens"),
        cache_read=usage.get("cacheReadTokens"),
        cache_write_5m=usage.get("cacheCreationTokens"),
        reasoning=usage.get("thinkingTokens"),
    )
    if cost.tokens:
        yield cost


def _document(reading: Reading) -> Mapping[str, Any]:
    if len(reading.transcript.files) < 2:
        return {}
    try:
        with open_transcript(reading.transcript.root, reading.transcript.files[1]) as file:
            return dict_of(orjson.loads(file.read(MAX_SETTINGS)))
    except (BadTranscript, OSError, ValueError):  # it is written while it is read, or gone
        reading.counts["bad_settings"] += 1
        return {}


def _id(state: _State, record: Mapping[str, Any], kind: str) -> tuple[str, ...]:
    own = text_of(record.get("id"))
    if _UUID.fullmatch(own):
        return state.reading.again("id", own, kind)
    own = own or str(record.get("timestamp"))
    return state.reading.again(_session_of(record) or state.reading.native, own, kind)


_HANDLERS = {
    "session_start": _start,
    "message": _message,
    "compaction_state": _compaction,
    "agent_turn_outcome": _outcome,
    "system": _system,
    "tool_call": _streamed_call,
    "tool_result": _streamed_result,
    "reasoning": _reasoning,
    "completion": _completion,
    "error": _error,
}
_IGNORED = frozenset(("todo_state", "session_end", "session_settings"))
