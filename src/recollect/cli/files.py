"""Files a command writes for its user: private (0600), whole or not at all, durable before they get their name."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from recollect.errors import InvalidInput


def write_private(target: Path, pieces: Iterable[bytes], *, replace: bool = False) -> None:
    """Write the pieces to a file beside `target`, then give it that name; refuse to replace unless told to."""
    if not replace and (target.exists() or target.is_symlink()):
        raise InvalidInput(f"{target} exists already", hint="Give it another name, or use --force.")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as error:
        raise InvalidInput(f"{target} cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
