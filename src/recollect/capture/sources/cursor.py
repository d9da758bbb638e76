"""Cursor: transcripts of its agent in `~/.cursor/projects/<project>/agent-transcripts/<id>/<id>.jsonl` (`subagents/`
beside), and the editor's database `globalStorage/state.vscdb`.

    {"role":"user"|"assistant","message":{"content":[{"type":"text","text":…},{"type":"tool_use","name":…,"input":{…}}]}}
    {"type":"turn_ended","status":"success"}                                              no ids, no times
    cursorDiskKV(key, value)
    composerData:<id>  {"name":…,"createdAt":ms,"fullConversationHeadersOnly":[{"bubbleId":B}],"modelConfig":{…}}
    bubbleId:<id>:<B>  {"type":1|2,"text":…,"createdAt":T,"thinking":{"text":…},"tokenCount":{inputTokens,outputTokens},
                        "toolFormerData":{"name":…,"toolCallId":C,"rawArgs":"json","result":"json","status":…}}

A session of the editor is in both; the database knows times and results, so its transcript is left out where the
default places tell that it is there. Of bubbles, type 1 is the person.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import apsw
import orjson

from recollect.capture.bodies import image_body
from recollect.capture.foreign import MAX_VALUE, database, document, parsed
from recollect.capture.lines import records
from recollect.capture.toolcall import describe, result_origin
from recollect.capture.transcript import Reading, Transcript, dict_of, moment, text_of, whole
from recollect.errors import BadTranscript
from recollect.model import Body, Cost, Event

flavor = "cursor"

_DATABASE = "state.vscdb"
_COMPOSERS = "SELECT key FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' ORDER BY key"
_VALUE = "SELECT CASE WHEN octet_length(value) <= ? THEN value END FROM cursorDiskKV WHERE key = ?"
_BUBBLES = "SELECT key FROM cursorDiskKV WHERE key >= ? AND key < ? ORDER BY rowid"
_ANY_BUBBLE = "SELECT 1 FROM cursorDiskKV WHERE key >= ? AND key < ? LIMIT 1"
# A row that is written again gets a new rowid, so even a value of the same size shows.
_STAMP = (
    "SELECT count(*), CAST(total(octet_length(value)) AS INT), max(rowid) FROM cursorDiskKV WHERE key >= ? AND key < ?"
)
_QUERY = re.compile(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)
_HOST_TEXT = (
    *("<attached_files>", "<system_reminder>", "<system-reminder>", "<open_and_recently_viewed_files>", "<user_info>"),
    *("<additional_data>", "<git_status>", "<rules>", "<manually_attached_skills>", "<cursor_commands>"),
)
# Names that only Cursor has, by what they do.
_PLAIN = {"ripgrep": "grep", "ripgrep_raw_search": "grep", "glob_file_search": "glob", "read_lints": "read"}
_DONE = {"completed": False, "success": False, "error": True, "cancelled": True, "rejected": True}
_CONTROL = re.compile("[\x00-\x1f]")


def roots(home: Path, env: Mapping[str, str]) -> list[Path]:
    return [home / ".cursor" / "projects", *_storages(home, env)]


def _storages(home: Path, env: Mapping[str, str]) -> list[Path]:
    """Where the editor's database may be: on Linux, macOS and Windows."""
    linux = Path(env["XDG_CONFIG_HOME"]) if env.get("XDG_CONFIG_HOME") else home / ".config"
    windows = Path(env["APPDATA"]) if env.get("APPDATA") else home / "AppData" / "Roaming"
    parents = (linux, home / "Library" / "Application Support", windows)
    return [parent / "Cursor" / "User" / "globalStorage" for parent in parents]


