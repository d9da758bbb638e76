"""The queue: put once, claimed by one, tried again, dead in the end, and fair between tenants (P25, P26, P47)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.model import Scope, Session
from recollect.store.port import Store
from recollect.store.ports.queue import ATTEMPTS, Backlog, Task
from recollect.store.rows.tasks import LOST
from tests.contract.samples import ANN, BOB, EVE, T0, memory, minute, talk
from tests.contract.terms_fixture import Hold, Outside
from tests.contract.terms_fixture import hold as hold
from tests.contract.terms_fixture import outside as outside

LEASE = timedelta(seconds=60)


def second(number: float) -> datetime:
    return T0 + timedelta(seconds=number)


def put(store: Store, subject: str = "chat:1", scope: Scope = ANN, kind: str = "distill", at: datetime = T0) -> str:
    return store.tasks.put(scope, kind, subject, at=at)


def claim(store: Store, at: datetime = T0, worker: str = "w1", limit: int = 1, **how: object) -> list[Task]:
    return store.tasks.claim(worker=worker, at=at, until=at + LEASE, limit=limit, **how)  # type: ignore[arg-type]


def state(store: Store, task_id: str, scope: Scope = ANN) -> str:
    found = store.tasks.get(scope, task_id)
    return "gone" if found is None else found.state


def test_what_is_put_waits_and_is_seen(store: Store) -> None:
    first = put(store)
    task = store.tasks.get(ANN, first)
    assert task == Task(first, ANN, "distill", "chat:1", due_at=T0, made_at=T0)
    assert store.tasks.find(ANN, limit=9) == [task]
    assert store.tasks.find(ANN, state="dead", limit=9) == store.tasks.find(ANN, kind="gist", limit=9) == []


def test_the_same_work_waits_once(store: Store) -> None:
    first = put(store)
    assert put(store, at=second(5)) == first
    others = {put(store, kind="gist"), put(store, "chat:2"), put(store, scope=BOB), put(store, scope=EVE)}
    assert len({first, *others}) == 5
    assert len(store.tasks.find(ANN, limit=9)) == 3


def test_what_is_needed_sooner_is_due_sooner_and_never_later(store: Store) -> None:
    first = store.tasks.put(ANN, "gist", "chat:1", at=T0, due_at=second(100))
    store.tasks.put(ANN, "gist", "chat:1", at=T0, due_at=second(50))
    store.tasks.put(ANN, "gist", "chat:1", at=T0, due_at=second(200))
    task = store.tasks.get(ANN, first)
    assert task is not None
    assert task.due_at == second(50)
    assert (claim(store, second(49)), len(claim(store, second(50)))) == ([], 1)


def test_a_claimed_task_is_nobody_elses_until_its_lease_ends(store: Store) -> None:
    put(store)
    (mine,) = claim(store)
    assert (mine.state, mine.attempts, mine.worker, mine.leased_until) == ("running", 1, "w1", T0 + LEASE)
    assert claim(store, second(59), "w2") == []
    (theirs,) = claim(store, second(60), "w2")
    assert (theirs.id, theirs.attempts, theirs.worker) == (mine.id, 2, "w2")
    assert not store.tasks.finish(mine, at=second(61)), "the lease was lost"
    assert not store.tasks.extend(mine, until=second(500))
    assert not store.tasks.fail(mine, at=second(61), error="late", again_at=None)
    assert not store.tasks.release(mine, at=second(61))
    assert store.tasks.finish(theirs, at=second(62))
    assert state(store, mine.id) == "done"
    assert claim(store, second(900)) == []


def test_a_lease_that_is_extended_holds(store: Store) -> None:
    put(store)
    (mine,) = claim(store)
    assert store.tasks.extend(mine, until=second(300))
    assert claim(store, second(299)) == []
    assert len(claim(store, second(300))) == 1


def test_what_is_put_while_it_runs_is_done_once_more(store: Store) -> None:
    """Nothing that was acknowledged lacks its work, and the two never run at the same time."""
    first = put(store)
    (mine,) = claim(store)
    assert put(store, at=second(1)) == first
    assert claim(store, second(2), "w2") == []
    assert store.tasks.finish(mine, at=second(3))
    again = store.tasks.get(ANN, first)
    assert again is not None
    assert (again.state, again.attempts) == ("waiting", 0)
    (mine,) = claim(store, second(4))
    store.tasks.finish(mine, at=second(5))
    assert state(store, first) == "done"
    assert put(store, at=second(6)) != first, "what was done is done; new work is a new task"


def test_what_fails_is_tried_again_and_dead_in_the_end(store: Store) -> None:
    first = put(store)
    (mine,) = claim(store)
    assert store.tasks.fail(mine, at=second(1), error="ValueError", again_at=second(9))
    task = store.tasks.get(ANN, first)
    assert task is not None
    assert (task.state, task.attempts, task.error, task.due_at) == ("waiting", 1, "ValueError", second(9))
    assert claim(store, second(8)) == []
    (mine,) = claim(store, second(9))
    assert mine.attempts == 2
    assert store.tasks.fail(mine, at=second(10), error="e" * 900, again_at=None)
    task = store.tasks.get(ANN, first)
    assert task is not None
    assert (task.state, task.error, task.ended_at) == ("dead", "e" * 300, second(10))
    assert claim(store, second(900)) == []


def test_what_died_while_it_was_put_once_more_begins_anew(store: Store) -> None:
    first = put(store)
    (mine,) = claim(store)
    put(store)
    store.tasks.fail(mine, at=second(1), error="ValueError", again_at=None)
    task = store.tasks.get(ANN, first)
    assert task is not None
    assert (task.state, task.attempts) == ("waiting", 0)


def test_a_task_whose_workers_all_die_is_dead_after_five(store: Store) -> None:
    """P25: what kills the process that does it cannot kill them all."""
    first = put(store)
    now = T0
    for attempt in range(1, ATTEMPTS + 1):
        (mine,) = claim(store, now)
        assert mine.attempts == attempt
        now += LEASE
    assert claim(store, now) == []
    task = store.tasks.get(ANN, first)
    assert task is not None
    assert (task.state, task.attempts, task.error, task.ended_at) == ("dead", ATTEMPTS, LOST, now)


def test_what_is_given_back_was_not_begun(store: Store) -> None:
    first = put(store)
    (mine,) = claim(store)
    assert store.tasks.release(mine, at=second(1))
    task = store.tasks.get(ANN, first)
    assert task is not None
    assert (task.state, task.attempts, task.worker, task.due_at) == ("waiting", 0, None, second(1))
    (mine,) = claim(store, second(1))
    assert store.tasks.release(mine, at=second(2), due_at=second(30)), "not yet"
    assert (claim(store, second(29)), len(claim(store, second(30)))) == ([], 1)


@pytest.mark.parametrize("begun", [False, True], ids=["waiting", "running"])
def test_a_task_can_be_cancelled_and_put_back(store: Store, begun: bool) -> None:
    first = put(store)
    mine = claim(store) if begun else []
    cancelled = store.tasks.cancel(ANN, first, at=second(1))
    assert (cancelled.state, cancelled.ended_at) == ("cancelled", second(1))
    assert store.tasks.cancel(ANN, first, at=second(2)) == cancelled
    assert not any(store.tasks.finish(task, at=second(2)) for task in mine), "its worker is told that it lost it"
    assert claim(store, second(900)) == []
    back = store.tasks.requeue(ANN, first, at=second(3))
    assert (back.state, back.attempts, back.error, back.due_at) == ("waiting", 0, None, second(3))
    assert len(claim(store, second(3))) == 1


def test_what_is_done_cannot_be_cancelled_but_done_again(store: Store) -> None:
    first = put(store)
    (mine,) = claim(store)
    store.tasks.finish(mine, at=second(1))
    with pytest.raises(Conflict, match="is done"):
        store.tasks.cancel(ANN, first, at=second(2))
    assert store.tasks.requeue(ANN, first, at=second(2)).state == "waiting"


def test_a_dead_task_whose_work_waits_again_stays_dead(store: Store) -> None:
    first = put(store)
    (mine,) = claim(store)
    store.tasks.fail(mine, at=second(1), error="ValueError", again_at=None)
    put(store, at=second(2))
    with pytest.raises(Conflict, match="waits already"):
        store.tasks.requeue(ANN, first, at=second(3))
    assert state(store, first) == "dead"
    assert store.tasks.cancel(ANN, first, at=second(4)).state == "cancelled"


def test_a_running_task_is_not_put_back(store: Store) -> None:
    first = put(store)
    claim(store)
    with pytest.raises(Conflict, match="is running"):
        store.tasks.requeue(ANN, first, at=second(1))


@pytest.mark.parametrize("who", [BOB, EVE, Scope("new", "nobody")], ids=["colleague", "namesake", "stranger"])
def test_another_owners_task_does_not_exist(store: Store, who: Scope) -> None:
    first = put(store)
    put(store, scope=BOB)
    put(store, scope=EVE)
    assert store.tasks.get(who, first) is None
    assert first not in [task.id for task in store.tasks.find(who, limit=9)]
    for change in (store.tasks.cancel, store.tasks.requeue):
        with pytest.raises(NotFound):
            change(who, first, at=T0)
    assert state(store, first) == "waiting"


def test_in_a_project_only_its_own_sessions_tasks_are_seen(store: Store) -> None:
    tide, moon = ANN.within("tide"), ANN.within("moon")
    store.sessions.append(tide, talk("chat:tide", "hello"))
    store.sessions.append(ANN, talk("chat:none", "hello"))
    ids = {name: put(store, name) for name in ("chat:tide", "chat:none")}
    flood = put(store, "", kind="flood")
    assert {task.id for task in store.tasks.find(tide, limit=9)} == {*ids.values(), flood}
    assert {task.id for task in store.tasks.find(moon, limit=9)} == {ids["chat:none"], flood}
    assert store.tasks.get(moon, ids["chat:tide"]) is None
    with pytest.raises(NotFound):
        store.tasks.cancel(moon, ids["chat:tide"], at=T0)
    assert store.tasks.cancel(tide, ids["chat:tide"], at=T0).scope == ANN


def test_words_that_are_no_kind_or_state_are_refused(store: Store) -> None:
    with pytest.raises(InvalidInput, match="kind"):
        store.tasks.put(ANN, "dance", at=T0)
    with pytest.raises(InvalidInput, match="never"):
        store.tasks.find(ANN, state="odd", limit=1)
    with pytest.raises(InvalidInput, match="never"):
        store.tasks.everywhere(state="odd", limit=1)


def test_only_the_kinds_that_were_asked_for_are_claimed(store: Store) -> None:
    put(store)
    put(store, kind="gist")
    assert [task.kind for task in claim(store, limit=9, kinds=("gist", "flood"))] == ["gist"]
    assert [task.kind for task in claim(store, limit=9)] == ["distill"]


def test_the_tenant_that_was_served_longest_ago_goes_first(store: Store) -> None:
    """P47: 1,000 tasks of one tenant put another's off by no more than one round."""
    crowd = [Scope("acme", f"user{number}") for number in range(10)]
    for number in range(100):
        for who in crowd:
            put(store, f"chat:{number}", who)
    small = {put(store, f"chat:{number}", EVE, at=second(1)) for number in range(3)}
    order = [claim(store, second(2 + number / 1000))[0] for number in range(8)]
    tenants = [task.scope.tenant for task in order]
    assert tenants == ["acme", "other", "acme", "other", "acme", "other", "acme", "acme"] or tenants == [
        *("other", "acme", "other", "acme", "other", "acme", "acme", "acme"),
    ]
    assert small == {task.id for task in order if task.scope == EVE}


