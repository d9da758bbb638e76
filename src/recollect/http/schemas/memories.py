"""Memories as they are told and changed over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field

from recollect.http.schemas.values import (
    Content,
    Given,
    Kind,
    Moment,
    Origin,
    SessionId,
    Tags,
    Told,
    Trust,
    Unit,
    Why,
    carried,
)
from recollect.model import Evidence, Memory, MemoryVersion
from recollect.recall.belief import Belief, Quote
from recollect.recall.usefulness import Usage
from recollect.store.ports.keeping import Receipt

# Where what a caller sent along stands in a memory's own notes.
METADATA, SOURCE_TYPE, SOURCE_ID = "metadata", "source_type", "source_id"


class Span(Told):
    """Where something was said: a session, an event in it, and the part of its text."""

    session: str
    event: str | None = None
    start: int | None = None
    end: int | None = None

    @classmethod
    def of(cls, span: Evidence) -> Self:
        return cls(session=span.session, event=span.event, start=span.start, end=span.end)


class MemoryRecord(Told):
    """One thing worth knowing, with everything that is known about it."""

    id: str
    kind: Kind
    content: str
    why: str | None = None
    tags: list[str]
    importance: float
    confidence: float
    origin: Origin
    """Who said it."""
    trust: Trust
    """`user`: the user's own words or confirmed by them; `checked`: computed or agreed to; `quoted`: anything else."""
    project: str | None = None
    """The project it belongs to (the request's `context_id`)."""
    session: str | None = None
    """The session it was made from."""
    version: int
    """Rises by one with every change; the ETag."""
    source_type: str | None = None
    source_id: str | None = None
    metadata: dict[str, Any]
    """What was sent along with it."""
    meta: dict[str, Any]
    """What the memory notes about itself, such as who said it too and what it disputes."""
    evidence: list[Span]
    anchors: list[str]
    """Files and commands it speaks of."""
    maker: str
    """`said`, `rules`, or the name of the language model that worded it."""
    slot: str | None = None
    occurred_at: datetime
    recorded_at: datetime
    accessed_at: datetime | None = None
    access_count: int = 0
    confirmed_at: datetime | None = None
    expires_at: datetime | None = None
    superseded_by: str | None = None
    superseded_at: datetime | None = None
    archived_at: datetime | None = None
    deleted_at: datetime | None = None

    @classmethod
    def of(cls, memory: Memory) -> Self:
        meta = carried(dict(memory.meta))
        kind, name, metadata = (meta.pop(word, None) for word in (SOURCE_TYPE, SOURCE_ID, METADATA))
        return cls(
            **{word: getattr(memory, word) for word in _SAME},
            source_type=kind if isinstance(kind, str) else None,
            source_id=name if isinstance(name, str) else None,
            tags=list(memory.tags),
            anchors=list(memory.anchors),
            evidence=[Span.of(span) for span in memory.evidence],
            metadata=metadata if isinstance(metadata, dict) else {},
            meta=meta,
        )


_SAME = (
    *("id", "kind", "content", "why", "importance", "confidence", "origin", "trust", "project", "session", "version"),
    *("maker", "slot", "occurred_at", "recorded_at", "accessed_at", "access_count", "confirmed_at", "expires_at"),
    *("superseded_by", "superseded_at", "archived_at", "deleted_at"),
)


class MemoryPage(Told):
    """One page of memories, the newest first."""

    memories: list[MemoryRecord]
    next_cursor: str | None = None
    """Asks for the next page; null: this was the last."""


class MemoryChange(Given):
    """What is to be different about a memory. What is not sent stays as it is."""

    model_config = ConfigDict(
        json_schema_extra={"minProperties": 1, "examples": [{"content": "Deploys run on Tuesdays", "importance": 0.8}]}
    )

    content: Content = Field(default_factory=str)
    """What it says; the old wording is kept as a version."""
    kind: Kind = Field(default_factory=lambda: "note")
    """What it is. Only what a user said or confirmed can be a preference."""
    why: Why | None = Field(default_factory=lambda: None)
    """The reason; null takes it away."""
    tags: Tags = Field(default_factory=list)
    importance: Unit = Field(default_factory=lambda: 0.5)
    confidence: Unit = Field(default_factory=lambda: 1.0)
    expires_at: Moment | None = Field(default_factory=lambda: None)
    """When it stops holding; null: never."""
    archived: bool = Field(default_factory=lambda: False)
    """Put away (found only when asked for), or back."""

    def said(self) -> dict[str, Any]:
        """The fields that were sent."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class Confirmation(Given):
    """The user says that a memory is so."""

    kind: Kind | None = None
    """What it is from now on; it may be a preference."""


class FeedbackGiven(Given):
    """What is said of the use of a memory."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"verdict": "helpful", "session": "chat:42"}]})

    verdict: Literal["helpful", "harmful", "cited"]
    """One `harmful` weighs as much as four `helpful`."""
    session: SessionId | None = None
    """The session it was so in."""
    note: Why | None = None
    """What for."""
    undo: bool = False
    """Take that verdict back."""


