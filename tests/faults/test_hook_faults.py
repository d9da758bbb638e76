"""P14: ten faults around the hook; each time it is gone within a second, and the record is there if it can be.

The tenth, a full disk, is a small file system where we may mount one, and a limit on the size of files everywhere.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw
import pytest

from recollect.capture.notice import notice_of
from recollect.capture.spool import Spool
from recollect.store.sqlite.store import FILE_NAME, SqliteStore
from tests.flow.test_hook import HOOK, STOP, command, records, run

LIMIT = 1.0
BODY = json.dumps(STOP).encode()


def kept(data_dir: Path, *bodies: bytes) -> None:
    """Exactly these are in the spool, and nothing was missed."""
    assert [record.body for record in records(data_dir)] == list(bodies)
    assert Spool(data_dir).missed() == 0


def timed(words: Sequence[str], stdin: bytes = BODY, **how: object) -> None:
    """Run the hook by these words: silent, exit code 0, in time."""
    began = time.monotonic()
    done = subprocess.run(words, input=stdin, capture_output=True, timeout=20, **how)  # type: ignore[call-overload]
    assert time.monotonic() - began < LIMIT
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@contextmanager
def deaf_server() -> Iterator[tuple[int, socket.socket]]:
    """A server that lets everybody in and answers nobody."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server.getsockname()[1], server


def addresses(port: int) -> dict[str, str]:
    names = ("RECOLLECT_URL", "RECOLLECT_EMBEDDING_URL", "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY")
    return dict.fromkeys(names, f"http://127.0.0.1:{port}")


@pytest.mark.timed
def test_1_the_server_is_down(data_dir: Path) -> None:
    with deaf_server() as (port, _):
        pass
    assert run(data_dir, env=addresses(port)) < LIMIT
    kept(data_dir, BODY)


@pytest.mark.timed
def test_2_the_server_accepts_and_never_answers(data_dir: Path) -> None:
    """Nor is it ever asked."""
    with deaf_server() as (port, server):
        assert run(data_dir, env=addresses(port)) < LIMIT
        with pytest.raises(BlockingIOError):
            server.accept()
    kept(data_dir, BODY)


@pytest.mark.timed
def test_3_the_database_is_locked(data_dir: Path) -> None:
    SqliteStore(data_dir).close()
    holder = apsw.Connection(str(data_dir / FILE_NAME))
    holder.execute("BEGIN EXCLUSIVE")
    try:
        assert run(data_dir) < LIMIT
        kept(data_dir, BODY)
    finally:
        holder.execute("ROLLBACK")
        holder.close()


INSIDE = """
import os, sys, time
path, sys.argv = sys.argv[1], sys.argv[1:]
{}
with open(path) as file:
    code = compile(file.read(), path, "exec")
exec(code, {{"__name__": "__main__"}})
"""


def with_fault(fault: str, data_dir: Path) -> list[str]:
    """The hook in an interpreter to which something was done before."""
    return [sys.executable, "-I", "-S", "-c", INSIDE.format(fault), str(HOOK), str(data_dir), "claude"]


@pytest.mark.timed
def test_4_fsync_takes_five_seconds(data_dir: Path) -> None:
    """The record is in the file before, and that is not a miss."""
    run(data_dir)
    timed(with_fault("os.fsync = lambda handle: time.sleep(5)", data_dir))
    kept(data_dir, BODY, BODY)


SHIM = "#include <unistd.h>\nint fsync(int fd) { (void)fd; sleep(5); return 0; }\n"


@pytest.mark.timed
@pytest.mark.skipif(shutil.which("cc") is None or sys.platform != "linux", reason="needs a C compiler and LD_PRELOAD")
def test_4_fsync_takes_five_seconds_below_the_interpreter(data_dir: Path, tmp_path: Path) -> None:
    run(data_dir)
    (tmp_path / "slow.c").write_text(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "slow.so", tmp_path / "slow.c"], check=True)
    assert 0.3 < run(data_dir, env={"LD_PRELOAD": str(tmp_path / "slow.so")}) < LIMIT
    kept(data_dir, BODY, BODY)


