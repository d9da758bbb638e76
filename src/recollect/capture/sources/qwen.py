"""Qwen Code: `~/.qwen/projects/<project>/chats/<session>.jsonl`; subagents in `subagents/<session>/agent-<id>.jsonl`.

    {"type":"user","uuid":U,"parentUuid":P,"sessionId":S,"timestamp":T,"cwd":C,"version":V,"gitBranch":B,
     "message":{"role":"user","parts":[{"text":…}]},"systemPayload":{"displayText":…,"hookContext":…}}
    {"type":"assistant", …, "model":M,"message":{"role":"model","parts":[{"text":…,"thought":true},{"functionCall":…}]},
     "usageMetadata":{"promptTokenCount":…,"candidatesTokenCount":…,"thoughtsTokenCount":…,"cachedContentTokenCount":…}}
    {"type":"tool_result", …, "message":{…"parts":[{"functionResponse":…}]},"toolCallResult":{"callId":I,"status":…}}
    {"type":"system","subtype":"chat_compression"|"rewind"|"custom_title"|"ui_telemetry"|…,"systemPayload":{…}}

One message may be several lines with one `uuid`, whose usage is the message's, not the line's. `displayText` is what
the person wrote when hooks added to it. A fork copies lines with their `uuid`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from recollect.capture.bodies import decoded
from recollect.capture.lines import records
from recollect.capture.toolcall import describe, result_origin
from recollect.capture.transcript import Reading, Transcript, dict_of, moment, text_of, whole
from recollect.model import Body, Cost, Event

flavor = "qwen"

_ID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_TYPES = frozenset(("user", "assistant", "tool_result", "system"))
_INJECTED = frozenset(("notification", "cron", "goal_runtime"))
_HOST_TEXT = ("<qwen:", "<system-reminder>")
_EXIT = re.compile(r"^Exit Code: (\d{1,5})\b", re.MULTILINE)


def roots(home: Path, env: Mapping[str, str]) -> list[Path]:
    given = env.get("QWEN_RUNTIME_DIR", "").strip() or env.get("QWEN_HOME", "").strip()
    folder = Path(given).expanduser() if given else home / ".qwen"
    return [folder / "projects", folder / "tmp"]


def discover(root: Path) -> Iterator[Transcript]:
    for path in sorted(root.rglob("*.jsonl")):
        native = f"{path.parent.name}/{path.stem}" if path.name.startswith("agent-") else path.stem
        yield Transcript(flavor, root, path, native, (path,))


def recognises(record: Mapping[str, Any]) -> bool:
    if text_of(record.get("type")) not in _TYPES or "sessionId" not in record:
        return False
    message = record.get("message")
    return isinstance(dict_of(message).get("parts"), list) or (message is None and "systemPayload" in record)


def read(reading: Reading) -> Iterator[Event | Cost]:
    state = _State(reading)
    for record in records(reading):
        handle = _HANDLERS.get(text_of(record.get("type")))
        if handle is None:
            reading.counts["unknown_records"] += 1
            continue
        state.notice(record)
        yield from handle(state, record)
    yield from state.costs.values()


class _State:
    """What is carried from line to line."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.calls: dict[str, tuple[str, str]] = {}  # call id -> tool name, action
        self.costs: dict[tuple[str, ...], Cost] = {}
        path = reading.transcript.path
        self.subagent = path.name.startswith("agent-")
        self.named = self.subagent or _ID.fullmatch(path.stem) is not None
        self.prompted = False  # a subagent has its task
        self.known = False
        if self.subagent:
            reading.relation = "subagent"

    def notice(self, record: Mapping[str, Any]) -> None:
        """What the envelope says about the session."""
        reading = self.reading
        branch = record.get("gitBranch")
        if branch and isinstance(branch, str):
            reading.branch = branch
        if self.known:
            return
        session = text_of(record.get("sessionId"))
        if session and self.subagent:
            reading.native = f"{session}/{reading.transcript.path.stem}"
            reading.parent = f"{flavor}:{session}"
        elif session and not self.named:
            reading.native = session
        source = text_of(dict_of(record.get("forkedFrom")).get("sessionId"))
        if source and not self.subagent:
            reading.parent, reading.relation = f"{flavor}:{source}", "fork"
        reading.cwd = reading.cwd or text_of(record.get("cwd")) or None
        reading.agent_version = reading.agent_version or text_of(record.get("version")) or None
        self.known = bool(session and reading.cwd and reading.agent_version)


