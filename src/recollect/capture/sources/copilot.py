"""Copilot CLI: `~/.copilot/session-state/<session>/events.jsonl`; older `session-state/<session>.jsonl` and before that
one document per session, `history-session-state/*.json`.

    {"type":"session.start","data":{"sessionId":S,"copilotVersion":V,"context":{cwd,gitRoot,branch,repository,headCommit}},
     "id":E,"timestamp":T,"parentId":P}
    {"type":"user.message","data":{"content":"…","source":…}, …}        "skill-…" as source: put there by the host
    {"type":"assistant.message","data":{"messageId":M,"content":"…","reasoningText":…,"model":…,"outputTokens":12,
     "toolRequests":[{"toolCallId":C,"name":…,"arguments":{…}|"json"}],"parentToolCallId":…}, …}
    {"type":"tool.execution_start"|"tool.execution_complete","data":{"toolCallId":C,"success":true,"result":{content}}}
    {"type":"session.shutdown","data":{"modelMetrics":{"gpt-5":{"usage":{inputTokens,outputTokens,cacheReadTokens}}}}}

A subagent's events stand among the others with `parentToolCallId`. A call is told both by the message that asks for it
and by its start, in either order.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from recollect.capture.foreign import document, parsed
from recollect.capture.lines import records
from recollect.capture.toolcall import describe, result_origin
from recollect.capture.transcript import Reading, Transcript, dict_of, moment, text_of, whole
from recollect.ids import is_uuid
from recollect.model import Cost, Event

flavor = "copilot"

_EXIT = re.compile(r"exit(?:ed with exit)? code:? (\d{1,10})")
_USAGE = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens")


def roots(home: Path, env: Mapping[str, str]) -> list[Path]:
    given = env.get("COPILOT_HOME", "").strip()
    folder = Path(given).expanduser() if given else home / ".copilot"
    return [folder / "session-state", folder / "history-session-state"]


def discover(root: Path) -> Iterator[Transcript]:
    """A folder with an `events.jsonl` is one session, whatever else the agent left in it."""
    for folder, inner, names in os.walk(root):
        inner.sort()
        if "events.jsonl" in names:
            inner.clear()
            path = Path(folder, "events.jsonl")
            yield Transcript(flavor, root, path, path.parent.name, (path,))
            continue
        for name in sorted(names):
            path = Path(folder, name)
            if path.suffix in (".jsonl", ".json"):
                yield Transcript(flavor, root, path, path.stem, (path,))


def recognises(record: Mapping[str, Any]) -> bool:
    kind = record.get("type")
    if isinstance(kind, str) and (kind in _HANDLERS or kind in _IGNORED):
        return isinstance(record.get("data"), dict) and "parentId" in record
    return isinstance(record.get("chatMessages"), list) and "sessionId" in record


def read(reading: Reading) -> Iterator[Event | Cost]:
    state = _State(reading)
    if reading.transcript.path.suffix == ".json":
        yield from _chat(state)
        return
    for record in records(reading):
        kind, data = record.get("type"), record.get("data")
        handle = _HANDLERS.get(kind) if isinstance(kind, str) else None
        if handle is not None and isinstance(data, dict):
            yield from handle(state, record, data)
        elif not isinstance(kind, str) or (handle is None and kind not in _IGNORED):
            reading.counts["unknown_records"] += 1


class _State:
    """What is carried from line to line."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.calls: dict[str, tuple[str, str]] = {}  # call id -> tool name, action
        self.model: str | None = None
        self.told = 0  # output tokens that messages told since the last roll-up
        self.rolled: dict[str, list[int]] = {}  # model -> what the last roll-up had
        self.thoughts: set[str] = set()
        self.asked = False  # the last message asked for tools

    def native(self, record: Mapping[str, Any]) -> tuple[str, ...]:
        known = text_of(record.get("id"))
        if is_uuid(known):
            return "event", known
        when = "" if known else text_of(record.get("timestamp"))
        return self.reading.again("event", self.reading.native, text_of(record.get("type")), known, when)

    def call(self, known: str) -> tuple[str, ...]:
        return "call", self.reading.native, known


def _start(state: _State, record: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Event]:
    """A session that begins or goes on. The folder's name is the id too, but files are also found elsewhere."""
    reading = state.reading
    reading.native = text_of(data.get("sessionId")) or reading.native
    reading.agent_version = text_of(data.get("copilotVersion")) or reading.agent_version
    _context(reading, dict_of(data.get("context")))
    state.model = text_of(data.get("selectedModel")) or state.model
    yield from ()