class FeedbackRecord(Told):
    """One verdict on a memory."""

    verdict: Literal["helpful", "harmful", "cited", "success"]
    """`success`: it was used in a session that succeeded."""
    at: datetime
    session: str | None = None
    source: Literal["user", "agent", "digest"]
    """Who says so; `digest`: the session itself shows it."""
    note: str | None = None


class UsageRecord(Told):
    """How useful a memory proved."""

    id: str
    usefulness: float
    """From -1 to 1; 0 without feedback. Being recalled or shown does not change it."""
    feedback: list[FeedbackRecord]
    """The newest first."""

    @classmethod
    def of(cls, usage: Usage) -> Self:
        names = ("verdict", "at", "session", "source", "note")
        said = [FeedbackRecord(**{name: getattr(one, name) for name in names}) for one in usage.feedback]
        return cls(id=usage.memory, usefulness=usage.usefulness, feedback=said)


class MemoryVersionRecord(Told):
    """How a memory read before, and until when."""

    version: int
    kind: Kind
    content: str
    why: str | None = None
    tags: list[str]
    importance: float
    confidence: float
    until: datetime

    @classmethod
    def of(cls, old: MemoryVersion) -> Self:
        names = ("version", "kind", "content", "why", "importance", "confidence", "until")
        return cls(**{name: getattr(old, name) for name in names}, tags=list(old.tags))


class MemoryVersions(Told):
    """How a memory read before, oldest first."""

    id: str
    versions: list[MemoryVersionRecord]


class QuoteRecord(Told):
    """The very words of one place, who said them and when; without text when they are not there any more."""

    span: Span
    origin: str | None = None
    at: datetime | None = None
    text: str | None = None

    @classmethod
    def of(cls, quote: Quote) -> Self:
        return cls(span=Span.of(quote.span), origin=quote.origin, at=quote.at, text=quote.text)


class SayingRecord(Told):
    """One time that it was said, and by whom."""

    at: datetime
    trust: Trust
    origin: str
    maker: str
    session: str | None = None
    confirmed: bool = False


class BeliefRecord(Told):
    """Why a memory is believed: the words it rests on, its history, and what says otherwise."""

    memory: MemoryRecord
    quotes: list[QuoteRecord]
    said: list[SayingRecord]
    versions: list[MemoryVersionRecord]
    superseded: list[MemoryRecord]
    """What it took the place of, the latest first."""
    merged: list[MemoryRecord]
    """Other wordings of it."""
    successors: list[MemoryRecord]
    """What took its place, and what took the place of that."""
    disputes: list[MemoryRecord]
    """What says otherwise."""

    @classmethod
    def of(cls, belief: Belief) -> Self:
        lines = ("superseded", "merged", "successors", "disputes")
        said = ("at", "trust", "origin", "maker", "session", "confirmed")
        return cls(
            memory=MemoryRecord.of(belief.memory),
            quotes=[QuoteRecord.of(one) for one in belief.quotes],
            said=[SayingRecord(**{name: getattr(one, name) for name in said}) for one in belief.said],
            versions=[MemoryVersionRecord.of(old) for old in belief.versions],
            **{name: [MemoryRecord.of(one) for one in getattr(belief, name)] for name in lines},
        )


class HeldBackup(Told):
    """A backup made before; it holds what was forgotten until it expires."""

    id: str
    made_at: datetime
    expires_at: datetime


class ReceiptRecord(Told):
    """What was taken away, and whether nothing of it is left in the store."""

    counts: dict[str, int]
    complete: bool
    """Whether not a byte of it is left in any file of the store. Never so for what can be restored."""
    remains: list[str]
    """In words, where something may be left when it is not complete."""
    backups: list[HeldBackup]

    @classmethod
    def of(cls, receipt: Receipt) -> Self:
        backups = [HeldBackup(id=one.id, made_at=one.made_at, expires_at=one.expires_at) for one in receipt.backups]
        counts: Mapping[str, int] = receipt.counts
        return cls(counts=dict(counts), complete=receipt.complete, remains=list(receipt.remains), backups=backups)
