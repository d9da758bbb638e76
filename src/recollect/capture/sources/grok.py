"""Grok (xAI Grok Build): one directory per session, `~/.grok/sessions/<encoded cwd>/<session>/`.

    updates.jsonl       {"timestamp":s,"method":"session/update"|"_x.ai/session/update","params":{"sessionId":S,
                         "update":{"sessionUpdate":"user_message_chunk"|"agent_message_chunk"|"tool_call"|…},
                         "_meta":{"eventId":"S-17","agentTimestampMs":ms,"promptId":P}}}
    chat_history.jsonl  {"type":"user","content":[…],"prompt_index":0} {"type":"assistant","content":…,"tool_calls":[…]}
    summary.json        {"info":{"id":S,"cwd":C},"generated_title":…,"parent_session_id":…,"session_kind":…}

`updates.jsonl` is the log; its lines are flushed late, so the number in `eventId` gives the order. `chat_history.jsonl`
is the model's context, rewritten at will and without times: it is read only where the log has no prompts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from recollect.capture.beneath import open_beneath
from recollect.capture.bodies import data_url_body, decoded
from recollect.capture.lines import records
from recollect.capture.toolcall import describe, result_origin
from recollect.capture.transcript import Reading, Transcript, dict_of, moment, text_of, whole
from recollect.errors import BadTranscript
from recollect.model import Body, Cost, Event

flavor = "grok"

MAX_SORTED = 64 << 20  # bytes of a log that are put in order; a larger one is read as it lies
MAX_DOCUMENT = 4 << 20
_LOG, _CHAT = "updates.jsonl", "chat_history.jsonl"
_FILES = (_LOG, _CHAT, "summary.json", "events.jsonl", "prompt_context.json")
_METHODS = ("session/update", "_x.ai/session/update")
_TICKS = 1e10  # in a dollar
_RANDOM = 20  # an id with so many characters is taken for unique in the world
_QUERY = re.compile(r"\s*<user_query>\s*(.*?)\s*</user_query>\s*", re.DOTALL)
_HOST_TEXT = ("<system-reminder>", "<user_info>", "<git_status>", "<rules>", "<task-notification>", "<task-id>")
_EXIT = re.compile(r"exit: (-?\d{1,10})\n")
_DENIED = ("permission_rejected", "permission_cancelled")
_CHUNKS = {"user_message_chunk": "user", "agent_message_chunk": "agent", "agent_thought_chunk": "thought"}


def roots(home: Path, env: Mapping[str, str]) -> list[Path]:
    given = env.get("GROK_HOME", "")
    return [(Path(given) if given else home / ".grok") / "sessions"]


def discover(root: Path) -> Iterator[Transcript]:
    folders = {path.parent for name in (_LOG, _CHAT) for path in root.rglob(name)}
    for folder in sorted(folders):
        files = tuple(path for name in _FILES if (path := folder / name).is_file())
        yield Transcript(flavor, root, folder, folder.name, files)


def recognises(record: Mapping[str, Any]) -> bool:
    if record.get("method") in _METHODS:
        return "sessionUpdate" in dict_of(dict_of(record.get("params")).get("update"))
    kind = record.get("type")
    if kind == "user":
        return isinstance(record.get("content"), list) and ("prompt_index" in record or "synthetic_reason" in record)
    if kind == "assistant" or (kind is None and record.get("role") == "assistant"):
        return isinstance(record.get("content"), str) and "model_id" in record
    return kind == "system" and set(record) == {"type", "content"}


def read(reading: Reading) -> Iterator[Event | Cost]:
    state = _State(reading)
    _describe_session(state)
    _learn_outcomes(state)
    files = {path.name: path for path in reading.transcript.files}
    prompted = False
    if _LOG in files:
        updates = _ordered(reading, files[_LOG])
        if isinstance(updates, list) and _CHAT in files:
            prompted = any(dict_of(entry.update).get("sessionUpdate") == "user_message_chunk" for entry in updates)
        else:
            prompted = True
        yield from _log(state, updates, told=prompted)
    if not prompted and _CHAT in files:
        yield from _chat(state, files[_CHAT])
    yield from state.costs.values()


class _Entry(NamedTuple):
    """A line of the log, with what orders it and where it was."""

    number: int
    line: int
    update: Mapping[str, Any]
    meta: Mapping[str, Any]
    flushed: object
    at: int
    size: int


class _State:
    """What is carried from line to line."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.time: datetime | None = None
        self.doubt = ""  # why the time is not the record's own
        self.subagent = False
        self.inherited = 0  # rows of the chat that are the parent's
        self.forked: datetime | None = None
        self.model: str | None = None
        self.outcomes: dict[str, tuple[str, datetime | None]] = {}  # call id -> how it ended, and when
        self.calls: dict[str, tuple[str, str, tuple[str, ...]]] = {}  # call id -> tool name, action, identity
        self.results: set[str] = set()
        self.seen: set[str] = set()  # event ids
        self.costs: dict[tuple[str, str], Cost] = {}
        self.ended: set[str] = set()  # prompts whose end was told
        self.message: _Message | None = None
        self.boundary = False  # the last thing was a compaction

    def event(
        self,
        kind: str,
        role: str,
        origin: str,
        text: str,
        native: tuple[str, ...],
        meta: Mapping[str, Any] | None = None,
        bodies: tuple[Body, ...] = (),
    ) -> Event:
        meta = dict(meta or {})
        if self.doubt and self.time:
            meta["time"] = self.doubt
        self.boundary = kind == "compaction"
        return self.reading.event(kind, role, origin, text, self.time, native, meta, bodies)

    def calling(self, call: str) -> tuple[str, ...]:
        """The identity of a call, with the session's id when its own may not be the only one in the world."""
        return self.reading.again("call", *((call,) if len(call) >= _RANDOM else (self.reading.native, call)))

    def identity(self, entry: _Entry, what: str) -> tuple[str, ...]:
        """The id of a line of the log; a fork keeps that of the line it copied."""
        given = text_of(entry.meta.get("eventId"))
        if given:
            return "event", given
        stamp = str(entry.meta.get("agentTimestampMs") or entry.flushed)
        return self.reading.again(self.reading.native, stamp, what)


