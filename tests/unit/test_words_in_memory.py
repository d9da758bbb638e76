"""The words that are kept in memory rank documents exactly as bm25 written out plainly does, whatever came and went."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.store.postgres.lexemes import STEPS
from recollect.store.postgres.lexicon import K1, B, Lexicon, Reader
from recollect.store.rows.best import GROUP, is_of_many, least, reached

HEAD = "m1:"
STEP = STEPS["memory"]
WORDS = [f"word{number}" for number in range(12)]
LENGTH = 7.5

Text = dict[str, int]  # a document's words, each with the step in which it counts
texts = st.dictionaries(st.sampled_from(WORDS), st.integers(1, len(STEP)), max_size=6)


def sent(doc: int, text: Text) -> tuple[int, int, bytes]:
    """A document as PostgreSQL sends it."""
    lexemes = [f"{HEAD}{word}~{step}".encode() for word, step in sorted(text.items())]
    return doc, 3 + doc % 5, len(lexemes).to_bytes(4, "big") + b"".join(one + b"\0\0\0" for one in lexemes)


def plainly(held: dict[int, Text], words: list[str], weights: list[float], limit: int) -> list[tuple[int, float]]:
    found: dict[int, float] = {}
    for doc, text in held.items():
        long = K1 * (1 - B + B * (3 + doc % 5) / LENGTH)
        for word, weight in zip(words, weights, strict=True):
            if word in text:
                times = STEP[text[word] - 1]
                found[doc] = found.get(doc, 0.0) + weight * times * (K1 + 1) / (times + long)
    return sorted(found.items(), key=lambda one: (-round(one[1], 9), one[0]))[:limit]


def told(found: list[tuple[int, float]]) -> list[tuple[int, float]]:
    return sorted(((doc, round(score, 9)) for doc, score in found), key=lambda one: (-one[1], one[0]))


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(0, 500),
    seed=st.randoms(use_true_random=False),
    changes=st.lists(st.tuples(st.integers(0, 550), st.none() | texts), max_size=90),
    words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=5, unique=True),
    limit=st.integers(1, 30) | st.integers(1, 5),
)
def test_words_at_hand_rank_as_plain_bm25_does(
    size: int, seed: Random, changes: list[tuple[int, Text | None]], words: list[str], limit: int
) -> None:
    reader = Reader("memory", HEAD)
    held = {
        doc: {word: seed.randint(1, len(STEP)) for word in seed.sample(WORDS, seed.randint(0, 6))}
        for doc in range(size)
    }
    lexicon: Lexicon = reader.all(0, [sent(doc, text) for doc, text in held.items()])
    for stamp, (doc, text) in enumerate(changes, 1):
        if text is None:
            held.pop(doc, None)
            lexicon = lexicon.brought_up(stamp, [], reader, only=np.array(list(held), dtype=np.int64))
        else:
            held[doc] = text
            lexicon = lexicon.brought_up(stamp, [sent(doc, text)], reader)
    weights = [1.0 + number / 3 for number in range(len(words))]
    assert sorted(lexicon.docs.tolist()) == sorted(held)
    assert lexicon.holding(words) == {word: sum(word in text for text in held.values()) for word in words}
    # Where several are as good as the last one, rounding may tell which of them is: what they are given is the same.
    expected, found = plainly(held, words, weights, limit), told(lexicon.best(words, weights, LENGTH, limit))
    assert [score for _, score in found] == [round(score, 9) for _, score in expected]
    every = dict(told(lexicon.best(words, weights, LENGTH, len(held) + 1)))
    assert every == {doc: round(score, 9) for doc, score in plainly(held, words, weights, len(held) + 1)}
    assert all(every[doc] == score for doc, score in found)


@given(st.lists(st.floats(0, 100), min_size=2 * GROUP, max_size=500), st.data())
def test_at_least_so_many_reach_what_groups_tell(drawn: list[float], data: st.DataObject) -> None:
    scores = np.array(drawn)
    limit = data.draw(st.integers(1, len(scores) // (2 * GROUP)))
    assert is_of_many(scores, limit)
    bound = reached(scores, limit)
    assert bound <= least(scores, limit)
    assert int((scores >= bound).sum()) >= limit
