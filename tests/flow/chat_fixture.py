"""Chat clients made like OpenAI's and Anthropic's, and the service they speak to over real HTTP.

The service says what a test wrote down and keeps every request. The clients have what those libraries have: nested
parts, a plain function around an asynchronous one, streams that are iterated, closed and entered, and `stream()` that
opens one.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import httpx
import pytest


def objects(value: Any) -> Any:
    """JSON as objects with attributes, as those libraries give it."""
    if isinstance(value, dict):
        return SimpleNamespace(**{name: objects(inner) for name, inner in value.items()})
    return [objects(inner) for inner in value] if isinstance(value, list) else value


@dataclass
class Service:
    """Answers every request with `says`, in the form its path asks for."""

    says: str = "Noted."
    status: int = 200
    tool_call: bool = False
    asked: list[dict[str, Any]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, path: str) -> dict[str, Any]:
        if path == "/chat":
            call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            message = {"role": "assistant", "content": None if self.tool_call else self.says}
            return {"choices": [{"message": {**message, "tool_calls": [call] if self.tool_call else None}}]}
        if path == "/messages":
            use = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
            return {"role": "assistant", "content": [use if self.tool_call else {"type": "text", "text": self.says}]}
        return {"output_text": self.says, "output": []}

    def events(self, path: str) -> Iterator[dict[str, Any]]:
        for word in self.says.split(" "):
            text = word if self.says.startswith(word) else f" {word}"
            if path == "/chat":
                yield {"choices": [{"delta": {"content": text}}]}
            elif path == "/messages":
                yield {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}
            else:
                yield {"type": "response.output_text.delta", "delta": text}
        yield {"choices": []} if path == "/chat" else {"type": "message_stop"}


class BlockingStream:
    """Chunks of an answer, as they come."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self._chunks = (objects(json.loads(line)) for line in response.iter_lines() if line)
        self.closed = False

    def __iter__(self) -> Iterator[Any]:
        yield from self._chunks

    def __next__(self) -> Any:
        return next(self._chunks)

    def __enter__(self) -> BlockingStream:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        self.closed = True
        self._response.close()


class AwaitedStream:
    """The same for an event loop."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self._chunks = self._read()
        self.closed = False

    async def _read(self) -> AsyncIterator[Any]:
        async for line in self._response.aiter_lines():
            if line:
                yield objects(json.loads(line))

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for chunk in self._chunks:
            yield chunk

    async def __anext__(self) -> Any:
        return await self._chunks.__anext__()

    async def __aenter__(self) -> AwaitedStream:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def close(self) -> None:
        self.closed = True
        await self._response.aclose()


class Opened:
    """`with client.messages.stream(…) as stream`: the text as it comes, and a message that grows."""

    def __init__(self, call: Callable[..., Any], given: dict[str, Any]) -> None:
        self._call, self._given = call, given
        self.current_message_snapshot = SimpleNamespace(content=[SimpleNamespace(type="text", text="")])
        self._chunks: Any = None

    def __enter__(self) -> Opened:
        self._chunks = self._call(**self._given, stream=True)
        return self

    def __exit__(self, *raised: object) -> None:
        self._chunks.close()

    @property
    def text_stream(self) -> Iterator[str]:
        for event in self._chunks:
            if event.type == "content_block_delta":
                self.current_message_snapshot.content[0].text += event.delta.text
                yield event.delta.text


def checked(call: Callable[..., Any]) -> Callable[..., Any]:
    """What those libraries put around their calls: a plain function, also where the call is awaited."""

    @functools.wraps(call)
    def around(*args: Any, **given: Any) -> Any:
        return call(*args, **given)

    return around


def _post(http: httpx.Client, path: str, given: dict[str, Any]) -> Any:
    if given.get("stream"):
        return BlockingStream(http.send(http.build_request("POST", path, json=given), stream=True))
    return objects(http.post(path, json=given).raise_for_status().json())


async def _post_soon(http: httpx.AsyncClient, path: str, given: dict[str, Any]) -> Any:
    if given.get("stream"):
        return AwaitedStream(await http.send(http.build_request("POST", path, json=given), stream=True))
    return objects((await http.post(path, json=given)).raise_for_status().json())


class ChatClient:
    """A client that blocks, with all three interfaces."""

    def __init__(self, url: str, timeout: float = 10.0) -> None:
        http = httpx.Client(base_url=url, timeout=timeout, trust_env=False)
        self.timeout, self._url, self._http = timeout, url, http

        def at(path: str) -> Any:
            create = checked(lambda **given: _post(http, path, given))
            return SimpleNamespace(create=create, stream=lambda **given: Opened(create, given), count=lambda: 7)

        self.chat = SimpleNamespace(completions=at("/chat"))
        self.messages, self.responses = at("/messages"), at("/responses")
        self.models = SimpleNamespace(list=lambda: ["m"])

    def with_options(self, timeout: float) -> ChatClient:
        return ChatClient(self._url, timeout)

    def __enter__(self) -> ChatClient:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()


class AsyncChatClient:
    """The same, awaited."""

    def __init__(self, url: str) -> None:
        http = httpx.AsyncClient(base_url=url, trust_env=False)
        self._http = http

        def at(path: str) -> Any:
            async def create(**given: Any) -> Any:
                return await _post_soon(http, path, given)

            return SimpleNamespace(create=checked(create))

        self.chat = SimpleNamespace(completions=at("/chat"))
        self.messages, self.responses = at("/messages"), at("/responses")

    async def __aenter__(self) -> AsyncChatClient:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._http.aclose()


@pytest.fixture
def chat_service() -> Iterator[Service]:
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            service.asked.append(asked)
            lines = service.events(self.path) if asked.get("stream") else [service.answer(self.path)]
            body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
            self.send_response(service.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name is the base class's)
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    service.port = listener.server_address[1]
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield service
    listener.shutdown()
    listener.server_close()
    thread.join()