class _Message:
    """A message being put together from its chunks."""

    def __init__(self, kind: str, key: tuple[str, ...], native: tuple[str, ...], entry: _Entry, host: bool) -> None:
        self.kind, self.key, self.native, self.entry, self.host = kind, key, native, entry, host
        self.texts: list[str] = []
        self.bodies: list[Body] = []


def _describe_session(state: _State) -> None:
    """What `summary.json` and its neighbours say about the session."""
    reading = state.reading
    summary = _document(reading, "summary.json")
    info = dict_of(summary.get("info"))
    reading.native = text_of(info.get("id")) or reading.native
    reading.cwd = text_of(info.get("cwd")) or _cwd_file(reading)
    reading.branch, reading.commit = (
        text_of(summary.get("head_branch")) or None,
        text_of(summary.get("head_commit")) or None,
    )
    remotes = summary.get("git_remotes")
    if isinstance(remotes, list) and remotes:
        reading.repository = text_of(remotes[0]) or None
    reading.titled(summary.get("session_summary"), 0)
    reading.titled(summary.get("generated_title"), 2 if summary.get("title_is_manual") is True else 1)
    state.model = reading.model(summary.get("current_model_id"))
    kind, parent = text_of(summary.get("session_kind")), text_of(summary.get("parent_session_id"))
    state.subagent = kind.startswith("subagent")
    if parent:
        reading.parent = f"{flavor}:{parent}"
    if state.subagent:
        reading.relation = "subagent"
    elif parent:
        reading.relation = "fork"
    state.inherited = whole(summary.get("inherited_prefix_len"))
    state.forked = moment(summary.get("forked_at"))
    state.time, state.doubt = moment(summary.get("created_at")), "inferred"
    for name, field in (("kind", "session_kind"), ("agent", "agent_name")):
        if text_of(summary.get(field)):
            reading.meta[name] = summary[field]
    headless = _document(reading, "prompt_context.json").get("is_non_interactive")
    if state.subagent or kind == "headless" or headless is True:
        reading.interactive = False
    elif headless is False:
        reading.interactive = True


