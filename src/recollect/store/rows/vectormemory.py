"""The vectors of whom was asked for lately, as many as there is room for; one for each store of a process.

In: whose vectors (or words, where a store keeps those too) a search needs. Out: the place where they are or may be put.
What is in a place is the store's to keep true; here is only decided who has one, and who has to go. The lock here is
held for moments: what a place holds is read under its own lock, so nobody waits for another owner's.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.settings import Settings
    from recollect.store.postgres.lexicon import Lexicon
    from recollect.store.rows.matrix import VectorMatrix

VECTOR_MEMORY_BYTES = 512 * 1024 * 1024
AGAIN_SECONDS = 300.0  # who asks again within it goes on asking
WORTH = 8  # questions of one who goes on asking, until their vectors are read: it costs what eight comparisons do
BUSY_SECONDS = 60.0  # who asked within it does not have to go for another, where there is another way
_MOST = 4_096  # owners and tiers that are known, most of them without vectors


def room_for_vectors(settings: Settings) -> int:
    """How many bytes of vectors a process keeps."""
    return settings.vector_memory_bytes or VECTOR_MEMORY_BYTES


class Place:
    """Where the vectors and words of one owner and tier are kept; they are changed only by who holds `lock`."""

    __slots__ = ("asked", "lexicon", "lock", "matrix", "times")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.matrix: VectorMatrix | None = None
        self.lexicon: Lexicon | None = None
        self.asked = float("-inf")
        self.times = 0  # … without a long pause

    @property
    def size(self) -> int:
        return sum(held.size for held in (self.matrix, self.lexicon) if held is not None)


class VectorMemory:
    """Places by key, the one that was asked for last at the end."""

    def __init__(self, room: int = VECTOR_MEMORY_BYTES, clock: Callable[[], float] = time.monotonic) -> None:
        self.room = room
        self._clock = clock
        self._places: OrderedDict[Hashable, Place] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many have vectors here."""
        with self._lock:
            return sum(place.matrix is not None for place in self._places.values())

    def ask(self, key: Hashable) -> Place:
        """The place of an owner and tier that is asked for now, made if it is missing."""
        with self._lock:
            place = self._places.get(key)
            if place is None:
                place = self._places[key] = Place()
                while len(self._places) > _MOST:
                    self._places.popitem(last=False)
            self._places.move_to_end(key)
            now = self._clock()
            place.times = place.times + 1 if now - place.asked <= AGAIN_SECONDS else 1
            place.asked = now
            return place

    def is_worth(self, place: Place, size: int, questions: int = WORTH) -> bool:
        """Whether so many bytes may be read into a place: it was asked for so often, and nobody busy has to go.

        If busy ones had to go, more owners than there is room for would throw each other out at every question.
        """
        with self._lock:
            if place.times < questions:
                return False
            now = self._clock()
            busy = sum(one.size for one in self._places.values() if one is place or now - one.asked <= BUSY_SECONDS)
            return busy + size <= self.room

    def make_room(self, but: Place) -> None:
        """Let go of what was asked for longest ago, until the rest has room; `but` stays."""
        with self._lock:
            taken = sum(place.size for place in self._places.values())
            for key in [key for key, place in self._places.items() if place is not but and place.size]:
                if taken <= self.room:
                    return
                taken -= self._places.pop(key).size
