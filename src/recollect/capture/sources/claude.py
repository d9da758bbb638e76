"""Claude Code: `~/.claude/projects/<munged cwd>/<session>.jsonl`, subagents in `<session>/subagents/agent-<id>.jsonl`.

    {"type":"user","uuid":U,"parentUuid":P,"sessionId":S,"cwd":C,"gitBranch":B,"version":V,"timestamp":T,
     "isSidechain":false,"message":{"role":"user","content":"…" | [{"type":"tool_result","tool_use_id":I,"content":…}]}}
    {"type":"assistant", …, "requestId":R,"message":{"id":M,"model":…,"content":[ONE BLOCK],"usage":{…}}}
    {"type":"system","subtype":"compact_boundary"|"api_error"|"turn_duration"|…}
    {"type":"attachment", …}   {"type":"ai-title", …}

One API message is several lines (same `message.id` and `requestId`), each repeating a usage that still grows: the
largest holds. Most `user` lines are tool results or text the host put in. A fork copies lines with their `uuid`, so the
uuid alone names an event. Subagent files carry the parent's `sessionId`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from recollect.capture.bodies import image_body
from recollect.capture.lines import records
from recollect.capture.toolcall import describe, result_origin
from recollect.capture.transcript import Reading, Transcript, dict_of, moment, text_of, whole
from recollect.model import Body, Cost, Event

flavor = "claude"
appends = True  # lines once written stay as they are

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NOISE = (b'"type":"progress"', b'"type":"file-history-snapshot"')  # a tenth of all bytes, and nothing to keep
_NOT_SESSIONS = frozenset(("history.jsonl", "journal.jsonl"))
_TYPES = frozenset("user assistant system attachment summary ai-title custom-title queue-operation progress".split())
# What hosts put before a person's own words in the same record, and what stands alone.
_WRAPPER = re.compile(
    r"\s*<(ide_opened_file|ide_selection|system-reminder|ide_diagnostics|post-tool-use-hook)>.*?</\1>\s*", re.DOTALL
)
_HOST_TEXT = (
    *("<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>", "<bash-stdout>", "<bash-stderr>"),
    *("<system-reminder>", "<task-notification>", "<new-diagnostics>", "<user-memory-input>", "<agent-notification>"),
)
_INTERRUPTED = "[Request interrupted by user"
_CONTINUED = "This session is being continued from a previous conversation"
# Runs of Claude Code's own beside the session: what they cost counts, what they say is nobody's work.
_COMPACTING = "agent-acompact-"
_INTERNAL = (_COMPACTING, "agent-aprompt_suggestion")
_DENIED = "The user doesn't want to "
_REAL_UUID, _REAL_CALL = 36, 20  # characters; shorter ids are made up (by hand, by tests) and mean nothing elsewhere
_LONGEST_PATH = 4_000
_EXIT = re.compile(r"Exit code (\d{1,5})\b")


def roots(home: Path, env: Mapping[str, str]) -> list[Path]:
    given = [Path(part.strip()).expanduser() for part in env.get("CLAUDE_CONFIG_DIR", "").split(",") if part.strip()]
    return [folder / "projects" for folder in given or [home / ".claude", home / ".config" / "claude"]]


def discover(root: Path) -> Iterator[Transcript]:
    for path in sorted(root.rglob("*.jsonl")):
        if path.name not in _NOT_SESSIONS:
            yield Transcript(flavor, root, path, _native(path), (path,))


def _native(path: Path) -> str:
    found = _UUID.search(path.name)
    if path.name.startswith("agent-"):
        folder = path.parent
        for above in path.parents:  # `<session>/subagents/`, or deeper: `<session>/subagents/workflows/<id>/`
            if above.name == "subagents":
                folder = above.parent
                break
        return f"{folder.name}/{path.stem}"
    return found[0] if found else path.stem


def recognises(record: Mapping[str, Any]) -> bool:
    kind, message = text_of(record.get("type")), record.get("message")
    if kind not in _TYPES or "systemPayload" in record:
        return False
    if isinstance(message, dict):
        return "parts" not in message  # Qwen's envelope is the same
    if kind == "system" and "uuid" not in record:
        return False  # Droid's streams
    return "sessionId" in record or "leafUuid" in record


def read(reading: Reading) -> Iterator[Event | Cost]:
    state = _State(reading)
    for record in records(reading, noise=_NOISE):
        kind = record.get("type")
        handle = _HANDLERS.get(kind) if isinstance(kind, str) else None
        if "cwd" in record or "sessionId" in record:
            state.notice(record)
        if handle is not None:
            yield from handle(state, record)
        elif not isinstance(kind, str) or kind not in _IGNORED:
            reading.counts["unknown_records"] += 1
    for identity, told in state.usages.items():
        yield _cost(reading, identity, *told)


class _State:
    """What is carried from line to line."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.calls: dict[str, tuple[str, str]] = {}  # call id -> tool name, action
        self.usages: dict[tuple[str, str], tuple[int, dict[str, Any], object, datetime | None, object]] = {}
        path = reading.transcript.path
        self.subagent = path.name.startswith("agent-")
        self.named = self.subagent or _UUID.search(path.name) is not None
        self.content = not path.name.startswith(_INTERNAL)
        self.known = False
        self.seen: set[str] = set()  # uuids of lines, to tell this session's summaries from copied ones
        self.summaries: dict[str, str] = {}  # summaries of lines that did not come yet
        self.pulls: set[str] = set()
        if self.subagent:
            reading.relation = "compaction" if path.name.startswith(_COMPACTING) else "subagent"

    def notice(self, record: Mapping[str, Any]) -> None:
        """What the envelope says about the session."""
        reading = self.reading
        uuid = text_of(record.get("uuid"))
        self.seen.add(uuid)
        if uuid in self.summaries:
            reading.titled(self.summaries.pop(uuid))
        branch = record.get("gitBranch")
        if branch and isinstance(branch, str) and branch != "HEAD":
            reading.branch = branch
        if self.known:
            return
        session = text_of(record.get("sessionId"))
        if session:
            if self.subagent:
                reading.native = f"{session}/{reading.transcript.path.stem}"
                reading.parent = f"{flavor}:{session}"
            elif not self.named:
                reading.native = session
        cwd = text_of(record.get("cwd"))
        reading.cwd = reading.cwd or (cwd if 0 < len(cwd) <= _LONGEST_PATH else None)
        reading.agent_version = text_of(record.get("version")) or reading.agent_version
        entry = text_of(record.get("entrypoint"))
        if entry:
            reading.interactive = not entry.startswith("sdk")
        self.known = bool(session and reading.cwd and reading.agent_version)