def _document(reading: Reading, name: str) -> Mapping[str, Any]:
    """A small JSON file of the session; what is not one is as if it were not there."""
    path = next((path for path in reading.transcript.files if path.name == name), None)
    data = _bytes(reading.transcript.root, path) if path else b""
    if not data:
        return {}
    try:
        return dict_of(orjson.loads(data))
    except ValueError:
        reading.counts["bad_documents"] += 1
        return {}


def _cwd_file(reading: Reading) -> str | None:
    """Directories whose encoded name would be too long hold the path in `.cwd`."""
    data = _bytes(reading.transcript.root, reading.transcript.path.parent / ".cwd")
    return data.decode("utf-8", "replace").strip() or None


def _bytes(root: Path, path: Path) -> bytes:
    try:
        with open_beneath(root, path) as file:
            data = file.read(MAX_DOCUMENT + 1)
    except (BadTranscript, OSError):
        return b""
    return data if len(data) <= MAX_DOCUMENT else b""


def _learn_outcomes(state: _State) -> None:
    """How calls ended, from the telemetry: the text of a result alone does not tell."""
    path = next((path for path in state.reading.transcript.files if path.name == "events.jsonl"), None)
    if path is None:
        return
    try:
        for record in records(Reading(state.reading.transcript, state.reading.now), path):
            call = text_of(record.get("tool_call_id"))
            if record.get("type") == "tool_completed" and call and record.get("source") != "workspace":
                state.outcomes[call] = text_of(record.get("outcome")), moment(record.get("ts"))
    except BadTranscript:
        return


def _ordered(reading: Reading, path: Path) -> Iterable[_Entry]:
    """The lines of the log by the number of their event; those without one stay behind the line before them."""
    try:
        small = path.stat().st_size <= MAX_SORTED
    except OSError:
        small = False
    entries = _entries(reading, path)
    return sorted(entries, key=lambda entry: entry[:2]) if small else entries


def _entries(reading: Reading, path: Path) -> Iterator[_Entry]:
    number = 0
    for line, record in enumerate(records(reading, path)):
        params = dict_of(record.get("params")) or record  # the oldest lines have no envelope
        update, meta = params.get("update"), dict_of(params.get("_meta"))
        if type(update) is not dict:
            reading.counts["unknown_records"] += 1
            continue
        output = update.get("rawOutput")
        if type(output) is dict and isinstance(output.get("output"), list):
            del output["output"]  # the same text again, one number for each byte
        last = text_of(meta.get("eventId")).rpartition("-")[2]
        number = int(last) if last.isdecimal() and len(last) < 16 else number
        yield _Entry(number, line, update, meta, record.get("timestamp"), reading.at, reading.size)


def _log(state: _State, entries: Iterable[_Entry], told: bool) -> Iterator[Event]:
    """The events of the log; not told, only what it cost."""
    reading = state.reading
    for entry in entries:
        reading.at, reading.size = entry.at, entry.size
        kind = text_of(entry.update.get("sessionUpdate"))
        handle = _UPDATES.get(kind)
        if handle is None:
            if kind not in _IGNORED:
                reading.counts["unknown_records"] += 1
            continue
        time = moment(entry.meta.get("agentTimestampMs"))
        given = text_of(entry.meta.get("eventId"))
        if given in state.seen or _is_copy(state, entry, time) or not (told or kind == "turn_completed"):
            continue
        if given:
            state.seen.add(given)
        if handle is not _chunk:
            yield from _finished(state)
            reading.at, reading.size = entry.at, entry.size
        _set_time(state, entry)
        for event in handle(state, entry):
            if told:
                yield event
    yield from _finished(state)


def _set_time(state: _State, entry: _Entry) -> None:
    """When it happened, or at least when it was written."""
    time = moment(entry.meta.get("agentTimestampMs"))
    flushed = None if time else moment(entry.flushed)
    if time or flushed:
        state.time, state.doubt = time or flushed, "" if time else "flush"
    else:
        state.doubt = "inferred"


