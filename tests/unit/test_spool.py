"""The reading side of the spool: only whole records with the right MAC are read; the rest is put aside and counted."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect import hook
from recollect.capture.spool import GRACE_SECONDS, KEEP_REFUSED, MAX_RECORD, BadRecord, Spool
from recollect.errors import StoreUnavailable

BODY = b'{"session_id": "s-1"}'


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def spool(data_dir: Path) -> Spool:
    return Spool(data_dir)


@pytest.fixture
def path(data_dir: Path, spool: Spool) -> Path:
    """One true record."""
    return spool.folder / hook.capture(str(data_dir), "claude", BODY, {})


def age(path: Path, seconds: float) -> None:
    moment = time.time() - seconds
    os.utime(path, (moment, moment))


def refuse_waiting(spool: Spool) -> list[str]:
    """What a reader does with bad records; the reasons."""
    reasons = []
    for path in spool.waiting():
        with pytest.raises(BadRecord) as caught:
            spool.read(path)
        spool.refuse(path, str(caught.value))
        reasons.append(str(caught.value))
    return reasons


def test_a_record_comes_back_as_it_was_given(data_dir: Path, spool: Spool) -> None:
    env = {"GROK_SESSION_ID": "g=1\n", "CLAUDE_PROJECT_DIR": "/home/\udcffann", "PATH": "/bin"}
    hook.capture(str(data_dir), "grok", BODY, env, truncated=True)

    record = spool.read(spool.waiting()[0])

    assert (record.agent, record.body, record.truncated) == ("grok", BODY, True)
    assert record.hints == {"GROK_SESSION_ID": "g=1\n", "CLAUDE_PROJECT_DIR": "/home/\udcffann", "cwd": str(Path.cwd())}
    assert record.at.tzinfo is UTC
    assert abs(datetime.now(UTC) - record.at) < timedelta(minutes=1)


def test_an_empty_spool_has_nothing_to_read(spool: Spool) -> None:
    assert (spool.waiting(), spool.missed(), spool.refused()) == ([], 0, 0)


def test_a_body_that_is_too_long_is_cut_and_says_so(data_dir: Path, spool: Spool) -> None:
    hook.capture(str(data_dir), "claude", b"x" * (hook.MAX_BODY + 1), {"GROK_SESSION_ID": "g" * 10_000})
    record = spool.read(spool.waiting()[0])
    assert (len(record.body), record.truncated) == (hook.MAX_BODY, True)
    assert "GROK_SESSION_ID" not in record.hints
    hook.capture(str(data_dir), "claude", b"x" * hook.MAX_BODY, {})
    assert not spool.read(spool.waiting()[1]).truncated


def test_a_finished_record_is_gone(spool: Spool, path: Path) -> None:
    spool.finish(path)
    spool.finish(path)
    assert spool.waiting() == []
    assert not path.exists()


def test_a_torn_record_is_left_alone_while_young_and_refused_later(spool: Spool, path: Path) -> None:
    """P02: at every length; a whole one is never taken for torn."""
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert spool.waiting() == [], size
        with pytest.raises(BadRecord, match=r"^torn$"):
            spool.read(path)
    age(path, GRACE_SECONDS + 1)
    assert spool.waiting() == [path]
    path.write_bytes(whole)
    assert spool.waiting() == [path]
    assert spool.read(path).body == BODY


def test_a_torn_record_from_a_clock_that_was_ahead_is_not_young_for_ever(spool: Spool, path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])
    age(path, -86_400 * 365)
    assert refuse_waiting(spool) == ["torn"]


def test_any_changed_byte_is_noticed(spool: Spool, path: Path) -> None:
    """T35: magic, sizes, header, body or MAC; never a record, never another error."""
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(BadRecord):
            spool.read(path)


def test_forged_records_are_refused_and_counted(data_dir: Path, spool: Spool, path: Path) -> None:
    """T35: another key, a record with more behind it, two in one file, something else."""
    true = path.read_bytes()
    bad = {
        "forged": hook.frame(bytes(32), "claude", BODY, {}),
        "more than one record": true + true,
        "not a record": BODY,
    }
    path.unlink()
    for number, content in enumerate(bad.values()):
        (spool.folder / f"{number}.record").write_bytes(content)
        age(spool.folder / f"{number}.record", 60)
    assert refuse_waiting(spool) == list(bad)

    assert (spool.waiting(), spool.refused()) == ([], 3)
    aside = sorted(path.name for path in (spool.folder / "refused").iterdir())
    assert aside == ["0.record.forged", "1.record.more-than-one-record", "2.record.not-a-record"]
    assert {path.stat().st_mode & 0o777 for path in (spool.folder / "refused").iterdir()} == {0o600}


def test_a_record_of_another_installation_is_forged(data_dir: Path, tmp_path: Path, spool: Spool, path: Path) -> None:
    other = Spool(tmp_path / "other")
    hook.capture(str(other.data_dir), "claude", BODY, {})
    (other.folder / path.name).write_bytes(path.read_bytes())
    with pytest.raises(BadRecord, match="forged"):
        other.read(other.folder / path.name)


def test_without_a_key_nothing_is_believed(data_dir: Path, spool: Spool, path: Path) -> None:
    (data_dir / "install.key").unlink()
    with pytest.raises(BadRecord, match="no key"):
        spool.read(path)
    assert not (data_dir / "install.key").exists()


@pytest.mark.timed
def test_what_is_no_plain_file_is_refused_at_once(spool: Spool, path: Path, tmp_path: Path) -> None:
    """T13, T14: links, pipes, sockets, directories and huge files are neither followed, waited for nor read."""
    spool.finish(path)
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    (spool.folder / "1.record").symlink_to(secret)
    (spool.folder / "2.record").symlink_to("/nowhere")
    os.mkfifo(spool.folder / "3.record")
    (spool.folder / "4.record").mkdir()
    with (spool.folder / "5.record").open("wb") as file:
        file.truncate(MAX_RECORD + 1)
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(spool.folder, os.O_RDONLY)  # the full path may be too long for a socket
        try:
            listener.bind(f"/proc/self/fd/{here}/6.record")
        except OSError:
            (spool.folder / "6.record").symlink_to("/nowhere")
        finally:
            os.close(here)
    began = time.monotonic()

    assert refuse_waiting(spool) == ["not a plain file of ours"] * 4 + ["too large"] + ["not a plain file of ours"]

    assert time.monotonic() - began < 0.5
    assert spool.refused() == 6
    assert secret.read_text() == "s3cret"
    assert secret.stat().st_mode & 0o777 != 0o600


def test_other_files_in_the_spool_are_not_records(spool: Spool, path: Path) -> None:
    (spool.folder / "notes.txt").write_text("hello")
    hook._count_missed(str(spool.data_dir))
    spool.refuse(spool.folder / "never-there.record", "gone")
    assert spool.waiting() == [path]
    assert (spool.missed(), spool.refused()) == (1, 0)


def test_of_the_refused_the_newest_hundred_stay(data_dir: Path, spool: Spool) -> None:
    for number in range(KEEP_REFUSED + 5):
        path = spool.folder / f"{number:03}.record"
        spool.waiting()
        path.write_bytes(b"x")
        spool.refuse(path, "../odd: Reason\x00" + "y" * 300)
    left = sorted(path.name[:3] for path in (spool.folder / "refused").iterdir())
    assert left == [f"{number:03}" for number in range(5, KEEP_REFUSED + 5)]
    assert spool.refused() == KEEP_REFUSED + 5


def test_a_spool_that_is_not_ours_alone_is_not_used(data_dir: Path, spool: Spool, tmp_path: Path) -> None:
    """T14: neither by the hook nor by the reader."""
    data_dir.mkdir(mode=0o700)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (data_dir / "spool").symlink_to(elsewhere)
    with pytest.raises(OSError, match=r"."):
        hook.capture(str(data_dir), "claude", BODY, {})
    with pytest.raises(StoreUnavailable):
        spool.waiting()
    assert list(elsewhere.iterdir()) == []

    (data_dir / "spool").unlink()
    (data_dir / "spool").mkdir()
    (data_dir / "spool").chmod(0o777)
    with pytest.raises(PermissionError):
        hook.capture(str(data_dir), "claude", BODY, {})
    with pytest.raises(StoreUnavailable):
        spool.waiting()


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a file away")
def test_what_belongs_to_somebody_else_is_refused(data_dir: Path, spool: Spool, path: Path) -> None:
    """T14."""
    os.chown(path, 12345, 12345)
    assert refuse_waiting(spool) == ["not a plain file of ours"]
    os.chown(spool.folder, 12345, 12345)
    with pytest.raises(PermissionError):
        hook.capture(str(data_dir), "claude", BODY, {})


@pytest.mark.parametrize("kind", ["link", "pipe", "short", "long", "writable"])
def test_a_key_that_is_not_ours_alone_is_not_used(kind: str, data_dir: Path, spool: Spool, tmp_path: Path) -> None:
    data_dir.mkdir(mode=0o700)
    key = data_dir / "install.key"
    (tmp_path / "known").write_bytes(bytes(32))
    if kind == "link":
        key.symlink_to(tmp_path / "known")
    elif kind == "pipe":
        os.mkfifo(key, 0o600)
    else:
        key.write_bytes(bytes({"short": 31, "long": 33, "writable": 32}[kind]))
        key.chmod(0o666 if kind == "writable" else 0o600)
    with pytest.raises(OSError, match=r"."):
        hook.capture(str(data_dir), "claude", BODY, {})
    assert spool.waiting() == []


def test_rights_that_are_only_too_wide_to_read_are_narrowed(data_dir: Path, spool: Spool, path: Path) -> None:
    for folder in (data_dir, spool.folder):
        folder.chmod(0o755)
    (data_dir / "install.key").chmod(0o644)
    hook.capture(str(data_dir), "claude", BODY, {})
    modes = [one.stat().st_mode & 0o777 for one in (data_dir, spool.folder, data_dir / "install.key")]
    assert modes == [0o700, 0o700, 0o600]
    assert len([spool.read(one) for one in spool.waiting()]) == 2


@pytest.mark.parametrize("failures", [1, 2, 3, 4])
def test_a_failed_fsync_is_tried_once_more_in_a_new_file(
    failures: int, data_dir: Path, spool: Spool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a failed fsync leaves behind is not trusted; when the disk goes on failing, the second file stays."""
    spool.finish(path)
    left, fsync = [failures], os.fsync

    def failing(handle: int) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise OSError(5, "Input/output error")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", failing)
    written: list[str] = []
    name = hook.capture(str(data_dir), "claude", BODY, {}, written=written)
    assert [one.name for one in spool.waiting()] == written == [name]
    assert spool.read(spool.waiting()[0]).body == BODY


