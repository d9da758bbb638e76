"""Files that are wholly ours, such as skills: each says so in a comment with a hash of all the rest.

By it a file that nobody touched is known again, by any version and without the inventory; only such a file is replaced
or taken away.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

_STAMP = re.compile(r"^(?:#|//) Written by `recollect install` \(([0-9a-f]{16})\)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class OwnFile:
    """One file of ours and its text, without the stamp."""

    path: Path
    text: str
    what: str

    @property
    def data(self) -> bytes:
        """The file's bytes: the stamp is a comment, in the front matter or before the code."""
        line = f"Written by `recollect install` ({_hash(self.text)})\n"
        head = "---\n"
        if self.text.startswith(head):
            return (head + f"# {line}" + self.text[len(head) :]).encode()
        return f"// {line}{self.text}".encode()


def is_untouched(data: bytes) -> bool:
    """Whether these are the bytes that some `install` wrote."""
    text = data.decode("utf-8", "replace")
    stamp = _STAMP.search(text)
    return stamp is not None and _hash(text[: stamp.start()] + text[stamp.end() :]) == stamp[1]


def is_stamped(data: bytes) -> bool:
    """Whether some `install` wrote it, and perhaps somebody changed it."""
    return _STAMP.search(data.decode("utf-8", "replace")) is not None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
