"""Small files of ours: private, whole or not there, written only when they change; and the places we know."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from recollect.inject.memoryfile import file_of, named_file, slug_of
from recollect.pipeline import places
from recollect.pipeline.folder import Folder
from recollect.pipeline.places import FILE, Marked, Places


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_everything_is_private_whatever_the_umask(data_dir: Path) -> None:
    before = os.umask(0)
    try:
        with Folder(data_dir, "a", "b") as folder:
            folder.put("x", b"1")
            folder.put_all({"y", "z"}, b"2")
    finally:
        os.umask(before)
    assert {mode(data_dir / name) for name in (".", "a", "a/b")} == {0o700}
    assert {mode(data_dir / "a" / "b" / name) for name in "xyz"} == {0o600}


def test_what_is_the_same_is_not_written(data_dir: Path) -> None:
    with Folder(data_dir) as folder:
        assert folder.put("x", b"1")
        before = (data_dir / "x").stat()
        assert not folder.put("x", b"1")
        assert (data_dir / "x").stat().st_ino == before.st_ino
        assert folder.put("x", b"2")
        assert folder.read("x") == b"2"
        assert folder.names() == {"x"}


def test_several_names_of_one_content_are_one_file(data_dir: Path) -> None:
    with Folder(data_dir) as folder:
        assert folder.put_all({"a", "b"}, b"1")
        assert not folder.put_all({"a", "b"}, b"1")
        assert (data_dir / "a").stat().st_ino == (data_dir / "b").stat().st_ino
        assert folder.put_all({"a", "b", "c"}, b"1")
        assert folder.put_all({"a"}, b"2")
        assert [folder.read(name) for name in "abc"] == [b"2", b"1", b"1"]
        assert folder.names() == {"a", "b", "c"}


def test_what_is_not_wanted_goes(data_dir: Path) -> None:
    with Folder(data_dir, "x") as folder:
        for name in ("a", "b", ".aside-1-left"):
            folder.put(name, b"1")
        (data_dir / "x" / "folder").mkdir()
        assert folder.keep_only({"a"}) == 2
        assert folder.names() == {"a"}
        assert not folder.remove("b")


def test_links_and_what_others_may_read_are_no_files_of_ours(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_bytes(b"theirs")
    with Folder(data_dir) as folder:
        (data_dir / "link").symlink_to(tmp_path / "theirs")
        os.mkfifo(data_dir / "fifo")
        folder.put("open", b"x")
        (data_dir / "open").chmod(0o644)
        assert [folder.read(name) for name in ("link", "fifo", "open", "none")] == [None] * 4
        assert folder.put("link", b"ours")
    assert (tmp_path / "theirs").read_bytes() == b"theirs"
    assert not (data_dir / "link").is_symlink()


def test_a_folder_that_is_a_link_or_not_ours_alone_is_not_used(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    with Folder(data_dir):
        pass
    (data_dir / "x").symlink_to(tmp_path / "theirs")
    with pytest.raises(OSError, match=r"directory|link"):
        Folder(data_dir, "x")
    (data_dir / "y").mkdir()
    (data_dir / "y").chmod(0o777)
    with pytest.raises(OSError, match="not ours alone"):
        Folder(data_dir, "y")


def test_a_full_disk_leaves_the_old_file_and_nothing_aside(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int, data: object) -> int:
        raise OSError(28, "No space left on device")

    with Folder(data_dir) as folder:
        folder.put("x", b"1")
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            folder.put("x", b"2")
        monkeypatch.undo()
        assert folder.read("x") == b"1"
        assert folder.names() == {"x"}


# -- places ----------------------------------------------------------------------------------------------------------


def test_places_come_back_as_they_were_saved(data_dir: Path) -> None:
    known = Places(
        {"/a/CLAUDE.md": Marked("app", True), "/b/AGENTS.md": Marked(None)},
        {"/m.md": Marked("app", True)},
        {"/a/\udcff": "app", "/c": None},
    )
    places.save(data_dir, known)
    assert places.load(data_dir) == known
    assert mode(data_dir / FILE) == 0o600
    places.save(data_dir, Places())
    assert not (data_dir / FILE).exists()
    assert places.load(data_dir) == Places()


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b'{"files": 3}', b'{"files": {"/a": {}}}', b"\xff"])
def test_places_that_cannot_be_read_are_none(data_dir: Path, broken: bytes) -> None:
    with Folder(data_dir) as folder:
        folder.put(FILE, broken)
    assert places.load(data_dir) == Places()


def test_places_of_a_forgotten_project_are_forgotten() -> None:
    def known() -> Places:
        return Places({"/a": Marked("app"), "/b": Marked("lib")}, {"/c": Marked("app")}, {"/d": "app", "/e": "lib"})

    one, everything = known(), known()
    assert one.forget("app") == {"/a": Marked("app"), "/c": Marked("app")}
    assert one == Places({"/b": Marked("lib")}, {}, {"/e": "lib"})
    assert everything.forget(None).keys() == {"/a", "/b", "/c"}
    assert everything == Places()


# -- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("project", "word"),
    [
        ("github.com/ann/My.App", "my-app"),
        ("/home/ann/app/", "app"),
        ("日本", "project"),
        ("../../etc", "etc"),
        ("a\x00/", "a"),
    ],
)
def test_a_project_has_a_name_that_is_no_path(project: str, word: str) -> None:
    assert slug_of(project).rpartition("-")[0] == word
    assert len(slug_of(project).rpartition("-")[2]) == 8
    assert file_of(project) == f"{slug_of(project)}.md"
    assert slug_of(project) != slug_of(project + "x")


def test_memory_files_of_the_settings_are_the_users_or_one_a_project() -> None:
    assert file_of(None) == "user.md"
    assert named_file("/m/coda_memory.md", None) == Path("/m/coda_memory.md")
    assert named_file("/m/coda_memory.md", "app") is None
    assert named_file("/m/{project}.md", None) is None
    assert named_file("/m/{project}.md", "x/app") == Path(f"/m/{slug_of('x/app')}.md")