def test_many_claimed_at_once_are_shared_out_evenly(store: Store) -> None:
    tenants = [Scope(name, "ann") for name in ("one", "two", "three")]
    for number in range(5):
        for who in tenants:
            put(store, f"chat:{number}", who)
    counted = Counter(task.scope.tenant for task in claim(store, limit=9))
    assert counted == {"one": 3, "two": 3, "three": 3}


def test_within_a_tenant_what_is_due_longest_goes_first(store: Store) -> None:
    put(store, "late", at=second(2))
    put(store, "early", BOB, at=second(1))
    assert [task.subject for task in claim(store, second(3), limit=2)] == ["early", "late"]


def test_of_many_who_claim_at_once_each_gets_another(store: Store) -> None:
    for number in range(40):
        put(store, f"chat:{number}", (ANN, BOB, EVE)[number % 3])
    got: list[Task] = []

    def work(name: str) -> None:
        while found := claim(store, worker=name):
            got.extend(found)

    threads = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == len({task.id for task in got}) == 40


def test_the_backlog_counts_the_whole_queue(store: Store) -> None:
    assert store.tasks.backlog(at=T0) == Backlog()
    put(store, at=second(10))
    put(store, "chat:2", BOB, at=second(20))
    put(store, kind="gist", at=second(30))
    store.tasks.put(EVE, "gist", "chat:9", at=T0, due_at=second(500))
    (mine,) = claim(store, second(30), kinds=("gist",))
    assert store.tasks.backlog(at=second(40)) == Backlog(2, 1, 0, 30.0, {"distill": 2}, 1)
    store.tasks.fail(mine, at=second(40), error="x", again_at=None)
    assert store.tasks.backlog(at=second(40)) == Backlog(2, 0, 1, 30.0, {"distill": 2}, 1)


