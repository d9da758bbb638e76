"""Settings files on the disk: read with all their bytes, replaced whole or not at all, and only when nobody else did.

A link is followed and stays a link. A file that its user made read-only is refused, for replacing it would go around
that. Before the first change a file is copied to `<file>.recollect-backup`.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from recollect.install.errors import BadSettings, SettingsBusy, SettingsChanged
from recollect.lock import taken

BACKUP = ".recollect-backup"
MAX_BYTES = 256 * 2**20
LOCK_SECONDS = 30.0
STALE_SECONDS = 10.0  # after which an agent takes its own lock for one that was left behind


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one file: its bytes before and after, None where it is not there."""

    path: Path
    before: bytes | None
    after: bytes | None
    backup: bool = False  # whether what was there is copied first
    about: str = ""  # what of ours it is about

    @property
    def target(self) -> Path:
        """The file itself, when the path is a link to it."""
        return real(self.path)


def real(path: Path) -> Path:
    """Where a path leads."""
    try:
        return path.resolve() if path.is_symlink() else path.parent.resolve() / path.name
    except (OSError, RuntimeError):
        raise BadSettings(
            f"{path} is a link that leads in a circle", hint="Correct the link, then try again."
        ) from None


def read(path: Path) -> bytes | None:
    """All of a file, None when it is not there."""
    target = real(path)
    try:
        info = target.stat()
        if not stat.S_ISREG(info.st_mode):
            raise BadSettings(f"{path} is not a plain file")
        if info.st_size > MAX_BYTES:
            raise BadSettings(f"{path} is larger than {MAX_BYTES // 2**20} MiB")
        return target.read_bytes()
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise BadSettings(f"{path} cannot be: {path.parent} is not a directory") from None
    except OSError as error:
        raise BadSettings(f"{path} cannot be read: {error.strerror}") from None


def backup_of(path: Path) -> Path:
    target = real(path)
    return target.with_name(target.name + BACKUP)


def check_writable(change: Change) -> None:
    """Refuse before anything is written what could not be written."""
    target = change.target
    with contextlib.suppress(FileNotFoundError):
        if not target.stat().st_mode & 0o200 or not os.access(target, os.W_OK):
            raise BadSettings(f"{change.path} is read-only", hint=f"chmod u+w {change.path}, then try again.")
    folder = next(parent for parent in target.parents if parent.exists())
    if not folder.is_dir():
        raise BadSettings(f"{change.path} cannot be: {folder} is not a directory")
    if not folder.stat().st_mode & 0o200 or not os.access(folder, os.W_OK | os.X_OK):
        raise BadSettings(f"{folder} is read-only", hint=f"chmod u+w {folder}, then try again.")


def apply(changes: Sequence[Change], folders: Sequence[Path] = ()) -> None:
    """Do all of them, or none: all is written aside first, and what was put in place is undone when a later one fails.

    `folders` go afterwards if they are empty.
    """
    changes = [change for change in changes if change.before != change.after]
    for change in changes:
        check_writable(change)
    done: list[Change] = []
    made: list[Path] = []
    parts: list[Path] = []
    try:
        for change in changes:
            made += missing_folders(change.target)
            change.target.parent.mkdir(parents=True, exist_ok=True)
            clear(change.target)
            parts.append(_aside(change.target, change.after) if change.after is not None else change.target)
        for change, part in zip(changes, parts, strict=True):
            _put(change, part)
            done.append(change)
    except BaseException:
        for change in reversed(done):
            _undo(change)
        for part in set(parts) - {change.target for change in changes}:
            part.unlink(missing_ok=True)
        remove_empty(made)
        raise
    remove_empty(folders)


def missing_folders(path: Path) -> list[Path]:
    """The directories above a file that are not there yet, the outermost first."""
    return [folder for folder in reversed(path.parents) if not folder.exists()]


def remove_empty(folders: Sequence[Path]) -> None:
    """Those of the directories that are empty, the innermost first."""
    for folder in sorted(folders, key=lambda one: len(one.parts), reverse=True):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _put(change: Change, part: Path) -> None:
    """Give the file written aside its name, or take the file away, if it is still what it was."""
    if read(change.path) != change.before:
        raise SettingsChanged(f"{change.path} was changed by another program at the same moment")
    if change.backup and change.before is not None:
        replace(backup_of(change.path), change.before, like=change.target)
    if change.after is None:
        change.target.unlink(missing_ok=True)
    else:
        part.replace(change.target)
    _sync(change.target.parent)


def _undo(change: Change) -> None:
    """Back to what was before, unless somebody has written to it meanwhile."""
    with contextlib.suppress(OSError, BadSettings):
        if read(change.path) != change.after:
            return
        if change.before is None:
            change.target.unlink()
        else:
            replace(change.target, change.before)
        if change.backup:
            backup_of(change.path).unlink(missing_ok=True)


def replace(target: Path, data: bytes, *, like: Path | None = None) -> None:
    """Give the file these bytes in one step; mode and owner stay, or are those of `like`."""
    part = _aside(target, data, like=like)
    try:
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _aside(target: Path, data: bytes, *, like: Path | None = None) -> Path:
    """A new file beside the target, with these bytes on the disk."""
    part = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}.part")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                with contextlib.suppress(FileNotFoundError):
                    _dress(file.fileno(), (like or target).stat())
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadSettings(f"{target} cannot be written: {error.strerror}") from None
    return part


def clear(target: Path) -> None:
    """Without what an installer left aside that was killed; only one is at work at a time."""
    for path in target.parent.glob(".*.part"):
        if re.fullmatch(rf"\.{re.escape(target.name)}(?:{re.escape(BACKUP)})?\.\d+\.[0-9a-f]{{8}}\.part", path.name):
            path.unlink(missing_ok=True)


def _dress(handle: int, info: os.stat_result) -> None:
    with contextlib.suppress(PermissionError):
        os.fchown(handle, info.st_uid, info.st_gid)
    os.fchmod(handle, stat.S_IMODE(info.st_mode))


def _sync(folder: Path) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def alone(*folders: Path) -> Iterator[None]:
    """Nobody else installs anything: locks on the directories themselves, so that no lock file is left behind."""
    handles: list[int] = []
    try:
        for folder in sorted({folder for folder in folders if folder.is_dir()}):
            handles.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            if not taken(handles[-1], LOCK_SECONDS):
                raise SettingsBusy(f"another program has held {folder} for {LOCK_SECONDS:.0f} s")
        yield
    finally:
        for handle in reversed(handles):
            os.close(handle)


@contextlib.contextmanager
def agents_locks(paths: Sequence[Path]) -> Iterator[None]:
    """The locks Claude Code itself takes to write: a directory `<file>.lock`; one that is old does not count."""
    mine: list[Path] = []
    try:
        for path in paths:
            target = real(path)
            lock = target.with_name(f"{target.name}.lock")
            if target.parent.is_dir() and _made(lock):
                mine.append(lock)
        yield
    finally:
        remove_empty(mine)


def _made(lock: Path) -> bool:
    """Whether the lock is ours now."""
    until = time.monotonic() + STALE_SECONDS
    while time.monotonic() < until:
        try:
            lock.mkdir()
        except FileExistsError:
            with contextlib.suppress(OSError):
                if time.time() - lock.stat().st_mtime > STALE_SECONDS:
                    return False
            time.sleep(0.01)
        except OSError:
            return False  # a directory that cannot be written is refused later, by name
        else:
            return True
    return False
