"""The values everything else speaks of: scope, session, event, turn, gist, memory, and what recall returns.

All are frozen. Times are aware UTC. A `Scope` comes first in every call to a store: whose data, and which project.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from recollect.errors import InvalidInput, ScopeError

Tier = Literal["memory", "gist", "turn"]
TIERS: tuple[Tier, ...] = ("memory", "gist", "turn")

KINDS = ("fact", "preference", "decision", "lesson", "event", "reference", "topic", "skill_idea", "note")
# Words of earlier systems, understood at the edges only.
KIND_ALIASES = {"user": "preference", "feedback": "lesson", "project": "fact", "summary": "note", "rule": "preference"}

ORIGINS = ("user", "assistant", "tool", "web", "import", "injected")

# How far a memory is trusted: a user's own words, or confirmed by them; computed from what was done, or agreed to by
# the user; or anything else, which is shown as quoted data when asked for and never put before an agent by itself.
TRUSTS = ("user", "checked", "quoted")
SAID = "said"  # the maker of what somebody wrote down; others are "rules" and the names of language models
PINNED = "pinned"  # in the `meta` of a memory: since when a person wants agents to be told it before all else

# Who speaks in a recorded exchange -> (kind of event, origin of what it says).
ROLES = {
    "user": ("user_prompt", "user"),
    "assistant": ("assistant_text", "assistant"),
    "tool": ("tool_result", "tool"),
    "system": ("state", "import"),
}

# What an event can be. Those of the second line are tool calls and notices told apart for the digest.
EVENT_KINDS = (
    *("user_prompt", "assistant_text", "thinking", "tool_call", "tool_result", "injected_context", "compaction"),
    *("summary", "error", "turn_end", "state", "test_run", "edit", "retry", "human_intervention"),
)
ACTIONS = ("shell", "edit", "read", "search", "fetch", "task", "plan", "ask", "mcp", "other")
RELATIONS = ("root", "subagent", "fork", "resume", "review", "compaction")
DELEGATED = ("subagent", "compaction", "review")  # relations of sessions that worked for their parent
OUTCOMES = ("success", "fail", "abandoned", "unknown")
WAYS = ("record", "hook", "sweep", "backfill", "import")

MAX_TAGS, MAX_TAG_CHARS, MAX_ID_CHARS = 20, 50, 255
# The name of a project that is none: in a scope without a project reads see those of all, in this one what has none.
NO_PROJECT = "(none)"

# Shared contexts are owners whose names begin so. The commons is the one that all tenants share, in one of its own.
SHARED, COMMONS = "@", "@commons"
KEEPER = ("", "")  # who asks when a store looks after itself
# What a member may do, each what the one before may: read; write and propose; decide on proposals; choose members.
MEMBER_ROLES = ("reader", "writer", "reviewer", "admin")

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def os_user() -> str:
    """The name of the user this process runs as."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError, AttributeError):
        return f"uid-{os.getuid()}" if hasattr(os, "getuid") else "user"


def check_id(value: object, what: str) -> str:
    """A name or identifier: 1 to 255 characters without control characters."""
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_ID_CHARS or _CONTROL.search(value):
        raise InvalidInput(f"{what} must be 1 to {MAX_ID_CHARS} characters without control characters")
    return value


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory, and which project. With a project, reads see it and what belongs to no project.

    The owner may be a context that several people share; its name begins with `@`, as no user's and no tenant's does.
    `by` is then who asks (tenant, user), and a store lets nobody in who is not a member. `key` is the id of the API key
    a request came with: the audit notes it, and nothing else goes by it.
    """

    tenant: str = "local"
    user: str = field(default_factory=os_user)
    project: str | None = None
    by: tuple[str, str] | None = None
    key: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        try:
            check_id(self.tenant, "tenant")
            check_id(self.user, "user")
            if self.project is not None:
                check_id(self.project, "project")
            _check_by(self)
        except InvalidInput as error:
            raise ScopeError(str(error), hint=error.hint) from None

    @staticmethod
    def of_owner(tenant: str, user: str) -> Scope:
        """Of an owner that is in a store already, for the store's own work: a shared context needs no member then."""
        return Scope(tenant, user, by=KEEPER if user.startswith(SHARED) else None)

    def within(self, project: str | None) -> Scope:
        """The same owner, in another project."""
        return Scope(self.tenant, self.user, project, self.by, self.key)

    def in_context(self, context: str) -> Scope:
        """A shared context of this name in the store, as this user: their tenant's, or the commons."""
        if self.by is not None:
            raise ScopeError("a shared context is no member of another")
        tenant = COMMONS if context == COMMONS else self.tenant
        return Scope(tenant, context, self.project, by=(self.tenant, self.user), key=self.key)


