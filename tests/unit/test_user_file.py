"""Changing a file of the user's: whole or not at all, with its mode, never over somebody else's change."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.errors import InvalidInput
from recollect.inject import userfile
from recollect.inject.block import removed, spliced
from recollect.inject.userfile import change, content_of

BODY = "<recollect-memory>\n> {}\n</recollect-memory>\n"


def append(more: bytes) -> Callable[[bytes], bytes]:
    return lambda content: content + more


def left_beside(path: Path) -> list[str]:
    return sorted(one.name for one in path.parent.iterdir() if one.name != path.name)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "repo" / "CLAUDE.md"
    path.parent.mkdir()
    path.write_bytes(b"mine\n")
    return path


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o664, 0o755])
def test_a_file_keeps_its_mode(file: Path, mode: int) -> None:
    file.chmod(mode)
    assert change(file, append(b"more\n"))
    assert file.read_bytes() == b"mine\nmore\n"
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert left_beside(file) == []


def test_an_edit_that_changes_nothing_writes_nothing(file: Path) -> None:
    before = file.stat()
    assert not change(file, lambda content: content)
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)], ids=oct)
def test_a_new_file_for_others_too_is_as_the_umask_says(tmp_path: Path, umask: int, mode: int) -> None:
    path = tmp_path / "AGENTS.md"
    before = os.umask(umask)
    try:
        assert change(path, append(b"x"), shared=True)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    path.chmod(0o640)
    assert change(path, append(b"y"), shared=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640, "an old one keeps its own"


def test_a_file_is_made_private_and_only_when_there_is_something_to_say(tmp_path: Path) -> None:
    path = tmp_path / "AGENTS.md"
    assert not change(path, lambda content: content)
    assert not path.exists()
    assert change(path, append(b"x"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert change(path, lambda content: b"")
    assert path.read_bytes() == b""
    assert not change(path, lambda content: b"", drop_empty=True)
    assert change(path, append(b"y"))
    assert change(path, lambda content: b"", drop_empty=True)
    assert not path.exists()


def test_a_read_only_file_is_refused_with_what_to_do(file: Path) -> None:
    file.chmod(0o444)
    with pytest.raises(InvalidInput, match="is read-only") as refused:
        change(file, append(b"x"))
    assert refused.value.hint == f"chmod u+w {file}"
    assert file.read_bytes() == b"mine\n"
    assert not change(file, lambda content: content)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_is_refused(file: Path) -> None:
    file.parent.chmod(0o555)
    try:
        with pytest.raises(InvalidInput, match="cannot be written"):
            change(file, append(b"x"))
    finally:
        file.parent.chmod(0o755)


def test_a_link_is_followed_within_its_directory(file: Path) -> None:
    link = file.parent / "AGENTS.md"
    link.symlink_to("CLAUDE.md")
    assert change(link, append(b"x"))
    assert link.is_symlink()
    assert file.read_bytes() == content_of(link) == b"mine\nx"


def test_a_link_is_followed_into_the_home_directory(tmp_path: Path, own_home: Path) -> None:
    (own_home / "dotfiles").mkdir()
    real = own_home / "dotfiles" / "CLAUDE.md"
    real.write_bytes(b"mine")
    link = tmp_path / "CLAUDE.md"
    link.symlink_to(real)
    assert change(link, append(b"x"))
    assert real.read_bytes() == b"minex"


def test_a_link_to_another_kind_of_file_is_refused(tmp_path: Path, own_home: Path) -> None:
    """A repository can bring a link along, and what a shell runs is no place for remembered text."""
    (own_home / ".profile").write_bytes(b"mine\n")
    link = tmp_path / "CLAUDE.md"
    link.symlink_to(own_home / ".profile")
    with pytest.raises(InvalidInput, match="is a link to"):
        change(link, append(b"x"))
    assert (own_home / ".profile").read_bytes() == b"mine\n"


def test_a_link_that_leads_out_is_refused(file: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_bytes(b"theirs")
    link = file.parent / "AGENTS.md"
    link.symlink_to(outside)
    with pytest.raises(InvalidInput, match="is a link to"):
        change(link, append(b"x"))
    assert outside.read_bytes() == b"theirs"
    link.unlink()
    link.symlink_to("nowhere.md")
    with pytest.raises(InvalidInput, match="is a link to"):
        change(link, append(b"x"))
    assert not (file.parent / "nowhere.md").exists()


def test_what_is_no_file_is_refused_and_nothing_hangs(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.md")
    (tmp_path / "folder.md").mkdir()
    for name in ("fifo.md", "folder.md"):
        with pytest.raises(InvalidInput, match="is not a plain file"):
            change(tmp_path / name, append(b"x"))
    with pytest.raises(InvalidInput, match="there is no directory"):
        change(tmp_path / "missing" / "x.md", append(b"x"))


def test_a_huge_file_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(userfile, "MAX_BYTES", 10)
    change(file, append(b"123456"))
    with pytest.raises(InvalidInput, match="the limit is 10"):
        change(file, append(b"x"))


def test_a_change_by_an_editor_meanwhile_is_not_lost(file: Path) -> None:
    """The edit is made again on top of it."""
    tries: list[bytes] = []

    def edit(content: bytes) -> bytes:
        tries.append(content)
        if len(tries) == 1:  # somebody saves the file while we think
            aside = file.with_name("theirs")
            aside.write_bytes(b"mine\nsaved by an editor\n")
            aside.replace(file)
        return content + b"ours\n"

    assert change(file, edit)
    assert file.read_bytes() == b"mine\nsaved by an editor\nours\n"
    assert len(tries) == 2


def test_a_change_in_place_meanwhile_is_not_lost(file: Path) -> None:
    tries: list[bytes] = []

    def edit(content: bytes) -> bytes:
        tries.append(content)
        if len(tries) == 1:
            with file.open("ab") as same:
                same.write(b"typed\n")
        return content + b"ours\n"

    assert change(file, edit)
    assert file.read_bytes() == b"mine\ntyped\nours\n"


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "AGENTS.md"

    def edit(content: bytes) -> bytes:
        if not content:
            path.write_bytes(b"theirs\n")
        return content + b"ours\n"

    assert change(path, edit)
    assert path.read_bytes() == b"theirs\nours\n"


def test_many_writers_at_once_lose_nothing(file: Path) -> None:
    """Each adds a line of its own; all are there in the end, once."""
    writers, rounds = 4, 12
    failed: list[Exception] = []

    def write(number: int) -> None:
        try:
            for turn in range(rounds):
                change(file, append(f"{number}:{turn}\n".encode()))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    lines = file.read_text().splitlines()
    assert sorted(lines[1:]) == sorted(f"{number}:{turn}" for number in range(writers) for turn in range(rounds))
    assert left_beside(file) == []


def test_blocks_put_in_by_many_at_once_are_one_block(file: Path) -> None:
    def write(number: int) -> None:
        for _ in range(5):
            change(file, lambda content: spliced(content, BODY.format(number)))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    content = file.read_bytes()
    assert content.count(b"recollect:begin") == content.count(b"<recollect-memory>") == 1
    change(file, removed)
    assert file.read_bytes() == b"mine\n"


def test_what_a_killed_writer_left_is_taken_away(file: Path) -> None:
    old, young = (file.with_name(f".CLAUDE.md.recollect-{name}") for name in ("1-old", "2-young"))
    old.write_bytes(b"secret of a killed process")
    young.write_bytes(b"being written")
    os.utime(old, (time.time() - 3600,) * 2)
    change(file, append(b"x"))
    assert left_beside(file) == [young.name]


def test_a_disk_that_is_full_leaves_the_file_as_it_was(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int, data: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        change(file, append(b"x"))
    monkeypatch.undo()
    assert file.read_bytes() == b"mine\n"
    assert left_beside(file) == []
