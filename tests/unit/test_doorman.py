"""New connections go to the process that has the fewest, whatever the others do."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from recollect.http.doorman import HANDED, TAKES, Arrivals, Doorman

LIMIT = 10.0


class Echo(asyncio.Protocol):
    """Says the name of who took the connection to whoever connects."""

    def __init__(self, taker: Taker) -> None:
        self._taker = taker

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._taker.open.add(transport)
        self._transport = transport
        transport.write(self._taker.name)

    def connection_lost(self, exc: Exception | None) -> None:
        self._taker.open.discard(self._transport)
        self._taker.arrivals.ended()


class Taker:
    """Stands for a process at the end of a line: an event loop in a thread of its own."""

    def __init__(self, doorman: Doorman, name: bytes) -> None:
        self.name, self.open = name, set[asyncio.WriteTransport]()
        self._line, self._ready = doorman.line(), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._thread.start()
        assert self._ready.wait(LIMIT)

    async def _run(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self.arrivals = Arrivals(self._line, lambda: Echo(self))
        self._ready.set()
        await self._over.wait()
        self.arrivals.close()
        for one in list(self.open):
            one.close()

    def end(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join(LIMIT)


@pytest.fixture
def where() -> Iterator[socket.socket]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        listening.setblocking(False)
        yield listening


@pytest.fixture
def door(where: socket.socket) -> Iterator[tuple[Doorman, tuple[str, int]]]:
    doorman, over = Doorman(where), threading.Event()
    doorman.begin()

    def work() -> None:
        while not over.is_set():
            doorman.work(0.02)

    working = threading.Thread(target=work, daemon=True)
    working.start()
    yield doorman, where.getsockname()
    over.set()
    working.join(LIMIT)
    doorman.close()


def connected(address: tuple[str, int]) -> tuple[socket.socket, bytes]:
    line = socket.create_connection(address, timeout=LIMIT)
    return line, line.recv(1)


def test_connections_are_shared_out_evenly_however_long_they_last(door: tuple[Doorman, tuple[str, int]]) -> None:
    doorman, address = door
    with ExitStack() as stack:
        for name in (b"a", b"b", b"c"):
            stack.callback(Taker(doorman, name).end)
        lines = [connected(address) for _ in range(30)]
        assert {name: [said for _, said in lines].count(name) for name in (b"a", b"b", b"c")} == dict.fromkeys(
            (b"a", b"b", b"c"), 10
        )
        for line, said in lines:
            if said == b"b":
                line.close()  # who has got rid of many gets the next
        until = time.monotonic() + LIMIT
        while sorted(doorman._has.values()) != [0, 10, 10] and time.monotonic() < until:
            time.sleep(0.01)
        more = [connected(address) for _ in range(10)]
        assert {said for _, said in more} == {b"b"}
        for line, _ in [*lines, *more]:
            line.close()


def test_whoever_comes_before_anybody_takes_waits_and_is_taken(door: tuple[Doorman, tuple[str, int]]) -> None:
    doorman, address = door
    early = socket.create_connection(address, timeout=LIMIT)
    taker = Taker(doorman, b"a")
    assert early.recv(1) == b"a"
    early.close()
    taker.end()


def test_one_that_is_gone_gets_nothing_more_and_the_others_everything(door: tuple[Doorman, tuple[str, int]]) -> None:
    doorman, address = door
    first, second = Taker(doorman, b"a"), Taker(doorman, b"b")
    first.end()
    found = []
    for _ in range(6):
        with suppress(ConnectionError):  # one that was on its way when the process ended
            line, said = connected(address)
            line.close()
            found.append(said)
    assert set(found[-5:]) == {b"b"}
    second.end()


def test_closing_ends_the_lines(where: socket.socket) -> None:
    doorman = Doorman(where)
    line = doorman.line()
    line.settimeout(LIMIT)
    doorman.close()
    assert line.recv(1) == b""
    line.close()


def test_nobody_is_let_in_before_it_begins(where: socket.socket) -> None:
    """Callers stay with the process they came to first: they wait until there are all of them to choose from."""
    doorman = Doorman(where)
    first, second = doorman.line(), doorman.line()
    callers = [socket.create_connection(where.getsockname(), timeout=LIMIT) for _ in range(4)]
    first.send(TAKES)
    doorman.work(0.05)
    assert (doorman.takers, sum(doorman._has.values())) == (1, 0)
    second.send(TAKES)
    doorman.work(0.05)
    doorman.begin()
    doorman.work(0.1)
    assert sorted(doorman._has.values()) == [2, 2]
    doorman.close()
    for one in (first, second, *callers):
        one.close()


def test_who_finds_no_room_waits_and_nothing_else_does(where: socket.socket) -> None:
    """A process that is stuck takes nothing; work ends when it is to, and one that comes later gets who waited."""
    doorman = Doorman(where)
    doorman.begin()
    stuck = doorman.line()
    stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    stuck.send(TAKES)
    doorman.work(0.05)
    callers = []
    while doorman._waiting is None and len(callers) < 2_000:
        callers.append(socket.create_connection(where.getsockname(), timeout=LIMIT))
        doorman.work(0.001)
    assert doorman._waiting is not None
    begun = time.monotonic()
    doorman.work(0.1)
    assert time.monotonic() - begun < 1
    other = doorman.line()
    other.send(TAKES)
    doorman.work(0.2)
    assert doorman._waiting is None
    said, handed, _, _ = socket.recv_fds(other, 1, 1)
    assert said == HANDED
    with socket.socket(fileno=handed[0]) as taken:
        assert taken.getpeername() == callers[-1].getsockname()
    doorman.close()
    for one in (stuck, other, *callers):
        one.close()
