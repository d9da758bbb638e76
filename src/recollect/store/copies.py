"""Which backups of a store there are: noted before each is made, so that `forget` can say what may still hold a thing.

A backup cannot forget. What it holds is gone when the file is: each has a day by which it is to be deleted, and
deleting is done only to a file that is, byte for byte, the one that was noted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from recollect.clock import from_iso, iso
from recollect.store.port import Notes
from recollect.store.ports.keeping import Held

PREFIX = "backup:"


@dataclass(frozen=True, slots=True)
class Copy:
    """One backup; `digest` is the SHA-256 of its file, and empty for one that was begun and never ended."""

    id: str
    path: str
    host: str
    made_at: datetime
    expires_at: datetime
    bytes: int = 0
    digest: str = ""


def listed(notes: Mapping[str, str]) -> list[Copy]:
    """The backups that were noted, the oldest first; a note that cannot be read is not one."""
    found = []
    for value in notes.values():
        try:
            told = json.loads(value)
            told |= {name: from_iso(told[name]) for name in ("made_at", "expires_at")}
            found.append(Copy(**told))
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
    return sorted(found, key=lambda copy: (copy.made_at, copy.id))


def note(notes: Notes, copy: Copy) -> None:
    """Write a backup down, or what became of it."""
    notes.put(
        PREFIX + copy.id, json.dumps({**asdict(copy), "made_at": iso(copy.made_at), "expires_at": iso(copy.expires_at)})
    )


def held(copies: list[Copy]) -> tuple[Held, ...]:
    """What a receipt says of them: never where they are."""
    return tuple(Held(copy.id, copy.made_at, copy.expires_at) for copy in copies)


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    total = sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            total.update(piece)
    return total.hexdigest()
