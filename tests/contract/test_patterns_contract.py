"""Patterns: kept with versions, evidence and roll-outs, each its owner's own; what a session shows goes with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.model import Scope
from recollect.store.port import Store
from recollect.store.ports.learn import MOST_SIGHTINGS, Pattern, PatternVersion, Rollout, Sighting
from tests.contract.samples import ANN, BOB, EVE, LATER, T0, minute, talk


def pattern(**changes: Any) -> Pattern:
    values: dict[str, Any] = {
        "id": "p1",
        "kind": "error_repeated",
        "key": "no such file",
        "statement": "A file is looked for where it is not — “é”",
        "trust": "outcome",
        "first_seen": T0,
        "last_seen": LATER,
        "rule": "Look first.",
        "flavors": ("claude", "codex"),
        "projects": ("tide", "moon"),
        "signals": 7,
        "sessions": 3,
        "seconds": 1.5,
        "tokens": 12,
        "usd": 0.25,
        "aliases": ("p9",),
    }
    return Pattern(**{**values, **changes})


def told(one: Pattern, change: str, reason: str | None = None) -> PatternVersion:
    return PatternVersion(one.version, change, one.state, one.statement, one.rule, "ann", reason, T0)


def sighting(session: str, at: float = 0, **changes: Any) -> Sighting:
    return Sighting(session, "claude", "tide", minute(at), "outcome", 2, "cat: no such file", ("k1", "k2"), **changes)


def keep(store: Store, one: Pattern, *sessions: str, scope: Scope = ANN) -> Pattern:
    """A pattern that these sessions show."""
    for session in sessions:
        store.sessions.append(scope, talk(session, "hello"))
    evidence = [sighting(session, at) for at, session in enumerate(sessions)]
    return store.patterns.put(scope, one, at=T0, was=None, told=[told(one, "found")], evidence=evidence)


def test_what_is_put_comes_back_with_its_versions_and_evidence(store: Store) -> None:
    kept = keep(store, pattern(), "s1", "s2")
    assert store.patterns.get(ANN, "p1") == kept == pattern()
    assert store.patterns.versions(ANN, "p1") == [told(kept, "found")]
    assert store.patterns.evidence(ANN, "p1") == [sighting("s2", 1), sighting("s1", 0)]
    assert store.patterns.evidence(ANN, "p1", limit=1) == [sighting("s2", 1)]


def test_a_decision_is_a_version(store: Store) -> None:
    keep(store, pattern(), "s1")
    approved = pattern(
        state="approved", version=2, reviewer="ann", reason="so it is", decided_at=T0, decided_flavors=("claude",)
    )
    store.patterns.put(ANN, approved, at=LATER, was=1, told=[told(approved, "approve", "so it is")])
    assert store.patterns.get(ANN, "p1") == approved
    assert [one.change for one in store.patterns.versions(ANN, "p1")] == ["found", "approve"]
    assert len(store.patterns.evidence(ANN, "p1")) == 1, "what shows it stays"


@pytest.mark.parametrize("was", [None, 1, 3], ids=["as if new", "an older one", "one that is not there"])
def test_nobodys_decision_is_lost(store: Store, was: int | None) -> None:
    """P31."""
    store.patterns.put(ANN, pattern(version=2, state="rejected"), at=T0, was=None)
    with pytest.raises(Conflict, match="in the meantime"):
        store.patterns.put(ANN, pattern(version=3), at=T0, was=was)
    assert store.patterns.get(ANN, "p1") == pattern(version=2, state="rejected")


def test_they_are_listed_by_state(store: Store) -> None:
    for name, state in (("b", "approved"), ("a", "candidate"), ("c", "approved")):
        store.patterns.put(ANN, pattern(id=name, state=state), at=T0, was=None)
    assert [one.id for one in store.patterns.find(ANN, limit=9)] == ["a", "b", "c"]
    assert [one.id for one in store.patterns.find(ANN, state="approved", limit=1, offset=1)] == ["c"]
    with pytest.raises(InvalidInput, match="never 'done'"):
        store.patterns.find(ANN, state="done", limit=1)


def test_evidence_is_bounded_and_only_of_sessions_that_are_there(store: Store) -> None:
    """A session that is forgotten while its evidence is gathered leaves none."""
    count = MOST_SIGHTINGS + 3
    events = [event for number in range(count) for event in talk(f"s{number:03}", "hello")]
    store.sessions.append(ANN, events)
    evidence = [sighting(f"s{number:03}", number) for number in range(count)]
    store.patterns.put(ANN, pattern(), at=T0, was=None, evidence=[sighting("gone", 900), *evidence])
    kept = store.patterns.evidence(ANN, "p1", limit=999)
    assert len(kept) == MOST_SIGHTINGS - 1
    assert (kept[0].session, kept[-1].session) == (f"s{count - 1:03}", "s004")


def test_they_are_their_owners_own(store: Store) -> None:
    keep(store, pattern(), "s1")
    store.patterns.put_rollout(ANN, rollout())
    for other in (BOB, EVE):
        assert store.patterns.get(other, "p1") is None
        assert store.patterns.find(other, limit=9) == []
        assert store.patterns.versions(other, "p1") == []
        assert store.patterns.evidence(other, "p1") == []
        assert store.patterns.rollouts(other) == []
        assert store.patterns.drop(other, "p1") is False
        with pytest.raises(NotFound):
            store.patterns.put_rollout(other, rollout())
        store.patterns.put(other, pattern(statement="another's"), at=T0, was=None)
    assert store.patterns.get(ANN, "p1") == pattern()


def test_in_a_project_there_is_what_is_its_own_and_what_is_of_none(store: Store) -> None:
    for name, projects in (("both", ("moon", "tide")), ("tide", ("tide",)), ("moon", ("moon",)), ("none", ())):
        store.patterns.put(ANN, pattern(id=name, projects=projects), at=T0, was=None)
    found = [one.id for one in store.patterns.find(ANN.within("tide"), limit=9)]
    assert found == ["none", "tide"]
    assert store.patterns.get(ANN.within("tide"), "moon") is None
    assert store.patterns.drop(ANN.within("tide"), "moon") is False
    with pytest.raises(NotFound):
        store.patterns.put(ANN.within("tide"), pattern(id="moon", projects=("tide",)), at=T0, was=1)
    with pytest.raises(InvalidInput, match="not all in this project"):
        store.patterns.put(ANN.within("tide"), pattern(id="new", projects=("moon", "tide")), at=T0, was=None)


def rollout(**changes: Any) -> Rollout:
    values: dict[str, Any] = {
        "id": "r1",
        "pattern": "p1",
        "version": 2,
        "target": "agents-md",
        "place": "/home/ann/tide/AGENTS.md",
        "begun_at": T0,
        "project": "tide",
        "text": "- Look first.",
        "made": ("/home/ann/tide/AGENTS.md",),
        "by": "ann",
        "held_back": ("moon",),
    }
    return Rollout(**{**values, **changes})


def test_where_a_pattern_was_put_is_kept(store: Store) -> None:
    store.patterns.put(ANN, pattern(), at=T0, was=None)
    store.patterns.put(ANN, pattern(id="p2"), at=T0, was=None)
    store.patterns.put_rollout(ANN, rollout())
    store.patterns.put_rollout(ANN, rollout(id="r0", pattern="p2", begun_at=LATER))
    store.patterns.put_rollout(ANN, replace(rollout(), state="out", ended_at=LATER, reason="of no use"))
    assert store.patterns.rollouts(ANN, "p1") == [rollout(state="out", ended_at=LATER, reason="of no use")]
    assert [one.id for one in store.patterns.rollouts(ANN)] == ["r1", "r0"]
    late = replace(rollout(id="r2"), state="in", begun_at=LATER)
    store.patterns.put_rollout(ANN, rollout(id="r2"))
    store.patterns.put_rollout(ANN, late)
    assert store.patterns.rollouts(ANN, "p1")[-1] == late, "it begins when it is there"
    store.patterns.put_rollout(ANN, rollout(id="r0", pattern="p1", state="out"))
    assert store.patterns.rollouts(ANN, "p2")[0].state == "begun", "a roll-out is of one pattern"
    with pytest.raises(InvalidInput, match="never 'lost'"):
        store.patterns.put_rollout(ANN, rollout(state="lost"))


def test_what_is_dropped_is_gone_with_all_of_it(store: Store) -> None:
    keep(store, pattern(), "s1")
    store.patterns.put_rollout(ANN, rollout())
    assert store.patterns.drop(ANN, "p1") is True
    assert store.patterns.drop(ANN, "p1") is False
    keep(store, pattern(), "s2")
    assert len(store.patterns.versions(ANN, "p1")) == 1
    assert [one.session for one in store.patterns.evidence(ANN, "p1")] == ["s2"]
    assert store.patterns.rollouts(ANN) == []


@pytest.mark.parametrize(
    ("state", "version", "after_one", "after_all"),
    [
        pytest.param("candidate", 1, False, False, id="nobody looked at it: it is found again, if others show it"),
        pytest.param("candidate", 2, True, False, id="somebody worded it"),
        pytest.param("rejected", 2, True, False, id="rejected"),
        pytest.param("approved", 2, True, True, id="approved: its words are the reviewer's"),
    ],
)
def test_forgetting_a_session_takes_what_it_shows(
    store: Store, state: str, version: int, after_one: bool, after_all: bool
) -> None:
    keep(store, pattern(state=state, version=version), "s1", "s2")
    store.keeping.forget_session(ANN, "s1", at=LATER)
    assert (store.patterns.get(ANN, "p1") is not None) == after_one
    assert [one.session for one in store.patterns.evidence(ANN, "p1")] == (["s2"] if after_one else [])
    store.keeping.forget_session(ANN, "s2", at=LATER)
    assert (store.patterns.get(ANN, "p1") is not None) == after_all
    assert store.patterns.evidence(ANN, "p1") == []


def worded(store: Store, one: Pattern) -> str:
    """Every word that is kept of a pattern."""
    return repr((store.patterns.get(ANN, one.id), store.patterns.versions(ANN, one.id)))


@pytest.mark.parametrize(
    ("state", "stays"),
    [
        pytest.param("rejected", False, id="rejected"),
        pytest.param("retired", False, id="retired"),
        pytest.param("candidate", False, id="reopened"),
        pytest.param("approved", True, id="approved: its words are the reviewer's"),
    ],
)
def test_what_somebody_only_looked_at_keeps_no_words_of_a_forgotten_session(
    store: Store, state: str, stays: bool
) -> None:
    for name in ("s1", "s2"):
        store.sessions.append(ANN, talk(name, "hello"))
    first = pattern(key="the canary sings", statement="The canary sings", rule="Let the canary sing")
    last = replace(first, state=state, version=2)
    history = [replace(told(first, "found"), actor=None), told(last, "reject")]
    said = (("s1", 1, "The canary sings"), ("s2", 0, "A bird sings"))
    shown = [replace(sighting(session, at), statement=text) for session, at, text in said]
    store.patterns.put(ANN, last, at=T0, was=None, told=history, evidence=shown)
    store.keeping.forget_session(ANN, "s1", at=LATER)
    assert ("canary" in worded(store, last)) is stays
    if not stays:
        kept = store.patterns.get(ANN, "p1")
        assert kept is not None
        assert (kept.statement, kept.state, kept.version) == ("A bird sings", state, 2)


def test_what_a_person_worded_stays_theirs(store: Store) -> None:
    for name in ("s1", "s2"):
        store.sessions.append(ANN, talk(name, "hello"))
    first = pattern(statement="The canary sings", rule="Let the canary sing")
    last = replace(first, state="rejected", version=2, rule="Let the reviewer sing", edited=True)
    history = [replace(told(first, "found"), actor=None), told(last, "edit")]
    shown = [sighting("s1", 1), replace(sighting("s2"), statement="A bird sings")]
    store.patterns.put(ANN, last, at=T0, was=None, told=history, evidence=shown)
    store.keeping.forget_session(ANN, "s1", at=LATER)
    assert "canary" not in worded(store, last)
    assert "Let the reviewer sing" in worded(store, last)


def test_forgetting_everything_takes_every_pattern_and_nobody_elses(store: Store) -> None:
    keep(store, pattern(state="approved"), "s1")
    store.patterns.put_rollout(ANN, rollout())
    keep(store, pattern(state="approved"), "s1", scope=BOB)
    receipt = store.keeping.forget_all(ANN, at=LATER)
    assert receipt.counts["patterns"] == 1
    assert store.patterns.find(ANN, limit=9) == []
    assert store.patterns.rollouts(ANN) == []
    assert store.patterns.get(BOB, "p1") is not None


def test_forgetting_a_project_takes_what_is_its_own(store: Store) -> None:
    tide = ANN.within("tide")
    store.sessions.append(tide, talk("s1", "hello"))
    store.sessions.append(ANN, talk("s2", "hello"))
    for name, projects in (("both", ("moon", "tide")), ("own", ("tide",))):
        one = pattern(id=name, projects=projects, state="approved")
        store.patterns.put(ANN, one, at=T0, was=None, evidence=[sighting("s1"), sighting("s2")])
    store.keeping.forget_all(tide, at=LATER)
    assert [one.id for one in store.patterns.find(ANN, limit=9)] == ["both"]