def _user(state: _State, record: dict[str, Any]) -> Iterator[Event | Cost]:
    if not state.content:
        return
    content = dict_of(record.get("message")).get("content")
    at = moment(record.get("timestamp"))
    if isinstance(content, str):
        yield from _said(state, record, content, at)
        return
    if not isinstance(content, list):
        return
    texts, bodies = [], []
    for number, block in enumerate(content):
        if isinstance(block, str):
            texts.append(block)
            continue
        block = dict_of(block)
        kind = block.get("type")
        if kind == "tool_result":
            yield from _result(state, record, block, at, number)
        elif kind == "text":
            texts.append(text_of(block.get("text")))
        elif kind == "image":
            body = image_body(block.get("source"))
            bodies += [body] if body else []
            texts.append("[image]")
    text = "\n".join(part for part in texts if part)
    if text:
        yield from _said(state, record, text, at, tuple(bodies))


def _said(
    state: _State, record: dict[str, Any], text: str, at: datetime | None, bodies: tuple[Body, ...] = ()
) -> Iterator[Event]:
    """A user line that is no tool result: a person's words, or what the host put in their place.

    The line's uuid alone names it: a fork may write as blocks what was one text before.
    """
    kind, role, origin, text = _speaker(state, record, text)
    if text.strip():
        native = _id(state, record, 0)
        yield state.reading.event(kind, role, origin, text, at, native, _side(record, state), bodies)


