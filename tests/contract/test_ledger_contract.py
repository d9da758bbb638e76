"""The ledger: debited before the call if the caps allow it, corrected after it, never passed by many at once (P27)."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from recollect.errors import NotFound, ScopeError
from recollect.model import Scope
from recollect.store.port import Store
from recollect.store.ports.distill import Caps, Charge, Spending
from tests.contract.conftest import NewStore
from tests.contract.samples import ANN, BOB, EVE, LATER, T0, minute

CAPS = Caps(tokens=1_000, usd=1.0)
CALL = Charge("session", "openai:m", 80, 20, 0.10, T0)
FOREIGN = [BOB, EVE, Scope("never", "seen")]


def spent(store: Store, scope: Scope = ANN) -> tuple[int, int, float]:
    """Calls, tokens and USD of T0's day."""
    rows = store.ledger.spent(scope, since=T0)
    return sum(row.calls for row in rows), sum(row.input + row.output for row in rows), sum(row.usd for row in rows)


def test_a_charge_is_debited_before_it_is_settled(store: Store) -> None:
    ticket = store.ledger.reserve(ANN, CALL, CAPS)
    assert ticket is not None
    assert spent(store) == (1, 100, 0.10)
    store.ledger.settle(ANN, ticket, replace(CALL, input=30, output=5, usd=0.01))
    assert spent(store) == (1, 35, 0.01)


def test_the_first_settlement_holds(store: Store) -> None:
    ticket = store.ledger.reserve(ANN, CALL, CAPS)
    assert ticket is not None
    store.ledger.settle(ANN, ticket, replace(CALL, input=30, output=5, usd=0.01))
    store.ledger.settle(ANN, ticket, replace(CALL, input=0, output=0, usd=0.0))
    assert spent(store) == (1, 35, 0.01)


def test_what_is_settled_lower_can_be_spent_again(store: Store) -> None:
    caps = Caps(tokens=150, usd=1.0)
    ticket = store.ledger.reserve(ANN, CALL, caps)
    assert ticket is not None
    assert store.ledger.reserve(ANN, CALL, caps) is None
    store.ledger.settle(ANN, ticket, replace(CALL, input=30, output=20))
    assert store.ledger.reserve(ANN, CALL, caps) is not None
    assert store.ledger.reserve(ANN, CALL, caps) is None


@pytest.mark.parametrize(
    ("caps", "calls"),
    [
        (Caps(1_000, 100.0), 10),
        (Caps(999, 100.0), 9),
        (Caps(99, 100.0), 0),
        (Caps(0, 0.0), 0),
        (Caps(10**9, 1.0), 10),
        (Caps(10**9, 0.99), 9),
        (Caps(10**9, 100.0, project_usd=0.30), 3),
        (Caps(10**9, 100.0, project_usd=0.0), 0),
    ],
    ids=str,
)
def test_a_cap_is_reached_and_never_passed(store: Store, caps: Caps, calls: int) -> None:
    charge = replace(CALL, project="apollo")
    tickets = [store.ledger.reserve(ANN, charge, caps) for _ in range(20)]
    assert [ticket is not None for ticket in tickets] == [True] * calls + [False] * (20 - calls)
    assert spent(store)[0] == calls


def test_what_costs_nothing_is_not_held_against_money(store: Store) -> None:
    assert store.ledger.reserve(ANN, replace(CALL, usd=0.0), Caps(1_000, 0.0)) is not None


def test_the_cap_is_the_owners_and_of_a_project_its_own(store: Store) -> None:
    caps = Caps(10**9, 0.50, project_usd=0.20)
    apollo, zeus = replace(CALL, project="apollo"), replace(CALL, project="zeus")
    assert [store.ledger.reserve(ANN, apollo, caps) is not None for _ in range(3)] == [True, True, False]
    assert [store.ledger.reserve(ANN, zeus, caps) is not None for _ in range(3)] == [True, True, False]
    loose = replace(caps, project_usd=None)
    assert [store.ledger.reserve(ANN, CALL, loose) is not None for _ in range(2)] == [True, False]


def test_a_day_is_a_day_in_utc(store: Store) -> None:
    caps = Caps(100, 1.0)
    late = T0.replace(hour=23, minute=59)
    assert store.ledger.reserve(ANN, replace(CALL, at=late), caps) is not None
    assert store.ledger.reserve(ANN, replace(CALL, at=T0), caps) is None
    assert store.ledger.reserve(ANN, replace(CALL, at=late + timedelta(minutes=1)), caps) is not None
    days = [row.day for row in store.ledger.spent(ANN, since=T0)]
    assert days == ["2026-03-01", "2026-03-02"]
    assert [row.day for row in store.ledger.spent(ANN, since=late + timedelta(minutes=1))] == ["2026-03-02"]


