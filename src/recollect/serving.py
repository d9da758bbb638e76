"""One opened store for many: every request gets the memory of its own scope, and opening that costs next to nothing.

In: settings, and whether it serves others. Out: memories that share one store, one embedder and the questions it has
embedded, one count of reads an owner, and one bell for the work in the background. Only the user of this machine, when
it serves nobody else, has texts for agents that are kept in step.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect import clock as time
from recollect.clock import Clock
from recollect.errors import RecollectError
from recollect.facade import Recollect
from recollect.model import Scope
from recollect.pipeline.freshness import Freshness
from recollect.pipeline.reads import Reads, Rounds
from recollect.pipeline.readying import Readying
from recollect.pipeline.standstill import Standstill
from recollect.pipeline.worker import Worker
from recollect.recall.meaning import UNSET, Meaning
from recollect.settings import Settings
from recollect.store.opening import located, open_store
from recollect.store.rows.vectormemory import VECTOR_MEMORY_BYTES
from recollect.store.terms import HOSTED_QUOTAS

if TYPE_CHECKING:
    from recollect.models.port import Embedder
    from recollect.store.port import Store

FLUSH_SECONDS = 3.0  # how long what changed may wait to be laid ready
COUNT_SECONDS = 12.0  # how long a count of reads may wait to be written down: each is a write of its owner's
WORK_SECONDS = 2.0  # how long a task that runs may take to end
MOST_READS = 4_096  # memories whose reads are counted before a request writes them down itself
THREADS = 3  # requests that one process works on at once, without those that last long
VECTOR_SHARE = 8  # of the memory there is, an eighth is for the vectors of those who ask
MOST_OWNERS = 1_000  # owners whose reads are being counted at once; the one asked longest ago is written down first


class Serving:
    """A store that is open for many scopes, until `close`."""

    def __init__(
        self, settings: Settings, *, hosted: bool, clock: Clock = time.now, embedder: Embedder | None = UNSET
    ) -> None:
        import numpy  # noqa: F401 - before there are threads: two that import it at once can leave half of it behind

        settings = _sized(located(settings))
        self.settings = _for_others(settings) if hosted else settings
        self.hosted = hosted
        self.clock = clock
        self.owner = Scope(settings.tenant, settings.user) if settings.user else Scope(settings.tenant)
        self.store: Store = open_store(self.settings, queued=True)
        self.meaning = Meaning(self.store, self.settings, embedder, together=True)
        self.tasks: Any = None  # what works in the background, once it was started
        self.bus: Any = None  # what takes events from Redis, once it was started
        self.last_write_at: datetime | None = None  # through this process
        self._embedding = Worker(self._embed)
        self._standstill = Standstill(self.store.vectors)
        self._freshness = Freshness(self.store, self._standstill, self._has_model, self.settings.serve_threads)
        self._reads: OrderedDict[tuple[str, str], Reads] = OrderedDict()
        self._counting = Rounds(self._all_reads, COUNT_SECONDS)
        self._readying = Readying(self.store, self.owner, self.settings, clock, lambda: None)
        self._lock = threading.Lock()
        self._closing, self._ending = threading.Event(), threading.Lock()
        self._keeping: threading.Thread | None = None

    def memory(self, scope: Scope, *, speaks: bool = True) -> Recollect:
        """The memory of a scope. It starts nothing, and closing it closes nothing."""
        return Recollect(
            self.store,
            scope,
            self.settings,
            clock=self.clock,
            hosted=True,
            meaning=self.meaning,
            reads=self._reads_of(scope),
            readying=self._readying if self._is_own(scope) else None,
            ring=partial(self._wrote, scope),
            freshness=self._freshness,
            speaks=speaks,
        )

    # -- work in the background ------------------------------------------------------------------------------------

    def start(self, tasks: Callable[[Serving], Any] | None = None) -> None:
        """Begin what runs beside the requests. With `tasks`, a worker with start, ring and stop, also what they make.

        Without, vectors and tasks are left to other processes.
        """
        if tasks is not None:
            self.tasks = tasks(self)
            self.tasks.start()
        self._keeping = threading.Thread(target=self._keep, name="recollect-serving", daemon=True)
        self._keeping.start()
        self.ring()

    def ring(self) -> None:
        """There is work: a task was put, or a text waits for its vector."""
        if self.tasks is not None:
            self.tasks.ring()
            self._embedding.ring()

    def end_work(self) -> None:
        """Begin no work beside the requests any more; what runs has a moment, then it is given back."""
        with self._ending:
            if self._closing.is_set():
                return
            self._closing.set()
            if self.bus is not None:
                self.bus.stop()
            if self.tasks is not None:
                self.tasks.stop(WORK_SECONDS)
                self._embedding.stop()

    def standstill(self) -> float:
        """For how many seconds texts have waited for a vector and none got one; 0 where no model makes them."""
        if self._has_model():
            return self._standstill.look()
        self._standstill.moved()
        return 0.0

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until it is to end; whether it is."""
        return self._closing.wait(seconds)

    @property
    def stopping(self) -> bool:
        """Whether it is to end: what streams ends by itself then."""
        return self._closing.is_set()

    def _wrote(self, scope: Scope) -> None:
        self.last_write_at = self.clock()
        self._freshness.wrote(scope)
        self.ring()

    def _has_model(self) -> bool:
        """Whether there is a model, and the vectors here are of it."""
        embedder = self.meaning.embedder()
        return embedder is not None and self.meaning.fits(embedder)

    def _embedded(self, number: int) -> None:
        self._standstill.moved()
        self._freshness.embedded()

    def flush(self) -> None:
        """Write down what was counted, and lay ready what changed; a store that cannot take it now is asked again."""
        self._count()
        self._readying.refresh_rested()

    def _count(self) -> None:
        """Write down the counts of all."""
        for one in self._all_reads():
            with suppress(RecollectError):
                one.write()

    def _count_evenly(self, seconds: float) -> None:
        """Write down the next few counts in so many seconds: who asks meanwhile must not wait for many writes."""
        few = self._counting.few(seconds)
        for one in few:
            if self._closing.wait(seconds / len(few)):
                return
            with suppress(RecollectError):
                one.write()
        if not few:
            self._closing.wait(seconds)

    def _all_reads(self) -> list[Reads]:
        with self._lock:
            return list(self._reads.values())

    def close(self) -> None:
        """End the work beside the requests, write down what was counted, close the store."""
        self.end_work()
        if self._keeping is not None:
            self._keeping.join()
        self.flush()
        self._readying.refresh()
        self.store.close()

    def _keep(self) -> None:
        self._warm_up()
        while not self._closing.is_set():
            try:
                self._count_evenly(FLUSH_SECONDS)
                self._readying.refresh_rested()
                self.standstill()
                if self.tasks is not None and self._standstill.pending:
                    self._embedding.ring()  # another process may have written it
            except Exception as error:  # nothing beside the requests may end with one failure
                logging.getLogger(__name__).warning("upkeep beside the requests failed: %s", type(error).__name__)

    def _warm_up(self) -> None:
        """Load the model before the first question does, and what texts are embedded with where that is done here."""
        from recollect.models.port import for_questions

        with suppress(Exception):  # whatever is wrong with it, questions are answered by words, and say so
            embedder = self.meaning.embedder()
            if embedder is not None:
                for_questions(embedder).embed(["ready"])
                if self.tasks is not None:
                    embedder.embed(["ready"])

    def _embed(self, stopping: Callable[[], bool]) -> float | None:
        """One round: the vectors that wait, unless another process of this machine makes them."""
        from recollect.lock import alone
        from recollect.pipeline.embedding import embed_waiting

        embedder = self.meaning.embedder()
        if embedder is not None and self.meaning.fits(embedder):
            with alone(self.settings.data_dir / "embed.lock") as free:
                if free:
                    embed_waiting(self.store, embedder, stop=stopping, progress=self._embedded)
        return None

    # -- what an owner's memories share ----------------------------------------------------------------------------

    def _reads_of(self, scope: Scope) -> Reads:
        owner = (scope.tenant, scope.user)
        full: Reads | None = None
        with self._lock:
            reads = self._reads.get(owner)
            if reads is None:
                if len(self._reads) >= MOST_OWNERS:
                    full = self._reads.popitem(last=False)[1]
                reads = Reads(self.store, Scope(scope.tenant, scope.user), self.clock, full=MOST_READS)
                self._reads[owner] = reads
            else:
                self._reads.move_to_end(owner)
        if full is not None:
            with suppress(RecollectError):
                full.write()
        return reads

    def _is_own(self, scope: Scope) -> bool:
        """Whether it is the memory whose texts agents of this machine are shown."""
        return not self.hosted and (scope.tenant, scope.user) == (self.owner.tenant, self.owner.user)


def _sized(settings: Settings) -> Settings:
    """With as many threads as suit, unless the operator chose.

    Whoever works needs the interpreter's lock: the fewer others want it, the sooner each is done, and who lasts long
    steps aside (`http.turns`). Fewer than three gain nothing; of six, a search on a server takes a tenth longer.
    """
    threads = settings.serve_threads or THREADS
    return replace(settings, serve_threads=threads, serve_at_once=settings.serve_at_once or max(1, threads * 2 // 3))


def _for_others(settings: Settings) -> Settings:
    """The settings of a server for others: limits of its own and more room for vectors, unless the operator chose."""
    return replace(
        settings,
        quota_memories=settings.quota_memories or HOSTED_QUOTAS.memories or 0,
        quota_ingests_per_day=settings.quota_ingests_per_day or HOSTED_QUOTAS.ingests or 0,
        vector_memory_bytes=settings.vector_memory_bytes or max(VECTOR_MEMORY_BYTES, memory_bytes() // VECTOR_SHARE),
    )


def memory_bytes() -> int:
    """What memory this process may use: the machine's, or less where its container says so; 0 where nobody says."""
    try:
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
    with suppress(OSError, ValueError):  # "max", or no such file: no limit
        found = min(found, int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return max(0, found)
