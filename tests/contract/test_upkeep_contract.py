"""Upkeep: archives what is old and unread, redacts and then purges what was deleted, and does nothing twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from recollect.model import TIERS, Memory
from recollect.store import portable
from recollect.store.port import Store
from recollect.store.ports.keeping import Ages, Upkeep
from recollect.store.ports.memories import Filter
from tests.contract.conftest import NewStore
from tests.contract.samples import (
    ANN,
    BOB,
    T0,
    by_meaning,
    by_words,
    embed_waiting,
    gist,
    memory,
    talk,
)

DAY = timedelta(days=1)
NOW = T0 + 1000 * DAY


def ages(now: datetime = NOW) -> Ages:
    return Ages(
        archive_before=now - 365 * DAY, archive_reads=5, redact_before=now - 7 * DAY, purge_before=now - 30 * DAY
    )


def upkeep(store: Store, now: datetime = NOW) -> Upkeep:
    return store.keeping.upkeep(now=now, ages=ages(now))


def kept(store: Store, one: Memory) -> Memory:
    found = store.memories.get(ANN, one.id)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("changes", "archived"),
    [
        pytest.param({}, True, id="old and never read"),
        pytest.param({"access_count": 4}, True, id="old and read four times"),
        pytest.param({"access_count": 5}, False, id="old and read five times"),
        pytest.param({"accessed_at": NOW - 364 * DAY, "access_count": 1}, False, id="old and read lately"),
        pytest.param({"accessed_at": NOW - 366 * DAY, "access_count": 1}, True, id="old and read long ago"),
        pytest.param({"confirmed_at": T0}, False, id="old and confirmed"),
        pytest.param({"meta": {"pinned": "2026-03-01"}}, False, id="old and pinned"),
        pytest.param({"recorded_at": NOW - 364 * DAY}, False, id="told lately"),
        pytest.param({"occurred_at": NOW - 364 * DAY}, False, id="happened lately"),
        pytest.param({"recorded_at": NOW - 365 * DAY, "occurred_at": T0}, False, id="a year old to the second"),
        pytest.param({"occurred_at": T0.replace(year=1969), "recorded_at": NOW}, False, id="told lately of 1969"),
        pytest.param({"occurred_at": T0.replace(year=9999)}, False, id="dated 9999"),
    ],
)
def test_what_is_old_and_unread_is_archived(store: Store, changes: dict[str, Any], archived: bool) -> None:
    """T32: an absurd date in a transcript alone archives nothing."""
    one = memory("walrus", **changes)
    store.memories.add(ANN, one)
    assert upkeep(store) == Upkeep(archived=int(archived))
    assert kept(store, one).archived_at == (NOW if archived else None)
    assert len(by_words(store, ANN, "memory", "walrus", Filter(now=NOW))) == (not archived)
    assert len(by_words(store, ANN, "memory", "walrus", Filter(now=NOW, archived=True))) == 1


def test_archiving_is_a_change_others_notice(store: Store) -> None:
    one = memory("walrus")
    store.memories.add(ANN, one)
    upkeep(store)
    assert kept(store, one).version == 2


def test_what_somebody_put_back_is_not_put_away_again(store: Store) -> None:
    """Having put it back counts as having had it in hand: it is left alone for as long as if it had been told then."""
    one = memory("walrus")
    store.memories.add(ANN, one)
    assert upkeep(store).archived == 1
    back = store.memories.update(ANN, replace(kept(store, one), archived_at=None), at=NOW, note="reinstate")
    assert upkeep(store, NOW + 100 * DAY) == Upkeep()
    assert kept(store, one).archived_at is None
    assert kept(store, one).accessed_at == NOW
    store.memories.update(ANN, replace(kept(store, back), importance=0.9), at=NOW + 50 * DAY, note="edit")
    assert kept(store, one).accessed_at == NOW
    assert upkeep(store, NOW + 366 * DAY) == Upkeep(archived=1)


@pytest.mark.parametrize(
    ("changes", "expired"),
    [
        pytest.param({"expires_at": NOW - 366 * DAY}, True, id="ended more than a year ago"),
        pytest.param({"expires_at": NOW - 364 * DAY}, False, id="ended less than a year ago"),
        pytest.param({"expires_at": NOW + DAY}, False, id="has not ended"),
        pytest.param({"expires_at": NOW - 366 * DAY, "accessed_at": NOW - DAY}, False, id="ended and read since"),
        pytest.param({"expires_at": NOW - 366 * DAY, "meta": {"pinned": "x"}}, False, id="ended and pinned"),
    ],
)
def test_what_ended_long_ago_is_put_away_however_often_it_was_read(
    store: Store, changes: dict[str, Any], expired: bool
) -> None:
    one = memory("walrus", access_count=50, confirmed_at=T0, **changes)
    store.memories.add(ANN, one)
    assert upkeep(store) == Upkeep(expired=int(expired))
    assert upkeep(store) == Upkeep()
    assert kept(store, one).archived_at == (NOW if expired else None)


STEPS = {"archive": "archived", "expire": "expired", "redact": "redacted", "purge": "purged"}


@pytest.mark.parametrize(("step", "word"), STEPS.items())
def test_one_step_does_its_own_and_a_dry_run_only_counts(store: Store, step: str, word: str) -> None:
    for scope in (ANN, BOB):
        store.memories.add(scope, memory("old walrus"))
        store.memories.add(scope, memory("ended", expires_at=NOW - 400 * DAY, access_count=9))
    deleted(store, "penguin", NOW - 10 * DAY)
    deleted(store, "tulip", NOW - 40 * DAY)
    before = [list(portable.export(store, scope, now=NOW)) for scope in (ANN, BOB)]
    expected = {"archived": 2, "expired": 2, "redacted": 2, "purged": 1}
    whole = store.keeping.upkeep(now=NOW, ages=ages(), dry_run=True)
    assert whole == Upkeep(**expected)
    assert [list(portable.export(store, scope, now=NOW)) for scope in (ANN, BOB)] == before
    assert store.keeping.upkeep(now=NOW, ages=ages(), steps=(step,)) == Upkeep(**{word: expected[word]})


def test_upkeep_that_is_told_to_stop_leaves_the_rest_for_the_next_time(store: Store) -> None:
    for scope in (ANN, BOB):
        store.memories.add(scope, memory("old walrus"))
    assert store.keeping.upkeep(now=NOW, ages=ages(), stop=lambda: True) == Upkeep()
    assert upkeep(store) == Upkeep(archived=2)


def test_the_files_can_be_written_anew_and_the_sizes_told(store: Store) -> None:
    """S1.117, S1.118, S1.120."""
    one = memory("walrus")
    store.memories.add(ANN, one)
    store.sessions.append(ANN, talk("chat:1", "walrus"))
    embed_waiting(store)
    store.keeping.forget_memory(ANN, one.id, at=NOW)
    assert store.keeping.vacuum()["freed"] >= 0
    assert store.keeping.vacuum(full=True)["freed"] >= 0
    assert not store.keeping.scrub_due()
    assert store.keeping.reindex()["turn"] == 1
    assert len(by_words(store, ANN, "turn", "walrus", Filter(now=NOW))) == 1
    sizes = {size.name: size for size in store.keeping.sizes()}
    assert {"memories", "events", "sessions", "audit"} <= sizes.keys()
    assert all(size.bytes >= size.indexes >= 0 for size in sizes.values())
    assert sizes["events"].rows == 1
    assert store.keeping.health(deep=True).checks == {}


def test_notes_agree_between_two_who_write_at_once(new_store: NewStore) -> None:
    notes = new_store().notes
    assert notes.swap("job:x", None, "mine")
    assert not notes.swap("job:x", None, "theirs")
    assert not notes.swap("job:x", "other", "theirs")
    assert notes.swap("job:x", "mine", "mine again")
    notes.put("job:%", "odd")
    assert notes.all("job:") == {"job:%": "odd", "job:x": "mine again"}
    assert notes.all("job:%") == {"job:%": "odd"}
    notes.drop("job:x")
    notes.drop("job:%")
    assert notes.get("job:x") is None


def deleted(store: Store, content: str, when: datetime) -> Memory:
    one = memory(content, why=f"{content} why", tags=(content,), meta={"k": content}, anchors=(content,))
    store.memories.add(ANN, one)
    reworded = store.memories.update(ANN, replace(one, content=f"{content} again"), at=when, note="edit")
    return store.memories.update(ANN, replace(reworded, deleted_at=when), at=when, note="delete")


def test_what_was_deleted_is_redacted_and_then_purged(store: Store) -> None:
    one = deleted(store, "walrus", NOW)
    assert upkeep(store, NOW + 6 * DAY) == Upkeep()
    assert kept(store, one) == one
    assert upkeep(store, NOW + 8 * DAY) == Upkeep(redacted=1)
    left = kept(store, one)
    assert (left.id, left.deleted_at) == (one.id, NOW)
    assert "walrus" not in repr(left)
    assert store.memories.versions(ANN, one.id) == []
    assert upkeep(store, NOW + 29 * DAY) == Upkeep()
    assert upkeep(store, NOW + 31 * DAY).purged == 1
    assert store.memories.get(ANN, one.id) is None
    assert upkeep(store, NOW + 32 * DAY) == Upkeep()


def test_a_round_that_comes_late_does_both_at_once(store: Store) -> None:
    deleted(store, "walrus", NOW)
    assert upkeep(store, NOW + 60 * DAY).purged == 1
    assert store.keeping.health(deep=True).checks == {}


def test_a_purged_memory_does_not_come_back(store: Store) -> None:
    one = memory("walrus")
    store.memories.add(ANN, one)
    dump = list(portable.export(store, ANN, now=NOW))
    store.memories.update(ANN, replace(one, deleted_at=NOW), at=NOW, note="delete")
    upkeep(store, NOW + 60 * DAY)
    portable.load(store, ANN, dump)
    assert store.memories.get(ANN, one.id) is None


def test_two_redacted_memories_do_not_stand_in_each_other_s_way(store: Store) -> None:
    ones = [deleted(store, word, NOW) for word in ("walrus", "penguin", "tulip")]
    assert upkeep(store, NOW + 8 * DAY) == Upkeep(redacted=3)
    assert len({kept(store, one).id for one in ones}) == 3


def test_every_round_is_idempotent_and_touches_every_owner(store: Store) -> None:
    for scope in (ANN, BOB):
        store.memories.add(scope, memory("old walrus"))
        store.memories.add(scope, memory("new walrus", recorded_at=NOW, occurred_at=NOW))
    deleted(store, "penguin", NOW - 10 * DAY)
    assert upkeep(store) == Upkeep(archived=2, redacted=1)
    before = [list(portable.export(store, scope, now=NOW)) for scope in (ANN, BOB)]
    assert upkeep(store) == Upkeep()
    assert [list(portable.export(store, scope, now=NOW)) for scope in (ANN, BOB)] == before


def test_sessions_and_events_never_age(store: Store) -> None:
    """T32: retention looks at memories only; a transcript of 1969 stays."""
    store.sessions.append(ANN, [replace(one, occurred_at=T0.replace(year=1969)) for one in talk("chat:1", "walrus")])
    upkeep(store, T0.replace(year=9000))
    assert [one.text for one in store.sessions.history(ANN, "chat:1")] == ["walrus"]


def test_rebuilding_changes_no_answer(store: Store) -> None:
    """P07: what is derived can be made again from the rows."""
    for number in range(5):
        store.sessions.append(ANN, talk(f"chat:{number}", f"walrus {number} 星期二", "assistant: café getUserName"))
        store.gists.put(ANN, gist(f"chat:{number}", f"walrus gist {number}"))
        store.memories.add(ANN, memory(f"walrus memory {number}", tags=("harbour",)))
    deleted(store, "walrus", NOW)
    embed_waiting(store)
    queries = ("walrus", "星期二", "cafe", "user name", "harbour", "gist 3")
    where = Filter(now=NOW)

    def answers() -> list[Any]:
        return [leg(store, ANN, tier, q, where) for leg in (by_words, by_meaning) for tier in TIERS for q in queries]

    before = answers()
    assert sum(map(len, before)) > 30
    assert store.keeping.rebuild() == {"memory": 5, "gist": 5, "turn": 5}
    assert answers() == before
    assert store.keeping.health(deep=True).checks == {}
    assert store.vectors.pending() == 0


def test_health_counts_what_there_is(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "walrus", "assistant: yes", "tulip"))
    store.gists.put(ANN, gist("chat:1", "a gist"))
    store.memories.add(BOB, memory("walrus"))
    deleted(store, "penguin", NOW)
    health = store.keeping.health(deep=True)
    assert {name: health.counts[name] for name in ("sessions", "events", "turns", "gists", "memories", "vectors")} == {
        "sessions": 1, "events": 3, "turns": 2, "gists": 1, "memories": 1, "vectors": 0,
    }  # fmt: skip
    assert (health.pending, health.model, health.checks) == (4, None, {})
    assert all(size >= 0 for size in health.bytes.values())
    embed_waiting(store)
    after = store.keeping.health(deep=False)
    assert (after.pending, after.model, after.counts["vectors"]) == (0, ("tiny", 64), 4)
