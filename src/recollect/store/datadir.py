"""The data directory: private to its user, or refused.

Everything Recollect keeps lies under one directory with mode 0700, files 0600. A directory that is a link, belongs to
somebody else, or that others may write to is not used.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from recollect.errors import StoreUnavailable


def prepare(path: Path) -> Path:
    """Create the directory if needed and return it, or raise StoreUnavailable saying what to change."""
    try:
        for folder in (*reversed(path.parents), path):
            if not folder.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
        info = path.lstat()
    except OSError as error:
        raise StoreUnavailable(
            f"the data directory {path} cannot be made: {error.strerror}",
            hint="Choose one you can write to with RECOLLECT_DATA_DIR.",
        ) from None
    if stat.S_ISLNK(info.st_mode):
        raise StoreUnavailable(
            f"the data directory {path} is a symbolic link", hint="Set RECOLLECT_DATA_DIR to the real directory."
        )
    if not stat.S_ISDIR(info.st_mode):
        raise StoreUnavailable(
            f"the data directory {path} is not a directory", hint="Choose another with RECOLLECT_DATA_DIR."
        )
    _check_owner(path, info)
    return path


def _check_owner(path: Path, info: os.stat_result) -> None:
    if not hasattr(os, "getuid"):
        return
    if info.st_uid != os.getuid():
        raise StoreUnavailable(f"the data directory {path} belongs to another user")
    if info.st_mode & 0o022:
        raise StoreUnavailable(
            f"others may write to the data directory {path}", hint=f"Make it private: chmod 700 {path}"
        )
    if info.st_mode & 0o077:
        path.chmod(0o700)


def create_private(path: Path) -> None:
    """Make sure `path` is a plain file of ours with mode 0600; never follow a link.

    A file that exists is looked at, never opened: closing a raw descriptor would drop the locks that another handle of
    this process holds on it.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600))
    except FileExistsError:
        info = path.lstat()
        if not stat.S_ISREG(info.st_mode) or info.st_nlink > 1:
            raise StoreUnavailable(f"{path} is not a plain file of its own") from None
        if hasattr(os, "getuid") and info.st_uid == os.getuid() and info.st_mode & 0o177:
            path.chmod(0o600)
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be made: {error.strerror}", hint="Check the permissions of the data directory."
        ) from None


def settle(part: Path, target: Path) -> None:
    """Give a finished file its name for good: the file is on the disk first, then the name."""
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.replace(target)
    if os.name == "posix":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
