"""A refused call is a no to such calls only when the person says so: no question, not taken back, not of an order."""

from __future__ import annotations

import pytest
from tests.unit.learn.learning_fixture import Told, all_signals

from recollect.learn.cluster import candidates_of

COMMIT = "git add -A && git commit -m x"


def refused(name: str, said: str = "", *, asked: str = "Look at the parser", after: str = "") -> Told:
    told = Told(name).ask(asked).say()
    told = told.refuse(COMMIT, said) if said else told.refuse(COMMIT)
    return told.ask(after) if after else told


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        ("no, I did not say commit anything", True),
        ("don't push yet", True),
        ("", True),
        ("is the message really right?", False),
        ("should we not split this first", False),
        ("I think the types should be separate", False),
        ("sorry, wrong key", False),
        ("go ahead", False),
    ],
    ids=["no", "not yet", "without words", "question", "question in other words", "review", "mistake", "taken back"],
)
def test_what_the_person_said_with_it(said: str, *, counts: bool) -> None:
    assert bool(refused("a", said).of("denial")) is counts


@pytest.mark.parametrize("after", ["sorry, I mistyped, continue", "what would that do?", "put it on a branch instead"])
def test_what_the_person_said_right_after_it(after: str) -> None:
    assert refused("a", after=after).of("denial") == []
    assert len(refused("a", after="please do not commit by yourself").of("denial")) == 1


def test_what_had_been_ordered_is_refused_for_how_it_was_done() -> None:
    assert refused("a", asked="Fix the parser, then commit and push").of("denial") == []
    assert len(refused("a", asked="Fix the parser, but do not commit").of("denial")) == 1


def test_an_order_holds_until_it_was_followed() -> None:
    told = Told().ask("Fix it and commit").edit().run("git commit -m a", "[main 1] a").edit().refuse(COMMIT)
    assert len(told.of("denial")) == 1


def test_a_refused_edit_counts_when_nobody_had_asked_for_one() -> None:
    def edit(asked: str, said: str) -> Told:
        told = Told().ask(asked).say().call("Edit", {"file_path": "/w/app/a.go", "old_string": "a"})
        return told.add("human_intervention", said, "user", "user", call=told.events[-1].meta["call"])

    assert len(edit("why is it slow", "wait, let's talk about this").of("denial")) == 1
    assert edit("make it faster", "wait, let's talk about this").of("denial") == []
    assert edit("why is it slow", "prefer a helper for it").of("denial") == []


def test_a_rule_only_where_the_words_agree() -> None:
    (agreed,) = candidates_of(all_signals(*(refused(name, "don't commit by yourself") for name in "abc")))
    (bare,) = candidates_of(all_signals(*(refused(name) for name in "abc")))
    assert agreed.rule == "Commit and push only when asked to."
    assert bare.rule is None
    assert agreed.id == bare.id