def test_a_worker_that_is_not_heard_of_shows_in_the_backlog(store: Store) -> None:
    put(store)
    claim(store)
    assert store.tasks.backlog(at=second(59)).oldest_seconds == 0
    assert store.tasks.backlog(at=second(100)).oldest_seconds == 40


def test_what_is_put_off_because_others_are_at_it_waits_since_it_was_put(store: Store) -> None:
    put(store)
    put(store, "chat:2", BOB, kind="gist")
    for task in claim(store, second(50), limit=2):
        store.tasks.release(task, at=second(50), due_at=second(55))
    assert store.tasks.backlog(at=second(52)) == Backlog(1, 0, 0, 52.0, {"distill": 1}, 1), "a gist waits by itself"
    (again,) = claim(store, second(56), kinds=("distill",))
    store.tasks.fail(again, at=second(56), error="x", again_at=second(90))
    assert store.tasks.backlog(at=second(60)).by_kind == {"gist": 1}, "what failed rests"


def test_what_ended_is_dropped_but_what_is_dead(store: Store) -> None:
    ids = [put(store, f"chat:{number}", (ANN, BOB)[number % 2]) for number in range(4)]
    for number, task in enumerate(claim(store, limit=4)):
        if number < 2:
            store.tasks.finish(task, at=second(number))
        elif number == 2:
            store.tasks.fail(task, at=second(1), error="x", again_at=None)
    waiting = put(store, "chat:9")
    assert store.tasks.tidy(before=second(1)) == 1
    assert store.tasks.tidy(before=second(999)) == 1
    left = [task.id for task in store.tasks.everywhere(limit=9)]
    assert len(left) == 3
    assert waiting in left
    assert len(set(left) & set(ids)) == 2