def _speaker(state: _State, record: dict[str, Any], text: str) -> tuple[str, str, str, str]:
    """(kind, role, origin, text) of what stands in a user line."""
    if record.get("isCompactSummary") or text.startswith(_CONTINUED):
        return "summary", "system", "assistant", text
    if text.startswith(_INTERRUPTED):
        return "human_intervention", "system", "user", text
    origin = dict_of(record.get("origin"))
    told = origin.get("kind") == "task-notification" or "senderTaskId" in origin
    if record.get("isMeta") or record.get("promptSource") == "system" or told:
        return "injected_context", "system", "tool", text
    if text[:1] in "<\n ":
        head = text.lstrip()
        if head.startswith(("<command-name>", "<command-message>")):
            name = _between(head, "command-name")
            if name:
                return "user_prompt", "user", "user", f"{name} {_between(head, 'command-args')}".strip()
        if head.startswith("<bash-input>"):
            command = _between(head, "bash-input")
            return "user_prompt", "user", "user", f"!{command}" if command else head
        stripped = _strip(head)
        if not stripped or stripped.startswith(_HOST_TEXT):
            return "injected_context", "system", "tool", text
        text = stripped
    if state.subagent:
        return "user_prompt", "user", "assistant", text
    if record.get("isSidechain"):
        return "user_prompt", "assistant", "assistant", text
    return "user_prompt", "user", "user", text


def _strip(text: str) -> str:
    """The text behind what hosts put before it."""
    place = 0
    while found := _WRAPPER.match(text, place):
        place = found.end()
    return text[place:]


def _between(text: str, tag: str) -> str:
    """What stands in an element, without the white space around it; nothing when it is not closed."""
    found = text.partition(f"<{tag}>")[2].partition(f"</{tag}>")
    return found[0].strip() if found[1] else ""


def _result(
    state: _State, record: dict[str, Any], block: Mapping[str, Any], at: datetime | None, number: int
) -> Iterator[Event]:
    call = text_of(block.get("tool_use_id"))
    text, bodies = _blocks(block.get("content"))
    tool, action = state.calls.get(call, ("", ""))
    meta: dict[str, Any] = {"call": call} if call else {}
    if tool:
        meta |= {"tool": tool, "action": action}
    failed = block.get("is_error")
    if isinstance(failed, bool) or tool:
        meta["error"] = bool(failed)
    rich = record.get("toolUseResult")
    if isinstance(rich, dict):
        meta |= _enriched(rich)
    if failed:
        code = _EXIT.match(text)
        if code:
            meta["exit"] = int(code[1])
    elif action == "shell" and "background" not in meta and "interrupted" not in meta:
        meta["exit"] = 0
    native = _call(state, record, call, number)
    meta |= _side(record, state)
    yield state.reading.event("tool_result", "tool", result_origin(action), text, at, native, meta, bodies)
    if record.get("toolDenialKind") or (failed and text.startswith(_DENIED)):
        said = text.split("the user said:", 1)[-1].strip() if "the user said:" in text else text
        yield state.reading.event("human_intervention", "system", "user", said, at, native, {"call": call})


