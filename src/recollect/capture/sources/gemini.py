"""Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id8>.jsonl`, before that one `.json` document per session.

    {"sessionId":S,"projectHash":H,"startTime":T,"lastUpdated":T,"kind":"main"|"subagent","directories":[…]}
    {"id":M,"timestamp":T,"type":"user"|"info"|"warning"|"error","content":"…"|[{"text":…}],"displayContent":…}
    {"id":M,…,"type":"gemini","model":…,"thoughts":[{"subject":…,"description":…}],"tokens":{input,output,cached,thoughts,
     tool,total},"toolCalls":[{"id":C,"name":…,"args":{…},"status":…,"result":[{"functionResponse":{"response":{…}}}]}]}
    {"$set":{…}}   {"$rewindTo":M}

The lines are replayed: a message with the id of an earlier one replaces it, so events can only be told at the end. What
a rewind or a compaction dropped stays with us. A resumed `.json` leaves a `.jsonl` of the same name beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from recollect.capture.bodies import decoded
from recollect.capture.foreign import document, parsed
from recollect.capture.lines import records
from recollect.capture.toolcall import describe, result_origin
from recollect.capture.transcript import Reading, Transcript, dict_of, moment, text_of, whole
from recollect.errors import BadTranscript
from recollect.model import Body, Cost, Event

flavor = "gemini"

_HOST_TEXT = ("<session_context>", "<hook_context>")
# What a hook said, before the prompt or in a part of its own. Gemini writes `<` and `>` in it as `&lt;` and `&gt;`.
_HOOK_SAID = re.compile(r"\A\s*<hook_context>(.*?)</hook_context>(?:\n\n)?", re.DOTALL)
_SUMMARY = "<state_snapshot>"
_EXIT = re.compile(r"Exit Code: (\d{1,10})")
_FENCED = re.compile(r"\A<untrusted_context>\n(.*)\n</untrusted_context>\Z", re.DOTALL)  # a result, since 0.60 or so
_GROUP = re.compile(r"\nProcess Group PGID: \d+\s*\Z")  # another number each time
_RUNNING = frozenset("validating scheduled executing awaiting_approval".split())
_MAX_INDEX = 4 << 20


def roots(home: Path, env: Mapping[str, str]) -> list[Path]:
    given = env.get("GEMINI_CLI_HOME", "").strip()
    return [(Path(given).expanduser() if given else home) / ".gemini" / "tmp"]


def discover(root: Path) -> Iterator[Transcript]:
    """Sessions in every project's `chats`; a folder without any such is one that somebody copied sessions into."""
    for folder in sorted(root.glob("*/chats")) or [root]:
        for path in sorted(folder.rglob("*.json*")):
            if path.suffix == ".jsonl" or (path.suffix == ".json" and not path.with_suffix(".jsonl").exists()):
                yield Transcript(flavor, root, path, path.stem, (path,))


def recognises(record: Mapping[str, Any]) -> bool:
    if isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str):
        return True
    return "$rewindTo" in record or isinstance(record.get("$set"), dict) or record.get("type") == "gemini"


def read(reading: Reading) -> Iterator[Event | Cost]:
    replay = _Replay(reading)
    if reading.transcript.path.suffix == ".json":
        replay.load()
    else:
        for record in records(reading):
            replay.apply(record)
    _place(reading, replay.about)
    state = _State(reading)
    for entry in replay.entries:
        reading.at, reading.size = entry.at, entry.size
        yield from _entry(state, entry, replay)


class _Entry(NamedTuple):
    """Something to tell, where it first stood: a message by its id, or a change of the history."""

    what: str  # message, rewind or compaction
    id: str
    at: int
    size: int
    late: bool = False  # first seen in a rewritten history: put there by the host


