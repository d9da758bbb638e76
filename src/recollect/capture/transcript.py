"""What a source gives: where an agent's sessions lie, and each of them as events and costs.

A `Source` is one agent. `discover` finds its transcripts under a root without reading them; `read` walks one from the
beginning and yields events and costs in order, while it writes what the session *is* (cwd, models, title …) into the
`Reading`. A source never raises for what a file holds: bad lines are counted and skipped, unknown records ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from recollect.ids import stable_key
from recollect.model import Body, Cost, Event, Raw, Session
from recollect.text import storable

_NOTHING: Mapping[str, Any] = {}
MAX_TITLE_CHARS = 200


@dataclass(frozen=True, slots=True)
class Transcript:
    """One session as its agent wrote it, not read yet.

    `path` names it (a file, a directory, or a database with `part` the session in it); `files` are all files it is read
    from. `native` is the agent's id for it as far as the name tells; reading may correct it.
    """

    flavor: str
    root: Path
    path: Path
    native: str
    files: tuple[Path, ...]
    part: str | None = None

    @property
    def name(self) -> str:
        """What it is remembered by."""
        return f"{self.path}#{self.part}" if self.part else str(self.path)


@dataclass(slots=True)
class Reading:
    """A transcript being read: what the session is, what was counted, and which record is in hand."""

    transcript: Transcript
    now: datetime
    way: str = "sweep"
    native: str = ""
    title: str | None = None
    cwd: str | None = None
    branch: str | None = None
    commit: str | None = None
    repository: str | None = None
    agent_version: str | None = None
    interactive: bool | None = None
    parent: str | None = None  # session id of the parent
    relation: str = "root"
    ours: bool = False  # made by a memory tool (ours or another), not by a person: not to be captured
    models: dict[str, None] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    complete_to: int = 0  # end of the last whole line of the file being read
    at: int = 0  # offset and length of the record in hand
    size: int = 0
    file: str = ""
    flavor: str = ""
    _title_rank: int = -1
    _last_time: datetime | None = None
    _again: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.native = self.native or self.transcript.native
        self.flavor = self.flavor or self.transcript.flavor
        self.file = self.file or str(self.transcript.path)

    @property
    def session(self) -> str:
        return f"{self.flavor}:{self.native}"

    def event(
        self,
        kind: str,
        role: str,
        origin: str,
        text: str,
        at: datetime | None,
        native: tuple[str, ...],
        meta: Mapping[str, Any] = _NOTHING,
        bodies: tuple[Body, ...] = (),
    ) -> Event:
        """An event of this session. `native` is the record's own identity (see `again` for records that have none).

        Without a time of its own an event has that of the one before it, or the file's.
        """
        if at is None:
            at = self._last_time or self.file_time()
            meta = {**meta, "time": "inferred" if self._last_time else "file"}
        else:
            self._last_time = at
        key = stable_key(self.flavor, kind, *native)
        return Event(
            *(key, self.session, kind, role, origin, storable(text), at, self.now, 0, meta, self.way),
            Raw(self.file, self.at, self.size),
            bodies,
        )

    def again(self, *native: str) -> tuple[str, ...]:
        """An identity that may occur several times, with how often it occurred before: for records without an id."""
        name = "\0".join(native)
        self._again[name] += 1
        return (*native, str(self._again[name]))

    def cost(self, native: tuple[str, ...], at: datetime | None, model: object, **buckets: Any) -> Cost:
        """What a request took, by its native identity. Buckets that are not whole numbers above zero count as zero."""
        usd = buckets.pop("usd", None)
        known = isinstance(usd, int | float) and not isinstance(usd, bool) and 0 <= usd < 1e6
        clean = {name: whole(value) for name, value in buckets.items()}
        return Cost(
            stable_key(self.flavor, "cost", *native),
            self.session,
            at or self._last_time or self.file_time(),
            self.model(model),
            **clean,
            usd=float(usd) if known else None,
            usd_source="reported" if known else "none",
        )

    def model(self, name: object) -> str | None:
        """Note a model that was used."""
        if not isinstance(name, str) or not name.strip() or name.startswith("<"):
            return None
        name = storable(name.strip())[:100]
        self.models[name] = None
        return name

    def titled(self, title: object, rank: int = 0) -> None:
        """A title; the one with the highest rank holds, and of the same rank the last."""
        if isinstance(title, str) and title.strip() and rank >= self._title_rank:
            self.title, self._title_rank = storable(" ".join(title.split()))[:MAX_TITLE_CHARS], rank

    def file_time(self) -> datetime:
        """When the file was last changed: the best there is for records without a time."""
        try:
            return datetime.fromtimestamp(self.transcript.files[0].stat().st_mtime, UTC)
        except (OSError, IndexError, OverflowError, ValueError):
            return self.now

    def as_session(self) -> Session:
        """What was learned about the session, as far as it was read."""
        return Session(
            id=self.session,
            flavor=self.flavor,
            title=self.title,
            meta=dict(self.meta),
            parent=self.parent if self.parent != self.session else None,
            relation=self.relation,
            cwd=self.cwd,
            branch=self.branch,
            commit=self.commit,
            models=tuple(self.models),
            agent_version=self.agent_version,
            interactive=self.interactive,
        )


class Source(Protocol):
    """One agent's transcripts."""

    flavor: str

    def roots(self, home: Path, env: Mapping[str, str]) -> list[Path]:
        """Where this agent keeps its sessions for a user; directories that need not exist."""
        ...

    def discover(self, root: Path) -> Iterator[Transcript]:
        """Every transcript under a root, without opening any."""
        ...

    def recognises(self, record: Mapping[str, Any]) -> bool:
        """Whether a record near the beginning of a file is this agent's: labels and folders lie."""
        ...

    def read(self, reading: Reading) -> Iterator[Event | Cost]:
        """Everything in the transcript, in order."""
        ...


def whole(value: object) -> int:
    """A count as found in somebody's file: whole and not below zero, or zero."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e15:
        return 0
    return int(value)


def text_of(value: object) -> str:
    """A string, or nothing: fields of the wrong type are as if they were not there."""
    return value if isinstance(value, str) else ""


def dict_of(value: object) -> Mapping[str, Any]:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else _NOTHING


def moment(value: object) -> datetime | None:
    """A time as agents write them: ISO 8601, or seconds, milliseconds, microseconds since 1970; None if it is none."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            return found if found.tzinfo is UTC else _utc(found)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e20:
            return None
        while value > 1e11:  # beyond the year 5138: a finer unit than seconds
            value /= 1000
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _utc(found: datetime) -> datetime:
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
