"""Questions and their answers: search, context, messages and prompts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field

from recollect.http.schemas.memories import Span
from recollect.http.schemas.values import (
    ContentType,
    ContextId,
    Given,
    Kind,
    Limit,
    Message,
    Mode,
    Moment,
    Query,
    SessionId,
    Tags,
    TierName,
    Told,
    Trust,
    Unit,
    UserId,
    Word,
)
from recollect.model import Parts
from recollect.store.ports.stats import Tally


class Filters(Given):
    """What an answer may be made of. Each field narrows; kinds, tags and importance are of memories alone."""

    content_types: Annotated[list[ContentType], Field(max_length=20)] | None = None
    """Only these types (= kinds); `conversation` is `note`."""
    kinds: Annotated[list[Kind], Field(max_length=20)] | None = None
    """The same in this program's own words."""
    tags: Tags | None = None
    """Only memories that bear at least one of these."""
    min_importance: Unit | None = None
    since: Moment | None = None
    """Only what happened at or after this time."""
    until: Moment | None = None
    """Only what happened at or before this time."""
    as_of: Moment | None = None
    """What was true at this time, as it was worded then."""
    session: SessionId | None = None
    """Only what comes from this session."""
    exclude_session: SessionId | None = None
    """Nothing that comes from this session."""
    tiers: Annotated[list[TierName], Field(min_length=1, max_length=3)] | None = None
    """What is searched: memories, gists of sessions, turns word for word. Without it, all three."""
    archived: bool = False
    """Also memories that were put away."""
    history: bool = False
    """Also memories that were superseded or have expired."""
    trusts: Annotated[list[Trust], Field(max_length=3)] | None = None
    """Only memories trusted as one of these: the user's own words, checked, or quoted."""
    flavors: Annotated[list[Word], Field(max_length=20)] | None = None
    """Only what comes from sessions of these agents, such as `claude`."""
    pinned: bool = False
    """Only memories that somebody pinned."""


class SearchRequest(Given):
    """A question."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": "What theme does the user like?",
                    "user_id": "user123",
                    "top_k": 5,
                    "filters": {"content_types": ["preference"], "min_importance": 0.3},
                }
            ]
        }
    )

    query: Query
    """The question in plain words; nothing in it is syntax."""
    top_k: Limit = 10
    """At most this many results."""
    user_id: UserId | None = None
    context_id: ContextId | None = None
    filters: Filters | None = None
    facets: bool = False
    """Also count everything the filters let through, by kind, tag, session and month."""
    profile: Literal["balanced", "relevance"] | None = None
    """`balanced`: 60 % similarity, 30 % importance, 10 % recency; `relevance`: similarity alone. Without it: balanced
    where memories are searched."""
    mode: Literal["auto", "lexical", "hybrid"] = "auto"
    """By words alone (`lexical`), or by words and meaning where there is an embedder."""
    abstain: bool | None = None
    """Say nothing rather than something unlikely; without it, as the server is set."""


class ScoreParts(Told):
    """Why a result has its score: each from 0 to 1, null where it was not looked at."""

    lexical: float
    semantic: float | None
    importance: float
    recency: float
    final: float
    use: float
    """How useful it proved, from -1 to 1: 0 without feedback."""

    @classmethod
    def of(cls, parts: Parts) -> Self:
        names = ("lexical", "semantic", "importance", "recency", "final", "use")
        return cls(**{name: getattr(parts, name) for name in names})


class SearchResult(Told):
    """One thing recalled, with why and how old it is."""

    id: str
    """Of a memory a UUID; of a gist its session; of a turn the id of its first event."""
    tier: TierName
    content: str
    content_type: str
    """The kind of a memory; else `gist` or `turn`."""
    score: float
    parts: ScoreParts
    age_days: float
    age: str
    """The same in words."""
    origin: str
    trust: Trust
    tags: list[str]
    importance: float
    session: str | None = None
    context_id: str | None = None
    why: str | None = None
    created_at: datetime | None = None
    """When a memory was kept; null for turns and gists."""
    occurred_at: datetime
    superseded_by: str | None = None
    notes: list[str]
    """What to know before relying on it, such as that another memory says otherwise."""
    evidence: list[Span]


class Facets(Told):
    """How many memories the filters let through, by what they are: the 50 commonest values of each."""

    memories: int
    kinds: dict[str, int]
    tags: dict[str, int]
    sessions: dict[str, int]
    months: dict[str, int]
    """Months in UTC, the latest first."""

    @classmethod
    def of(cls, tally: Tally) -> Self:
        return cls(
            memories=tally.memories,
            kinds=dict(tally.kinds),
            tags=dict(tally.tags),
            sessions=dict(tally.sessions),
            months=dict(tally.periods),
        )


class SearchAnswer(Told):
    """The right few things, the best first; or none."""

    results: list[SearchResult]
    count: int
    abstained: bool
    """Nothing was close enough to be said."""
    mode: Mode
    """How it was searched."""
    note: str | None = None
    """Why nothing was found, why words alone were searched, or what cannot be found by meaning yet."""
    facets: Facets | None = None


class RecordSearch(Given):
    """A question for records in full."""

    query: Query
    limit: Limit = 5
    record_type: Kind | None = None
    """Only this type (= kind)."""
    project_tag: ContextId | None = None
    """Only records that bear this tag or, when none does, those of the project of this name."""
    user_id: UserId | None = None
    context_id: ContextId | None = None


class RecordAnswer(Told):
    """Records in full, and the same as text for a model: `[type] content`, then its tags and why."""

    results: list[SearchResult]
    count: int
    abstained: bool
    mode: Mode
    note: str | None = None
    """As in a search."""
    text: str


class ContextRequest(Given):
    """A task or question to be given what is remembered about it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "What theme does the user like?", "user_id": "user123", "max_tokens": 500}]
        }
    )

    query: Query
    max_tokens: Annotated[int, Field(ge=1, le=100_000)] = 2_000
    """How long the text may be, at four characters a token."""
    top_k: Limit | None = None
    """At most this many entries; without it, as the server is set."""
    user_id: UserId | None = None
    context_id: ContextId | None = None
    session_id: SessionId | None = None
    """The conversation this is for: what comes from it is left out, since it is known there."""
    filters: Filters | None = None


