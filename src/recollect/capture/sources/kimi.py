"""Kimi: `wire.jsonl` of Kimi Code (`~/.kimi-code`) and of the older Kimi CLI (`~/.kimi`), with `state.json` beside.

    Kimi Code, sessions/wd_*/session_*/agents/<agent>/wire.jsonl:
    {"type":"metadata","protocol_version":"1.4","created_at":ms}   {"type":"config.update","cwd":C,"systemPrompt":…}
    {"type":"turn.prompt"|"turn.steer","input":[{"type":"text","text":…}],"origin":{"kind":"user"},"time":ms}
    {"type":"context.append_loop_event","event":{"type":"content.part"|"tool.call"|"tool.result"|"step.end", …}, …}
    {"type":"usage.record","model":M,"usage":{"inputOther":…,"output":…,"inputCacheRead":…,"inputCacheCreation":…}}
    Kimi CLI, sessions/<md5 of cwd>/<session>/wire.jsonl, subagents/<id>/wire.jsonl there:
    {"timestamp":s,"message":{"type":"TurnBegin"|"ContentPart"|"ToolCall"|"ToolResult"|"StatusUpdate", …,"payload":{…}}}

`context.append_message` repeats each prompt, `step.end` each usage. Call ids (`Bash_0`) count within a session: with
the id of their step they name an event. A fork copies lines with their times, which name what has no id.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from recollect.capture.bodies import data_url_body
from recollect.capture.lines import open_transcript, records
from recollect.capture.toolcall import describe, result_origin
from recollect.capture.transcript import Reading, Transcript, dict_of, moment, text_of, whole
from recollect.errors import BadTranscript
from recollect.model import Body, Cost, Event

flavor = "kimi"

MAX_DOCUMENT = 64 << 20
_EXIT = re.compile(r"exit code: (\d{1,5})\b")
_BASH = re.compile(r"\s*<bash-input>\s*(.*?)\s*</bash-input>", re.DOTALL)
_KEY_CHARS = 200  # of a text that stands in a key


def roots(home: Path, env: Mapping[str, str]) -> list[Path]:
    """The homes of both, not their sessions: the older one's index of directories lies beside them."""
    new, old = env.get("KIMI_CODE_HOME", "").strip(), env.get("KIMI_SHARE_DIR", "").strip()
    return [
        Path(new).expanduser() if new else home / ".kimi-code",
        Path(old).expanduser() if old else home / ".kimi",
    ]


def discover(root: Path) -> Iterator[Transcript]:
    sessions = root / "sessions"
    # A folder without sessions holds files somebody put there.
    found = sessions.rglob("wire.jsonl") if sessions.is_dir() else root.rglob("*.jsonl")
    for path in sorted(found):
        if path.name.startswith("context") or path.parent.name == "user-history":
            continue
        native, _, state = _place(path)
        beside = (state,) if state.is_file() else ()
        yield Transcript(flavor, root, path, native, (path, *beside))


def _place(path: Path) -> tuple[str, str | None, Path]:
    """(native id, that of the parent, the state file) by where a wire lies."""
    folder = path.parent
    if path.name != "wire.jsonl":
        return path.stem, None, path.with_suffix(".state.json")
    if folder.parent.name == "agents":
        session = folder.parent.parent
        native, parent = session.name, None
        if folder.name != "main":
            native, parent = f"{session.name}/{folder.name}", session.name
        return native, parent, session / "state.json"
    if folder.parent.name == "subagents":
        session = folder.parent.parent
        return f"{session.name}/{folder.name}", session.name, folder / "state.json"
    return folder.name, None, folder / "state.json"


def recognises(record: Mapping[str, Any]) -> bool:
    kind = record.get("type")
    if kind == "metadata":
        return "protocol_version" in record
    if kind is None and "timestamp" in record:
        message = dict_of(record.get("message"))
        return isinstance(message.get("payload"), dict) and isinstance(message.get("type"), str)
    return isinstance(kind, str) and kind in _TYPES and "uuid" not in record and "data" not in record