def test_a_write_that_fails_leaves_no_part_behind(
    data_dir: Path, spool: Spool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.finish(path)
    write = os.write

    def short_then_full(handle: int, data: bytes | memoryview) -> int:
        if len(data) < 100:
            raise OSError(28, "No space left on device")
        return write(handle, data[:50])

    monkeypatch.setattr(os, "write", short_then_full)
    with pytest.raises(OSError, match="No space"):
        hook.capture(str(data_dir), "claude", BODY * 10, {})
    assert list(spool.folder.iterdir()) == []


def test_short_writes_are_continued(data_dir: Path, spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:7]))
    hook.capture(str(data_dir), "claude", BODY, {})
    monkeypatch.undo()
    assert spool.read(spool.waiting()[0]).body == BODY


HOLDER = """
import sys
from pathlib import Path
from recollect.capture.spool import Spool
with Spool(Path(sys.argv[1])).alone() as alone:
    print(alone, flush=True)
    sys.stdin.read()
"""


def test_one_process_reads_at_a_time(data_dir: Path, spool: Spool) -> None:
    """P17: and the lock ends with its process, however that ends."""
    words = [sys.executable, "-c", HOLDER, str(data_dir)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"True\n"
        with spool.alone() as alone:
            assert not alone
        holder.kill()
    with spool.alone() as alone:
        assert alone
    assert (data_dir / "spool.lock").stat().st_mode & 0o777 == 0o600
