"""Backfill: an agent's old sessions, chosen by project, by session or by number, with their original times.

It is a sweep that reads what was read before too, and says so in each event's `way`; what is there already stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from recollect.capture.sources import source
from recollect.capture.transcript import Reading, Transcript
from recollect.clock import Clock
from recollect.errors import InvalidInput, NotFound
from recollect.model import Scope
from recollect.pipeline.ingest import Ingest, sniffed
from recollect.pipeline.roots import discover
from recollect.pipeline.sweep import Progress, Report, privacy_for, sweep
from recollect.settings import Settings
from recollect.store.port import Store

_PEEKED = 200  # events read to learn where a session ran


def backfill(
    store: Store,
    scope: Scope,
    settings: Settings,
    clock: Clock,
    agent: str,
    *,
    project: str | None = None,
    session: str | None = None,
    limit: int | None = None,
    dry_run: bool = False,
    progress: Progress = lambda done, total, name: None,
) -> Report:
    """The newest `limit` sessions of an agent that fit, each with its subagents, oldest of them first."""
    source(agent)  # an unknown agent is an error before anything is read
    if limit is not None and limit < 1:
        raise InvalidInput("the number of sessions must be at least 1")
    newest = reversed(list(discover(settings, {agent: []})))
    privacy = privacy_for(store, scope, settings, dry_run=True)
    ingest = Ingest(store, scope, settings, privacy, clock, way="backfill", dry_run=True)
    fitting = (each for each in newest if _fits(each, ingest, clock, project, session))
    chosen = list(reversed(list(_newest(fitting, limit))))
    if not chosen and (project or session):
        raise NotFound(
            f"no {agent} session fits", hint="`recollect backfill AGENT --dry-run` without a filter counts them all."
        )
    return sweep(store, scope, settings, clock, chosen, way="backfill", dry_run=dry_run, again=True, progress=progress)


def _newest(transcripts: Iterator[Transcript], limit: int | None) -> Iterator[Transcript]:
    """Those of the first `limit` sessions; a subagent belongs to its session."""
    sessions: set[str] = set()
    for transcript in transcripts:
        root = transcript.native.partition("/")[0]
        if limit is None or root in sessions or len(sessions) < limit:
            sessions.add(root)
            yield transcript


def _fits(transcript: Transcript, ingest: Ingest, clock: Clock, project: str | None, session: str | None) -> bool:
    named = session is None or _is_of(transcript.native, session)
    if project is None and named:
        return True
    try:
        reading = peeked(transcript, clock)
    except Exception:  # what cannot be read says nothing of itself
        return False
    if session is not None and not named and not _is_of(reading.native, session):  # the name of a file need not tell
        return False
    if project is None:
        return True
    wanted = {project, str(Path(project).expanduser().absolute())}
    return ingest.project(reading) in wanted or (reading.cwd or "") in wanted


def _is_of(native: str, session: str) -> bool:
    """Whether a transcript is this session or a subagent of it; `session` is an id with or without its agent."""
    return any(native == one or native.startswith(f"{one}/") for one in (session, session.partition(":")[2]) if one)


def peeked(transcript: Transcript, clock: Clock) -> Reading:
    """The beginning of a transcript, read for what the session is."""
    reader = sniffed(transcript, clock())
    reading = Reading(transcript, clock(), flavor=reader.flavor)
    events: Iterator[object] = reader.read(reading)
    for _ in islice(events, _PEEKED):
        if reading.cwd:
            break
    return reading
