"""What hooks left in the spool: each record points at a transcript, which is read; then the record is done.

A record is taken away only after what it points to is stored, so whoever dies in between leaves it to the next one, and
reading a transcript twice adds nothing. A hook of a session that writes no transcript brings the words itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from recollect.capture.notice import Notice, notice_of
from recollect.capture.privacy import is_observer
from recollect.capture.sources import source
from recollect.capture.spool import BadRecord, Spool
from recollect.capture.transcript import Reading, Transcript
from recollect.clock import Clock
from recollect.errors import InvalidInput
from recollect.model import Event, Scope
from recollect.pipeline.digests import make_digests
from recollect.pipeline.ingest import Ingest
from recollect.pipeline.roots import roots_of
from recollect.pipeline.sweep import Report, privacy_for
from recollect.project import resolve
from recollect.settings import Settings
from recollect.store.port import Store


@dataclass(slots=True)
class Drained:
    """What one round over the spool did."""

    busy: bool = False
    records: int = 0
    refused: int = 0
    missing: list[str] = field(default_factory=list)  # sessions whose transcript was not where the hook said
    report: Report = field(default_factory=Report)


def drain(store: Store, scope: Scope, settings: Settings, clock: Clock) -> Drained:
    """Read every waiting record once; `busy` when another process is at it."""
    spool = Spool(settings.data_dir)
    with spool.alone() as mine:
        if not mine:
            return Drained(busy=True)
        return _Draining(store, scope, settings, clock, spool).run()


def forget_records(settings: Settings, *, session: str | None = None, project: str | None = None) -> int:
    """Take away the waiting records of a session, or of a project, or all; returns how many.

    Those that were refused go too: nobody can say whose they are.
    """
    spool = Spool(settings.data_dir)
    gone = 0
    for path in spool.all():
        if path.parent == spool.folder and (session or project):
            try:
                notice = notice_of(spool.read(path))
            except (BadRecord, OSError):
                notice = None  # torn or forged: it may be anybody's
            if notice is not None and session is not None and notice.session != session:
                continue
            if notice is not None and session is None and _project(notice, settings) != project:
                continue
        spool.finish(path)
        gone += 1
    return gone


def _project(notice: Notice, settings: Settings) -> str | None:
    return resolve(Path(notice.cwd), settings.projects).name if notice.cwd else None


class _Draining:
    """One round: the transcripts that were told of, each read once however many records name it."""

    def __init__(self, store: Store, scope: Scope, settings: Settings, clock: Clock, spool: Spool) -> None:
        self._store, self._scope, self._settings, self._clock, self._spool = store, scope, settings, clock, spool
        self._privacy = privacy_for(store, scope, settings)
        self._ingest = Ingest(store, scope, settings, self._privacy, clock, way="hook")
        self._done = Drained()
        self._read: set[str] = set()
        self._sessions: dict[str, None] = {}  # those that were told of or read: a record of a subagent names the parent

    def run(self) -> Drained:
        finished: list[Path] = []
        for path in self._spool.waiting():
            try:
                notice = notice_of(self._spool.read(path))
            except BadRecord as error:
                self._spool.refuse(path, str(error))
                self._done.refused += 1
                continue
            except OSError:
                continue  # trouble of the machine: the record waits
            if notice is not None:
                self._sessions[notice.session] = None
                self._follow(notice)
            self._done.records += 1
            finished.append(path)
        self._done.report.digests(*make_digests(self._store, self._scope.within(None), self._sessions, self._clock))
        for path in finished:
            self._spool.finish(path)
        return self._done

    def _follow(self, notice: Notice) -> None:
        found = list(_transcripts(notice, self._settings))
        for transcript in found:
            if transcript.name not in self._read:
                self._read.add(transcript.name)
                result = self._ingest.take(transcript)
                self._done.report.add(transcript, result)
                if result.state == "read" and result.session is not None:
                    self._sessions[result.session] = None
        if not found and notice.transcript is None:
            self._record_words(notice)
        elif not found and notice.event in ("stop", "session_end", "subagent_stop"):
            self._done.missing.append(notice.session)

    def _record_words(self, notice: Notice) -> None:
        """A session without a transcript: what the hook was told is all there will ever be."""
        flavor, _, native = notice.session.partition(":")
        child = notice.agent_id
        nowhere = Transcript(flavor, Path("/"), Path("/"), f"{native}/agent-{child}" if child else native, ())
        reading = Reading(nowhere, self._clock(), "hook", cwd=notice.cwd)
        if child:
            reading.parent, reading.relation = notice.session, "subagent"
        said = (
            ("user_prompt", "user", "assistant" if child else "user", notice.prompt),
            ("assistant_text", "assistant", "assistant", notice.last_assistant_message),
        )
        native_id = (reading.native, "hook", notice.turn or notice.at.isoformat())
        events = [
            reading.event(kind, role, origin, text, notice.at, native_id) for kind, role, origin, text in said if text
        ]
        if not events or self._ingest.refuses(reading) or is_observer(events[0].text):
            return
        scope = self._scope.within(None)
        if not notice.prompt and self._store.sessions.get(scope, reading.session) is None:
            return  # an answer whose prompt was not kept: that of an observer, or lost
        privacy = self._privacy()
        clean: list[Event] = [self._ingest.inline(privacy.clean(event)) for event in events]
        facts = replace(reading.as_session(), project=self._ingest.project(reading))
        done = self._store.captures.ingest(scope, facts, clean)
        self._sessions[reading.session] = None
        self._done.report.events_added += done.added


def _transcripts(notice: Notice, settings: Settings) -> Iterator[Transcript]:
    """The transcripts a notice speaks of, found by looking where this agent keeps them: a path is only a claim."""
    try:
        agent = source(notice.flavor)
    except InvalidInput:
        return
    native = notice.session.partition(":")[2]
    named = {Path(path) for path in (notice.transcript, notice.agent_transcript) if path}
    for root in roots_of(notice.flavor, settings):
        real = root.resolve()
        for transcript in agent.discover(root):
            places = {transcript.path, *transcript.files}
            places |= {real / place.relative_to(root) for place in places if place.is_relative_to(root)}
            if named & places or transcript.native == native or transcript.native.startswith(f"{native}/"):
                yield transcript
