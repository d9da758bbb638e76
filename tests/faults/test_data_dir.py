"""T14: the data directory is private, whatever the umask; one that is not ours alone is not used."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect.errors import StoreUnavailable
from recollect.store.sqlite.store import FILE_NAME, SqliteStore
from tests.contract.samples import ANN, memory, talk
from tests.faults.children import Say, start

needs_root = pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root may change owners")
NOBODY = 65534


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@contextmanager
def umask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


def refused(data_dir: Path) -> str:
    with pytest.raises(StoreUnavailable) as caught:
        SqliteStore(data_dir)
    return f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("value", [0o000, 0o002, 0o022, 0o077])
def test_everything_is_private_whatever_the_umask(data_dir: Path, tmp_path: Path, value: int) -> None:
    """T14: directory 0700, every file 0600, while it is open and after."""
    with umask(value):
        store = SqliteStore(data_dir)
        store.sessions.append(ANN, talk("chat:1", "walrus"))
        store.memories.add(ANN, memory("walrus"))
        assert {path.name for path in data_dir.iterdir()} >= {FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm"}
        open_modes = {path.name: mode(path) for path in data_dir.iterdir()}
        store.backup(tmp_path / "copy.db")
        store.close()
    assert mode(data_dir) == 0o700
    assert set(open_modes.values()) == {0o600}, open_modes
    assert {mode(path) for path in data_dir.iterdir()} == {0o600}
    assert mode(tmp_path / "copy.db") == 0o600


def test_folders_made_on_the_way_are_private(tmp_path: Path) -> None:
    """T14: who can write to a folder above can put another data directory in its place."""
    deep = tmp_path / "a" / "b" / "data"
    with umask(0):
        SqliteStore(deep).close()
    assert [mode(path) & 0o022 for path in (deep, deep.parent, deep.parent.parent)] == [0, 0, 0]


@pytest.mark.parametrize("given", [0o755, 0o750, 0o711, 0o705])
def test_a_directory_others_may_read_is_made_private(data_dir: Path, given: int) -> None:
    """T14."""
    data_dir.mkdir()
    data_dir.chmod(given)
    SqliteStore(data_dir).close()
    assert mode(data_dir) == 0o700


def test_a_database_others_may_read_is_made_private(data_dir: Path) -> None:
    """T14."""
    SqliteStore(data_dir).close()
    (data_dir / FILE_NAME).chmod(0o644)
    SqliteStore(data_dir).close()
    assert mode(data_dir / FILE_NAME) == 0o600


@pytest.mark.parametrize("given", [0o770, 0o702, 0o777, 0o1777, 0o720])
def test_a_directory_others_may_write_to_is_refused(data_dir: Path, given: int) -> None:
    """T14."""
    data_dir.mkdir()
    data_dir.chmod(given)
    assert "chmod 700" in refused(data_dir)
    assert list(data_dir.iterdir()) == []
    assert mode(data_dir) == given


def test_a_directory_that_is_a_link_is_refused(data_dir: Path, tmp_path: Path) -> None:
    """T14."""
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    data_dir.symlink_to(real)
    assert "link" in refused(data_dir)
    assert list(real.iterdir()) == []


def test_a_link_to_nowhere_is_refused(data_dir: Path, tmp_path: Path) -> None:
    """T14."""
    data_dir.symlink_to(tmp_path / "nowhere")
    refused(data_dir)
    assert not (tmp_path / "nowhere").exists()


def test_a_file_in_place_of_the_directory_is_refused(data_dir: Path) -> None:
    """T14."""
    data_dir.write_text("precious")
    assert "not a directory" in refused(data_dir)
    assert data_dir.read_text() == "precious"
    refused(data_dir / "below")


@needs_root
def test_a_directory_of_somebody_else_is_refused(data_dir: Path) -> None:
    """T14."""
    data_dir.mkdir(mode=0o700)
    os.chown(data_dir, NOBODY, NOBODY)
    assert "another user" in refused(data_dir)
    assert list(data_dir.iterdir()) == []


PLANTED: dict[str, Callable[[Path, Path], object]] = {
    "link": lambda place, victim: place.symlink_to(victim),
    "link to nowhere": lambda place, victim: place.symlink_to(victim.with_name("nowhere")),
    "hard link": lambda place, victim: place.hardlink_to(victim),
    "directory": lambda place, victim: place.mkdir(),
    "pipe": lambda place, victim: os.mkfifo(place),
}


@pytest.mark.parametrize("planted", sorted(PLANTED))
def test_a_database_file_that_is_not_a_plain_file_is_refused(data_dir: Path, tmp_path: Path, planted: str) -> None:
    """T14: nothing is written through it."""
    victim = tmp_path / "victim"
    victim.write_text("")
    data_dir.mkdir(mode=0o700)
    PLANTED[planted](data_dir / FILE_NAME, victim)
    refused(data_dir)
    assert victim.read_bytes() == b""
    assert not victim.with_name("nowhere").exists()


@pytest.mark.parametrize("planted", ["link", "link to nowhere", "directory"])
def test_a_lock_file_that_is_not_a_plain_file_is_refused(data_dir: Path, tmp_path: Path, planted: str) -> None:
    """T14."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    SqliteStore(data_dir).close()
    (data_dir / "open.lock").unlink()
    PLANTED[planted](data_dir / "open.lock", victim)
    refused(data_dir)
    assert victim.read_text() == "precious"
    assert not victim.with_name("nowhere").exists()


