"""OpenCode: the SQLite database `opencode*.db` in its data directory, or the older tree of JSON files `storage/`.

    session(id, parent_id, directory, title, version, revert, …)   storage/session/<project>/<session>.json
    message(id, session_id, time_created, data)                    storage/message/<session>/<message>.json
    part(id, message_id, session_id, time_created, data)           storage/part/<message>/<part>.json
    {"role":"assistant","time":{"created":ms},"modelID":…,"cost":usd,"tokens":{input,output,reasoning,cache{read,write}},
     "error":{"name":…,"data":{"message":…}},"summary":true}
    {"type":"tool","callID":C,"tool":"bash","state":{"status":"completed","input":{…},"output":…,"metadata":{"exit":1}}}

A part is rewritten under its id while it streams. Newer versions keep whole messages in `session_message(type, seq,
data)`. A fork copies messages under new ids but leaves their times: an id holds the time it was made, so copies show.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from recollect.capture.bodies import data_url_body
from recollect.capture.foreign import MAX_VALUE, database, document, parsed
from recollect.capture.toolcall import describe, result_origin
from recollect.capture.transcript import Reading, Transcript, dict_of, moment, text_of, whole
from recollect.errors import BadTranscript
from recollect.model import Body, Cost, Event

flavor = "opencode"

_SESSIONS = "SELECT id FROM session ORDER BY id"
_SESSION = "SELECT * FROM session WHERE id = ?"
_MESSAGES = (
    "SELECT id, time_created, CASE WHEN octet_length(data) <= ? THEN data END FROM message WHERE session_id = ? "
    "ORDER BY time_created, id"
)
_PARTS = "SELECT id, CASE WHEN octet_length(data) <= ? THEN data END FROM part WHERE message_id = ? ORDER BY id"
_WHOLE = (
    "SELECT id, type, time_created, CASE WHEN octet_length(data) <= ? THEN data END FROM session_message "
    "WHERE session_id = ? ORDER BY seq"
)
_STAMPS = {
    "session": "SELECT max(time_updated), count(*) FROM session WHERE id = ?",
    "message": "SELECT max(time_updated), count(*) FROM message WHERE session_id = ?",
    "part": "SELECT max(time_updated), count(*) FROM part WHERE session_id = ?",
    "session_message": "SELECT max(time_updated), count(*) FROM session_message WHERE session_id = ?",
}
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table'"
_ID_CYCLE = 1 << 36  # milliseconds after which the time in an id begins anew: 2.2 years
_COPIED_AFTER = 60_000  # an id made this much later than its message's own time is a copy's, whatever the session says
_NOBODY_THERE = {"permission": "question", "action": "deny"}  # `opencode run` lets its model ask nothing
_ARGUMENT = re.compile(r'\A"((?:[^"\\]|\\.)*)"\Z', re.DOTALL)
_STATUS = {"completed": False, "success": False, "error": True}


def roots(home: Path, env: Mapping[str, str]) -> list[Path]:
    """The data directory; OpenCode follows XDG on every system, older ones on Windows `%LOCALAPPDATA%`."""
    found = [Path(env["XDG_DATA_HOME"]) / "opencode"] if env.get("XDG_DATA_HOME") else []
    found += [home / ".local" / "share" / "opencode"] if not found else []
    if env.get("LOCALAPPDATA"):
        found.append(Path(env["LOCALAPPDATA"]) / "opencode")
    if Path(env.get("OPENCODE_DB", "")).is_absolute():
        found.append(Path(env["OPENCODE_DB"]).parent)
    return list(dict.fromkeys(found))


def discover(root: Path) -> Iterator[Transcript]:
    """Every session in a tree of files and in the databases; a database that cannot be read is told at the end."""
    yield from _stored(root)
    failed: BadTranscript | None = None
    for path in sorted(root.glob("opencode*.db")):
        try:
            with database(root, path) as connection:
                names = [name for (name,) in connection.execute(_SESSIONS) if isinstance(name, str)]
        except BadTranscript as error:
            failed = failed or error
            continue
        for name in names:
            yield Transcript(flavor, root, path, name, (path,), name)
    if failed is not None:
        raise failed


def stamp(transcript: Transcript) -> str:
    """What changes when this session does: a database changes with every session in it."""
    if transcript.part is None:
        states = []
        for path in transcript.files:
            with suppress(OSError):
                states.append(path.stat())
        newest = max((state.st_mtime_ns for state in states), default=0)
        return f"{len(states)}.{newest}.{sum(state.st_size for state in states)}"
    with database(transcript.root, transcript.path) as connection:
        there = {name for (name,) in connection.execute(_TABLES)}
        found = [
            f"{newest or 0}.{count}"
            for table, query in _STAMPS.items()
            if table in there
            for newest, count in connection.execute(query, (transcript.part,))
        ]
    return "-".join(found)


def recognises(record: Mapping[str, Any]) -> bool:
    """A session, a message or a part out of the tree of files."""
    if isinstance(record.get("projectID"), str) and isinstance(record.get("directory"), str):
        return True
    session = isinstance(record.get("sessionID"), str)
    if session and record.get("role") in ("user", "assistant"):
        return isinstance(record.get("time"), dict)
    kind = record.get("type")
    return isinstance(record.get("messageID"), str) and isinstance(kind, str) and kind in _PART_TYPES


def read(reading: Reading) -> Iterator[Event | Cost]:
    state = _State(reading)
    if reading.transcript.part is None:
        yield from _tree(state)
    else:
        with database(reading.transcript.root, reading.transcript.path) as connection:
            yield from _rows(state, connection, reading.transcript.part)


class _State:
    """What is carried from message to message."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.reverted = ""
        self.began = 0  # when the session was made
        self.argued = False  # whether its prompts were arguments of `opencode run`


