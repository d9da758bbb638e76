"""Questions that come at once are embedded together, each gets its own vector, and nobody waits for company."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from recollect.errors import ModelError
from recollect.models.batching import MOST, Batched


class Slow:
    """A model that works only when it is let, and notes what it was given."""

    name, dim = "slow", 4

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.begun = threading.Event()
        self.free = threading.Event()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.batches.append(list(texts))
        self.begun.set()
        assert self.free.wait(10)
        if any("bad" in text for text in texts):
            raise ModelError("a bad text")
        return np.array([[float(len(text)), 0, 0, 0] for text in texts], dtype=np.float32)


def asked(model: Batched, texts: Sequence[str], slow: Slow) -> dict[str, object]:
    """What each of many threads gets, all waiting while the first has the model."""
    found: dict[str, object] = {}

    def ask(text: str) -> None:
        try:
            found[text] = float(model.embed([text])[0][0])
        except ModelError as error:
            found[text] = str(error)

    first = threading.Thread(target=ask, args=(texts[0],))
    first.start()
    assert slow.begun.wait(10)
    rest = [threading.Thread(target=ask, args=(text,)) for text in texts[1:]]
    for thread in rest:
        thread.start()
    while len(model._waiting) < len(rest):
        threading.Event().wait(0.001)
    slow.free.set()
    for thread in [first, *rest]:
        thread.join(10)
    return found


def test_those_who_come_while_the_model_works_are_its_next_batch_and_get_their_own_vectors() -> None:
    slow = Slow()
    texts = ["x" * (length + 1) for length in range(10)]
    assert asked(Batched(slow), texts, slow) == {text: float(len(text)) for text in texts}
    assert [len(batch) for batch in slow.batches] == [1, 9]


def test_a_batch_has_an_end() -> None:
    slow = Slow()
    texts = [f"question {number}" for number in range(2 * MOST)]
    asked(Batched(slow), texts, slow)
    assert [len(batch) for batch in slow.batches] == [1, MOST, MOST - 1]


def test_one_bad_text_costs_only_itself() -> None:
    slow = Slow()
    found = asked(Batched(slow), ["one", "two", "bad", "three"], slow)
    assert found == {"one": 3.0, "two": 3.0, "bad": "a bad text", "three": 5.0}


def test_texts_to_be_kept_do_not_stand_in_the_way_of_questions() -> None:
    slow = Slow()
    model = Batched(slow)
    many = threading.Thread(target=model.embed, args=([f"text {number}" for number in range(50)],))
    many.start()
    assert slow.begun.wait(10)
    slow.free.set()
    assert model.embed(["question"])[0][0] == 8.0
    many.join(10)


@pytest.mark.parametrize("threads", [1, 8])
def test_many_threads_many_times(threads: int) -> None:
    slow = Slow()
    slow.free.set()
    model = Batched(slow)
    wrong: list[str] = []

    def ask(number: int) -> None:
        for turn in range(50):
            text = "y" * (number * 50 + turn + 1)
            if model.embed([text])[0][0] != len(text):
                wrong.append(text)

    workers = [threading.Thread(target=ask, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert not wrong
    assert sum(len(batch) for batch in slow.batches) == 50 * threads
