"""What the pages of sessions show, gathered in a bounded number of queries: lists, days, one session and around it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from recollect.distill.digest import Digest
from recollect.errors import InvalidInput
from recollect.facade import Recollect
from recollect.learn.health import health_of
from recollect.learn.values import Health
from recollect.model import DELEGATED, NO_PROJECT, OUTCOMES, Memory, Session, check_id
from recollect.pipeline.following import Exact, unknown
from recollect.store.ports.browse import Child, Choices, Extent, Listed, SessionFilter
from recollect.store.ports.stats import WITHHELD
from recollect.text import one_line, storable

WEEKS = 26
LISTED = 40  # sessions on a page
MOST_PAGES = 1_000
MATCHES = 50  # places that are told of a search in a session
_LEVELS, _FAMILY = 3, 60
_MEMORIES, _SHOWN = 100, 400
_COMPARED = 500  # turns of its transcripts that are looked for in the store
_WORDS = 8


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sessions somebody wants to see, from an address and back to it."""

    q: str = ""
    agent: str = ""
    project: str = ""
    outcome: str = ""
    since: str = ""
    until: str = ""
    page: int = 1

    @property
    def is_narrowed(self) -> bool:
        return bool(self.pairs())

    def pairs(self) -> dict[str, str]:
        """What narrows it, as it stands in an address."""
        names = ("q", "agent", "project", "outcome", "since", "until")
        return {name: value for name in names if (value := getattr(self, name))}

    def address(self) -> str:
        asked = urlencode(self.pairs())
        return f"/page/sessions?{asked}" if asked else "/page/sessions"

    def on_day(self, day: date) -> str:
        """The same, but of one day."""
        return replace(self, since=f"{day}", until=f"{day}", page=1).address()

    def filter(self) -> SessionFilter:
        until = _day(self.until)
        return SessionFilter(
            flavor=self.agent or None,
            project=self.project or None,
            outcome=self.outcome or None,
            since=_day(self.since),
            until=None if until is None else until + timedelta(days=1),
            words=words_of(self.q),
        )


def wanted(params: QueryParams) -> Wanted:
    """What an address asks for; what makes no sense is left out."""
    names = {name: _name(params.get(name, "")) for name in ("agent", "project")}
    outcome = params.get("outcome", "")
    days = {name: text if _day(text := params.get(name, "")[:10]) else "" for name in ("since", "until")}
    q = storable(params.get("q", "")).strip()[:200]
    return Wanted(q, **names, outcome=outcome if outcome in OUTCOMES else "", **days, page=number_in(params, "page"))


def number_in(params: QueryParams, name: str) -> int:
    """Which page; the first when that is none."""
    text = params.get(name, "")
    return min(MOST_PAGES, max(1, int(text))) if text.isascii() and text.isdecimal() and len(text) < 6 else 1


def words_of(text: str) -> tuple[str, ...]:
    """The first few words of what somebody typed."""
    return tuple(dict.fromkeys(text.split()))[:_WORDS]


def pattern_of(words: Sequence[str]) -> re.Pattern[str] | None:
    """What is marked where these words were found."""
    return re.compile("|".join(re.escape(word) for word in words), re.IGNORECASE) if words else None


def _name(text: str) -> str:
    try:
        return check_id(text, "name") if text else ""
    except InvalidInput:
        return ""


def _day(text: str) -> datetime | None:
    try:
        found = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC) if text.isascii() else None
    except ValueError:
        return None
    return found if found is None or 1 < found.year < 9_999 else None


# -- lists -------------------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """A session in a list."""

    session: Session
    title: str
    outcome: str | None
    usd: float | None
    tokens: int
    health: Health | None
    children: int


def row_of(listed: Listed) -> Row:
    session, digest, children = listed
    health = None if digest is None else health_of(digest)
    cost = None if digest is None or not digest.cost.requests else digest.cost
    usd, tokens = (cost.usd, cost.tokens) if cost else (None, 0)
    return Row(session, title_of(session, digest), session.outcome, usd, tokens, health, children)