_Part = tuple[str, Mapping[str, Any]]  # its id, and what it holds


class _Message(NamedTuple):
    """A message in hand; `images` are those pasted into it, until the first text takes them."""

    state: _State
    id: str
    data: Mapping[str, Any]
    at: datetime | None
    images: list[Body]

    @property
    def assistant(self) -> bool:
        return self.data.get("role") == "assistant"


# --- The tree of files


def _stored(root: Path) -> Iterator[Transcript]:
    """Sessions in `storage/`; elsewhere only where somebody copied such a tree to."""
    real = (root / "storage").is_dir() or any(root.glob("opencode*.db"))
    for folder in [root / "storage" / "session"] if real else sorted(root.rglob("session")):
        for path in sorted(folder.glob("*/*.json")):
            storage = folder.parent
            name = path.stem
            if not (storage / "message" / name).is_dir() and (storage / "message" / name.removeprefix("ses_")).is_dir():
                name = name.removeprefix("ses_")
            yield Transcript(flavor, root, path, name, (path, *_files(storage, name)))


def _files(storage: Path, session: str) -> Iterator[Path]:
    for message in sorted((storage / "message" / session).glob("*.json")):
        yield message
        yield from sorted((storage / "part" / message.stem).glob("*.json"))


def _tree(state: _State) -> Iterator[Event | Cost]:
    reading = state.reading
    path = reading.transcript.path
    storage = path.parent.parent.parent
    row = _value(reading, path)
    time = dict_of(row.get("time"))
    _about(state, {**row, "parent_id": row.get("parentID"), "time_created": time.get("created")})
    files = sorted((storage / "message" / reading.native).glob("*.json"))
    messages = [(_value(reading, file), file) for file in files]
    loose = _loose_parts(reading, storage / "part", {text_of(message.get("id")) for message, _ in messages})
    for message, file in sorted(messages, key=lambda found: whole(dict_of(found[0].get("time")).get("created"))):
        known = text_of(message.get("id"))
        if known and "/" not in known and "\\" not in known:
            parts = [_value(reading, part) for part in sorted((storage / "part" / known).glob("*.json"))]
            parts += loose.get(known, [])
            given: list[_Part] = [(text_of(part.get("id")), part) for part in parts if part]
            reading.file = str(file)
            yield from _message(state, known, message, given, None)


