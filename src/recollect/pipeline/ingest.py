"""One transcript into the store: read, cleaned, kept in batches, and written down as read, each step safe to repeat.

Whatever dies on the way, the next time finds the transcript unread and every event that made it already there. Memory
is bounded by the batch, not by the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from recollect.capture import bodies
from recollect.capture.cursor import fingerprint, only_grown
from recollect.capture.lines import records
from recollect.capture.prices import priced
from recollect.capture.privacy import Choice, Privacy, is_observer
from recollect.capture.sources import FLAVORS, source
from recollect.capture.transcript import Reading, Source, Transcript
from recollect.clock import Clock
from recollect.errors import BadTranscript, StoreError
from recollect.ids import stable_key
from recollect.model import DELEGATED, MAX_ID_CHARS, Cost, Event, Scope, Session
from recollect.project import Project, normalise_remote, resolve
from recollect.settings import Settings
from recollect.store.port import Store
from recollect.store.ports.capture import Ingested, Seen
from recollect.store.ports.stats import WITHHELD

BATCH_EVENTS, BATCH_CHARS = 5_000, 12_000_000
LIVE_REQUESTS = 200  # of a growing log, the requests whose usage may still grow
_SNIFFED = 20  # records looked at to see whose file it is


@dataclass(slots=True)
class Result:
    """What became of one transcript."""

    state: str  # unchanged, read, withheld, empty or failed
    session: str | None = None
    error: str | None = None
    added: int = 0
    changed: int = 0
    known: int = 0
    turns: int = 0
    counts: Counter[str] = field(default_factory=Counter)


class Ingest:
    """Takes transcripts in, for one scope."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        settings: Settings,
        privacy: Callable[[], Privacy],
        clock: Clock,
        *,
        way: str = "sweep",
        dry_run: bool = False,
        again: bool = False,
    ) -> None:
        self._store = store
        self._scope = scope.within(None)
        self._settings = settings
        self._privacy = privacy
        self._clock = clock
        self._way = way
        self._dry_run = dry_run
        self._again = again  # read files that did not change, too
        self._choice = Choice(settings.capture_off, settings.capture_only)
        self._projects: dict[tuple[str | None, str | None], str | None] = {}

    def take(self, transcript: Transcript) -> Result:
        """One transcript. What is wrong with it is in the result; only a store that fails raises."""
        if not transcript.files:  # a place that could not be looked into: nothing to remember
            return Result("failed", error=transcript.native)
        try:
            mark = fingerprint(transcript, source(transcript.flavor))
            seen = self._store.captures.seen(self._scope, transcript.name)
            unchanged = seen is not None and seen.fingerprint == self.mark(mark, seen.state)
            if seen is not None and unchanged and seen.state != "failed" and not self._again:
                return Result("unchanged", seen.session)
            return self._read(transcript, mark, seen)
        except StoreError:
            raise
        except (BadTranscript, OSError) as error:
            return self._failed(transcript, str(error))
        except Exception as error:  # a fault of ours in one source must not cost the other files
            return self._failed(transcript, f"unexpected {type(error).__name__}")  # its text may quote the transcript

    def _read(self, transcript: Transcript, mark: str, seen: Seen | None) -> Result:
        reader = sniffed(transcript, self._clock())
        reading = Reading(transcript, self._clock(), self._way, flavor=reader.flavor)
        before = seen if seen is not None and self._follows(seen, transcript, reader) else None
        batch = _Batch(self, reading, self._privacy(), before)
        for item in reader.read(reading):
            batch.put(item)
        return batch.close(mark)

    def _follows(self, seen: Seen, transcript: Transcript, reader: Source) -> bool:
        """Whether only what stands behind the part that was read has to be kept."""
        appended = seen.state == "read" and not self._again and getattr(reader, "appends", False)
        return appended and only_grown(seen.fingerprint, transcript)

    def _failed(self, transcript: Transcript, error: str) -> Result:
        known = self._store.captures.seen(self._scope, transcript.name)
        gone = bool(transcript.files) and not any(path.exists() for path in transcript.files)
        if gone and known is None:
            return Result("empty")  # it vanished before anything of it was read
        if not self._dry_run and not gone:
            now = self._clock()
            failed = Seen(transcript.name, transcript.flavor, None, "failed", now, self._way, error[:500])
            if known is not None:  # what was read before stays written down
                failed = replace(known, state="failed", error=error[:500], fingerprint="")
            self._store.captures.note(self._scope, failed)
        return Result("failed", known.session if known else None, error)

    def project(self, reading: Reading) -> str | None:
        """The project of a session: an alias for its directory, else its repository, else the directory."""
        place = reading.cwd, reading.repository
        if place not in self._projects:
            found = self._resolved(reading.cwd)
            self._projects[place] = found.name if found else None
            if reading.repository and (found is None or found.rule == "directory"):
                self._projects[place] = normalise_remote(reading.repository)[:MAX_ID_CHARS]
        return self._projects[place]

    def _resolved(self, cwd: str | None) -> Project | None:
        """The project of a directory as an agent wrote it; one that is no absolute path here has none."""
        if not cwd or not Path(cwd).is_absolute():
            return None
        try:
            return resolve(Path(cwd), self._settings.projects)
        except (OSError, ValueError):  # too long, or not a path at all
            return None

    def mark(self, fingerprint: str, state: str) -> str:
        """What is remembered of a transcript; one that was withheld is looked at again when the choice changes."""
        return f"{fingerprint}#{stable_key(repr(self._choice))[:12]}" if state == "withheld" else fingerprint

    def refuses(self, reading: Reading) -> str | None:
        """Why nothing of this session is kept, if so."""
        if reading.ours:
            return "ours"
        if not self._choice.allows(reading.flavor, self.project(reading), reading.cwd):
            return "switched off"
        family = [reading.session]
        if reading.parent and reading.relation in DELEGATED:
            family.append(reading.parent)  # what a forgotten session delegated is forgotten with it
        return "forgotten" if any(self._store.keeping.forgotten(self._scope, one) for one in family) else None

    def keep(self, session: Session, events: list[Event], costs: list[Cost], seen: Seen) -> Ingested:
        """Store a batch. Where lines once written stay, the first reading of one holds: agents also cut old ones."""
        if self._dry_run:
            return Ingested()
        changes = not getattr(source(session.flavor), "appends", False)
        return self._store.captures.ingest(self._scope, session, events, costs, transcript=seen, changes=changes)

    def note(self, seen: Seen) -> None:
        if not self._dry_run:
            self._store.captures.note(self._scope, seen)

    def price(self, cost: Cost) -> Cost:
        return priced(cost, self._settings.prices)

    def inline(self, event: Event) -> Event:
        """The event with a text too big for a row kept apart."""
        text, body = bodies.cut(event.text, self._settings.raw_inline_bytes)
        return event if body is None else replace(event, text=text, bodies=(*event.bodies, body))


