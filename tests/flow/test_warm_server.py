"""The warm process: one for a data directory, private, there again when it was killed, and not to be held up."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from recollect import warmwire
from recollect.warm import server
from recollect.warm.server import WarmServer


class Echo:
    """Answers with what it was asked; can be slow, can fail."""

    def __init__(self, pause: float = 0.0) -> None:
        self.pause = pause
        self.asked: list[Mapping[str, bytes]] = []
        self.closed = 0
        self.rested = 0

    def answer(self, request: Mapping[str, bytes]) -> Mapping[str, bytes]:
        self.asked.append(request)
        time.sleep(self.pause)
        if request.get("prompt") == b"fail":
            raise RuntimeError("as asked")
        return {"state": warmwire.SHOW, "text": request.get("prompt", b"")}

    def afterwards(self) -> None:
        if self.asked[-1].get("prompt") == b"fail after":
            raise RuntimeError("as asked")

    def rest(self) -> None:
        self.rested += 1

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
def warm(data_dir: Path, echo: Echo) -> Iterator[WarmServer]:
    with WarmServer(data_dir, lambda: echo) as one:
        assert one.listens(5)
        yield one


def path(data_dir: Path) -> str:
    return str(data_dir / warmwire.SOCKET)


def ask(data_dir: Path, prompt: bytes = b"hello", seconds: float = 5.0) -> dict[str, bytes]:
    return warmwire.ask(path(data_dir), warmwire.pack({"prompt": prompt}), time.monotonic() + seconds)


def connected(data_dir: Path, said: bytes = b"") -> socket.socket:
    line = socket.socket(socket.AF_UNIX)
    line.connect(path(data_dir))
    line.sendall(said)
    return line


def eventually(true: Callable[[], bool], seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return true()


# -- one, and private --------------------------------------------------------------------------------------------------


def test_it_answers_on_a_private_socket(warm: WarmServer, data_dir: Path) -> None:
    assert ask(data_dir) == {"state": b"show", "text": b"hello"}
    assert (data_dir / warmwire.SOCKET).stat().st_mode & 0o777 == 0o600
    assert (data_dir / warmwire.LOCK).stat().st_mode & 0o777 == 0o600


def test_it_leaves_nothing_but_the_lock_behind(data_dir: Path, echo: Echo) -> None:
    one = WarmServer(data_dir, lambda: echo)
    one.start()
    assert one.listens(5)
    assert one.stop()
    assert [each.name for each in data_dir.iterdir()] == [warmwire.LOCK]
    assert echo.closed == 1
    assert not any(thread.name == "recollect-warm" for thread in threading.enumerate())


def test_one_that_was_never_started_can_be_stopped(data_dir: Path, echo: Echo) -> None:
    assert WarmServer(data_dir, lambda: echo).stop()


def test_of_two_one_listens_and_the_other_takes_over(warm: WarmServer, data_dir: Path, echo: Echo) -> None:
    """P17."""
    second = Echo()
    with WarmServer(data_dir, lambda: second) as other:
        assert not other.listens(1.5 * server.RETRY_SECONDS)
        assert ask(data_dir)["text"] == b"hello"
        assert not second.asked
        warm.stop()
        assert other.listens(3 * server.RETRY_SECONDS)
        assert ask(data_dir)["text"] == b"hello"
        assert len(second.asked) == 1


HOLDER = """
import sys, time
from pathlib import Path
sys.path[:0] = [{root!r}]
from tests.flow.test_warm_server import Echo
from recollect.warm.server import WarmServer
one = WarmServer(Path(sys.argv[1]), Echo)
one.start()
print(one.listens(5), flush=True)
time.sleep(60)
"""


def test_when_the_holder_is_killed_another_takes_over_in_seconds(data_dir: Path, echo: Echo) -> None:
    """What it left on the disk is in nobody's way."""
    code = HOLDER.format(root=str(Path(__file__).parents[2]))
    with subprocess.Popen([sys.executable, "-c", code, str(data_dir)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"True\n"
        with WarmServer(data_dir, lambda: echo) as other:
            assert not other.listens(0.2)
            holder.send_signal(signal.SIGKILL)
            holder.wait()
            assert (data_dir / warmwire.SOCKET).exists()
            assert other.listens(3 * server.RETRY_SECONDS)
            assert ask(data_dir)["text"] == b"hello"


def test_a_socket_that_was_taken_away_is_made_again(
    warm: WarmServer, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data_dir / warmwire.SOCKET).unlink()
    assert eventually(lambda: (data_dir / warmwire.SOCKET).exists(), 3 * server.LOOK_SECONDS)
    assert ask(data_dir)["text"] == b"hello"


def test_a_path_too_long_for_a_socket_is_no_trouble(tmp_path: Path, echo: Echo) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir(mode=0o700)
    with WarmServer(deep, lambda: echo) as one:
        if sys.platform != "linux":
            assert not one.listens(0.5)
            return
        assert one.listens(5)
        handle = os.open(deep, os.O_RDONLY)
        try:
            where = warmwire.address(str(deep), handle)
            assert where is not None
            assert warmwire.ask(where, warmwire.pack({"prompt": b"x"}), time.monotonic() + 5)["text"] == b"x"
        finally:
            os.close(handle)


@pytest.mark.parametrize("spoil", ["missing", "writable", "link"])
def test_a_data_directory_that_is_not_ours_alone_is_not_used(
    spoil: str, data_dir: Path, echo: Echo, tmp_path: Path
) -> None:
    if spoil == "writable":
        data_dir.chmod(0o777)
    else:
        data_dir.rename(tmp_path / "elsewhere")
    if spoil == "link":
        data_dir.symlink_to(tmp_path / "elsewhere")
    with WarmServer(data_dir, lambda: echo) as one:
        assert not one.listens(0.3)
    assert not list(tmp_path.rglob(warmwire.SOCKET))


STRANGER = """
import os, socket, sys
os.setgid(65534); os.setuid(65534)
line = socket.socket(socket.AF_UNIX)
try:
    line.connect("warm.sock")
    line.sendall(bytes.fromhex(sys.argv[1]))
    print(line.recv(100))
except OSError as error:
    print(type(error).__name__)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become somebody else")
@pytest.mark.parametrize("opened", [False, True], ids=["as it is", "with every door open"])
def test_another_user_gets_no_answer(warm: WarmServer, data_dir: Path, echo: Echo, opened: bool) -> None:
    """T31: neither by the file's mode nor, were that wrong, by who it is."""
    if opened:
        (data_dir / warmwire.SOCKET).chmod(0o777)
        data_dir.chmod(0o755)
    words = [sys.executable, "-S", "-c", STRANGER, warmwire.pack({"prompt": b"x"}).hex()]
    said = subprocess.run(words, capture_output=True, text=True, cwd=data_dir).stdout.strip()
    assert said in (("b''", "ConnectionResetError", "BrokenPipeError") if opened else ("PermissionError",))
    assert not echo.asked
    assert ask(data_dir)["text"] == b"hello"


# -- hostile clients ---------------------------------------------------------------------------------------------------


@pytest.mark.timed
@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x00" * 70_000,
        warmwire.MAGIC + b"\xff\xff\xff\xff" + b"x" * 1_000,
        warmwire.MAGIC + (500).to_bytes(4, "big") + b"half",
        warmwire.pack({"prompt": b"x"})[:-1],
        warmwire.MAGIC + (4).to_bytes(4, "big") + b"\xff\xff\xff\xff",
        warmwire.pack({"prompt": b"fail"}),
        warmwire.pack({"prompt": b"fail after"}),
    ],
    ids=["silent", "http", "zeros", "4 GB", "half", "almost", "torn inside", "fails", "fails after"],
)
def test_what_one_says_costs_nobody_else_anything(warm: WarmServer, data_dir: Path, said: bytes) -> None:
    lines = []
    for _ in range(5):
        with suppress(OSError):  # it may be dropped before all was said
            lines.append(connected(data_dir, said))
    began = time.monotonic()
    assert ask(data_dir)["text"] == b"hello"
    assert time.monotonic() - began < 0.3
    for line in lines:
        line.close()
    assert ask(data_dir)["text"] == b"hello"


