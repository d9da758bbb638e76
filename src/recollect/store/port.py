"""What a store must do: one small port per value it keeps. Every call begins with the scope it is for.

A store is the set of these ports over one place (`Store`). The contract suite in `tests/contract` runs against every
store there is. Writes are idempotent; a row of another owner does not exist, whatever its id.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from recollect.keys import Grant, Issued, Key
from recollect.model import Cost, Event, Gist, Memory, MemoryVersion, Scope, Session, Tier, Turn
from recollect.store.browseport import Browse
from recollect.store.insightport import Insights
from recollect.store.learnport import Patterns, Signals
from recollect.store.queueport import Answers, Tasks
from recollect.store.relationport import Consolidations
from recollect.store.statsport import Stats
from recollect.store.useport import Use

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.distill.digest import Digest

    Matrix = NDArray[np.float32]

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Filter:
    """What recall may see. Empty fields do not narrow; nothing here can widen a scope."""

    now: datetime
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    project: str | None = None
    session: str | None = None
    exclude_session: str | None = None
    min_importance: float | None = None
    trusts: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    archived: bool = False
    history: bool = False
    flavors: tuple[str, ...] = ()  # from sessions of these agents
    pinned: bool = False  # only what a person pinned

    @property
    def narrows(self) -> bool:
        """Whether it asks for some of what there is, not just for what holds."""
        return self.selects or self.exclude_session is not None

    @property
    def selects(self) -> bool:
        """Whether what it asks for may be few of all."""
        asked = (self.kinds, self.tags, self.trusts, self.flavors, self.pinned)
        named = (self.project, self.session, self.min_importance, self.since, self.until, self.as_of)
        return any(asked) or any(one is not None for one in named)

    def holds(self, memory: Memory) -> bool:
        """Whether a memory is one that holds, or may be asked for all the same."""
        over = memory.superseded_at is not None or (memory.expires_at is not None and memory.expires_at <= self.now)
        away = memory.archived_at is not None
        return memory.deleted_at is None and (self.archived or not away) and (self.history or not over)


class Document(NamedTuple):
    """A searchable thing, for ranking; a tuple, as `Match` is one. `doc` is the store's own number for it."""

    tier: Tier
    doc: int
    id: str
    session: str | None
    project: str | None
    content: str
    origin: str
    occurred_at: datetime
    importance: float = 0.5
    memory: Memory | None = None


@dataclass(frozen=True, slots=True)
class Weighing:
    """What a memory's worth to somebody who did not ask is made of. Only memories of these kinds have any."""

    kinds: Mapping[str, float]
    kind: float = 0.0
    importance: float = 0.0
    recency: float = 0.0
    decay: float = 0.0  # a day
    own: float = 0.0  # for being the project's own
    confirmed: float = 0.0


class Match(NamedTuple):
    """How well one document matches, by one leg of the search. A tuple, because hundreds are made for a question."""

    doc: int
    score: float
    group: int = 0  # the session, as the store numbers it; 0 when there is none
    place: int = 0  # which turn of the session
    at: str = ""  # when, in the stored form of a time


class Surroundings(NamedTuple):
    """The turns before and after a turn, and how long the turn itself is."""

    doc: int
    chars: int
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class TermWeights:
    """How much a question's words weigh: what a lexical score is held against.

    `scored` sums the weights the leg itself scores with, over the words that occur at all; `known` sums smoothed
    weights (positive even in a tiny store) over the same words; `asked` sums them over every word asked for.
    """

    scored: float
    known: float
    asked: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """A text that has no vector yet."""

    tier: Tier
    doc: int
    ticket: int
    texts: tuple[str, ...]
    leading: int  # how many of the texts are what the user said; the rest answered


@dataclass(frozen=True, slots=True)
class Held:
    """A backup that may still hold what was forgotten, and until when it is kept."""

    id: str
    made_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Receipt:
    """What `forget` took away, and whether nothing of it is left in any file of the store.

    `remains` says in words where something may be left when it is not complete. `backups` are those that were made
    before: they are no part of the store, and hold it until they expire.
    """

    counts: Mapping[str, int]
    complete: bool
    remains: tuple[str, ...] = ()
    backups: tuple[Held, ...] = ()