def read(reading: Reading) -> Iterator[Event | Cost]:
    state = _State(reading)
    for record in records(reading):
        kind = record.get("type")
        if isinstance(kind, str):
            handle = _HANDLERS.get(kind)
            if handle is not None:
                yield from handle(state, record, moment(record.get("time")))
            elif kind not in _IGNORED:
                reading.counts["unknown_records"] += 1
        else:
            yield from _old(state, record)
    yield from state.costs.values() if state.costs else state.steps


class _State:
    """What is carried from line to line."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.calls: dict[str, tuple[str, str, tuple[str, ...]]] = {}  # call id -> tool name, action, identity
        self.costs: dict[tuple[str, ...], Cost] = {}
        self.steps: list[Cost] = []  # what step ends say, for wires without usage records
        self.told: Counter[str] = Counter()  # prompts that will be repeated as messages
        self.prompted = False
        _, parent, _ = _place(reading.transcript.path)
        if parent:
            reading.parent, reading.relation = f"{flavor}:{parent}", "subagent"
        self._beside(parent is None)
        if not reading.cwd:
            reading.cwd = _indexed(reading)

    def _beside(self, main: bool) -> None:
        """What the state file says. A subagent shares it, but not the title."""
        reading = self.reading
        files = reading.transcript.files
        found = _document(reading, files[1]) if len(files) > 1 else {}
        reading.cwd = text_of(found.get("workDir")) or None
        if not main:
            return
        custom = found.get("isCustomTitle") is True
        reading.titled(found.get("title"), 1 if custom else 0)
        reading.titled(found.get("custom_title"), 1)
        source = text_of(found.get("forkedFrom"))
        if source:
            reading.parent, reading.relation = f"{flavor}:{source}", "fork"

    def count(self, native: tuple[str, ...], at: datetime | None, model: object, usage: Mapping[str, Any]) -> Cost:
        return self.reading.cost(
            native,
            at,
            text_of(model) or next(reversed(self.reading.models), None),
            input=usage.get("inputOther") or usage.get("input_other"),
            cache_read=usage.get("inputCacheRead") or usage.get("input_cache_read"),
            cache_write_5m=usage.get("inputCacheCreation") or usage.get("input_cache_creation"),
            output=usage.get("output"),
        )

    def spent(self, native: tuple[str, ...], cost: Cost) -> None:
        """The largest usage of each request."""
        known = self.costs.get(native)
        if cost.tokens and (known is None or known.output < cost.output):
            self.costs[native] = cost


def _document(reading: Reading, path: Path) -> Mapping[str, Any]:
    try:
        with open_transcript(reading.transcript.root, path) as file:
            return dict_of(orjson.loads(file.read(MAX_DOCUMENT)))
    except (BadTranscript, OSError, ValueError):  # it is written while it is read, or gone
        return {}


def _indexed(reading: Reading) -> str | None:
    """The directory of an older session, whose folder is named by the hash of it."""
    root, path = reading.transcript.root, reading.transcript.path
    index = root / "kimi.json"
    if not index.is_file() or not path.is_relative_to(root / "sessions"):
        return None
    folder = path.relative_to(root / "sessions").parts[0].rpartition("_")[2]
    known = _document(reading, index).get("work_dirs")
    for entry in known if isinstance(known, list) else ():
        cwd = text_of(dict_of(entry).get("path"))
        if cwd and hashlib.md5(cwd.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest() == folder:
            return cwd
    return None


# Kimi Code


def _prompt(state: _State, record: dict[str, Any], at: datetime | None) -> Iterator[Event]:
    text, bodies = _content(record.get("input"))
    state.told[text] += 1
    yield from _said(state, record, dict_of(record.get("origin")), text, bodies, at)


def _said(
    state: _State,
    record: Mapping[str, Any],
    origin: Mapping[str, Any],
    text: str,
    bodies: tuple[Body, ...],
    at: datetime | None,
) -> Iterator[Event]:
    """What stands in the user's place: a person's words, a subagent's task, or what the host put there."""
    kind, role, source, text = _speaker(state, origin, text)
    if text.strip():
        native = _id(state, record, kind, text)
        yield state.reading.event(kind, role, source, text, at, native, bodies=bodies)


