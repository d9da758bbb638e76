"""The embedder of an open memory: found when first needed, and the questions it has embedded lately.

When a question cannot be searched by meaning, the answer says why; it never fails for it. Whether the vectors are of
the same model is known in the moment in which they are searched, and is told then; until they were seen to be, nothing
is embedded.
"""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.errors import ModelError
from recollect.settings import Settings
from recollect.store.port import Store

if TYPE_CHECKING:
    from recollect.models.port import Embedder
    from recollect.store.ports.search import Matrix

UNSET: Any = object()
_REMEMBERED = 256
_SEEN_SECONDS = 60.0  # after it, the model of the vectors is looked at before a question is embedded, not only after


class Meant(NamedTuple):
    """A question as an embedder understands it; without a vector it is asked by words alone, and the note says why."""

    vector: Matrix | None
    note: str | None = None
    model: tuple[str, int] | None = None  # of which the vector is

    def among(self, model: tuple[str, int] | None) -> Meant:
        """As it can be asked among vectors of this model; None: there are no vectors."""
        return self if self.vector is None or model == self.model else _misfit(model)


def _misfit(model: tuple[str, int] | None) -> Meant:
    if model is None:
        return Meant(None, "nothing is embedded yet")
    return Meant(None, f"the vectors here are of {model[0]} ({model[1]}): run `recollect reembed`")


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
        self._seen_until = 0.0  # when the vectors were seen to be of this embedder, and how long that is believed
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

    def of(self, query: str, mode: str, whose: str = "") -> Meant:
        """The embedded question of a tenant, or why it is asked by words alone."""
        if mode == "lexical":
            return Meant(None)
        embedder = self.embedder()
        if embedder is None:
            return Meant(None, self.missing)
        if time.monotonic() >= self._seen_until:
            model = self._store.vectors.model()
            if model != (embedder.name, embedder.dim):
                return _misfit(model)
            self._seen_until = time.monotonic() + _SEEN_SECONDS
        try:
            return Meant(self._embedded(embedder, query, whose), None, (embedder.name, embedder.dim))
        except ModelError as error:
            return Meant(None, f"words only, the embedder failed: {error}")

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
