"""What embeds questions embeds nothing else: whatever is kept, compared or merged is made by the exact embedder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect import Recollect
from recollect.models.batching import Batched
from recollect.models.port import Embedder, for_questions
from recollect.models.tiny import TinyEmbedder
from recollect.serving import Serving
from recollect.settings import load
from recollect.warm.answers import Answers
from tests.flow.memory_fixture import HandClock

Open = Callable[..., Recollect]


class Noting(TinyEmbedder):
    """An embedder that notes what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.given += texts
        return super().embed(texts)


class TwoFaced(Noting):
    """One that has another for questions."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = Noting()

    def questions(self) -> Embedder:
        return self.asked


FACTS = (
    "Postgres for local development listens on port 5433.",
    "Postgres listens on port 5433 for local development.",
    "We deploy on Tuesdays, never on Fridays.",
)
QUESTION = "on which port does postgres listen"


def test_questions_go_to_the_one_for_questions_and_nothing_else_does(opened: Open) -> None:
    model = TwoFaced()
    memory = opened(embedder=model)
    for fact in FACTS:
        memory.remember(fact)
    memory.record("s", "user", "Which port is it?")
    memory.embed_pending()
    assert memory.recall(QUESTION).hits
    memory.consolidate()
    memory.reembed()
    assert model.asked.given == [QUESTION]
    assert QUESTION not in model.given
    assert set(FACTS) <= set(model.given)


def test_a_text_to_be_kept_is_embedded_exactly_even_if_it_is_alone(opened: Open) -> None:
    model = TwoFaced()
    memory = opened(embedder=Batched(model))
    memory.remember(FACTS[0])
    memory.embed_pending()
    assert model.given
    assert model.asked.given == []


def test_those_who_ask_at_once_are_sent_to_the_one_for_questions() -> None:
    model = TwoFaced()
    assert for_questions(Batched(model)) is model.asked
    plain = Batched(TinyEmbedder())
    assert for_questions(plain) is plain


def test_a_server_warms_the_one_for_questions(tmp_path: Path, clock: HandClock) -> None:
    model = TwoFaced()
    serving = Serving(load(data_dir=tmp_path / "data").settings, hosted=False, clock=clock, embedder=model)
    try:
        serving._warm_up()
    finally:
        serving.close()
    assert len(model.asked.given) == 1
    assert model.given == []


def test_the_warm_process_asks_the_one_for_questions(opened: Open, clock: HandClock) -> None:
    model = TwoFaced()
    kept = opened()
    kept.remember(FACTS[0])
    kept.embed_pending()
    answers = Answers(lambda: opened(embedder=model), clock=clock)
    answers.afterwards()
    answers.close()
    assert len(model.asked.given) == 1
    assert model.given == []
