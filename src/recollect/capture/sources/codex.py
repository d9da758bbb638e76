"""Codex (CLI, desktop, IDE): `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl[.zst]`, `archived_sessions/`.

    {"timestamp":T,"type":"session_meta","payload":{"id":S,"cwd":C,"cli_version":V,"source":"cli"|{"subagent":…},"git":{…}}}
    {"timestamp":T,"type":"turn_context","payload":{"turn_id":U,"model":M,"cwd":C}}
    {"timestamp":T,"type":"response_item","payload":{"type":"message"|"reasoning"|"function_call"|"function_call_output"|…}}
    {"timestamp":T,"type":"event_msg","payload":{"type":"user_message"|"agent_message"|"token_count"|"item_completed"|…}}
    {"timestamp":T,"type":"compacted","payload":{"message":"","replacement_history":[…]}}

Every text stands in two streams. What the model says and does is taken from the response items, which every version
writes; a person's prompts from the events, as the items mix them with what the host put in. Early files are bare items.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from recollect.capture.beneath import open_beneath
from recollect.capture.bodies import data_url_body, decoded
from recollect.capture.lines import open_transcript, records
from recollect.capture.toolcall import describe, result_origin
from recollect.capture.transcript import Reading, Transcript, dict_of, moment, text_of, whole
from recollect.errors import BadTranscript
from recollect.model import Body, Cost, Event

flavor = "codex"

MAX_DOCUMENT = 64 << 20
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NOT_SESSIONS = frozenset(("history.jsonl", "session_index.jsonl"))
_ENVELOPES = frozenset("session_meta turn_context response_item event_msg compacted".split())
_BURST = timedelta(milliseconds=250)  # a copied history is written at once: no two of its records are this far apart
_RANDOM = 20  # an id with so many characters is taken for unique in the world

# What the host says in the user's role; the words of a person begin otherwise.
_HOST_TEXT = (
    *("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>", "<skill>"),
    *("<subagent_notification>", "<permissions instructions>", "<user_shell_command>", "<model_switch>"),
    *("<personality_spec>", "<multi_agent_role>", "<current_time_reminder>", "<recommended_plugins>", "<goal_context>"),
    *("<rollout_budget>", "<image_resize_notice>", "<realtime_delegation>", "<codex_internal_context", "<user_action>"),
    *("<guardian_sync_review>", "<hook_prompt"),
)
# Instructions of the host to the model: as good as a system prompt.
_INSTRUCTIONS = (
    *("<permissions instructions>", "<collaboration_mode>", "<skills_instructions>", "<apps_instructions>", "<tools>"),
    *("<plugins_instructions>", "<environments_instructions>", "<multi_agent_mode>", "<model_switch>"),
    *("<context_window", "<realtime_conversation>", "<personality_spec>", "<managed_developer_instructions>"),
)
_BUCKETS = (
    *("input_tokens", "cached_input_tokens", "cache_write_input_tokens"),
    *("output_tokens", "reasoning_output_tokens"),
)
_IDE_HEADS = ("# Context from my IDE setup:", "# Files mentioned by the user:", "# In app browser:")
_IDE_REQUEST = "## My request for Codex:"
# How a command's output is headed, up to a line `Output:`; the exit code stands near the end of the head.
_RUN_HEADS = ("Command: ", "Chunk ID: ", "Wall time: ", "Exit code: ")
_RUN_BODY = "\nOutput:\n"
_CODE = re.compile(r"(?:Process exited with code|[Ee]xit[ _]code:) (-?\d{1,10})")
_FAILED = ("apply_patch verification failed", "exec_command failed", "write_stdin failed", "collab spawn failed")
_REJECTED = "rejected by user"
# A patch handed over as a command, which Codex takes for the patch: `cd x && apply_patch <<'EOF' …`, `apply_patch "…"`.
# What comes of it has two heads.
_PATCH_RUN = re.compile(r"\s*(?:cd\s+(\S+)\s*&&\s*)?apply_?patch\b[^\n]{0,40}\s*\*\*\* Begin Patch$", re.MULTILINE)
_TWO_HEADS = re.compile(r"Wall time: [\d.]+ seconds\nOutput:\n(?=Exit code: -?\d+\nWall time: )")


def roots(home: Path, env: Mapping[str, str]) -> list[Path]:
    given = env.get("CODEX_HOME", "").strip()
    root = Path(given).expanduser() if given else home / ".codex"
    return [root / "sessions", root / "archived_sessions"]


def discover(root: Path) -> Iterator[Transcript]:
    """Rollouts; Codex may pack a cold one, and unpacks it on resume: where both stand, the plain one is the newer."""
    found = sorted(path for path in root.rglob("*.json*") if _is_rollout(path.name))
    plain = set(found)
    for path in found:
        if path.suffix != ".zst" or path.with_suffix("") not in plain:
            yield Transcript(flavor, root, path, _native(path.name), (path,))


def _is_rollout(name: str) -> bool:
    if name.endswith((".jsonl", ".jsonl.zst")):
        return name not in _NOT_SESSIONS
    return name.startswith("rollout-") and name.endswith(".json")


def _native(name: str) -> str:
    found = _UUID.search(name)
    return found[0] if found else name.split(".json")[0]


def recognises(record: Mapping[str, Any]) -> bool:
    kind = record.get("type")
    if isinstance(kind, str):
        return kind in _ENVELOPES and isinstance(record.get("payload"), dict)
    if isinstance(record.get("session"), dict):
        return isinstance(record.get("items"), list)
    if record.get("record_type") == "state":
        return True
    return kind is None and "instructions" in record and "timestamp" in record and "id" in record


def read(reading: Reading) -> Iterator[Event | Cost]:
    state = _State(reading)
    document = reading.transcript.path.suffix == ".json"
    for record in _document(reading) if document else records(reading):
        payload, kind = record.get("payload"), record.get("type")
        if type(payload) is not dict or type(kind) is not str:
            yield from _bare(state, record)
            continue
        if state.copied and state.still_copied(record, payload):
            if payload.get("type") == "token_count":
                state.counted(payload)
            continue
        state.fresh = state.fresh and kind == "session_meta"
        handle = _handler(state, kind, payload)
        if handle is not None:
            stamp = record.get("timestamp")
            state.time, state.stamp, state.guessed = moment(stamp), text_of(stamp), False
            yield from handle(state, payload)
    if not state.by_event:  # else the event that tells whose words they are is still to be written
        yield from state.decide()
    _title_from_index(reading)


def _handler(state: _State, kind: str, payload: Mapping[str, Any]) -> Any:
    """What takes a record in; None for those that tell nothing or are unknown, which are counted."""
    handle = _HANDLERS.get(kind)
    if type(handle) is dict:
        kind = payload.get("type") or ("message" if "role" in payload else "")
        handle = handle.get(kind) if isinstance(kind, str) else None
    if handle is None:
        state.reading.counts["unknown_records"] += 1
    return handle or None


class _Said(NamedTuple):
    """A text in the user's role, until it is known whose it is."""

    text: str
    bodies: tuple[Body, ...]
    time: datetime | None
    stamp: str
    at: int
    size: int