def test_whoever_looks_after_the_store_sees_every_owners_tasks(store: Store) -> None:
    ids = [put(store, scope=who) for who in (ANN, BOB, EVE)]
    assert [task.id for task in store.tasks.everywhere(limit=9)] == ids[::-1]
    assert [task.scope for task in store.tasks.everywhere(state="waiting", limit=2)] == [EVE, BOB]
    assert store.tasks.everywhere(state="dead", limit=9) == []


# -- what writing puts -------------------------------------------------------------------------------------------------

ABOUT = Session("claude:one", "claude", started_at=T0, ended_at=T0)


def kinds(store: Store, scope: Scope = ANN) -> list[tuple[str, str]]:
    return sorted((task.kind, task.subject) for task in store.tasks.find(scope, limit=99))


def test_on_a_laptop_nothing_is_put(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "hello"))
    store.captures.ingest(ANN, ABOUT, talk("claude:one", "hi"))
    store.memories.add(ANN, memory("a fact"))
    assert store.tasks.everywhere(limit=9) == []


def test_where_somebody_works_what_is_written_puts_its_work(store: Store, hold: Hold) -> None:
    hold(queued=True, clock=lambda: T0)
    store.sessions.append(ANN, [*talk("chat:1", "hello", "there"), *talk("chat:2", "hello")])
    assert kinds(store) == [(kind, session) for kind in ("distill", "gist") for session in ("chat:1", "chat:2")]
    store.captures.ingest(BOB, ABOUT, talk("claude:one", "hi"))
    assert kinds(store, BOB) == [("distill", "claude:one"), ("gist", "claude:one")]
    store.memories.add(EVE, memory("a fact"))
    store.memories.add(EVE, memory("another fact"))
    assert kinds(store, EVE) == [("flood", "")]