def title_of(session: Session, digest: Digest | None) -> str:
    """What a session is called: its title, else what it was for."""
    goal = None if digest is None else digest.goal
    return one_line(session.title or goal or "", 200) or session.id


class Overview(NamedTuple):
    """One look at the list of sessions."""

    rows: list[Row]
    more: bool
    choices: Choices
    days: Mapping[date, int]
    first: date


def overview(memory: Recollect, asked: Wanted, now: datetime) -> Overview:
    """A page of sessions, what they can be narrowed to, and how many there were a day."""
    browse, scope, where = memory.store.browse, memory.scope, asked.filter()
    first = now.astimezone(UTC).date() - timedelta(days=now.weekday() + 7 * (WEEKS - 1))
    begins = datetime(first.year, first.month, first.day, tzinfo=UTC)
    with memory.store.together(scope):
        found = browse.sessions(scope, where, limit=LISTED + 1, offset=(asked.page - 1) * LISTED)
        days = browse.days(scope, replace(where, since=begins, until=None))
        choices = browse.choices(scope)
    counted = {date.fromisoformat(day): count for day, count in days.items()}
    return Overview([row_of(one) for one in found[:LISTED]], len(found) > LISTED, choices, counted, first)


# -- one session -------------------------------------------------------------------------------------------------------


class Kin(NamedTuple):
    """A session in the tree around another."""

    session: Session
    title: str
    level: int
    is_here: bool


class Told(NamedTuple):
    """What an agent was told at one moment: the words each memory had then, and the very text where it is kept."""

    at: datetime
    host: str
    event: str
    memories: list[tuple[str, str]]  # id, words
    exact: str | None = None


class Covered(NamedTuple):
    """The turns of a session's transcripts that were to be kept, and how many of them are stored."""

    stored: int
    due: int

    @property
    def percent(self) -> str:
        return f"{100 * self.stored / self.due:.4g} %"


