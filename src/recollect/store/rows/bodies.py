"""Bodies too big for a row of events: kept compressed, named by the hash of what they hold.

Evicting takes the bytes and keeps the row with its hash and size. The retention clock counts how long Recollect has
been in use; it moves at most a day from one look to the next, so a wall clock that jumps cannot age anything away.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from datetime import datetime
from typing import Any

from recollect.clock import from_iso, iso
from recollect.errors import StoreCorrupt
from recollect.model import Body, Scope
from recollect.store.ports.capture import Evicted, RawUse
from recollect.store.rows.tx import Database, Tx

_DAY = 86_400.0
MAX_BYTES = 256 << 20


class RowBodies(ABC):
    """The rows of bodies; where their bytes lie is for each database to say."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @abstractmethod
    def keep(self, tx: Tx, owner: int, body: Body) -> None:
        """Within the write that adds its event: the bytes of a body, unless they are there, and its row."""

    @abstractmethod
    def mend(self, tx: Tx, owner: int, body: Body) -> None:
        """Within a write that saw a known event again: write the bytes that should be there and are not."""

    @abstractmethod
    def remove(self, scope: Scope | None, owner: int, hashes: list[bytes]) -> None:
        """Take the bytes of bodies whose rows were dropped or evicted in a transaction that is over."""

    @abstractmethod
    def tidy(self, scope: Scope) -> int:
        """Take away what a process that died left behind."""

    @abstractmethod
    def _content(self, tx: Tx, owner: int, body_hash: str) -> bytes | None: ...

    def _add(self, tx: Tx, owner: int, body: Body, stored: int, data: bytes | None) -> None:
        params = {"owner": owner, "hash": bytes.fromhex(body.hash), "media": body.media, "bytes": body.size}
        born = _clock(tx)[0]
        tx.run("capture.add_body", {**params, "stored": stored, "born": born, "data": data})

    def knows(self, tx: Tx, owner: int, body: Body) -> bool:
        """Whether there is a row of this body, its bytes evicted or not."""
        params = {"owner": owner, "hash": bytes.fromhex(body.hash)}
        return tx.run("capture.has_body", params).fetchone() is not None

    def get(self, scope: Scope, body_hash: str) -> bytes | None:
        """The bytes of a body; None when it was never there or was evicted."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            params = {**rows.params(), "hash": bytes.fromhex(body_hash)} if rows else {}
            found = tx.run("capture.body", params).fetchone() if rows else None
            return None if rows is None or found is None else self._content(tx, rows.owner, body_hash)

    def use(self, scope: Scope) -> list[RawUse]:
        """What each session's bodies take on disk, the oldest first; one that several share counts with the first."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            found = tx.run("capture.raw_use", rows.params())
            return [RawUse(session, size, bool(digested), born) for session, size, digested, born in found]

    def evict(self, scope: Scope, session: str, *, at: datetime, undigested: bool = False) -> Evicted:
        """Take the bytes of a session's bodies; tells how many were freed, and who lost some before its digest.

        Without `undigested` a session whose digest does not cover it is left alone, and so is a body that another such
        session shares: checked here, in the transaction, whatever the caller believed.
        """
        with self._db.write(scope) as tx:
            rows = tx.rows
            row = rows and tx.one("capture.session_row", {**rows.params(), "id": session})
            if not rows or not row:
                return Evicted(0, ())
            if not undigested and not tx.one("capture.is_digested", {"session": row}):
                return Evicted(0, ())
            params = {"session": row, "owner": rows.owner, "undigested": undigested}
            found = dict(tx.run("capture.evictable", params))
            lost: dict[str, None] = {}
            for body_hash in found:
                lost |= dict.fromkeys(
                    id_ for (id_,) in tx.run("capture.not_digested", {**rows.params(), "hash": body_hash})
                )
                tx.run("capture.evict", {"owner": rows.owner, "hash": body_hash, "at": iso(at)})
        self.remove(scope, rows.owner, list(found))
        return Evicted(sum(found.values()), tuple(lost))

    def damaged(self) -> list[str]:
        """The hashes of the bodies that are not what they were, or not there, of every owner."""
        bad: list[str] = []
        for scope in self._db.owners():
            with self._db.read(scope) as tx:
                rows: list[Any] = tx.run("capture.every_body").fetchall()
                bad += [found.hex() for owner, found in rows if not self._is_whole(tx, owner, found.hex())]
        return bad

    def _is_whole(self, tx: Tx, owner: int, body_hash: str) -> bool:
        try:
            return self._content(tx, owner, body_hash) is not None
        except StoreCorrupt:
            return False

    def tick(self, now: datetime) -> float:
        """Move the retention clock on to now and return it: never back, never more than a day at once."""
        with self._db.write(None) as tx:
            passed, last = _clock(tx)
            step = 0.0 if last is None else min(max(0.0, (now - last).total_seconds()), _DAY)
            tx.run("capture.set_clock", {"value": f"{passed + step} {iso(now)}"})
        return passed + step

    def sweep_unreferenced(self, tx: Tx, owner: int) -> list[bytes]:
        """Rows of bodies no event names any more are dropped; the caller removes their bytes after the commit."""
        gone = [body_hash for _, body_hash in tx.run("capture.unreferenced", {"owner": owner})]
        for body_hash in gone:
            tx.run("capture.drop_body", {"owner": owner, "hash": body_hash})
        return gone

    def _is_named(self, tx: Tx, owner: int, body_hash: bytes) -> bool:
        return tx.run("capture.is_named", {"owner": owner, "hash": body_hash}).fetchone() is not None


def packed(data: bytes) -> bytes:
    """The bytes of a body as they are stored."""
    import zstandard

    return zstandard.ZstdCompressor(level=3).compress(data)


def unpacked(stored: bytes, body_hash: str) -> bytes:
    """The bytes of a body again; StoreCorrupt when they are not what the hash says."""
    import zstandard

    try:
        data = zstandard.ZstdDecompressor().decompress(stored, max_output_size=MAX_BYTES)
    except zstandard.ZstdError as error:
        raise StoreCorrupt(f"the body {body_hash} is damaged ({error})") from None
    if hashlib.sha256(data).hexdigest() != body_hash:
        raise StoreCorrupt(f"the body {body_hash} does not match its hash")
    return data


def _clock(tx: Tx) -> tuple[float, datetime | None]:
    row = tx.run("capture.clock").fetchone()
    if row is None:
        return 0.0, None
    passed, _, at = row[0].partition(" ")
    return float(passed), from_iso(at)