def _context_changed(state: _State, record: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Event]:
    _context(state.reading, data)
    yield from ()


def _context(reading: Reading, context: Mapping[str, Any]) -> None:
    reading.cwd = reading.cwd or text_of(context.get("cwd")) or None
    reading.branch = text_of(context.get("branch")) or reading.branch
    reading.commit = reading.commit or text_of(context.get("headCommit")) or None  # what it began on
    repository = text_of(context.get("repository"))
    if repository and not reading.repository:
        reading.repository = f"{text_of(context.get('repositoryHost')) or 'github.com'}/{repository}"


def _model(state: _State, record: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Event]:
    state.model = text_of(data.get("newModel")) or text_of(data.get("chosenModel")) or state.model
    yield from ()


def _user(state: _State, record: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Event]:
    text, at = text_of(data.get("content")), moment(record.get("timestamp"))
    if not text.strip():
        return
    source, native = text_of(data.get("source")), state.native(record)
    if _synthetic(source, data) or text.startswith("<skill-context"):
        yield state.reading.event("injected_context", "system", "tool", text, at, native)
    elif text_of(data.get("parentAgentTaskId")):
        meta = {"sidechain": True}
        yield state.reading.event("user_prompt", "assistant", "assistant", text, at, native, meta)
    else:
        yield state.reading.event("user_prompt", "user", "user", text, at, native)


def _synthetic(source: str, data: Mapping[str, Any]) -> bool:
    return source.startswith("skill-") or source == "system" or data.get("isAutopilotContinuation") is True


def _assistant(state: _State, record: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Event | Cost]:
    reading, at = state.reading, moment(record.get("timestamp"))
    native, side = state.native(record), _side(data)
    thinking, text = text_of(data.get("reasoningText")), text_of(data.get("content"))
    if thinking.strip() and thinking not in state.thoughts:
        yield reading.event("thinking", "assistant", "assistant", thinking, at, native, side)
    if text.strip():
        yield reading.event("assistant_text", "assistant", "assistant", text, at, native, side)
    requests = data.get("toolRequests")
    state.asked = bool(requests) or bool(side)
    for number, request in enumerate(requests if isinstance(requests, list) else ()):
        request = dict_of(request)
        known = text_of(request.get("toolCallId"))
        if known not in state.calls:
            yield _call(state, known, request.get("name"), request.get("arguments"), at, (*native, str(number)), side)
    model = text_of(data.get("model")) or state.model
    output = whole(data.get("outputTokens"))
    if output:
        state.told += output
        message = text_of(data.get("messageId"))
        yield reading.cost(("message", message) if is_uuid(message) else native, at, model, output=output)
    else:
        reading.model(model)


def _reasoning(state: _State, record: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Event]:
    """Reasoning on its own line; the message that follows may tell the same again."""
    text, at = text_of(data.get("content")), moment(record.get("timestamp"))
    if text.strip():
        state.thoughts = {text}
        yield state.reading.event("thinking", "assistant", "assistant", text, at, state.native(record), _side(data))


def _tool_start(state: _State, record: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Event]:
    known, at = text_of(data.get("toolCallId")), moment(record.get("timestamp"))
    if not known or known not in state.calls:
        native = state.native(record)
        yield _call(state, known, data.get("toolName"), data.get("arguments"), at, native, _side(data))


def _call(
    state: _State,
    known: str,
    name: object,
    given: object,
    at: datetime | None,
    native: tuple[str, ...],
    side: Mapping[str, Any],
) -> Event:
    tool = text_of(name) or "unknown"
    kind, text, meta = describe(tool, given, known)
    if known:
        state.calls[known] = tool, meta["action"]
        native = state.call(known)
    return state.reading.event(kind, "assistant", "assistant", text, at, native, {**meta, **side})


