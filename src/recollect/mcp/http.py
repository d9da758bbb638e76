"""MCP over streamable HTTP on this machine: a message by POST to /mcp, its answer as JSON. No stream, no session.

Every request stands alone: the version it speaks is in its headers or in itself. A local convenience for clients that
take an address instead of a command.
"""

from __future__ import annotations

import base64
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from recollect.errors import InvalidInput
from recollect.http.foreign import Denied
from recollect.mcp import protocol
from recollect.mcp.answering import Answering
from recollect.mcp.guard import PATH, Guard
from recollect.mcp.keeper import Keeper
from recollect.mcp.opened import Opened
from recollect.mcp.protocol import Conversation, Refusal

FINISH_SECONDS = 2.0
_AT_ONCE = 32
_SECONDS = 30.0  # how long a client may take to say a thing
_UNSAID = "2025-03-26"  # the version of a client that names none, by the specification
_STATUS = {  # what HTTP says about an error of the newer way of speaking
    protocol.PARSE_ERROR: 400,
    protocol.INVALID_REQUEST: 400,
    protocol.INVALID_PARAMS: 400,
    protocol.HEADER_MISMATCH: 400,
    protocol.NO_SUCH_VERSION: 400,
    protocol.NO_METHOD: 404,
}


def serve(opened: Opened, host: str, port: int, note: Callable[[str], None]) -> int:
    """Serve until told to stop."""
    from recollect.mcp.token import FILE_NAME, own_token

    guard = Guard(host, own_token(opened.settings.data_dir), protocol.MAX_MESSAGE)
    keeper = Keeper(opened)
    try:
        server = Server(opened, guard, host, port)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"cannot listen on {host} port {port}: {reason}", hint="Choose another --port.") from None
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown, daemon=True).start())
    address = f"http://{_written(host)}:{server.server_port}{PATH}"
    note(f"Serving {address}. The token is in {FILE_NAME} in the data directory.")
    keeper.start()
    with server:
        server.serve_forever(poll_interval=0.2)
    if keeper.stop(FINISH_SECONDS):
        opened.close()
    return 0


def _written(host: str) -> str:
    return f"[{host}]" if ":" in host else host


class Server(ThreadingHTTPServer):
    """The listener: so many connections at once, each in a thread that ends with the process."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, opened: Opened, guard: Guard, host: str, port: int) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.guard = guard
        self.call = Answering(opened).call
        self._room = threading.BoundedSemaphore(_AT_ONCE)
        super().__init__((host, port), Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away in the middle is nobody's trouble."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "recollect", ""
    timeout = _SECONDS
    server: Server

    def handle_one(self) -> None:
        """Whatever the method: headers first, then the body, then the answer."""
        verdict = self.server.guard.check(self.command, self.path, self.headers)
        if isinstance(verdict, Denied):
            self._deny(verdict)
            return
        if self.headers.get("Expect", "").casefold() == "100-continue":
            self.send_response_only(100)
            self.end_headers()
        body = self.rfile.read(verdict)
        if len(body) < verdict:
            self.close_connection = True
            return
        status, answer = respond(body, self.headers, self.server.call)
        self._send(status, answer)

    do_GET = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_HEAD = do_PATCH = handle_one  # noqa: N815

    def handle_expect_100(self) -> bool:
        """Not before the headers are checked."""
        return True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Quiet."""

    def _deny(self, denied: Denied) -> None:
        self.close_connection = True  # the body was not read
        refusal = Refusal(protocol.INVALID_REQUEST, denied.why)
        more = {401: {"WWW-Authenticate": "Bearer"}, 405: {"Allow": "POST"}}.get(denied.status, {})
        self._send(denied.status, protocol.encode(protocol.failure(None, refusal)), {**more, "Connection": "close"})

    def _send(self, status: int, body: bytes | None, headers: dict[str, str] | None = None) -> None:
        with suppress(OSError):
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            if body is not None:
                self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            if body is not None and self.command != "HEAD":
                self.wfile.write(body)


# -- one exchange ------------------------------------------------------------------------------------------------------


def respond(body: bytes, headers: Any, call: protocol.Call) -> tuple[int, bytes | None]:
    """The answer to one message, and what HTTP calls it; None when it needs none."""
    version = headers.get("MCP-Protocol-Version")
    conversation = Conversation(call, version=version or _UNSAID)
    message = conversation.read(body)
    enveloped = isinstance(message.value, dict) and protocol.is_enveloped(message.value.get("params"))
    try:
        if enveloped or version in protocol.ENVELOPED:
            _check_agreement(message.value, headers)
        elif version is not None and version not in protocol.GREETED:
            known = ", ".join((*protocol.GREETED, *protocol.ENVELOPED))
            raise Refusal(protocol.INVALID_REQUEST, f"unsupported protocol version; this server knows {known}")
    except Refusal as refusal:
        id_ = message.value.get("id") if isinstance(message.value, dict) else None
        return 400, protocol.encode(protocol.failure(id_ if protocol.is_id(id_) else None, refusal))
    answer = conversation.respond(message)
    if answer is None:
        return 202, None
    return _status(answer, enveloped), protocol.encode(answer)


def _status(answer: Any, enveloped: bool) -> int:
    if not isinstance(answer, dict) or "error" not in answer:
        return 200
    code = answer["error"]["code"]
    if enveloped:
        return _STATUS.get(code, 200)
    return 400 if answer["id"] is None else 200


def _check_agreement(value: Any, headers: Any) -> None:
    """What the headers say a request is must be what it is: something in between may have gone by them."""
    if not isinstance(value, dict) or "id" not in value or "method" not in value:
        return  # no request: there is nothing to agree on
    params: Any = value.get("params")
    if not protocol.is_enveloped(params):
        raise Refusal(
            protocol.INVALID_PARAMS, f"params._meta needs {protocol.VERSION_KEY} and {protocol.ABILITIES_KEY}"
        )
    expected = {"MCP-Protocol-Version": params["_meta"][protocol.VERSION_KEY], "Mcp-Method": value["method"]}
    if value["method"] == "tools/call" and isinstance(params.get("name"), str):
        expected["Mcp-Name"] = params["name"]
    for name, said in expected.items():
        found = headers.get_all(name) or []
        if len(found) != 1 or _plain(found[0]) != said:
            raise Refusal(protocol.HEADER_MISMATCH, f"the header {name} does not agree with the message")


def _plain(value: str) -> str | None:
    """A header's value; one that no header can carry comes as `=?base64?…?=`."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode("utf-8")
    except ValueError:
        return None
