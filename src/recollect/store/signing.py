"""The keys that sign the audit, kept outside the database: who can change rows cannot sign them.

In: the file with the keys. Out: the key that signs, and those that verify. One key a line, 64 hex digits; the first one
signs, the others only verify what they signed before. The default file is made when it is first needed; one that an
operator names must be there.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from recollect.errors import StoreUnavailable
from recollect.store import datadir

FILE_NAME = "audit.key"
_KEY = re.compile(r"[0-9a-f]{64}")


class Signer:
    """The keys in one file, read once."""

    def __init__(self, file: Path, *, ours: bool = True) -> None:
        self._file = file
        self._ours = ours  # made here when it is missing, and nobody else's to read
        self._keys: dict[str, bytes] = {}

    @property
    def keys(self) -> Mapping[str, bytes]:
        """Every key by its name; the first one signs."""
        if not self._keys:
            if self._ours and not os.path.lexists(self._file):
                _make(self._file)
            found = [bytes.fromhex(line) for line in self._read()]
            self._keys = {_name(key): key for key in found}
        return self._keys

    @property
    def name(self) -> str:
        """Which key signs."""
        return next(iter(self.keys))

    def sign(self, *parts: bytes) -> bytes:
        """What only who has the key can make of these bytes."""
        return hmac.digest(self.keys[self.name], b"".join(parts), "sha256")

    def know(self, *parts: bytes) -> bytes:
        """The same of the oldest key: what is to be known again while keys are exchanged, and guessed by nobody."""
        *_, oldest = self.keys.values()
        return hmac.digest(oldest, b"".join(parts), "sha256")

    def _read(self) -> list[str]:
        try:
            handle = os.open(self._file, os.O_RDONLY | (getattr(os, "O_NOFOLLOW", 0) if self._ours else 0))
            with os.fdopen(handle, "rb") as file:
                mode = os.fstat(handle).st_mode
                text = file.read(10_000).decode("ascii", "replace")
        except OSError as error:
            raise StoreUnavailable(
                f"the audit's key {self._file} cannot be read: {error.strerror}",
                hint="Put it back from where you keep a copy; the setting audit_key_file says where it is.",
            ) from None
        if self._ours and os.name == "posix" and mode & 0o077:
            raise StoreUnavailable(f"others may read {self._file}", hint=f"Make it private: chmod 600 {self._file}")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if not lines or not all(map(_KEY.fullmatch, lines)):
            raise StoreUnavailable(
                f"{self._file} does not hold the audit's keys", hint="It has one key a line: 64 hexadecimal digits."
            )
        return lines


def _name(key: bytes) -> str:
    """What a key is called: it tells keys apart and says nothing about them."""
    return hashlib.sha256(b"recollect audit key\0" + key).hexdigest()[:12]


def _make(file: Path) -> None:
    """Write it aside and give it its name in one step: of processes that start together, one makes the key."""
    datadir.prepare(file.parent)
    aside = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as out:
            out.write(secrets.token_hex(32) + "\n")
            out.flush()
            os.fsync(out.fileno())
        with suppress(FileExistsError):
            os.link(aside, file)
    finally:
        aside.unlink()
