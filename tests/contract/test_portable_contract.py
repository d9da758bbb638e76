"""Export and import: everything comes out, goes into an empty store, and comes out the same; nothing odd goes in."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.ids import stable_key
from recollect.model import KINDS, Evidence, Scope
from recollect.store import portable
from recollect.store.port import Store
from tests.contract.conftest import NewStore
from tests.contract.samples import ANN, BOB, LATER, T0, event, gist, memory, minute, talk

Record = dict[str, Any]


def dump(store: Store, scope: Scope = ANN) -> list[Record]:
    """The export as it is written to a file and read back."""
    return [json.loads(json.dumps(record)) for record in portable.export(store, scope, now=LATER)]


def fill(store: Store, scope: Scope = ANN) -> None:
    """Something of everything, with equal times so that only a stable order keeps it in order."""
    for number in range(5):
        project = scope.within("apollo" if number % 2 else None)
        store.sessions.append(project, talk(f"chat:{number}", "question", "assistant: answer", "tool: output"))
        store.memories.add(scope, memory(f"fact {number}", project=project.project))
    store.sessions.append(
        scope, [event("codex:x", 9, "later\u2028line"), event("codex:x", 3, "earlier", meta={"a": 1})]
    )
    store.sessions.ensure(scope, "chat:1", at=T0, title="Títle — 题", meta={"branch": "main", "n": [1, None]})
    store.sessions.ensure(scope, "chat:empty", at=minute(77))
    store.sessions.ensure(scope, "chat:began late", at=minute(500))
    store.sessions.append(scope, [event("chat:began late", 1, "said before the session was made")])
    store.gists.put(scope, gist("chat:1", "What it was about.", 2, maker="test"))
    old = memory("first wording", kind="decision", why="w", tags=("a", "é"), importance=0.25, confidence=0.5)
    full = replace(
        old, session="chat:1", evidence=(Evidence("chat:1", "ab" * 16, 1, 2),), anchors=("x.py",), meta={"k": 1}
    )
    store.memories.add(scope, full)
    second = store.memories.update(scope, replace(full, content="second wording"), at=minute(3), note="edit")
    store.memories.update(scope, replace(second, importance=0.75), at=minute(4), note="edit")
    store.memories.touch(scope, {full.id: 3}, at=minute(5))
    store.memories.add(scope, memory("archived", archived_at=minute(9)))
    store.memories.add(scope, memory("expired", expires_at=minute(9)))
    store.memories.add(scope, memory("superseded", superseded_at=minute(9), superseded_by=full.id))


def test_a_long_session_is_read_a_page_at_a_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portable, "_EVENTS", 3)
    store.sessions.append(ANN, talk("chat:1", *(f"line {number}" for number in range(10))))
    asked: list[int | None] = []
    history = store.sessions.history

    def noted(*args: Any, **how: Any) -> Any:
        asked.append(how.get("first"))
        return history(*args, **how)

    monkeypatch.setattr(store.sessions, "history", noted)
    said = [record["text"] for record in dump(store) if record["type"] == "event"]
    assert said == [f"line {number}" for number in range(10)]
    assert set(asked) == {3}


def test_what_is_exported_and_loaded_is_exported_the_same(new_store: NewStore) -> None:
    first, second = new_store(), new_store()
    fill(first)
    records = dump(first)
    assert [record["type"] for record in records].count("memory") == 9
    portable.load(second, ANN, records)
    assert dump(second) == records


def test_loading_says_what_was_new(new_store: NewStore) -> None:
    first, second = new_store(), new_store()
    fill(first)
    records = dump(first)
    assert portable.load(second, ANN, records) == {"sessions": 8, "events": 18, "gists": 1, "memories": 9, "known": 0}


def test_loading_twice_adds_nothing(new_store: NewStore) -> None:
    first, second = new_store(), new_store()
    fill(first)
    records = dump(first)
    portable.load(second, ANN, records)
    again = portable.load(second, ANN, records)
    assert {name for name, count in again.items() if count} == {"known"}
    assert dump(second) == records
    assert portable.load(first, ANN, records)["known"] == again["known"]


def test_loading_half_and_then_all_is_loading_all(new_store: NewStore) -> None:
    first, second = new_store(), new_store()
    fill(first)
    records = dump(first)
    portable.load(second, ANN, records[: len(records) // 2])
    portable.load(second, ANN, records)
    assert dump(second) == records


def test_an_export_shows_only_its_scope(store: Store) -> None:
    fill(store)
    store.memories.add(BOB, memory("bob's"))
    assert [record.get("content") for record in dump(store, BOB)] == [None, "bob's"]
    inside = dump(store, ANN.within("apollo"))
    assert {record["project"] for record in inside if record["type"] in ("session", "memory")} == {None, "apollo"}
    assert [record["type"] for record in dump(store, Scope("never", "seen"))] == ["recollect"]


def test_an_export_can_be_loaded_into_a_project(new_store: NewStore) -> None:
    first, second = new_store(), new_store()
    first.sessions.append(ANN, talk("chat:1", "question"))
    first.memories.add(ANN, memory("walrus"))
    portable.load(second, BOB.within("zeus"), dump(first))
    assert {r["project"] for r in dump(second, BOB) if "project" in r} == {"zeus"}
    assert len(second.sessions.history(BOB.within("zeus"), "chat:1")) == 1


def test_more_than_one_page_goes_through(new_store: NewStore) -> None:
    first, second = new_store(), new_store()
    first.sessions.append(ANN, [event("chat:1", n, f"line {n}", "user" if n % 3 else "assistant") for n in range(450)])
    for number in range(205):
        first.sessions.ensure(ANN, f"chat:s{number}", at=T0)
        first.memories.add(ANN, memory(f"fact {number}"))
    records = dump(first)
    assert len(records) == 1 + 1 + 450 + 205 + 205
    portable.load(second, ANN, records)
    assert dump(second) == records


# -- malformed records: each is refused by its number and changes nothing ---------------------------------------------

STAMP = "2026-03-01T12:00:00.000000Z"
SESSION: Record = {
    "type": "session", "id": "chat:1", "title": "t", "project": None, "started_at": STAMP, "ended_at": STAMP,
    "meta": {},
}  # fmt: skip
EVENT: Record = {
    "type": "event", "key": "ab" * 16, "session": "chat:1", "kind": "user_prompt", "role": "user", "origin": "user",
    "text": "hello", "occurred_at": STAMP, "recorded_at": STAMP, "meta": {},
}  # fmt: skip
GIST: Record = {
    "type": "gist", "session": "chat:1", "content": "c", "covers": 0, "occurred_at": STAMP, "created_at": STAMP,
    "maker": "m",
}  # fmt: skip
VERSION: Record = {
    "version": 1, "kind": "fact", "content": "old", "why": None, "tags": [], "importance": 0.5, "confidence": 1.0,
    "until": STAMP,
}  # fmt: skip
MEMORY: Record = {
    "type": "memory", "id": "m-1", "kind": "fact", "content": "walrus", "project": None, "origin": "user",
    "occurred_at": STAMP, "recorded_at": STAMP, "why": None, "tags": [], "importance": 0.5, "confidence": 1.0,
    "session": None, "evidence": [], "anchors": [], "meta": {}, "version": 2, "accessed_at": None, "access_count": 0,
    "superseded_by": None, "superseded_at": None, "expires_at": None, "archived_at": None, "deleted_at": None,
    "versions": [VERSION],
}  # fmt: skip
SPAN: Record = {"session": "chat:1", "event": None, "start": None, "end": None}
LONE = "\ud800"  # legal in JSON, storable nowhere
DROP = object()

MALFORMED: list[tuple[str, Record, str, Any]] = [
    *(("event", EVENT, name, DROP) for name in EVENT if name != "type"),
    *(("session", SESSION, name, DROP) for name in SESSION if name != "type"),
    *(("gist", GIST, name, DROP) for name in GIST if name != "type"),
    *(("memory", MEMORY, name, DROP) for name in ("id", "kind", "content", "origin", "tags", "evidence")),
    ("session", SESSION, "id", 5), ("session", SESSION, "id", ""), ("session", SESSION, "id", "a\x00b"),
    ("session", SESSION, "id", ["chat:1"]), ("session", SESSION, "id", "x" * 256),
    ("session", SESSION, "title", 5), ("session", SESSION, "title", ["t"]), ("session", SESSION, "title", LONE),
    ("session", SESSION, "project", 5), ("session", SESSION, "project", ""), ("session", SESSION, "project", LONE),
    ("session", SESSION, "started_at", "never"), ("session", SESSION, "started_at", None),
    ("session", SESSION, "ended_at", "99999-01-01"), ("session", SESSION, "ended_at", True),
    ("session", SESSION, "meta", "ab"), ("session", SESSION, "meta", [1]), ("session", SESSION, "meta", {"k": LONE}),
    ("event", EVENT, "key", "zz"), ("event", EVENT, "key", "AB" * 16), ("event", EVENT, "key", 7),
    ("event", EVENT, "key", "ab" * 15), ("event", EVENT, "session", None), ("event", EVENT, "session", LONE),
    ("event", EVENT, "kind", ""), ("event", EVENT, "kind", 5), ("event", EVENT, "role", None),
    ("event", EVENT, "role", "x" * 300), ("event", EVENT, "origin", "space"), ("event", EVENT, "origin", ["user"]),
    ("event", EVENT, "text", 5), ("event", EVENT, "text", None), ("event", EVENT, "text", ["hello"]),
    ("event", EVENT, "occurred_at", "yesterday"), ("event", EVENT, "occurred_at", 1e300),
    ("event", EVENT, "recorded_at", float("nan")), ("event", EVENT, "recorded_at", {}),
    ("event", EVENT, "meta", "ab"), ("event", EVENT, "meta", None), ("event", EVENT, "meta", [["a", 1]]),
    ("gist", GIST, "session", "chat:unknown"), ("gist", GIST, "session", 5), ("gist", GIST, "content", ""),
    ("gist", GIST, "content", 5), ("gist", GIST, "content", LONE), ("gist", GIST, "content", "a\x00b"),
    ("gist", GIST, "covers", "x"), ("gist", GIST, "covers", 1.5), ("gist", GIST, "covers", -5),
    ("gist", GIST, "covers", None), ("gist", GIST, "covers", True), ("gist", GIST, "covers", 10**30),
    ("gist", GIST, "maker", ""), ("gist", GIST, "occurred_at", "x"), ("gist", GIST, "created_at", None),
    ("memory", MEMORY, "id", ""), ("memory", MEMORY, "id", 5), ("memory", MEMORY, "id", LONE),
    ("memory", MEMORY, "kind", "poem"), ("memory", MEMORY, "kind", None), ("memory", MEMORY, "kind", ["fact"]),
    ("memory", MEMORY, "content", ""), ("memory", MEMORY, "content", "x" * 10_001), ("memory", MEMORY, "content", LONE),
    ("memory", MEMORY, "content", "a\x00b"), ("memory", MEMORY, "content", 5), ("memory", MEMORY, "project", 5),
    ("memory", MEMORY, "project", ""), ("memory", MEMORY, "project", "a\nb"), ("memory", MEMORY, "origin", "injected"),
    ("memory", MEMORY, "origin", "space"), ("memory", MEMORY, "occurred_at", None),
    ("memory", MEMORY, "occurred_at", "soon"), ("memory", MEMORY, "recorded_at", []), ("memory", MEMORY, "why", 5),
    ("memory", MEMORY, "why", LONE), ("memory", MEMORY, "why", {}), ("memory", MEMORY, "tags", "ci"),
    ("memory", MEMORY, "tags", [5]), ("memory", MEMORY, "tags", [""]), ("memory", MEMORY, "tags", [LONE]),
    ("memory", MEMORY, "tags", [str(n) for n in range(21)]), ("memory", MEMORY, "importance", 7),
    ("memory", MEMORY, "importance", -0.1), ("memory", MEMORY, "importance", "high"),
    ("memory", MEMORY, "importance", float("nan")), ("memory", MEMORY, "importance", True),
    ("memory", MEMORY, "confidence", None), ("memory", MEMORY, "confidence", 2), ("memory", MEMORY, "session", 5),
    ("memory", MEMORY, "session", LONE), ("memory", MEMORY, "evidence", [5]), ("memory", MEMORY, "evidence", "x"),
    ("memory", MEMORY, "evidence", [{**SPAN, "session": 5}]), ("memory", MEMORY, "evidence", [{**SPAN, "start": "x"}]),
    ("memory", MEMORY, "evidence", [{"session": "chat:1"}]), ("memory", MEMORY, "evidence", None),
    ("memory", MEMORY, "anchors", "abc"), ("memory", MEMORY, "anchors", [5]), ("memory", MEMORY, "anchors", [LONE]),
    ("memory", MEMORY, "meta", []), ("memory", MEMORY, "meta", 5), ("memory", MEMORY, "meta", {"a": {"b": LONE}}),
    ("memory", MEMORY, "meta", {LONE: 1}), ("memory", MEMORY, "version", "x"), ("memory", MEMORY, "version", 0),
    ("memory", MEMORY, "version", 1.5), ("memory", MEMORY, "version", 10**30), ("memory", MEMORY, "access_count", -1),
    ("memory", MEMORY, "access_count", "many"), ("memory", MEMORY, "access_count", 10**30),
    ("memory", MEMORY, "superseded_by", 5), ("memory", MEMORY, "superseded_at", "x"),
    ("memory", MEMORY, "expires_at", "x"), ("memory", MEMORY, "archived_at", "x"), ("memory", MEMORY, "deleted_at", []),
    ("memory", MEMORY, "surprise", 1), ("memory", MEMORY, "versions", 5), ("memory", MEMORY, "versions", [5]),
    ("memory", MEMORY, "versions", [VERSION, VERSION]), ("memory", MEMORY, "versions", [{}]),
    ("memory", MEMORY, "versions", [{**VERSION, "content": 5}]),
    ("memory", MEMORY, "versions", [{**VERSION, "kind": "z"}]),
    ("memory", MEMORY, "versions", [{**VERSION, "version": "x"}]),
    ("memory", MEMORY, "versions", [{**VERSION, "z": 1}]),
    ("memory", MEMORY, "versions", [{**VERSION, "importance": 7}]),
    ("memory", MEMORY, "versions", [{**VERSION, "until": "x"}]),
    ("memory", MEMORY, "versions", [{**VERSION, "why": LONE}]),
    ("memory", MEMORY, "versions", [{**VERSION, "version": 10**30}]),
    ("recollect", {"type": "recollect", "format": 1}, "format", 2),
    ("recollect", {"type": "recollect", "format": 1}, "format", DROP),
    ("recollect", {"type": "recollect", "format": 1}, "type", "diary"),
    ("recollect", {"type": "recollect", "format": 1}, "type", None),
    ("recollect", {"type": "recollect", "format": 1}, "type", ["session"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("whole", "field", "value"),
    [
        pytest.param(*row[1:], id=f"{row[0]}-{row[2]}-{'absent' if row[3] is DROP else ascii(row[3])[:25]}")
        for row in MALFORMED
    ],
)
def test_a_malformed_record_is_refused_by_its_number(store: Store, whole: Record, field: str, value: Any) -> None:
    bad = {name: kept for name, kept in whole.items() if name != field} | ({} if value is DROP else {field: value})
    before = [{"type": "recollect", "format": 1}, {**SESSION, "id": "chat:1"}]
    with pytest.raises(InvalidInput, match=r"record 3\b"):
        portable.load(store, ANN, [*before, bad])
    left = [record["type"] for record in dump(store)]
    assert left == ["recollect", "session"]


@pytest.mark.parametrize("record", [None, 5, "text", ["type", "event"], True], ids=repr)
def test_what_is_no_object_is_refused_by_its_number(store: Store, record: Any) -> None:
    with pytest.raises(InvalidInput, match=r"record 1\b"):
        portable.load(store, ANN, [record])


def test_the_samples_themselves_are_well_formed(store: Store) -> None:
    """Else the tests above would show nothing."""
    counts = portable.load(store, ANN, [{"type": "recollect", "format": 1}, SESSION, EVENT, GIST, MEMORY])
    assert counts == {"sessions": 1, "events": 1, "gists": 1, "memories": 1, "known": 0}


def test_captured_text_is_made_storable_not_refused(store: Store) -> None:
    portable.load(store, ANN, [SESSION, {**EVENT, "text": f"a\x00b{LONE}c"}])
    assert [one.text for one in store.sessions.history(ANN, "chat:1")] == ["a\ufffdb\ufffdc"]


TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=80)
SAID = TEXT.filter(lambda text: text.strip() != "")
TIME = st.datetimes(datetime(1969, 1, 1), datetime(9999, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)
META = st.dictionaries(TEXT, JSON, max_size=3)
TAG = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=20)


@given(
    lines=st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), TEXT, TIME, META), max_size=5),
    facts=st.lists(
        st.tuples(SAID, SAID | st.none(), st.sampled_from(KINDS), st.lists(TAG, unique=True, max_size=4), TIME, META),
        max_size=4,
    ),
    title=SAID | st.none(),
    summary=SAID,
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_texts_go_out_and_in_unchanged(
    store: Store, lines: list[Any], facts: list[Any], title: str | None, summary: str
) -> None:
    # Every example has two owners of its own: one store serves them all.
    scope = Scope("acme", stable_key("from", repr((lines, facts, title, summary))))
    other = Scope("acme", stable_key("into", repr((lines, facts, title, summary))))
    events = [
        event("chat:1", n, text, role, occurred_at=at, meta=meta) for n, (role, text, at, meta) in enumerate(lines)
    ]
    store.sessions.append(scope, events)
    store.sessions.ensure(scope, "chat:1", at=T0, title=title)
    store.gists.put(scope, gist("chat:1", summary, len(lines)))
    for content, why, kind, tags, at, meta in facts:
        fact = memory(content, why=why, kind=kind, tags=tuple(tags), occurred_at=at, recorded_at=at, meta=meta)
        store.memories.add(scope, fact)
    records = dump(store, scope)
    portable.load(store, other, records)
    assert dump(store, other) == records
    assert not any(count for name, count in portable.load(store, other, records).items() if name != "known")


def test_times_keep_their_microseconds_and_far_dates(new_store: NewStore) -> None:
    first, second = new_store(), new_store()
    for number, at in enumerate((T0.replace(year=1), T0.replace(year=9999), T0 + timedelta(microseconds=1))):
        first.memories.add(ANN, memory(f"fact {number}", occurred_at=at, recorded_at=at))
        first.sessions.append(ANN, [event(f"chat:{number}", number, "q", occurred_at=at, recorded_at=at)])
    records = dump(first)
    portable.load(second, ANN, records)
    assert dump(second) == records
