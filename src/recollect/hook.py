"""The hook an agent starts: what stands on stdin becomes one record in the spool; then, at most, one answer is printed.

Started by path as `python -I -S hook.py DATA_DIR AGENT`, so it imports hardly anything. It starts nothing, exits 0, and
leaves within 400 ms whatever stdin, the disk or the clock do. A record is one file: MAGIC, the sizes of header and body
(4 bytes each), header, body, and a MAC under this installation's key. Only when that is on the disk, and the event is
one whose answer the agent reads, `recollect.hookreply` is loaded to find one.
"""

# ruff: noqa: PTH103, PTH109, PTH117, SIM105
# That is: no pathlib, no contextlib, for they take longer to load than all of this takes to run.

import _thread
import os
import stat
import sys
import time

try:
    from _blake2 import blake2b  # a tenth of what hashlib takes to load
except ImportError:
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAGIC = b"recollect spool 1\n"
PREFIX = len(MAGIC) + 8
MAC_BYTES = 32
MAX_BODY = 4 * 2**20
SPOOL, SUFFIX, MISSED, KEY = "spool", ".record", "missed", "install.key"
AGENTS = ("claude", "codex", "grok", "gemini", "cursor", "opencode")
# What agents call the events that take an answer, so that for all others nothing more is loaded.
ANSWERED = (b"essionStart", b"UserPromptSubmit", b"BeforeAgent")
HINTS = ("GROK_SESSION_ID", "GROK_HOOK_EVENT", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID")
INNER = "RECOLLECT_INNER"  # set for the model calls we make ourselves, which are never captured

# Seconds after the start by which stdin is no longer waited for, no answer is begun, the record is given up, and the
# process is gone; an answer that is being written then has until the last of them.
_READ, _ANSWER, _WRITE, _LEAVE, _PRINT = 0.25, 0.3, 0.36, 0.4, 0.6
_HINT_BYTES = 4096
_CHUNK = 65536


def capture(
    data_dir: str,
    agent: str,
    body: bytes,
    env: "Mapping[str, str]",
    *,
    truncated: bool = False,
    written: "list[str] | None" = None,
) -> str:
    """Put one record into the spool and on the disk; returns the file's name, or raises OSError or ValueError.

    `written` gets the name as soon as the bytes are in the file, which is before a slow disk has them for good.
    """
    if agent not in AGENTS or not os.path.isabs(data_dir):
        raise ValueError("an agent we know and an absolute path are needed")
    data = open_private(data_dir)
    try:
        spool = open_private(SPOOL, data)
        try:
            return _put(spool, frame(own_key(data), agent, body, env, truncated=truncated), written)
        finally:
            os.close(spool)
    finally:
        os.close(data)


def frame(key: bytes, agent: str, body: bytes, env: "Mapping[str, str]", *, truncated: bool = False) -> bytes:
    """The bytes of a record of now; a body that is too long is cut and marked so."""
    given = [("agent", agent), ("at", str(time.time_ns())), ("truncated", str(int(truncated or len(body) > MAX_BODY)))]
    given += [(name, env[name]) for name in HINTS if name in env]
    try:
        given.append(("cwd", os.getcwd()))
    except OSError:
        pass  # the directory was removed
    fields = [os.fsencode(f"{name}={value}") for name, value in given]
    header = b"".join(len(one).to_bytes(4, "big") + one for one in fields if len(one) <= _HINT_BYTES)
    body = body[:MAX_BODY]
    content = b"".join((MAGIC, len(header).to_bytes(4, "big"), len(body).to_bytes(4, "big"), header, body))
    return content + mac(key, content)


def mac(key: bytes, content: bytes) -> bytes:
    """What only this installation can put behind a record."""
    return blake2b(content, digest_size=MAC_BYTES, key=key, person=b"spool").digest()


def open_private(path: str, parent: "int | None" = None, make: bool = True) -> int:
    """A handle on a directory of ours, made if missing; a link, or one that others own or may write to, is refused."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle = os.open(path, flags, dir_fd=parent)
    except FileNotFoundError:
        if not make:
            raise
        if parent is None:
            os.makedirs(path, 0o700, exist_ok=True)
        else:
            _make_folder(path, parent)
        handle = os.open(path, flags, dir_fd=parent)
    try:
        _check_private(handle, stat.S_IFDIR)
    except OSError:
        os.close(handle)
        raise
    return handle


def read_key(folder: int) -> bytes:
    """The key of this installation, from the open data directory."""
    handle = os.open(KEY, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        _check_private(handle, stat.S_IFREG)
        key = os.read(handle, MAC_BYTES + 1)
    finally:
        os.close(handle)
    if len(key) != MAC_BYTES:
        raise PermissionError("the key has the wrong length")
    return key


def count(folder: int, name: str) -> None:
    """One more of these: a byte at the end of a file."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        os.write(handle, b".")
    finally:
        os.close(handle)


def _make_folder(name: str, parent: int) -> None:
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
        os.fsync(parent)
    except FileExistsError:
        pass  # another hook was quicker


def _check_private(handle: int, kind: int) -> None:
    info = os.fstat(handle)
    if stat.S_IFMT(info.st_mode) != kind or info.st_uid != os.getuid() or info.st_mode & 0o022:
        raise PermissionError("not ours alone")
    if info.st_mode & 0o077:
        os.fchmod(handle, 0o700 if kind == stat.S_IFDIR else 0o600)


def own_key(folder: int) -> bytes:
    """The key of this installation, made if there is none yet."""
    try:
        return read_key(folder)
    except FileNotFoundError:
        pass
    # Written aside and linked into place: another hook sees all of it or nothing, and the first one wins.
    aside = f"{KEY}.{os.urandom(8).hex()}"
    handle = _write_new(folder, aside, os.urandom(MAC_BYTES))
    try:
        os.fsync(handle)
        os.link(aside, KEY, src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        pass
    finally:
        os.close(handle)
        os.unlink(aside, dir_fd=folder)
    os.fsync(folder)
    return read_key(folder)


def _put(folder: int, record: bytes, written: "list[str] | None") -> str:
    """Write the record into a file of its own and on to the disk."""
    written = [] if written is None else written
    for last in (False, True):
        name = f"{time.time_ns():020d}-{os.getpid()}-{os.urandom(8).hex()}{SUFFIX}"
        handle = _write_new(folder, name, record)
        written.append(name)
        try:
            os.fsync(handle)
            os.fsync(folder)
            break
        except OSError:
            # What a failed fsync left behind cannot be trusted, so once more in a new file; that one stays.
            if not last:
                os.unlink(name, dir_fd=folder)
                written.clear()
        finally:
            os.close(handle)
    return name


def _write_new(folder: int, name: str, content: bytes) -> int:
    """A handle on a new file with all of the content; one that does not fit is taken away again."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(handle, rest) :]
    except OSError:
        os.close(handle)
        os.unlink(name, dir_fd=folder)
        raise
    return handle


def _begin(work: "Callable[[], object]") -> "_thread.LockType":
    """Do this in a thread; the lock can be had when it is done. What it raises is nobody's business."""
    done = _thread.allocate_lock()
    done.acquire()

    def run() -> None:
        try:
            work()
        except BaseException:  # noqa: S110
            pass
        finally:
            done.release()

    _thread.start_new_thread(run, ())
    return done


def _count_missed(data_dir: str) -> None:
    count(open_private(SPOOL, open_private(data_dir)), MISSED)


def reply(data_dir: str, agent: str, body: bytes, env: "Mapping[str, str]", until: float) -> bytes:
    """What to print for a record that is safe: one JSON object, or nothing."""
    if not any(name in body for name in ANSWERED):
        return b""
    if __name__ == "__main__":
        # Without `site` there is no package to import from. This stands for it, and finds nothing but what lies here.
        package = sys.modules["recollect"] = type(sys)("recollect")
        package.__path__ = [os.path.dirname(os.path.abspath(__file__))]  # noqa: PTH100, PTH120
        sys.modules["recollect.hook"] = sys.modules[__name__]
    from recollect import hookreply

    return hookreply.reply(data_dir, agent, body, env, until)


def _serve(data_dir: str, agent: str, began: float) -> None:
    """Threads do what may hang, and the one that saved the record ends the process; here the clock is watched."""
    chunks: list[bytes] = []
    written: list[str] = []
    printing: list[bytes] = []
    taken, saved = _thread.allocate_lock(), _thread.allocate_lock()
    saved.acquire()

    def save(body: bytes, cut: bool) -> bool:
        if not taken.acquire(blocking=False):
            return False  # the other thread is at it
        try:
            capture(data_dir, agent, body, os.environ, truncated=cut, written=written)
            return True
        finally:
            saved.release()

    def work() -> None:
        over = _read(chunks)
        body = b"".join(chunks)
        if save(body, over) and not over:
            answer = reply(data_dir, agent, body, os.environ, began + _ANSWER)
            if answer and time.monotonic() < began + _ANSWER:
                printing.append(answer)
                _print(answer)
            os._exit(0)
        while over and os.read(0, _CHUNK):
            pass  # dropped, so that the agent's write does not fail

    def save_what_came() -> None:
        if save(b"".join(chunks), True):
            os._exit(0)

    def wait(lock: "_thread.LockType", until: float) -> bool:
        return lock.acquire(timeout=max(0.0, began + until - time.monotonic()))

    working = _begin(work)
    if not wait(saved, _READ):
        _begin(save_what_came)  # stdin is not closed
        wait(saved, _WRITE)
    done = working if written else _begin(lambda: _count_missed(data_dir))
    if not wait(done, _LEAVE) and printing:
        wait(done, _PRINT)


def _print(answer: bytes) -> None:
    rest = memoryview(answer)
    while rest:
        rest = rest[os.write(1, rest) :]


def _read(chunks: "list[bytes]") -> bool:
    """Take from stdin what fits; true when there is more."""
    room = MAX_BODY
    try:
        while chunk := os.read(0, _CHUNK):
            if not room:
                return True
            chunks.append(chunk[:room])
            room -= len(chunks[-1])
    except OSError:
        pass  # there is no stdin
    return False


def main() -> None:
    """Capture, and leave with 0 whatever happened."""
    began = time.monotonic()
    try:
        import _signal  # type: ignore[import-not-found]

        # A session often ends by these; they reach its hooks too, which need a moment to write down that it did.
        for number in (_signal.SIGINT, _signal.SIGHUP, _signal.SIGTERM):
            _signal.signal(number, _signal.SIG_IGN)
        if INNER not in os.environ:
            os.umask(0o077)
            _serve(sys.argv[1], sys.argv[2], began)
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
