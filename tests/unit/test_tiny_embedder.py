"""The hashing embedder: the same everywhere, near when words are shared, never a zero vector."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.models.port import Embedder, check_vectors
from recollect.models.tiny import TinyEmbedder


def test_is_an_embedder() -> None:
    embedder: Embedder = TinyEmbedder()
    assert (embedder.name, embedder.dim) == ("tiny", 64)


@given(st.lists(st.text(), max_size=5), st.integers(1, 100))
def test_rows_are_unit_vectors_that_depend_on_the_text_alone(texts: list[str], dim: int) -> None:
    vectors = TinyEmbedder(dim).embed(texts)
    np.testing.assert_array_equal(check_vectors(vectors, len(texts), dim), vectors)
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_array_equal(TinyEmbedder(dim).embed([text])[0], vector)


def test_vector_is_pinned() -> None:
    """Users' stored test data must not change with a release."""
    (vector,) = TinyEmbedder(4).embed(["Hello, world"])
    np.testing.assert_allclose(vector, PINNED, atol=1e-6)


def test_shared_words_are_nearer_than_other_words() -> None:
    asked, near, far = TinyEmbedder().embed(["rotate the api keys", "api keys rotate weekly", "lunch was a salad"])
    assert asked @ near > asked @ far + 0.3


def test_case_and_punctuation_do_not_matter() -> None:
    first, second = TinyEmbedder().embed(["Dark mode!", "dark, MODE"])
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("text", ["", " ", "!?", "\ud800", "a\ud800b", "\x00"])
def test_odd_texts_have_a_vector(text: str) -> None:
    check_vectors(TinyEmbedder().embed([text]), 1, 64)


def test_no_dimension_is_refused() -> None:
    with pytest.raises(InvalidInput):
        TinyEmbedder(0)


PINNED = [0.8164966, -0.1360828, 0.5443311, 0.1360828]
