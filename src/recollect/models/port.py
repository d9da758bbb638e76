"""What the rest of Recollect asks of an embedder, and the check its answers pass.

In: texts. Out: one row per text, in the same order, each of length one. Nothing that fails
`check_vectors` may reach an index: one NaN there spoils every later comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from recollect.errors import BadVector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A float32 unit vector is off by about 1e-7; a vector further off than this was never meant as one.
SLIGHTLY_OFF = 0.05
EXACT_ENOUGH = 1e-6


class Embedder(Protocol):
    """Turns texts into unit vectors; `name` and `dim` together say which vectors may be compared."""

    @property
    def name(self) -> str: ...

    @property
    def dim(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dim) whose rows are L2-normalised."""
        ...


def for_questions(embedder: Embedder) -> Embedder:
    """Who embeds questions: most embedders themselves, or another that they name with `questions()`.

    What that one makes is compared with their own, and never kept.
    """
    questions: Callable[[], Embedder] | None = getattr(embedder, "questions", None)
    return embedder if questions is None else questions()


def check_vectors(array: Any, n: int, dim: int) -> NDArray[np.float32]:
    """Return the vectors as float32 rows of length one, or raise `BadVector`.

    A norm within five percent of one is put right silently; anything further off is refused.
    """
    import numpy as np

    rows = _as_floats(array)
    if rows.shape != (n, dim):
        raise BadVector(f"The embedder answered with shape {rows.shape}, expected {(n, dim)}.")
    wide = rows.astype(np.float64)
    norms = np.sqrt(np.vecdot(wide, wide))
    off = np.abs(norms - 1.0)
    most = off.max(initial=0.0)
    if not most <= SLIGHTLY_OFF:  # so not what is no number, either
        if not np.isfinite(rows).all():
            raise BadVector("The embedder answered with a value that is not finite.")
        if (norms == 0).any():
            raise BadVector("The embedder answered with a vector of zeros.")
        raise BadVector(f"The embedder answered with a vector of length {norms[off.argmax()]:.3g}, expected 1.")
    if most > EXACT_ENOUGH:
        rows = (rows / norms[:, None]).astype(np.float32)
    return np.ascontiguousarray(rows)


def _as_floats(array: Any) -> NDArray[np.float32]:
    import numpy as np

    if isinstance(array, np.ndarray) and array.dtype == np.float32:
        return array
    try:
        with np.errstate(over="ignore"):  # too large for float32 becomes infinite, and is refused as such
            return np.asarray(array, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadVector("The embedder answered with something that is not an array of numbers.") from error
