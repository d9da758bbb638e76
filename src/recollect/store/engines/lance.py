"""LanceDB as a vector engine: files in a folder, or in object storage. A table for each owner and tier.

So no search meets another owner's rows, and what is forgotten is written out of one table, not of all. Every write of
LanceDB is a new version of a table: after so many of them the table is put together and the old versions are deleted,
or they would outgrow the data many times over. One writes at a time (the follower sees to it); readers in other
processes that hold a version which is gone open the newest one.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from recollect.model import TIERS, Tier
from recollect.store.engines.port import Embedded, EngineFailed, best_of, disk_use, failing

if TYPE_CHECKING:
    from recollect.store.ports.search import Matrix

APPROXIMATE = 10_000  # vectors of a table from which it gets an approximate index
PROBES = 32  # parts of that index that are looked into
WRITES = 40  # versions of a table after which it is put together
_OLD = 0.001  # seconds after which a version that is not the newest is deleted
_OPEN = 256  # tables kept open
_MADE = "made"
T = TypeVar("T")


class LanceEngine:
    """The tables in one place."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._here = Path(place) if "://" not in place else None
        with failing("LanceDB"):
            try:
                import lancedb
            except ImportError:
                raise EngineFailed("LanceDB is not installed", hint="pip install 'recollect[lancedb]'") from None
            if self._here is not None:
                self._here.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._db: Any = lancedb.connect(place, read_consistency_interval=timedelta(0))

    def make(self, name: str, dim: int) -> LanceIndex:
        self.remove(name)
        with failing("LanceDB"):
            import pyarrow as pa

            self._db.create_table(_table(name, _MADE), data=pa.table({"dim": [dim]}))
        return LanceIndex(self._db, name, dim)

    def open(self, name: str, dim: int) -> LanceIndex:
        with failing("LanceDB"):
            made = self._db.open_table(_table(name, _MADE)).to_arrow()["dim"].to_pylist()
        if made != [dim]:
            raise EngineFailed(f"LanceDB: the index is for {made} dimensions, not {dim}")
        return LanceIndex(self._db, name, dim)

    def names(self, prefix: str) -> list[str]:
        with failing("LanceDB"):
            return sorted({table.partition(".")[0] for table in _tables(self._db) if table.startswith(prefix)})

    def remove(self, name: str) -> None:
        with failing("LanceDB"):
            for table in _tables(self._db):
                if table.partition(".")[0] == name:
                    self._db.drop_table(table)

    def size(self) -> int | None:
        return None if self._here is None else disk_use(self._here)

    def close(self) -> None:
        self._db = None


