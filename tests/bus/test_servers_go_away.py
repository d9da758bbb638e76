"""Redis and PostgreSQL end at any moment and come back: the bus goes on by itself; nothing is lost or doubled."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from recollect.bus.connecting import connect, failures
from recollect.bus.consumer import Consumer
from recollect.bus.publish import Publisher
from recollect.errors import InvalidInput, RecollectError
from recollect.settings import load
from recollect.store.opening import open_store
from tests.bus.conftest import QUICK, Bus, event, until
from tests.faults.test_postgres_crash import DURABLE, crash
from tests.flow.memory_fixture import IN_A_FILE
from tests.services.postgres import running as postgres_running
from tests.services.redis import _program
from tests.services.shared import answers, free_port


class Server:
    """A Redis of a test's own that writes everything down before it answers."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir()

    def start(self) -> None:
        words = ("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", "")
        durable = ("--appendonly", "yes", "--appendfsync", "always")
        self.process = subprocess.Popen(
            [str(_program()), *words, *durable], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until(lambda: answers(self.port, b"PING\r\n", b"+PONG"))

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "own-redis")
    server.start()
    yield server
    server.kill()


@pytest.fixture
def own(bus: Bus, server: Server) -> Iterator[Bus]:
    """The bus on that server."""
    own = Bus(server.url, bus.settings, bus.store)
    yield own
    own.close()


def check_restarts(own: Bus, server: Server, restarts: int, each: int = 200) -> None:
    """A publisher that repeats what was not acknowledged, readers that run all the time, Redis killed in between."""
    acknowledged: list[str] = []
    readers = [own.consumer(bridge=True), own.consumer(bridge=True)]
    for reader in readers:
        reader.start()
    done = threading.Event()

    def publish() -> None:
        number = 0
        with Publisher(own.url, user="ann", settings=own.settings) as publisher:
            while not done.is_set():
                made = publisher.event("conversation.message", f"Message {number}.", f"m{number}", session_id="chat:1")
                try:
                    publisher.publish(made)
                except RecollectError:
                    time.sleep(0.02)
                    continue
                acknowledged.append(f"Message {number}.")
                number += 1
                if number % 50 == 0:
                    time.sleep(0.01)

    thread = threading.Thread(target=publish)
    thread.start()
    for _ in range(restarts):
        before = len(acknowledged)
        until(lambda before=before: len(acknowledged) > before + each)
        server.kill()
        time.sleep(0.3)
        server.start()
    done.set()
    thread.join()
    until(lambda: own.stream.figures().lag == 0, 60 if restarts < 5 else 400)
    kept = own.said()
    assert len(kept) == len(set(kept))
    assert set(acknowledged) <= set(kept)
    assert len(kept) <= len(acknowledged) + 1, "one may have been taken, and its answer lost"
    assert own.stream.dead() == []
    for reader in readers:
        assert reader.bridge is not None
        until(lambda reader=reader: reader.bridge.listening)


def test_redis_killed_under_load_loses_and_doubles_nothing(own: Bus, server: Server) -> None:
    check_restarts(own, server, 2)


@pytest.mark.soak
def test_redis_killed_under_load_again_and_again(own: Bus, server: Server) -> None:
    check_restarts(own, server, 15, each=500)


@IN_A_FILE
def test_a_redis_that_comes_back_empty_is_a_new_beginning(own: Bus, server: Server) -> None:
    reader = own.consumer(bridge=True)
    reader.start()
    own.add(event("Before."))
    until(lambda: own.said() == ["Before."])
    server.kill()
    until(lambda: reader.health()["connected"] is False)
    until(lambda: reader.bridge is not None and not reader.bridge.listening and reader.last_error)
    for file in server.folder.glob("*.aof"):
        file.unlink()
    server.start()
    until(lambda: reader.bridge is not None and reader.bridge.listening and reader.health()["connected"])
    assert own.redis.publish(own.settings.redis_channel, json.dumps(event("After."))) == 1
    until(lambda: own.said() == ["Before.", "After."])
    until(lambda: reader.health()["lag"] == 0)


@pytest.mark.timed
@IN_A_FILE
def test_nobody_who_asks_how_it_is_waits_for_a_redis_that_hangs(own: Bus, server: Server) -> None:
    """Its own thread does; whoever asks /health hears what that saw last."""
    reader = own.consumer()
    reader.start()
    until(lambda: reader.health()["connected"])
    assert server.process is not None
    server.process.send_signal(signal.SIGSTOP)
    try:
        began = time.monotonic()
        while time.monotonic() - began < 1.0:
            asked = time.monotonic()
            reader.health()
            assert time.monotonic() - asked < 0.5
            time.sleep(0.1)
        until(lambda: not reader.health()["connected"])
    finally:
        server.process.send_signal(signal.SIGCONT)
    until(lambda: reader.health()["connected"])