def _is_copy(state: _State, entry: _Entry, time: datetime | None) -> bool:
    """A fork copies its parent's log: the lines keep their event ids, or at least their time. They are the parent's."""
    session = text_of(entry.meta.get("eventId")).rpartition("-")[0]
    if session:
        return session != state.reading.native and state.reading.parent is not None
    return state.forked is not None and time is not None and time < state.forked


def _chunk(state: _State, entry: _Entry) -> Iterator[Event]:
    """Part of a message. Those of one message follow each other: same prompt, same answer of the model."""
    update, meta = entry.update, dict_of(entry.update.get("_meta"))
    kind = _CHUNKS[update["sessionUpdate"]]
    host = meta.get("hostTurn") is True or entry.meta.get("hostTurn") is True
    which = ("promptIndex",) if kind == "user" else ("promptId", "streamStartMs")
    key = (kind, str(host), *(str(meta.get(name, entry.meta.get(name))) for name in which))
    state.model = state.reading.model(meta.get("modelId")) or state.model
    if state.message is None or state.message.key != key:
        yield from _finished(state)
        _set_time(state, entry)
        state.message = _Message(kind, key, state.identity(entry, kind), entry, host)
    text, bodies = _content([update.get("content")])
    state.message.texts.append(text)
    state.message.bodies += bodies


def _finished(state: _State) -> Iterator[Event]:
    """The message whose last chunk was read, with the time and place of its first."""
    message, state.message = state.message, None
    if message is None:
        return
    text = ("\n" if message.kind == "user" else "").join(message.texts)
    if not text.strip():
        return
    _set_time(state, message.entry)
    state.reading.at, state.reading.size = message.entry.at, message.entry.size
    bodies = tuple(message.bodies)
    if message.host:
        yield state.event("injected_context", "system", "tool", text, message.native, None, bodies)
    elif message.kind == "user":
        yield _said(state, text, message.native, bodies)
    else:
        kind = "assistant_text" if message.kind == "agent" else "thinking"
        yield state.event(kind, "assistant", "assistant", text, message.native, None, bodies)


def _said(state: _State, text: str, native: tuple[str, ...], bodies: tuple[Body, ...]) -> Event:
    """Words in the user's role: a person's, those of the agent that started this one, or the host's."""
    query = _QUERY.fullmatch(text)
    if query is None and text.lstrip().startswith(_HOST_TEXT):
        return state.event("injected_context", "system", "tool", text, native, None, bodies)
    origin = "assistant" if state.subagent else "user"
    return state.event("user_prompt", "user", origin, query[1] if query else text, native, None, bodies)


def _content(parts: object) -> tuple[str, tuple[Body, ...]]:
    """The text of content blocks as the protocol has them, their images aside."""
    if isinstance(parts, str):
        return parts, ()
    texts: list[str] = []
    bodies: list[Body] = []
    for part in parts if isinstance(parts, list) else ():
        part = dict_of(part)
        part = dict_of(part.get("content")) or part
        kind = part.get("type")
        if isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif kind == "image":
            body = data_url_body(part.get("url")) or decoded(text_of(part.get("data")), part.get("mimeType"))
            bodies += [body] if body else []
            texts.append("[image]")
        elif kind in ("diff", "resource_link"):
            texts.append(text_of(part.get("path")) or text_of(part.get("uri")))
        elif kind == "resource":
            texts.append(text_of(dict_of(part.get("resource")).get("text")))
    return "\n".join(text for text in texts if text), tuple(bodies)


def _tool_call(state: _State, entry: _Entry) -> Iterator[Event]:
    update = entry.update
    call = text_of(update.get("toolCallId"))
    if call and call not in state.calls:
        name = text_of(dict_of(dict_of(update.get("_meta")).get("x.ai/tool")).get("name"))
        yield _called(state, name or text_of(update.get("title")), update.get("rawInput"), call)
    yield from _tool_update(state, entry)


