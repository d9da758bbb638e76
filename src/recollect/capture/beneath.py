"""Opening files that others wrote: only beneath a known root, no links on the way, only plain files of this user.

A path out of a hook's input or a folder listing is a claim. The root itself may be a link (people keep their dot files
elsewhere); below it every component is opened with O_NOFOLLOW from the one before it, and what is opened must be a
regular file. Nothing here blocks on a FIFO or a device.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from recollect.errors import BadTranscript

_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_COMPONENT_WISE = os.open in os.supports_dir_fd


def open_beneath(root: Path, path: Path) -> BinaryIO:
    """The file for reading, or BadTranscript saying why not."""
    parts = _parts(root, path)
    try:
        return _walk(root, parts) if _COMPONENT_WISE else path.open("rb")
    except OSError as error:
        raise BadTranscript(f"{path} cannot be read: {error.strerror}") from None


def _parts(root: Path, path: Path) -> tuple[str, ...]:
    try:
        parts = path.relative_to(root).parts
    except ValueError:
        raise BadTranscript(f"{path} is not under {root}") from None
    if not parts or ".." in parts or any("\x00" in part for part in parts):
        raise BadTranscript(f"{path} is not a file under {root}")
    return parts


def _walk(root: Path, parts: tuple[str, ...]) -> BinaryIO:
    folder = os.open(root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        for part in parts[:-1]:
            inner = os.open(part, _DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = inner
        handle = os.open(parts[-1], _FILE, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            raise BadTranscript(f"{parts[-1]} is not a plain file")
        if hasattr(os, "getuid") and os.getuid() not in (0, info.st_uid):
            raise BadTranscript(f"{parts[-1]} belongs to another user")
        return os.fdopen(handle, "rb", buffering=0)
    except BaseException:
        os.close(handle)
        raise