def _value(reading: Reading, path: Path) -> dict[str, Any]:
    """The object in one file of the tree."""
    reading.file, reading.at = str(path), 0
    with suppress(BadTranscript):
        data = document(reading.transcript.root, path)
        reading.size = len(data)
        found = parsed(data)
        if isinstance(found, dict):
            return found
    reading.counts["bad_documents"] += 1
    return {}


def _loose_parts(reading: Reading, folder: Path, messages: set[str]) -> dict[str, list[dict[str, Any]]]:
    """Parts of the oldest trees, which lie in one folder and name their message."""
    found: dict[str, list[dict[str, Any]]] = {}
    for file in sorted(folder.glob("*.json")):
        part = _value(reading, file)
        if text_of(part.get("messageID")) in messages:
            found.setdefault(part["messageID"], []).append(part)
    return found


# --- The database


def _rows(state: _State, connection: apsw.Connection, session: str) -> Iterator[Event | Cost]:
    """Fetched a message at a time, so that no read of ours stays open in somebody else's database."""
    there = {name for (name,) in connection.execute(_TABLES)}
    cursor = connection.execute(_SESSION, (session,))
    row = next(iter(cursor), None)
    if row is None:
        return
    names = [column[0] for column in cursor.get_description()] if row else []
    del cursor
    _about(state, dict(zip(names, row, strict=True)))
    messages = connection.execute(_MESSAGES, (MAX_VALUE, session)).fetchall() if "message" in there else []
    for known, created, data in messages:
        parts = connection.execute(_PARTS, (MAX_VALUE, known)).fetchall()
        given: list[_Part] = [(text_of(part), dict_of(_parsed(state.reading, value))) for part, value in parts]
        yield from _message(state, text_of(known), dict_of(_parsed(state.reading, data)), given, created)
    if not messages and "session_message" in there:
        for known, kind, created, data in connection.execute(_WHOLE, (MAX_VALUE, session)).fetchall():
            yield from _whole_message(state, text_of(known), text_of(kind), _parsed(state.reading, data), created)


def _parsed(reading: Reading, data: object) -> Any:
    found = parsed(data)
    if not isinstance(found, dict):
        reading.counts["bad_documents"] += 1
    else:
        reading.size = len(data) if isinstance(data, str | bytes) else 0
    return found


# --- What either holds


def _about(state: _State, row: Mapping[str, Any]) -> None:
    """What the session's own record says."""
    reading = state.reading
    if reading.transcript.part is None:
        reading.native = text_of(row.get("id")) or reading.native
    reading.cwd = text_of(row.get("directory")) or None
    reading.agent_version = text_of(row.get("version")) or None
    reading.titled(row.get("title"))
    parent = text_of(row.get("parent_id"))
    if parent:
        reading.parent, reading.relation = f"{flavor}:{parent}", "subagent"
    revert = row.get("revert")
    state.began = whole(row.get("time_created"))
    allowed = row.get("permission")
    rules = parsed(allowed) if isinstance(allowed, str) else allowed
    if any(_NOBODY_THERE.items() <= dict_of(rule).items() for rule in (rules if isinstance(rules, list) else ())):
        state.argued, reading.interactive = True, False
    state.reverted = text_of(dict_of(parsed(revert) if isinstance(revert, str) else revert).get("messageID"))