def _tool_complete(state: _State, record: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Event]:
    known, at, result = text_of(data.get("toolCallId")), moment(record.get("timestamp")), data.get("result")
    text = result if isinstance(result, str) else text_of(dict_of(result).get("content"))
    text = text or text_of(dict_of(result).get("detailedContent")) or text_of(dict_of(data.get("error")).get("message"))
    tool, action = state.calls.get(known, (text_of(data.get("toolName")), ""))
    meta: dict[str, Any] = {"call": known} if known else {}
    if tool:
        meta |= {"tool": tool, "action": action}
    if isinstance(data.get("success"), bool):
        meta["error"] = not data["success"]
    codes = _EXIT.findall(text[-400:]) if action in ("shell", "") else ()
    if codes:
        meta["exit"] = int(codes[-1])
        meta["error"] = meta.get("error", False) or meta["exit"] != 0
    native = state.call(known) if known else state.native(record)
    yield state.reading.event("tool_result", "tool", result_origin(action), text, at, native, {**meta, **_side(data)})


def _permission(state: _State, record: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Event]:
    result = dict_of(data.get("result"))
    if result.get("kind") == "denied-interactively-by-user":
        text = text_of(result.get("feedback")) or "denied"
        meta = {"call": text_of(data.get("toolCallId"))}
        at = moment(record.get("timestamp"))
        yield state.reading.event("human_intervention", "system", "user", text, at, state.native(record), meta)


def _shutdown(state: _State, record: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Event | Cost]:
    """What the messages did not tell of the tokens. They have output only; the roll-up has input and cache as well, per
    model and from the session's beginning (over every resumption; a compaction begins anew). So each roll-up gives what
    came on top of the one before, less the output already told."""
    at, native = moment(record.get("timestamp")), state.native(record)
    spare, state.told = state.told, 0
    for model, found in _rolled(data):
        before = state.rolled.get(model, [0] * len(_USAGE))
        # Less than before is a count that began anew.
        more = [now - then for now, then in zip(found, before, strict=True)] if _grew(found, before) else found
        state.rolled[model] = found
        fresh, output, cached, written, reasoning = more
        told = min(spare, output)
        spare -= told
        if any(more):
            yield state.reading.cost(
                (*native, model),
                at,
                model,
                input=max(0, fresh - cached - written),
                cache_read=cached,
                cache_write_5m=written,
                output=output - told,
                reasoning=min(reasoning, output - told),
            )


def _grew(found: list[int], before: list[int]) -> bool:
    return all(now >= then for now, then in zip(found, before, strict=True))


def _rolled(data: Mapping[str, Any]) -> Iterator[tuple[str, list[int]]]:
    """(model, tokens by _USAGE) of a roll-up."""
    told = False
    for model, metrics in dict_of(data.get("modelMetrics")).items():
        usage = dict_of(dict_of(metrics).get("usage"))
        if usage and isinstance(model, str):
            told = True
            yield model, [whole(usage.get(field)) for field in _USAGE]
    details = dict_of(data.get("tokenDetails"))
    if details and not told:
        # Counted by what is billed apart, so here `input` is without the cache.
        counts = [whole(dict_of(details.get(name)).get("tokenCount")) for name in ("cache_read", "cache_write")]
        fresh, output = (whole(dict_of(details.get(name)).get("tokenCount")) for name in ("input", "output"))
        yield text_of(data.get("currentModel")), [fresh + sum(counts), output, *counts, 0]


def _compacted(state: _State, record: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Event]:
    if data.get("success") is False:
        return
    at, native = moment(record.get("timestamp")), state.native(record)
    meta = {"tokens": whole(data.get("preCompactionTokens"))}
    state.rolled.clear()
    yield state.reading.event("compaction", "system", "tool", "", at, native, meta)
    summary = text_of(data.get("summaryContent"))
    if summary.strip():
        yield state.reading.event("summary", "system", "assistant", summary, at, native)


def _turn_end(state: _State, record: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Event]:
    """A turn here is one answer of the model; the one that asks for nothing more ends what we call a turn."""
    if not state.asked:
        yield state.reading.event(
            "turn_end", "system", "tool", "", moment(record.get("timestamp")), state.native(record)
        )


def _notice(state: _State, record: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Event]:
    """One event out of one line."""
    kind, role, origin, fields, meta = _NOTICES[record["type"]]
    found = next((text_of(data.get(field)) for field in fields if text_of(data.get(field))), "")
    if found or not fields or record["type"] == "abort":
        at = moment(record.get("timestamp"))
        yield state.reading.event(kind, role, origin, found, at, state.native(record), meta)


def _title(state: _State, record: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Event]:
    state.reading.titled(data.get("title"))
    yield from ()


def _side(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"sidechain": True} if text_of(data.get("parentToolCallId")) else {}


