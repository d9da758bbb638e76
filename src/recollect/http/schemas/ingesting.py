"""What is brought in over HTTP: memories word for word, turns to be distilled, and events of conversations."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema

from recollect.http.schemas.errors import ErrorDetail
from recollect.http.schemas.values import (
    Content,
    ContentType,
    ContextId,
    Given,
    Key,
    Kind,
    Message,
    Metadata,
    Moment,
    Origin,
    Role,
    SessionId,
    Tags,
    Title,
    Told,
    Unit,
    UserId,
    Why,
    Word,
)

MAX_ITEMS = 1_000

Status = Literal["stored", "known", "merged", "superseding", "disputed", "withheld"]


class Ingest(Given):
    """One thing to remember, word for word."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "content": "User prefers dark mode",
                    "content_type": "preference",
                    "source_type": "conversation",
                    "user_id": "user123",
                    "tags": ["ui"],
                    "metadata": {"source": "chat"},
                }
            ]
        }
    )

    content: Content
    """What to remember. Secrets are taken out before it is kept."""
    content_type: ContentType = "note"
    """What it is (= kind); `conversation` is kept as a note."""
    source_type: Word = "api"
    """Where it comes from, in a word of yours."""
    source_id: Key | None = None
    """What it is called there."""
    user_id: UserId | None = None
    """Whose memory. Another user than the key's own needs a key with `act`."""
    context_id: ContextId | None = None
    """The project it belongs to; without it, it holds everywhere."""
    tags: Tags | None = None
    """Words to find it by; without them, the #hashtags in the text."""
    metadata: Metadata | None = None
    """Anything to keep along with it: at most 5 levels deep and 50 KB."""
    importance: Unit | None = None
    """How much it matters; without it, it is worked out."""
    confidence: Unit | None = None
    """How sure it is; without it, 1."""
    why: Why | None = None
    """The reason, in a line."""
    origin: Origin | None = None
    """Who said it. `user` needs a key with `speak`. Without it `import`; of a preference `user`, if the key may."""
    occurred_at: Moment | None = None
    """When it was so; without it, now."""
    expires_at: Moment | None = None
    """When it stops holding."""


class Ingested(Told):
    """What became of it."""

    memory_id: str | None
    """The memory that stands for it now: a new one, or the one that said it already. Null: nothing was kept."""
    status: Status
    """`stored`; `known` already; `merged` with what says nearly the same; `superseding` an older one; `disputed`:
    another says otherwise and holds as much; `withheld`: the user took it away before."""
    kind: Kind
    """What it was kept as. A preference that is not in the user's own words is kept as a note."""
    redacted: int
    """How many secrets were taken out of it."""
    others: list[str]
    """The other memories that this concerns, by id."""
    notice: str | None = None
    """What else to know, in words."""


# Each item is checked by itself, so that a bad one costs only itself; what it has to look like is told all the same.
_Items = Annotated[
    list[Any],
    WithJsonSchema(
        {"type": "array", "minItems": 1, "maxItems": MAX_ITEMS, "items": {"$ref": "#/components/schemas/Ingest"}}
    ),
    Field(min_length=1, max_length=MAX_ITEMS),
]


class IngestBatch(Given):
    """Several things to remember; each is taken or refused by itself."""

    items: _Items
    """Each as in POST /ingest."""


class BatchResult(Told):
    """What became of one item: an id and a status, or an error."""

    memory_id: str | None = None
    status: Status | None = None
    kind: Kind | None = None
    error: ErrorDetail | None = None


class IngestedBatch(Told):
    """What became of each item, in the order sent."""

    results: list[BatchResult]
    stored: int
    """How many are new (merged, superseding and disputed ones too)."""
    known: int
    failed: int


class TurnGiven(Given):
    """What a user said and what was answered, to be recorded and distilled in the background."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "user_message": "From now on always use tabs in this repository.",
                    "assistant_message": "Understood, tabs it is.",
                    "session_id": "chat:42",
                }
            ]
        }
    )

    user_message: Message
    assistant_message: Message
    session_id: SessionId | None = None
    """The conversation; without it, `api:` and the day it was said."""
    context_id: ContextId | None = None
    """The project."""
    project_tag: ContextId | None = None
    """Another name for `context_id`."""
    user_id: UserId | None = None
    occurred_at: Moment | None = None
    """When it was said; without it, now. Sent again with the same time and words, it is the same turn."""
    metadata: Metadata | None = None
    key: Key | None = None
    """What you call this turn: sent again with the same key, it is the same turn."""


class TurnTaken(Told):
    """The turn is recorded; what is worth knowing of it is found out in the background."""

    session_id: str
    turn_id: str
    task: str
    """The task that distills it: GET /tasks/{id}."""
    status: Literal["queued"] = "queued"
    redacted: int
    """How many secrets and private parts were taken out of it."""


class EventGiven(Given):
    """One message of a conversation."""

    session: SessionId
    """The conversation, such as `chat:42`."""
    role: Role
    content: Message
    occurred_at: Moment | None = None
    """When it was said; without it, now."""
    key: Key | None = None
    """What you call this message: sent again with the same key, it is the same event."""
    title: Title | None = None
    """What the conversation is called."""
    metadata: Metadata | None = None


class EventsGiven(Given):
    """Messages of conversations, in the order they were said."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "events": [
                        {"session": "chat:42", "role": "user", "content": "Which port does staging use?"},
                        {"session": "chat:42", "role": "assistant", "content": "Port 8443."},
                    ]
                }
            ]
        }
    )

    events: Annotated[list[EventGiven], Field(min_length=1, max_length=MAX_ITEMS)]
    user_id: UserId | None = None
    context_id: ContextId | None = None


class EventsTaken(Told):
    """The events are recorded."""

    ids: list[str]
    """In the order sent; an event that was there already has the id it had."""
    accepted: int
    redacted: int
    """How many secrets and private parts were taken out of them, and of titles and metadata."""