@pytest.mark.parametrize(
    "bring",
    [
        lambda store, n: store.memories.add(ANN, memory(f"fact {n}")),
        lambda store, n: store.memories.change(ANN, (), adding=[memory(f"fact {n}")], at=T0, note="merge"),
        lambda store, n: store.memories.add_many(ANN, [(memory(f"fact {n}"), ()), (memory(f"other {n}"), ())]),
    ],
    ids=["add", "change", "add_many"],
)
def test_every_way_a_memory_comes_in_is_watched(
    store: Store, hold: Hold, bring: Callable[[Store, int], object]
) -> None:
    hold(queued=True, clock=lambda: T0)
    bring(store, 1)
    assert kinds(store) == [("flood", "")]


def test_what_was_there_already_makes_no_work(store: Store, hold: Hold) -> None:
    store.sessions.append(ANN, talk("chat:1", "hello"))
    store.captures.ingest(ANN, ABOUT, talk("claude:one", "hi"))
    store.memories.add(ANN, memory("a fact"))
    hold(queued=True)
    store.sessions.append(ANN, talk("chat:1", "hello"))
    store.captures.ingest(ANN, ABOUT, talk("claude:one", "hi"))
    store.memories.add(ANN, memory("a fact"))
    assert kinds(store) == []


def test_a_write_that_fails_puts_nothing(store: Store, hold: Hold) -> None:
    hold(queued=True)
    broken = [*talk("chat:1", "hello"), replace(talk("chat:1", "x", first=1)[0], text="not \ud800 text")]
    with pytest.raises(InvalidInput):
        store.sessions.append(ANN, broken)
    assert store.tasks.everywhere(limit=9) == []


# -- forgetting --------------------------------------------------------------------------------------------------------


def test_a_forgotten_session_takes_its_tasks_with_it(store: Store, hold: Hold) -> None:
    hold(queued=True, clock=lambda: T0)
    store.sessions.append(ANN, [*talk("chat:1", "hello"), *talk("chat:2", "hello")])
    running = claim(store, limit=9)
    store.keeping.forget_session(ANN, "chat:1", at=minute(1))
    assert {task.subject for task in store.tasks.find(ANN, limit=9)} == {"chat:2"}
    ended = {task.subject: store.tasks.finish(task, at=minute(1)) for task in running}
    assert ended == {"chat:1": False, "chat:2": True}


def test_who_is_forgotten_leaves_no_task(store: Store, hold: Hold, outside: Outside) -> None:
    hold(queued=True, clock=lambda: T0)
    store.sessions.append(ANN, talk("chat:1", "hello"))
    store.memories.add(ANN, memory("a fact"))
    store.sessions.append(BOB, talk("chat:1", "hello"))
    store.keeping.forget_all(ANN, at=minute(1))
    assert kinds(store) == []
    assert len(kinds(store, BOB)) == 2
    assert outside("SELECT count(*) FROM tasks") == [(2,)]


def test_the_latest_is_the_one_that_is_not_ended_or_the_newest_that_is(store: Store) -> None:
    assert store.tasks.latest(ANN, "distill", "chat:1") is None
    first = put(store)
    store.tasks.finish(claim(store)[0], at=T0)
    second_one = put(store)
    store.tasks.cancel(ANN, second_one, at=T0)
    for expected in (second_one, first):
        found = store.tasks.latest(ANN.within("tide"), "distill", "chat:1")
        assert found is not None
        assert found.id == expected
        store.tasks.requeue(ANN, first, at=T0)
    assert store.tasks.latest(ANN, "gist", "chat:1") is None
    assert store.tasks.latest(BOB, "distill", "chat:1") is None
