"""The best of many scores, found without putting all of them in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

GROUP = 8  # of which the best stands for all where there are many


def least(scores: NDArray[Any], limit: int) -> Any:
    """The score of the last of the best so many."""
    return np.partition(scores, len(scores) - limit)[len(scores) - limit]


def reached(scores: NDArray[Any], limit: int) -> Any:
    """A score that at least so many reach, and not many more: of groups, the best of each are enough to tell."""
    groups = len(scores) // GROUP
    return least(scores[: groups * GROUP].reshape(GROUP, groups).max(axis=0), limit)


def is_of_many(scores: NDArray[Any], limit: int) -> bool:
    """Whether `reached` can tell, and by less than it takes to look at each."""
    return limit * 2 * GROUP <= len(scores)