def discover(root: Path) -> Iterator[Transcript]:
    """The sessions in a database, or else the transcripts; those of older versions that are plain text are left out."""
    path = root / _DATABASE
    if path.exists():
        with database(root, path) as connection:
            names = [str(key).partition(":")[2] for (key,) in connection.execute(_COMPOSERS)]
        for name in names:
            if name and not _CONTROL.search(name):  # a line break is in the ids of tool calls, which are no sessions
                yield Transcript(flavor, root, path, name, (path,), name)
        return
    found = [
        Transcript(flavor, root, path, _native(path), (path,))
        for folder in sorted(root.glob("*/agent-transcripts")) or [root]
        for path in sorted(folder.rglob("*.jsonl"))
    ]
    elsewhere = _in_databases(root, {transcript.native for transcript in found})
    yield from (transcript for transcript in found if transcript.native not in elsewhere)


def _native(path: Path) -> str:
    return f"{path.parent.parent.name}/{path.stem}" if path.parent.name == "subagents" else path.stem


def _in_databases(root: Path, sessions: set[str]) -> set[str]:
    """Which of the sessions the editor's database of the same home has as well."""
    found: set[str] = set()
    for folder in _storages(root.parent.parent, {}) if root.parent.name == ".cursor" else ():
        if not (folder / _DATABASE).exists():
            continue
        try:
            with database(folder, folder / _DATABASE) as connection:
                found |= {name for name in sessions if connection.execute(_ANY_BUBBLE, _range(name)).fetchall()}
        except BadTranscript:
            continue  # read twice rather than not at all
    return found


def _range(composer: str) -> tuple[str, str]:
    return f"bubbleId:{composer}:", f"bubbleId:{composer};"


def stamp(transcript: Transcript) -> str:
    """What changes when this session does: a database changes with every session in it."""
    if transcript.part is None:
        try:
            state = transcript.path.stat()
        except OSError:
            return ""
        return f"{state.st_size}.{state.st_mtime_ns}"
    key = f"composerData:{transcript.part}"
    with database(transcript.root, transcript.path) as connection:
        found = [
            ".".join(str(value or 0) for value in row)
            for given in ((key, f"{key}\0"), _range(transcript.part))
            for row in connection.execute(_STAMP, given)
        ]
    return "-".join(found)


def recognises(record: Mapping[str, Any]) -> bool:
    if record.get("type") == "turn_ended" and "role" not in record:
        return True
    message = record.get("message")
    return (
        record.get("role") in ("user", "assistant")
        and isinstance(message, dict)
        and "content" in message
        and not {"type", "uuid", "id", "sessionId"} & record.keys()
    )


def read(reading: Reading) -> Iterator[Event | Cost]:
    part = reading.transcript.part
    if part is None:
        yield from _transcript(reading)
        return
    with database(reading.transcript.root, reading.transcript.path) as connection:
        yield from _composer(reading, connection, part)


# --- Transcripts


class _State:
    """What is carried from line to line."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.calls: dict[str, tuple[str, str]] = {}  # call id -> tool name, action
        self.waiting: list[tuple[str, str]] = []  # calls without an id, in order
        self.at = reading.file_time()

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
        """An event at the file's time: the lines have none."""
        return self.reading.event(kind, role, origin, text, self.at, native, {**(meta or {}), "time": "file"}, bodies)

    def native(self, role: str, what: str, text: str) -> tuple[str, ...]:
        """An identity for what has none: its words, and how often they came before."""
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self.reading.again(self.reading.native, role, what, digest)


def _transcript(reading: Reading) -> Iterator[Event]:
    state, path = _State(reading), reading.transcript.path
    if path.parent.name == "subagents":
        reading.relation, reading.parent = "subagent", f"{flavor}:{path.parent.parent.name}"
    reading.cwd = _trusted(reading.transcript)
    for record in records(reading):
        role, message = record.get("role"), record.get("message")
        if role in ("user", "assistant") and isinstance(message, dict):
            reading.model(record.get("model"))
            yield from _line(state, text_of(role), message.get("content"))
        elif record.get("type") == "turn_ended":
            yield from _ended(state, text_of(record.get("status")))
        else:
            reading.counts["unknown_records"] += 1


