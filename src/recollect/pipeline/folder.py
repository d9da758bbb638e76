"""A directory of ours with small files that can be made again: private, each file whole or not there at all.

Files have mode 0600, links are not followed, and a file whose bytes are the same is not written. Nothing is synced to
the disk: what a power cut takes is made again.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from recollect.hook import open_private

MAX_BYTES = 64 * 2**20
_ASIDE = ".aside-"


class Folder:
    """An open directory beneath the data directory, made if missing; OSError when it is not ours alone."""

    def __init__(self, data_dir: Path, *inside: str) -> None:
        self._handle = open_private(str(data_dir.absolute()))
        for name in inside:
            try:
                inner = open_private(name, self._handle)
            finally:
                os.close(self._handle)
            self._handle = inner

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._handle)

    def names(self) -> set[str]:
        """What lies in it, without directories."""
        with os.scandir(self._handle) as found:
            return {entry.name for entry in found if not entry.is_dir(follow_symlinks=False)}

    def read(self, name: str) -> bytes | None:
        """The content of a file, or None when there is no such plain file."""
        try:
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._handle)
        except OSError:
            return None
        try:
            info = os.fstat(handle)
            if not stat.S_ISREG(info.st_mode) or info.st_mode & 0o077 or info.st_size > MAX_BYTES:
                return None
            with open(handle, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(handle)

    def put(self, name: str, content: bytes) -> bool:
        """Make this the content of a file; whether it was another before."""
        if self.read(name) == content:
            return False
        aside = self._written(content)
        try:
            os.rename(aside, name, src_dir_fd=self._handle, dst_dir_fd=self._handle)
        except OSError:
            self.remove(aside)
            raise
        return True

    def put_all(self, names: set[str], content: bytes) -> bool:
        """The same content under several names, on the disk once; whether one of them had another before."""
        differing = sorted(name for name in names if self.read(name) != content)
        if not differing:
            return False
        aside = self._written(content)
        try:
            for name in differing:
                link = _new_name()
                os.link(aside, link, src_dir_fd=self._handle, dst_dir_fd=self._handle, follow_symlinks=False)
                os.rename(link, name, src_dir_fd=self._handle, dst_dir_fd=self._handle)
                self.remove(link)  # a rename onto another name of the same file does nothing
        finally:
            self.remove(aside)
        return True

    def remove(self, name: str) -> bool:
        """Take a file away; whether it was there."""
        try:
            os.unlink(name, dir_fd=self._handle)
            return True
        except FileNotFoundError:
            return False

    def keep_only(self, wanted: set[str]) -> int:
        """Take every other file away; how many those were."""
        return sum(map(self.remove, self.names() - wanted))

    def _written(self, content: bytes) -> str:
        aside = _new_name()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(aside, flags, 0o600, dir_fd=self._handle)
        try:
            os.fchmod(handle, 0o600)
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(handle, rest) :]
        except OSError:
            with suppress(OSError):
                os.unlink(aside, dir_fd=self._handle)
            raise
        finally:
            os.close(handle)
        return aside


def _new_name() -> str:
    return f"{_ASIDE}{os.getpid()}-{os.urandom(6).hex()}"
