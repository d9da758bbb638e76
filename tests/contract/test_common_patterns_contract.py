"""Patterns over many users: five at the least, only of those who agreed, and no word that fewer approved (S1.108)."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.model import Scope
from recollect.store.port import Store
from recollect.store.ports.learn import LEAST_USERS, CommonPattern
from recollect.store.postgres.store import PostgresStore
from tests.contract.samples import T0, talk
from tests.contract.test_patterns_contract import pattern

SECRET = "walrus"  # stands in whatever fewer than five have in common


def user(number: int, tenant: str = "acme") -> Scope:
    return Scope(tenant, f"user-{number}")


def seen(store: Store, number: int, *, agrees: bool = True, tenant: str = "acme", **changes: Any) -> Scope:
    """A user who has seen it; every text of it is their own unless it is given."""
    scope = user(number, tenant)
    own = {"statement": f"{SECRET} {number}", "rule": f"Feed the {SECRET} {number}.", "key": f"{SECRET} {number}"}
    about = {"projects": (f"{SECRET}-{number}",), "reviewer": f"{SECRET}-{number}", "reason": SECRET}
    store.patterns.put(scope, pattern(**{**own, **about, **changes}), at=T0, was=None)
    store.patterns.share(scope, agrees, at=T0)
    return scope


def common(store: Store, number: int = 0, k: int = LEAST_USERS, tenant: str = "acme") -> list[CommonPattern]:
    return store.patterns.common(user(number, tenant), k)


def test_what_fewer_than_k_have_seen_is_told_to_nobody(store: Store) -> None:
    for number in range(LEAST_USERS - 1):
        seen(store, number)
    assert [common(store, number) for number in range(LEAST_USERS)] == [[]] * LEAST_USERS
    seen(store, 4)
    assert common(store) == [CommonPattern("p1", "error_repeated", 5)]
    assert common(store, k=6) == []


@pytest.mark.parametrize("k", [-1, 0, 1, 4])
def test_there_is_a_floor(store: Store, k: int) -> None:
    for number in range(LEAST_USERS - 1):
        seen(store, number, state="approved", statement="Same", rule="The same.")
    assert common(store, k=k) == []


def test_the_database_itself_holds_to_the_floor(store: Store) -> None:
    """On PostgreSQL, whoever calls the function: what it is given is not what decides."""
    for number in range(LEAST_USERS - 1):
        seen(store, number)
    assert common(store, k=1) == []
    if isinstance(store, PostgresStore):
        for k in (1, 0, -7, None):
            with store.database.read(user(0)) as tx:
                assert tx.run("patterns.common", {"k": k}).fetchall() == []


def test_no_text_is_told_that_fewer_than_k_approved_in_those_words(store: Store) -> None:
    for number in range(6):
        seen(store, number, state="approved", rule="Look first." if number < 4 else None)
    (one,) = common(store)
    assert (one.users, one.approved) == (6, 6)
    assert (one.statement, one.rule) == (None, None)
    assert SECRET not in repr(common(store))


def test_words_that_so_many_approved_are_told(store: Store) -> None:
    for number in range(5):
        seen(store, number, state="approved", statement="Files are missing", rule="Look first.")
    seen(store, 5, state="approved", statement=f"Files are missing, {SECRET}", rule="Look first.")
    seen(store, 6, statement="Files are missing", rule="Look first.")
    assert common(store) == [CommonPattern("p1", "error_repeated", 7, 6, "Files are missing", "Look first.")]
    assert common(store, k=6) == [CommonPattern("p1", "error_repeated", 7, 6)], "six approved, five in these words"
    assert common(store, k=7) == [CommonPattern("p1", "error_repeated", 7)], "how many approved is told of so many too"


def test_candidates_in_the_same_words_are_no_reviewed_words(store: Store) -> None:
    for number in range(6):
        seen(store, number, statement="Files are missing", rule="Look first.")
    assert common(store) == [CommonPattern("p1", "error_repeated", 6)]


def test_who_did_not_agree_counts_nowhere_and_is_told_nothing(store: Store) -> None:
    for number in range(4):
        seen(store, number, state="approved", statement="Same", rule="The same.")
    for number in range(4, 9):
        seen(store, number, agrees=False, state="approved", statement="Same", rule="The same.")
    assert common(store) == []
    store.patterns.share(user(4), True, at=T0)
    assert common(store) == [CommonPattern("p1", "error_repeated", 5, 5, "Same", "The same.")]
    assert common(store, 5) == [], "who gives nothing is told nothing"
    assert store.patterns.common(Scope("acme", "nobody"), 5) == []
    assert store.patterns.share(user(4), False, at=T0)
    assert common(store) == []


def test_agreeing_twice_is_agreeing_once(store: Store) -> None:
    scope = seen(store, 0)
    assert not store.patterns.share(scope, True, at=T0)
    assert store.patterns.share(scope, False, at=T0)
    assert not store.patterns.share(scope, False, at=T0)
    assert not store.patterns.share(Scope("acme", "never"), False, at=T0)


def test_another_tenant_is_another_world(store: Store) -> None:
    for number in range(3):
        seen(store, number)
        seen(store, number, tenant="other")
    assert common(store) == common(store, tenant="other") == []


def test_what_was_merged_away_or_belongs_to_a_context_does_not_count(store: Store) -> None:
    for number in range(5):
        seen(store, number, **({"state": "merged", "merged_into": "p7"} if number == 4 else {}))
    assert common(store) == []


def test_a_kind_that_was_made_up_is_not_told(store: Store) -> None:
    """An import can hold anything: whatever is told, so many have the very same."""
    for number in range(4):
        seen(store, number)
    seen(store, 4, kind=f"{SECRET} kind")
    assert common(store) == []
    seen(store, 5)
    assert common(store) == [CommonPattern("p1", "error_repeated", 5)]


def test_forgetting_everything_takes_the_agreement_back(store: Store) -> None:
    for number in range(5):
        seen(store, number)
    store.sessions.append(user(4), talk("chat:1", "hello"))
    store.keeping.forget_all(user(4), at=T0)
    assert common(store) == []
    store.patterns.put(user(4), pattern(), at=T0, was=None)
    assert common(store) == []