def _speaker(state: _State, origin: Mapping[str, Any], text: str) -> tuple[str, str, str, str]:
    """(kind, role, origin, text)"""
    kind, slash = origin.get("kind", "user"), origin.get("trigger") == "user-slash"
    command = text_of(origin.get("skillName")) or text_of(origin.get("commandName"))
    if kind == "system_trigger" and origin.get("name") == "subagent":
        state.reading.relation = "subagent"
        return "user_prompt", "user", "assistant", text
    if kind == "user" and state.reading.relation == "subagent":
        first, state.prompted = not state.prompted, True
        return ("user_prompt", "user", "assistant", text) if first else ("injected_context", "system", "tool", text)
    if kind == "user" and not text.lstrip().startswith(("<system", "<notification")):
        return "user_prompt", "user", "user", text
    if slash and command:
        arguments = text_of(origin.get("skillArgs")) or text_of(origin.get("commandArgs"))
        return "user_prompt", "user", "user", f"/{command} {arguments}".strip()
    if kind == "shell_command" and origin.get("phase") == "input":
        found = _BASH.match(text)
        return "user_prompt", "user", "user", f"!{found[1]}" if found else text
    return "injected_context", "system", "tool", text


def _append(state: _State, record: dict[str, Any], at: datetime | None) -> Iterator[Event]:
    """A message put into the context: mostly a prompt again. Sessions taken over from Kimi CLI have only these."""
    message = dict_of(record.get("message"))
    role, origin = message.get("role"), dict_of(message.get("origin"))
    text, bodies = _content(message.get("content"))
    if role == "user":
        if state.told[text] > 0:
            state.told[text] -= 1
        elif origin.get("kind") != "compaction_summary":
            yield from _said(state, record, origin, text, bodies, at)
    elif role == "assistant":
        yield from _answer(state, record, message, at)
    elif role == "tool":
        result = {"output": message.get("content"), "isError": message.get("isError")}
        yield from _result(state, record, text_of(message.get("toolCallId")), result, at)


