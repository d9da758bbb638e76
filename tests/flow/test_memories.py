"""Memories: kept once, changed with history, put away, forgotten softly and for good (S1.20–26, D6, D14, T01, T28)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect import Recollect
from recollect.errors import Conflict, InvalidInput, NotFound
from tests.flow.memory_fixture import HandClock

pytestmark = pytest.mark.usefixtures("each_store")


def test_the_same_thing_said_again_is_one_memory(memory: Recollect) -> None:
    first = memory.remember("Use port 5433 for café staging")
    for again in (
        "use PORT 5433 for café staging",
        "  Use port\n5433 for  café staging ",
        "Use port 5433 for cafe\u0301 staging",
    ):
        assert memory.remember(again).id == first.id
    assert len(memory.memories()) == 1


def test_importance_and_tags_are_worked_out_when_not_given(memory: Recollect) -> None:
    rule = memory.remember("Never push to main on Fridays #release #ci", kind="preference")
    note = memory.remember("The office plant is a ficus")
    assert (rule.importance, rule.tags) == (0.8, ("release", "ci"))
    assert (note.importance, note.tags, note.kind) == (0.4, (), "note")


@pytest.mark.parametrize(
    "bad",
    [
        {"content": ""},
        {"content": "x" * 10_001},
        {"content": "nul \x00"},
        {"content": "half \ud800"},
        {"content": b"bytes"},
        {"content": "x", "kind": "memoir"},
        {"content": "x", "importance": 7},
        {"content": "x", "confidence": -1},
        {"content": "x", "tags": ["x" * 51]},
        {"content": "x", "occurred_at": "someday"},
        {"content": "x", "origin": "injected"},
        {"content": "x", "origin": "nobody"},
        {"content": "x", "why": "w" * 1_001},
        {"content": "x", "session": "\n"},
        {"content": "x", "kind": "preference", "origin": "assistant"},
    ],
)
def test_what_cannot_be_kept_is_refused_and_nothing_is_lost(memory: Recollect, bad: dict[str, object]) -> None:
    memory.remember("already here")
    with pytest.raises(InvalidInput):
        memory.remember(**bad)  # type: ignore[arg-type]
    assert [kept.content for kept in memory.memories()] == ["already here"]


def test_dates_in_the_future_or_without_a_zone_are_kept_by_rule(memory: Recollect) -> None:
    kept = memory.remember("The fair opens", occurred_at="2031-05-01T10:00:00")
    assert kept.occurred_at.isoformat() == "2031-05-01T10:00:00+00:00"
    hit = memory.recall("when does the fair open").hits[0]
    assert (hit.age, hit.parts.recency) == ("in the future", 1.0)


def test_a_change_keeps_the_old_wording(memory: Recollect, clock: HandClock) -> None:
    kept = memory.remember("The API limit is 100 a minute", tags=["api"])
    clock.move(days=1)
    changed = memory.update(kept.id, content="The API limit is 300 a minute", importance=0.9)
    assert (changed.version, changed.importance) == (2, 0.9)
    versions = memory.versions(kept.id)
    assert [(old.version, old.content, old.until) for old in versions] == [
        (1, "The API limit is 100 a minute", clock())
    ]
    assert memory.recall("api limit").hits[0].content == "The API limit is 300 a minute"


def test_who_read_an_older_version_cannot_overwrite_a_newer_one(memory: Recollect) -> None:
    """P31."""
    kept = memory.remember("Draft")
    memory.update(kept.id, content="First edit", expected_version=1)
    with pytest.raises(Conflict, match="version 2, not 1"):
        memory.update(kept.id, content="Second edit", expected_version=1)
    assert memory.get(kept.id).content == "First edit"


def test_a_change_cannot_make_two_memories_say_the_same(memory: Recollect) -> None:
    memory.remember("One")
    other = memory.remember("Two")
    with pytest.raises(Conflict, match="says the same"):
        memory.update(other.id, content="one")
    assert memory.get(other.id).content == "Two"


@pytest.mark.parametrize("bad", [{"content": ""}, {"kind": "x"}, {"importance": 2}, {"id": "other"}, {"version": 9}])
def test_a_change_that_cannot_be_made_is_refused(memory: Recollect, bad: dict[str, object]) -> None:
    kept = memory.remember("Fixed")
    with pytest.raises(InvalidInput):
        memory.update(kept.id, **bad)  # type: ignore[arg-type]
    assert memory.get(kept.id) == kept


def test_a_fact_can_go_back_to_what_it_was(memory: Recollect) -> None:
    first = memory.remember("Port is 5433")
    second = memory.supersede(first.id, "Port is 5544")
    third = memory.supersede(second.id, "Port is 5433")
    assert third.id != first.id
    assert [hit.content for hit in memory.recall("which port").hits] == ["Port is 5433"]


def test_a_softly_forgotten_memory_can_be_restored_until_it_is_redacted(memory: Recollect, clock: HandClock) -> None:
    kept = memory.remember("The alarm code is on the fridge")
    receipt = memory.forget(kept.id, soft=True)
    assert receipt.complete is False
    assert memory.recall("alarm code").hits == ()
    with pytest.raises(NotFound):
        memory.get(kept.id)
    assert memory.restore(kept.id).content == "The alarm code is on the fridge"
    assert memory.recall("alarm code").hits[0].id == kept.id

    memory.forget(kept.id, soft=True)
    clock.move(days=8)
    assert memory.maintain().redacted == 1
    with pytest.raises(NotFound, match="can be restored"):
        memory.restore(kept.id)
    clock.move(days=23)
    assert memory.maintain().purged == 1
    assert memory.maintain().purged == 0


def test_forgetting_for_good_leaves_nothing_to_find_or_import(memory: Recollect, each_store: str) -> None:
    kept = memory.remember("The vault is behind the clock", kind="fact")
    backup = list(memory.export())
    receipt = memory.forget(kept.id)
    assert dict(receipt.counts) == {"memories": 1}
    assert receipt.complete is not bool(each_store)  # a server's files are written anew when it vacuums
    assert memory.load(backup).get("memories", 0) == 0
    assert memory.recall("vault clock").hits == ()
    with pytest.raises(NotFound):
        memory.forget(kept.id)


def test_forgetting_a_session_takes_what_was_made_from_it(memory: Recollect) -> None:
    memory.record("s", "user", "the treasure is under the oak")
    memory.summarize("s")
    memory.remember("Treasure is under the oak", session="s")
    memory.remember("Oaks are trees")
    receipt = memory.forget(session="s")
    assert dict(receipt.counts) == {"sessions": 1, "events": 1, "turns": 1, "gists": 1, "memories": 1}
    assert memory.sessions() == []
    assert [hit.content for hit in memory.recall("treasure oak", abstain=False).hits] == ["Oaks are trees"]


def test_everything_means_everything_in_scope_and_nothing_else(opened: Callable[..., Recollect]) -> None:
    from recollect import Scope

    mine, yours = opened(Scope(user="me")), opened(Scope(user="you"))
    for one in (mine, yours):
        one.record("s", "user", "hello")
        one.remember("a memory")
    mine.forget(everything=True)
    assert (mine.sessions(), mine.memories()) == ([], [])
    assert (len(yours.sessions()), len(yours.memories())) == (1, 1)


@pytest.mark.parametrize("what", [{}, {"memory_id": "x", "session": "s"}, {"session": "s", "everything": True}])
def test_forget_takes_exactly_one_thing(memory: Recollect, what: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="one of"):
        memory.forget(**what)  # type: ignore[arg-type]


def test_old_and_unread_memories_are_archived_not_dropped(memory: Recollect, clock: HandClock) -> None:
    """S1.119, S3.35: older than a year and read fewer than five times."""
    memory.remember("Read often: the gate opens at nine")
    memory.remember("Never read: the moat is deep")
    for _ in range(5):
        memory.recall("gate opens nine")
    clock.move(days=366)
    assert memory.maintain().archived == 1
    assert memory.maintain().archived == 0
    assert memory.recall("moat deep").hits == ()
    assert memory.recall("moat deep", archived=True).hits[0].content == "Never read: the moat is deep"
    assert memory.recall("gate opens").hits


def test_export_and_import_are_lossless_and_harmless_twice(opened: Callable[..., Recollect], tmp_path: object) -> None:
    from recollect.store.sqlite.store import SqliteStore

    source = opened()
    source.record_many([("s", "user", "hi", "2026-01-01"), ("s", "assistant", "hello", "2026-01-01")])
    source.summarize("s")
    kept = source.remember("Version one", tags=["t"], why="because")
    source.update(kept.id, content="Version two")
    source.supersede(kept.id, "Version three")
    exported = list(source.export())[1:]
    other = Recollect(SqliteStore(tmp_path / "other"), source.scope, source.settings, embedder=None, background=False)  # type: ignore[operator]
    try:
        assert other.load(source.export())["memories"] == 2
        assert list(other.export())[1:] == exported
        again = other.load(source.export())
        assert set(again) <= {"known", "events"}
        assert again.get("events", 0) == 0
        assert list(other.export())[1:] == exported
    finally:
        other.close()


def test_a_secret_is_taken_out_of_what_is_remembered(memory: Recollect) -> None:
    """T06: it would be put before every agent, and into files."""
    key = "ghp_" + "a1B2" * 9
    kept = memory.remember(f"The deploy token is {key}", why=f"because {key}")
    anew = memory.supersede(kept.id, f"The deploy token is {key} now")
    changed = memory.update(anew.id, content=f"Deploy with {key}")
    for one in (kept, anew, changed):
        assert key not in one.content + (one.why or "")
        assert "[REDACTED:github:" in one.content
    assert not [
        path for path in memory.settings.data_dir.rglob("*") if path.is_file() and key.encode() in path.read_bytes()
    ]


def test_what_is_private_is_taken_out_of_what_is_remembered(memory: Recollect) -> None:
    """T25: as it is taken out of what is said in a session."""
    words = "The staff code <private>tango 44</private> opens the side door"
    settled, taken = memory.keep({"content": words, "why": "<private>the guard told me</private>", "kind": "fact"})
    assert (settled.memory.content, taken) == ("The staff code [private] opens the side door", 2)
    assert settled.memory.why == "[private]"
    with pytest.raises(InvalidInput, match="private as a whole"):
        memory.remember("<private>tango 44</private>")


def test_keeping_tells_what_became_of_it(memory: Recollect, clock: HandClock) -> None:
    """The way that every writer takes: `remember`, agents through MCP, and whoever wants to know the outcome."""
    first, taken = memory.keep({"content": "The queue is at 10.0.0.7", "kind": "fact"})
    again, _ = memory.keep({"content": "The queue is at 10.0.0.7", "kind": "fact"})
    assert (first.outcome, again.outcome, taken) == ("added", "known", 0)
    assert again.memory.id == first.memory.id
    secret, taken = memory.keep({"content": "Log in with ghp_" + "a1B2" * 9, "origin": "assistant"})
    assert (taken, secret.memory.origin) == (1, "assistant")
    assert "a1B2" not in secret.memory.content
    with pytest.raises(InvalidInput, match="no 'colour'"):
        memory.keep({"content": "x", "colour": "red"})


def test_what_an_agent_saves_is_kept_at_the_memorys_own_time(memory: Recollect, clock: HandClock) -> None:
    from recollect.mcp.writing import save

    clock.move(days=400)
    said = save(memory, {"content": "The build needs Node 22"})
    (kept,) = memory.memories()
    assert said.startswith(f"[added: {kept.id}")
    assert (kept.recorded_at, kept.occurred_at, kept.trust) == (clock.now, clock.now, "quoted")
