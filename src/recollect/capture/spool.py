"""The reading side of the spool: records that hooks left become values, oldest first, each checked before it is used.

A record counts only when its length and its MAC are right; what an agent said inside a body is never taken for one.
One that fails is moved to `refused/` and counted, and one that may still be being written is left alone for a while.
"""

from __future__ import annotations

import errno
import hmac
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from recollect.errors import RecollectError, StoreUnavailable
from recollect.hook import MAC_BYTES, MAGIC, MISSED, PREFIX, SPOOL, SUFFIX, count, mac, open_private, read_key
from recollect.lock import alone

MAX_RECORD = 5 * 2**20
GRACE_SECONDS = 10
KEEP_REFUSED = 100
REFUSED, REFUSALS, LOCK = "refused", "refusals", "spool.lock"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOT_WORD = re.compile("[^a-z0-9]+")


class BadRecord(RecollectError):
    """The record is torn, forged, or no plain file of ours."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a hook was given: by which agent, when, the exact bytes, and what its environment said."""

    agent: str
    at: datetime
    body: bytes
    truncated: bool
    hints: Mapping[str, str]


class Spool:
    """The records waiting under one data directory. Only who holds `alone()` may finish or refuse one."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.folder = data_dir / SPOOL

    def waiting(self) -> list[Path]:
        """The records to read now, oldest first; without those that may still be being written."""
        with self._opened(SPOOL):
            found = sorted(path for path in self.folder.iterdir() if path.name.endswith(SUFFIX))
        return [path for path in found if not _unfinished(path)]

    def all(self) -> list[Path]:
        """Every record there is, whole or not, and those that were refused."""
        found = [path for path in _listed(self.folder) if path.name.endswith(SUFFIX)]
        return found + _listed(self.folder / REFUSED)

    def read(self, path: Path) -> Record:
        """The record in this file, or BadRecord. An OSError is trouble of the machine: try again later."""
        data = _content(path, MAX_RECORD)
        sizes = _sizes(data)
        if sizes is None:
            raise BadRecord("torn" if MAGIC.startswith(data[: len(MAGIC)]) else "not a record")
        if len(data) != PREFIX + sum(sizes) + MAC_BYTES:
            raise BadRecord("torn" if len(data) < PREFIX + sum(sizes) + MAC_BYTES else "more than one record")
        content = data[:-MAC_BYTES]
        if not hmac.compare_digest(mac(self._key(), content), data[-MAC_BYTES:]):
            raise BadRecord("forged")
        return _record(content[PREFIX : PREFIX + sizes[0]], content[PREFIX + sizes[0] :])

    def finish(self, path: Path) -> None:
        """Done with this record: what it told is kept elsewhere."""
        path.unlink(missing_ok=True)

    def refuse(self, path: Path, reason: str) -> None:
        """Put a bad record aside, with the reason in its name, and count it; of those aside the newest 100 stay."""
        with self._opened(SPOOL, REFUSED) as (_, spool, _):
            word = _NOT_WORD.sub("-", reason.casefold()).strip("-")[:40]
            aside = self.folder / REFUSED / f"{path.name[:150]}.{word or 'bad'}"
            try:
                path.rename(aside)
            except FileNotFoundError:
                return
            if stat.S_ISREG(aside.lstat().st_mode):
                aside.chmod(0o600)
            count(spool, REFUSALS)
        for old in sorted((self.folder / REFUSED).iterdir())[:-KEEP_REFUSED]:
            with suppress(OSError):
                old.unlink()

    def missed(self) -> int:
        """How often a hook could not leave a record."""
        return _counted(self.folder / MISSED)

    def refused(self) -> int:
        """How many records were refused so far."""
        return _counted(self.folder / REFUSALS)

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """True when no other process reads this spool; let go when the process ends, however it ends."""
        with self._opened():
            pass  # a directory that is not ours alone is refused first
        with alone(self.data_dir / LOCK) as mine:
            yield mine

    def _key(self) -> bytes:
        with self._opened() as (data,):
            try:
                return read_key(data)
            except FileNotFoundError:
                raise BadRecord("no key to check it with") from None

    @contextmanager
    def _opened(self, *inside: str) -> Iterator[list[int]]:
        """Handles on the data directory and a way into it, made if missing; refused unless they are ours alone."""
        handles: list[int] = []
        try:
            try:
                handles.append(open_private(str(self.data_dir)))
                for name in inside:
                    handles.append(open_private(name, handles[-1]))
            except OSError as error:
                raise StoreUnavailable(
                    f"the spool {self.folder} cannot be used: {error.strerror or error}",
                    hint="It must be a directory of yours that nobody else may write to.",
                ) from None
            yield handles
        finally:
            for handle in handles:
                os.close(handle)


def _listed(folder: Path) -> list[Path]:
    """What stands in a directory that need not be there."""
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []


def _unfinished(path: Path) -> bool:
    """Whether this file is incomplete and young, so that a hook may still be at it."""
    try:
        info = path.lstat()
        # A time far ahead is a clock that jumped, not a young file.
        if not stat.S_ISREG(info.st_mode) or abs(time.time() - info.st_mtime) >= GRACE_SECONDS:
            return False
        sizes = _sizes(_content(path, PREFIX))
    except FileNotFoundError:
        return True
    except (OSError, BadRecord):
        return False
    return sizes is None or info.st_size < PREFIX + sum(sizes) + MAC_BYTES


def _content(path: Path, limit: int) -> bytes:
    """At most the first `limit` bytes of a plain file of ours that is no larger than a record can be."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise BadRecord("not a plain file of ours") from None
        raise
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != os.getuid():
            raise BadRecord("not a plain file of ours")
        if info.st_size > MAX_RECORD:
            raise BadRecord("too large")
        with open(handle, "rb", closefd=False) as file:
            return file.read(limit)
    finally:
        os.close(handle)


def _sizes(data: bytes) -> tuple[int, int] | None:
    """The sizes of header and body that the beginning of a record gives."""
    if len(data) < PREFIX or not data.startswith(MAGIC):
        return None
    return int.from_bytes(data[len(MAGIC) : len(MAGIC) + 4]), int.from_bytes(data[len(MAGIC) + 4 : PREFIX])


def _record(header: bytes, body: bytes) -> Record:
    fields = {}
    while header:
        size = int.from_bytes(header[:4])
        name, _, value = os.fsdecode(header[4 : 4 + size]).partition("=")
        fields[name], header = value, header[4 + size :]
    try:
        agent, at, truncated = fields.pop("agent"), int(fields.pop("at")), fields.pop("truncated") == "1"
        moment = _EPOCH + timedelta(microseconds=at // 1000)
    except (KeyError, ValueError, OverflowError):
        raise BadRecord("a header we do not know") from None
    return Record(agent, moment, body, truncated, fields)


def _counted(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
