"""The embedder of an open memory: found when first needed, and the questions it has embedded lately.

When a question cannot be searched by meaning, the answer says why; it never fails for it.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

from recollect.errors import ModelError
from recollect.settings import Settings
from recollect.store.port import Store

if TYPE_CHECKING:
    from recollect.models.port import Embedder
    from recollect.store.port import Matrix

UNSET: Any = object()
_REMEMBERED = 256


class Meaning:
    """Turns questions into vectors that the store's vectors can be held against."""

    def __init__(
        self, store: Store, settings: Settings, embedder: Embedder | None = UNSET, *, together: bool = False
    ) -> None:
        """`together`: many ask at once, and what they ask is embedded in one go."""
        self._store = store
        self._settings = settings
        self._together = together
        self._embedder = embedder if embedder is UNSET else self._shared(embedder)
        self.missing: str | None = "no embedder"  # why there is none, once that is known
        self._asked: dict[tuple[str, str], Matrix] = {}  # by who asked: how soon an answer comes tells nobody of others
        self._lock = Lock()  # many may ask at once

    def embedder(self) -> Embedder | None:
        """The embedder the settings ask for, or the one given."""
        if self._embedder is UNSET:
            from recollect.models.choose import choose

            with self._lock:
                if self._embedder is UNSET:
                    found, self.missing = choose(self._settings)
                    self._embedder = self._shared(found)
        return self._embedder

    def _shared(self, embedder: Embedder | None) -> Embedder | None:
        if embedder is None or not self._together:
            return embedder
        from recollect.models.batching import Batched

        return Batched(embedder)

    def fits(self, embedder: Embedder) -> bool:
        """Whether the store's vectors, if there are any, were made by this embedder."""
        return self._store.vectors.model() in (None, (embedder.name, embedder.dim))

    def vector(self, query: str, mode: str, whose: str = "") -> tuple[Matrix | None, str | None]:
        """The embedded question of a tenant, or None and why the search is by words alone."""
        if mode == "lexical":
            return None, None
        embedder, model = self.embedder(), self._store.vectors.model()
        if embedder is None:
            return None, self.missing
        if model is None:
            return None, "nothing is embedded yet"
        if model != (embedder.name, embedder.dim):
            return None, f"the vectors here are of {model[0]} ({model[1]}): run `recollect reembed`"
        try:
            return self._embedded(embedder, query, whose), None
        except ModelError as error:
            return None, f"words only, the embedder failed: {error}"

    def _embedded(self, embedder: Embedder, query: str, whose: str) -> Matrix:
        known = self._asked.get((whose, query))
        if known is not None:
            return known
        from recollect.models.port import check_vectors, for_questions

        made: Matrix = check_vectors(for_questions(embedder).embed([query]), 1, embedder.dim)[0]
        with self._lock:
            while len(self._asked) >= _REMEMBERED:
                self._asked.pop(next(iter(self._asked)))
            self._asked[whose, query] = made
        return made
