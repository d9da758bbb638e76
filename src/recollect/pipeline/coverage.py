"""Coverage: the turns in agents' own files held against the turns in the store, session by session.

Nothing is taken on trust: the keys of the human prompts each file held are compared with the events that are there now,
and the files are looked at for what was not read yet. What is withheld on purpose is counted apart, never as covered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recollect.capture.cursor import fingerprint
from recollect.capture.sources import source
from recollect.capture.transcript import Transcript
from recollect.errors import BadTranscript
from recollect.model import Scope
from recollect.store.port import Store
from recollect.store.ports.capture import Covered
from recollect.store.ports.stats import WITHHELD


@dataclass(slots=True)
class SessionCoverage:
    """One session: turns on disk, turns stored and by which way they came, and every gap by name."""

    session: str
    flavor: str
    turns: set[str] = field(default_factory=set)  # by key, as are the next two
    stored_by: dict[str, str] = field(default_factory=dict)
    kept_out: set[str] = field(default_factory=set)
    on_disk: int = 0
    stored: int = 0
    withheld: int = 0
    forgotten: int = 0
    ways: Counter[str] = field(default_factory=Counter)
    files: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)

    @property
    def complete(self) -> bool:
        return not self.gaps

    def as_dict(self) -> dict[str, Any]:
        return {
            "session": self.session,
            "agent": self.flavor,
            "turns_on_disk": self.on_disk,
            "turns_stored": self.stored,
            "withheld": self.withheld,
            "forgotten": self.forgotten,
            "ways": dict(self.ways),
            "gaps": self.gaps,
            "notes": dict(self.notes),
            "files": self.files,
            "files_gone": gone(self),  # then what is stored is all there is
        }


@dataclass(slots=True)
class Coverage:
    """All sessions, and the sums."""

    sessions: list[SessionCoverage]
    unread: list[str]  # files that are new or changed since the last sweep
    failed: list[dict[str, str]]
    missed_hooks: int = 0
    refused_records: int = 0
    waiting_records: int = 0

    def totals(self) -> dict[str, Any]:
        """The sums over all sessions; a turn that a fork or a copy holds too counts once."""
        on_disk: set[str] = set()
        stored: dict[str, str] = {}
        kept_out: set[str] = set()
        withheld: Counter[str] = Counter()
        for each in self.sessions:
            on_disk |= each.turns
            stored |= each.stored_by
            kept_out |= each.kept_out
            withheld.update({name[len(WITHHELD) :]: n for name, n in each.notes.items() if name.startswith(WITHHELD)})
        due = len(on_disk) - len(kept_out)
        return {
            "sessions": len(self.sessions),
            "turns_on_disk": len(on_disk),
            "turns_stored": len(stored),
            "turns_withheld": len(kept_out),
            "percent": round(100 * len(stored) / due, 2) if due else 100.0,
            "ways": dict(Counter(stored.values())),
            "withheld": dict(withheld),
            "gaps": sum(len(each.gaps) for each in self.sessions),
            "lines_not_understood": sum(each.notes["bad_lines"] for each in self.sessions),
            "unread_files": len(self.unread),
            "failed_files": len(self.failed),
        }


def coverage(store: Store, scope: Scope, transcripts: Iterable[Transcript]) -> Coverage:
    """Hold what was read against what is there, and look for files that were not read."""
    known = store.captures.coverage(scope.within(None))
    by_name = {each.seen.name: each for each in known}
    found = Coverage(sessions=_sessions(known), unread=[], failed=[])
    for transcript in transcripts:
        if not transcript.files:
            found.failed.append({"transcript": transcript.name, "error": transcript.native})
            continue
        each = by_name.get(transcript.name)
        if each is None or _changed(transcript, each):
            found.unread.append(transcript.name)
    for each in known:
        if each.seen.state == "failed" and Path(each.seen.name.partition("#")[0]).exists():
            found.failed.append({"transcript": each.seen.name, "error": each.seen.error or ""})
    return found


def _changed(transcript: Transcript, covered: Covered) -> bool:
    try:
        mark = fingerprint(transcript, source(transcript.flavor))
    except (BadTranscript, OSError):
        return covered.seen.state != "failed"
    return covered.seen.state != "failed" and covered.seen.fingerprint.partition("#")[0] != mark.partition("#")[0]


def _sessions(known: list[Covered]) -> list[SessionCoverage]:
    """Transcripts of one session together: what two files both hold counts once."""
    groups: dict[str, list[Covered]] = {}
    for each in known:
        if each.seen.session and each.seen.state != "empty":
            groups.setdefault(each.seen.session, []).append(each)
    return [_together(session, group) for session, group in groups.items()]


def _together(session: str, group: list[Covered]) -> SessionCoverage:
    result = SessionCoverage(session, group[0].seen.flavor)
    turns = {key for each in group for key in each.seen.turns}
    missing = {key for each in group for key in each.missing}
    withheld = {key for each in group for key in each.seen.withheld}
    ways = {key: way for each in group for key, way in each.ways.items()}
    forgotten = turns - missing - withheld - ways.keys()
    result.turns, result.stored_by, result.kept_out = turns, ways, (withheld - ways.keys()) | forgotten
    result.on_disk, result.withheld, result.stored = len(turns), len(withheld - ways.keys()), len(ways)
    result.forgotten = len(forgotten)
    result.ways.update(ways.values())
    for each in group:
        result.files.append(each.seen.name)
        result.notes.update(each.seen.counts)
        if each.seen.state == "failed":
            result.gaps.append(f"could not be read: {each.seen.error}")
        if each.seen.state == "reading":
            result.gaps.append("reading it was interrupted; the next sweep carries on")
    if result.notes["oversized_lines"]:
        result.gaps.append(f"{result.notes['oversized_lines']} lines are too long to be read")
    if missing:
        result.gaps.append(f"{len(missing)} of {len(turns)} turns are not stored: {', '.join(sorted(missing)[:5])}")
    return result


def gone(result: SessionCoverage) -> bool:
    """Whether none of the session's files is on disk any more: what is stored is all there is."""
    return not any(Path(name.partition("#")[0]).exists() for name in result.files)
