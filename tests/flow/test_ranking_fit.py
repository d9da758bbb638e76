"""Weights fitted to a user's own history: examples are of their moment, better ones are taken on, one call resets."""

from __future__ import annotations

from datetime import timedelta

import pytest

from recollect import Recollect
from recollect.learn.weighing import Example, default
from recollect.store.ports.use import OwnRanking
from tests.flow.memory_fixture import HandClock

NAMES = ("arctic", "borneo", "cyprus", "dakota", "etruria", "fresno", "gdansk", "havana", "iberia", "jersey")


def history(memory: Recollect, clock: HandClock, sessions: int) -> None:
    """Sessions in which the newest of two alike memories is always what was then used."""
    for number in range(sessions):
        name = f"{NAMES[number % 10]}{number}"
        old, new = f"10{number:03d}", f"20{number:03d}"
        clock.move(days=1)
        memory.remember(f"The {name} gateway is reached through tunnel {old}", kind="note", importance=0.9)
        clock.move(days=60)
        memory.remember(f"The {name} gateway is reached through bastion {new}", kind="note", importance=0.1)
        clock.move(days=1)
        session = f"chat:{number}"
        memory.record(session, "user", f"please open the {name} gateway for me", clock.now)
        clock.move(minutes=1)
        memory.record(session, "assistant", f"I go through bastion {new}.", clock.now)
    memory.embed_pending()


def right(memory: Recollect) -> int:
    """Of the last twenty gateways, to how many the way that is used comes first."""
    found = 0
    for number in range(25, 45):
        name = f"{NAMES[number % 10]}{number}"
        hits = memory.recall(f"please open the {name} gateway for me", tiers=("memory",), abstain=False, limit=50).hits
        found += "bastion" in next(hit.content for hit in hits if name in hit.content)
    return found


def test_what_was_used_afterwards_is_learned_from_and_reset_in_one_call(memory: Recollect, clock: HandClock) -> None:
    history(memory, clock, 45)
    usual = right(memory)
    dry = memory.ranking.fit(dry_run=True)
    assert (dry.fit.better, dry.adopted) == (True, False)
    assert memory.ranking.show().own is None
    done = memory.ranking.fit()
    assert done.adopted
    assert done.from_history == done.fit.examples >= 40
    assert done.fit == dry.fit, "the same history gives the same weights"
    shown = memory.ranking.show()
    assert shown.own == done.weights
    assert shown.own["importance"] < default()["importance"]
    assert shown.figures["after"] > shown.figures["before"]  # type: ignore[operator]
    assert right(memory) > usual
    assert memory.ranking.reset()
    assert memory.ranking.show().own is None
    assert right(memory) == usual
    assert not memory.ranking.reset()


def test_a_short_history_says_nothing(memory: Recollect, clock: HandClock) -> None:
    history(memory, clock, 5)
    done = memory.ranking.fit()
    assert (done.fit.enough, done.adopted) == (False, False)
    assert memory.ranking.show().own is None


def known(example: Example) -> tuple[object, ...]:
    """An example but for similarity, for which the rarity of words is that of today."""
    return example.at, example.good, example.bad, [row[1:] for row in example.candidates]


def test_nothing_from_after_the_question_is_in_an_example(memory: Recollect, clock: HandClock) -> None:
    history(memory, clock, 2)
    before = [known(example) for example, _ in memory.ranking.examples()]
    clock.move(days=30)
    memory.remember("The arctic0 gateway is reached through bastion 20000 and 99999", importance=1.0)
    for one in memory.memories(100):
        memory.feedback(one.id, "harmful")
    memory.embed_pending()
    assert [known(example) for example, _ in memory.ranking.examples()] == before


def test_feedback_that_names_a_session_is_an_example(memory: Recollect, clock: HandClock) -> None:
    history(memory, clock, 1)
    memory.record("chat:x", "user", "please open the arctic0 gateway once more", clock.now)
    clock.move(minutes=1)
    memory.record("chat:x", "assistant", "Done.", clock.now)
    tunnel = next(one for one in memory.memories(10) if "tunnel" in one.content)
    bastion = next(one for one in memory.memories(10) if "bastion" in one.content)
    assert [source for _, source in memory.ranking.examples()] == ["history"]
    memory.feedback(bastion.id, "helpful", "chat:x")
    memory.feedback(tunnel.id, "harmful", "chat:x")
    found = {source: example for example, source in memory.ranking.examples()}
    assert set(found) == {"feedback", "history"}
    assert len(found["feedback"].good) == len(found["feedback"].bad) == 1


def test_weights_of_the_owner_hold_in_every_project_and_nobody_elses(
    memory: Recollect, opened: object, clock: HandClock
) -> None:
    from recollect import Scope

    other = opened(Scope("local", "somebody else"))  # type: ignore[operator]
    own = {"similarity": 0.9, "importance": 0.05, "recency": 0.05, "use": 0.0}
    memory.store.use.put_ranking(memory.scope, OwnRanking(own, clock.now), at=clock.now)
    for each in (memory, other):
        each.remember("The gate is red", importance=1.0)
        each.embed_pending()
    mine = memory.recall("gate", abstain=False, tiers=("memory",)).hits[0]
    theirs = other.recall("gate", abstain=False, tiers=("memory",)).hits[0]
    assert mine.score < theirs.score
    project = memory.scope.within("zeus")
    assert memory.store.use.ranking(project) == memory.store.use.ranking(memory.scope)


@pytest.mark.parametrize("days", [0, 400])
def test_the_moment_of_the_question_is_the_moment_of_its_parts(memory: Recollect, clock: HandClock, days: int) -> None:
    """A fit a year later sees recency as it was."""
    history(memory, clock, 1)
    clock.now += timedelta(days=days)
    ((example, _),) = memory.ranking.examples()
    recencies = sorted(row[2] for row in example.candidates)
    assert recencies == pytest.approx([1 / 1.61, 1 / 1.01], abs=1e-3)
