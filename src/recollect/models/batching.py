"""Questions of many callers embedded together: a model takes little longer for eight texts than for one.

Nobody waits for company: who comes while the model is free has it alone, and those who come while it works are its next
batch. Large requests (texts to be kept, not questions) go by themselves, so that no question waits behind them.
An embedder that has another one for questions needs none of this: that one takes each by itself, all at once.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.models.port import for_questions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.models.port import Embedder

    Matrix = NDArray[np.float32]

MOST = 16  # texts in one batch
_LARGE = 4  # texts of one request from which it goes by itself


class _Wish:
    """What one caller wants embedded, and what came of it."""

    __slots__ = ("error", "made", "texts")

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.made: Matrix | None = None
        self.error: BaseException | None = None

    @property
    def answered(self) -> bool:
        return self.made is not None or self.error is not None


class Batched:
    """An embedder for many threads at once; it is the one it was made of in all else."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name, self.dim = embedder.name, embedder.dim
        self._door = threading.Lock()
        self._turn = threading.Lock()
        self._waiting: list[_Wish] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One unit vector a text, in order."""
        if len(texts) >= _LARGE:
            return self._embedder.embed(texts)
        wish = _Wish(texts)
        with self._door:
            self._waiting.append(wish)
        with self._turn:
            if not wish.answered:  # else it was in somebody's batch meanwhile
                self._answer(self._batch(wish))
        if wish.error is not None:
            raise wish.error
        assert wish.made is not None
        return wish.made

    def questions(self) -> Embedder:
        """The one that the embedder has for questions, else this one, where they are embedded together."""
        found = for_questions(self._embedder)
        return self if found is self._embedder else found

    def _batch(self, wish: _Wish) -> list[_Wish]:
        """This wish and those who wait with it, as many as fit."""
        with self._door:
            chosen, size = [wish], len(wish.texts)
            for other in self._waiting:
                if other is not wish and size + len(other.texts) <= MOST:
                    chosen.append(other)
                    size += len(other.texts)
            self._waiting = [other for other in self._waiting if other not in chosen]
        return chosen

    def _answer(self, chosen: Sequence[_Wish]) -> None:
        try:
            made = self._embedder.embed([text for wish in chosen for text in wish.texts])
        except Exception as error:
            if len(chosen) == 1:
                chosen[0].error = error
                return
            for wish in chosen:  # one bad text must not cost the others: each by itself
                self._answer([wish])
            return
        at = 0
        for wish in chosen:
            wish.made = made[at : at + len(wish.texts)]
            at += len(wish.texts)
