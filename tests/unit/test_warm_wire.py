"""What a hook and the warm process write each other comes back as it was, or is refused; nothing else happens."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.warmwire import MAGIC, MAX_BYTES, BadMessage, address, ask, missing, names, pack, packed_names, unpack

fields = st.dictionaries(st.text("abcxyz", max_size=8), st.binary(max_size=50), max_size=8)


@given(fields)
def test_fields_come_back(given: dict[str, bytes]) -> None:
    message = pack(given)
    assert unpack(message) == given
    for cut in range(len(message)):
        assert 0 < missing(message[:cut]) <= len(message) - cut
    assert missing(message) == 0


@given(st.lists(st.integers(0, 2**64 - 1), max_size=9), st.binary(max_size=7))
def test_names_come_back(given: list[int], rest: bytes) -> None:
    assert names(packed_names(given) + rest) == given


@given(st.binary(max_size=100))
def test_other_bytes_are_refused_or_are_fields(data: bytes) -> None:
    for message in (data, MAGIC + data, MAGIC + len(data).to_bytes(4, "big") + data):
        with suppress(BadMessage):
            assert sum(map(len, unpack(message).values())) <= len(data)


@pytest.mark.parametrize(
    "begun",
    [b"GET / HTTP/1.1\r\n", b"\x00", MAGIC + b"\xff\xff\xff\xff", MAGIC + (MAX_BYTES + 1).to_bytes(4, "big")],
    ids=["http", "nul", "4 GB", "too large"],
)
def test_what_cannot_become_a_message_is_refused_at_once(begun: bytes) -> None:
    with pytest.raises(BadMessage):
        missing(begun)


def test_too_much_or_too_many_are_refused() -> None:
    with pytest.raises(BadMessage):
        pack({"prompt": b"x" * MAX_BYTES})
    with pytest.raises(BadMessage):
        unpack(pack({f"f{n}": b"" for n in range(17)}))


def test_a_path_too_long_for_a_socket_goes_by_way_of_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    assert address("/data", 7) == "/data/warm.sock"
    assert address("/" + "d" * 200, 7) == "/proc/self/fd/7/warm.sock"
    monkeypatch.setattr("sys.platform", "darwin")
    assert address("/data", 7) == "/data/warm.sock"
    assert address("/" + "é" * 60, 7) is None


def serve(path: Path, *pieces: bytes, pause: float = 0.0) -> threading.Thread:
    """Let one client in, and say these."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def run() -> None:
        with listener, listener.accept()[0] as line:
            line.recv(1000)
            for piece in pieces:
                try:
                    line.sendall(piece)
                except OSError:
                    return
                time.sleep(pause)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


ANSWER = pack({"state": b"show", "text": b"x" * 1_000})


def test_an_answer_in_pieces_is_put_together(tmp_path: Path) -> None:
    thread = serve(tmp_path / "s", ANSWER[:5], ANSWER[5:30], ANSWER[30:], pause=0.01)
    assert ask(str(tmp_path / "s"), pack({}), time.monotonic() + 5)["text"] == b"x" * 1_000
    thread.join()


@pytest.mark.parametrize(
    "pieces",
    [(), (ANSWER[:-1],), (b"garbage" * 100,), (MAGIC + b"\xff" * 4,)],
    ids=["nothing", "torn", "garbage", "4 GB"],
)
def test_a_bad_answer_is_an_error(pieces: tuple[bytes, ...], tmp_path: Path) -> None:
    thread = serve(tmp_path / "s", *pieces)
    with pytest.raises((OSError, BadMessage)):
        ask(str(tmp_path / "s"), pack({}), time.monotonic() + 5)
    thread.join()


@pytest.mark.timed
def test_who_drips_is_not_waited_for_beyond_the_time(tmp_path: Path) -> None:
    thread = serve(tmp_path / "s", *(ANSWER[n : n + 1] for n in range(30)), pause=0.01)
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        ask(str(tmp_path / "s"), pack({}), began + 0.05)
    assert time.monotonic() - began < 0.2
    thread.join()


def test_nobody_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        ask(str(tmp_path / "s"), pack({}), time.monotonic() + 1)
    (tmp_path / "s").write_text("a file")
    with pytest.raises(OSError, match="refused"):
        ask(str(tmp_path / "s"), pack({}), time.monotonic() + 1)
