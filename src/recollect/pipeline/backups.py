"""Backups with a day by which they are to go: noted before they are made, listed, and deleted when that day has come.

A file is deleted only if it is, byte for byte, the backup that was noted: a note alone never makes a file disappear.
"""

from __future__ import annotations

import platform
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from recollect.clock import Clock
from recollect.ids import uuid7
from recollect.store import copies
from recollect.store.copies import Copy
from recollect.store.port import Store


class Pruned(NamedTuple):
    """What became of a backup whose day had come: deleted, gone, elsewhere, changed, or due (when only looked at)."""

    copy: Copy
    outcome: str


def back_up(store: Store, target: Path, clock: Clock, *, keep_days: int) -> Copy:
    """Write a verified backup of the whole store, noted from before it is begun; a failed one is taken off the list."""
    now = clock()
    path = str(target.absolute())
    copy = Copy(uuid7(), path, platform.node(), now, now + timedelta(days=keep_days))
    copies.note(store.notes, copy)
    try:
        size = store.backup(target)
    except BaseException:
        store.notes.drop(copies.PREFIX + copy.id)
        raise
    whole = replace(copy, bytes=size, digest=copies.file_digest(target))
    copies.note(store.notes, whole)
    return whole


def listed(store: Store) -> list[Copy]:
    """The backups that were made and not deleted by `prune`, the oldest first."""
    return copies.listed(store.notes.all(copies.PREFIX))


def prune(store: Store, clock: Clock, *, dry_run: bool = False) -> list[Pruned]:
    """Delete the backups whose day has come, and take those off the list that are no more."""
    now = clock()
    due = [copy for copy in listed(store) if copy.expires_at <= now]
    return [_pruned(store, copy, dry_run) for copy in due]


def _pruned(store: Store, copy: Copy, dry_run: bool) -> Pruned:
    if copy.host != platform.node():
        return Pruned(copy, "elsewhere")
    path = Path(copy.path)
    gone = not path.exists()
    if not gone and (path.is_symlink() or not path.is_file() or copies.file_digest(path) != copy.digest):
        return Pruned(copy, "changed")
    if dry_run:
        return Pruned(copy, "gone" if gone else "due")
    path.unlink(missing_ok=True)
    store.notes.drop(copies.PREFIX + copy.id)
    return Pruned(copy, "gone" if gone else "deleted")
