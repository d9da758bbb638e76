"""Everything of a scope as JSON Lines, and back: lossless, in a stable order, harmless to do twice.

One object a line: first `recollect` (format), then each session with its events and gist, then the memories with their
versions. Written for any store; it is also how one store is moved into another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from recollect.clock import iso, parse_time
from recollect.errors import InvalidInput
from recollect.model import (
    ORIGINS,
    Event,
    Evidence,
    Gist,
    Memory,
    MemoryVersion,
    Scope,
    Session,
    check_id,
    parse_kind,
    parse_tags,
    parse_unit,
)
from recollect.store.port import Filter, Store
from recollect.text import require_text, storable

FORMAT = 1
_PAGE = 200
_TIMES = ("occurred_at", "recorded_at", "accessed_at", "superseded_at", "expires_at", "archived_at", "deleted_at")


def export(store: Store, scope: Scope, *, now: datetime) -> Iterator[dict[str, Any]]:
    """Every session, event, gist and memory the scope sees."""
    yield {"type": "recollect", "format": FORMAT, "exported_at": iso(now)}
    for session in _pages(lambda limit, offset: store.sessions.find(scope, limit=limit, offset=offset)):
        yield {"type": "session", **_plain(session, skip=("turns", "flavor"))}
        for event in store.sessions.history(scope, session.id):
            yield {"type": "event", **_plain(event, skip=("position",))}
        gist = store.gists.get(scope, session.id)
        if gist is not None:
            yield {"type": "gist", **_plain(gist, skip=("project",))}
    everything = Filter(now=now, archived=True, history=True)
    for memory in _pages(lambda limit, offset: store.memories.find(scope, everything, limit=limit, offset=offset)):
        versions = [_plain(old, skip=("memory",)) for old in store.memories.versions(scope, memory.id)]
        yield {"type": "memory", **_plain(memory), "versions": versions}


def load(store: Store, scope: Scope, records: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Take exported records in; counts what was new and what was there already."""
    counts: Counter[str] = Counter()
    projects: dict[str, str | None] = {}
    waiting: list[Event] = []

    def flush() -> None:
        if waiting:
            added = store.sessions.append(scope.within(projects.get(waiting[0].session)), waiting)
            counts.update(events=sum(added), known=len(added) - sum(added))
            waiting.clear()

    for number, record in enumerate(records, 1):
        try:
            if record.get("type") == "event":
                event = _event(record)
                if waiting and (waiting[-1].session != event.session or len(waiting) >= _PAGE):
                    flush()
                waiting.append(event)
            else:
                flush()
                _load_one(store, scope, record, projects, counts)
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidInput(f"record {number} is not one of ours: {error}") from None
        except InvalidInput as error:
            raise InvalidInput(f"record {number}: {error}", hint=error.hint) from None
    flush()
    return dict(counts)


def _load_one(
    store: Store, scope: Scope, record: Mapping[str, Any], projects: dict[str, str | None], counts: Counter[str]
) -> None:
    kind = record.get("type")
    if kind == "recollect":
        if record["format"] != FORMAT:
            raise InvalidInput(
                f"format {record['format']!r} is not known", hint="Upgrade Recollect to read this export."
            )
    elif kind == "session":
        project = record["project"] if record["project"] is not None else scope.project
        projects[record["id"]] = project
        at = parse_time(record["started_at"])
        session = check_id(record["id"], "session")
        store.sessions.ensure(scope.within(project), session, at=at, title=record["title"], meta=record["meta"])
        counts["sessions"] += 1
    elif kind == "gist":
        store.gists.put(scope.within(projects.get(record["session"])), _gist(record))
        counts["gists"] += 1
    elif kind == "memory":
        memory, versions = _memory(record, scope)
        _, added = store.memories.add(scope, memory, versions)
        counts["memories" if added else "known"] += 1
    else:
        raise InvalidInput(f"unknown record type {str(kind)[:40]!r}")


def _pages(find: Any) -> Iterator[Any]:
    offset = 0
    while page := find(_PAGE, offset):
        yield from page
        offset += len(page)


def _plain(
    value: Session | Event | Gist | Memory | MemoryVersion | Evidence, skip: tuple[str, ...] = ()
) -> dict[str, Any]:
    """A value as JSON can hold it."""
    return {field.name: _json(getattr(value, field.name)) for field in fields(value) if field.name not in skip}


def _json(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, Evidence):
        return _plain(value)
    if isinstance(value, tuple):
        return [_json(item) for item in value]
    return value


def _event(record: Mapping[str, Any]) -> Event:
    key = str(record["key"])
    if len(key) != 32 or not all(c in "0123456789abcdef" for c in key):
        raise InvalidInput(f"event key {key[:40]!r} is not 32 hex digits")
    return Event(
        key=key,
        session=check_id(record["session"], "session"),
        kind=check_id(record["kind"], "kind"),
        role=check_id(record["role"], "role"),
        origin=_origin(record["origin"]),
        text=storable(record["text"]),
        occurred_at=parse_time(record["occurred_at"]),
        recorded_at=parse_time(record["recorded_at"]),
        meta=dict(record["meta"]),
    )


def _gist(record: Mapping[str, Any]) -> Gist:
    return Gist(
        session=check_id(record["session"], "session"),
        content=require_text(record["content"], "gist"),
        covers=int(record["covers"]),
        occurred_at=parse_time(record["occurred_at"]),
        created_at=parse_time(record["created_at"]),
        maker=check_id(record["maker"], "maker"),
    )


def _memory(record: Mapping[str, Any], scope: Scope) -> tuple[Memory, list[MemoryVersion]]:
    values = {name: value for name, value in record.items() if name not in ("type", "versions")}
    unknown = values.keys() - {field.name for field in fields(Memory)}
    if unknown:
        raise InvalidInput(f"unknown field {min(unknown)!r} in a memory")
    for name in _TIMES:
        if values.get(name) is not None:
            values[name] = parse_time(values[name])
    if values["project"] is None:
        values["project"] = scope.project
    checked = Memory(
        **{
            **values,
            "id": check_id(values["id"], "id"),
            "kind": parse_kind(values["kind"]),
            "content": require_text(values["content"], "content"),
            "origin": _origin(values["origin"]),
            "tags": parse_tags(values["tags"]),
            "importance": parse_unit(values["importance"], "importance"),
            "confidence": parse_unit(values["confidence"], "confidence"),
            "evidence": tuple(Evidence(**span) for span in values["evidence"]),
            "anchors": tuple(values["anchors"]),
        }
    )
    return checked, [_version(checked.id, old) for old in record.get("versions", ())]


def _version(memory_id: str, record: Mapping[str, Any]) -> MemoryVersion:
    values = {**record, "memory": memory_id, "tags": parse_tags(record["tags"]), "until": parse_time(record["until"])}
    return MemoryVersion(**values)


def _origin(value: object) -> str:
    if value not in ORIGINS:
        raise InvalidInput(f"unknown origin {str(value)[:40]!r}")
    return str(value)