@pytest.mark.timed
@pytest.mark.parametrize("body", [b"", b'{"session_id": "s-1", "prompt": "half of', BODY], ids=["none", "half", "all"])
def test_5_stdin_is_never_closed(body: bytes, data_dir: Path) -> None:
    began = time.monotonic()
    process = subprocess.Popen(command(data_dir), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin
    process.stdin.write(body)
    process.stdin.flush()
    assert process.wait(5) == 0
    assert time.monotonic() - began < LIMIT
    assert process.communicate() == (b"", b"")
    kept(data_dir, body)
    (record,) = records(data_dir)
    assert record.truncated
    notice = notice_of(record)
    assert (notice.session if notice else None) == ("claude:s-1" if body else None)


LATE = """
read, write, seen = os.read, os.write, []
def late(handle, size):
    if handle == 0:
        seen.append(size)
        if len(seen) == 2:
            time.sleep(0.28)
    return read(handle, size)
def slow(handle, data):
    time.sleep(0.05)
    return write(handle, data)
os.read, os.write = late, slow
"""


@pytest.mark.timed
def test_5_stdin_is_closed_while_what_came_is_being_written(data_dir: Path) -> None:
    """The end that comes too late does not end the process before its record is whole."""
    run(data_dir)
    timed(with_fault(LATE, data_dir))
    kept(data_dir, BODY, BODY)


@pytest.mark.timed
def test_6_stdin_has_100_megabytes(data_dir: Path) -> None:
    stdin = BODY[:-1] + b', "prompt": "' + b"x" * 100_000_000
    began = time.monotonic()
    process = subprocess.Popen(command(data_dir), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def feed() -> None:
        assert process.stdin
        try:
            process.stdin.write(stdin)
            process.stdin.flush()
        except BrokenPipeError:
            pass  # its time was up

    feeding = threading.Thread(target=feed)
    feeding.start()
    assert process.wait(5) == 0
    assert time.monotonic() - began < LIMIT
    feeding.join()
    try:
        assert process.communicate() == (b"", b"")
    except BrokenPipeError:
        process.communicate()
    (record,) = records(data_dir)
    assert (len(record.body), record.truncated) == (4 * 2**20, True)
    notice = notice_of(record)
    assert notice is not None
    assert (notice.session, notice.event, notice.cwd) == ("claude:s-1", "stop", "/home/ann/app")


@pytest.mark.timed
def test_7_the_spool_is_missing(data_dir: Path) -> None:
    assert run(data_dir) < LIMIT
    shutil.rmtree(data_dir / "spool")
    assert run(data_dir) < LIMIT
    kept(data_dir, BODY)


def spool_is_a_file(data_dir: Path) -> None:
    data_dir.mkdir(mode=0o700)
    (data_dir / "spool").write_text("in the way")


def data_dir_is_a_file(data_dir: Path) -> None:
    data_dir.write_text("in the way")


def spool_is_read_only(data_dir: Path) -> None:
    if os.getuid() == 0:
        pytest.skip("root may write everywhere")
    (data_dir / "spool").mkdir(parents=True, mode=0o700)
    (data_dir / "spool").chmod(0o500)


def spool_is_a_pipe(data_dir: Path) -> None:
    data_dir.mkdir(mode=0o700)
    os.mkfifo(data_dir / "spool")


def key_is_a_pipe(data_dir: Path) -> None:
    (data_dir / "spool").mkdir(parents=True, mode=0o700)
    data_dir.chmod(0o700)
    os.mkfifo(data_dir / "install.key")


def all_are_pipes(data_dir: Path) -> None:
    key_is_a_pipe(data_dir)
    os.mkfifo(data_dir / "spool" / "missed")


@pytest.mark.timed
@pytest.mark.parametrize(
    "spoil",
    [spool_is_a_file, data_dir_is_a_file, spool_is_read_only, spool_is_a_pipe, key_is_a_pipe, all_are_pipes],
    ids=lambda spoil: spoil.__name__,
)
def test_7_the_spool_cannot_be_written(spoil: Callable[[Path], None], data_dir: Path) -> None:
    spoil(data_dir)
    assert run(data_dir) < LIMIT
    assert not list(data_dir.rglob("*.record")) if data_dir.is_dir() else True
    if spoil is key_is_a_pipe:
        assert Spool(data_dir).missed() == 1


@pytest.mark.timed
@pytest.mark.parametrize("clock", ["0", "-10**18", "7 * 10**18", "jumps.pop()"])
def test_8_the_clock_jumps(clock: str, data_dir: Path) -> None:
    """The budget is kept by a clock that cannot, and any time is a time."""
    fault = f"jumps = [10**18, 0, 9 * 10**18, -1, 10**18]; time.time_ns = lambda: {clock}; time.time = lambda: 1 / 0"
    timed(with_fault(fault, data_dir))
    kept(data_dir, BODY)


@pytest.mark.timed
def test_9_a_reader_that_hangs_holds_its_lock(data_dir: Path) -> None:
    """Stopped in the middle, as a zombie daemon would be."""
    data_dir.mkdir(mode=0o700)
    with (data_dir / "spool.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run(data_dir) < LIMIT
        with Spool(data_dir).alone() as alone:
            assert not alone
    kept(data_dir, BODY)


@pytest.mark.timed
@pytest.mark.parametrize("size", [0, 10, 100])
def test_10_files_may_not_grow(size: int, data_dir: Path) -> None:
    """As on a full disk; no part of a record stays behind, and when there is space again all goes on."""
    run(data_dir)
    timed(command(data_dir), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
    assert len(list((data_dir / "spool").glob("*.record"))) == 1
    assert Spool(data_dir).missed() == (1 if size else 0)
    run(data_dir)
    assert [record.body for record in records(data_dir)] == [BODY, BODY]


def fill(ballast: Path) -> None:
    """Write until nothing more fits."""
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


@pytest.mark.timed
@pytest.mark.skipif(os.getuid() != 0, reason="only root may mount")
def test_10_the_disk_is_full(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "recollect-test", str(disk)]
    if subprocess.run(words, capture_output=True).returncode:
        pytest.skip("may not mount a file system here")
    try:
        data_dir = disk / "data"
        run(data_dir)
        fill(disk / "ballast")
        assert run(data_dir) < LIMIT
        assert len(list((data_dir / "spool").glob("*.record"))) == 1
        (disk / "ballast").unlink()
        assert run(data_dir) < LIMIT
        assert [record.body for record in records(data_dir)] == [BODY, BODY]
    finally:
        subprocess.run(["umount", str(disk)], check=True, capture_output=True)