class LanceIndex:
    """The tables of one index."""

    def __init__(self, db: Any, name: str, dim: int) -> None:
        self._db = db
        self._name = name
        self._dim = dim
        self._open: dict[str, Any] = {}
        self._writes: dict[str, int] = defaultdict(int)
        self._lock = threading.Lock()

    def put(self, items: Sequence[Embedded], *, fresh: bool = False) -> None:
        import numpy as np
        import pyarrow as pa

        grouped: dict[str, list[Embedded]] = defaultdict(list)
        for item in items:
            grouped[self._table_of(item.owner, item.tier)].append(item)
        for name, group in grouped.items():
            with failing("LanceDB"):
                rows = np.concatenate([item.vectors for item in group]).astype(np.float16)
                docs = np.repeat([item.doc for item in group], [len(item.vectors) for item in group])
                vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), self._dim)
                data = pa.table({"doc": pa.array(docs, pa.int64()), "vector": vectors})
                table = self._table(name)
                if table is None:
                    self._opened(name, self._db.create_table(name, data=data))
                    continue
                if not fresh:
                    self._delete(table, sorted({item.doc for item in group}))
                table.add(data)
                self._written(name, table)

    def drop(self, owner: str, tier: Tier, docs: Sequence[int]) -> None:
        name = self._table_of(owner, tier)
        with failing("LanceDB"):
            table = self._table(name)
            if table is not None and docs:
                self._delete(table, docs)
                self._written(name, table)

    def search(self, owner: str, tier: Tier, query: Matrix, limit: int) -> list[tuple[int, float]]:
        def ask(table: Any) -> list[tuple[int, float]]:
            most, wanted = table.count_rows(), limit
            while True:
                asked = table.search(query, vector_column_name="vector").distance_type("cosine").nprobes(PROBES)
                found = asked.select(["doc", "_distance"]).limit(wanted).to_arrow()
                distances = found["_distance"].to_pylist()
                pairs = zip(found["doc"].to_pylist(), (1.0 - far for far in distances), strict=True)
                best = best_of(list(pairs), limit)
                if len(best) >= limit or wanted >= most or len(distances) < wanted:
                    return best
                wanted *= 4

        with failing("LanceDB"):
            return self._asked(self._table_of(owner, tier), ask, [])

    def count(self, owner: str | None = None, tier: Tier | None = None) -> int:
        with failing("LanceDB"):
            if owner is not None and tier is not None:
                return self._asked(self._table_of(owner, tier), lambda table: int(table.count_rows()), 0)
            return sum(self._asked(name, lambda table: int(table.count_rows()), 0) for name in self._own())

    def scrub(self, owner: str, tier: Tier) -> str | None:
        """Write the table anew: compaction alone would leave rows in place until a tenth of them is deleted."""
        name = self._table_of(owner, tier)
        with failing("LanceDB"):
            table = self._table(name)
            if table is not None:
                rows = table.to_arrow()
                self._open.pop(name, None)
                if not len(rows):
                    self._db.drop_table(name)
                    return None
                table = self._opened(name, self._db.create_table(name, data=rows, mode="overwrite"))
                self._tidy(table)
        return None

    def compact(self) -> None:
        with failing("LanceDB"):
            for name in self._own():
                table = self._table(name)
                if table is not None:
                    self._tidy(table)
                    self._writes[name] = 0

    def _asked(self, name: str, ask: Callable[[Any], T], nothing: T) -> T:
        """What a table answers; the version it was open at may have been cleaned away, so once more with the newest."""
        table = self._table(name)
        if table is None:
            return nothing
        try:
            return ask(table)
        except Exception:
            self._open.pop(name, None)
            table = self._table(name)
            return nothing if table is None else ask(table)

    def _tidy(self, table: Any) -> None:
        if table.count_rows() >= APPROXIMATE and not table.list_indices():
            from lancedb.index import IvfSq

            table.create_index("vector", config=IvfSq(distance_type="cosine"))
        _put_together(table)

    def _delete(self, table: Any, docs: Sequence[int]) -> None:
        table.delete(f"doc IN ({', '.join(str(int(doc)) for doc in docs)})")

    def _written(self, name: str, table: Any) -> None:
        self._writes[name] += 1
        if self._writes[name] >= WRITES:
            self._writes[name] = 0
            _put_together(table)

    def _table(self, name: str) -> Any:
        """The table of that name, or None when there is none."""
        known = self._open.get(name)
        if known is not None:
            return known
        try:
            return self._opened(name, self._db.open_table(name))
        except ValueError as error:
            if "not found" not in str(error):
                raise
            return None

    def _opened(self, name: str, table: Any) -> Any:
        with self._lock:
            while len(self._open) >= _OPEN:
                self._open.pop(next(iter(self._open)))
            self._open[name] = table
        return table

    def _own(self) -> list[str]:
        return [_table(self._name, f"{owner}.{tier}") for owner, tier in self._owners()]

    def _owners(self) -> Iterator[tuple[str, str]]:
        for table in list(_tables(self._db)):
            name, _, rest = table.partition(".")
            owner, _, tier = rest.rpartition(".")
            if name == self._name and tier in TIERS:
                yield owner, tier

    def _table_of(self, owner: str, tier: Tier) -> str:
        return _table(self._name, f"{owner}.{tier}")


def _table(name: str, rest: str) -> str:
    return f"{name}.{rest}"


def _tables(db: Any) -> list[str]:
    found: list[str] = []
    page = None
    while True:
        answer = db.list_tables(page_token=page)
        found += answer.tables
        page = answer.page_token
        if not page:
            return found


def _put_together(table: Any) -> None:
    """One file and one version, with what came since in the approximate index too."""
    time.sleep(2 * _OLD)
    table.optimize(cleanup_older_than=timedelta(seconds=_OLD), delete_unverified=True)