def _answer(
    state: _State, record: Mapping[str, Any], message: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    content, calls = message.get("content"), message.get("toolCalls")
    for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        yield from _part(state, record, dict_of(part), at, None)
    for call in calls if isinstance(calls, list) else ():
        call = dict_of(call)
        identity = text_of(call.get("id"))
        native = _id(state, record, "call", identity)
        yield _call(state, call.get("name"), call.get("arguments"), identity, at, native)


def _loop(state: _State, record: dict[str, Any], at: datetime | None) -> Iterator[Event]:
    event = dict_of(record.get("event"))
    kind = event.get("type")
    if kind == "content.part":
        uuid = text_of(event.get("uuid"))
        named = state.reading.again("uuid", uuid) if uuid else None
        yield from _part(state, record, dict_of(event.get("part")), at, named)
    elif kind == "tool.call":
        call, step = text_of(event.get("toolCallId")), text_of(event.get("stepUuid"))
        native = state.reading.again("call", step, call) if step else _id(state, record, "call", call)
        yield _call(state, event.get("name"), event.get("args"), call, at, native)
    elif kind == "tool.result":
        yield from _result(state, record, text_of(event.get("toolCallId")), dict_of(event.get("result")), at)
    elif kind == "step.end":
        usage = event.get("usage")
        if isinstance(usage, dict) and not state.costs:
            state.steps.append(state.count(("step", text_of(event.get("uuid"))), at, None, usage))
    elif kind != "step.begin":
        state.reading.counts["unknown_records"] += 1


def _part(
    state: _State,
    record: Mapping[str, Any],
    part: Mapping[str, Any],
    at: datetime | None,
    native: tuple[str, ...] | None,
) -> Iterator[Event]:
    kind = "thinking" if part.get("type") == "think" else "assistant_text"
    text, bodies = _content([part])
    if kind == "thinking":
        text = text_of(part.get("think"))
    if text.strip():
        native = native or _id(state, record, kind, text)
        yield state.reading.event(kind, "assistant", "assistant", text, at, native, bodies=bodies)


def _call(state: _State, name: object, given: object, call: str, at: datetime | None, native: tuple[str, ...]) -> Event:
    tool = text_of(name) or "unknown"
    kind, text, meta = describe(tool, given, call)
    state.calls[call] = tool, meta["action"], native
    return state.reading.event(kind, "assistant", "assistant", text, at, native, meta)


def _result(
    state: _State, record: Mapping[str, Any], call: str, result: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    # Each call is answered once: another result with its id is an event of its own.
    tool, action, native = state.calls.pop(call, ("", "", ()))
    text, bodies = _content(result.get("output"))
    message = text_of(result.get("message"))
    failed = result.get("isError") is True or result.get("is_error") is True
    if message and (failed or not text.strip()):
        text = "\n".join(filter(None, (text, message)))
    facts = {"call": call, "tool": tool, "action": action}
    meta: dict[str, Any] = {name: value for name, value in facts.items() if value} | {"error": failed}
    if action == "shell":
        code = _EXIT.search(text[-300:]) if failed else None
        if code or not failed:
            meta["exit"] = int(code[1]) if code else 0
    native = native or _id(state, record, "result", call)
    yield state.reading.event("tool_result", "tool", result_origin(action), text, at, native, meta, bodies)


def _usage(state: _State, record: dict[str, Any], at: datetime | None) -> Iterator[Event]:
    usage = record.get("usage")
    if isinstance(usage, dict):
        native = _id(state, record, "usage", text_of(record.get("model")))
        state.spent(native, state.count(native, at, record.get("model"), usage))
    yield from ()


def _request(state: _State, record: dict[str, Any], at: datetime | None) -> Iterator[Event]:
    """Only a request made again is worth telling: `attempt` is "2/10"."""
    attempt = text_of(record.get("attempt")).partition("/")[0]
    if attempt.isdecimal() and attempt != "1":
        native = _id(state, record, "retry")
        yield state.reading.event("retry", "system", "tool", "", at, native, {"attempt": int(attempt[:6])})


def _cancel(state: _State, record: dict[str, Any], at: datetime | None) -> Iterator[Event]:
    native = _id(state, record, "cancel")
    yield state.reading.event("human_intervention", "system", "user", "The turn was cancelled.", at, native)


def _approval(state: _State, record: dict[str, Any], at: datetime | None) -> Iterator[Event]:
    """Only what a person refused is worth telling."""
    result = dict_of(record.get("result"))
    if result.get("decision") in ("rejected", "cancelled"):
        call = text_of(record.get("toolCallId"))
        text = text_of(result.get("feedback")) or f"{result['decision']}: {text_of(record.get('action'))}"
        native = _id(state, record, "approval", call)
        yield state.reading.event("human_intervention", "system", "user", text, at, native, {"call": call})


def _ended(state: _State, record: dict[str, Any], at: datetime | None) -> Iterator[Event]:
    meta = {"reason": text_of(record.get("reason")), "ms": whole(record.get("durationMs"))}
    yield state.reading.event("turn_end", "system", "tool", "", at, _id(state, record, "end"), meta)


def _compacted(state: _State, record: dict[str, Any], at: datetime | None) -> Iterator[Event]:
    meta = {"tokens": whole(record.get("tokensBefore")), "tokens_after": whole(record.get("tokensAfter"))}
    yield state.reading.event("compaction", "system", "tool", "", at, _id(state, record, "compaction"), meta)
    summary = record.get("summary") or record.get("contextSummary")
    text = _content(dict_of(summary).get("content"))[0] if isinstance(summary, dict) else text_of(summary)
    if text.strip():
        native = _id(state, record, "summary")
        yield state.reading.event("summary", "system", "assistant", text, at, native)


def _undone(state: _State, record: dict[str, Any], at: datetime | None) -> Iterator[Event]:
    meta: dict[str, Any] = {"what": "rewind"}
    if whole(record.get("count")):
        meta["messages"] = whole(record["count"])
    yield state.reading.event("state", "system", "user", "", at, _id(state, record, "undo"), meta)


def _configured(state: _State, record: dict[str, Any], at: datetime | None) -> Iterator[Event]:
    reading = state.reading
    disclosed = dict_of(record.get("environmentDisclosure"))
    reading.cwd = text_of(record.get("cwd")) or text_of(disclosed.get("cwd")) or reading.cwd
    reading.model(record.get("modelAlias"))
    yield from ()


def _forked(state: _State, record: dict[str, Any], at: datetime | None) -> Iterator[Event]:
    if state.reading.relation == "root":
        state.reading.relation = "fork"
    yield from ()


# Kimi CLI


def _old(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    message = dict_of(record.get("message"))
    kind = text_of(message.get("type"))
    handle = _OLD.get(kind)
    if handle is not None:
        yield from handle(state, record, dict_of(message.get("payload")), moment(record.get("timestamp")))
    elif kind not in _OLD_IGNORED:
        state.reading.counts["unknown_records"] += 1


def _old_prompt(
    state: _State, record: dict[str, Any], payload: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    text, bodies = _content(payload.get("user_input"))
    yield from _said(state, record, {}, text, bodies, at)


def _old_part(
    state: _State, record: dict[str, Any], payload: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    yield from _part(state, record, payload, at, None)


def _old_call(
    state: _State, record: dict[str, Any], payload: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    function, call = dict_of(payload.get("function")), text_of(payload.get("id"))
    native = _id(state, record, "call", call)
    yield _call(state, function.get("name"), function.get("arguments"), call, at, native)


def _old_result(
    state: _State, record: dict[str, Any], payload: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    result = dict_of(payload.get("return_value") or payload.get("result"))
    yield from _result(state, record, text_of(payload.get("tool_call_id")), result, at)


def _old_status(
    state: _State, record: dict[str, Any], payload: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    usage = payload.get("token_usage")
    if isinstance(usage, dict):
        request = text_of(payload.get("message_id"))
        native = ("message", request) if request else _id(state, record, "usage")
        state.spent(native, state.count(native, at, None, usage))
    yield from ()


def _old_interrupted(
    state: _State, record: dict[str, Any], payload: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    native = _id(state, record, "interrupted")
    yield state.reading.event("human_intervention", "system", "user", "The step was interrupted.", at, native)


def _old_retry(
    state: _State, record: dict[str, Any], payload: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    meta = {"attempt": whole(payload.get("next_attempt")), "status": whole(payload.get("status_code"))}
    text = text_of(payload.get("error_type"))
    yield state.reading.event("retry", "system", "tool", text, at, _id(state, record, "retry"), meta)


def _old_compaction(
    state: _State, record: dict[str, Any], payload: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    yield state.reading.event("compaction", "system", "tool", "", at, _id(state, record, "compaction"))


def _old_end(state: _State, record: dict[str, Any], payload: Mapping[str, Any], at: datetime | None) -> Iterator[Event]:
    yield state.reading.event("turn_end", "system", "tool", "", at, _id(state, record, "end"))


def _old_approval(
    state: _State, record: dict[str, Any], payload: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    if payload.get("response") == "reject":
        text = text_of(payload.get("feedback")) or "rejected"
        native = _id(state, record, "approval", text_of(payload.get("request_id")))
        yield state.reading.event("human_intervention", "system", "user", text, at, native)


def _old_notification(
    state: _State, record: dict[str, Any], payload: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    text = "\n".join(filter(None, (text_of(payload.get("title")), text_of(payload.get("body")))))
    if text.strip():
        native = _id(state, record, "notification", text_of(payload.get("id")))
        yield state.reading.event("injected_context", "system", "tool", text, at, native)


def _old_subagent(
    state: _State, record: dict[str, Any], payload: Mapping[str, Any], at: datetime | None
) -> Iterator[Event]:
    """What a subagent did. Since subagents have ids they have wires of their own, and this is a copy."""
    inner = dict_of(payload.get("event"))
    kind = inner.get("type")
    if text_of(payload.get("agent_id")) or kind not in ("ContentPart", "ToolCall", "ToolResult", "StatusUpdate"):
        return
    for event in _OLD[kind](state, record, dict_of(inner.get("payload")), at):
        yield replace(event, meta={**event.meta, "sidechain": True})


def _content(content: object) -> tuple[str, tuple[Body, ...]]:
    """Text and images of content parts; pictures in a file of their own are not followed."""
    if isinstance(content, str):
        return content, ()
    texts: list[str] = []
    bodies: list[Body] = []
    for part in content if isinstance(content, list) else ():
        part = dict_of(part)
        kind = part.get("type")
        if kind in ("image_url", "audio_url", "video_url"):
            url = dict_of(part.get(kind) or part.get("imageUrl")).get("url")
            body = data_url_body(url)
            bodies += [body] if body else []
            texts.append(f"[{str(kind).removesuffix('_url')}]")
        elif kind != "think":
            texts.append(text_of(part.get("text")))
    return "\n".join(filter(None, texts)), tuple(bodies)


def _id(state: _State, record: Mapping[str, Any], kind: str, text: str = "") -> tuple[str, ...]:
    """By time: to the millisecond or finer, and with the text, so that it holds beyond the session, in its forks."""
    time = record.get("time") or record.get("timestamp")
    place = str(time) if isinstance(time, int | float) else state.reading.native
    return state.reading.again("at", place, kind, text[:_KEY_CHARS])


_HANDLERS = {
    "turn.prompt": _prompt,
    "turn.steer": _prompt,
    "turn.cancel": _cancel,
    "turn.ended": _ended,
    "context.append_message": _append,
    "context.append_loop_event": _loop,
    "context.apply_compaction": _compacted,
    "context.undo": _undone,
    "context.clear": _undone,
    "usage.record": _usage,
    "llm.request": _request,
    "permission.record_approval_result": _approval,
    "config.update": _configured,
    "profile.bind": _configured,
    "forked": _forked,
}
_IGNORED = frozenset(
    "metadata tools.set_active_tools tools.reset_active_tools tools.register_user_tool tools.unregister_user_tool "
    "tools.update_store llm.tools_snapshot mcp.tools_discovered permission.set_mode plan_mode.enter plan_mode.exit "
    "plan_mode.cancel plan.revision swarm_mode.enter swarm_mode.exit tower_mode.enter tower_mode.exit cron.add "
    "cron.cursor cron.delete full_compaction.begin full_compaction.cancel full_compaction.complete "
    "micro_compaction.apply goal.create goal.update goal.clear interaction.request interaction.resolved "
    "interruptionReminder.recorded plugin.session_start prompt.accepted runtime.set_binding staleGuard.recorded "
    "staleGuard.cleared task.started task.terminated task.waitDelivered token_counting.measured "
    "token_counting.rebased token_counting.truncated token_counting.turn_recorded context.update_token_count".split()
)
_TYPES = (frozenset(_HANDLERS) | _IGNORED) - {"metadata", "forked"}
_OLD = {
    "TurnBegin": _old_prompt,
    "SteerInput": _old_prompt,
    "ContentPart": _old_part,
    "ToolCall": _old_call,
    "ToolResult": _old_result,
    "StatusUpdate": _old_status,
    "StepInterrupted": _old_interrupted,
    "StepRetry": _old_retry,
    "CompactionBegin": _old_compaction,
    "TurnEnd": _old_end,
    "ApprovalResponse": _old_approval,
    "ApprovalRequestResolved": _old_approval,
    "Notification": _old_notification,
    "SubagentEvent": _old_subagent,
}
_OLD_IGNORED = frozenset(
    "StepBegin CompactionEnd HookTriggered HookResolved HookRequest MCPLoadingBegin MCPLoadingEnd ToolCallPart "
    "ToolCallRequest ApprovalRequest QuestionRequest PlanDisplay BtwBegin BtwEnd".split()
)