def _called(state: _State, name: str, given: Any, call: str) -> Event:
    """A call; those that go through the dispatcher for MCP servers have the name of the tool they are for."""
    if name == "use_tool" and text_of(dict_of(given).get("tool_name")):
        name, given = given["tool_name"], given.get("tool_input")
    kind, text, meta = describe(name or "unknown", given, call)
    native = state.calling(call) if call else _row(state, "call", f"{name} {text}")
    state.calls[call] = meta["tool"], meta["action"], native
    return state.event(kind, "assistant", "assistant", text, native, meta)


def _tool_update(state: _State, entry: _Entry) -> Iterator[Event]:
    update = entry.update
    call, status = text_of(update.get("toolCallId")), update.get("status")
    if status not in ("completed", "failed") or not call or call in state.results:
        return
    if call not in state.calls:
        tool = dict_of(dict_of(update.get("_meta")).get("x.ai/tool"))
        name = text_of(tool.get("name")) or text_of(update.get("title"))
        if name and update.get("rawInput"):
            yield _called(state, name, update["rawInput"], call)
    output = dict_of(update.get("rawOutput"))
    text, bodies = _content(update.get("content"))
    text = text or text_of(output.get("output_for_prompt")) or _as_json(output)
    facts: dict[str, Any] = {"error": status == "failed"}
    code = output.get("exit_code")
    if type(code) is int:
        facts |= {"exit": code, "error": code != 0 or status == "failed"}
    for name in ("timed_out", "truncated"):
        if output.get(name) is True:
            facts[name] = True
    yield from _returned(state, call, text, bodies, facts)


def _as_json(output: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in output.items() if key != "type" and value not in (None, "", [])}
    return json.dumps(rest, ensure_ascii=False, default=str) if rest else ""


def _returned(state: _State, call: str, text: str, bodies: tuple[Body, ...], facts: dict[str, Any]) -> Iterator[Event]:
    """A result, and what a person said to the call if they refused it."""
    state.results.add(call)
    tool, action, native = state.calls.get(call) or ("", "", state.calling(call))
    meta: dict[str, Any] = {"call": call} if call else {}
    if tool:
        meta |= {"tool": tool, "action": action}
    head = _EXIT.match(text) if action == "shell" else None
    if head:
        text = text[head.end() :]
        facts = {"exit": int(head[1]), **facts, "error": facts.get("error", False) or head[1] != "0"}
    outcome = state.outcomes.get(call, ("", None))[0]
    if outcome:
        facts["error"] = facts.get("error", False) or outcome not in ("success", "followup")
    native = state.reading.again(*native)
    yield state.event("tool_result", "tool", result_origin(action), text, native, meta | facts, bodies)
    if outcome in _DENIED:
        yield state.event(
            "human_intervention", "system", "user", text or "denied", native, {"call": call, "what": "denied"}
        )


def _turn_completed(state: _State, entry: _Entry) -> Iterator[Event]:
    update, usage = entry.update, dict_of(entry.update.get("usage"))
    prompt = text_of(update.get("prompt_id"))
    native = ("prompt", prompt) if prompt else state.identity(entry, "turn")
    if usage:
        _count(state, native, usage)
    if prompt in state.ended:
        return
    state.ended |= {prompt} if prompt else set()
    reason = text_of(update.get("stop_reason"))
    if reason == "cancelled" and not state.subagent:
        yield state.event("human_intervention", "system", "user", "interrupted", native, {"what": "interrupted"})
    yield state.event(
        "turn_end", "system", "tool", "", native, {"reason": reason, "ms": whole(update.get("elapsed_ms"))}
    )


