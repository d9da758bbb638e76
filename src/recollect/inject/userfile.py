"""Changing a file of the user's: all of the new content or all of the old, and never over somebody else's change.

The file keeps its mode and owner; a new one is private, unless it is for others too. A link is followed only within its
own directory or the home directory, and to a file of the same ending. Whoever else changes a file this way waits; a
change made by any other program meanwhile is seen, and the edit made again on top.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from recollect.errors import Conflict, InvalidInput
from recollect.lock import taken

MAX_BYTES = 4 * 2**20
_TRIES, _WAIT_SECONDS, _STALE_SECONDS = 20, 5.0, 60.0
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Edit = Callable[[bytes], bytes]


def change(path: Path, edit: Edit, *, drop_empty: bool = False, shared: bool = False) -> bool:
    """Put the edited content into the file, making it if there is none and something to say; whether it changed.

    With `drop_empty`, a file of which nothing is left is removed. With `shared`, a new one has the mode that the user's
    umask gives, like every other file of a project.
    """
    target = real_path(path)
    for _ in range(_TRIES):
        try:
            done = _change(target, edit, drop_empty, 0o666 if shared else 0o600)
        except PermissionError:
            raise InvalidInput(
                f"{path} cannot be written", hint="Make it and its directory writable for you."
            ) from None
        if done is not None:
            return done
    raise Conflict(f"{path} is being changed all the time", hint="Try again when the other program is done.")


def content_of(path: Path) -> bytes:
    """What is in the file; empty when there is none. InvalidInput when it is nothing to read."""
    try:
        handle = os.open(real_path(path), _READ)
    except FileNotFoundError:
        return b""
    try:
        return _content(handle, path)
    finally:
        os.close(handle)


def real_path(path: Path) -> Path:
    """The file behind a path; a link that leads out of its directory and home, or to another kind, is refused."""
    given = Path(os.path.abspath(path))  # noqa: PTH100 - links stay as the user sees them
    folder = Path(os.path.realpath(given.parent))
    if not given.is_symlink():
        return folder / given.name
    target = Path(os.path.realpath(given))
    roots = (folder, Path(os.path.realpath(Path.home())))
    inside = any(target.is_relative_to(root) for root in roots)
    alike = target.suffix.casefold() == given.suffix.casefold()  # a repository's CLAUDE.md is no way to ~/.profile
    if not inside or not alike or not target.exists():
        raise InvalidInput(f"{path} is a link to {target}", hint="Name the file itself.")
    return target


def _change(target: Path, edit: Edit, drop_empty: bool, mode: int) -> bool | None:
    """One try; None when somebody else changed the file meanwhile."""
    try:
        handle = os.open(target, _READ)
    except FileNotFoundError:
        return _make(target, edit(b""), mode)
    except OSError as error:
        raise InvalidInput(f"{target} cannot be read: {error.strerror}") from None
    try:
        if not taken(handle, _WAIT_SECONDS):
            raise Conflict(f"{target} is being changed by another process")
        before = os.fstat(handle)
        content = _content(handle, target)
        edited = edit(content)
        if edited == content:
            return False
        if not before.st_mode & stat.S_IWUSR:
            raise InvalidInput(f"{target} is read-only", hint=f"chmod u+w {target}")
        if drop_empty and not edited:
            return _unless_changed(target, before, target.unlink)
        aside = _aside(target, edited, before)
        try:
            return _unless_changed(target, before, lambda: aside.replace(target))
        finally:
            aside.unlink(missing_ok=True)
    finally:
        os.close(handle)


def _make(target: Path, content: bytes, mode: int) -> bool | None:
    if not content:
        return False
    if not target.parent.is_dir():
        raise InvalidInput(f"there is no directory {target.parent}")
    aside = _aside(target, content, None, mode)
    try:
        os.link(aside, target)  # unlike a rename, it fails when somebody else was quicker
        return True
    except FileExistsError:
        return None
    finally:
        aside.unlink(missing_ok=True)


def _unless_changed(target: Path, before: os.stat_result, act: Callable[[], object]) -> bool | None:
    try:
        now = target.lstat()
    except FileNotFoundError:
        return None
    if _mark(now) != _mark(before):
        return None
    act()
    _sync_folder(target.parent)
    return True


def _mark(info: os.stat_result) -> tuple[int, int, int]:
    return info.st_ino, info.st_size, info.st_mtime_ns


def _aside(target: Path, content: bytes, like: os.stat_result | None, mode: int = 0o600) -> Path:
    """The content in a new file beside the target, on the disk: like the old one, or of this mode."""
    _tidy(target)
    aside = target.with_name(f".{target.name[:100]}.recollect-{os.getpid()}-{os.urandom(6).hex()}")
    handle = os.open(aside, _NEW, mode)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(handle, rest) :]
        if like is not None:
            if (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
                with suppress(OSError):
                    os.fchown(handle, like.st_uid, like.st_gid)
            os.fchmod(handle, stat.S_IMODE(like.st_mode))
        os.fsync(handle)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
    return aside


def _tidy(target: Path) -> None:
    """Take away what somebody who was killed in the middle left behind."""
    for left in target.parent.glob(f".{target.name[:100]}.recollect-*"):
        with suppress(OSError):
            if time.time() - left.lstat().st_mtime > _STALE_SECONDS:
                left.unlink()


def _content(handle: int, path: Path) -> bytes:
    info = os.fstat(handle)
    if not stat.S_ISREG(info.st_mode):
        raise InvalidInput(f"{path} is not a plain file")
    if info.st_size > MAX_BYTES:
        raise InvalidInput(f"{path} has {info.st_size:,} bytes; the limit is {MAX_BYTES:,}")
    with open(handle, "rb", closefd=False) as file:
        return file.read(MAX_BYTES + 1)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
