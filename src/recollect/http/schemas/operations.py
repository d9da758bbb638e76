"""How the service is, who asks, and what they may have, as answers."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from recollect.http.schemas.values import Told


class QueueFigures(Told):
    """The work in the background, of everybody."""

    waiting: int
    running: int
    dead: int
    """Failed for good: somebody has to look."""
    oldest_seconds: float
    """How long the oldest has been due."""


class ModelFigures(Told):
    """The embedder."""

    name: str | None
    dim: int | None
    ready: bool
    problem: str | None
    """Why questions are answered by words alone, if they are."""


class Counts(Told):
    """What the one who asks has."""

    memories: int
    sessions: int
    turns: int


class HealthAnswer(BaseModel):
    """Whether work gets done. Without a key, only the first four."""

    status: Literal["ok", "degraded", "stuck"]
    version: str
    role: Literal["ingestion", "retrieval", "all"]
    queue: QueueFigures | None
    model: ModelFigures | None = None
    store: Literal["sqlite", "postgres"] | None = None
    pending_vectors: int | None = None
    last_write_at: str | None = None
    counts: Counts | None = None
    bus: dict[str, Any] | None = None
    budget: dict[str, Any] | None = None
    problem: str | None = None


class Used(Told):
    """How much of what; null: without a limit."""

    used: int
    limit: int | None
    left: int | None


class QuotaAnswer(Told):
    """What is used of what one may have."""

    memories: Used
    ingests_today: Used
    resets_at: str
    """When a new day begins."""


class WhoAnswer(Told):
    """Whose key it is, and what it may."""

    tenant: str
    user: str
    context_id: str | None
    """The project it is for alone, if it is."""
    permissions: list[str]
    key: str
    """The key's id; `local` for the secret of this machine."""
    expires_at: str | None
    quota: QuotaAnswer