class _State:
    """What is carried from line to line."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.time: datetime | None = None
        self.stamp = ""
        self.guessed = False  # the time is not the record's own
        self.known = False  # the session's own meta was read
        self.fresh = True  # nothing but session meta so far
        self.subagent = False
        self.prompted = False
        self.copied = False
        self.theirs: frozenset[str] = frozenset()  # the parent's turns
        self.own_from: int | None = None  # the ordinal, or else the offset, at which the session's own records begin
        self.start: int | None = None  # that ordinal as the meta has it
        self.model: str | None = None
        self.calls: dict[str, tuple[str, str, tuple[str, ...]]] = {}  # call id -> tool name, action, identity
        self.exits: dict[str, tuple[int | None, bool]] = {}  # call id -> exit code, whether it failed
        self.waiting: list[_Said] = []
        self.said: str | None = None  # a prompt whose event came first
        self.by_event = False
        self.total: dict[str, int] = {}
        self.written: dict[str, Any] | None = None  # the last total as it was written

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
        if self.guessed and self.time:
            meta["time"] = "inferred"
        return self.reading.event(kind, role, origin, text, self.time, native, meta, bodies)

    def again(self, what: str) -> tuple[str, ...]:
        """The identity of a record without an id."""
        return self.reading.again(self.reading.native, self.stamp, what)

    def identity(self, payload: Mapping[str, Any], what: str) -> tuple[str, ...]:
        given = text_of(payload.get("id"))
        if not given:
            return self.again(what)
        return self.reading.again("item", *self.unique(given))

    def calling(self, call: str, what: str) -> tuple[str, ...]:
        """The identity of a call and its result. Local models number their calls, and begin again."""
        return self.reading.again("call", *self.unique(call)) if call else self.again(what)

    def unique(self, given: str) -> tuple[str, ...]:
        """An id of the agent, with the session's before it when it may not be the only one in the world."""
        return (given,) if len(given) >= _RANDOM else (self.reading.native, given)

    def still_copied(self, record: Mapping[str, Any], payload: Mapping[str, Any]) -> bool:
        """Whether a record belongs to the history copied from the parent. The copy has new times, so its records cannot
        be known again as the parent's, whose own file tells it all. So it is left out, and so is its cost."""
        if self.theirs:
            opens = record.get("type") == "turn_context" or payload.get("type") == "task_started"
            turn = payload.get("turn_id") if opens else None
            self.copied = not isinstance(turn, str) or turn in self.theirs
        elif self.own_from is not None:
            here = self.reading.at if self.start is None else whole(record.get("ordinal"))
            self.copied = here < self.own_from
        return self.copied

    def counted(self, payload: Mapping[str, Any]) -> dict[str, int] | None:
        """What was used since the last count, or None when nothing was: counts are written again unchanged."""
        info = dict_of(payload.get("info"))
        total = info.get("total_token_usage")
        if type(total) is not dict or total == self.written:
            return None
        before, self.written = self.total, total
        self.total = {name: whole(total.get(name)) for name in _BUCKETS}
        used = {name: count - before.get(name, 0) for name, count in self.total.items()}
        # The first total of a resumed thread sums up all before it, and one below the last began anew. Otherwise the
        # difference is safer than `last`: it misses nothing when a line is lost.
        if not before or min(used.values()) < 0:
            last = info.get("last_token_usage")
            used = {name: whole(last.get(name)) for name in _BUCKETS} if type(last) is dict else self.total
        meta, tokens = self.reading.meta, used["input_tokens"] + used["output_tokens"]
        meta["tokens_in_file"] = meta.get("tokens_in_file", 0) + tokens
        return used

    def decide(self) -> Iterator[Event]:
        """Texts in the user's role that no event claimed: the host's where events tell a person's, else a person's."""
        held, self.waiting = self.waiting, []
        for said in held:
            yield self.held("injected_context" if self.by_event else "user_prompt", said, said.text)

    def held(self, kind: str, said: _Said, text: str) -> Event:
        """The event of a text that waited, with the time and place it was read at."""
        reading = self.reading
        now, place = (self.time, self.stamp), (reading.at, reading.size)
        self.time, self.stamp, reading.at, reading.size = said.time, said.stamp, said.at, said.size
        event = _prompt(self, text, said.bodies) if kind == "user_prompt" else _injected(self, text, said.bodies)
        (self.time, self.stamp), (reading.at, reading.size) = now, place
        return event