def _enriched(rich: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if rich.get("interrupted") is True:
        found["interrupted"] = True
    if rich.get("userModified") is True:
        found["changed_by_user"] = True
    if text_of(rich.get("backgroundTaskId")):
        found["background"] = True
    if text_of(rich.get("agentId")):
        found["agent"] = rich["agentId"]
    if text_of(rich.get("persistedOutputPath")):
        found["spilled"] = rich["persistedOutputPath"]
    return found


def _blocks(content: object) -> tuple[str, tuple[Body, ...]]:
    if isinstance(content, str):
        return content, ()
    texts: list[str] = []
    bodies: list[Body] = []
    for block in content if isinstance(content, list) else ():
        block = dict_of(block)
        if isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif block.get("type") == "image":
            body = image_body(block.get("source"))
            bodies += [body] if body else []
            texts.append("[image]")
        elif block.get("type") == "tool_reference":
            texts.append(text_of(block.get("tool_name")))
    return "\n".join(texts), tuple(bodies)


def _assistant(state: _State, record: dict[str, Any]) -> list[Event]:
    message = record.get("message")
    if not isinstance(message, dict):
        return []
    at = moment(record.get("timestamp"))
    usage = message.get("usage")
    if type(usage) is dict:
        _count(state, record, message, usage, at)
    content = message.get("content")
    if not state.content:
        return []
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    made: list[Event] = []
    for number, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, dict):
            _said_by_agent(state, record, block, at, number, made)
    return made


def _said_by_agent(
    state: _State, record: dict[str, Any], block: dict[str, Any], at: datetime | None, number: int, made: list[Event]
) -> None:
    kind = block.get("type")
    if kind in ("tool_use", "server_tool_use"):
        name, call = text_of(block.get("name")) or "unknown", text_of(block.get("id"))
        what, text, meta = describe(name, block.get("input"), call)
        state.calls[call] = name, meta["action"]
        native = _call(state, record, call, number)
        meta |= _side(record, state)
    elif kind in ("text", "thinking"):
        text, meta = text_of(block.get(kind)), _side(record, state)
        if not text.strip():
            return
        what = "thinking" if kind == "thinking" else "error" if record.get("isApiErrorMessage") else "assistant_text"
        native = _id(state, record, number)
    elif isinstance(kind, str) and kind.endswith("_tool_result"):
        made += _result(state, record, block, at, number)
        return
    else:
        return
    made.append(state.reading.event(what, "assistant", "assistant", text, at, native, meta))


def _count(
    state: _State, record: dict[str, Any], message: dict[str, Any], usage: dict[str, Any], at: datetime | None
) -> None:
    """The largest usage of each request; lines without ids are requests of their own."""
    model = message.get("model")
    if model == "<synthetic>":
        return
    identity = text_of(message.get("id")), text_of(record.get("requestId"))
    if any(identity) and len(identity[0]) < _REAL_CALL:  # made up, by a proxy or a test
        identity = f"{state.reading.native}:{identity[0]}", identity[1]
    elif not any(identity):
        identity = "line", text_of(record.get("uuid")) or f"{state.reading.native}:{state.reading.at}"
    known = state.usages.get(identity)
    output = whole(usage.get("output_tokens"))
    if known is None or known[0] < output:
        state.usages[identity] = output, usage, model, at, record.get("costUSD")


def _cost(
    reading: Reading,
    identity: tuple[str, str],
    output: int,
    usage: dict[str, Any],
    model: object,
    at: datetime | None,
    usd: object,
) -> Cost:
    split = dict_of(usage.get("cache_creation"))
    hour = whole(split.get("ephemeral_1h_input_tokens"))
    written = max(whole(usage.get("cache_creation_input_tokens")), hour + whole(split.get("ephemeral_5m_input_tokens")))
    return reading.cost(
        identity,
        at,
        model,
        input=usage.get("input_tokens"),
        cache_read=usage.get("cache_read_input_tokens"),
        cache_write_5m=written - hour,
        cache_write_1h=hour,
        output=output,
        usd=usd,
    )


