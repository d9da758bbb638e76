"""Values the contract tests are made of: short to write, the same on every run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from recollect.ids import stable_key, uuid7
from recollect.model import ROLES, Event, Gist, Memory, Scope, Tier
from recollect.models.tiny import TinyEmbedder
from recollect.store.port import Store
from recollect.store.ports.memories import Filter
from recollect.store.ports.search import Document, Match
from recollect.store.searchtext import query_terms

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = T0 + timedelta(days=30)
ANN = Scope("acme", "ann")
BOB = Scope("acme", "bob")
EVE = Scope("other", "ann")  # the same user name at another tenant
TINY = TinyEmbedder()
MODEL = (TINY.name, TINY.dim)
NOW = Filter(now=LATER)


def minute(number: float) -> datetime:
    return T0 + timedelta(minutes=number)


def event(session: str, number: int, text: str, role: str = "user", **changes: Any) -> Event:
    kind, origin = ROLES[role]
    values: dict[str, Any] = {
        "key": stable_key(session, str(number)),
        "session": session,
        "kind": kind,
        "role": role,
        "origin": origin,
        "text": text,
        "occurred_at": minute(number),
        "recorded_at": minute(number),
    }
    return Event(**{**values, **changes})


def talk(session: str, *lines: str, first: int = 0) -> list[Event]:
    """Events from lines such as `user: hello`; a line without a role is the user's."""
    events = []
    for number, line in enumerate(lines, first):
        role, colon, text = line.partition(": ")
        events.append(event(session, number, text, role) if colon and role in ROLES else event(session, number, line))
    return events


def memory(content: str, **changes: Any) -> Memory:
    values: dict[str, Any] = {
        "id": uuid7(),
        "kind": "fact",
        "content": content,
        "project": None,
        "origin": "user",
        "occurred_at": T0,
        "recorded_at": T0,
    }
    values["trust"] = "user" if changes.get("origin", "user") == "user" else "quoted"
    return Memory(**{**values, **changes})


def gist(session: str, content: str, covers: int = 0, **changes: Any) -> Gist:
    values: dict[str, Any] = {"session": session, "content": content, "covers": covers}
    return Gist(**{**values, "occurred_at": T0, "created_at": T0, **changes})


def embed_waiting(store: Store, embedder: TinyEmbedder = TINY) -> int:
    """Give every waiting text its vector."""
    done = 0
    while waiting := store.vectors.waiting(100):
        done += store.vectors.put(
            (embedder.name, embedder.dim), [(item, embedder.embed(item.texts)) for item in waiting]
        )
    return done


def by_words(
    store: Store, scope: Scope, tier: Tier, query: str, where: Filter | None = NOW, limit: int = 50
) -> list[Match]:
    return store.search.lexical(scope, tier, query_terms(query), where, limit)


def by_meaning(
    store: Store, scope: Scope, tier: Tier, query: str, where: Filter | None = NOW, limit: int = 50
) -> list[Match]:
    return store.search.semantic(scope, tier, TINY.embed([query])[0], where, limit)


def shown(store: Store, scope: Scope, tier: Tier, matches: Sequence[Match]) -> list[Document]:
    return store.search.documents(scope, tier, [match.doc for match in matches])


def texts(documents: Sequence[Document]) -> list[str]:
    return [document.content for document in documents]
