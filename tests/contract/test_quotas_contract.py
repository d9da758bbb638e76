"""Quotas: counted in the transaction that writes, exact under concurrency, by days in UTC (S1.31, S1.65, T26)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from recollect.errors import InvalidInput, QuotaExceeded
from recollect.model import Memory, Scope, Session
from recollect.store.port import Store
from recollect.store.ports.access import Limits
from recollect.store.terms import HOSTED_QUOTAS
from tests.contract.samples import ANN, BOB, LATER, T0, memory, minute, talk
from tests.contract.terms_fixture import Hold
from tests.contract.terms_fixture import hold as hold

ABOUT = Session("claude:one", "claude", started_at=T0, ended_at=T0)


def fill(store: Store, count: int, scope: Scope = ANN, **changes: object) -> int:
    """Add so many memories; how many got in."""
    kept = 0
    for number in range(count):
        try:
            kept += store.memories.add(scope, memory(f"fact {number} of {changes}", **changes))[1]
        except QuotaExceeded:
            break
    return kept


def test_nothing_is_limited_unless_it_is_said(store: Store) -> None:
    assert fill(store, 30) == 30
    quota = store.quotas.get(ANN)
    assert (quota.limits, quota.left) == (Limits(0, 0), (None, None))
    assert (quota.memories, quota.ingests) == (30, 30)


def test_a_server_for_others_allows_fifty_thousand_memories_and_a_thousand_ingests_a_day() -> None:
    assert Limits(memories=50_000, ingests=1_000) == HOSTED_QUOTAS


def test_as_many_memories_as_allowed_get_in_and_the_next_is_told_why(store: Store, hold: Hold) -> None:
    hold(limits=Limits(memories=3))
    assert fill(store, 5) == 3
    with pytest.raises(QuotaExceeded, match="the limit is 3 for memories; 0 left") as raised:
        store.memories.add(ANN, memory("one more"))
    assert "recollect forget" in (raised.value.hint or "")
    assert (raised.value.what, raised.value.limit, raised.value.left) == ("memories", 3, 0)
    assert store.quotas.get(ANN).memories == 3
    assert store.audit.find(ANN, limit=10)[0].action == "remember"
    assert len(store.audit.find(ANN, limit=10)) == 3


def test_what_is_known_already_is_never_refused(store: Store, hold: Hold) -> None:
    known = store.memories.add(ANN, memory("known"))[0]
    store.sessions.append(ANN, talk("chat:1", "hello"))
    hold(limits=Limits(memories=1, ingests=2))
    assert store.memories.add(ANN, memory("known")) == (known, False)
    assert store.sessions.append(ANN, talk("chat:1", "hello")) == [False]
    with pytest.raises(QuotaExceeded):
        store.memories.add(ANN, memory("unknown"))


@pytest.mark.parametrize("way", ["forgotten", "softly deleted"])
def test_what_is_taken_away_makes_room(store: Store, hold: Hold, way: str) -> None:
    hold(limits=Limits(memories=1))
    first = store.memories.add(ANN, memory("first"))[0]
    assert fill(store, 1) == 0
    if way == "forgotten":
        store.keeping.forget_memory(ANN, first.id, at=T0)
    else:
        store.memories.update(ANN, replace(first, deleted_at=T0), at=T0, note="delete")
    assert fill(store, 1) == 1


def test_bringing_back_what_was_deleted_is_no_way_around(store: Store, hold: Hold) -> None:
    hold(limits=Limits(memories=1))
    first = store.memories.add(ANN, memory("first"))[0]
    deleted = store.memories.update(ANN, replace(first, deleted_at=T0), at=T0, note="delete")
    assert fill(store, 1) == 1
    with pytest.raises(QuotaExceeded):
        store.memories.update(ANN, replace(deleted, deleted_at=None), at=T0, note="restore")


@pytest.mark.parametrize(
    "bring",
    [
        lambda store, n: store.memories.add(ANN, memory(f"fact {n}")),
        lambda store, n: store.memories.change(ANN, (), adding=[memory(f"fact {n}")], at=T0, note="merge"),
        lambda store, n: store.memories.add_many(ANN, [(memory(f"fact {n}"), ())]),
        lambda store, n: store.sessions.append(ANN, talk(f"chat:{n}", "hello", "there")),
        lambda store, n: store.captures.ingest(ANN, replace(ABOUT, id=f"claude:{n}"), talk(f"claude:{n}", "hi")),
    ],
    ids=["add", "change", "add_many", "append", "ingest"],
)
def test_every_way_in_counts_as_an_ingest_and_ends_at_the_limit(
    store: Store, hold: Hold, bring: Callable[[Store, int], object]
) -> None:
    hold(limits=Limits(ingests=2), clock=lambda: T0)
    bring(store, 1)
    bring(store, 2)
    with pytest.raises(QuotaExceeded, match="the limit is 2 for ingests a day; 0 left on 2026-03-01") as raised:
        bring(store, 3)
    assert "2026-03-02 00:00 UTC" in (raised.value.hint or "")
    quota = store.quotas.get(ANN)
    assert (quota.ingests, quota.left) == (2, (None, 0))
    assert store.keeping.health(deep=False).counts["memories"] + len(store.sessions.find(ANN, limit=9)) == 2


def test_what_is_distilled_is_a_memory_but_no_ingest(store: Store, hold: Hold) -> None:
    hold(limits=Limits(memories=2, ingests=1))
    assert fill(store, 5, maker="rules") == 2
    quota = store.quotas.get(ANN)
    assert (quota.memories, quota.ingests) == (2, 0)


def test_a_batch_gets_in_whole_or_not_at_all(store: Store, hold: Hold) -> None:
    hold(limits=Limits(memories=5, ingests=100))
    many: list[tuple[Memory, tuple[()]]] = [(memory(f"many {number}"), ()) for number in range(6)]
    with pytest.raises(QuotaExceeded):
        store.memories.add_many(ANN, many)
    assert store.quotas.get(ANN).memories == 0
    assert store.memories.add_many(ANN, many[:5]) == [True] * 5


def test_a_new_day_begins_at_midnight_utc(store: Store, hold: Hold) -> None:
    now = [datetime.fromisoformat("2026-03-01T23:59:59.999999+00:00")]
    hold(limits=Limits(ingests=1), clock=lambda: now[0])
    assert fill(store, 2) == 1
    assert store.quotas.get(ANN).resets_at == datetime.fromisoformat("2026-03-02T00:00:00+00:00")
    now[0] += timedelta(microseconds=1)
    assert store.quotas.get(ANN).left == (None, 1)
    assert fill(store, 2, kind="note") == 1


def test_a_clock_set_back_gives_no_second_day(store: Store, hold: Hold) -> None:
    now = [LATER]
    hold(limits=Limits(ingests=1), clock=lambda: now[0])
    assert fill(store, 2) == 1
    now[0] = T0
    assert fill(store, 2, kind="note") == 0
    now[0] = LATER
    assert fill(store, 2, kind="event") == 0


def test_one_owners_quota_is_nobody_elses(store: Store, hold: Hold) -> None:
    hold(limits=Limits(memories=2))
    assert (fill(store, 3), fill(store, 3, BOB)) == (2, 2)
    store.quotas.set(ANN, memories=4, ingests=None, at=T0)
    assert (fill(store, 5, kind="note"), fill(store, 5, BOB, kind="note")) == (2, 0)


def test_limits_set_for_one_owner_go_before_those_of_all(store: Store, hold: Hold) -> None:
    hold(limits=Limits(memories=1, ingests=10))
    quota = store.quotas.set(ANN, memories=0, ingests=3, at=T0)
    assert (quota.limits, quota.own) == (Limits(0, 3), (0, 3))
    assert fill(store, 5) == 3
    quota = store.quotas.set(ANN, memories=None, ingests=None, at=T0)
    assert (quota.limits, quota.own, quota.ingests) == (Limits(1, 10), (None, None), 3)
    assert store.audit.find(ANN, limit=1)[0].details == {"memories": None, "ingests": None}


@pytest.mark.parametrize("limit", [-1, 2**60])
def test_what_is_no_limit_is_refused(store: Store, limit: int) -> None:
    with pytest.raises(InvalidInput):
        store.quotas.set(ANN, memories=limit, ingests=None, at=T0)


@pytest.mark.parametrize("limits", [Limits(memories=10), Limits(ingests=10)], ids=["memories", "ingests"])
def test_many_at_once_get_in_to_exactly_the_limit(store: Store, hold: Hold, limits: Limits) -> None:
    hold(limits=limits, clock=lambda: minute(0))
    kept: list[int] = []
    threads = [threading.Thread(target=lambda n=n: kept.append(fill(store, 5, importance=n / 10))) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(kept) == 10
    assert store.quotas.get(ANN).memories == 10


def test_a_rebuilt_index_counts_the_same(store: Store, hold: Hold) -> None:
    fill(store, 4)
    store.keeping.rebuild()
    assert store.quotas.get(ANN).memories == 4


def test_forgetting_everything_keeps_the_limits_and_the_days_count(store: Store, hold: Hold) -> None:
    hold(limits=Limits(ingests=2), clock=lambda: T0)
    fill(store, 2)
    store.quotas.set(ANN, memories=7, ingests=None, at=T0)
    store.keeping.forget_all(ANN, at=T0)
    quota = store.quotas.get(ANN)
    assert (quota.limits, quota.memories, quota.ingests) == (Limits(7, 2), 0, 2)
