"""A process keeps words of whom it is asked for; what another process changes is in the very next answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.ids import uuid7
from recollect.model import Memory, Scope, Tier
from recollect.store.port import Store
from recollect.store.postgres import lexicon
from recollect.store.postgres.search import PostgresSearch
from recollect.store.postgres.store import PostgresStore
from tests.contract.changes import added, all_forgotten, deleted, forgotten
from tests.contract.samples import ANN, LATER, memory, minute, talk

FIRST = ("the walrus sleeps on ice", "a harbour full of seals", "penguins walk in winter; penguins!")
ASKED = ("walrus", "seal", "penguin", "sea", "nothing")
TIERS: tuple[Tier, ...] = ("memory", "turn", "gist")


def kept(store: Store) -> int:
    """How many owners' and tiers' words a store has at hand."""
    assert isinstance(store, PostgresStore)
    return sum(place.lexicon is not None for place in store.search.memory._places.values())


def same_as_the_database(store: Store, scope: Scope = ANN) -> None:
    """What is found, in which order, by which scores, and how much each word tells."""
    assert isinstance(store, PostgresStore)
    for tier in TIERS:
        for rarest in (None, 1):
            truth = PostgresSearch(store.database, kept=0).lexical(scope, tier, ASKED, None, 50, rarest=rarest)
            told = store.search.lexical(scope, tier, ASKED, None, 50, rarest=rarest)
            assert [match.doc for match in told] == [match.doc for match in truth]
            assert [match.score for match in told] == pytest.approx([match.score for match in truth], rel=1e-9)
        truths = PostgresSearch(store.database, kept=0).weigh(scope, tier, ASKED)
        assert astuple(store.search.weigh(scope, tier, ASKED)) == pytest.approx(astuple(truths))


@pytest.fixture
def first(store: Store, other: Store) -> list[Memory]:
    """Three memories and a talk that both processes were asked for, and keep."""
    made = [memory(text) for text in FIRST]
    for one in made:
        store.memories.add(ANN, one)
    store.sessions.append(ANN, talk("chat:1", "where is the walrus?", "assistant: the walrus is at sea, walrus!"))
    for process in (store, other):
        before = kept(process)
        same_as_the_database(process)
        assert kept(process) == before + 2, "or nothing is proved here"
    return made


def added_many(store: Store, first: list[Memory]) -> None:
    store.memories.add_many(ANN, [(memory(f"seal {number} of the sea"), ()) for number in range(20)])


def said(store: Store, first: list[Memory]) -> None:
    """A turn grows: its words are written again."""
    store.sessions.append(ANN, talk("chat:1", "assistant: and a penguin", first=2))


def rewritten(store: Store, first: list[Memory]) -> None:
    store.memories.update(ANN, replace(first[1], content="the walrus it is"), at=LATER, note="edit")


def exchanged(store: Store, first: list[Memory]) -> None:
    """As many as before, of as many words: counting them tells nothing."""
    store.keeping.forget_memory(ANN, first[0].id, at=LATER)
    store.memories.add(ANN, memory("the penguin sleeps on ice"))


def forgotten_and_told_anew(store: Store, first: list[Memory]) -> None:
    all_forgotten(store, first)
    added(store, first)


def indexed_again(store: Store, first: list[Memory]) -> None:
    added(store, first)
    store.keeping.rebuild()


CHANGES = (
    *(added, added_many, said, deleted, forgotten, rewritten, exchanged, all_forgotten, forgotten_and_told_anew),
    indexed_again,
)


@pytest.mark.parametrize("recent", [64, 0], ids=["beside", "in lists"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_another_process_changed_is_in_the_next_answer(
    store: Store,
    other: Store,
    first: list[Memory],
    change: Callable[[Store, list[Memory]], None],
    recent: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lexicon, "RECENT", recent)
    change(other, first)
    for process in (store, other):
        same_as_the_database(process)


STEPS = st.tuples(st.sampled_from(("add", "many", "say", "forget", "rewrite", "rebuild", "ask")), st.integers(0, 99))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=15)
@given(steps=st.lists(STEPS, max_size=30), recent=st.sampled_from((0, 3, 64)))
def test_answers_are_those_of_the_database_whatever_went_before(
    store: Store, other: Store, steps: list[tuple[str, int]], recent: int
) -> None:
    """Two processes change and ask in any order; what each has kept finds what the database finds."""
    made: list[Memory] = []
    scope = Scope("acme", uuid7())  # the stores are the same in every example
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lexicon, "RECENT", recent)
        for number, (step, chosen) in enumerate([("add", 0), ("ask", 0), *steps, ("ask", 0), ("ask", 1)]):
            process = (store, other)[chosen % 2]
            if step == "add":
                made.append(memory(f"walrus {number} of {chosen} seals, seals"))
                process.memories.add(scope, made[-1])
            elif step == "many":
                some = [memory(f"penguin {number} {each}", tags=("sea",)) for each in range(chosen % 7)]
                process.memories.add_many(scope, [(one, ()) for one in some])
                made += some
            elif step == "say":
                lines = (f"is it {chosen}? or a walrus?", f"assistant: {number} penguins")
                process.sessions.append(scope, talk(f"chat:{chosen % 3}", *lines, first=2 * number))
            elif step == "forget" and made:
                process.keeping.forget_memory(scope, made.pop(chosen % len(made)).id, at=LATER)
            elif step == "rewrite" and made:
                kept_now = process.memories.get(scope, made[chosen % len(made)].id)
                assert kept_now is not None
                process.memories.update(
                    scope, replace(kept_now, content=f"penguin {number}"), at=minute(number), note="edit"
                )
            elif step == "rebuild" and chosen < 10:
                process.keeping.rebuild()
            elif step == "ask":
                same_as_the_database(process, scope)