class _Replay:
    """The session's messages, each as it was last written, in the order they first came."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.about: dict[str, Any] = {}
        self.messages: dict[str, dict[str, Any]] = {}
        self.entries: list[_Entry] = []
        self.live: dict[str, None] = {}  # ids of the history as Gemini has it now

    def load(self) -> None:
        """A session that is one document."""
        reading = self.reading
        data = document(reading.transcript.root, reading.transcript.path)
        found = parsed(data)
        reading.complete_to = len(data)
        if not isinstance(found, dict):
            reading.counts["bad_documents"] += 1
            return
        reading.at, reading.size = 0, len(data)
        self.about |= {name: value for name, value in found.items() if name != "messages"}
        self.add(found.get("messages") if "messages" in found else found.get("history"))

    def apply(self, record: dict[str, Any]) -> None:
        if "$rewindTo" in record:
            self.rewind(text_of(record["$rewindTo"]))
        elif isinstance(record.get("id"), str):
            self.put(record)
        elif "$set" in record:
            changes = dict_of(record["$set"])
            if isinstance(changes.get("messages"), list):
                self.rewrite(changes["messages"])
            self.about |= {name: value for name, value in changes.items() if name != "messages"}
        elif isinstance(record.get("sessionId"), str):
            self.about |= {name: value for name, value in record.items() if name != "messages"}
            self.add(record.get("messages"))
        else:
            self.reading.counts["unknown_records"] += 1

    def add(self, messages: object) -> None:
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, dict):
                self.put(message)

    def put(self, message: dict[str, Any], late: bool = False) -> None:
        key = text_of(message.get("id")) or f"#{len(self.entries)}"
        if key not in self.messages:
            self.entries.append(_Entry("message", key, self.reading.at, self.reading.size, late))
        self.messages[key] = message
        self.live[key] = None

    def rewind(self, to: str) -> None:
        """Forget that message and all after it; an unknown id forgets everything."""
        ids = list(self.live)
        kept = ids[: ids.index(to)] if to in self.live else []
        self.live = dict.fromkeys(kept)
        self.entries.append(_Entry("rewind", to, self.reading.at, self.reading.size))

    def rewrite(self, messages: list[Any]) -> None:
        """A history as it was sent on: old tool output masked, or all replaced by a summary. What we have is fuller."""
        known = [message for message in messages if isinstance(message, dict) and text_of(message.get("id"))]
        before = [key for key in self.live if _type(self.messages[key]) in ("user", "gemini")]
        first = not self.messages
        ids = dict.fromkeys(message["id"] for message in known)
        if len(ids) < len(before) and not all(key in ids for key in before):
            self.entries.append(_Entry("compaction", before[-1], self.reading.at, self.reading.size))
        for message in known:
            if message["id"] not in self.messages:
                self.put(message, late=not first)
        self.live = ids


class _State:
    """What is carried from message to message."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.answered: set[str] = set()
        self.called: set[str] = set()


def _place(reading: Reading, about: Mapping[str, Any]) -> None:
    """What the metadata says about the session."""
    session = text_of(about.get("sessionId"))
    reading.native = session or reading.native
    folder = reading.transcript.path.parent
    if about.get("kind") == "subagent":
        reading.relation = "subagent"
        if folder.parent.name == "chats":  # chats/<parent>/<id>.jsonl
            reading.native = f"{folder.name}/{reading.native}"
            reading.parent = f"{flavor}:{folder.name}"
            folder = folder.parent
    reading.titled(about.get("summary"))
    reading.model(dict_of(about.get("meta")).get("model"))
    directories = about.get("directories")
    if isinstance(directories, list) and directories and isinstance(directories[0], str):
        reading.cwd = directories[0]
    elif folder.name == "chats":
        reading.cwd = _project_root(reading.transcript.root, folder.parent)


def _project_root(root: Path, project: Path) -> str | None:
    """The directory that a project's folder is for, from Gemini's own notes about it."""
    try:
        noted = document(root, project / ".project_root", _MAX_INDEX).decode("utf-8", "replace").strip()
        if noted:
            return noted
    except BadTranscript:
        pass
    try:
        index = parsed(document(root.parent, root.parent / "projects.json", _MAX_INDEX))
    except BadTranscript:
        return None
    projects = dict_of(dict_of(index).get("projects"))
    return next((cwd for cwd, slug in projects.items() if slug == project.name), None)


def _entry(state: _State, entry: _Entry, replay: _Replay) -> Iterator[Event | Cost]:
    reading = state.reading
    if entry.what == "rewind":
        native = reading.again("rewind", reading.native, entry.id)
        yield reading.event("state", "system", "user", "", None, native, {"what": "rewind", "to": entry.id})
    elif entry.what == "compaction":
        native = reading.again("compaction", reading.native, entry.id)
        yield reading.event("compaction", "system", "tool", "", None, native)
    else:
        message = replay.messages[entry.id]
        kind = _type(message)
        handle = _HANDLERS.get(kind)
        if handle is not None:
            yield from handle(state, message, _native(reading, message), entry.late)
        elif kind not in _IGNORED:
            reading.counts["unknown_records"] += 1


