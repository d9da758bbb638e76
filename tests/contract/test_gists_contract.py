"""Gists: one a session, replaced as the session grows, made by one at a time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from recollect.errors import NotFound
from recollect.model import Scope
from recollect.store.port import Store
from tests.contract.samples import ANN, BOB, EVE, T0, by_words, event, gist, minute, shown, talk, texts

FOREIGN = [BOB, EVE, Scope("never", "seen"), ANN.within("zeus")]


def test_a_gist_comes_back_as_it_was_given(store: Store) -> None:
    store.sessions.append(ANN.within("apollo"), talk("chat:1", "q", "assistant: a"))
    given = gist("chat:1", "Sie fragte — 他回答了。", 1, occurred_at=minute(1), created_at=minute(9), maker="test")
    store.gists.put(ANN, given)
    kept = store.gists.get(ANN, "chat:1")
    assert kept is not None
    assert (kept.session, kept.content, kept.covers, kept.maker) == ("chat:1", given.content, 1, "test")
    assert (kept.occurred_at, kept.created_at, kept.project) == (minute(1), minute(9), "apollo")


def test_a_session_without_a_gist_has_none(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "q"))
    assert store.gists.get(ANN, "chat:1") is None
    assert store.gists.get(ANN, "chat:2") is None


def test_a_new_gist_replaces_the_old_one_everywhere(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "q", "assistant: a"))
    store.gists.put(ANN, gist("chat:1", "About walruses.", 0))
    store.gists.put(ANN, gist("chat:1", "About penguins.", 1))
    kept = store.gists.get(ANN, "chat:1")
    assert kept is not None
    assert (kept.content, kept.covers) == ("About penguins.", 1)
    assert by_words(store, ANN, "gist", "walruses") == []
    assert texts(shown(store, ANN, "gist", by_words(store, ANN, "gist", "penguins"))) == ["About penguins."]
    assert len(store.gists.recent(ANN, exclude_session=None, limit=9)) == 1


@pytest.mark.parametrize(("covers", "left"), [(None, 5), (0, 4), (3, 1), (4, 0)])
def test_what_a_gist_does_not_cover_is_counted(store: Store, covers: int | None, left: int) -> None:
    store.sessions.append(ANN, talk("chat:1", *"abcde"))
    if covers is not None:
        store.gists.put(ANN, gist("chat:1", "Some letters.", covers))
    assert store.gists.unsummarized(ANN, "chat:1") == left


def test_new_events_are_not_covered(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "a", "b"))
    store.gists.put(ANN, gist("chat:1", "Two letters.", 1))
    store.sessions.append(ANN, talk("chat:1", "c", "d", "e", first=2))
    assert store.gists.unsummarized(ANN, "chat:1") == 3


def test_one_at_a_time_may_make_a_gist(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "q"))
    store.sessions.append(ANN, talk("chat:2", "q"))
    assert store.gists.lease(ANN, "chat:1", now=T0, until=minute(5))
    assert not store.gists.lease(ANN, "chat:1", now=minute(1), until=minute(6))
    assert store.gists.lease(ANN, "chat:2", now=minute(1), until=minute(6))


def test_a_lease_ends_when_it_is_given_back_or_its_time_is_over(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "q"))
    assert store.gists.lease(ANN, "chat:1", now=T0, until=minute(5))
    store.gists.release(ANN, "chat:1")
    assert store.gists.lease(ANN, "chat:1", now=minute(1), until=minute(5))
    assert not store.gists.lease(ANN, "chat:1", now=minute(4.9), until=minute(9))
    assert store.gists.lease(ANN, "chat:1", now=minute(5) + timedelta(seconds=1), until=minute(9))


def test_recent_gists_come_newest_first_without_the_excluded_session(store: Store) -> None:
    for number in (2, 3, 1):
        store.sessions.append(ANN, [event(f"chat:{number}", number, "q")])
        store.gists.put(ANN, gist(f"chat:{number}", f"Gist {number}.", occurred_at=minute(number)))

    def recent(exclude: str | None, limit: int = 9, scope: Scope = ANN) -> list[str]:
        return [one.content for one in store.gists.recent(scope, exclude_session=exclude, limit=limit)]

    assert recent(None) == ["Gist 3.", "Gist 2.", "Gist 1."]
    assert recent("chat:2") == ["Gist 3.", "Gist 1."]
    assert recent("chat:unknown", limit=1) == ["Gist 3."]
    assert recent("chat:3", limit=1) == ["Gist 2."]


@pytest.mark.parametrize("scope", FOREIGN, ids=repr)
def test_a_gist_of_somebody_else_does_not_exist(store: Store, scope: Scope) -> None:
    store.sessions.append(ANN.within("apollo"), talk("chat:1", "q"))
    store.gists.put(ANN, gist("chat:1", "Ann's gist."))
    store.sessions.append(scope, talk("chat:other", "q", first=7))
    assert store.gists.get(scope, "chat:1") is None
    assert store.gists.unsummarized(scope, "chat:1") == 0
    assert store.gists.recent(scope, exclude_session=None, limit=9) == []
    for call in (
        lambda: store.gists.put(scope, gist("chat:1", "Taken over.")),
        lambda: store.gists.lease(scope, "chat:1", now=T0, until=minute(5)),
        lambda: store.gists.release(scope, "chat:1"),
    ):
        with pytest.raises(NotFound):
            call()
    kept = store.gists.get(ANN, "chat:1")
    assert kept is not None
    assert kept.content == "Ann's gist."


def test_a_gist_needs_its_session(store: Store) -> None:
    with pytest.raises(NotFound):
        store.gists.put(ANN, gist("chat:1", "About nothing."))
    with pytest.raises(NotFound):
        store.gists.lease(ANN, "chat:1", now=T0, until=minute(1))
    assert store.gists.unsummarized(ANN, "chat:1") == 0