def _check_by(scope: Scope) -> None:
    """Names that begin with `@` are shared contexts' alone: one asks for them as a member, never under that name."""
    names = (scope.tenant, scope.user, *(scope.by or ()))
    if scope.by is None:
        if any(name.startswith(SHARED) for name in names):
            raise InvalidInput(
                "the name of a user or tenant cannot begin with @",
                hint="What is shared is opened as oneself: `recollect contexts`.",
            )
        return
    of_all = scope.tenant == COMMONS
    if not scope.user.startswith(SHARED) or of_all != (scope.user == COMMONS):
        raise InvalidInput("only a shared context is asked by somebody else")
    if scope.by == KEEPER:
        return
    for name in scope.by:
        check_id(name, "member")
        if name.startswith(SHARED):
            raise InvalidInput("a shared context is no member of another")
    if not of_all and scope.by[0] != scope.tenant:
        raise InvalidInput("a shared context is for users of its own tenant")


def parse_kind(word: str) -> str:
    """A kind or one of its old names; anything else is InvalidInput."""
    kind = KIND_ALIASES.get(word, word) if isinstance(word, str) else word
    if kind not in KINDS:
        raise InvalidInput(f"unknown kind {str(word)[:40]!r}", hint="Kinds: " + ", ".join(KINDS))
    return kind


def parse_tags(tags: object) -> tuple[str, ...]:
    """At most 20 tags of at most 50 characters, stripped, in order, each once."""
    if tags is None:
        return ()
    if isinstance(tags, str) or not hasattr(tags, "__iter__"):
        raise InvalidInput("tags must be a list of words", hint='For example tags=["deploy", "ci"].')
    found: dict[str, None] = {}
    for tag in tags:
        if not isinstance(tag, str) or not tag.strip() or len(tag.strip()) > MAX_TAG_CHARS or _CONTROL.search(tag):
            raise InvalidInput(f"a tag must be 1 to {MAX_TAG_CHARS} characters without control characters")
        found[tag.strip()] = None
    if len(found) > MAX_TAGS:
        raise InvalidInput(f"{len(found)} tags; the limit is {MAX_TAGS}")
    return tuple(found)


def parse_trust(word: object) -> str:
    """One of TRUSTS."""
    if word not in TRUSTS:
        raise InvalidInput(f"unknown trust {str(word)[:40]!r}", hint="Trust is one of: " + ", ".join(TRUSTS))
    return str(word)


def parse_unit(value: object, what: str) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{what} must be a number from 0 to 1, not {str(value)[:20]!r}")
    return float(value)


@dataclass(frozen=True, slots=True)
class Session:
    """One run of one agent, or one conversation; `id` is `<flavor>:<native id>`."""

    id: str
    flavor: str
    title: str | None = None
    project: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    turns: int = 0
    meta: Mapping[str, Any] = field(default_factory=dict)
    parent: str | None = None  # the session it was started from
    relation: str = "root"  # one of RELATIONS
    cwd: str | None = None
    branch: str | None = None
    commit: str | None = None
    models: tuple[str, ...] = ()
    agent_version: str | None = None
    interactive: bool | None = None
    outcome: str | None = None  # one of OUTCOMES, once there is a digest


class Raw(NamedTuple):
    """Where the agent wrote an event: file, offset and length of the record. A hint: agents rewrite their files."""

    path: str
    at: int
    size: int


