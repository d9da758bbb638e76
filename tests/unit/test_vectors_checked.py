"""Only finite unit vectors of the right shape pass; slight errors of length are put right."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import BadVector
from recollect.models.port import check_vectors

UNIT = [0.6, 0.8]


@pytest.mark.parametrize(
    "rows",
    [
        [[math.nan, 1.0]],
        [[math.inf, 0.0]],
        [[-math.inf, 0.0]],
        [[0.0, 0.0]],
        [[3.0, 4.0]],
        [[0.06, 0.08]],
        [[1e300, 0.0]],
        [[1e-30, 0.0]],
        [UNIT, UNIT],
        [[0.6, 0.8, 0.0]],
        [],
        UNIT,
        [["a", "b"]],
        [[None, 1.0]],
        [[0.6], [0.6, 0.8]],
        None,
    ],
    ids=[
        "nan",
        "inf",
        "minus inf",
        "zeros",
        "long",
        "short",
        "overflow",
        "tiny",
        "too many",
        "too wide",
        "none at all",
        "flat",
        "words",
        "null",
        "ragged",
        "nothing",
    ],
)
def test_refused(rows: Any) -> None:
    with pytest.raises(BadVector):
        check_vectors(rows, 1, 2)


def test_one_bad_row_among_good_ones_is_refused() -> None:
    with pytest.raises(BadVector):
        check_vectors([UNIT, [0.0, 0.0], UNIT], 3, 2)


def test_zeros_are_named_as_such() -> None:
    with pytest.raises(BadVector, match="zeros"):
        check_vectors([[0.0, 0.0]], 1, 2)


def test_good_vectors_pass_unchanged() -> None:
    rows = np.array([UNIT, [1.0, 0.0]], dtype=np.float32)
    checked = check_vectors(rows, 2, 2)
    assert checked.dtype == np.float32
    np.testing.assert_array_equal(checked, rows)


def test_no_vectors_pass() -> None:
    assert check_vectors(np.empty((0, 2)), 0, 2).shape == (0, 2)


@given(st.floats(0.96, 1.04), st.floats(0, 2 * math.pi))
def test_slightly_off_becomes_one(length: float, angle: float) -> None:
    row = [length * math.cos(angle), length * math.sin(angle)]
    (checked,) = check_vectors([row], 1, 2)
    assert abs(np.linalg.norm(checked.astype(np.float64)) - 1) < 2e-6
    np.testing.assert_allclose(checked, [math.cos(angle), math.sin(angle)], atol=1e-5)


@pytest.mark.parametrize("spoilt", [float("nan"), float("inf"), 65504.0, 0.9], ids=["nan", "inf", "huge", "too long"])
def test_a_damaged_vector_in_memory_wins_no_question(spoilt: float) -> None:
    """P06: a flipped bit in a stored vector must neither raise nor rank."""
    from recollect.store.rows.matrix import VectorMatrix

    good = np.zeros(8, np.float16)
    good[0] = 1.0
    bad = good.copy()
    bad[1] = spoilt
    matrix = VectorMatrix(8)
    matrix.add([(1, 10, 1, bad.tobytes()), (2, 20, 1, good.tobytes())])
    assert matrix.view.search(good.astype(np.float32), 5) == [(20, 1.0), (10, 0.0)]
