"""A question is answered as of one moment, and what another process changed is in the very next answer.

Who asks again is answered by what the last question was told, as far as that still holds; nobody may notice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.model import Memory, Scope
from recollect.models.tiny import TinyEmbedder
from recollect.recall.answer import answer
from recollect.recall.asking import filter_of, question_of
from recollect.recall.meaning import Meaning
from recollect.settings import Settings
from recollect.store.port import Store
from tests.contract.changes import added, added_and_embedded, all_forgotten, deleted, forgotten, told
from tests.contract.samples import ANN, BOB, LATER, MODEL, T0, by_meaning, by_words, embed_waiting, memory, shown, texts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OFTEN = 8  # questions of one scope, after which each store takes as much for granted as it ever will
FIRST = ("the walrus sleeps on ice", "a harbour of the walrus", "penguins walk in winter")
Told = tuple[tuple[str, int] | None, set[str], set[str]]
Reading = Callable[..., Told]


def by_both(store: Store, scope: Scope = ANN) -> Told:
    """The model of the vectors, and what is found by words and by meaning."""
    model = store.vectors.model()
    words = texts(shown(store, scope, "memory", by_words(store, scope, "memory", "walrus penguin", None)))
    near = texts(shown(store, scope, "memory", by_meaning(store, scope, "memory", "walrus", None))) if model else []
    return model, set(words), set(near)


def in_one_look(store: Store, scope: Scope = ANN) -> Told:
    """The same, and the documents are read once, as recall does."""
    model = store.vectors.model()
    words = by_words(store, scope, "memory", "walrus penguin", None)
    near = by_meaning(store, scope, "memory", "walrus", None) if model else []
    found = {one.doc: one.content for one in shown(store, scope, "memory", [*words, *near])}
    said, meant = ({found[one.doc] for one in some if one.doc in found} for some in (words, near))
    return model, said, meant


@pytest.fixture(params=[by_both, in_one_look])
def reading(request: pytest.FixtureRequest) -> Reading:
    """What a question reads."""
    read: Reading = request.param
    return read


@pytest.fixture
def asked(reading: Reading) -> Reading:
    """The same, asked."""
    return lambda store, scope=ANN: store.ask(scope, lambda: reading(store, scope))


@pytest.fixture
def first(store: Store, other: Store, asked: Reading) -> list[Memory]:
    """What both processes were asked for, again and again."""
    made = told(store, *FIRST)
    for process in (store, other):
        for _ in range(OFTEN):
            assert asked(process) == (MODEL, set(FIRST), set(FIRST))
    return made


def edited(store: Store, first: list[Memory]) -> None:
    current = store.memories.get(ANN, first[2].id)
    if current is not None:
        store.memories.update(ANN, replace(current, content="a walrus in winter"), at=LATER, note="edit")


def unchanged(store: Store, first: list[Memory]) -> None:
    """Asked again, it is told the same."""


def embedded_anew(store: Store, first: list[Memory]) -> None:
    """By another model."""
    store.vectors.restart()
    embed_waiting(store, TinyEmbedder(48))


CHANGES = (added, added_and_embedded, edited, deleted, forgotten, all_forgotten)


@pytest.mark.parametrize("change", CHANGES)
def test_what_another_process_changed_is_in_the_next_answer(
    store: Store,
    other: Store,
    first: list[Memory],
    change: Callable[[Store, list[Memory]], None],
    reading: Reading,
    asked: Reading,
) -> None:
    change(other, first)
    truth = reading(other)
    assert truth != (MODEL, set(FIRST), set(FIRST)), "or nothing is proved here"
    assert [asked(store) for _ in range(3)] == [truth] * 3


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from([*CHANGES, unchanged]), min_size=3, max_size=12))
def test_it_is_in_whatever_order_they_come(
    store: Store,
    other: Store,
    first: list[Memory],
    steps: list[Callable[[Store, list[Memory]], None]],
    reading: Reading,
    asked: Reading,
) -> None:
    for step in steps:
        with suppress(NotFound, Conflict):  # what is gone cannot go again
            step(other, first)
        assert asked(store) == reading(other)
        assert asked(other) == reading(store)


def test_vectors_of_another_model_are_told_from_the_first_answer_on(
    store: Store, other: Store, first: list[Memory]
) -> None:
    embedded_anew(other, first)
    assert [store.ask(ANN, store.vectors.model) for _ in range(3)] == [("tiny", 48)] * 3


class Counting(TinyEmbedder):
    """Counts what it is asked to embed."""

    def __init__(self) -> None:
        super().__init__()
        self.embedded = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded += len(texts)
        return super().embed(texts)


def test_a_question_is_never_compared_with_vectors_of_another_model(
    store: Store, other: Store, first: list[Memory]
) -> None:
    """Though it was embedded for those that were there a moment ago; and none is embedded where there are no others."""
    embedder = Counting()
    meaning = Meaning(store, Settings(), embedder)
    question = question_of("the walrus", filter_of(LATER, {}), ("memory",), 10, Settings(), abstain=False)

    def recalled(told: Meaning) -> tuple[str, str | None, set[str]]:
        found = answer(store, ANN, question, told.of(question.text, "auto"))
        return found.mode, found.note, {hit.content for hit in found.hits}

    for _ in range(3):
        assert recalled(meaning) == ("hybrid", None, set(FIRST))
    other.vectors.restart()
    by_their_words = {text for text in FIRST if "walrus" in text}
    assert recalled(meaning) == ("lexical", "nothing is embedded yet", by_their_words)
    embed_waiting(other, TinyEmbedder(48))
    other_model = "the vectors here are of tiny (48): run `recollect reembed`"
    assert recalled(meaning) == ("lexical", other_model, by_their_words)
    embedder.embedded = 0
    assert recalled(Meaning(store, Settings(), embedder)) == ("lexical", other_model, by_their_words)
    assert embedder.embedded == 0


def test_all_of_an_answer_is_of_one_moment(
    store: Store, other: Store, first: list[Memory], reading: Reading, asked: Reading
) -> None:
    def twice() -> tuple[Told, Told]:
        before = reading(store)
        added_and_embedded(other, first)
        return before, reading(store)

    before, after = store.ask(ANN, twice)
    assert before == after, "whichever moment it is"
    assert set(FIRST) <= before[1]
    assert "a walrus at sea" in asked(store)[1]


def test_what_changes_before_anything_was_read_is_either_in_all_of_it_or_in_nothing(
    store: Store, other: Store, first: list[Memory], reading: Reading
) -> None:
    """How many there are needs no look at the rows of whoever just asked; what is found does."""
    news = [memory("a walrus at sea")]

    def counted() -> tuple[int, set[str]]:
        many = store.search.population(ANN, "memory")
        while news:
            other.memories.add(ANN, news.pop())
            embed_waiting(other)
        return many, reading(store)[2]

    many, found = store.ask(ANN, counted)
    assert many == len(found)


def test_a_question_that_fails_harms_no_other(
    store: Store, first: list[Memory], reading: Reading, asked: Reading
) -> None:
    def early() -> None:
        raise InvalidInput("before anything was read")

    def late() -> None:
        reading(store)
        raise InvalidInput("after it")

    for fails in (early, late, early):
        with pytest.raises(InvalidInput):
            store.ask(ANN, fails)
        assert asked(store) == (MODEL, set(FIRST), set(FIRST))


def test_nobody_is_answered_by_what_another_was_told(store: Store, first: list[Memory], asked: Reading) -> None:
    assert asked(store, BOB) == (MODEL, set(), set())
    store.memories.add(BOB, memory("a walrus of his own"))
    for _ in range(OFTEN):
        assert asked(store, BOB) == (MODEL, {"a walrus of his own"}, set())
        assert asked(store)[1] == set(FIRST)
        assert asked(store, ANN.within("ice"))[1] == set(FIRST)


def test_a_question_of_who_was_removed_is_refused(store: Store, other: Store, reading: Reading, asked: Reading) -> None:
    """However often they asked before, and by whatever process they were removed."""
    context = store.contexts.create(ANN, "team", at=T0).id
    store.contexts.add_member(ANN, context, ("acme", "bob"), "reader", at=T0)
    store.contexts.join(BOB, context, at=T0)
    store.memories.add(ANN.in_context(context), memory("a walrus", origin="import"))
    inside = BOB.in_context(context)
    for _ in range(OFTEN):
        assert asked(store, inside)[1] == {"a walrus"}
    other.contexts.remove_member(ANN, context, ("acme", "bob"), at=LATER)
    for read in (lambda: reading(store, inside), lambda: None):
        with pytest.raises(NotFound):
            store.ask(inside, read)
