"""A model on loopback that says what a test wrote down, in the languages the agents speak to theirs.

Codex asks the Responses API (`POST …/responses`), Claude Code the Messages API (`POST …/messages`), Gemini CLI the
Gemini API (`POST …:streamGenerateContent`) and OpenCode that of chat completions (`POST …/chat/completions`). Every
request is kept, so a test can look at what a model would have been shown, and what each answer is said to have used is
kept too.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

PATIENCE = 120.0  # seconds after which a hanging answer gives up, should a test forget it


class Say(NamedTuple):
    """An answer in words."""

    text: str


class Call(NamedTuple):
    """An answer that calls a tool, by the name the agent offers it under."""

    tool: str
    arguments: dict[str, Any]
    namespace: str | None = None


class Hang(NamedTuple):
    """No answer, until the agent is dead."""


Request = dict[str, Any]
Said = Say | Call | Hang
Answer = Said | Callable[[Request], Said]  # one that depends on what was asked


class Used(NamedTuple):
    """What an answer is said to have used; the three are disjoint."""

    input: int
    cached: int
    output: int


@dataclass
class ScriptedModel:
    """Answers in the order of the script; the last answer is given again to whoever keeps asking.

    `asides` are answers to whoever is asked these words in the user's role, at any time: subagents are.
    """

    script: Sequence[Answer] = ()
    asides: dict[str, Said] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    used: list[Used] = field(default_factory=list)
    hanging: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    port: int = 0
    _next: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def follow(self, *script: Answer) -> None:
        """What is answered from now on."""
        self.script, self._next = script, 0

    def answer(self, request: Request) -> tuple[int, Said, Used]:
        """The next answer, its number and what it used: other numbers each time, so that none is mixed up."""
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
            said = self._chosen(request)
            used = Used(1_000 + number, 300 + number, 20 + number)
            if not isinstance(said, Hang):
                self.used.append(used)
        if isinstance(said, Hang):
            self.hanging.set()
            self.over.wait(PATIENCE)
        return number, said, used

    def _chosen(self, request: Request) -> Said:
        asked = [each.get("content") or each.get("parts") for each in turns(request) if each.get("role") == "user"]
        aside = [said for words, said in self.asides.items() if json.dumps(words) in json.dumps(asked)]
        if aside:
            return aside[0]
        answer = self.script[min(self._next, len(self.script) - 1)]
        self._next += 1
        return answer(request) if callable(answer) else answer

    def total(self) -> Used:
        """All that was used."""
        return Used(*(sum(bucket) for bucket in zip(*self.used, strict=True)))


def turns(request: Request) -> list[dict[str, Any]]:
    """What was said so far, whatever it is called in this language."""
    found: list[dict[str, Any]] = request.get("input") or request.get("messages") or request["contents"]
    return found


def offered(request: Request) -> list[tuple[str, str | None]]:
    """The tools that the model may call, and the namespace of each, if it has one."""
    found: list[tuple[str, str | None]] = []
    for tool in request.get("tools", []):
        found += [(tool["name"], None)] if "name" in tool else []
        found += [(each["name"], tool["name"]) for each in tool.get("tools", [])]
        found += [(tool["function"]["name"], None)] if "function" in tool else []
        found += [(each["name"], None) for each in tool.get("functionDeclarations", [])]
    return found


def last_result(request: Request) -> str:
    """What the last tool call came to, as JSON."""
    said = [each for turn in turns(request) for each in (turn, *_parts(turn))]
    found = [
        each
        for each in said
        if each.get("type") in ("function_call_output", "tool_result")
        or each.get("role") == "tool"
        or "functionResponse" in each
    ]
    return json.dumps(found[-1:])


def _parts(turn: dict[str, Any]) -> list[dict[str, Any]]:
    inside = turn.get("content") or turn.get("parts") or []
    return [part for part in inside if isinstance(part, dict)]


def responses(model: ScriptedModel, request: Request) -> bytes:
    """The Responses API, as a stream of events. Here the cached tokens are a part of the input."""
    number, said, used = model.answer(request)
    if isinstance(said, Call):
        item: dict[str, Any] = {
            "type": "function_call",
            "id": _id("fc", number),
            "call_id": _id("call", number),
            "name": said.tool,
            "arguments": json.dumps(said.arguments),
            **({"namespace": said.namespace} if said.namespace else {}),
        }
    else:
        content = [{"type": "output_text", "text": _words(said), "annotations": []}]
        item = {
            "type": "message",
            "id": _id("msg", number),
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
    usage = {
        "input_tokens": used.input + used.cached,
        "input_tokens_details": {"cached_tokens": used.cached},
        "output_tokens": used.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": sum(used),
    }
    begun = {"id": _id("resp", number), "object": "response", "status": "in_progress", "output": []}
    done = {**begun, "status": "completed", "output": [item], "usage": usage}
    return _stream(
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    )


def messages(model: ScriptedModel, request: Request) -> bytes:
    """The Messages API, as a stream of events: the usage comes in two parts, and the output's grows."""
    number, said, used = model.answer(request)
    usage = {"input_tokens": used.input, "cache_creation_input_tokens": 0, "cache_read_input_tokens": used.cached}
    message: dict[str, Any] = {
        "id": _id("msg", number),
        "type": "message",
        "role": "assistant",
        "model": request.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 1},
    }
    if isinstance(said, Call):
        block: dict[str, Any] = {"type": "tool_use", "id": _id("toolu", number), "name": said.tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(said.arguments)}
        reason = "tool_use"
    else:
        block, reason = {"type": "text", "text": ""}, "end_turn"
        delta = {"type": "text_delta", "text": _words(said)}
    return _stream(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {**usage, "output_tokens": used.output},
        },
        {"type": "message_stop"},
    )