def another_wording(memory_id: str) -> str:
    """What a receipt says remains when a memory that was merged into the forgotten one holds again."""
    return f"memory {memory_id}, another wording of it, which holds again"


UPKEEP = ("archive", "expire", "redact", "purge")


@dataclass(frozen=True, slots=True)
class Ages:
    """When upkeep acts: archive what is older and read less often, redact and purge what was deleted before."""

    archive_before: datetime
    archive_reads: int
    redact_before: datetime
    purge_before: datetime


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What one round of maintenance changed."""

    archived: int = 0
    redacted: int = 0
    purged: int = 0
    quarantined: int = 0  # archived because they come up for everything
    expired: int = 0  # archived because they ended long ago


class Size(NamedTuple):
    """What one table takes: rows, bytes with its indexes, and those of the indexes alone."""

    name: str
    rows: int
    bytes: int
    indexes: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What was read of one transcript: enough to know whether it changed, and what it held. Never content.

    `turns` are the keys of the human prompts in the file, `withheld` those of them that were not to be kept; `state` is
    `read`, `withheld` (all of it), `empty` (no session in it) or `failed` (and `error` says why).
    """

    name: str
    flavor: str
    session: str | None
    state: str
    read_at: datetime
    way: str = "sweep"
    error: str | None = None
    fingerprint: str = ""
    complete_to: int = 0
    turns: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of events that were given."""

    added: int = 0
    changed: int = 0
    known: int = 0
    forgotten: int = 0


@dataclass(frozen=True, slots=True)
class Covered:
    """One transcript held against the store: how many of its turns are there, by which way, and which are not."""

    seen: Seen
    stored: int
    forgotten: int
    missing: tuple[str, ...]
    ways: Mapping[str, str]  # key of a stored turn -> the way it came


class Evicted(NamedTuple):
    """What evicting bodies freed, and the sessions that lost one before a digest covered them."""

    bytes: int
    undigested: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RawUse:
    """What one session's bodies take on disk, whether its digest covers it, and when the last of them came."""

    session: str
    bytes: int
    digested: bool
    born: float


@dataclass(frozen=True, slots=True)
class Distillation:
    """What was made of a session: the positions of the last events that the rules and a language model saw."""

    session: str
    version: int
    covers: int
    made_at: datetime
    asked: int = -1
    kept: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Charge:
    """One call to a language model, as it is paid for."""

    use: str  # turn, session, gist or collision
    model: str
    input: int
    output: int
    usd: float
    at: datetime
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Caps:
    """What may be spent in a day, by the owner and, where set, by one project of theirs."""

    tokens: int
    usd: float
    project_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Spending:
    """What was spent on one day, in one project, for one use."""

    day: str
    project: str | None
    use: str
    model: str
    calls: int
    input: int
    output: int
    usd: float


class Unanswered(NamedTuple):
    """How many calls to a model went unanswered since its last answer, and when the latest was made."""

    calls: int
    last: datetime | None