def _trusted(transcript: Transcript) -> str | None:
    """The directory of the project, from the note Cursor makes when it is trusted; the folder's name is ambiguous."""
    try:
        project = transcript.root / transcript.path.relative_to(transcript.root).parts[0]
        note = parsed(document(transcript.root, project / ".workspace-trusted", 1 << 20))
    except (BadTranscript, ValueError):
        return None
    return text_of(dict_of(note).get("workspacePath")) or None


def _line(state: _State, role: str, content: object) -> Iterator[Event]:
    texts: list[str] = []
    bodies: list[Body] = []
    for block in content if isinstance(content, list) else (content,):
        block = {"type": "text", "text": block} if isinstance(block, str) else dict_of(block)
        kind = block.get("type")
        if kind == "text" and role == "user":
            texts.append(text_of(block.get("text")))
        elif kind == "image":
            body = image_body(block.get("source"))
            bodies += [body] if body else []
            texts.append("[image]")
        elif kind in ("tool_result", "tool-result"):
            yield from _result(state, block)
        elif isinstance(kind, str) and kind in _SAID:
            yield from _said(state, block, kind)
        elif kind is not None:
            state.reading.counts["unknown_records"] += 1
    text = "\n".join(part for part in texts if part)
    if role == "user" and text.strip():
        yield from _prompt(state, text, tuple(bodies))


def _prompt(state: _State, text: str, bodies: tuple[Body, ...]) -> Iterator[Event]:
    """A person's words stand in <user_query>; what is around them the editor put there."""
    said = _QUERY.findall(text) if "<user_query>" in text else []
    around = _QUERY.sub("", text).strip() if said else ""
    if not said and text.lstrip().startswith(_HOST_TEXT):
        around, text = text, ""
    if around:
        yield state.event("injected_context", "system", "tool", around, state.native("user", "around", around))
    text = "\n".join(said) if said else text
    if text.strip():
        origin = "assistant" if state.reading.relation == "subagent" else "user"
        yield state.event("user_prompt", "user", origin, text, state.native("user", "text", text), bodies=bodies)


def _said(state: _State, block: Mapping[str, Any], kind: str) -> Iterator[Event]:
    if kind in ("text", "thinking"):
        text = text_of(block.get(kind)) or text_of(block.get("text"))
        if text.strip():
            what = "assistant_text" if kind == "text" else "thinking"
            yield state.event(what, "assistant", "assistant", text, state.native("assistant", kind, text))
        return
    name, given, call = text_of(block.get("name")) or "unknown", block.get("input"), text_of(block.get("id"))
    what, text, meta = _described(name, given, call)
    native = ("call", state.reading.native, call) if call else state.native("assistant", name, _json(given))
    if call:
        state.calls[call] = name, meta["action"]
    else:
        state.waiting.append((name, meta["action"]))
    yield state.event(what, "assistant", "assistant", text, native, meta)


def _result(state: _State, block: Mapping[str, Any]) -> Iterator[Event]:
    call = text_of(block.get("tool_use_id"))
    known = state.calls.get(call)
    if known is None and state.waiting:
        known = state.waiting.pop(0)
    tool, action = known or (text_of(block.get("name")), "")
    content = block.get("content")
    parts = [content] if isinstance(content, str) else content if isinstance(content, list) else []
    text = "\n".join(part if isinstance(part, str) else text_of(dict_of(part).get("text")) for part in parts)
    meta: dict[str, Any] = {
        name: value for name, value in (("call", call), ("tool", tool), ("action", action)) if value
    }
    if isinstance(block.get("is_error"), bool):
        meta["error"] = block["is_error"]
    native = ("call", state.reading.native, call) if call in state.calls else state.native("tool", call, text)
    yield state.event("tool_result", "tool", result_origin(action), text, native, meta)


def _ended(state: _State, status: str) -> Iterator[Event]:
    native = state.native("system", "turn_ended", status)
    kind = "human_intervention" if status in ("aborted", "cancelled") else "turn_end"
    origin = "user" if kind == "human_intervention" else "tool"
    text = status if kind == "human_intervention" else ""
    yield state.event(kind, "system", origin, text, native, {"status": status} if status else {})


