"""What sessions show, kept: found again while nothing changed, gone with the session, and nobody else's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.distill.digest import digest_of
from recollect.model import Cost, Event, Scope, Session
from recollect.store.port import Store
from recollect.store.ports.learn import SignalState
from tests.contract.samples import ANN, BOB, EVE, LATER, T0, event


def captured(store: Store, name: str = "claude:1", *, scope: Scope = ANN, lines: int = 3) -> list[Event]:
    """A captured session with its digest."""
    events = [event(name, number, f"line {number}", way="sweep") for number in range(lines)]
    store.captures.ingest(scope, Session(name, "claude", project="tide"), events)
    digested(store, name, scope)
    return events


def digested(store: Store, name: str = "claude:1", scope: Scope = ANN) -> None:
    history = store.sessions.history(scope, name)
    digest = digest_of(Session(name, "claude"), history, [])
    store.digests.put(scope, digest, covers=history[-1].position, at=T0)


def kept(store: Store, name: str = "claude:1", scope: Scope = ANN) -> tuple[str, str] | None:
    return store.signals.kept(scope, [name]).get(name)


def keep(store: Store, name: str = "claude:1", scope: Scope = ANN, text: str = '{"a":"é"}') -> SignalState:
    state = store.signals.states(scope)[name]
    store.signals.keep(scope, {name: (state, "mark", text)})
    return state


def test_what_is_kept_comes_back_with_its_mark(store: Store) -> None:
    captured(store)
    state = keep(store)
    assert (state.covers, state.last, state.mark) == (2, 2, None)
    assert kept(store) == ("mark", '{"a":"é"}')
    assert store.signals.states(ANN)["claude:1"] == state._replace(mark="mark")
    keep(store, text="anew")
    assert kept(store) == ("mark", "anew")


def test_a_session_without_a_digest_has_no_state(store: Store) -> None:
    store.captures.ingest(ANN, Session("claude:1", "claude"), [event("claude:1", 0, "hello", way="sweep")])
    assert store.signals.states(ANN) == {}
    assert store.signals.states(Scope("never", "seen")) == {}
    assert store.signals.kept(Scope("never", "seen"), ["claude:1"]) == {}


def test_what_grew_meanwhile_is_not_kept(store: Store) -> None:
    captured(store)
    before = store.signals.states(ANN)["claude:1"]
    more = [event("claude:1", 3, "more", way="sweep")]
    store.captures.ingest(ANN, Session("claude:1", "claude"), more)
    store.signals.keep(ANN, {"claude:1": (before, "mark", "x")})
    assert kept(store) is None
    assert store.signals.states(ANN)["claude:1"].last == 3


@pytest.mark.parametrize("change", ["event", "cost"])
def test_what_changed_in_place_is_dropped(store: Store, change: str) -> None:
    """The digest may be made again in the same moment and cover the same: nothing of before may be taken for it."""
    events = captured(store)
    keep(store)
    given = [replace(events[1], text="written anew")] if change == "event" else []
    costs = [Cost("ab" * 16, "claude:1", T0, output=5)] if change == "cost" else []
    store.captures.ingest(ANN, Session("claude:1", "claude"), given, costs)
    digested(store)
    assert kept(store) is None
    assert store.signals.states(ANN)["claude:1"].mark is None


def test_it_goes_with_the_session(store: Store) -> None:
    captured(store)
    keep(store)
    store.keeping.forget_session(ANN, "claude:1", at=LATER)
    assert kept(store) is None
    captured(store, "claude:2")
    keep(store, "claude:2")
    store.keeping.forget_all(ANN, at=LATER)
    assert store.signals.states(ANN) == {}


def test_nobody_sees_anybody_elses(store: Store) -> None:
    captured(store)
    keep(store)
    captured(store, scope=BOB)
    for scope in (BOB, EVE):
        assert kept(store, scope=scope) is None
    assert store.signals.states(BOB)["claude:1"].mark is None
    store.signals.keep(EVE, {"claude:1": (store.signals.states(ANN)["claude:1"], "mark", "planted")})
    assert kept(store) == ("mark", '{"a":"é"}')


def test_a_project_sees_its_own_and_what_has_none(store: Store) -> None:
    captured(store)
    assert set(store.signals.states(ANN.within("tide"))) == {"claude:1"}
    assert store.signals.states(ANN.within("moon")) == {}
