"""The server's answers as the values the façade returns. What is missing or of another type is never guessed at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Literal, TypeVar

from recollect.client.wire import strange
from recollect.clock import parse_time
from recollect.model import (
    Context,
    Event,
    Evidence,
    Gist,
    Hit,
    Memory,
    MemoryVersion,
    Parts,
    Recall,
    Session,
    Tier,
)
from recollect.recall.usefulness import Usage
from recollect.store.ports.keeping import Health, Held, Receipt
from recollect.store.ports.use import Feedback

_T = TypeVar("_T")


def read(how: Callable[[Any], _T], body: Any) -> _T:
    """An answer read in this way; StoreUnavailable when it is not of that form."""
    try:
        return how(body)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError):
        raise strange("a part of it is missing or of another kind") from None


def page(name: str, how: Callable[[Any], _T]) -> Callable[[Any], tuple[list[_T], str | None]]:
    """One page of a list, and the cursor of the next."""
    return lambda body: ([how(one) for one in items(body, name)], text_or_none(body, "next_cursor"))


def memory(body: Any) -> Memory:
    return Memory(
        id=text(body, "id"),
        kind=text(body, "kind"),
        content=text(body, "content"),
        project=text_or_none(body, "project"),
        origin=text(body, "origin"),
        occurred_at=moment(body, "occurred_at"),
        recorded_at=moment(body, "recorded_at"),
        why=text_or_none(body, "why"),
        tags=texts(body, "tags"),
        importance=number(body, "importance"),
        confidence=number(body, "confidence"),
        session=text_or_none(body, "session"),
        evidence=tuple(map(_evidence, items(body, "evidence"))),
        anchors=texts(body, "anchors"),
        meta={**mapping(body, "meta"), **mapping(body, "metadata")},
        version=whole(body, "version"),
        accessed_at=moment_or_none(body, "accessed_at"),
        access_count=whole(body, "access_count"),
        superseded_by=text_or_none(body, "superseded_by"),
        superseded_at=moment_or_none(body, "superseded_at"),
        expires_at=moment_or_none(body, "expires_at"),
        archived_at=moment_or_none(body, "archived_at"),
        deleted_at=moment_or_none(body, "deleted_at"),
        trust=text(body, "trust"),
        maker=text(body, "maker"),
        slot=text_or_none(body, "slot"),
        confirmed_at=moment_or_none(body, "confirmed_at"),
    )


def versions(body: Any) -> list[MemoryVersion]:
    return [
        MemoryVersion(
            memory=text(body, "id"),
            version=whole(one, "version"),
            kind=text(one, "kind"),
            content=text(one, "content"),
            why=text_or_none(one, "why"),
            tags=texts(one, "tags"),
            importance=number(one, "importance"),
            confidence=number(one, "confidence"),
            until=moment(one, "until"),
        )
        for one in items(body, "versions")
    ]


def recall(query: str) -> Callable[[Any], Recall]:
    def how(body: Any) -> Recall:
        abstained = truth(body, "abstained")
        note = text_or_none(body, "note") or ("nothing here is close enough to the question" if abstained else None)
        return Recall(query, tuple(map(_hit, items(body, "results"))), abstained, _mode(body), note)

    return how


def usage(body: Any) -> Usage:
    id_ = text(body, "id")
    said = tuple(
        Feedback(
            id_,
            text(one, "verdict"),
            moment(one, "at"),
            text_or_none(one, "session"),
            text(one, "source"),
            text_or_none(one, "note"),
        )
        for one in items(body, "feedback")
    )
    return Usage(id_, number(body, "usefulness"), said)


def _hit(body: Any) -> Hit:
    tier = _tier(text(body, "tier"))
    parts = body["parts"]
    return Hit(
        id=text(body, "id"),
        tier=tier,
        session=text_or_none(body, "session"),
        content=text(body, "content"),
        score=number(body, "score"),
        parts=Parts(
            lexical=number(parts, "lexical"),
            semantic=None if parts["semantic"] is None else number(parts, "semantic"),
            importance=number(parts, "importance"),
            recency=number(parts, "recency"),
            final=number(parts, "final"),
            use=number(parts, "use") if "use" in parts else 0.0,
        ),
        age=text(body, "age"),
        origin=text(body, "origin"),
        occurred_at=moment(body, "occurred_at"),
        project=text_or_none(body, "context_id"),
        kind=text(body, "content_type") if tier == "memory" else None,
        why=text_or_none(body, "why"),
        tags=texts(body, "tags"),
        evidence=tuple(map(_evidence, items(body, "evidence"))),
        superseded_by=text_or_none(body, "superseded_by"),
        trust=text(body, "trust"),
        notes=texts(body, "notes"),
        recorded_at=moment_or_none(body, "created_at"),
    )


def context(body: Any) -> Context:
    facts = body["metadata"]
    abstained = truth(facts, "abstained")
    note = text_or_none(facts, "note") or ("nothing was recalled" if abstained else None)
    ids = texts(facts, "ids")
    return Context(text(body, "context"), whole(body, "token_count"), ids, _mode(facts), note, abstained)


def messages(body: Any) -> list[dict[str, str]]:
    return [{"role": text(one, "role"), "content": text(one, "content")} for one in items(body, "messages")]


def session(body: Any) -> Session:
    interactive = body.get("interactive")
    return Session(
        id=text(body, "id"),
        flavor=text(body, "flavor"),
        title=text_or_none(body, "title"),
        project=text_or_none(body, "project"),
        started_at=moment_or_none(body, "started_at"),
        ended_at=moment_or_none(body, "ended_at"),
        turns=whole(body, "turns"),
        parent=text_or_none(body, "parent"),
        relation=text(body, "relation"),
        cwd=text_or_none(body, "cwd"),
        branch=text_or_none(body, "branch"),
        commit=text_or_none(body, "commit"),
        models=texts(body, "models"),
        agent_version=text_or_none(body, "agent_version"),
        interactive=interactive if interactive is None else truth(body, "interactive"),
        outcome=text_or_none(body, "outcome"),
    )


def history(body: Any) -> tuple[list[Event], int | None]:
    """What was said, and after which position the next page begins."""
    after = body.get("next_after")
    return [_event(one) for one in items(body, "events")], after if after is None else whole(body, "next_after")


def _event(body: Any) -> Event:
    return Event(
        key=text(body, "id"),
        session=text(body, "session"),
        kind=text(body, "kind"),
        role=text(body, "role"),
        origin=text(body, "origin"),
        text=text(body, "content"),
        occurred_at=moment(body, "occurred_at"),
        recorded_at=moment(body, "recorded_at"),
        position=whole(body, "position"),
        meta=mapping(body, "metadata"),
    )


def gist(body: Any) -> Gist | None:
    found = body["gist"]
    if found is None:
        return None
    return Gist(
        session=text(found, "session"),
        content=text(found, "content"),
        covers=whole(found, "covers"),
        occurred_at=moment(found, "occurred_at"),
        created_at=moment(found, "created_at"),
        maker=text(found, "maker"),
        project=text_or_none(found, "project"),
    )


def receipt(body: Any) -> Receipt:
    held = [Held(text(one, "id"), moment(one, "made_at"), moment(one, "expires_at")) for one in items(body, "backups")]
    counts = mapping(body, "counts")
    return Receipt(
        {name: whole(counts, name) for name in counts}, truth(body, "complete"), texts(body, "remains"), tuple(held)
    )


def health(body: Any) -> Health:
    """How the server's store is; what a server does not tell (its files) is empty."""
    counts, model = body.get("counts"), body.get("model")
    known = isinstance(model, Mapping) and model.get("name") is not None
    return Health(
        counts={name: whole(counts, name) for name in counts} if isinstance(counts, Mapping) else {},
        pending=whole(body, "pending_vectors") if "pending_vectors" in body else 0,
        model=(text(model, "name"), whole(model, "dim")) if known else None,
        bytes={},
        checks={"service": text(body, "status")},
    )