def completions(model: ScriptedModel, request: Request) -> bytes:
    """Chat completions, as a stream of pieces. Here too the cached tokens are a part of the input."""
    number, said, used = model.answer(request)
    chunk = {"id": _id("chatcmpl", number), "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
    if isinstance(said, Call):
        function = {"name": said.tool, "arguments": json.dumps(said.arguments)}
        call = {"index": 0, "id": _id("call", number), "type": "function", "function": function}
        delta, reason = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    else:
        delta, reason = {"role": "assistant", "content": _words(said)}, "stop"
    usage = {
        "prompt_tokens": used.input + used.cached,
        "prompt_tokens_details": {"cached_tokens": used.cached},
        "completion_tokens": used.output,
        "total_tokens": sum(used),
    }
    pieces: list[dict[str, Any]] = [
        {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
    ]
    return b"".join(map(_data, pieces)) + b"data: [DONE]\n\n"


def content(model: ScriptedModel, request: Request, *, stream: bool) -> bytes:
    """The Gemini API: a stream of one piece, or that piece. The cached tokens are a part of the prompt's."""
    number, said, used = model.answer(request)
    call = {"functionCall": {"name": said.tool, "args": said.arguments}} if isinstance(said, Call) else None
    answer: dict[str, Any] = {
        "candidates": [
            {
                "index": 0,
                "content": {"role": "model", "parts": [call or {"text": _words(said)}]},
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {
            "promptTokenCount": used.input + used.cached,
            "cachedContentTokenCount": used.cached,
            "candidatesTokenCount": used.output,
            "totalTokenCount": sum(used),
        },
        "modelVersion": "scripted",
        "responseId": _id("resp", number),
    }
    return _data(answer) if stream else json.dumps(answer).encode()


@contextmanager
def serving() -> Iterator[ScriptedModel]:
    """A model that can be asked on a port of its own."""
    model = ScriptedModel()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Nothing: a test looks at `model.requests`."""

        def do_GET(self) -> None:
            self.reply(b'{"object":"list","data":[],"models":[]}', "application/json")

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            path = self.path.partition("?")[0]
            if path.endswith("/responses"):
                self.reply(responses(model, request), "text/event-stream")
            elif path.endswith("/messages"):
                self.reply(messages(model, request), "text/event-stream")
            elif path.endswith("/chat/completions"):
                self.reply(completions(model, request), "text/event-stream")
            elif path.endswith(":streamGenerateContent"):
                self.reply(content(model, request, stream=True), "text/event-stream")
            elif path.endswith(":generateContent"):
                self.reply(content(model, request, stream=False), "application/json")
            else:
                self.reply(b'{"input_tokens":10}', "application/json")

        do_HEAD = do_GET  # noqa: N815

        def reply(self, data: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("request-id", _id("req", len(model.requests)))
            self.end_headers()
            self.wfile.write(data)

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """An agent that is gone before it has its answer is what some tests are about."""

    server = Server(("127.0.0.1", 0), Handler)
    model.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _id(kind: str, number: int) -> str:
    """As long as real ones, which are unique in the world; here in one test."""
    return f"{kind}_{number:032d}"


def _words(said: Said) -> str:
    return said.text if isinstance(said, Say) else ""


def _data(piece: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(piece)}\n\n".encode()


def _stream(*events: dict[str, Any]) -> bytes:
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
