"""T13, T14: files of others are opened only beneath their root, through no link, and only if they are plain files."""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from recollect.capture.beneath import open_beneath
from recollect.errors import BadTranscript


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "a" / "b").mkdir(parents=True)
    (tmp_path / "root" / "a" / "b" / "s.jsonl").write_bytes(b"inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "s.jsonl").write_bytes(b"outside")
    return tmp_path / "root"


def handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_plain_file_is_read(root: Path) -> None:
    with open_beneath(root, root / "a" / "b" / "s.jsonl") as file:
        assert file.read() == b"inside"


def test_the_root_itself_may_be_a_link(root: Path, tmp_path: Path) -> None:
    """People keep their dot files elsewhere."""
    (tmp_path / "linked").symlink_to(root)
    with open_beneath(tmp_path / "linked", tmp_path / "linked" / "a" / "b" / "s.jsonl") as file:
        assert file.read() == b"inside"


def refused(root: Path, kind: str) -> Path:
    """A path of this kind, made where needed."""
    place, outside = root / "a" / "x.jsonl", root.parent / "outside"
    if kind == "link out":
        place.symlink_to(outside / "s.jsonl")
    elif kind == "link in":
        place.symlink_to(root / "a" / "b" / "s.jsonl")
    elif kind == "dangling":
        place.symlink_to(root / "nowhere")
    elif kind == "loop":
        place.symlink_to(place)
    elif kind == "linked folder":
        (root / "a" / "way").symlink_to(outside)
        return root / "a" / "way" / "s.jsonl"
    elif kind == "folder":
        place.mkdir()
    elif kind == "FIFO":
        os.mkfifo(place)
    elif kind == "file as folder":
        return root / "a" / "b" / "s.jsonl" / "more"
    elif kind == "device":
        if os.getuid() != 0:
            pytest.skip("only root can make a device")
        os.mknod(place, 0o020600, os.makedev(1, 5))
    elif kind == "missing":
        return root / "a" / "nothing"
    elif kind == "long name":
        return root / ("x" * 300)
    else:
        return {
            "up": root / ".." / "outside" / "s.jsonl",
            "up inside": root / "a" / ".." / ".." / "outside" / "s.jsonl",
            "outside": outside / "s.jsonl",
            "beside": Path(f"{root}-2") / "s.jsonl",
            "root": root,
            "above": root.parent,
            "slash": Path("/"),
            "relative": Path("a/b/s.jsonl"),
            "passwd": Path("/etc/passwd"),
            "environment": Path("/proc/self/environ"),
            "NUL": root / "a" / "x\0y",
        }[kind]
    return place


KINDS = ("link out", "link in", "dangling", "loop", "linked folder", "folder", "FIFO", "file as folder", "device",
         "missing", "long name", "up", "up inside", "outside", "beside", "root", "above", "slash", "relative",
         "passwd", "environment", "NUL")  # fmt: skip


@pytest.mark.timed
@pytest.mark.parametrize("kind", KINDS)
def test_anything_else_is_refused_at_once_and_leaves_no_handle(root: Path, kind: str) -> None:
    path = refused(root, kind)
    before, began = handles(), time.monotonic()
    for _ in range(20):
        with pytest.raises(BadTranscript):
            open_beneath(root, path)
    assert time.monotonic() - began < 0.5
    assert handles() == before


def test_a_socket_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)  # its path may be no longer than 107 bytes
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("x.jsonl")
        with pytest.raises(BadTranscript):
            open_beneath(root, root / "x.jsonl")


def test_swapping_a_folder_for_a_link_never_leads_out(root: Path) -> None:
    """T14: the folder on the way changes into a link and back all the time; what is read is inside or refused."""
    folder, aside, link = root / "a", root / "aside", root / "link"
    link.symlink_to(root.parent / "outside")
    (root.parent / "outside" / "b").mkdir()
    (root.parent / "outside" / "b" / "s.jsonl").write_bytes(b"outside")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            folder.rename(aside)
            link.rename(folder)
            folder.rename(link)
            aside.rename(folder)

    thread = threading.Thread(target=swap)
    thread.start()
    seen: set[bytes] = set()
    try:
        for _ in range(2_000):
            with suppress(BadTranscript), open_beneath(root, root / "a" / "b" / "s.jsonl") as file:
                seen.add(file.read())
    finally:
        stop.set()
        thread.join()
    assert seen <= {b"inside"}
    with open_beneath(root, root / "a" / "b" / "s.jsonl") as file:
        assert file.read() == b"inside"