def _session(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    """The first is the session's own. One of another thread right after it heads the parent's history, copied."""
    reading = state.reading
    thread = text_of(payload.get("id"))
    if not state.known:
        _describe_session(state, payload, thread)
    elif state.fresh and thread and thread != reading.native:
        state.copied, state.own_from = True, state.start
        if state.start is None:
            state.theirs = _turns(reading, thread)
            state.own_from = None if state.theirs else _own_part(reading)
    yield from ()


def _describe_session(state: _State, payload: Mapping[str, Any], thread: str) -> None:
    reading = state.reading
    state.known = True
    reading.native = thread or reading.native
    reading.cwd = text_of(payload.get("cwd")) or reading.cwd
    reading.agent_version = text_of(payload.get("cli_version")) or None
    git = dict_of(payload.get("git"))
    reading.branch, reading.commit = text_of(git.get("branch")) or None, text_of(git.get("commit_hash")) or None
    reading.repository = text_of(git.get("repository_url")) or None
    _relate(state, payload)
    for name, field in (("nickname", "agent_nickname"), ("role", "agent_role"), ("originator", "originator")):
        if text_of(payload.get(field)):
            reading.meta[name] = payload[field]
    start = payload.get("subagent_history_start_ordinal")
    if type(start) is int and start > 0:
        state.start = start
    state.time = moment(payload.get("timestamp")) or state.time


def _relate(state: _State, payload: Mapping[str, Any]) -> None:
    """Whose child the session is, and whether a person sat before it."""
    reading, source = state.reading, payload.get("source")
    sub = dict_of(source).get("subagent")
    spawn = dict_of(dict_of(sub).get("thread_spawn"))
    forked = text_of(payload.get("forked_from_id"))
    parent = text_of(payload.get("parent_thread_id")) or text_of(spawn.get("parent_thread_id")) or forked
    state.subagent = bool(sub) or payload.get("thread_source") == "subagent"
    if state.subagent:
        reading.relation = {"review": "review", "compact": "compaction"}.get(text_of(sub), "subagent")
    elif forked:
        reading.relation = "fork"
    reading.parent = f"{flavor}:{parent}" if parent else None
    alone = state.subagent or source in ("exec", "mcp") or payload.get("originator") == "codex_exec"
    reading.interactive = False if alone else True if source in ("cli", "vscode") else None
    internal = dict_of(source).get("internal")
    reading.ours = "memory_consolidation" in (payload.get("thread_source"), text_of(sub), text_of(internal))
    for name in ("agent_nickname", "agent_role"):
        if text_of(spawn.get(name)):
            reading.meta[name.removeprefix("agent_")] = spawn[name]


def _own_part(reading: Reading) -> int | None:
    """The offset at which a session with a copied history begins to be itself, without the parent's file to tell it:
    the copy was written in one go, and a turn opened at its end is the session's own. None when nothing follows."""
    scan = Reading(reading.transcript, reading.now)
    before: datetime | None = None
    opened: int | None = None  # a turn was opened here, and nothing was answered since
    for record in records(scan):
        time = moment(record.get("timestamp"))
        if time and before and time - before >= _BURST:
            return scan.at if opened is None else opened
        before = time or before
        payload = dict_of(record.get("payload"))
        kind = payload.get("type")
        if kind == "task_started":
            opened = scan.at
        elif kind not in (None, "token_count", "user_message") and payload.get("role") is None:
            opened = None
    return opened


def _turns(reading: Reading, thread: str) -> frozenset[str]:
    """The turns in the file of another thread under the same root; none when there is no such file."""
    root = reading.transcript.root
    if not _UUID.fullmatch(thread):
        return frozenset()
    for path in sorted(root.rglob(f"*{thread}*.jsonl*")):
        if path != reading.transcript.path and _is_rollout(path.name):
            info = path.stat()
            return _turns_in(root, path, info.st_mtime_ns, info.st_size)
    return frozenset()


_NO_CONTEXT = tuple(b'"type":"%s"' % name for name in (b"response_item", b"event_msg", b"session_meta", b"compacted"))


@lru_cache(maxsize=16)
def _turns_in(root: Path, path: Path, changed: int, size: int) -> frozenset[str]:
    """Cached for as long as the file is the same: a session that starts many others is asked for each of them."""
    scan = Reading(Transcript(flavor, root, path, "", (path,)), datetime.now(UTC))
    try:
        found = [record for record in records(scan, noise=_NO_CONTEXT) if record.get("type") == "turn_context"]
        payloads = [dict_of(record.get("payload")) for record in found]
    except BadTranscript:
        return frozenset()
    return frozenset(turn for turn in (text_of(payload.get("turn_id")) for payload in payloads) if turn)


def _turn_context(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    state.model = state.reading.model(payload.get("model")) or state.model
    state.reading.cwd = state.reading.cwd or text_of(payload.get("cwd")) or None
    yield from ()


def _compacted(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    yield from state.decide()
    native, text = state.again("compacted"), text_of(payload.get("message"))
    yield state.event("compaction", "system", "tool", "", native)
    if text.strip():
        yield state.event("summary", "system", "assistant", text, native)


def _message(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    role = payload.get("role")
    text, bodies = _content(payload.get("content"))
    if not text.strip():
        return
    if role == "assistant":
        yield from state.decide()
        yield state.event("assistant_text", "assistant", "assistant", text, state.identity(payload, "message"))
    elif role == "user":
        head = text.lstrip()
        if head.startswith(_HOST_TEXT):
            yield _injected(state, text, bodies)
        elif state.said is not None and state.said in _words(text):
            state.said = None
        else:
            reading = state.reading
            state.waiting.append(_Said(text, bodies, state.time, state.stamp, reading.at, reading.size))
    elif role == "developer" and not text.lstrip().startswith(_INSTRUCTIONS):
        yield _injected(state, text, bodies)


def _injected(state: _State, text: str, bodies: tuple[Body, ...] = ()) -> Event:
    return state.event("injected_context", "system", "tool", text, state.again("injected"), None, bodies)


def _prompt(state: _State, text: str, bodies: tuple[Body, ...]) -> Event:
    """A person's words, without what the editor put before them; in a subagent those of the one that started it."""
    if text.lstrip().startswith(_IDE_HEADS) and _IDE_REQUEST in text:
        text = text.split(_IDE_REQUEST, 1)[1].strip() or text
    state.prompted = True
    origin = "assistant" if state.subagent else "user"
    return state.event("user_prompt", "user", origin, text, state.again("prompt"), None, bodies)


def _content(content: object) -> tuple[str, tuple[Body, ...]]:
    """The text of a message or an output, its images aside."""
    if isinstance(content, str):
        return content, ()
    texts: list[str] = []
    bodies: list[Body] = []
    for part in content if isinstance(content, list) else [content]:
        part = dict_of(part)
        url = part.get("image_url") or part.get("url")
        if isinstance(part.get("text"), str):
            if part["text"] != "</image>" and not part["text"].startswith("<image"):
                texts.append(part["text"])
        elif isinstance(url, str):
            body = data_url_body(url)
            bodies += [body] if body else []
            texts.append("[image]")
    return "\n".join(texts), tuple(bodies)


def _reasoning(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    text = "\n\n".join(filter(str.strip, (_content(payload.get(field))[0] for field in ("summary", "content"))))
    if text:
        yield from state.decide()
        yield state.event("thinking", "assistant", "assistant", text, state.identity(payload, "reasoning"))


def _call(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    name = text_of(payload.get("name")) or "unknown"
    space = text_of(payload.get("namespace"))
    if space.startswith("mcp__") and not name.startswith(space):
        name = f"{space.rstrip('_')}__{name}"
    given = payload.get("input") if payload.get("type") == "custom_tool_call" else payload.get("arguments")
    yield from _called(state, name, given, text_of(payload.get("call_id")))


def _called(state: _State, name: str, given: Any, call: str) -> Iterator[Event]:
    yield from state.decide()
    kind, text, meta = describe(name, given, call)
    patch = _PATCH_RUN.match(text) if meta["action"] == "shell" else None
    if patch:
        files = describe("apply_patch", text)[2].get("files", ())
        folder = (patch[1] or "").strip("'\"")
        kind, meta = "edit", {**meta, "action": "edit", "files": [str(Path(folder, file)) for file in files]}
    native = state.calling(call, "call")
    if call:
        state.calls[call] = name, meta["action"], native
    yield state.event(kind, "assistant", "assistant", text, native, meta)


def _local_shell(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    call = text_of(payload.get("call_id")) or text_of(payload.get("id"))
    action = {key: value for key, value in dict_of(payload.get("action")).items() if key != "type" and value}
    yield from _called(state, "local_shell", action, call)


def _web_search(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    action = {key: value for key, value in dict_of(payload.get("action")).items() if key != "type" and value}
    if action:
        yield from _called(state, "web_search", action, text_of(payload.get("id")))


def _tool_search(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    yield from _called(state, "tool_search", payload.get("arguments"), text_of(payload.get("call_id")))


def _image(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    call = text_of(payload.get("id"))
    yield from _called(state, "image_generation", {"prompt": text_of(payload.get("revised_prompt"))}, call)
    body = decoded(text_of(payload.get("result")), "image/png")
    if body:
        yield _returned(state, call, "[image]", (body,), {})


def _output(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    call, output = text_of(payload.get("call_id")), payload.get("output")
    facts: dict[str, Any] = {}
    if isinstance(output, dict) and "content" in output:
        if isinstance(output.get("success"), bool):
            facts["error"] = not output["success"]
        output = output["content"]
    text, bodies = _content(output)
    text, code = _unwrapped(text)
    ended = state.exits.pop(call, None)
    if code is None and ended is not None:
        code = ended[0]
    if ended is not None and ended[1]:
        facts["error"] = True
    if code is not None:
        facts |= {"exit": code, "error": code != 0 or facts.get("error", False)}
    elif text.startswith((*_FAILED, "aborted by user")) or _REJECTED in text[:300]:
        facts["error"] = True
    yield _returned(state, call, text, bodies, facts)
    if _REJECTED in text[:300] and facts.get("error") and "rejected by user approval settings" not in text[:300]:
        yield state.event(
            "human_intervention", "system", "user", text, state.again("denied"), {"call": call, "what": "denied"}
        )


def _returned(state: _State, call: str, text: str, bodies: tuple[Body, ...], facts: dict[str, Any]) -> Event:
    meta: dict[str, Any] = {"call": call} if call else {}
    action = ""
    if call in state.calls:
        tool, action, native = state.calls[call]
        meta |= {"tool": tool, "action": action}
    else:
        native = state.calling(call, "output")
    native = state.reading.again(*native)
    return state.event("tool_result", "tool", result_origin(action), text, native, meta | facts, bodies)


def _unwrapped(text: str) -> tuple[str, int | None]:
    """What a tool printed, and its exit code, out of the forms Codex has wrapped them in."""
    if text.startswith('{"output":'):
        try:
            document = orjson.loads(text)
        except ValueError:
            document = None
        if isinstance(document, dict) and isinstance(document.get("output"), str):
            code = dict_of(document.get("metadata")).get("exit_code")
            return document["output"], code if type(code) is int else None
    first = _TWO_HEADS.match(text)
    text = text[first.end() :] if first else text
    if text.startswith(_RUN_HEADS):
        end = text.find(_RUN_BODY)
        found = _CODE.search(text, max(end - 200, 0), end) if end > 0 else None
        if found or text.rfind("Process running with session ID", 0, max(end, 0)) >= 0:
            return text[end + len(_RUN_BODY) :], int(found[1]) if found else None
        return text, None
    if text.startswith(_FAILED):
        found = _CODE.search(text[:2_000])
        return text, int(found[1]) if found else None
    return text, None


def _user_message(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    text, (_, bodies) = text_of(payload.get("message")), _content(_urls(payload.get("images")))
    yield from _spoken(state, text, bodies)


def _urls(images: object) -> list[dict[str, Any]]:
    return [{"url": url} for url in images] if isinstance(images, list) else []


def _spoken(state: _State, text: str, bodies: tuple[Body, ...]) -> Iterator[Event]:
    """A prompt as an event tells it, and the item with the same words, which may have come before it or will after."""
    state.by_event = True
    text = text or ("[image]" if bodies else "")
    if not text.strip():
        return
    words = _words(text)
    twin = next((said for said in state.waiting if words in _words(said.text)), None)
    if twin is None:
        yield from state.decide()
        state.said = words
        yield _prompt(state, text, bodies)
        return
    state.waiting.remove(twin)
    yield from state.decide()
    state.said = None
    yield state.held("user_prompt", twin._replace(bodies=twin.bodies or bodies), text)


def _words(text: str) -> str:
    """A prompt without its images, which the two streams put in different places."""
    return text.replace("[image]", "").strip()


def _completed(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    """Paginated files: a prompt, or how a call ended. What the model said stands in the items as well."""
    item = dict_of(payload.get("item"))
    kind, call = text_of(item.get("type")), item.get("id")
    if kind == "UserMessage":
        yield from _spoken(state, *_content(item.get("content")))
    elif kind == "CommandExecution":
        yield from _command_ended(state, {**item, "call_id": call})
    elif kind == "McpToolCall":
        result = {"Ok": item.get("result"), **({"Err": "failed"} if item.get("status") == "failed" else {})}
        yield from _mcp_ended(state, {"call_id": call, "invocation": item, "result": result})
    elif kind == "FileChange":
        yield from _patch_ended(state, {**item, "call_id": call, "success": item.get("status") == "completed"})


def _ended(state: _State, call: str, name: str, given: Any, text: str, code: object, failed: bool) -> Iterator[Event]:
    """How a call ended. One the model made from inside a script has no items of its own: it is told here alone."""
    known = code if type(code) is int else None
    if call in state.calls:
        state.exits[call] = known, failed
    elif call:
        yield from _called(state, name, given, call)
        facts: dict[str, Any] = {"error": failed or known not in (None, 0)}
        if known is not None:
            facts["exit"] = known
        yield _returned(state, call, text, (), facts)


def _command_ended(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    given = {"command": payload.get("command"), "cwd": payload.get("cwd")}
    text, code = text_of(payload.get("aggregated_output")), payload.get("exit_code")
    failed = payload.get("status") == "failed"
    yield from _ended(state, text_of(payload.get("call_id")), "shell", given, text, code, failed)


def _patch_ended(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    files = "\n".join(f"*** Update File: {path}" for path in dict_of(payload.get("changes")))
    text = text_of(payload.get("stdout")) or text_of(payload.get("stderr"))
    call, failed = text_of(payload.get("call_id")), payload.get("success") is False
    yield from _ended(state, call, "apply_patch", files, text, None, failed)


def _mcp_ended(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    asked, result = dict_of(payload.get("invocation")), dict_of(payload.get("result"))
    good = dict_of(result.get("Ok"))
    text = _content(good.get("content"))[0] if good else text_of(result.get("Err"))
    failed = "Err" in result or good.get("isError") is True
    name = f"mcp__{text_of(asked.get('server'))}__{text_of(asked.get('tool'))}"
    yield from _ended(state, text_of(payload.get("call_id")), name, asked.get("arguments"), text, None, failed)


def _token_count(state: _State, payload: Mapping[str, Any]) -> Iterator[Cost]:
    used = state.counted(payload)
    if not used:
        return
    given = used["input_tokens"]  # all of it: what was read from the cache and written to it are parts
    cached = min(used["cached_input_tokens"], given)
    written = min(used["cache_write_input_tokens"], given - cached)
    yield state.reading.cost(
        state.again("token_count"),
        state.time,
        state.model,
        input=given - cached - written,
        cache_read=cached,
        cache_write_5m=written,
        output=used["output_tokens"],
        reasoning=used["reasoning_output_tokens"],
    )


def _turn_done(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    yield from state.decide()
    native, meta = _turn(state, payload), {"ms": whole(payload.get("duration_ms"))}
    error = payload.get("error")
    if error:
        text = text_of(error) or text_of(dict_of(error).get("message")) or "error"
        yield state.event("error", "system", "tool", text, native)
    yield state.event("turn_end", "system", "tool", "", native, meta)


def _turn_aborted(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    yield from state.decide()
    native, reason = _turn(state, payload), text_of(payload.get("reason"))
    if reason == "interrupted" and not state.subagent:
        yield state.event("human_intervention", "system", "user", "interrupted", native, {"what": "interrupted"})
    meta = {"reason": reason, "ms": whole(payload.get("duration_ms"))}
    yield state.event("turn_end", "system", "tool", "", native, meta)


def _turn(state: _State, payload: Mapping[str, Any]) -> tuple[str, ...]:
    turn = text_of(payload.get("turn_id"))
    return state.reading.again("turn", state.reading.native, turn) if turn else state.again("turn")


def _rolled_back(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    meta = {"what": "rewind", "turns": whole(payload.get("num_turns"))}
    yield state.event("state", "system", "user", "", state.again("thread_rolled_back"), meta)


def _renamed(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    if payload.get("thread_id") in (None, state.reading.native):
        state.reading.titled(payload.get("thread_name"), 1)
    yield from ()


def _review(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    text = text_of(payload.get("user_facing_hint"))
    yield state.event("state", "system", "user", text, state.again("entered_review_mode"), {"what": "review"})


def _failed(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    kind = "retry" if payload.get("type") == "stream_error" else "error"
    text = text_of(payload.get("message")) or text_of(dict_of(payload.get("error")).get("message")) or "error"
    yield state.event(kind, "system", "tool", text, state.again(kind))


def _agent_mail(state: _State, payload: Mapping[str, Any]) -> Iterator[Event]:
    """A message of another agent; the first one a subagent gets, when nothing else was asked of it, is its task."""
    text, bodies = _content(payload.get("content"))
    if not text.strip():
        return
    if state.subagent and not state.prompted:
        yield _prompt(state, text, bodies)
    else:
        native = state.identity(payload, "agent_message")
        meta = {"from": text_of(payload.get("author")), "to": text_of(payload.get("recipient"))}
        yield state.event("injected_context", "system", "assistant", text, native, meta, bodies)


def _bare(state: _State, record: Mapping[str, Any]) -> Iterator[Event]:
    """Lines of 2025: a header without a type, then items without envelope and mostly without a time."""
    if "record_type" in record:
        return
    time = moment(record.get("timestamp"))
    state.stamp, state.guessed = text_of(record.get("timestamp")), time is None
    state.time = time or state.time
    if not state.known and "type" not in record and "role" not in record and text_of(record.get("id")):
        _describe_session(state, record, text_of(record.get("id")))
        state.model = state.reading.model(record.get("model"))
        return
    handle = _handler(state, "response_item", record)
    if handle is not None:
        yield from handle(state, record)


def _document(reading: Reading) -> Iterator[dict[str, Any]]:
    """The oldest form: one document {"session": header, "items": [item, …]}."""
    path = reading.transcript.path
    with open_transcript(reading.transcript.root, path) as file:
        data = _whole(file)
    if len(data) > MAX_DOCUMENT:
        raise BadTranscript(f"{path.name} is larger than {MAX_DOCUMENT >> 20} MiB")
    reading.size = reading.complete_to = len(data)
    try:
        document = dict_of(orjson.loads(data))
    except ValueError:
        reading.counts["bad_lines"] += 1
        return
    items = document.get("items")
    for record in (document.get("session"), *(items if isinstance(items, list) else ())):
        if isinstance(record, dict):
            yield record
        elif record is not None:
            reading.counts["not_objects"] += 1


def _whole(file: Any) -> bytes:
    parts, size = [], 0
    while size <= MAX_DOCUMENT and (part := file.read(1 << 20)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _title_from_index(reading: Reading) -> None:
    """Older releases keep thread names in an index beside the sessions."""
    root = reading.transcript.root
    for folder in (root.parent, root):
        path = folder / "session_index.jsonl"
        try:
            info = path.stat()
        except OSError:
            continue
        reading.titled(_index(folder, path, info.st_mtime_ns, info.st_size).get(reading.native))


@lru_cache(maxsize=4)
def _index(folder: Path, path: Path, changed: int, size: int) -> dict[str, str]:
    try:
        with open_beneath(folder, path) as file:
            data = _whole(file)
    except BadTranscript:
        return {}
    names: dict[str, str] = {}
    for line in data.split(b"\n"):
        try:
            entry = dict_of(orjson.loads(line))
        except ValueError:
            continue
        names[text_of(entry.get("id"))] = text_of(entry.get("thread_name"))
    return names


def _known(names: str) -> dict[str, Any]:
    """Kinds that are known and tell nothing that is not told elsewhere."""
    return dict.fromkeys(names.split(), False)


_ITEMS: dict[str, Any] = {
    "message": _message,
    "reasoning": _reasoning,
    "function_call": _call,
    "custom_tool_call": _call,
    "local_shell_call": _local_shell,
    "web_search_call": _web_search,
    "tool_search_call": _tool_search,
    "image_generation_call": _image,
    "function_call_output": _output,
    "custom_tool_call_output": _output,
    "agent_message": _agent_mail,
    **_known("compaction compaction_summary context_compaction compaction_trigger ghost_snapshot tool_search_output"),
    **_known("additional_tools other"),
}
_EVENTS: dict[str, Any] = {
    "user_message": _user_message,
    "item_completed": _completed,
    "exec_command_end": _command_ended,
    "patch_apply_end": _patch_ended,
    "mcp_tool_call_end": _mcp_ended,
    "token_count": _token_count,
    "task_complete": _turn_done,
    "turn_complete": _turn_done,
    "turn.completed": _turn_done,
    "turn_aborted": _turn_aborted,
    "thread_rolled_back": _rolled_back,
    "thread_name_updated": _renamed,
    "entered_review_mode": _review,
    "error": _failed,
    "stream_error": _failed,
    **_known("agent_message agent_reasoning agent_reasoning_raw_content agent_reasoning_section_break task_started"),
    **_known("turn_started context_compacted exited_review_mode web_search_begin web_search_end turn_diff plan_update"),
    **_known("image_generation_end thread_goal_updated thread_settings_applied sub_agent_activity warning"),
    **_known("collab_agent_spawn_end collab_agent_interaction_end collab_waiting_end collab_close_end"),
    **_known("collab_resume_end dynamic_tool_call_request dynamic_tool_call_response view_image_tool_call"),
    **_known("exec_command_begin patch_apply_begin mcp_tool_call_begin background_event session_configured"),
    **_known("undo_started undo_completed guardian_assessment"),
}
_HANDLERS: dict[str, Any] = {
    "session_meta": _session,
    "turn_context": _turn_context,
    "response_item": _ITEMS,
    "event_msg": _EVENTS,
    "compacted": _compacted,
    **_known("world_state inter_agent_communication inter_agent_communication_metadata security_risk_score"),
    **_known("token_usage_record"),
}
