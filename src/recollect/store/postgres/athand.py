"""What a process keeps of those it goes on being asked for: their vectors, and their words.

In: a transaction that asks. Out: what is kept, as that transaction sees it, or None when the database is to be asked.
Each transaction takes what is kept only if its stamp is the one that it sees. Behind it, what changed is read first;
before it, or while another thread reads, the database answers. So nobody waits, and nobody is answered from what their
transaction does not see.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from recollect.model import Scope, Tier
from recollect.store.postgres.database import Database
from recollect.store.postgres.halfvec import read_sent
from recollect.store.postgres.lexemes import head_of
from recollect.store.postgres.tx import PostgresTx
from recollect.store.rows.vectormemory import WORTH, Place, VectorMemory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.store.postgres.lexicon import Lexicon
    from recollect.store.rows.matrix import VectorView

KEPT = 200_000  # vectors of one owner and tier up to which they are kept, where there is room: 320 MB
LATER = 20_000  # … from which they are read beside the questions: it takes longer than to answer one
WORDS = 20  # words that count as much as a vector, and take a fifth of its room
QUICK = 200  # … up to which they are read nearly as soon as a question is answered
_STAMP, _GONE, _DOCUMENTS = 0, 1, 2  # what `search.changed` and `search.words_changed` say beside what changed
_UNREAD = -1  # before every stamp

Held = TypeVar("Held", "VectorView", "Lexicon")


class Kind(NamedTuple, Generic[Held]):
    """One kind of what is kept, and what it costs."""

    held: Callable[[Place], Held | None]
    bring_up: Callable[[PostgresTx, Tier, Place], Held | None]
    bytes_each: int  # about
    few: int  # questions until up to `QUICK` are read; a command asks once, and reads no words for that
    questions: int  # … of one who goes on asking, until more is worth reading: what it costs, and what each would


class AtHand:
    """Vectors and words of those who go on asking one store."""

    def __init__(self, database: Database, room: int, *, kept: int = KEPT, later: int = LATER) -> None:
        self.memory = VectorMemory(room)
        self._db = database
        self._kept, self._later = kept, later
        self._first = threading.Lock()  # one is read for the first time, and all others are answered meanwhile

    def vectors(self, tx: PostgresTx, tier: Tier) -> VectorView | None:
        """The owner's vectors; looked for once in a transaction."""
        if tier not in tx.views:
            sizes = tx.size_of(tier)
            tx.views[tier] = self._current(tx, tier, _VECTORS, sizes.vectors, sizes.stamp)
        return tx.views[tier]

    def words(self, tx: PostgresTx, tier: Tier) -> Lexicon | None:
        """The owner's words; looked for once in a transaction."""
        if tier not in tx.lexicons:
            sizes = tx.size_of(tier)
            tx.lexicons[tier] = self._current(tx, tier, _WORDS, -(-sizes.words // WORDS), sizes.worded)
        return tx.lexicons[tier]

    def _current(self, tx: PostgresTx, tier: Tier, kind: Kind[Held], amount: int, stamp: int) -> Held | None:
        if not 0 < amount <= self._kept:
            return None
        place = self._place(tx, tier)
        held = kind.held(place)
        if held is not None and held.stamp >= stamp:
            return held if held.stamp == stamp else None  # a transaction from before the last change
        questions = kind.few if amount <= QUICK else kind.questions
        if held is None and not self.memory.is_worth(place, amount * kind.bytes_each, questions):
            return None
        if held is not None or amount <= self._later:
            return self._brought_up(tx, tier, kind, place)
        threading.Thread(target=self._read, args=(tx.scope, tier, kind, place), name="recollect-at-hand").start()
        return None

    def _place(self, tx: PostgresTx, tier: Tier) -> Place:
        """Asked for once in a transaction, whatever it looks for: that is one question."""
        if tier not in tx.places:
            assert tx.rows is not None
            tx.places[tier] = self.memory.ask((tx.size_of(tier).server, tx.rows.owner, tier))
        return tx.places[tier]

    def _brought_up(self, tx: PostgresTx, tier: Tier, kind: Kind[Held], place: Place) -> Held | None:
        """What changed is read, unless another thread reads it; of what is read for the first time, one at a time."""
        locks = (place.lock,) if kind.held(place) is not None else (place.lock, self._first)
        with ExitStack() as taken:
            for lock in locks:
                if not lock.acquire(blocking=False):
                    return None
                taken.callback(lock.release)
            taken.callback(self.memory.make_room, place)
            return kind.bring_up(tx, tier, place)

    def _read(self, scope: Scope, tier: Tier, kind: Kind[Held], place: Place) -> None:
        """Read it for questions to come; if that fails, another one tries."""
        try:
            with self._db.read(scope) as tx:
                self._brought_up(tx, tier, kind, place)
        except Exception as error:  # nobody waits for this thread, and the database still answers
            logging.getLogger(__name__).warning("what is kept at hand could not be read: %s", type(error).__name__)


def _vectors_brought_up(tx: PostgresTx, tier: Tier, place: Place) -> VectorView | None:
    """The vectors of a place, after what changed was read into it; None when this transaction cannot tell."""
    if tx.rows is None:  # gone meanwhile
        return None
    import numpy as np

    from recollect.store.rows.matrix import VectorMatrix

    matrix = place.matrix
    seen = _UNREAD if matrix is None else matrix.view.stamp
    rows = tx.raw("search.every_vector" if matrix is None else "search.changed", {"tier": tier, "seen": seen})
    told = {row[1]: row[0] for row in rows if row[3] is None}
    sent = read_sent([row for row in rows if row[3] is not None])
    if not told or told[_STAMP] < seen or sent is None:
        return None  # another thread read further than this transaction sees, or the vectors are of two models
    there = None
    if matrix is None or (sent.dim and sent.dim != matrix.dim):
        if matrix is not None:  # of another model: of those before nothing is there, and all are read
            place.matrix = None
            return _vectors_brought_up(tx, tier, place)
        matrix = VectorMatrix(sent.dim, scaled=True)
    elif told[_GONE] > seen or len(np.union1d(matrix.view.docs, sent.docs)) != told[_DOCUMENTS]:
        there = _left(tx, "search.vectored", tier, told[_STAMP])
        if there is None:
            return None
    matrix.put(told[_STAMP], sent.docs, sent.leading, sent.heights, sent.blocks(), only=there)
    place.matrix = matrix
    return matrix.view


def _words_brought_up(tx: PostgresTx, tier: Tier, place: Place) -> Lexicon | None:
    """The words of a place, after what changed was read into it; None when this transaction cannot tell."""
    if tx.rows is None:
        return None
    import numpy as np

    from recollect.store.postgres.lexicon import Reader

    lexicon = place.lexicon
    seen = _UNREAD if lexicon is None else lexicon.stamp
    rows = tx.raw("search.words_changed", {"tier": tier, "seen": seen})
    told = {row[1]: row[0] for row in rows if row[2] is None}
    sent = [row for row in rows if row[2] is not None]
    if not told or told[_STAMP] < seen:
        return None
    reader = Reader(tier, head_of(tier, tx.rows.owner))
    if lexicon is None:
        place.lexicon = reader.all(told[_STAMP], sent)
        return place.lexicon
    there = None
    new = [doc for doc, _, _ in sent]
    if told[_GONE] > seen or len(np.union1d(lexicon.docs, new)) != told[_DOCUMENTS]:
        there = _left(tx, "search.worded", tier, told[_STAMP])
        if there is None:
            return None
    place.lexicon = lexicon.brought_up(told[_STAMP], sent, reader, only=there)
    return place.lexicon


def _left(tx: PostgresTx, query: str, tier: Tier, stamp: int) -> NDArray[np.int64] | None:
    """Which documents are left as of a stamp; None when it changed again in between: next time."""
    import numpy as np

    ((now, docs),) = tx.raw(query, {"tier": tier})
    return np.frombuffer(docs or b"", dtype=">i8").astype(np.int64) if now == stamp else None


def _view(place: Place) -> VectorView | None:
    return None if place.matrix is None else place.matrix.view


_VECTORS: Kind[VectorView] = Kind(_view, _vectors_brought_up, bytes_each=3 * 384, few=1, questions=WORTH)
_WORDS: Kind[Lexicon] = Kind(
    lambda place: place.lexicon, _words_brought_up, bytes_each=15 * WORDS, few=2, questions=8 * WORTH
)
