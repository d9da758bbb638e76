"""Vectors in memory answer as comparing each one by one does, whatever was put in, replaced or let go of before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect.store.rows.matrix import AGAIN, FEW, VectorMatrix, VectorView, coded
from recollect.store.searchtext import WEAKER_SHARE

DIM = 8
Documents = dict[int, tuple[int, NDArray[np.float16]]]  # how many rows are the user's, and the rows


def rows(seed: int, count: int) -> NDArray[np.float16]:
    found = np.random.default_rng(seed).normal(size=(count, DIM))
    halves: NDArray[np.float16] = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float16)
    return halves


def put(matrix: VectorMatrix, stamp: int, given: Documents, only: list[int] | None = None) -> None:
    docs, leading, heights = (
        np.array(values, dtype=np.int64)
        for values in (list(given), [one[0] for one in given.values()], [len(one[1]) for one in given.values()])
    )
    halves = [one[1] for one in given.values()]
    matrix.put(stamp, docs, leading, heights, halves, None if only is None else np.array(only, dtype=np.int64))


def cosine(query: NDArray[np.float32], leading: int, halves: NDArray[np.float16]) -> float:
    each = halves.astype(np.float32) @ query
    sides = [float(side.max()) for side in (each[:leading], each[leading:]) if len(side)]
    return (1 - WEAKER_SHARE) * max(sides) + WEAKER_SHARE * min(sides)


def is_right(view: VectorView, truth: Documents) -> None:
    query = rows(0, 1)[0].astype(np.float32)
    scores = {doc: cosine(query, *one) for doc, one in truth.items()}
    assert view.cosines(query, [*truth, 10**9]) == pytest.approx(scores, abs=1e-5)
    found = view.search(query, 5)
    assert [score for _, score in found] == pytest.approx(sorted(scores.values(), reverse=True)[:5], abs=1e-5)
    assert dict(found) == pytest.approx({doc: scores[doc] for doc, _ in found}, abs=1e-5)
    kept = view.vectors([*truth, 10**9])
    assert {doc: one.shape for doc, one in kept.items()} == {doc: one[1].shape for doc, one in truth.items()}
    assert all(np.allclose(kept[doc], one[1].astype(np.float32)) for doc, one in truth.items())
    assert (len(view), view.dim) == (len(truth), DIM)


CHANGES = st.lists(
    st.tuples(
        st.dictionaries(st.integers(1, 40), st.tuples(st.integers(0, 3), st.integers(1, 3)), max_size=40),
        st.none() | st.sets(st.integers(1, 40)),
    ),
    max_size=12,
)


@given(CHANGES)
def test_every_view_stays_right_while_the_next_are_made(
    changes: list[tuple[dict[int, tuple[int, int]], set[int] | None]],
) -> None:
    matrix, truth = VectorMatrix(DIM), {}  # type: VectorMatrix, Documents
    shown: list[tuple[VectorView, Documents]] = [(matrix.view, {})]
    for stamp, (given_rows, left) in enumerate(changes, 1):
        new = {doc: (min(said, count), rows(100 * stamp + doc, count)) for doc, (said, count) in given_rows.items()}
        only = None if left is None else sorted(left | set(new))
        truth = {doc: one for doc, one in truth.items() if only is None or doc in only} | new
        put(matrix, stamp, new, only)
        shown.append((matrix.view, truth))
    for view, then in shown:
        is_right(view, then)
    assert matrix.view.stamp == len(changes)


def test_what_was_replaced_many_times_takes_no_room() -> None:
    matrix = VectorMatrix(DIM)
    for stamp in range(1, 200):
        put(matrix, stamp, {doc: (1, rows(stamp + doc, 1)) for doc in range(50)})
    assert matrix.size <= 4 * DIM * 4 * (50 + 64)


def test_of_equals_the_first_document_is_told() -> None:
    same, matrix = rows(5, 1), VectorMatrix(DIM)
    put(matrix, 1, dict.fromkeys((9, 3, 7, 1, 5), (1, same)))
    assert [doc for doc, _ in matrix.view.search(same[0].astype(np.float32), 3)] == [1, 3, 5]


@pytest.mark.parametrize("spoilt", [0.0, float("nan"), float("inf")], ids=["zeros", "nan", "inf"])
def test_scaled_vectors_are_of_length_one_and_a_damaged_one_wins_nothing(spoilt: float) -> None:
    good, matrix = rows(3, 1), VectorMatrix(DIM, scaled=True)
    put(matrix, 1, {1: (1, np.full((1, DIM), spoilt, dtype=np.float16)), 2: (1, good / np.float16(2))})
    (best, worst) = matrix.view.search(good[0].astype(np.float32), 2)
    assert best[0] == 2
    assert best[1] == pytest.approx(1.0, abs=1e-6)
    assert worst == (1, 0.0)


def crowded(count: int, dim: int, seed: int = 1) -> NDArray[np.float16]:
    """Vectors in bunches, as texts are: twenty about each of many things."""
    draw = np.random.default_rng(seed)
    middles = draw.normal(size=(count // 20, dim)).repeat(20, axis=0)
    found = middles + 0.9 * draw.normal(size=middles.shape)
    halves: NDArray[np.float16] = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float16)
    return halves


@pytest.mark.parametrize("scaled", [False, True], ids=["as they are", "scaled"])
def test_of_many_the_nearest_are_found_in_eight_bits_and_told_with_their_true_cosines(scaled: bool) -> None:
    dim, count = 100, 8_000
    halves, matrix = crowded(count, dim), VectorMatrix(dim, scaled=scaled)
    floats = halves.astype(np.float32)
    if scaled:
        floats /= np.linalg.norm(floats, axis=1, keepdims=True)
    docs = np.arange(count // 2, dtype=np.int64)[::-1].copy()
    two, one = np.full(len(docs), 2), np.ones(len(docs), dtype=np.int64)
    matrix.put(1, docs, one, two, [halves])  # a question and an answer each
    matrix.put(2, docs[:900], one[:900], two[:900], [halves[:1_800]])  # what they had before stays behind, unused
    for asked in range(0, count, count // 40):
        query = halves[asked].astype(np.float32)
        said, heard = (floats[side::2] @ floats[asked] for side in (0, 1))
        true = (1 - WEAKER_SHARE) * np.maximum(said, heard) + WEAKER_SHARE * np.minimum(said, heard)
        best = np.argsort(-true)[:10]
        found = matrix.view.search(query, 10)
        assert [doc for doc, _ in found] == docs[best].tolist()
        assert [score for _, score in found] == pytest.approx(true[best].tolist(), abs=1e-6)


@pytest.mark.parametrize("limit", [1, 10, 64, 250])
@pytest.mark.parametrize("scaled", [False, True], ids=["as they are", "scaled"])
@given(seed=st.integers(0, 10**6), like=st.sampled_from(["texts", "noise", "steps", "spikes", "one thing"]))
def test_eight_bits_miss_nothing_and_change_nothing(seed: int, like: str, scaled: bool, limit: int) -> None:
    """Whatever the vectors are: also such as eight bits tell badly, all rounded to the same side."""
    made = wild(like, FEW + 100, 48, seed)
    exact, quick = VectorMatrix(48, scaled=scaled), VectorMatrix(48, scaled=scaled)
    docs, one = np.arange(len(made), dtype=np.int64), np.ones(len(made), dtype=np.int64)
    for matrix in (exact, quick):
        matrix.put(1, docs, one, one, [made])
    query = made[seed % len(made)].astype(np.float32) + wild("noise", 1, 48, seed + 1)[0] / np.float32(4)
    for _ in range(AGAIN):
        quick.view.search(query, limit)
    assert quick.view._likely(quick.view._asked(query), limit) is not None, "or nothing is proved here"
    exact.view._coarse.asked = -(10**9)
    assert quick.view.search(query, limit) == exact.view.search(query, limit)


def wild(like: str, count: int, dim: int, seed: int) -> NDArray[np.float16]:
    draw = np.random.default_rng(seed)
    if like == "texts":
        return crowded(count, dim, seed)
    found = draw.normal(size=(count, dim))
    if like == "steps":  # half a step of eight bits above a whole number of them, nearly everywhere
        found = np.where(draw.random((count, dim)) < 0.9, 60.5, draw.integers(-127, 128, size=(count, dim)))
    elif like == "spikes":
        found *= draw.random((count, dim)) < 0.05
        found[:, 0] += 0.1
    elif like == "one thing":
        found = found[:1] + 1e-3 * found
    halves: NDArray[np.float16] = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float16)
    return halves


def test_few_of_many_are_compared_exactly() -> None:
    halves, matrix = crowded(8_000, 384), VectorMatrix(384)
    docs, one = np.arange(len(halves), dtype=np.int64), np.ones(len(halves), dtype=np.int64)
    matrix.put(1, docs, one, one, [halves])
    looked = [matrix.view._likely(matrix.view._asked(each.astype(np.float32)), 10) for each in halves[:200:10]]
    assert looked[: AGAIN - 1] == [None] * (AGAIN - 1), "who asks once or twice has nothing made for them"
    assert all(places is not None and 10 <= len(places) < len(halves) / 20 for places in looked[AGAIN - 1 :])


@given(st.integers(0, 10**6), st.sampled_from(["texts", "noise", "steps", "spikes", "one thing"]))
def test_a_code_is_no_further_from_its_row_than_it_says(seed: int, like: str) -> None:
    made = wild(like, 200, 48, seed).astype(np.float32)
    codes, steps, error = coded(made)
    assert np.linalg.norm(made - codes * steps[:, None], axis=1).max() <= error + 1e-6


def test_what_came_later_is_coded_too_and_what_went_is_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.store.rows.matrix.FEW", 1_000)
    matrix, truth = VectorMatrix(DIM), {}  # type: VectorMatrix, Documents
    query = rows(0, 1)[0].astype(np.float32)
    for stamp, first in enumerate((0, 1_500, 1_000, 3_000), 1):
        new = {doc: (1, rows(10_000 * stamp + doc, 1)) for doc in range(first, first + 1_500)}
        truth = {doc: one for doc, one in truth.items() if doc >= 200} | new
        put(matrix, stamp, new, sorted(truth))
        for _ in range(AGAIN):
            matrix.view.search(query, 5)
        assert matrix.view._likely(matrix.view._asked(query), 5) is not None
        is_right(matrix.view, truth)


def test_room_is_counted_for_codes_before_they_are_made() -> None:
    matrix, made = VectorMatrix(48), wild("noise", FEW + 1, 48, 1)
    docs, one = np.arange(len(made), dtype=np.int64), np.ones(len(made), dtype=np.int64)
    matrix.put(1, docs[:FEW], one[:FEW], one[:FEW], [made[:FEW]])
    few = matrix.size
    matrix.put(2, docs[FEW:], one[FEW:], one[FEW:], [made[FEW:]])
    before = matrix.size
    assert before > few * 1.4
    for _ in range(AGAIN):
        matrix.view.search(made[0].astype(np.float32), 5)
    assert len(matrix.view._coarse._codes) >= len(made)
    assert matrix.size == before >= 3 * 48 * len(made)


def test_of_many_all_come_when_all_are_wanted() -> None:
    count = FEW + 100
    matrix = VectorMatrix(DIM)
    put(matrix, 1, {doc: (1, one[None, :]) for doc, one in enumerate(rows(7, count))})
    query = rows(0, 1)[0].astype(np.float32)
    for wanted in (count + 5, count, count - 1, count // 2):
        found = matrix.view.search(query, wanted)
        assert len(found) == min(wanted, count)
        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
