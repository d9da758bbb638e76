"""Which signals are of which pattern: by the ids that their kind and key give, in every run and every session.

The key of a wish is all that was said, while a pattern of wishes is known by pairs of words: there a signal is of the
pattern when one of its pairs is. Signals come in once; what shows a pattern is then looked up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations

from recollect.learn.cluster import candidate_id
from recollect.learn.values import Signal
from recollect.learn.wishes import OWN_COMMAND

WISHES = ("instruction_repeated", "correction")


class Sightings:
    """Signals by every id they are of."""

    def __init__(self, signals: Iterable[Signal]) -> None:
        self._by_id: dict[str, list[tuple[int, Signal]]] = defaultdict(list)
        known: dict[tuple[str, str], tuple[str, ...]] = {}
        for number, one in enumerate(signals):
            named = (one.kind, one.key)
            if named not in known:
                known[named] = tuple(dict.fromkeys(_ids(one)))
            for id_ in known[named]:
                self._by_id[id_].append((number, one))

    def of(self, ids: Collection[str]) -> dict[str, list[Signal]]:
        """The signals of the pattern with these ids, by their sessions, in the order they came."""
        every = {number: one for id_ in ids for number, one in self._by_id.get(id_, ())}
        found: dict[str, list[Signal]] = {}
        for number in sorted(every):
            found.setdefault(every[number].session, []).append(every[number])
        return found


def _ids(signal: Signal) -> Iterator[str]:
    yield candidate_id(signal.kind, signal.key)
    if signal.kind in WISHES and not signal.key.startswith(OWN_COMMAND):
        for pair in combinations(signal.key.split(), 2):
            yield candidate_id(signal.kind, " ".join(pair))


def first_of(signals: Sequence[Signal]) -> Signal:
    """The one that tells of all of a session: the first."""
    return min(signals, key=lambda one: (one.at, one.key, one.statement))