@pytest.mark.timed
def test_who_says_nothing_is_dropped_in_time(warm: WarmServer, data_dir: Path) -> None:
    began = time.monotonic()
    with connected(data_dir) as line:
        line.settimeout(5)
        assert line.recv(1) == b""
    assert time.monotonic() - began < 4 * server.REQUEST_SECONDS


def test_a_crowd_of_silent_clients_does_not_keep_others_out(warm: WarmServer, data_dir: Path) -> None:
    with ExitStack() as crowd:
        for _ in range(2 * server.MOST_CLIENTS):
            crowd.enter_context(connected(data_dir))
        assert ask(data_dir)["text"] == b"hello"


def test_who_finds_the_queue_at_the_door_full_waits_for_a_place(tmp_path: Path) -> None:
    where = str(tmp_path / "door")
    with ExitStack() as lines:
        door = lines.enter_context(socket.socket(socket.AF_UNIX))
        door.bind(where)
        door.listen(0)
        first = lines.enter_context(socket.socket(socket.AF_UNIX))
        first.connect(where)
        with pytest.raises(TimeoutError):
            warmwire.begin(where, b"hello", time.monotonic() + 0.05)
        opened = threading.Timer(0.05, lambda: lines.enter_context(door.accept()[0]))
        opened.start()
        warmwire.begin(where, b"hello", time.monotonic() + 5).close()
        opened.join()


def test_who_fails_is_told_to_look_elsewhere(warm: WarmServer, data_dir: Path) -> None:
    assert ask(data_dir, b"fail") == {"state": warmwire.PASS}


def test_who_has_hung_up_is_not_worked_for(data_dir: Path) -> None:
    slow = Echo(pause=0.2)
    with WarmServer(data_dir, lambda: slow) as one:
        assert one.listens(5)
        for number in range(5):
            connected(data_dir, warmwire.pack({"prompt": b"%d" % number})).close()
        time.sleep(0.1)
        with pytest.raises(TimeoutError):
            ask(data_dir, seconds=0.05)
        assert ask(data_dir, b"still there")["text"] == b"still there"
        assert len(slow.asked) <= 3


def test_many_at_once_are_all_answered(warm: WarmServer, data_dir: Path) -> None:
    answers: list[bytes] = []

    def one(number: int) -> None:
        answers.append(ask(data_dir, b"%d" % number)["text"])

    threads = [threading.Thread(target=one, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, answers)) == list(range(20))


def test_while_nobody_asks_it_rests(warm: WarmServer, echo: Echo) -> None:
    assert eventually(lambda: echo.rested > 0, 3 * server.LOOK_SECONDS)