def counts(body: Any) -> dict[str, int]:
    return {name: whole(body, name) for name in ("memories", "sessions", "turns")}


def ids(body: Any) -> list[str]:
    return list(texts(body, "ids"))


# -- single values -----------------------------------------------------------------------------------------------------


def text(body: Any, name: str) -> str:
    value = body[name]
    if not isinstance(value, str):
        raise TypeError(name)
    return value


def text_or_none(body: Any, name: str) -> str | None:
    return None if body.get(name) is None else text(body, name)


def texts(body: Any, name: str) -> tuple[str, ...]:
    values = items(body, name)
    if not all(isinstance(value, str) for value in values):
        raise TypeError(name)
    return tuple(values)


def items(body: Any, name: str) -> list[Any]:
    value = body[name]
    if not isinstance(value, list):
        raise TypeError(name)
    return value


def mapping(body: Any, name: str) -> dict[str, Any]:
    value = body[name]
    if not isinstance(value, dict):
        raise TypeError(name)
    return value


def number(body: Any, name: str) -> float:
    value = body[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(name)
    return float(value)


def whole(body: Any, name: str) -> int:
    value = body[name]
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(name)
    return value


def truth(body: Any, name: str) -> bool:
    value = body[name]
    if not isinstance(value, bool):
        raise TypeError(name)
    return value


def moment(body: Any, name: str) -> datetime:
    return parse_time(text(body, name))


def moment_or_none(body: Any, name: str) -> datetime | None:
    return None if body.get(name) is None else moment(body, name)


def _evidence(body: Any) -> Evidence:
    start, end = (None if body.get(name) is None else whole(body, name) for name in ("start", "end"))
    return Evidence(text(body, "session"), text_or_none(body, "event"), start, end)


def _mode(body: Any) -> Literal["hybrid", "lexical"]:
    found = text(body, "mode")
    if found == "hybrid":
        return "hybrid"
    if found == "lexical":
        return "lexical"
    raise ValueError(found)


def _tier(found: str) -> Tier:
    if found == "memory":
        return "memory"
    if found == "gist":
        return "gist"
    if found == "turn":
        return "turn"
    raise ValueError(found)
