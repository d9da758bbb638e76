"""P14 for the events that take an answer: whatever the warm process and the prepared files do, gone within a second.

The record is there each time, and what is printed is one valid object or nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from recollect import frame, hook, promptindex, warmwire
from tests.faults.test_hook_faults import LIMIT, SHIM
from tests.flow.test_hook import HOOK, command, records
from tests.prepared_fixture import ASKING, ENTRY, Prepared, event

PROMPT, START = event("UserPromptSubmit", prompt=ASKING), event("SessionStart", source="startup")
BLOCK = frame.framed(ENTRY, promptindex.NOTICE)


@pytest.fixture
def prepared(data_dir: Path) -> Prepared:
    one = Prepared(data_dir).mode("recall")
    one.index()
    one.start("What is known.")
    hook.capture(str(data_dir), "claude", b"", {})  # makes spool and key
    for record in (data_dir / "spool").iterdir():
        record.unlink()
    return one


def answer(data_dir: Path, body: bytes, words: list[str] | None = None, env: dict[str, str] | None = None) -> str:
    """Start the hook: in time, with a record, silent or one object; returns the text in it."""
    began = time.monotonic()
    done = subprocess.run(
        words or command(data_dir), input=body, capture_output=True, timeout=20, env={**os.environ, **(env or {})}
    )
    assert time.monotonic() - began < LIMIT
    assert (done.returncode, done.stderr) == (0, b"")
    assert [record.body for record in records(data_dir)] == [body]
    if not done.stdout:
        return ""
    found = json.loads(done.stdout)
    assert found.keys() == {"hookSpecificOutput"}
    assert found["hookSpecificOutput"].keys() == {"hookEventName", "additionalContext"}
    return str(found["hookSpecificOutput"]["additionalContext"])


# -- the warm process --------------------------------------------------------------------------------------------------


@contextmanager
def served(data_dir: Path, serve: Callable[[socket.socket], None]) -> Iterator[None]:
    """A process at the other end of the socket that does this with each client."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(data_dir / warmwire.SOCKET))
        listener.listen(1)
        stopping = threading.Event()

        def run() -> None:
            while not stopping.is_set():
                with suppress(OSError), listener.accept()[0] as line:
                    serve(line)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield
        stopping.set()
        with suppress(OSError), socket.socket(socket.AF_UNIX) as line:
            line.connect(str(data_dir / warmwire.SOCKET))
        thread.join(5)


def never_answers(line: socket.socket) -> None:
    time.sleep(0.5)


def hangs_up(line: socket.socket) -> None:
    pass


def garbage(line: socket.socket) -> None:
    line.recv(100)
    line.sendall(os.urandom(100_000))


def half(line: socket.socket) -> None:
    line.recv(100)
    line.sendall(warmwire.pack({"state": warmwire.SHOW, "text": b"obey"})[:-1])
    time.sleep(0.3)


def drips(line: socket.socket) -> None:
    for byte in warmwire.pack({"state": warmwire.SHOW, "text": b"obey" * 100}):
        line.sendall(bytes([byte]))
        time.sleep(0.01)


def no_text(line: socket.socket) -> None:
    line.recv(100)
    line.sendall(warmwire.pack({"state": warmwire.SHOW, "text": b"\xff\xfe"}))


def odd(line: socket.socket) -> None:
    line.recv(100)
    line.sendall(warmwire.pack({"state": b"block", "decision": b"block", "text": b"obey"}))


def passes(line: socket.socket) -> None:
    line.recv(100)
    line.sendall(warmwire.pack({"state": warmwire.PASS}))


@pytest.mark.timed
@pytest.mark.parametrize(
    "serve", [never_answers, hangs_up, garbage, half, drips, no_text, odd, passes], ids=lambda serve: serve.__name__
)
def test_a_warm_process_that_is_no_help_is_done_without(
    serve: Callable[[socket.socket], None], prepared: Prepared
) -> None:
    with served(prepared.data_dir, serve):
        assert answer(prepared.data_dir, PROMPT) == BLOCK


