"""A server that answers what a test wrote down, to the byte, over a real socket."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

Script = Callable[[socket.socket], None]


@dataclass
class Hostile:
    """Gives its answers in turn, one a connection, the last one for ever."""

    answers: list[Script] = field(default_factory=list)
    asked: list[bytes] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def heads(self, name: str) -> list[str]:
        """What each request said in this header."""
        found = []
        for request in self.asked:
            lines = request.split(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
            named = dict(line.split(": ", 1) for line in lines)
            found.append(next((value for key, value in named.items() if key.lower() == name.lower()), ""))
        return found


def answer(status: int, body: Any = b"", **headers: str) -> Script:
    """A whole answer; a body that is not bytes is sent as JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    told = {"Content-Type": "application/json", "Content-Length": str(len(raw)), "Connection": "close"}
    told |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = f"HTTP/1.1 {status} Said\r\n" + "".join(f"{name}: {value}\r\n" for name, value in told.items())
    return lambda wire: wire.sendall(head.encode() + b"\r\n" + raw)


@pytest.fixture
def hostile() -> Iterator[Hostile]:
    script = Hostile()
    listener = socket.create_server(("127.0.0.1", 0))
    script.port = listener.getsockname()[1]
    threads: list[threading.Thread] = []
    turn = threading.Lock()

    def one(wire: socket.socket) -> None:
        with wire, suppress(OSError):
            asked = _request(wire)
            if not asked:
                return
            with turn:
                script.asked.append(asked)
                how = script.answers.pop(0) if len(script.answers) > 1 else script.answers[0]
            how(wire)

    def accept() -> None:
        with suppress(OSError):
            while True:
                wire, _ = listener.accept()
                threads.append(threading.Thread(target=one, args=(wire,), daemon=True))
                threads[-1].start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    yield script
    script.closing.set()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    for thread in (accepting, *threads):
        thread.join(10)


def _request(wire: socket.socket) -> bytes:
    """One whole request."""
    raw = b""
    while b"\r\n\r\n" not in raw:
        part = wire.recv(65_536)
        if not part:
            return b""
        raw += part
    head, _, body = raw.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
    while lengths and len(body) < int(lengths[0]):
        body += wire.recv(65_536)
    return head + b"\r\n\r\n" + body
