"""Whether a transcript changed since it was read, and how: unchanged, only grown, or written anew.

A file is known by device, inode, size, time, and the hashes of its first and last bytes. It has only grown when it is
the same file, longer, begins as before, and the bytes that were its last still stand where they stood; everything else
is read again from the start.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from recollect.capture.beneath import open_beneath
from recollect.capture.transcript import Source, Transcript
from recollect.errors import BadTranscript

HEAD, TAIL = 1024, 4096


def fingerprint(transcript: Transcript, source: Source) -> str:
    """What the transcript looks like from outside, or BadTranscript when it cannot be looked at."""
    stamp = getattr(source, "stamp", None)  # a session in a database has a stamp of its own
    if stamp is not None and transcript.part is not None:
        return str(stamp(transcript))
    return "|".join(_print(transcript.root, path) for path in transcript.files)


def only_grown(known: str, transcript: Transcript) -> bool:
    """Whether the one file of a transcript is what it was, with more behind it."""
    if len(transcript.files) != 1 or transcript.part is not None or "|" in known:
        return False
    try:
        device, inode, size, _, head, tail = known.split(":")
        with open_beneath(transcript.root, transcript.files[0]) as file:
            now, before = os.fstat(file.fileno()), int(size)
            same = (str(now.st_dev), str(now.st_ino)) == (device, inode)
            return same and now.st_size > before >= HEAD and _ends(file.fileno(), before) == (head, tail)
    except (ValueError, OSError, BadTranscript):
        return False


def _print(root: Path, path: Path) -> str:
    with open_beneath(root, path) as file:
        info = os.fstat(file.fileno())
        head, tail = _ends(file.fileno(), info.st_size)
    return f"{info.st_dev}:{info.st_ino}:{info.st_size}:{info.st_mtime_ns}:{head}:{tail}"


def _ends(handle: int, size: int) -> tuple[str, str]:
    head = os.pread(handle, min(HEAD, size), 0)
    tail = os.pread(handle, min(TAIL, size), max(0, size - TAIL))
    return _hash(head), _hash(tail)


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=12).hexdigest()