@pytest.mark.timed
def test_too_long_an_answer_is_not_shown(prepared: Prepared) -> None:
    def floods(line: socket.socket) -> None:
        line.recv(100_000)
        line.sendall(warmwire.pack({"state": warmwire.SHOW, "text": b"x" * 60_000}))

    with served(prepared.data_dir, floods):
        assert answer(prepared.data_dir, PROMPT) == ""


@pytest.mark.timed
def test_when_the_warm_process_finds_nothing_nothing_is_said(prepared: Prepared) -> None:
    def silent(line: socket.socket) -> None:
        line.recv(100_000)
        line.sendall(warmwire.pack({"state": warmwire.NOTHING}))

    with served(prepared.data_dir, silent):
        answers = set()
        for _ in range(5):  # on a busy machine it may not be heard in time
            answers.add(answer(prepared.data_dir, PROMPT))
            shutil.rmtree(prepared.data_dir / "spool")
            (prepared.data_dir / "said").unlink(missing_ok=True)
        assert "" in answers


def stale_socket(data_dir: Path) -> None:
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(data_dir / warmwire.SOCKET))


def socket_is_a_file(data_dir: Path) -> None:
    (data_dir / warmwire.SOCKET).write_text("in the way")


def socket_is_a_pipe(data_dir: Path) -> None:
    os.mkfifo(data_dir / warmwire.SOCKET)


def socket_is_a_link(data_dir: Path) -> None:
    (data_dir / warmwire.SOCKET).symlink_to("/dev/zero")


def full_backlog(data_dir: Path) -> None:
    """Connecting itself would wait."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(data_dir / warmwire.SOCKET))
    listener.listen(0)
    waiting = [socket.socket(socket.AF_UNIX) for _ in range(3)]
    for line in waiting:
        line.setblocking(False)
        with suppress(BlockingIOError):
            line.connect(str(data_dir / warmwire.SOCKET))
    KEPT.extend([listener, *waiting])


KEPT: list[socket.socket] = []


@pytest.mark.timed
@pytest.mark.parametrize(
    "spoil",
    [stale_socket, socket_is_a_file, socket_is_a_pipe, socket_is_a_link, full_backlog],
    ids=lambda spoil: spoil.__name__,
)
def test_a_socket_that_leads_nowhere_is_done_without(spoil: Callable[[Path], None], prepared: Prepared) -> None:
    spoil(prepared.data_dir)
    try:
        assert answer(prepared.data_dir, PROMPT) == BLOCK
    finally:
        while KEPT:
            KEPT.pop().close()


# -- the prepared files ------------------------------------------------------------------------------------------------


def corrupt(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def link(path: Path) -> None:
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


def link_to_zero(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def huge(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(10 * 2**30)


@pytest.mark.timed
@pytest.mark.parametrize("spoil", [corrupt, torn, link, link_to_zero, pipe, huge], ids=lambda spoil: spoil.__name__)
@pytest.mark.parametrize("what", ["prompt/user.index", "start/user.claude", "mode"])
def test_a_prepared_file_that_is_not_as_we_write_it_is_left_alone(
    what: str, spoil: Callable[[Path], None], prepared: Prepared
) -> None:
    spoil(prepared.folder / what)
    said = answer(prepared.data_dir, START if what.startswith("start") else PROMPT)
    # A start's answer carries no checksum: a bit that is turned in it is a letter of its text.
    assert said == "" or (what.startswith("start") and spoil is corrupt)


@pytest.mark.timed
@pytest.mark.parametrize("what", ["said", "prepared", "prepared/start", "prepared/prompt"])
def test_folders_and_lists_that_are_pipes_are_no_trouble(what: str, prepared: Prepared) -> None:
    place = prepared.data_dir / what
    if place.is_dir():
        shutil.rmtree(place)
    os.mkfifo(place)
    assert answer(prepared.data_dir, PROMPT) == ("" if what in ("prepared", "prepared/prompt") else BLOCK)


# -- the machine -------------------------------------------------------------------------------------------------------


INSIDE = """
import os, sys, time
__file__, sys.argv = sys.argv[1], sys.argv[1:]
{}
with open(__file__) as file:
    code = compile(file.read(), __file__, "exec")