@dataclass(frozen=True, slots=True)
class Health:
    """How a store is, in figures."""

    counts: Mapping[str, int]
    pending: int
    model: tuple[str, int] | None
    bytes: Mapping[str, int]
    checks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SharedContext:
    """A context that several people share, as one of them sees it."""

    id: str  # its name in the store: no two have the same
    name: str  # what people call it
    reviewed: bool  # memories come in by approved proposals alone
    own_approval: bool  # a reviewer may approve what they proposed themselves
    made_at: datetime
    role: str  # of MEMBER_ROLES
    added_by: str
    added_at: datetime
    joined_at: datetime | None  # None: asked to join, and not in it yet


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody in a shared context, or asked to join it."""

    tenant: str
    user: str
    role: str
    added_by: str
    added_at: datetime
    joined_at: datetime | None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A copy of a private memory that somebody wants to be shared, and what became of it.

    Where the memory came from stays with its owner: here is only who said it to them (`origin`), how far they trusted
    it, who worded it (`maker`), and in how many places of their sessions it stands (`evidenced`).
    """

    id: str
    source: str  # the private memory; told to its owner alone
    kind: str
    content: str
    origin: str
    trust: str
    maker: str
    occurred_at: datetime
    why: str | None = None
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    project: str | None = None
    evidenced: int = 0
    reason: str | None = None
    proposed_by: str = ""
    proposed_at: datetime | None = None
    state: str = "open"  # open, approved, rejected or withdrawn
    decided_by: str | None = None
    decided_at: datetime | None = None
    decision: str | None = None  # why it was decided so
    edited: bool = False
    memory: str | None = None  # what it became
    withdrawn_by: str | None = None
    withdrawn_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one owner may have; 0 means as much as they like."""

    memories: int = 0
    ingests: int = 0  # a day, in UTC


@dataclass(frozen=True, slots=True)
class Quota:
    """How much an owner has of what they may have; `own` are the limits set for them alone, None where not set."""

    limits: Limits
    own: tuple[int | None, int | None]
    memories: int
    ingests: int  # today
    resets_at: datetime

    @property
    def left(self) -> tuple[int | None, int | None]:
        """What is left of memories and of today's ingests; None for without end."""
        pairs = ((self.limits.memories, self.memories), (self.limits.ingests, self.ingests))
        memories, ingests = (max(0, limit - used) if limit else None for limit, used in pairs)
        return memories, ingests


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the audit: what was done to what, when, by whom, with which key, how it went and how long it took."""

    number: int | None  # None: noted before there was a chain
    at: datetime
    action: str
    subject: str
    details: Mapping[str, Any]
    actor: str | None = None
    key: str | None = None
    result: str = "done"
    duration_ms: int | None = None
    session: str | None = None  # of what was recorded: the session it is in, as long as that is there


@dataclass(frozen=True, slots=True)
class Chain:
    """An owner's audit, followed from its first row: how many are whole, and the first thing that is wrong."""

    tenant: str
    user: str
    rows: int
    before: int = 0  # rows from before there was a chain; its first row signs them
    anchored: int = 0  # the last row that the anchor knows
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the audit is whole: every chain, and what is wrong with the anchor itself."""

    chains: tuple[Chain, ...]
    faults: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        return not self.faults and not any(chain.fault for chain in self.chains)


class Sessions(Protocol):
    """Runs and conversations, and what was said in them."""

    def ensure(
        self,
        scope: Scope,
        session: str,
        *,
        at: datetime,
        until: datetime | None = None,
        title: str | None = None,
        meta: Mapping[str, Any] | None = None,
        facts: Session | None = None,
    ) -> Session: ...
    def get(self, scope: Scope, session: str) -> Session | None: ...
    def find(self, scope: Scope, *, limit: int, offset: int = 0) -> list[Session]: ...
    def append(self, scope: Scope, events: Sequence[Event], titles: Mapping[str, str] = ...) -> list[bool]: ...
    def history(
        self, scope: Scope, session: str, *, last: int | None = None, after: int = -1, first: int | None = None
    ) -> list[Event]: ...
    def turn(self, scope: Scope, turn_id: str) -> Turn | None: ...
    def events(self, scope: Scope, keys: Sequence[str]) -> list[Event]: ...
    def directories(self, scope: Scope) -> list[tuple[str | None, str]]: ...


class Captures(Protocol):
    """What was read of agents' own files, and what their requests cost."""

    def ingest(
        self,
        scope: Scope,
        about: Session,
        events: Sequence[Event],
        costs: Sequence[Cost] = (),
        *,
        transcript: Seen | None = None,
        changes: bool = True,
    ) -> Ingested: ...
    def seen(self, scope: Scope, name: str) -> Seen | None: ...
    def note(self, scope: Scope, seen: Seen) -> None: ...
    def coverage(self, scope: Scope) -> list[Covered]: ...
    def costs(self, scope: Scope, session: str) -> list[Cost]: ...
    def injected(self, scope: Scope, hashes: Sequence[str], *, at: datetime) -> None: ...
    def was_injected(self, scope: Scope, text_hash: str) -> bool: ...


class Digests(Protocol):
    """What each session was, computed from its events."""

    def get(self, scope: Scope, session: str) -> Digest | None: ...
    def put(self, scope: Scope, digest: Digest, *, covers: int, at: datetime, health: int | None = None) -> None: ...
    def due(self, scope: Scope, *, version: int) -> list[str]: ...
    def unscored(self, scope: Scope, *, limit: int) -> list[Digest]: ...
    def score(self, scope: Scope, health: Mapping[str, int]) -> None: ...