@IN_A_FILE
def test_what_was_stored_while_redis_was_away_is_acknowledged_when_it_is_back(own: Bus, server: Server) -> None:
    own.add(event("Once."))
    reader = own.consumer(patience=replace(QUICK, idle=60.0))
    reader.stream.ensure()
    reader.take()
    server.kill()
    with pytest.raises(failures()):
        reader.work()
    assert own.said() == ["Once."]
    server.start()
    reader.step()
    assert own.stream.figures().lag == 0


@pytest.mark.timed
@IN_A_FILE
def test_a_reader_may_start_before_redis_and_end_without_it(bus: Bus, server: Server) -> None:
    server.kill()
    reader = bus.consumer(memory_of=bus.memory, bridge=True)
    late = Consumer(server.url, bus.memory, bus.settings, patience=QUICK)
    late.start()
    until(lambda: late.last_error)
    began = time.monotonic()
    late.stop()
    assert time.monotonic() - began < 3
    reader.stop()


@pytest.mark.slow
def test_postgres_crashing_under_load_loses_and_doubles_nothing(
    redis_url: str, run_folder: Path, tmp_path: Path, own_home: Path
) -> None:
    """Its restarts count as nobody's attempts: no event is buried for them."""
    with postgres_running(run_folder, f"bus-{time.monotonic_ns()}", DURABLE) as server:
        url = server.empty_database()
        settings = load(data_dir=tmp_path / "data", database_url=url).settings
        store = open_store(settings)
        bus = Bus(redis_url, settings, store)
        reader = bus.consumer()
        reader.start()
        for first in range(0, 200, 100):
            bus.add(*(event(f"Message {n}.", id=f"m{n}") for n in range(first, first + 100)))
            with suppress(Exception):
                crash(url)
        until(lambda: bus.stream.figures().lag == 0, 60)
        assert sorted(bus.said()) == sorted(f"Message {n}." for n in range(200))
        assert bus.stream.dead() == []
        bus.close()
        store.close()


@pytest.mark.parametrize("url", ["", "http://localhost", "localhost:6379", "redis://localhost:x"])
def test_what_is_no_address_of_redis_is_told(url: str) -> None:
    with pytest.raises(InvalidInput, match="redis_url"):
        connect(url)


# -- a login that may do little ----------------------------------------------------------------------------------------

PUBLISHER = ("+xadd", "+publish", "+ping")
READER = (
    *("+xgroup", "+xreadgroup", "+xack", "+xclaim", "+xpending", "+xinfo", "+xadd", "+xrange", "+xrevrange", "+xlen"),
    *("+xtrim", "+xdel", "+subscribe", "+unsubscribe", "+set", "+get", "+exists", "+watch", "+unwatch", "+multi"),
    *("+exec", "+ping", "+time"),
)


@IN_A_FILE
def test_a_login_limited_to_what_is_needed_is_enough(own: Bus, server: Server) -> None:
    """The lists of docs/redis.md, on the real server: nothing in them is missing, and a publisher can read nothing."""
    name = own.settings.redis_stream
    only = ("resetchannels", f"&{own.settings.redis_channel}", f"~{name}", "-@all")
    own.redis.execute_command("ACL", "SETUSER", "app", "on", ">p", *only, *PUBLISHER)
    own.redis.execute_command("ACL", "SETUSER", "reader", "on", ">r", *only, f"~{name}:*", *READER)
    app, login = server.url.replace("//", "//app:p@"), server.url.replace("//", "//reader:r@")
    reader = Consumer(login, own.memory, replace(own.settings, redis_keep=0), patience=QUICK, count=own.count)
    reader.start()
    assert reader.bridge is not None
    until(lambda: reader.bridge.listening)
    with Publisher(app, user="ann", settings=own.settings) as publisher:
        publisher.said("By the stream.", session="chat:1", event_id="1")
        assert publisher.announce(publisher.event("conversation.message", "By the channel.", session_id="chat:1")) == 1
        publisher.publish(publisher.event("memory.fact", "Kept."))
    connect(app).xadd(name, {"event": "no event"})
    until(lambda: own.counts["dead"] == 1 and len(own.said()) == 2 and own.of().memories())
    reader._trimmed_at = 0.0
    until(lambda: reader.health()["lag"] == 0)
    reader.stream.requeue(reader.stream.dead()[0].id)
    until(lambda: own.counts["dead"] == 2)
    until(lambda: reader._trimmed_at > 0)
    reader.stop()
    assert reader.last_error == ""
    readable = connect(app)
    for words in (
        ("XRANGE", name, "-", "+"),
        ("GET", "x"),
        ("KEYS", "*"),
        ("XADD", "other", "*", "a", "b"),
        ("FLUSHALL",),
    ):
        with pytest.raises(failures()):
            readable.execute_command(*words)
    readable.close()
