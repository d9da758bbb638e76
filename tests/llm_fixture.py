"""A language model's server over real HTTP, on this machine: it answers what the test wrote down, and remembers all."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from recollect.models.anthropic import AnthropicModel
from recollect.models.openai import OpenAIModel

KEY = "sk-ant-very-secret-0123456789"
Request = dict[str, Any]
Answer = Callable[[BaseHTTPRequestHandler, Request], None]


@dataclass
class Endpoint:
    """Gives the scripted answers in turn, the last one for ever."""

    answers: list[Answer] = field(default_factory=list)
    asked: list[Request] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def calls(self) -> int:
        return len(self.asked)

    def openai(self, timeout: float = 10.0) -> OpenAIModel:
        return OpenAIModel("some-model", KEY, self.url, timeout=timeout)

    def anthropic(self, timeout: float = 10.0) -> AnthropicModel:
        return AnthropicModel("some-model", KEY, self.url, timeout=timeout)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    script = Endpoint()
    turn = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked = json.loads(body)
            with turn:
                script.bodies.append(body)
                script.asked.append(asked)
                script.sizes.append(len(body))
                script.headers.append(dict(self.headers))
                script.paths.append(self.path)
                answer = script.answers.pop(0) if len(script.answers) > 1 else script.answers[0]
            answer(self, asked)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name is the base class's)
            pass

    class Listener(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that hung up in the middle of a hostile answer is what the tests want."""

    listener = Listener(("127.0.0.1", 0), Handler)
    script.port = listener.server_address[1]
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield script
    script.closing.set()
    listener.shutdown()
    thread.join()
    listener.server_close()


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def completion(text: str, read: int | None = None, written: int | None = None) -> Answer:
    """What an OpenAI-compatible server says; without figures it tells no usage."""

    def answer(handler: BaseHTTPRequestHandler, _asked: Request) -> None:
        said: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": text}}]}
        if read is not None:
            said["usage"] = {"prompt_tokens": read, "completion_tokens": written}
        send(handler, 200, json.dumps(said).encode())

    return answer


def tool_use(value: Any, read: int = 100, written: int = 10) -> Answer:
    """What Anthropic says when the tool was used."""

    def answer(handler: BaseHTTPRequestHandler, _asked: Request) -> None:
        block = {"type": "tool_use", "id": "t1", "name": "answer", "input": value}
        said = {"content": [block], "usage": {"input_tokens": read, "output_tokens": written}}
        send(handler, 200, json.dumps(said).encode())

    return answer


def status(code: int, **headers: str) -> Answer:
    """A refusal in which the server quotes the key and the request."""

    def answer(handler: BaseHTTPRequestHandler, asked: Request) -> None:
        send(handler, code, json.dumps({"error": KEY, "request": asked}).encode(), **headers)

    return answer


def body(data: bytes) -> Answer:
    return lambda handler, _asked: send(handler, 200, data)


def hanging(endpoint: Endpoint) -> Answer:
    """Never answers."""

    def answer(_handler: BaseHTTPRequestHandler, _asked: Request) -> None:
        endpoint.closing.wait(20)

    return answer


def dripping(endpoint: Endpoint) -> Answer:
    """Answers a byte at a time."""

    def answer(handler: BaseHTTPRequestHandler, _asked: Request) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not endpoint.closing.wait(0.03):
            handler.wfile.write(b" ")

    return answer


def flooding(size: int) -> Answer:
    """An answer of this many bytes."""

    def answer(handler: BaseHTTPRequestHandler, _asked: Request) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(size // 65_536 + 1):
            handler.wfile.write(b"x" * 65_536)

    return answer