class Distillations(Protocol):
    """How far each session was distilled."""

    def get(self, scope: Scope, session: str) -> Distillation | None: ...
    def put(self, scope: Scope, distillation: Distillation) -> None: ...
    def due(self, scope: Scope, *, version: int) -> list[str]: ...


class Ledger(Protocol):
    """What language models were paid. A charge is debited before the call, if the caps allow it, or not at all."""

    def reserve(self, scope: Scope, charge: Charge, caps: Caps) -> int | None: ...
    def settle(self, scope: Scope, ticket: int, charge: Charge) -> None: ...
    def spent(self, scope: Scope, *, since: datetime) -> list[Spending]: ...
    def unanswered(self, scope: Scope, *, model: str, since: datetime) -> Unanswered: ...


class Bodies(Protocol):
    """Bodies too big for a row, and what they take."""

    def get(self, scope: Scope, body_hash: str) -> bytes | None: ...
    def use(self, scope: Scope) -> list[RawUse]: ...
    def evict(self, scope: Scope, session: str, *, at: datetime, undigested: bool = False) -> Evicted: ...
    def tidy(self, scope: Scope) -> int: ...
    def tick(self, now: datetime) -> float: ...


class Gists(Protocol):
    """One gist a session, and who may make it."""

    def get(self, scope: Scope, session: str) -> Gist | None: ...
    def put(self, scope: Scope, gist: Gist) -> None: ...
    def unsummarized(self, scope: Scope, session: str) -> int: ...
    def lease(self, scope: Scope, session: str, *, now: datetime, until: datetime) -> bool: ...
    def release(self, scope: Scope, session: str) -> None: ...
    def recent(self, scope: Scope, *, exclude_session: str | None, limit: int) -> list[Gist]: ...
    def due(self, scope: Scope, *, after: int, quiet_since: datetime) -> list[str]: ...


class Memories(Protocol):
    """Things worth knowing, with their history."""

    def add(
        self,
        scope: Scope,
        memory: Memory,
        versions: Sequence[MemoryVersion] = (),
        *,
        replacing: Sequence[Memory] = (),
    ) -> tuple[Memory, bool]: ...
    def add_many(self, scope: Scope, memories: Sequence[tuple[Memory, Sequence[MemoryVersion]]]) -> list[bool]: ...
    def get(self, scope: Scope, memory_id: str) -> Memory | None: ...
    def get_many(self, scope: Scope, memory_ids: Iterable[str]) -> dict[str, Memory]: ...
    def find(self, scope: Scope, where: Filter, *, limit: int, offset: int = 0) -> list[Memory]: ...
    def forgotten(self, scope: Scope, where: Filter, *, limit: int, offset: int = 0) -> list[Memory]: ...
    def weightiest(self, scope: Scope, weighing: Weighing, *, now: datetime, limit: int) -> list[Memory]: ...
    def beginning(self, scope: Scope, words: Sequence[str], *, look: int, limit: int) -> list[Memory]: ...
    def update(self, scope: Scope, memory: Memory, *, at: datetime, note: str) -> Memory: ...
    def change(
        self,
        scope: Scope,
        memories: Sequence[Memory],
        *,
        adding: Sequence[Memory] = (),
        at: datetime,
        note: str,
        subject: str | None = None,
    ) -> bool: ...
    def versions(self, scope: Scope, memory_id: str) -> list[MemoryVersion]: ...
    def of_session(self, scope: Scope, session: str) -> list[Memory]: ...
    def in_slot(self, scope: Scope, slot: str, *, history: bool = False) -> list[Memory]: ...
    def like(self, scope: Scope, memory: Memory) -> list[Memory]: ...
    def replaced(self, scope: Scope, memory_id: str) -> list[Memory]: ...
    def from_source(self, scope: Scope, source: str, *, deleted: bool = False) -> list[Memory]: ...
    def newest(self, scope: Scope, *, since: datetime, limit: int) -> list[tuple[int, Memory]]: ...
    def marks(self, scope: Scope, *, now: datetime) -> dict[str | None, str]: ...
    def touch(self, scope: Scope, ids: Mapping[str, int], *, at: datetime) -> None: ...


