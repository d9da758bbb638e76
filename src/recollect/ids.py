"""Identifiers: UUIDv7 for memories, stable keys for events.

A UUIDv7 sorts by the time it was made, and two made in one process are never out of order. An event key is a hash of
what the event *is* (flavor, session, native id or ordinal, kind), never of where its bytes lay, so the same event
captured twice by different ways is one event.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time

_lock = threading.Lock()
_last = 0
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def uuid7() -> str:
    """A new time-ordered UUID as text."""
    global _last
    with _lock:
        # 48 bits of milliseconds and 12 of sub-millisecond time; the counter never runs backwards.
        ticks = max(_last + 1, (time.time_ns() << 12) // 1_000_000)
        _last = ticks
    tail = int.from_bytes(os.urandom(8)) & ((1 << 62) - 1)
    value = ((ticks >> 12) & ((1 << 48) - 1)) << 80 | 0x7 << 76 | (ticks & 0xFFF) << 64 | 0b10 << 62 | tail
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def is_uuid(text: str) -> bool:
    """Whether `text` is a UUID as `uuid7` writes one, in either case."""
    return _UUID.fullmatch(text) is not None


def stable_key(*parts: str) -> str:
    """32 hex digits that depend on every part and on where one part ends and the next begins."""
    told = "\0".join(parts)
    if told.count("\0") == len(parts) - 1:
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    # A part holds the separator itself: the parts with their lengths, by another hash, so that the two never meet.
    told = "".join([f"{len(part)}:{part}" for part in parts])
    return hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