def _type(message: Mapping[str, Any]) -> str:
    kind = text_of(message.get("type")) or text_of(message.get("role"))
    return "gemini" if kind in ("model", "assistant") else kind


def _native(reading: Reading, message: Mapping[str, Any]) -> tuple[str, ...]:
    known = text_of(message.get("id"))
    if known:
        return "message", reading.native, known
    return reading.again("message", reading.native, _type(message), str(message.get("timestamp", message.get("ts"))))


def _at(message: Mapping[str, Any]) -> datetime | None:
    return moment(message.get("timestamp", message.get("ts")))


def _user(state: _State, message: Mapping[str, Any], native: tuple[str, ...], late: bool) -> Iterator[Event]:
    reading, at = state.reading, _at(message)
    content = message.get("content", message.get("parts"))
    for part in content if isinstance(content, list) else ():
        answer = dict_of(dict_of(part).get("functionResponse"))
        if answer:
            yield from _answer(state, answer, at, native)
    shown = message.get("displayContent")
    typed, told = _apart(shown or content)  # what was typed, not what `@file` made of it
    if told:
        yield reading.event("injected_context", "system", "tool", told, at, (*native, "hook"))
    text, bodies = _text(typed)
    head = text.lstrip()
    if not head:
        return
    if _SUMMARY in head[:200]:
        yield reading.event("summary", "system", "assistant", text, at, native)
    elif late or head.startswith(_HOST_TEXT):
        yield reading.event("injected_context", "system", "tool", text, at, native)
    else:
        origin = "assistant" if reading.relation == "subagent" else "user"
        yield reading.event("user_prompt", "user", origin, text, at, native, bodies=bodies)


def _gemini(state: _State, message: Mapping[str, Any], native: tuple[str, ...], late: bool) -> Iterator[Event | Cost]:
    reading, at = state.reading, _at(message)
    content = message.get("content", message.get("parts"))
    parts = content if isinstance(content, list) else ()
    thoughts = [_thought(thought) for thought in _list(message.get("thoughts"))]
    thoughts = thoughts or [text_of(part.get("text")) for part in map(dict_of, parts) if part.get("thought") is True]
    thinking = "\n\n".join(thought for thought in thoughts if thought.strip())
    if thinking:
        yield reading.event("thinking", "assistant", "assistant", thinking, at, native)
    text, bodies = _text(content)
    if text.strip() and not late:  # a late one is the host's own filler after a summary
        yield reading.event("assistant_text", "assistant", "assistant", text, at, native, bodies=bodies)
    for number, call in enumerate(_list(message.get("toolCalls"))):
        yield from _call(state, dict_of(call), at, (*native, str(number)))
    for number, part in enumerate(parts):
        given = dict_of(dict_of(part).get("functionCall"))
        if given and text_of(given.get("id")) not in state.called:
            yield from _call(state, given, at, (*native, "part", str(number)))
    tokens = message.get("tokens")
    if isinstance(tokens, dict):
        yield _cost(reading, tokens, message.get("model"), at, native)
    else:
        reading.model(message.get("model"))


def _cost(
    reading: Reading, tokens: Mapping[str, Any], model: str | None, at: datetime | None, native: tuple[str, ...]
) -> Cost:
    """`cached` is part of `input`; `thoughts` are billed as output and `tool` as input, beside the two."""
    cached, thoughts = whole(tokens.get("cached")), whole(tokens.get("thoughts"))
    return reading.cost(
        native,
        at,
        model,
        input=max(0, whole(tokens.get("input")) - cached) + whole(tokens.get("tool")),
        cache_read=cached,
        output=whole(tokens.get("output")) + thoughts,
        reasoning=thoughts,
    )


def _call(state: _State, call: Mapping[str, Any], at: datetime | None, native: tuple[str, ...]) -> Iterator[Event]:
    reading = state.reading
    name, known = text_of(call.get("name")) or "unknown", text_of(call.get("id"))
    status = text_of(call.get("status"))
    at = moment(call.get("timestamp")) or at
    if known:
        native = ("call", reading.native, known)
        state.called.add(known)
    kind, text, meta = describe(name, call.get("args"), known)
    if text_of(call.get("agentId")):
        meta["agent"] = call["agentId"]
    yield reading.event(kind, "assistant", "assistant", text, at, native, meta)
    if status in _RUNNING or ("result" not in call and "resultDisplay" not in call):
        return
    state.answered.add(known)
    output = _output(call.get("result")) or text_of(call.get("resultDisplay"))
    result = {"call": known, "tool": name, "action": meta["action"], "error": status in ("error", "cancelled")}
    if meta["action"] == "shell":
        result |= _exit(output, status)
        output = _GROUP.sub("", output).removeprefix("Output: ")
    origin = result_origin(meta["action"])
    yield reading.event("tool_result", "tool", origin, output, at, native, result)
    if status == "cancelled":
        what = f"cancelled {name}"
        yield reading.event("human_intervention", "system", "user", what, at, native, {"call": known})