def _message(
    state: _State, known: str, data: Mapping[str, Any], parts: list[_Part], created: object
) -> Iterator[Event | Cost]:
    reading = state.reading
    made = dict_of(data.get("time")).get("created") or created
    if _copied(known, made, state.began):
        reading.relation = "fork" if reading.relation == "root" else reading.relation
        reading.counts["copied"] += 1
        return
    if known == state.reverted:
        meta = {"what": "rewind", "to": known}
        yield reading.event("state", "system", "user", "", moment(made), ("revert", known), meta)
    message = _Message(state, known, data, moment(made), _images(part for _, part in parts))
    reading.cwd = reading.cwd or text_of(dict_of(data.get("path")).get("cwd")) or None
    counted = False
    for part_id, part in parts:
        kind = part.get("type")
        handle = _PARTS_OF.get(kind) if isinstance(kind, str) else None
        if handle is not None:
            yield from handle(message, ("part", reading.native, part_id or known), part)
        elif kind == "step-finish":
            counted = True
            yield _cost(message, ("part", reading.native, part_id or known), part)
        elif not isinstance(kind, str) or kind not in _PART_TYPES:
            reading.counts["unknown_records"] += 1
    if message.assistant:
        yield from _assistant(message, counted)
    elif message.images:
        yield from _text(message, ("message", reading.native, known), {"text": "[image]"})


def _images(parts: Iterable[Mapping[str, Any]]) -> list[Body]:
    found = [data_url_body(part.get("url")) for part in parts if part.get("type") == "file"]
    return [body for body in found if body is not None and body.media.startswith("image/")]


def _copied(known: str, created: object, began: int) -> bool:
    """Whether a message is older than its session, or than its id by far: a fork has it, and it is in the original.

    The id has to be younger than the session too, for a clock can be set back.
    """
    prefix, _, rest = known.partition("_")
    made = whole(created)
    if prefix != "msg" or len(rest) != 26 or not made:
        return False
    try:
        stamped = int(rest[:12], 16) >> 12
    except ValueError:
        return False
    later = (stamped - made) % _ID_CYCLE
    return (0 < began - made <= later or later > _COPIED_AFTER) and later < _ID_CYCLE // 2


def _assistant(message: _Message, counted: bool) -> Iterator[Event | Cost]:
    """What stands in the message itself: tokens when no step told them, and how it failed."""
    data, native = message.data, ("message", message.state.reading.native, message.id)
    model = text_of(data.get("modelID")) or dict_of(data.get("model")).get("modelID")
    message.state.reading.model(model)
    if not counted and isinstance(data.get("tokens"), dict):
        yield _cost(message, native, data)
    error = dict_of(data.get("error"))
    ended = moment(dict_of(data.get("time")).get("completed")) or message.at
    if data.get("finish") == "stop" and not error:
        yield message.state.reading.event("turn_end", "system", "tool", "", ended, native)
    if error:
        name = text_of(error.get("name"))
        text = text_of(dict_of(error.get("data")).get("message")) or text_of(error.get("message")) or name
        kind, origin = ("human_intervention", "user") if name == "MessageAbortedError" else ("error", "tool")
        yield message.state.reading.event(kind, "system", origin, text, ended, native, {"error": name} if name else {})


def _cost(message: _Message, native: tuple[str, ...], given: Mapping[str, Any]) -> Cost:
    """One step is one request; the message has the tokens of its last step but the dollars of all. `reasoning` stands
    beside `output`, not in it."""
    tokens = dict_of(given.get("tokens"))
    cache, reasoning, cost = dict_of(tokens.get("cache")), whole(tokens.get("reasoning")), given.get("cost")
    data = message.data
    return message.state.reading.cost(
        native,
        moment(dict_of(data.get("time")).get("completed")) or message.at,
        text_of(data.get("modelID"))
        or dict_of(data.get("model")).get("modelID")
        or dict_of(data.get("model")).get("id"),
        input=tokens.get("input"),
        cache_read=cache.get("read"),
        cache_write_5m=cache.get("write"),
        output=whole(tokens.get("output")) + reasoning,
        reasoning=reasoning,
        usd=cost.get("usd") if isinstance(cost, dict) else cost,
    )