# --- The editor's database


def _composer(reading: Reading, connection: apsw.Connection, composer: str) -> Iterator[Event | Cost]:
    """A conversation; fetched a bubble at a time, so that no read of ours stays open in somebody else's database."""
    about = _get(reading, connection, f"composerData:{composer}")
    reading.interactive = True
    reading.branch = text_of(about.get("createdOnBranch")) or None
    reading.cwd = _workspace(about)
    reading.titled(about.get("name"))
    parent = text_of(dict_of(about.get("subagentInfo")).get("parentComposerId"))
    if parent:
        reading.parent, reading.relation = f"{flavor}:{parent}", "subagent"
    model = _model(about.get("modelConfig"))
    begun = moment(about.get("createdAt"))
    for name, bubble in _bubbles(reading, connection, composer, about):
        reading.cwd = reading.cwd or _folder(bubble.get("workspaceUris"))
        at = moment(bubble.get("createdAt")) or _rpc_time(bubble) or begun
        begun = None
        native = ("bubble", composer, name)
        if bubble.get("type") == 1:
            yield from _asked(reading, bubble, at, native)
        elif bubble.get("type") == 2:
            yield from _answered(reading, bubble, at, native)
            yield from _spent(reading, bubble, at, native, model)
        elif bubble:
            reading.counts["unknown_records"] += 1


def _get(reading: Reading, connection: apsw.Connection, key: str) -> Mapping[str, Any]:
    rows = connection.execute(_VALUE, (MAX_VALUE, key)).fetchall()
    value = rows[0][0] if rows else "null"
    found = parsed(value)
    if isinstance(found, dict):
        return found
    if value not in ("null", b"null"):  # which Cursor writes itself; None is a value too big
        reading.counts["bad_documents"] += 1
    return {}