class Search(Protocol):
    """The legs of recall. Scores are comparable only within one answer of one leg; higher is better.

    Without `where` a leg looks at no row of what it finds: what is over is not left out, and of a match only document
    and score are told. In a scope with a project that may be fewer than `limit`: those of other projects are left out
    after.
    """

    def lexical(
        self,
        scope: Scope,
        tier: Tier,
        terms: Sequence[str],
        where: Filter | None,
        limit: int,
        *,
        rarest: int | None = None,
    ) -> list[Match]:
        """The best matches by words; `rarest`: by no more of them than so many, those that the fewest texts hold."""
        ...

    def weigh(self, scope: Scope, tier: Tier, terms: Sequence[str]) -> TermWeights: ...
    def semantic(self, scope: Scope, tier: Tier, query: Matrix, where: Filter | None, limit: int) -> list[Match]: ...
    def cosines(self, scope: Scope, tier: Tier, query: Matrix, docs: Sequence[int]) -> dict[int, float]: ...
    def vectors(self, scope: Scope, tier: Tier, docs: Sequence[int]) -> dict[int, Matrix]: ...
    def population(self, scope: Scope, tier: Tier) -> int: ...
    def around(self, scope: Scope, docs: Sequence[int]) -> list[Surroundings]: ...
    def documents(self, scope: Scope, tier: Tier, docs: Sequence[int]) -> list[Document]: ...


class Vectors(Protocol):
    """What waits for its vector, and which model the vectors are of."""

    def model(self) -> tuple[str, int] | None: ...
    def waiting(self, limit: int) -> list[Waiting]: ...
    def put(self, model: tuple[str, int], vectors: Iterable[tuple[Waiting, Matrix]]) -> int: ...
    def pending(self, most: int | None = None) -> int:
        """How many texts wait for a vector; counted no further than `most`."""
        ...

    def restart(self) -> int: ...


class Keeping(Protocol):
    """Taking away, giving back, and looking after the store."""

    def forget_memory(self, scope: Scope, memory_id: str, *, at: datetime, with_merged: bool = False) -> Receipt: ...
    def forget_session(self, scope: Scope, session: str, *, at: datetime) -> Receipt: ...
    def would_forget(self, scope: Scope, session: str) -> dict[str, int]: ...
    def forget_all(self, scope: Scope, *, at: datetime) -> Receipt: ...
    def forgotten(self, scope: Scope, session: str) -> datetime | None: ...
    def upkeep(
        self,
        *,
        now: datetime,
        ages: Ages,
        steps: Collection[str] = UPKEEP,
        dry_run: bool = False,
        stop: Callable[[], bool] = lambda: False,
    ) -> Upkeep: ...
    def rebuild(self, stop: Callable[[], bool] = lambda: False) -> Mapping[str, int]: ...
    def reindex(self) -> Mapping[str, int]: ...
    def vacuum(self, *, full: bool = False) -> Mapping[str, int]: ...
    def scrub_due(self) -> bool: ...
    def sizes(self) -> list[Size]: ...
    def health(self, *, deep: bool) -> Health: ...


class Contexts(Protocol):
    """What several people share. The scope is that of who asks; a context they have not joined does not exist for them.

    What is in a context is read and written by the other ports, in the scope `scope.in_context(context)`.
    """

    def create(
        self, scope: Scope, name: str, *, at: datetime, reviewed: bool = False, own_approval: bool = False
    ) -> SharedContext: ...
    def mine(self, scope: Scope) -> list[SharedContext]: ...
    def get(self, scope: Scope, context: str) -> SharedContext: ...
    def join(self, scope: Scope, context: str, *, at: datetime) -> SharedContext: ...
    def dissolve(self, scope: Scope, context: str, *, at: datetime) -> None: ...
    def members(self, scope: Scope, context: str) -> list[Member]: ...
    def add_member(self, scope: Scope, context: str, member: tuple[str, str], role: str, *, at: datetime) -> None: ...
    def remove_member(self, scope: Scope, context: str, member: tuple[str, str], *, at: datetime) -> None: ...
    def propose(self, scope: Scope, context: str, proposal: Proposal, *, at: datetime) -> Proposal: ...
    def proposals(
        self, scope: Scope, context: str, *, state: str | None = None, limit: int, offset: int = 0
    ) -> list[Proposal]: ...
    def proposal(self, scope: Scope, context: str, proposal_id: str) -> Proposal: ...
    def approve(
        self,
        scope: Scope,
        context: str,
        proposal_id: str,
        memory: Memory,
        *,
        decision: str | None,
        at: datetime,
        replacing: Sequence[Memory] = (),
    ) -> Proposal: ...
    def reject(
        self, scope: Scope, context: str, proposal_id: str, *, decision: str | None, at: datetime
    ) -> Proposal: ...
    def withdraw(self, scope: Scope, context: str, proposal_id: str, *, at: datetime) -> Proposal: ...


