"""How a hook and the warm process speak: one request, one answer, over a Unix socket in the data directory.

A message is MAGIC, the size of the rest, and fields: each the size of its name, its name, the size of its value, its
value. A request has `agent`, `session`, `cwd`, `prompt` and `said` (the names of what this session was told before); an
answer has `state` and, when something is to be shown, `text` and `told` (the names of what is in it). The hook loads
this, so it needs nothing but `_socket`.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Mapping

MAGIC = b"recollect warm1\n"
SOCKET, LOCK = "warm.sock", "warm.lock"
MAX_BYTES = 64 * 1024
BEGIN = len(MAGIC) + 4
SHOW, NOTHING, PASS = b"show", b"nothing", b"pass"  # states of an answer; `pass`: look into the prepared index
_MAX_FIELDS = 16
_MAX_PATH = 100  # bytes of a socket's path that every system takes
_NAME = 8
_FULL_SECONDS = 0.002  # between two looks whether there is room at the door again


class BadMessage(ValueError):
    """Not a message, or one that is too large."""


def pack(fields: Mapping[str, bytes]) -> bytes:
    """A message."""
    parts = [part for name, value in fields.items() for part in (name.encode(), value)]
    content = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    if len(content) > MAX_BYTES:
        raise BadMessage("too large")
    return MAGIC + len(content).to_bytes(4, "big") + content


def missing(begun: bytes) -> int:
    """How many bytes are still to come at least; BadMessage as soon as it cannot become a message."""
    if not MAGIC.startswith(begun[: len(MAGIC)]):
        raise BadMessage("not a message")
    if len(begun) < BEGIN:
        return BEGIN - len(begun)
    size = int.from_bytes(begun[len(MAGIC) : BEGIN], "big")
    if size > MAX_BYTES or len(begun) > BEGIN + size:
        raise BadMessage("too large")
    return BEGIN + size - len(begun)


def unpack(message: bytes) -> dict[str, bytes]:
    """The fields of a whole message."""
    if missing(message):
        raise BadMessage("torn")
    parts: list[bytes] = []
    at = BEGIN
    while at < len(message):
        size = int.from_bytes(message[at : at + 4], "big")
        if at + 4 + size > len(message) or len(parts) >= 2 * _MAX_FIELDS:
            raise BadMessage("torn")
        parts.append(message[at + 4 : at + 4 + size])
        at += 4 + size
    if len(parts) % 2:
        raise BadMessage("torn")
    try:
        return {name.decode("ascii"): value for name, value in zip(parts[::2], parts[1::2], strict=True)}
    except UnicodeDecodeError:
        raise BadMessage("not a message") from None


def names(packed: bytes) -> list[int]:
    """The names of entries in a field; what is left over at its end is dropped."""
    return [int.from_bytes(packed[at : at + _NAME], "big") for at in range(0, len(packed) - _NAME + 1, _NAME)]


def packed_names(given: list[int]) -> bytes:
    """Names of entries as a field."""
    return b"".join(name.to_bytes(_NAME, "big") for name in given)


def address(data_dir: str, folder: int) -> str | None:
    """The path of the socket; by way of the open folder when it is too long for one, None where that cannot be."""
    path = os.path.join(data_dir, SOCKET)  # noqa: PTH118
    if len(os.fsencode(path)) <= _MAX_PATH:
        return path
    return f"/proc/self/fd/{folder}/{SOCKET}" if sys.platform == "linux" else None


def ask(where: str, request: bytes, until: float) -> dict[str, bytes]:
    """The answer of the warm process. OSError or BadMessage when there is none by then (`time.monotonic`)."""
    return answer(begin(where, request, until), until)


def begin(where: str, request: bytes, until: float) -> socket:
    """Send a request, without waiting for the answer."""
    import _socket

    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        while True:
            line.settimeout(_left(until))
            try:
                line.connect(where)
                break
            except BlockingIOError:  # the queue at the door is full, and a socket with a timeout does not wait there
                time.sleep(min(_FULL_SECONDS, _left(until)))
        line.sendall(request)
    except OSError:
        line.close()
        raise
    return line


def answer(line: socket, until: float) -> dict[str, bytes]:
    """Wait for the answer to what was sent, and hang up."""
    try:
        got = b""
        while wanted := missing(got):
            line.settimeout(_left(until))
            more = line.recv(wanted)
            if not more:
                raise BadMessage("torn")
            got += more
        return unpack(got)
    finally:
        line.close()


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