def _count(state: _State, native: tuple[str, ...], usage: Mapping[str, Any]) -> None:
    """What a turn took, by model; a turn may be told again, and then the last holds. Its bill has that of the subagents
    it waited for in it, so their own sessions are not counted once more."""
    by_model = {name: dict_of(row) for name, row in dict_of(usage.get("modelUsage")).items() if dict_of(row)}
    rows = by_model if len(by_model) > 1 else {next(iter(by_model), state.model or ""): usage}
    trusted = usage.get("costIsPartial") is not True and usage.get("usageIsIncomplete") is not True
    meta = state.reading.meta
    for name, row in rows.items():
        given, ticks = whole(row.get("inputTokens")), whole(row.get("costUsdTicks"))
        read = min(whole(row.get("cachedReadTokens")), given)
        written = min(whole(row.get("cacheCreationTokens")), given - read)
        cost = state.reading.cost(
            (*native, name),
            state.time,
            name,
            input=given - read - written,
            cache_read=read,
            cache_write_5m=written,
            output=row.get("outputTokens"),
            reasoning=row.get("reasoningTokens"),
            usd=ticks / _TICKS if ticks and trusted else None,
        )
        if state.subagent:
            meta["tokens_in_parent"] = meta.get("tokens_in_parent", 0) + cost.tokens
        else:
            state.costs["/".join(native), name] = cost


def _compacted(state: _State, entry: _Entry) -> Iterator[Event]:
    """One compaction is told by its checkpoint and by its end: the second of them adds no boundary."""
    update, native = entry.update, state.identity(entry, "compaction")
    preview = text_of(update.get("summary_preview"))
    if not state.boundary:
        meta = {"tokens": whole(update.get("tokens_before"))}
        yield state.event("compaction", "system", "tool", "", native, meta)
    if preview.strip():
        yield state.event("summary", "system", "assistant", preview, native)
        state.boundary = True


def _rewound(state: _State, entry: _Entry) -> Iterator[Event]:
    meta = {"what": "rewind", "to": whole(entry.update.get("target_prompt_index"))}
    yield state.event("state", "system", "user", "", state.identity(entry, "rewind"), meta)


def _retry(state: _State, entry: _Entry) -> Iterator[Event]:
    update = entry.update
    kind = "retry" if update.get("type") == "retrying" else "error"
    text = text_of(update.get("reason")) or text_of(update.get("message")) or "API error"
    meta = {"attempt": whole(update.get("attempt") or update.get("attempts"))}
    yield state.event(kind, "system", "tool", text, state.identity(entry, kind), meta)


def _failed(state: _State, entry: _Entry) -> Iterator[Event]:
    text = text_of(entry.update.get("error")) or "error"
    yield state.event("error", "system", "tool", text, state.identity(entry, "error"))


def _recap(state: _State, entry: _Entry) -> Iterator[Event]:
    text = text_of(entry.update.get("summary"))
    if text.strip():
        yield state.event("summary", "system", "assistant", text, state.identity(entry, "recap"))


def _facts(state: _State, entry: _Entry) -> Iterator[Event]:
    state.reading.titled(entry.update.get("session_summary"), 0)
    model = entry.update.get("model_id") or entry.update.get("new_model_id")
    state.model = state.reading.model(model) or state.model
    yield from ()


def _chat(state: _State, path: Path) -> Iterator[Event]:
    """The model's context as conversation: no times but those of finished calls, and no ids but those of calls."""
    for index, record in enumerate(records(state.reading, path)):
        kind = record.get("type") or record.get("role")  # rows of the first format have a role and no type
        handle = _ROWS.get(kind) if isinstance(kind, str) else None
        if handle is not None and index >= state.inherited:
            yield from handle(state, record)
        elif handle is None and kind != "system":
            state.reading.counts["unknown_records"] += 1


def _row(state: _State, what: str, text: str) -> tuple[str, ...]:
    """Rows move when the file is rewritten, so the text itself is the identity."""
    return state.reading.again(state.reading.native, what, text)


def _user_row(state: _State, record: Mapping[str, Any]) -> Iterator[Event]:
    text, bodies = _content(record.get("content"))
    if not text.strip():
        return
    native = _row(state, "user", text)
    if record.get("prior_turn_interrupt") and not state.subagent:
        yield state.event("human_intervention", "system", "user", "interrupted", native, {"what": "interrupted"})
    reason = record.get("synthetic_reason")
    if reason and reason != "interjection":
        yield state.event("injected_context", "system", "tool", text, native, {"reason": text_of(reason)}, bodies)
    else:
        yield _said(state, text, native, bodies)