@dataclass(frozen=True, slots=True)
class Around:
    """One session and what belongs to it, but for its transcript."""

    session: Session
    title: str
    digest: Digest | None
    health: Health | None
    gist: Any
    unsummarized: int
    extent: Extent
    kin: list[Kin] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    covered: Covered | None = None

    @property
    def told_memories(self) -> int:
        """How many memories its agent was told; one that was told twice counts once."""
        return len({id_ for one in self.told for id_, _ in one.memories})

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The models of which no price is known."""
        models = () if self.digest is None else self.digest.models
        return tuple(one.model or "a model without a name" for one in models if one.unpriced)

    @property
    def redacted(self) -> dict[str, int]:
        """What was taken out before it was stored, by its reason."""
        counts: dict[str, int] = {}
        for seen in self.extent.transcripts:
            for name, count in seen.counts.items():
                if name.startswith(WITHHELD):
                    what = name.removeprefix(WITHHELD).replace("secret:", "secret: ")
                    counts[what] = counts.get(what, 0) + int(count)
        return dict(sorted(counts.items()))

    @property
    def seen_turns(self) -> int:
        """Turns in its transcripts, as far as they were read."""
        return sum(len(seen.turns) for seen in self.extent.transcripts)

    @property
    def withheld_turns(self) -> int:
        return sum(len(seen.withheld) for seen in self.extent.transcripts)


def around(memory: Recollect, session: Session, *, brief: bool = False, exact: Exact = unknown) -> Around:
    """A session and what belongs to it; `brief`: no more of it than stands above its transcript."""
    store, scope = memory.store, memory.scope
    with store.together(scope):
        digest = memory.digest(session.id)
        extent = store.browse.extent(scope, session.id)
        told = list(_told(memory, session, exact))
        if brief:
            return Around(session, title_of(session, digest), digest, None, None, 0, extent, told=told)
        return Around(
            session=session,
            title=title_of(session, digest),
            digest=digest,
            health=None if digest is None else health_of(digest),
            gist=memory.gist(session.id),
            unsummarized=memory.unsummarized(session.id),
            extent=extent,
            kin=_kin(memory, session),
            memories=memory.memories(_MEMORIES, session=session.id, archived=True, history=True),
            told=told,
            covered=_covered(memory, extent),
        )


def _covered(memory: Recollect, extent: Extent) -> Covered | None:
    """How much of what its transcripts have is stored; None when it has none, or they have more than is looked at."""
    turns = dict.fromkeys(key for seen in extent.transcripts for key in seen.turns)
    withheld = {key for seen in extent.transcripts for key in seen.withheld}
    due = [key for key in turns if key not in withheld]
    if not due or len(due) > _COMPARED:
        return None
    return Covered(len({event.key for event in memory.store.sessions.events(memory.scope, due)}), len(due))


def _kin(memory: Recollect, session: Session) -> list[Kin]:
    """The sessions it was started from, itself, and those started from it; nothing when it stands alone."""
    above: list[Session] = []
    parent = session.parent
    while parent and len(above) < _LEVELS and parent not in {one.id for one in above}:
        found = memory.store.sessions.get(memory.scope, parent)
        if found is None or found.id == session.id:
            break
        above.insert(0, found)
        parent = found.parent
    below = list(descendants(memory, session, len(above) + 1))
    if not above and not below:
        return []
    upper = [Kin(one, title_of(one, memory.digest(one.id)), level, False) for level, one in enumerate(above)]
    return [*upper, Kin(session, "", len(above), True), *below]


def descendants(memory: Recollect, session: Session, level: int = 0) -> Iterator[Kin]:
    """The sessions that were started from one, each behind the one it was started from; a few levels, and not many."""
    by_parent: dict[str, list[Child]] = {}
    names, known = [session.id], {session.id}
    for _ in range(_LEVELS):
        found = memory.store.browse.children(memory.scope, names, limit=_FAMILY)
        new = [one for one in found if one.session.id not in known]
        names = [one.session.id for one in new]
        known.update(names)
        for one in new:
            by_parent.setdefault(one.session.parent or "", []).append(one)
        if not names:
            break

    def below(parent: str, level: int) -> Iterator[Kin]:
        for one in by_parent.get(parent, ()):
            yield Kin(one.session, one.session.title or one.goal or one.session.id, level, False)
            yield from below(one.session.id, level + 1)

    yield from below(session.id, level)


def helpers(memory: Recollect, session: Session) -> list[Child]:
    """The sessions that were started from one."""
    return memory.store.browse.children(memory.scope, [session.id], limit=_FAMILY)


def forgotten_with(memory: Recollect, session: Session) -> list[Session]:
    """The sessions that are forgotten with one: those that worked for it."""
    going = {session.id}
    found = []
    for kin in descendants(memory, session):
        if kin.session.parent in going and kin.session.relation in DELEGATED:
            going.add(kin.session.id)
            found.append(kin.session)
    return found


def _told(memory: Recollect, session: Session, exact: Exact) -> Iterator[Told]:
    """What was put before the agent, moment by moment, the latest first; of what is forgotten, nothing."""
    shown = memory.store.use.injections(memory.scope, session=session.id, limit=_SHOWN)
    groups: dict[tuple[datetime, str, str, str], list[str]] = {}
    for one in shown:
        groups.setdefault((one.at, one.host, one.event, one.block), []).append(one.memory)
    known = memory.store.memories.get_many(memory.scope, (each.memory for each in shown))
    for (at, host, event, block), ids in groups.items():
        there = [kept for one in ids if (kept := known.get(one)) is not None and kept.deleted_at is None]
        words = exact(block) if len(there) == len(ids) else None
        if there:
            yield Told(at, host, event, [(one.id, _wording(memory, one, at)) for one in there], words)


def _wording(memory: Recollect, now: Memory, at: datetime) -> str:
    """How a memory read at a moment."""
    if now.version == 1:
        return now.content
    return next((old.content for old in memory.versions(now.id) if old.until > at), now.content)


def shown_project(name: str) -> str:
    """The name of a project, for people."""
    return "no project" if name == NO_PROJECT else name
