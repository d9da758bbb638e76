"""Listening: the app behind uvicorn on a socket, until it is told to stop; then everything is ended in five seconds.

A client has ten seconds to say what it wants, and every connection that says nothing is closed. What is being answered
when a signal comes is answered; what was begun in the background is given back.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from recollect.errors import InvalidInput
from recollect.http.doorman import Arrivals
from recollect.http.errors import Refused
from recollect.http.manner import Programs

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from recollect.settings import Settings

HEAD_SECONDS = 10.0  # how long the headers of a request may take to come
FINISH_SECONDS = 2  # how long requests may take to end after a signal
LAST_SECONDS = 4.7  # when the process ends, whatever still hangs; nothing acknowledged depends on it
BACKLOG = 2_048
LARGEST_HEAD = 327_680  # a head is smaller; what comes at once may hold the end of the request before


class Protocol(HttpToolsProtocol):
    """HTTP as uvicorn speaks it, to clients that get to the point."""

    arrivals: Arrivals | None = None  # what is told when a connection ends
    _late: asyncio.TimerHandle | None = None
    _head = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._settle()
        if self.arrivals is not None:
            self.arrivals.ended()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._late is not None:
            self._head += len(data)
            if self._head > LARGEST_HEAD:
                self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP gets the same form as everything else."""
        refused = Refused(400, "this is not a request that can be read")
        body = refused.body()
        head = [b"HTTP/1.1 400 Bad Request", b"content-type: application/json", b"connection: close"]
        head += [name + b": " + value for name, value in Programs.headers]
        self.transport.write(b"\r\n".join([*head, b"content-length: %d" % len(body), b"", body]))
        self.transport.close()

    def on_message_begin(self) -> None:
        if self._late is None:
            self._await_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._settle()
        super().on_headers_complete()

    def _await_head(self) -> None:
        self._head = 0
        self._late = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _settle(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._late = None
        if not self.transport.is_closing():
            self.transport.close()


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; `port` 0 is a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        found = socket.socket(family=family)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"cannot listen on {host} port {port}: {reason}", hint="Choose another --port.") from None
    found.setblocking(False)
    os.set_inheritable(found.fileno(), True)
    return found


def listen(
    app: ASGIApp,
    where: socket.socket,
    settings: Settings,
    ready: Callable[[], None],
    stopping: Callable[[], None],
    *,
    handed: bool = False,
) -> None:
    """Answer until a signal comes; `ready` is called when requests are answered, `stopping` in a thread at its end.

    `handed`: nobody is waited for, connections are handed over on `where` (`doorman`).
    """
    proxies = ",".join(settings.serve_proxies)
    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies or "",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=FINISH_SECONDS,
        backlog=BACKLOG,
        loop="auto",
    )
    server = _Server(config, ready, stopping, where if handed else None)
    server.run(sockets=[] if handed else [where])
    server.ended()


class _Server(uvicorn.Server):
    """Says when it is ready, and ends in time."""

    def __init__(
        self,
        config: uvicorn.Config,
        ready: Callable[[], None],
        stopping: Callable[[], None],
        line: socket.socket | None,
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._line = line
        self._arrivals: Arrivals | None = None
        self._stopping = threading.Thread(target=stopping, name="recollect-stopping", daemon=True)

    def ended(self) -> None:
        """Wait for what was being stopped meanwhile."""
        if self._stopping.ident is not None:
            self._stopping.join()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started and self._line is not None:
            self._arrivals = Arrivals(self._line, self._protocol)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._arrivals is not None:
            self._arrivals.close()
        await super().shutdown(sockets=sockets)

    def _protocol(self) -> Protocol:
        made = Protocol(self.config, self.server_state, self.lifespan.state)
        made.arrivals = self._arrivals
        return made

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Stop; asked again, at once."""
        if self.should_exit:
            self.force_exit = True
            return
        self.should_exit = True
        last = threading.Timer(LAST_SECONDS, os._exit, (0,))
        last.daemon = True
        last.start()
        self._stopping.start()
