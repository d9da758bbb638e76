"""`MemoryAPI`: what a memory in this process and a memory at an address have in common, for type checkers.

    def tidy(memory: MemoryAPI) -> None: ...

    tidy(Recollect.open())                               # a data directory
    tidy(Client("https://memory.example.org"))           # a server

`Recollect.open(url="https://…")` returns a `Client`: whoever opens by an address relies on these methods alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, Protocol, Self

from recollect.capture.exchange import Exchange
from recollect.clock import TimeLike
from recollect.model import Context, Event, Gist, Memory, MemoryVersion, Recall, Session, Tier
from recollect.recall.usefulness import Usage
from recollect.store.ports.keeping import Health, Receipt


class MemoryAPI(Protocol):
    """A memory that may be anywhere. `recollect.facade` says what each method does."""

    def record(
        self, session: str, role: str, content: str, occurred_at: TimeLike | None = None, *, key: str | None = None
    ) -> str: ...

    def record_many(self, exchanges: Iterable[Exchange]) -> list[str]: ...

    def remember(
        self,
        content: str,
        kind: str = "note",
        why: str | None = None,
        tags: Iterable[str] | None = None,
        importance: float | None = None,
        *,
        confidence: float = 1.0,
        origin: str = "user",
        occurred_at: TimeLike | None = None,
        expires_at: TimeLike | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Memory: ...

    def recall(
        self,
        query: str,
        limit: int | None = None,
        kinds: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        project: str | None = None,
        session: str | None = None,
        exclude_session: str | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        as_of: TimeLike | None = None,
        tiers: Iterable[Tier] = ...,
        *,
        min_importance: float | None = None,
        archived: bool = False,
        history: bool = False,
        profile: str | None = None,
        abstain: bool | None = None,
        mode: Literal["auto", "lexical", "hybrid"] = "auto",
        trusts: Iterable[str] = (),
        flavors: Iterable[str] = (),
        pinned: bool = False,
    ) -> Recall: ...

    def context(
        self,
        query: str,
        max_tokens: int = 2_000,
        limit: int | None = None,
        tiers: Iterable[Tier] = ...,
        **filters: Any,
    ) -> Context: ...

    def messages(
        self, persona: str, session: str, message: str, *, recent: int = 10, gists: int = 3, details: int = 4
    ) -> list[dict[str, str]]: ...

    def prompt(self, session: str, message: str, *, recent: int = 10, max_tokens: int = 2_000) -> str: ...

    def sessions(self, limit: int = 100, offset: int = 0) -> list[Session]: ...

    def history(self, session: str) -> list[Event]: ...

    def recent(self, session: str, n: int = 10) -> list[Event]: ...

    def gist(self, session: str) -> Gist | None: ...

    def summarize(self, session: str) -> Gist | None: ...

    def get(self, memory_id: str) -> Memory: ...

    def memories(self, limit: int = 100, offset: int = 0, **filters: Any) -> list[Memory]: ...

    def versions(self, memory_id: str) -> list[MemoryVersion]: ...

    def update(self, memory_id: str, *, expected_version: int | None = None, **changes: Any) -> Memory: ...

    def archive(self, memory_id: str, archived: bool = True, *, expected_version: int | None = None) -> Memory: ...

    def confirm(self, memory_id: str, kind: str | None = None, *, expected_version: int | None = None) -> Memory: ...

    def feedback(
        self,
        memory_id: str,
        verdict: str,
        session: str | None = None,
        *,
        note: str | None = None,
        undo: bool = False,
    ) -> Usage: ...

    def restore(self, memory_id: str) -> Memory: ...

    def forget(
        self, memory_id: str | None = None, *, session: str | None = None, everything: bool = False, soft: bool = False
    ) -> Receipt: ...

    def health(self) -> Health: ...

    def export(self) -> Iterator[dict[str, Any]]: ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