def _user(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    at = moment(record.get("timestamp"))
    payload = dict_of(record.get("systemPayload"))
    own, host, bodies = _told(_parts(record))
    text = text_of(payload.get("displayText")) or own
    host = text_of(payload.get("hookContext")) or host
    kind, role, origin = _speaker(state, record)
    if text.strip():
        native = _id(state, record, kind)
        yield state.reading.event(kind, role, origin, text, at, native, bodies=bodies)
    if host.strip():
        native = _id(state, record, "injected_context")
        yield state.reading.event("injected_context", "system", "tool", host, at, native)


def _speaker(state: _State, record: Mapping[str, Any]) -> tuple[str, str, str]:
    """(kind, role, origin) of a user line."""
    injected = text_of(record.get("subtype")) in _INJECTED or record.get("provenance") in ("system", "goal_runtime")
    if injected or (state.subagent and state.prompted):
        return "injected_context", "system", "tool"
    if state.subagent:
        state.prompted = True
        return "user_prompt", "user", "assistant"
    return "user_prompt", "user", "user"


def _told(parts: list[Any]) -> tuple[str, str, tuple[Body, ...]]:
    """The text of a user line, what the host put beside it, and the images."""
    own: list[str] = []
    host: list[str] = []
    bodies: list[Body] = []
    for part in parts:
        text, body = _part(part)
        (host if text.lstrip().startswith(_HOST_TEXT) else own).append(text)
        bodies += [body] if body else []
    return "\n".join(filter(None, own)), "\n".join(filter(None, host)), tuple(bodies)


def _part(part: object) -> tuple[str, Body | None]:
    if isinstance(part, str):
        return part, None
    part = dict_of(part)
    inline = part.get("inlineData")
    if isinstance(inline, dict):
        return "[image]", decoded(text_of(inline.get("data")), inline.get("mimeType"))
    return text_of(part.get("text")), None


def _parts(record: Mapping[str, Any]) -> list[Any]:
    parts = dict_of(record.get("message")).get("parts")
    return parts if isinstance(parts, list) else []


def _assistant(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    at = moment(record.get("timestamp"))
    usage = record.get("usageMetadata")
    if isinstance(usage, dict) and usage:
        _count(state, record, usage, at)
    else:
        state.reading.model(record.get("model"))
    event = state.reading.event
    for part in _parts(record):
        call = dict_of(part).get("functionCall")
        if isinstance(call, dict):
            yield _call(state, record, call, at)
            continue
        text, body = _part(part)
        if text.strip():
            kind = "thinking" if dict_of(part).get("thought") is True else "assistant_text"
            bodies = (body,) if body else ()
            yield event(kind, "assistant", "assistant", text, at, _id(state, record, kind), bodies=bodies)


def _call(state: _State, record: Mapping[str, Any], call: Mapping[str, Any], at: datetime | None) -> Event:
    name, identity = text_of(call.get("name")) or "unknown", text_of(call.get("id"))
    kind, text, meta = describe(name, call.get("args"), identity)
    state.calls[identity] = name, meta["action"]
    return state.reading.event(kind, "assistant", "assistant", text, at, _id(state, record, kind), meta)


def _count(state: _State, record: Mapping[str, Any], usage: Mapping[str, Any], at: datetime | None) -> None:
    """The largest usage of each message; the prompt includes what was cached."""
    prompt, output = whole(usage.get("promptTokenCount")), whole(usage.get("candidatesTokenCount"))
    cached, thoughts = whole(usage.get("cachedContentTokenCount")), whole(usage.get("thoughtsTokenCount"))
    total = whole(usage.get("totalTokenCount"))
    # Some providers count thoughts among the candidates, others beside them: the total tells.
    if not total or total >= prompt + output + thoughts:
        output += thoughts
    uuid = text_of(record.get("uuid"))
    identity = ("uuid", uuid) if uuid else state.reading.again("usage", state.reading.native, str(at))
    known = state.costs.get(identity)
    if known is not None and known.output >= output:
        return
    state.costs[identity] = state.reading.cost(
        identity,
        at,
        record.get("model"),
        input=max(prompt - cached, 0),
        cache_read=cached,
        output=output,
        reasoning=thoughts,
    )


def _results(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    at = moment(record.get("timestamp"))
    outcome = dict_of(record.get("toolCallResult"))
    loose: list[str] = []
    for part in _parts(record):
        answer = dict_of(part).get("functionResponse")
        if isinstance(answer, dict):
            yield from _result(state, record, answer, outcome, at)
        else:
            loose.append(_part(part)[0])
    text = "\n".join(filter(str.strip, loose))
    if text:
        native = _id(state, record, "injected_context")
        yield state.reading.event("injected_context", "system", "tool", text, at, native)


def _result(
    state: _State, record: Mapping[str, Any], answer: Mapping[str, Any], outcome: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    call = text_of(answer.get("id")) or text_of(outcome.get("callId"))
    tool, action = state.calls.get(call, (text_of(answer.get("name")), ""))
    text, bodies, failed = _answer(answer)
    status = outcome.get("status")
    meta: dict[str, Any] = {"call": call} if call else {}
    if tool:
        meta["tool"] = tool
    if action:
        meta["action"] = action
    meta["error"] = failed or status in ("error", "cancelled")
    code = _EXIT.search(text) if action == "shell" else None
    if code:
        meta["exit"] = int(code[1])
    native = _id(state, record, "tool_result")
    yield state.reading.event("tool_result", "tool", result_origin(action), text, at, native, meta, bodies)
    if status == "cancelled":
        native = _id(state, record, "human_intervention")
        yield state.reading.event("human_intervention", "system", "user", text, at, native, {"call": call})


def _answer(answer: Mapping[str, Any]) -> tuple[str, tuple[Body, ...], bool]:
    """(text, images, whether it failed) of a function's response."""
    response = answer.get("response")
    found = dict_of(response)
    failed = bool(found.get("error"))
    text = text_of(found.get("output")) or text_of(found.get("error")) or text_of(response)
    if not text and found:
        text = orjson.dumps(found, default=str).decode()
    bodies: list[Body] = []
    inner = answer.get("parts")
    for part in inner if isinstance(inner, list) else ():
        shown, body = _part(part)
        text = "\n".join(filter(None, (text, shown)))
        bodies += [body] if body else []
    return text, tuple(bodies), failed


def _system(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    what = text_of(record.get("subtype"))
    handle = _SYSTEM.get(what)
    if handle is not None:
        yield from handle(state, record, dict_of(record.get("systemPayload")))
    elif what and what not in _IGNORED:
        state.reading.counts["unknown_records"] += 1


def _notice(
    state: _State, record: Mapping[str, Any], kind: str, text: str, meta: Mapping[str, Any], origin: str = "tool"
) -> Event:
    at, native = moment(record.get("timestamp")), _id(state, record, kind)
    return state.reading.event(kind, "system", origin, text, at, native, meta)


def _compression(state: _State, record: dict[str, Any], payload: Mapping[str, Any]) -> Iterator[Event]:
    """The boundary, and the summary, which is the first text of the history that remains."""
    info = dict_of(payload.get("info"))
    meta = {"tokens": whole(info.get("originalTokenCount")), "tokens_after": whole(info.get("newTokenCount"))}
    yield _notice(state, record, "compaction", "", meta)
    history = payload.get("compressedHistory")
    for content in history if isinstance(history, list) else ():
        text = _told(_parts({"message": content}))[0]
        if text.strip():
            yield _notice(state, record, "summary", text, {}, "assistant")
            return


def _rewind(state: _State, record: dict[str, Any], payload: Mapping[str, Any]) -> Iterator[Event]:
    meta: dict[str, Any] = {"what": "rewind"}
    if text_of(payload.get("targetUuid")):
        meta["to"] = payload["targetUuid"]
    if whole(payload.get("truncatedCount")):
        meta["items"] = whole(payload["truncatedCount"])
    yield _notice(state, record, "state", "", meta)


def _title(state: _State, record: dict[str, Any], payload: Mapping[str, Any]) -> Iterator[Event]:
    """A person's title wins; those without a source are from before there were others."""
    state.reading.titled(payload.get("customTitle"), 0 if payload.get("titleSource") == "auto" else 1)
    yield from ()


def _telemetry(state: _State, record: dict[str, Any], payload: Mapping[str, Any]) -> Iterator[Event]:
    """A failed request is told only here; what else is told here stands in the messages too."""
    told = dict_of(payload.get("uiEvent"))
    text = text_of(told.get("error_message"))
    if text.strip() and "function_name" not in told:
        yield _notice(state, record, "error", text, {"status": whole(told.get("status_code"))})


def _command(state: _State, record: dict[str, Any], payload: Mapping[str, Any]) -> Iterator[Event]:
    """A slash command a person gave; one that went to the model is a user line as well."""
    text = text_of(payload.get("rawCommand"))
    elsewhere = payload.get("sentToModel") or payload.get("hiddenInvocation")
    if payload.get("phase") == "invocation" and text.strip() and not elsewhere:
        at, native = moment(record.get("timestamp")), _id(state, record, "user_prompt")
        yield state.reading.event("user_prompt", "user", "user", text, at, native)


def _launch(state: _State, record: dict[str, Any], payload: Mapping[str, Any]) -> Iterator[Event]:
    text = text_of(payload.get("displayText"))
    if state.subagent and not state.prompted and text.strip():
        state.prompted = True
        at, native = moment(record.get("timestamp")), _id(state, record, "user_prompt")
        yield state.reading.event("user_prompt", "user", "assistant", text, at, native)


def _turn_result(state: _State, record: dict[str, Any], payload: Mapping[str, Any]) -> Iterator[Event]:
    meta: dict[str, Any] = {"reason": text_of(payload.get("state"))}
    started, ended = whole(payload.get("startedAt")), whole(payload.get("endedAt"))
    if 0 < started <= ended:
        meta["ms"] = ended - started
    failure = text_of(dict_of(payload.get("error")).get("message"))
    if failure:
        yield _notice(state, record, "error", failure, {})
    yield _notice(state, record, "turn_end", "", meta)


def _retry(state: _State, record: dict[str, Any], payload: Mapping[str, Any]) -> Iterator[Event]:
    yield _notice(state, record, "retry", "", {"attempt": whole(payload.get("attempt"))})


def _parent(state: _State, record: dict[str, Any], payload: Mapping[str, Any]) -> Iterator[Event]:
    parent = text_of(payload.get("parentSessionId"))
    if parent:
        state.reading.parent, state.reading.relation = f"{flavor}:{parent}", "subagent"
    yield from ()


def _model(state: _State, record: dict[str, Any], payload: Mapping[str, Any]) -> Iterator[Event]:
    state.reading.model(payload.get("modelId"))
    yield from ()


def _id(state: _State, record: Mapping[str, Any], kind: str) -> tuple[str, ...]:
    """The record's uuid and the how-manieth event of its kind it is: one uuid may be several lines."""
    uuid = record.get("uuid")
    if isinstance(uuid, str) and uuid:
        return state.reading.again("uuid", uuid, kind)
    return state.reading.again(state.reading.native, kind, text_of(record.get("timestamp")))


_HANDLERS = {"user": _user, "assistant": _assistant, "tool_result": _results, "system": _system}
_SYSTEM = {
    "chat_compression": _compression,
    "rewind": _rewind,
    "custom_title": _title,
    "ui_telemetry": _telemetry,
    "slash_command": _command,
    "agent_launch_prompt": _launch,
    "agent_retry": _retry,
    "turn_result": _turn_result,
    "parent_session": _parent,
    "session_model": _model,
}
_IGNORED = frozenset(
    "at_command attribution_snapshot session_source agent_bootstrap file_history_snapshot user_text_elements "
    "session_artifact_event session_artifact_snapshot branch_checkpoint goal_state notification".split()
)