def _text(message: _Message, native: tuple[str, ...], part: Mapping[str, Any]) -> Iterator[Event]:
    text, reading = text_of(part.get("text")), message.state.reading
    at = moment(dict_of(part.get("time")).get("start")) or message.at
    if not text.strip():
        return
    if message.assistant:
        if message.data.get("summary") is True:
            yield reading.event("summary", "system", "assistant", text, at, native)
        else:
            yield reading.event("assistant_text", "assistant", "assistant", text, at, native)
    elif part.get("synthetic") is True or part.get("ignored") is True:
        yield reading.event("injected_context", "system", "tool", text, at, native)
    else:
        origin = "assistant" if reading.relation == "subagent" else "user"
        text = _typed(text) if message.state.argued else text
        bodies = tuple(message.images)
        message.images.clear()
        text += "\n[image]" * len(bodies) if text != "[image]" else ""
        yield reading.event("user_prompt", "user", origin, text, at, native, bodies=bodies)


def _typed(text: str) -> str:
    """What was typed behind `opencode run`, which puts an argument with spaces into quotes."""
    argument = _ARGUMENT.match(text)
    return argument[1].replace('\\"', '"') if argument and " " in argument[1] else text


def _reasoning(message: _Message, native: tuple[str, ...], part: Mapping[str, Any]) -> Iterator[Event]:
    text = text_of(part.get("text"))
    at = moment(dict_of(part.get("time")).get("start")) or message.at
    if text.strip():
        yield message.state.reading.event("thinking", "assistant", "assistant", text, at, native)


def _tool(message: _Message, native: tuple[str, ...], part: Mapping[str, Any]) -> Iterator[Event]:
    state, time = dict_of(part.get("state")), dict_of(dict_of(part.get("state")).get("time"))
    call, name = text_of(part.get("callID")), text_of(part.get("tool")) or "unknown"
    if call:
        native = ("call", message.state.reading.native, call)
    yield from _called(message, native, call, name, state, (time.get("start"), time.get("end")))


def _called(
    message: _Message,
    native: tuple[str, ...],
    call: str,
    name: str,
    state: Mapping[str, Any],
    times: tuple[object, object],
) -> Iterator[Event]:
    reading, begun = message.state.reading, moment(times[0]) or message.at
    kind, text, meta = describe(name, state.get("input"), call)
    yield reading.event(kind, "assistant", "assistant", text, begun, native, meta)
    failed = _STATUS.get(text_of(state.get("status")))
    if failed is None:
        return
    output, bodies = _output(state)
    facts = dict_of(state.get("metadata")) or dict_of(state.get("structured"))
    result: dict[str, Any] = {"call": call, "tool": name, "action": meta["action"]}
    code = facts.get("exit")
    if isinstance(code, int) and not isinstance(code, bool):
        result["exit"], failed = code, failed or code != 0
    result["error"] = failed or name == "invalid"  # a call of a tool that is not there is answered by this one
    if text_of(facts.get("sessionId")):
        result["agent"] = facts["sessionId"]
    origin = result_origin(meta["action"])
    ended = moment(times[1]) or begun
    yield reading.event("tool_result", "tool", origin, output, ended, native, result, bodies)
    if failed and "rejected permission" in output[:200]:
        yield reading.event("human_intervention", "system", "user", output, ended, native, {"call": call})


def _output(state: Mapping[str, Any]) -> tuple[str, tuple[Body, ...]]:
    """A result's text and images, in either form."""
    error = state.get("error")
    texts = [text_of(state.get("output")), text_of(error) or text_of(dict_of(error).get("message"))]
    content, attached = state.get("content"), state.get("attachments")
    texts += [text_of(dict_of(item).get("text")) for item in (content if isinstance(content, list) else ())]
    bodies = [data_url_body(dict_of(item).get("url")) for item in (attached if isinstance(attached, list) else ())]
    found = tuple(body for body in bodies if body)
    texts += ["[image]"] * len(found)
    return "\n".join(text for text in texts if text), found