@pytest.mark.parametrize("planted", ["link", "hard link"])
@pytest.mark.parametrize("name", ["-wal", "-shm", "-journal"])
def test_a_planted_side_file_is_not_written_through(data_dir: Path, tmp_path: Path, name: str, planted: str) -> None:
    """T14: either refused, or used without touching what it points to."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    SqliteStore(data_dir).close()
    PLANTED[planted](data_dir / f"{FILE_NAME}{name}", victim)
    try:
        store = SqliteStore(data_dir)
    except StoreUnavailable:
        pass
    else:
        store.memories.add(ANN, memory("walrus"))
        store.close()
    if planted == "link":
        assert victim.read_text() == "precious"


def as_nobody(work: Callable[[Path], None], prepare: Callable[[Path], None]) -> None:
    """Run `work(folder)` as a user without rights, in a folder that `prepare` made as root."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        prepare(folder)

        def child(say: Say) -> None:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            work(folder)

        assert start(child).wait() == (0, [])


def own(path: Path) -> None:
    os.chown(path, NOBODY, NOBODY)


@needs_root
def test_a_folder_that_may_not_be_written_is_refused() -> None:
    """T14: the directory cannot be made."""
    as_nobody(lambda folder: refused(folder / "data") and None, lambda folder: None)


@needs_root
def test_a_read_only_data_directory_is_refused() -> None:
    """T14: new store."""

    def prepare(folder: Path) -> None:
        (folder / "data").mkdir()
        own(folder / "data")
        (folder / "data").chmod(0o500)

    as_nobody(lambda folder: refused(folder / "data") and None, prepare)


@needs_root
@pytest.mark.parametrize("lock", [True, False], ids=["with lock file", "without lock file"])
def test_a_read_only_directory_with_a_store_is_refused_or_only_read(lock: bool) -> None:
    """T14: existing store; no foreign exception, nothing changed."""

    def prepare(folder: Path) -> None:
        store = SqliteStore(folder / "data")
        store.memories.add(ANN, memory("walrus"))
        store.close()
        if not lock:
            (folder / "data" / "open.lock").unlink()
        for path in ((folder / "data"), *(folder / "data").iterdir()):
            own(path)
        for path in (folder / "data").iterdir():
            path.chmod(0o400)
        (folder / "data").chmod(0o500)

    as_nobody(lambda folder: refused(folder / "data") and None, prepare)


@needs_root
def test_a_database_of_somebody_else_is_refused() -> None:
    """T14: our directory, their file."""

    def prepare(folder: Path) -> None:
        SqliteStore(folder / "data").close()
        own(folder / "data")

    as_nobody(lambda folder: refused(folder / "data") and None, prepare)
