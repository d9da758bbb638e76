"""A request that is sent twice is done once, and answered the same (P44)."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from recollect.errors import InvalidInput
from recollect.model import Scope
from recollect.store.port import Store
from recollect.store.ports.queue import ANSWERING, PLAIN, Answered
from tests.contract.samples import ANN, BOB, EVE, LATER, T0, memory, minute, talk
from tests.contract.terms_fixture import Outside
from tests.contract.terms_fixture import outside as outside

DAY = timedelta(days=1)


def begin(store: Store, fingerprint: str = "aa", scope: Scope = ANN, at: float = 0, key: str = "k1") -> Answered | None:
    return store.answers.begin(scope, key, fingerprint, at=minute(at), until=minute(at) + DAY)


def test_the_first_does_it_and_the_same_again_gets_its_answer(store: Store) -> None:
    assert begin(store) is None
    assert begin(store) == Answered("running")
    store.answers.finish(ANN, "k1", status=201, body=b'{"id": "\xc3\xa9"}', at=T0)
    assert begin(store, at=1) == Answered("done", 201, b'{"id": "\xc3\xa9"}')


def test_another_request_of_the_same_key_is_told_apart_running_or_done(store: Store) -> None:
    begin(store)
    assert begin(store, "bb") == Answered("other")
    store.answers.finish(ANN, "k1", status=200, body=b"{}", at=T0)
    assert begin(store, "bb") == Answered("other")


def test_what_was_answered_stays_answered(store: Store) -> None:
    begin(store)
    store.answers.finish(ANN, "k1", status=201, body=b"first", at=T0)
    store.answers.finish(ANN, "k1", status=500, body=b"second", at=T0)
    store.answers.drop(ANN, "k1")
    assert begin(store) == Answered("done", 201, b"first")


def test_what_was_dropped_is_done_by_the_next(store: Store) -> None:
    begin(store)
    store.answers.drop(ANN, "k1")
    assert begin(store, "bb") is None


def test_a_key_is_its_owners_own(store: Store) -> None:
    assert [begin(store, fingerprint, who) for fingerprint, who in (("aa", ANN), ("bb", BOB), ("cc", EVE))] == [
        None
    ] * 3
    store.answers.finish(BOB, "k1", status=200, body=b"bob", at=T0)
    assert begin(store) == Answered("running")
    assert begin(store) == Answered("running")
    assert begin(store, scope=ANN.within("tide")) is None, "in a project it is another request"


def test_an_answer_is_kept_for_as_long_as_was_said(store: Store) -> None:
    begin(store)
    store.answers.finish(ANN, "k1", status=201, body=b"{}", at=T0)
    assert begin(store, at=24 * 60 - 1) == Answered("done", 201, b"{}")
    assert begin(store, "bb", at=24 * 60) is None


def test_a_request_whose_process_died_is_let_in_again_but_no_other(store: Store) -> None:
    begin(store)
    late = ANSWERING / timedelta(minutes=1)
    assert begin(store, at=late - 0.1) == Answered("running")
    assert begin(store, "bb", at=late) == Answered("other")
    assert begin(store, at=late) is None
    assert begin(store, at=late) == Answered("running")


def test_of_a_hundred_at_once_one_does_it(store: Store) -> None:
    got: list[Answered | None] = []
    threads = [threading.Thread(target=lambda: got.append(begin(store))) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got.count(None) == 1
    assert got.count(Answered("running")) == 99


@pytest.mark.parametrize("key", ["", " ", "k" * 256, "a\x00b"])
def test_what_is_no_key_is_refused(store: Store, key: str) -> None:
    with pytest.raises(InvalidInput):
        begin(store, key=key)


def test_answers_that_are_over_are_dropped(store: Store, outside: Outside) -> None:
    begin(store)
    begin(store, scope=EVE)
    begin(store, at=60, key="k2")
    assert store.answers.tidy(before=minute(0.5) + DAY) == 2
    assert outside("SELECT count(*) FROM answers") == [(1,)]
    assert store.answers.tidy(before=LATER) == 1


@pytest.mark.parametrize("what", ["memory", "session", "everything"])
def test_whatever_is_forgotten_no_answer_quotes_it(store: Store, outside: Outside, what: str) -> None:
    kept = store.memories.add(ANN, memory("a fact"))[0]
    store.sessions.append(ANN, talk("chat:1", "hello"))
    for who in (ANN, BOB):
        begin(store, scope=who)
        store.answers.finish(who, "k1", status=200, body=b"a fact, hello", at=T0)
    if what == "memory":
        store.keeping.forget_memory(ANN, kept.id, at=T0)
    elif what == "session":
        store.keeping.forget_session(ANN, "chat:1", at=T0)
    else:
        store.keeping.forget_all(ANN, at=T0)
    assert outside("SELECT count(*) FROM answers") == [(1,)]
    assert begin(store, scope=BOB) == Answered("done", 200, b"a fact, hello")


def test_what_is_being_answered_while_something_is_forgotten_is_not_kept(store: Store) -> None:
    """It may quote it; until it is answered it is still the only one that is let in."""
    kept = store.memories.add(ANN, memory("a fact"))[0]
    begin(store)
    store.keeping.forget_memory(ANN, kept.id, at=T0)
    assert begin(store) == Answered("running")
    store.answers.finish(ANN, "k1", status=200, body=b"a fact", at=T0)
    assert begin(store) is None


def test_what_quotes_nothing_stays_when_something_is_forgotten(store: Store, outside: Outside) -> None:
    kept = [store.memories.add(ANN, memory(f"fact {n}"))[0] for n in range(2)]
    for one in kept:
        assert begin(store, f"{PLAIN}{one.id}", key=one.id) is None
        store.keeping.forget_memory(ANN, one.id, at=T0)
        store.answers.finish(ANN, one.id, status=200, body=b"receipt", at=T0)
    for one in kept:
        assert begin(store, f"{PLAIN}{one.id}", key=one.id) == Answered("done", 200, b"receipt")
    store.keeping.forget_all(ANN, at=T0)
    assert outside("SELECT count(*) FROM answers") == [(0,)]