def _bubbles(
    reading: Reading, connection: apsw.Connection, composer: str, about: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The bubbles of a conversation in order; older versions keep them in the conversation itself."""
    inline = about.get("conversation")
    if isinstance(inline, list) and inline:
        for number, bubble in enumerate(inline):
            yield text_of(dict_of(bubble).get("bubbleId")) or str(number), dict_of(bubble)
        return
    headers = about.get("fullConversationHeadersOnly")
    names = [text_of(dict_of(header).get("bubbleId")) for header in (headers if isinstance(headers, list) else ())]
    if not names:
        keys = connection.execute(_BUBBLES, _range(composer)).fetchall()
        names = [str(key).removeprefix(_range(composer)[0]) for (key,) in keys]
    for name in dict.fromkeys(names):
        if name:
            yield name, _get(reading, connection, f"bubbleId:{composer}:{name}")


def _asked(
    reading: Reading, bubble: Mapping[str, Any], at: datetime | None, native: tuple[str, ...]
) -> Iterator[Event]:
    text, images = text_of(bubble.get("text")), bubble.get("images")
    text += "\n[image]" * len(images) if isinstance(images, list) else ""
    if text.strip():
        origin = "assistant" if reading.relation == "subagent" else "user"
        yield reading.event("user_prompt", "user", origin, text.lstrip("\n"), at, native)


def _answered(
    reading: Reading, bubble: Mapping[str, Any], at: datetime | None, native: tuple[str, ...]
) -> Iterator[Event]:
    thinking, text = text_of(dict_of(bubble.get("thinking")).get("text")), text_of(bubble.get("text"))
    if thinking.strip():
        yield reading.event("thinking", "assistant", "assistant", thinking, at, native)
    if text.strip():
        yield reading.event("assistant_text", "assistant", "assistant", text, at, native)
    tool = dict_of(bubble.get("toolFormerData"))
    if tool.get("name") or tool.get("rawArgs"):
        yield from _used(reading, tool, at, native)
    failed = dict_of(bubble.get("errorDetails"))
    message = text_of(failed.get("message")) or text_of(failed.get("error"))
    if message:
        yield reading.event("error", "system", "tool", message, at, native)


def _used(reading: Reading, tool: Mapping[str, Any], at: datetime | None, native: tuple[str, ...]) -> Iterator[Event]:
    name, call = text_of(tool.get("name")) or "unknown", text_of(tool.get("toolCallId"))
    status, result = text_of(tool.get("status")), tool.get("result")
    given = parsed(tool.get("rawArgs")) or tool.get("rawArgs") or parsed(tool.get("params")) or tool.get("params")
    if call:
        native = ("call", native[1], call)
    kind, text, meta = _described(name, given, call)
    yield reading.event(kind, "assistant", "assistant", text, at, native, meta)
    refused = tool.get("userDecision") == "rejected"
    if status in _DONE or refused:
        answer: dict[str, Any] = {"call": call} if call else {}
        answer |= {"tool": name, "action": meta["action"], "error": _DONE.get(status, True) or refused}
        output, code = _output(result)
        if code is not None:
            answer["exit"], answer["error"] = code, answer["error"] or code != 0
        origin = result_origin(meta["action"])
        yield reading.event("tool_result", "tool", origin, output, at, native, answer)
    if refused or status == "rejected":
        yield reading.event("human_intervention", "system", "user", f"rejected {name}", at, native, {"call": call})


def _output(result: object) -> tuple[str, int | None]:
    """The text of a result, and the exit code of a command."""
    found = parsed(result) if isinstance(result, str) else result
    if not isinstance(found, dict):
        return text_of(result), None
    code = next((found[name] for name in ("exitCodeV2", "exitCode") if type(found.get(name)) is int), None)
    for field in ("output", "contents", "content", "error"):
        if isinstance(found.get(field), str):
            return found[field], code
    return text_of(result) or _json(found), code


def _described(name: str, given: object, call: str) -> tuple[str, str, dict[str, Any]]:
    """A call in our words, under the name Cursor gives it: `read_file_v2` is a `read_file`."""
    plain = name.removesuffix("_v2")
    if isinstance(given, dict) and isinstance(given.get("relativeWorkspacePath"), str):
        given = {"path": given["relativeWorkspacePath"], **given}
    kind, text, meta = describe(_PLAIN.get(plain, plain), given, call)
    return kind, text, meta | {"tool": name}


def _spent(
    reading: Reading, bubble: Mapping[str, Any], at: datetime | None, native: tuple[str, ...], model: str | None
) -> Iterator[Cost]:
    """Tokens, where the version counts them at all; newer ones write zeros."""
    count = dict_of(bubble.get("tokenCount"))
    used = _model(bubble.get("modelInfo")) or model
    if whole(count.get("inputTokens")) or whole(count.get("outputTokens")):
        yield reading.cost(native, at, used, input=count.get("inputTokens"), output=count.get("outputTokens"))
    else:
        reading.model(used)


def _model(config: object) -> str | None:
    name = text_of(dict_of(config).get("modelName"))
    return name if name != "default" else None


def _rpc_time(bubble: Mapping[str, Any]) -> datetime | None:
    """When the request was sent; `clientStartTime` counts from the editor's start instead."""
    sent = dict_of(bubble.get("timingInfo")).get("clientRpcSendTime")
    return moment(sent) if whole(sent) > 10**12 else None


def _workspace(about: Mapping[str, Any]) -> str | None:
    uri = dict_of(dict_of(about.get("workspaceIdentifier")).get("uri"))
    return text_of(uri.get("fsPath")) or _folder([uri.get("external")]) or None


def _folder(uris: object) -> str | None:
    """The directory of the first `file://` URI."""
    first = text_of(uris[0]) if isinstance(uris, list) and uris else ""
    if not first.startswith("file:///"):
        return None
    try:
        path = unquote(urlsplit(first).path)
    except ValueError:
        return None
    return path[1:] if re.match(r"/[A-Za-z]:", path) else path


def _json(value: object) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS).decode()
    except (TypeError, ValueError):
        return repr(value)


_SAID = frozenset(("text", "thinking", "tool_use", "tool_call", "tool-call"))