class _Batch:
    """The events of one transcript on their way into the store."""

    def __init__(self, ingest: Ingest, reading: Reading, privacy: Privacy, before: Seen | None) -> None:
        self._ingest = ingest
        self._reading = reading
        self._privacy = privacy
        self._skip_to = before.complete_to if before else 0
        self._before = {name: n for name, n in before.counts.items() if name.startswith(WITHHELD)} if before else {}
        self._events: list[Event] = []
        self._costs: list[Cost] = []
        self._chars = 0
        self._turns: list[str] = []
        self._result = Result("read")
        self._prompted = False

    def put(self, item: Event | Cost) -> None:
        if type(item) is Cost:
            self._costs.append(item)
            return
        assert isinstance(item, Event)
        if item.role == "user":
            self._turns.append(item.key)
            if not self._prompted:
                self._prompted = True
                self._reading.ours = self._reading.ours or is_observer(item.text)
        if item.raw is not None and item.raw.at < self._skip_to:
            self._privacy.look(item)
            return
        self._events.append(item)
        self._chars += len(item.text) + sum(body.size for body in item.bodies)
        full = len(self._events) >= BATCH_EVENTS or self._chars >= BATCH_CHARS
        # Whether a session may be kept hangs on where it ran, so a batch waits a while for that to be told.
        if full and (self._reading.cwd or self._chars >= 4 * BATCH_CHARS):
            self._flush("reading", "")

    def close(self, mark: str) -> Result:
        result, reading = self._result, self._reading
        if not self._turns and not self._events and not self._costs and not result.added + result.known:
            result.state = "empty"
        elif why := self._ingest.refuses(reading):
            result.state = "withheld"
            self._privacy.counts[why] += len(self._turns)
        result.session, result.turns = reading.session, len(self._turns)
        if result.state == "read":
            self._flush("read", mark)
        else:
            self._ingest.note(self._seen(result.state, mark))
        result.counts = self._counts() - Counter(self._before)  # what was counted before is no news
        return result

    def _counts(self) -> Counter[str]:
        withheld = {f"{WITHHELD}{name}": found for name, found in self._privacy.counts.items()}
        return self._reading.counts + Counter(withheld) + Counter(self._before)

    def _flush(self, state: str, mark: str) -> None:
        if state == "reading" and self._ingest.refuses(self._reading):
            self._events, self._chars = [], 0
            return
        clean = [self._ingest.inline(self._privacy.clean(event)) for event in self._events]
        facts = self._reading.as_session()
        facts = replace(facts, title=self._privacy.line(facts.title), project=self._ingest.project(self._reading))
        # An event can come before the record that says whose session it is.
        clean = [e if e.session == facts.id else replace(e, session=facts.id) for e in clean]
        # Where lines stay, so do the costs of all but the last requests.
        costs = self._costs[-LIVE_REQUESTS:] if self._skip_to else self._costs
        costs = [self._ingest.price(cost) for cost in costs]
        done = self._ingest.keep(facts, clean, costs, self._seen(state, mark))
        self._result.added += done.added
        self._result.changed += done.changed
        self._result.known += done.known
        self._events, self._costs, self._chars = [], [], 0

    def _seen(self, state: str, mark: str) -> Seen:
        reading = self._reading
        turns = tuple(self._turns)
        return Seen(
            name=reading.transcript.name,
            flavor=reading.flavor,
            session=reading.session,
            state=state,
            read_at=reading.now,
            way=reading.way,
            fingerprint=self._ingest.mark(mark, state),
            complete_to=reading.complete_to,
            turns=turns,
            withheld=turns if state == "withheld" else (),
            counts=dict(self._counts()),
        )


def sniffed(transcript: Transcript, now: datetime) -> Source:
    """Whose transcript this is: that of the agent in whose folder it lies, unless its records say another's."""
    own = source(transcript.flavor)
    if transcript.part is not None or transcript.path.suffix not in (".jsonl", ".zst"):
        return own
    probe = Reading(transcript, now)
    first = [record for record, _ in zip(records(probe), range(_SNIFFED), strict=False)]
    if not first or any(own.recognises(record) for record in first):
        return own
    for flavor in FLAVORS:
        if flavor != transcript.flavor and any(source(flavor).recognises(record) for record in first):
            return source(flavor)
    return own