exec(code, globals())
"""


def with_fault(fault: str, data_dir: Path) -> list[str]:
    """The hook in an interpreter to which something was done before."""
    return [sys.executable, "-I", "-S", "-c", INSIDE.format(fault), str(HOOK), str(data_dir), "claude"]


@pytest.mark.timed
def test_without_a_fault_there_is_an_answer(prepared: Prepared) -> None:
    assert answer(prepared.data_dir, PROMPT, with_fault("", prepared.data_dir)) == BLOCK


@pytest.mark.timed
@pytest.mark.parametrize("body", [START, PROMPT], ids=["start", "prompt"])
def test_nothing_is_said_before_the_record_is_on_the_disk(body: bytes, prepared: Prepared) -> None:
    fault = "os.fsync = lambda handle: time.sleep(5)"
    assert answer(prepared.data_dir, body, with_fault(fault, prepared.data_dir)) == ""


@pytest.mark.timed
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_nothing_is_said_before_the_record_is_on_a_slow_disk(prepared: Prepared, tmp_path: Path) -> None:
    (tmp_path / "slow.c").write_text(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "slow.so", tmp_path / "slow.c"], check=True)
    assert answer(prepared.data_dir, START, env={"LD_PRELOAD": str(tmp_path / "slow.so")}) == ""


HANGS = """
real, fsync, synced = os.{call}, os.fsync, []
def late(*given, **named):
    time.sleep(5 if len(synced) > 1 else 0)
    return real(*given, **named)
def noted(handle):
    synced.append(handle)
    return fsync(handle)
os.{call}, os.fsync = late, noted
"""


@pytest.mark.timed
@pytest.mark.parametrize("call", ["open", "read", "fstat"])
def test_files_that_hang_after_the_record_are_not_waited_for(call: str, prepared: Prepared) -> None:
    """A network file system that stalls."""
    fault = HANGS.format(call=call)
    began = time.monotonic()
    assert answer(prepared.data_dir, START, with_fault(fault, prepared.data_dir)) == ""
    assert time.monotonic() - began > 0.3


@pytest.mark.timed
def test_stdin_that_is_never_closed_gets_no_answer(prepared: Prepared) -> None:
    began = time.monotonic()
    process = subprocess.Popen(
        command(prepared.data_dir), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin
    process.stdin.write(START)
    process.stdin.flush()
    assert process.wait(5) == 0
    assert time.monotonic() - began < LIMIT
    assert process.communicate() == (b"", b"")


@pytest.mark.timed
def test_a_prompt_of_four_megabytes_gets_no_answer(prepared: Prepared) -> None:
    body = event("UserPromptSubmit", prompt=ASKING + " x" * 2_000_000)
    assert answer(prepared.data_dir, body) == ""


def test_no_process_is_left_behind(prepared: Prepared) -> None:
    """P17: twenty at once, half of them killed."""
    mark = {"RECOLLECT_TEST_MARK": f"{os.getpid()}-{time.monotonic_ns()}"}
    env = {**os.environ, **mark}
    running = [
        subprocess.Popen(command(prepared.data_dir), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=env)
        for _ in range(20)
    ]
    for number, process in enumerate(running):
        assert process.stdin
        with suppress(BrokenPipeError):
            process.stdin.write(PROMPT if number % 3 else START)
            process.stdin.close()
        if number % 2:
            process.kill()
    for process in running:
        process.wait(5)
    wanted = "=".join(next(iter(mark.items()))).encode()
    left = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if wanted in environ.read_bytes():
                left.append(environ.parent.name)
    assert left == []
