"""What hooks left in the spool: each record points at a transcript, which is read; then the record is done.

A record is taken away only after what it points to is stored, so whoever dies in between leaves it to the next one, and
reading a transcript twice adds nothing. A hook of a session that writes no transcript brings the words itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from recollect.capture.notice import Notice, notice_of
from recollect.capture.privacy import is_observer
from recollect.capture.sources import FLAVORS
from recollect.capture.spool import BadRecord, Spool
from recollect.capture.transcript import Reading, Transcript
from recollect.clock import Clock
from recollect.distill.digest import DIGEST_VERSION
from recollect.model import Event, Scope
from recollect.pipeline.digests import make_digests
from recollect.pipeline.ingest import Ingest
from recollect.pipeline.roots import roots_of, under
from recollect.pipeline.showing import confirm_use, forget_shown, take_shown
from recollect.pipeline.sweep import Report, privacy_for
from recollect.project import resolve
from recollect.settings import Settings
from recollect.store.port import Store

GRACE = timedelta(minutes=10)  # how long a transcript that was told of may take to appear


@dataclass(slots=True)
class Drained:
    """What one round over the spool did."""

    busy: bool = False
    records: int = 0
    refused: int = 0
    waiting: int = 0  # records whose transcript is not there yet
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
    if session is not None or project is None:
        forget_shown(settings, session)
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
        self._found: dict[str, list[tuple[Transcript, set[Path]]]] = {}
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
            if notice is not None and not self._follow(notice):
                self._done.waiting += 1
                continue
            self._done.records += 1
            finished.append(path)
        scope = self._scope.within(None)
        shown = take_shown(self._store, scope, self._settings, self._clock())
        due = [one for one in self._store.digests.due(scope, version=DIGEST_VERSION) if one in self._sessions]
        self._done.report.digests(*make_digests(self._store, scope, due, self._clock))
        for session in sorted(shown - set(due)):
            if (digest := self._store.digests.get(scope, session)) is not None:
                confirm_use(self._store, scope, digest)
        for path in finished:
            self._spool.finish(path)
        return self._done

    def _follow(self, notice: Notice) -> bool:
        """Read what a notice speaks of; False when it is not there and may still come."""
        found = [each for each in self._transcripts(notice.flavor) if _is_of(notice, *each)]
        if not found and notice.transcript is not None and abs(self._clock() - notice.at) < GRACE:
            return False
        self._sessions[notice.session] = None
        for transcript, _ in found:
            if transcript.name not in self._read:
                self._read.add(transcript.name)
                result = self._ingest.take(transcript)
                self._done.report.add(transcript, result)
                if result.state == "read" and result.session is not None:
                    self._sessions[result.session] = None
        if not found:
            self._record_words(notice)
            if notice.transcript is not None and notice.session not in self._done.missing:
                self._done.missing.append(notice.session)
        return True

    def _transcripts(self, flavor: str) -> list[tuple[Transcript, set[Path]]]:
        """Every transcript of an agent with the paths it may be called by; looked for once a round."""
        if flavor not in self._found:
            self._found[flavor] = list(_everywhere(flavor, self._settings))
        return self._found[flavor]

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


def _is_of(notice: Notice, transcript: Transcript, places: set[Path]) -> bool:
    """Whether a notice speaks of this transcript. The path it gives is only a claim: it is never opened as such."""
    native = notice.session.partition(":")[2]
    named = {Path(path) for path in (notice.transcript, notice.agent_transcript) if path}
    return bool(named & places) or transcript.native == native or transcript.native.startswith(f"{native}/")


def _everywhere(flavor: str, settings: Settings) -> Iterator[tuple[Transcript, set[Path]]]:
    """The transcripts where this agent keeps them, each with its paths as written and as they really are."""
    if flavor not in FLAVORS:
        return
    for root in roots_of(flavor, settings):
        real = root.resolve()
        for transcript in under(flavor, root):
            places = {transcript.path, *transcript.files}
            places |= {real / place.relative_to(root) for place in places if place.is_relative_to(root)}
            yield transcript, places