class ContextFacts(Told):
    """What the text was made of."""

    ids: list[str]
    count: int
    abstained: bool
    """Nothing was close enough to be said."""
    mode: Mode
    note: str | None = None
    """As in a search; also that `max_tokens` is too small for the first entry."""


class ContextAnswer(Told):
    """Delimited, quoted text ready to stand in a prompt; empty when there is nothing to say."""

    context: str
    token_count: int
    metadata: ContextFacts


class MessagesRequest(Given):
    """A new message, to be put behind what is remembered."""

    persona: Annotated[str, Field(max_length=20_000)] = ""
    """What the system message begins with."""
    session: SessionId
    message: Message
    recent: Annotated[int, Field(ge=0, le=100)] = 10
    """How many of the session's last messages."""
    gists: Annotated[int, Field(ge=1, le=20)] = 3
    """How many gists of other sessions."""
    details: Annotated[int, Field(ge=1, le=50)] = 4
    """How many details of other sessions."""
    user_id: UserId | None = None
    context_id: ContextId | None = None


class ChatMessage(Told):
    """One message as chat models take it."""

    role: Literal["system", "user", "assistant"]
    content: str


class MessagesAnswer(Told):
    """A whole chat request: system, what was said lately, the new message."""

    messages: list[ChatMessage]


class PromptRequest(Given):
    """A new message, to be made into one prompt."""

    session: SessionId
    message: Message
    recent: Annotated[int, Field(ge=0, le=100)] = 10
    max_tokens: Annotated[int, Field(ge=1, le=100_000)] = 2_000
    """How long what is remembered may be in it."""
    user_id: UserId | None = None
    context_id: ContextId | None = None


class PromptAnswer(Told):
    """The prompt as text."""

    prompt: str


class StatsAnswer(Told):
    """What is remembered here, in figures."""

    memories: int
    tokens: int
    """About how many tokens all memories take."""
    kinds: dict[str, int]
    tags: dict[str, int]
    """The 50 commonest."""
    days: dict[str, int]
    """The latest 50 days on which something happened, in UTC."""
    sessions: int
    turns: int
    pending: int
    """Texts of this user that wait for their vector."""