class Body(NamedTuple):
    """What is too big for a row, kept apart and named by its hash; `data` is there only on the way in."""

    hash: str
    media: str
    size: int
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened in a session. `key` is what makes it the same event however it was captured.

    `meta` of a tool call has `tool` (the agent's name for it), `action` (one of ACTIONS), `call` (its id), `input` (its
    arguments but the one named in `main`, which is the text) and `files`; of a tool result `call`, and where known
    `tool`, `action`, `error` (true or false) and `exit` (the exit code). `time` says where the time is from when it is
    not from the record itself: `flush`, `file` or `inferred`.
    """

    key: str
    session: str
    kind: str
    role: str
    origin: str
    text: str
    occurred_at: datetime
    recorded_at: datetime
    position: int = 0
    meta: Mapping[str, Any] = field(default_factory=dict)
    way: str = "record"  # one of WAYS
    raw: Raw | None = None
    bodies: tuple[Body, ...] = ()

    @property
    def id(self) -> str:
        return self.key

    @property
    def content(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Cost:
    """What one request to a model took. The buckets are disjoint, but for `reasoning`, which is part of `output`.

    `key` is what makes it the same request however often it was written down; of two, the one with more output holds.
    """

    key: str
    session: str
    at: datetime
    model: str | None = None
    input: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0
    usd: float | None = None
    usd_source: str = "none"  # reported (by the agent), catalog (computed) or none

    @property
    def tokens(self) -> int:
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h + self.output


@dataclass(frozen=True, slots=True)
class Turn:
    """A user prompt with all that answered it: what is searched word for word. `id` is its first event's key."""

    id: str
    session: str
    project: str | None
    user_text: str
    agent_text: str
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class Gist:
    """What a session was about, in a few sentences, and the position of the last event it covers."""

    session: str
    content: str
    covers: int
    occurred_at: datetime
    created_at: datetime
    maker: str = "extractive"
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a memory comes from: a session, an event in it, and the span of its text."""

    session: str
    event: str | None = None
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing worth knowing."""

    id: str
    kind: str
    content: str
    project: str | None
    origin: str
    occurred_at: datetime
    recorded_at: datetime
    why: str | None = None
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 1.0
    session: str | None = None
    evidence: tuple[Evidence, ...] = ()
    anchors: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
    accessed_at: datetime | None = None
    access_count: int = 0
    superseded_by: str | None = None
    superseded_at: datetime | None = None
    expires_at: datetime | None = None
    archived_at: datetime | None = None
    deleted_at: datetime | None = None
    trust: str = "quoted"  # one of TRUSTS
    maker: str = SAID
    slot: str | None = None  # what it tells the value of
    confirmed_at: datetime | None = None

    @property
    def pinned(self) -> bool:
        """Whether a person wants agents to be told it before all else."""
        return bool(self.meta.get(PINNED))


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    """How a memory read before it was changed, and until when."""

    memory: str
    version: int
    kind: str
    content: str
    why: str | None
    tags: tuple[str, ...]
    importance: float
    confidence: float
    until: datetime


@dataclass(frozen=True, slots=True)
class Parts:
    """Why a hit has its score: each part from 0 to 1, `None` where it was not looked at.

    `use` is how useful it proved, from -1 to 1: 0 without feedback.
    """

    lexical: float
    semantic: float | None
    importance: float
    recency: float
    final: float
    use: float = 0.0


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing recalled, with why it was and how old it is."""

    id: str
    tier: Tier
    session: str | None
    content: str
    score: float
    parts: Parts
    age: str
    origin: str
    occurred_at: datetime
    project: str | None = None
    kind: str | None = None
    why: str | None = None
    tags: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    superseded_by: str | None = None
    trust: str = "quoted"  # one of TRUSTS
    notes: tuple[str, ...] = ()  # what to know before relying on it, such as a file that is gone
    context: str | None = None  # the shared context it is from; None: the user's own memory
    recorded_at: datetime | None = None  # when a memory was kept; None for what was said word for word, and gists


@dataclass(frozen=True, slots=True)
class Recall:
    """The answer to a question. `mode` says how it was searched; `note` says why when something was left out."""

    query: str
    hits: tuple[Hit, ...]
    abstained: bool
    mode: Literal["hybrid", "lexical"]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """Recalled text ready to stand in a prompt, its size in tokens, and what it was made of."""

    text: str
    tokens: int
    ids: tuple[str, ...]
    mode: Literal["hybrid", "lexical"]
    note: str | None = None
    abstained: bool = False  # nothing was close enough; else an empty text is one that nothing fits into

    def __str__(self) -> str:
        return self.text
