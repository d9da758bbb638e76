"""The secret of a local server: a file only its user can read, made when the server first starts."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from recollect.errors import StoreUnavailable
from recollect.store import datadir

_SHORTEST = 32


def own_secret(data_dir: Path, name: str) -> str:
    """The secret in this file of the data directory. Two servers that start at once agree on one."""
    file = datadir.prepare(data_dir) / name
    if not os.path.lexists(file):
        _make(file)
    return _read(file)


def _make(file: Path) -> None:
    """Write it aside and give it its name in one step, so that nobody reads half of it."""
    aside = file.with_name(f"{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as out:
            out.write(secrets.token_urlsafe(32) + "\n")
        with suppress(FileExistsError):  # another server was faster: its secret holds
            os.link(aside, file)
    finally:
        aside.unlink()


def _read(file: Path) -> str:
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise StoreUnavailable(
            f"{file} cannot be read: {error.strerror}", hint="Remove it; it is made again."
        ) from None
    try:
        info = os.fstat(handle)
        mine = not hasattr(os, "getuid") or (info.st_uid == os.getuid() and not info.st_mode & 0o077)
        text = os.read(handle, 1_000).decode("ascii", "replace").strip() if stat.S_ISREG(info.st_mode) else ""
    finally:
        os.close(handle)
    if not mine or len(text) < _SHORTEST:
        raise StoreUnavailable(
            f"{file} is not a token that only you can read", hint="Remove it; it is made again when the server starts."
        )
    return text