class Keys(Protocol):
    """API keys. Each belongs to the scope it was made in; only `check` needs no scope, since it tells which one."""

    def create(
        self,
        scope: Scope,
        *,
        at: datetime,
        env: str = "live",
        permissions: Sequence[str] = ("read", "write"),
        name: str = "",
        expires_at: datetime | None = None,
    ) -> Issued: ...
    def find(self, scope: Scope) -> list[Key]: ...
    def revoke(self, scope: Scope, key_id: str, *, at: datetime) -> Key: ...
    def rotate(
        self, scope: Scope, key_id: str, *, at: datetime, until: datetime, expires_at: datetime | None = None
    ) -> Issued: ...
    def check(self, text: str, *, at: datetime, env: str | None = None) -> Grant: ...


class Quotas(Protocol):
    """How much each owner may have; held to in the transaction that writes."""

    def get(self, scope: Scope) -> Quota: ...
    def set(self, scope: Scope, *, memories: int | None, ingests: int | None, at: datetime) -> Quota: ...


class Audit(Protocol):
    """What was done, only ever added to, in chains that show when a row was changed."""

    def note(
        self,
        scope: Scope,
        action: str,
        subject: str,
        *,
        at: datetime,
        result: str = "done",
        duration_ms: int = 0,
        details: Mapping[str, object] | None = None,
    ) -> None: ...
    def find(
        self,
        scope: Scope,
        *,
        limit: int,
        offset: int = 0,
        action: str | None = None,
        subject: str | None = None,
        look: int | None = None,
    ) -> list[Entry]: ...
    def verify(self, scope: Scope | None = None, *, anchor: Path | None = None) -> Verdict: ...
    def anchor(self, *, at: datetime, file: Path | None = None) -> int: ...


class Notes(Protocol):
    """Small facts about the whole store, nothing of anybody's: which jobs run, which backups were made."""

    def get(self, key: str) -> str | None: ...
    def all(self, prefix: str) -> dict[str, str]: ...
    def put(self, key: str, value: str) -> None: ...
    def swap(self, key: str, expected: str | None, value: str) -> bool: ...
    def drop(self, key: str) -> None: ...


class Store(Protocol):
    """One place that keeps all of it."""

    @property
    def sessions(self) -> Sessions: ...
    @property
    def captures(self) -> Captures: ...
    @property
    def digests(self) -> Digests: ...
    @property
    def distillations(self) -> Distillations: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def bodies(self) -> Bodies: ...
    @property
    def gists(self) -> Gists: ...
    @property
    def memories(self) -> Memories: ...
    @property
    def contexts(self) -> Contexts: ...
    @property
    def search(self) -> Search: ...
    @property
    def vectors(self) -> Vectors: ...
    @property
    def keeping(self) -> Keeping: ...
    @property
    def notes(self) -> Notes: ...
    @property
    def keys(self) -> Keys: ...
    @property
    def quotas(self) -> Quotas: ...
    @property
    def audit(self) -> Audit: ...
    @property
    def stats(self) -> Stats: ...
    @property
    def browse(self) -> Browse: ...
    @property
    def tasks(self) -> Tasks: ...
    @property
    def answers(self) -> Answers: ...
    @property
    def patterns(self) -> Patterns: ...
    @property
    def signals(self) -> Signals: ...
    @property
    def insights(self) -> Insights: ...
    @property
    def consolidations(self) -> Consolidations: ...
    @property
    def use(self) -> Use: ...

    def together(self, scope: Scope) -> AbstractContextManager[None]:
        """Within it, many reads of this thread for the scope cost little more than one."""
        ...

    def ask(self, scope: Scope, reading: Callable[[], Found]) -> Found:
        """What `reading` finds for the scope, all of it as of one moment; it may be called twice."""
        ...

    def backup(self, target: Path) -> int: ...
    def close(self) -> None: ...