def _exit(output: str, status: str) -> dict[str, Any]:
    """The exit code, which newer versions write only when it is not 0."""
    codes = _EXIT.findall(output)
    if codes:
        code = int(codes[-1])
        return {"exit": code, "error": code != 0 or status in ("error", "cancelled")}
    return {"exit": 0} if status == "success" and output.startswith("Output:") else {}


def _answer(state: _State, answer: Mapping[str, Any], at: datetime | None, native: tuple[str, ...]) -> Iterator[Event]:
    """A result in a rewritten history, where the call it belongs to did not carry it."""
    known, name = text_of(answer.get("id")), text_of(answer.get("name"))
    if not known or known in state.answered:
        return
    state.answered.add(known)
    action = describe(name, {})[2]["action"]
    meta = {"call": known, "tool": name, "action": action}
    text = _output([{"functionResponse": answer}])
    native = ("call", state.reading.native, known)
    yield state.reading.event("tool_result", "tool", result_origin(action), text, at, native, meta)


def _output(result: object) -> str:
    """The text of a result: what the function answered, and what came beside it."""
    if isinstance(result, str):
        return result
    texts = []
    for part in result if isinstance(result, list) else (result,):
        part = dict_of(part)
        response = dict_of(part.get("functionResponse")).get("response")
        for field in ("output", "error", "content"):
            if isinstance(dict_of(response).get(field), str):
                texts.append(_FENCED.sub(r"\1", dict_of(response)[field]))
                break
        if isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif "inlineData" in part:
            texts.append("[image]")
    return "\n".join(texts)


def _text(content: object) -> tuple[str, tuple[Body, ...]]:
    """What was said in a message's content: text parts that are no thoughts, and images."""
    if isinstance(content, str):
        return content, ()
    texts: list[str] = []
    bodies: list[Body] = []
    for part in content if isinstance(content, list) else (content,):
        if isinstance(part, str):
            texts.append(part)
        part = dict_of(part)
        if isinstance(part.get("text"), str) and part.get("thought") is not True:
            texts.append(part["text"])
        inline = dict_of(part.get("inlineData"))
        if inline:
            body = decoded(text_of(inline.get("data")), inline.get("mimeType"))
            bodies += [body] if body else []
            texts.append("[image]")
    return "\n".join(text for text in texts if text), tuple(bodies)


def _apart(content: object) -> tuple[list[Any], str]:
    """A prompt's parts without what hooks said, and that."""
    parts: list[Any] = []
    told: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        text = part if isinstance(part, str) else text_of(dict_of(part).get("text"))
        said = _HOOK_SAID.match(text)
        if said is None:
            parts.append(part)
            continue
        told.append(said[1].replace("&lt;", "<").replace("&gt;", ">"))
        parts.append(text[said.end() :])
    return parts, "\n".join(told)


def _thought(thought: object) -> str:
    given = dict_of(thought)
    return "\n".join(filter(None, (text_of(given.get("subject")), text_of(given.get("description")))))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _note(state: _State, message: Mapping[str, Any], native: tuple[str, ...], late: bool) -> Iterator[Event]:
    """What Gemini showed the person: errors and warnings, and among the infos those that tell of a person's doing."""
    text, _ = _text(message.get("content"))
    kind, at, event = _type(message), _at(message), state.reading.event
    if not text.strip():
        return
    if kind == "error":
        yield event("error", "system", "tool", text, at, native)
    elif kind == "warning":
        yield event("state", "system", "tool", text, at, native, {"what": "warning"})
    elif text.startswith("Request cancelled"):
        yield event("human_intervention", "system", "user", text, at, native)


_HANDLERS = {"user": _user, "gemini": _gemini, "info": _note, "warning": _note, "error": _note}
_IGNORED = frozenset(("system", "about", "help", "quit", "compression"))
