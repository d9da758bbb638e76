"""The history of its parent that a forked session or a subagent begins with, and where its own part begins.

What the session's meta says and the records after it come in; for each, whether it is copied goes out. A copied record
is never told, nor what it cost: the copy has new times, so its records cannot be known again as the parent's, whose own
file tells it all.

Where the own part begins shows, best first, by an ordinal in the meta, by the turns in the parent's file, or by the way
a copy is written: in one burst, and then there is a pause.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from recollect.capture.lines import records
from recollect.capture.sources.codexfiles import THREAD_ID, flavor, is_rollout
from recollect.capture.transcript import Reading, Transcript, dict_of, moment, text_of, whole
from recollect.errors import BadTranscript

_BURST = timedelta(milliseconds=250)  # a copied history is written at once: no two of its records are this far apart
_NO_CONTEXT = tuple(b'"type":"%s"' % name for name in (b"response_item", b"event_msg", b"session_meta", b"compacted"))


class CopiedHistory:
    """What is known of the copy while it goes by."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.here = False  # the records in hand are copied
        self.start: int | None = None  # the ordinal at which the session's own records begin, if its meta has it
        self.theirs: frozenset[str] = frozenset()  # the parent's turns
        self.own_from: int | None = None  # the ordinal, or else the offset, at which the session's own records begin

    def begin(self, parent: str) -> None:
        """From here on records are the parent's."""
        self.here, self.own_from = True, self.start
        if self.start is None:
            self.theirs = _turns(self.reading, parent)
            self.own_from = None if self.theirs else _own_part(self.reading)

    def holds(self, record: Mapping[str, Any], payload: Mapping[str, Any]) -> bool:
        """Whether a record still belongs to the copy."""
        if self.theirs:
            opens = record.get("type") == "turn_context" or payload.get("type") == "task_started"
            turn = payload.get("turn_id") if opens else None
            self.here = not isinstance(turn, str) or turn in self.theirs
        elif self.own_from is not None:
            here = self.reading.at if self.start is None else whole(record.get("ordinal"))
            self.here = here < self.own_from
        return self.here


def _turns(reading: Reading, thread: str) -> frozenset[str]:
    """The turns in the file of another thread under the same root; none when there is no such file."""
    root = reading.transcript.root
    if not THREAD_ID.fullmatch(thread):
        return frozenset()
    for path in sorted(root.rglob(f"*{thread}*.jsonl*")):
        if path != reading.transcript.path and is_rollout(path.name):
            info = path.stat()
            return _turns_in(root, path, info.st_mtime_ns, info.st_size)
    return frozenset()


@lru_cache(maxsize=16)
def _turns_in(root: Path, path: Path, changed: int, size: int) -> frozenset[str]:
    """Cached for as long as the file is the same: a session that starts many others is asked for each of them."""
    scan = Reading(Transcript(flavor, root, path, "", (path,)), datetime.now(UTC))
    try:
        found = [record for record in records(scan, noise=_NO_CONTEXT) if record.get("type") == "turn_context"]
        payloads = [dict_of(record.get("payload")) for record in found]
    except BadTranscript:
        return frozenset()
    return frozenset(turn for turn in (text_of(payload.get("turn_id")) for payload in payloads) if turn)


def _own_part(reading: Reading) -> int | None:
    """The offset at which a session with a copied history begins to be itself, without the parent's file to tell it:
    the copy was written in one go, and a turn opened at its end is the session's own. None when nothing follows."""
    scan = Reading(reading.transcript, reading.now)
    before: datetime | None = None
    opened: int | None = None  # a turn was opened here, and nothing was answered since
    for record in records(scan):
        time = moment(record.get("timestamp"))
        if time and before and time - before >= _BURST:
            return scan.at if opened is None else opened
        before = time or before
        payload = dict_of(record.get("payload"))
        kind = payload.get("type")
        if kind == "task_started":
            opened = scan.at
        elif kind not in (None, "token_count", "user_message") and payload.get("role") is None:
            opened = None
    return opened
