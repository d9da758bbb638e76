"""A question that says a memory's name means it: exact words in order, plurals, one slip in a long word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.recall.names import words_of


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("what's my k8s deploy story?", "k8s"),
        ("wire GitHub Actions to deploy", "github actions"),
        ("I don't want class hierarchies here", "class hierarchies"),
        ("REACTJS component patterns", "ReactJS"),
        ("the error_handling module", "error handling"),
        ("eror handling patterns", "error handling"),
        ("Reedis cache", "Redis"),
        ("typsecript config", "TypeScript"),
        ("a good Mongoose schema", "moongoose"),
        ("exception or exceptions", "exceptions"),
        ("kubernotes cluster", "kubernetes"),
    ],
)
def test_it_says_the_name(question: str, name: str) -> None:
    assert words_of(question).says(name)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("k9s pod scheduling", "k8s"),
        ("mango connection pooling", "mongo"),
        ("handling of an error", "error handling"),
        ("reacting to things", "react"),
        ("anything", ""),
        ("a b c", "b"),
        ("", "redis"),
        ("typscrpt", "typescript"),
        ("how far does it reach", "react"),
        ("a post office", "port"),
    ],
)
def test_it_does_not_say_the_name(question: str, name: str) -> None:
    assert not words_of(question).says(name)


@given(st.text(max_size=200), st.text(max_size=30))
def test_any_question_and_name_get_an_answer(question: str, name: str) -> None:
    assert words_of(question).says(name) in (True, False)


@given(st.lists(st.from_regex(r"[a-z]{3,8}", fullmatch=True), min_size=1, max_size=4))
def test_a_question_says_what_it_consists_of(words: list[str]) -> None:
    assert words_of(f"tell of {' '.join(words)} please").says(" ".join(words))