def _chat(state: _State) -> Iterator[Event | Cost]:
    """The oldest form: one document with the messages as they went to the model, without times or tokens."""
    reading = state.reading
    data = document(reading.transcript.root, reading.transcript.path)
    found = parsed(data)
    reading.complete_to = reading.size = len(data)
    if not isinstance(found, dict) or not isinstance(found.get("chatMessages"), list):
        reading.counts["bad_documents"] += 1
        return
    reading.native = text_of(found.get("sessionId")) or reading.native
    state.model = text_of(found.get("selectedModel")) or None
    begun = moment(found.get("startTime"))
    for message in found["chatMessages"]:
        yield from _chat_message(state, dict_of(message), begun)


def _chat_message(state: _State, message: Mapping[str, Any], at: datetime | None) -> Iterator[Event]:
    role, reading = text_of(message.get("role")), state.reading
    content = message.get("content")
    parts = content if isinstance(content, list) else ()
    text = content if isinstance(content, str) else "\n".join(text_of(dict_of(part).get("text")) for part in parts)
    native = reading.again("chat", reading.native, role, text)
    known = text_of(message.get("tool_call_id"))
    if role == "tool":
        tool, action = state.calls.get(known, ("", ""))
        meta = {"call": known, "tool": tool, "action": action} if tool else {"call": known}
        native = state.call(known) if known else native
        yield reading.event("tool_result", "tool", result_origin(action), text, at, native, meta)
    elif role in ("user", "assistant") and text.strip():
        kind = "user_prompt" if role == "user" else "assistant_text"
        yield reading.event(kind, role, role, text, at, native)
    calls = message.get("tool_calls")
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        given, function = dict_of(call), dict_of(dict_of(call).get("function"))
        known, inner = text_of(given.get("id")), (*native, str(number))
        yield _call(state, known, function.get("name"), function.get("arguments"), at, inner, {})


# type -> kind, role, origin, the fields its text may be in, meta
_NOTICES: dict[str, tuple[str, str, str, tuple[str, ...], dict[str, Any]]] = {
    "abort": ("human_intervention", "system", "user", ("reason",), {}),
    "model.call_failure": ("retry", "system", "tool", ("errorMessage", "message"), {}),
    "session.error": ("error", "system", "tool", ("message",), {}),
    "session.warning": ("state", "system", "tool", ("message",), {"what": "warning"}),
    "session.snapshot_rewind": ("state", "system", "user", (), {"what": "rewind"}),
    "session.truncation": ("compaction", "system", "tool", (), {"trigger": "truncation"}),
    "system.notification": ("injected_context", "system", "tool", ("content",), {}),
}
_HANDLERS = {
    "session.start": _start,
    "session.resume": _start,
    "session.context_changed": _context_changed,
    "session.model_change": _model,
    "session.auto_mode_resolved": _model,
    "session.title_changed": _title,
    "session.shutdown": _shutdown,
    "session.compaction_complete": _compacted,
    "user.message": _user,
    "assistant.message": _assistant,
    "assistant.reasoning": _reasoning,
    "assistant.turn_end": _turn_end,
    "tool.execution_start": _tool_start,
    "tool.execution_complete": _tool_complete,
    "permission.completed": _permission,
    **dict.fromkeys(_NOTICES, _notice),
}
# What there is beside: progress, settings, and what stands in other events too. `system.message` is the system prompt.
_IGNORED = frozenset(
    "assistant.turn_start assistant.intent assistant.idle assistant.usage assistant.message_start hook.start hook.end "
    "hook.progress permission.requested session.binary_asset session.compaction_start session.context_cleared "
    "session.custom_notification session.handoff session.idle session.info session.mode_changed session.plan_changed "
    "session.permissions_changed session.remote_steerable_changed session.schedule_cancelled session.schedule_created "
    "session.session_limits_changed session.skills_loaded session.task_complete session.todos_changed "
    "session.tools_updated session.usage_checkpoint session.usage_info session.workspace_file_changed skill.invoked "
    "subagent.completed subagent.deselected subagent.failed subagent.selected subagent.started system.message "
    "tool.execution_partial_result tool.execution_progress tool.user_requested user_input.completed "
    "user_input.requested elicitation.completed elicitation.requested exit_plan_mode.completed "
    "exit_plan_mode.requested external_tool.completed external_tool.requested command.completed command.execute "
    "command.queued pending_messages.modified".split()
)