def _reasoning_row(state: _State, record: Mapping[str, Any]) -> Iterator[Event]:
    text = "\n\n".join(part for part in (_content(record.get(name))[0] for name in ("summary", "content")) if part)
    given = text_of(record.get("id"))
    if text.strip():
        native = _row(state, "reasoning", given or text)
        yield state.event("thinking", "assistant", "assistant", text, native)


def _assistant_row(state: _State, record: Mapping[str, Any]) -> Iterator[Event]:
    state.model = state.reading.model(record.get("model_id")) or state.model
    thought = text_of(record.get("reasoning_content")) or _content(dict_of(record.get("reasoning")).get("summary"))[0]
    if thought.strip():
        yield state.event("thinking", "assistant", "assistant", thought, _row(state, "reasoning", thought))
    text, bodies = _content(record.get("content"))
    if text.strip():
        yield state.event(
            "assistant_text", "assistant", "assistant", text, _row(state, "assistant", text), None, bodies
        )
    calls = record.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        call = dict_of(call)
        asked = dict_of(call.get("function")) or call
        given = asked.get("arguments")
        if isinstance(given, str) and asked.get("name") == "use_tool":
            given = _parsed(given)
        yield _called(state, text_of(asked.get("name")), given, text_of(call.get("id")))


def _parsed(given: str) -> Any:
    try:
        return orjson.loads(given)
    except ValueError:
        return given


def _result_row(state: _State, record: Mapping[str, Any]) -> Iterator[Event]:
    call = text_of(record.get("tool_call_id"))
    text, bodies = _content(record.get("content"))
    images = _content(record.get("images"))[1]
    ended = state.outcomes.get(call, ("", None))[1]
    if ended:
        state.time, state.doubt = ended, ""
    yield from _returned(state, call, text, bodies + images, {})
    state.doubt = "inferred"


def _backend_row(state: _State, record: Mapping[str, Any]) -> Iterator[Event]:
    """A tool that ran at the provider: its call, and the addresses it found."""
    tool = dict_of(record.get("kind"))
    call = text_of(tool.get("id")) or text_of(tool.get("call_id"))
    action = {key: value for key, value in dict_of(tool.get("action")).items() if key not in ("type", "sources")}
    yield _called(state, text_of(tool.get("tool_type")), action or tool.get("input"), call)
    sources = dict_of(tool.get("action")).get("sources")
    urls = [text_of(dict_of(source).get("url")) for source in sources] if isinstance(sources, list) else []
    if any(urls):
        yield from _returned(state, call, "\n".join(filter(None, urls)), (), {})


_UPDATES: dict[str, Any] = {
    **dict.fromkeys(_CHUNKS, _chunk),
    "tool_call": _tool_call,
    "tool_call_update": _tool_update,
    "turn_completed": _turn_completed,
    "compaction_checkpoint": _compacted,
    "auto_compact_completed": _compacted,
    "rewind_marker": _rewound,
    "retry_state": _retry,
    "auto_compact_failed": _failed,
    "auto_recovery_exhausted": _failed,
    "session_recap": _recap,
    "session_summary_generated": _facts,
    "model_changed": _facts,
    "model_auto_switched": _facts,
}
_ROWS: dict[str, Any] = {
    "user": _user_row,
    "reasoning": _reasoning_row,
    "assistant": _assistant_row,
    "tool_result": _result_row,
    "tool": _result_row,
    "backend_tool_call": _backend_row,
}
_IGNORED = frozenset(
    "plan current_mode_update available_commands_update config_option_update session_info_update usage_update "
    "auto_compact_started auto_compact_cancelled memory_flush_started memory_flush_completed memory_dream_completed "
    "memory_session_saved memory_files auto_continue_completed feedback_request relay_sync_status diff_review "
    "auto_recovery_started hook_annotation hook_execution hooks_changed plugins_changed plugin_updates_installed "
    "session_status session_recap_unavailable last_turn_summary task_completed task_backgrounded subagent_spawned "
    "subagent_progress subagent_finished scheduled_task_created scheduled_task_fired scheduled_task_deleted "
    "monitor_event tool_call_delta_chunk image_compressed image_dropped workflow_updated goal_updated "
    "pending_interaction interaction_resolved response_started reasoning_completed response_completed".split()
)