def _subtask(message: _Message, native: tuple[str, ...], part: Mapping[str, Any]) -> Iterator[Event]:
    """A command of the person that is done by a subagent."""
    text = text_of(part.get("command")) or text_of(part.get("prompt")) or text_of(part.get("description"))
    if text.strip():
        meta = {"agent": text_of(part.get("agent"))}
        yield message.state.reading.event("user_prompt", "user", "user", text, message.at, native, meta)


def _compaction(message: _Message, native: tuple[str, ...], part: Mapping[str, Any]) -> Iterator[Event]:
    meta = {"trigger": "auto" if part.get("auto") is True else "manual"}
    yield message.state.reading.event("compaction", "system", "tool", "", message.at, native, meta)


def _retry(message: _Message, native: tuple[str, ...], part: Mapping[str, Any]) -> Iterator[Event]:
    error = dict_of(part.get("error"))
    text = text_of(dict_of(error.get("data")).get("message")) or text_of(error.get("name")) or "API error"
    at = moment(dict_of(part.get("time")).get("created")) or message.at
    meta = {"attempt": whole(part.get("attempt"))}
    yield message.state.reading.event("retry", "system", "tool", text, at, native, meta)


# --- Messages that are kept whole


def _whole_message(state: _State, known: str, kind: str, data: object, created: object) -> Iterator[Event | Cost]:
    """A row of `session_message`: the parts stand in the message."""
    given = dict_of(data)
    at = moment(dict_of(given.get("time")).get("created")) or moment(created)
    role = "assistant" if kind == "assistant" else "user"
    message = _Message(state, known, {**given, "role": role}, at, [])
    native, text = ("message", state.reading.native, known), text_of(given.get("text"))
    if kind in ("user", "synthetic"):
        yield from _text(message, native, {"text": text, "synthetic": kind == "synthetic"})
    elif kind == "assistant":
        content = given.get("content")
        for number, block in enumerate(content if isinstance(content, list) else ()):
            yield from _block(message, (*native, str(number)), dict_of(block))
        yield from _assistant(message, False)
    elif kind == "shell":
        shell = {"status": "completed", "input": {"command": given.get("command")}, "output": given.get("output")}
        times = dict_of(given.get("time"))
        call = text_of(given.get("callID"))
        yield from _called(message, native, call, "shell", shell, (times.get("created"), times.get("completed")))
    elif kind == "compaction":
        yield from _compaction(message, native, {"auto": given.get("reason") == "auto"})
        if text_of(given.get("summary")).strip():
            yield state.reading.event("summary", "system", "assistant", given["summary"], at, native)
    elif kind not in ("agent-switched", "model-switched", "system"):
        state.reading.counts["unknown_records"] += 1


def _block(message: _Message, native: tuple[str, ...], block: Mapping[str, Any]) -> Iterator[Event]:
    kind, time = block.get("type"), dict_of(block.get("time"))
    if kind == "text":
        yield from _text(message, native, block)
    elif kind == "reasoning":
        yield from _reasoning(message, native, {**block, "time": {"start": time.get("created")}})
    elif kind == "tool":
        call, times = text_of(block.get("id")), (time.get("created"), time.get("completed"))
        if call:
            native = ("call", message.state.reading.native, call)
        name, state = text_of(block.get("name")) or "unknown", dict_of(block.get("state"))
        yield from _called(message, native, call, name, state, times)


_PARTS_OF = {
    "text": _text,
    "reasoning": _reasoning,
    "tool": _tool,
    "subtask": _subtask,
    "compaction": _compaction,
    "retry": _retry,
}
_PART_TYPES = frozenset((*_PARTS_OF, "file", "step-start", "step-finish", "snapshot", "patch", "agent"))