def _system(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    what = text_of(record.get("subtype"))
    text, at = text_of(record.get("content")), moment(record.get("timestamp"))
    meta: dict[str, Any] = {}
    if what == "compact_boundary":
        kind, facts = "compaction", dict_of(record.get("compactMetadata"))
        meta = {"trigger": text_of(facts.get("trigger")), "tokens": whole(facts.get("preTokens"))}
    elif what == "api_error":
        kind, text = "retry", _error_text(record)
        meta = {"attempt": whole(record.get("retryAttempt"))}
    elif what in ("api_refusal", "model_refusal_fallback"):
        kind = "error"
    elif what == "turn_duration":
        kind, text, meta = "turn_end", "", {"ms": whole(record.get("durationMs"))}
    elif what == "away_summary":
        kind = "summary"
    else:
        return
    if state.content:
        yield state.reading.event(kind, "system", "tool", text, at, _id(state, record, 0), meta)


def _error_text(record: Mapping[str, Any]) -> str:
    error = record.get("error")
    inner = dict_of(dict_of(dict_of(error).get("error")).get("error") or dict_of(error).get("error"))
    return text_of(inner.get("message")) or text_of(dict_of(error).get("message")) or text_of(error) or "API error"


def _attachment(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    attachment = dict_of(record.get("attachment"))
    at = moment(record.get("timestamp"))
    if attachment.get("type") == "queued_command":
        prompt = attachment.get("prompt")
        text, bodies = (prompt, ()) if isinstance(prompt, str) else _blocks(prompt)
        if attachment.get("commandMode") == "task-notification" or not text.strip():
            return
        if state.content:
            who = {name: attachment[name] for name in ("origin", "isMeta") if name in attachment}
            yield from _said(state, {**record, **who}, text, at, bodies)
    elif attachment.get("type") == "hook_additional_context":
        content = attachment.get("content")
        text = "\n".join(map(text_of, content)) if isinstance(content, list) else text_of(content)
        if text.strip() and state.content:
            yield state.reading.event("injected_context", "system", "tool", text, at, _id(state, record, 0))


def _titles(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    """Titles; a person's own wins, then the model's, then the oldest form, which may be of another session's line."""
    summary, leaf = text_of(record.get("summary")), text_of(record.get("leafUuid"))
    if summary and leaf and leaf not in state.seen:
        state.summaries[leaf] = summary
    else:
        state.reading.titled(summary)
    for rank, field in enumerate(("aiTitle", "customTitle"), 1):
        state.reading.titled(record.get(field), rank)
    yield from ()


def _pull_request(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    url = text_of(record.get("prUrl"))
    if url and url not in state.pulls:
        state.pulls.add(url)
        native = ("pr", state.reading.native, url)
        meta = {"what": "pull_request", "repository": text_of(record.get("prRepository"))}
        yield state.reading.event("state", "system", "tool", url, moment(record.get("timestamp")), native, meta)


def _relocated(state: _State, record: dict[str, Any]) -> Iterator[Event]:
    state.reading.meta["relocated"] = text_of(record.get("relocatedCwd"))
    yield from ()


def _side(record: Mapping[str, Any], state: _State) -> dict[str, Any]:
    return {"sidechain": True} if record.get("isSidechain") and not state.subagent else {}


def _id(state: _State, record: Mapping[str, Any], number: int) -> tuple[str, ...]:
    uuid = text_of(record.get("uuid"))
    if len(uuid) >= _REAL_UUID:
        return ("uuid", uuid, str(number)) if number else ("uuid", uuid)
    what = uuid or text_of(record.get("timestamp"))
    return state.reading.again(state.reading.native, text_of(record.get("type")), what, str(number))


def _call(state: _State, record: Mapping[str, Any], call: str, number: int) -> tuple[str, ...]:
    """What names a call and its result: the call's id, which a fork keeps; a made-up one means nothing elsewhere."""
    if len(call) >= _REAL_CALL:
        return "call", call
    return state.reading.again(state.reading.native, "call", call) if call else _id(state, record, number)


_HANDLERS = {
    "user": _user,
    "assistant": _assistant,
    "system": _system,
    "attachment": _attachment,
    "summary": _titles,
    "ai-title": _titles,
    "custom-title": _titles,
    "pr-link": _pull_request,
    "relocated": _relocated,
}
_IGNORED = frozenset(
    "progress file-history-snapshot permission-mode mode last-prompt queue-operation bridge-session agent-name "
    "worktree-state frame-link atis-latch started result".split()
)