def test_spending_is_told_by_day_project_use_and_model(store: Store) -> None:
    for charge in (
        CALL,
        CALL,
        replace(CALL, use="gist", project="apollo"),
        replace(CALL, model="anthropic:n", project="apollo", use="gist"),
    ):
        assert store.ledger.reserve(ANN, charge, CAPS) is not None
    assert store.ledger.spent(ANN, since=T0) == [
        Spending("2026-03-01", None, "session", "openai:m", 2, 160, 40, 0.2),
        Spending("2026-03-01", "apollo", "gist", "anthropic:n", 1, 80, 20, 0.1),
        Spending("2026-03-01", "apollo", "gist", "openai:m", 1, 80, 20, 0.1),
    ]
    assert store.ledger.spent(ANN, since=LATER) == []


def test_a_project_sees_its_own_and_what_belongs_to_none(store: Store) -> None:
    for project in ("apollo", "zeus", None):
        store.ledger.reserve(ANN, replace(CALL, project=project), CAPS)
    assert [row.project for row in store.ledger.spent(ANN.within("apollo"), since=T0)] == [None, "apollo"]
    with pytest.raises(ScopeError):
        store.ledger.reserve(ANN.within("apollo"), replace(CALL, project="zeus"), CAPS)


@pytest.mark.parametrize("scope", FOREIGN, ids=repr)
def test_what_others_spend_is_neither_seen_nor_counted(store: Store, scope: Scope) -> None:
    ticket = store.ledger.reserve(ANN, CALL, Caps(100, 1.0))
    assert ticket is not None
    assert spent(store, scope) == (0, 0, 0)
    assert store.ledger.unanswered(scope, model="openai:m", since=T0).calls == 0
    with pytest.raises(NotFound):
        store.ledger.settle(scope, ticket, replace(CALL, input=0, output=0))
    assert store.ledger.reserve(scope, CALL, Caps(100, 1.0)) is not None
    assert spent(store) == (1, 100, 0.10)


def test_a_charge_of_another_project_is_not_there(store: Store) -> None:
    ticket = store.ledger.reserve(ANN, replace(CALL, project="zeus"), CAPS)
    assert ticket is not None
    with pytest.raises(NotFound):
        store.ledger.settle(ANN.within("apollo"), ticket, replace(CALL, input=0, output=0))
    assert spent(store) == (1, 100, 0.10)


def test_calls_without_an_answer_are_counted_since_the_last_answer(store: Store) -> None:
    def call(number: int, settled: tuple[int, int] | None, model: str = "openai:m") -> None:
        charge = replace(CALL, at=minute(number), model=model)
        ticket = store.ledger.reserve(ANN, charge, Caps(10**9, 10**6))
        assert ticket is not None
        if settled:
            store.ledger.settle(ANN, ticket, replace(charge, input=settled[0], output=settled[1]))

    def unanswered(model: str = "openai:m") -> tuple[int, object]:
        return store.ledger.unanswered(ANN, model=model, since=T0)

    assert unanswered() == (0, None)
    call(1, None)  # failed
    call(2, (0, 0))  # refused
    assert unanswered() == (2, minute(2))
    call(3, (50, 5))
    assert unanswered() == (0, None)
    call(4, None)
    call(5, None, "anthropic:n")
    assert unanswered() == (1, minute(4))
    assert unanswered("anthropic:n") == (1, minute(5))
    assert store.ledger.unanswered(ANN, model="openai:m", since=LATER) == (0, None)


def test_many_at_once_do_not_pass_the_cap(store: Store) -> None:
    caps = Caps(tokens=1_000, usd=100.0)
    tickets: list[int | None] = []

    def spend() -> None:
        tickets.extend(store.ledger.reserve(ANN, CALL, caps) for _ in range(5))

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(ticket is not None for ticket in tickets) == 10
    assert spent(store)[:2] == (10, 1_000)


def test_what_was_spent_stays_spent_when_everything_else_is_forgotten(store: Store) -> None:
    store.ledger.reserve(ANN, replace(CALL, project="apollo"), CAPS)
    store.keeping.forget_all(ANN, at=T0)
    assert spent(store) == (1, 100, 0.10)
    assert store.ledger.reserve(ANN, CALL, Caps(150, 1.0)) is None


def test_two_stores_have_two_ledgers(new_store: NewStore) -> None:
    one, two = new_store(), new_store()
    one.ledger.reserve(ANN, CALL, CAPS)
    assert spent(two) == (0, 0, 0)
