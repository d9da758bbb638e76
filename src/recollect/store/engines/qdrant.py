"""Qdrant as a vector engine: a server at an address, or its local mode in a folder or in memory, for trials and tests.

One collection an index, in which owner and tier are the tenant: a server keeps a graph for each, so that a small
owner's nearest are found among its own rows. Local mode compares everything, in Python, and is one process's alone.
"""

from __future__ import annotations

import shutil
import threading
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from recollect.model import Tier
from recollect.store.engines.port import Embedded, EngineFailed, best_of, disk_use, failing

if TYPE_CHECKING:
    from recollect.store.ports.search import Matrix

SECONDS = 5  # what one request may take
MEMORY = ":memory:"
_SEARCH_WIDTH = 128
_BATCH = 500
_LEFT = "the files of the Qdrant server, until its optimizer writes the segments anew"


class QdrantEngine:
    """The collections at one place."""

    def __init__(self, place: str, api_key: str = "", *, mend: bool = False) -> None:
        """With `mend`, what local mode cannot read is deleted: it is about to be made again."""
        self.remote = place.startswith(("http://", "https://"))
        self._folder = None if self.remote or place == MEMORY else Path(place)
        self._lock = threading.RLock()  # local mode is not made for threads
        with failing("Qdrant"), _quiet():
            if mend and self._folder is not None and not self._can_be_read(self._folder):
                shutil.rmtree(self._folder / "collection", ignore_errors=True)
                (self._folder / "meta.json").unlink(missing_ok=True)
            self._client: Any = self._connected(place, api_key)

    def _connected(self, place: str, api_key: str = "") -> Any:
        try:
            from qdrant_client import QdrantClient
        except ImportError:
            raise EngineFailed("Qdrant's client is not installed", hint="pip install 'recollect[qdrant]'") from None
        if self.remote:
            return QdrantClient(url=place, api_key=api_key or None, timeout=SECONDS, check_compatibility=False)
        if self._folder is None:
            return QdrantClient(location=MEMORY)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return QdrantClient(path=str(self._folder), force_disable_check_same_thread=True)

    def _can_be_read(self, folder: Path) -> bool:
        try:
            self._connected(str(folder)).close()
        except Exception as error:
            return "already accessed" in str(error)  # in use: it is the other process's to judge
        return True

    def make(self, name: str, dim: int) -> QdrantIndex:
        from qdrant_client import models

        with self.using():
            self._client.delete_collection(name)
            self._client.create_collection(
                name,
                vectors_config=models.VectorParams(
                    size=dim, distance=models.Distance.COSINE, datatype=models.Datatype.FLOAT16
                ),
                hnsw_config=models.HnswConfigDiff(m=0, payload_m=16),
            )
            if self.remote:
                tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
                self._client.create_payload_index(name, "scope", tenant)
                self._client.create_payload_index(name, "doc", models.PayloadSchemaType.INTEGER)
        return QdrantIndex(self, self._client, name)

    def open(self, name: str, dim: int) -> QdrantIndex:
        with self.using():
            if not self._client.collection_exists(name):
                raise EngineFailed("Qdrant: the index is not there")
            made = self._client.get_collection(name).config.params.vectors.size
        if made != dim:
            raise EngineFailed(f"Qdrant: the index is for {made} dimensions, not {dim}")
        return QdrantIndex(self, self._client, name)

    def names(self, prefix: str) -> list[str]:
        with self.using():
            found = [one.name for one in self._client.get_collections().collections]
        return sorted(name for name in found if name.startswith(prefix))

    def remove(self, name: str) -> None:
        with self.using():
            self._client.delete_collection(name)

    def size(self) -> int | None:
        return None if self._folder is None else disk_use(self._folder)

    def scrub(self, name: str) -> str | None:
        """Have local mode's file written anew; a server does so by itself, some time."""
        if self._folder is not None:
            import apsw

            file = self._folder / "collection" / name / "storage.sqlite"
            with self.using(), closing(apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
                connection.execute("VACUUM")
        return _LEFT if self.remote else None

    def close(self) -> None:
        with self.using():
            self._client.close()

    @contextmanager
    def using(self) -> Iterator[None]:
        """One request: a server takes many at a time, local mode one."""
        if self.remote:
            with failing("Qdrant"):
                yield
        else:
            with self._lock, failing("Qdrant"), _quiet():
                yield


class QdrantIndex:
    """One collection."""

    def __init__(self, engine: QdrantEngine, client: Any, name: str) -> None:
        self._engine = engine
        self._client = client
        self._name = name

    def put(self, items: Sequence[Embedded], *, fresh: bool = False) -> None:
        from qdrant_client import models

        if not fresh:
            grouped: dict[tuple[str, Tier], list[int]] = defaultdict(list)
            for item in items:
                grouped[item.owner, item.tier].append(item.doc)
            for (owner, tier), docs in grouped.items():
                self.drop(owner, tier, docs)
        points = [
            (_point(item, place), row.tolist(), {"scope": _scope(item.owner, item.tier), "doc": item.doc})
            for item in items
            for place, row in enumerate(item.vectors)
        ]
        for start in range(0, len(points), _BATCH):
            ids, vectors, payloads = (list(part) for part in zip(*points[start : start + _BATCH], strict=True))
            with self._engine.using():
                batch = models.Batch(ids=ids, vectors=vectors, payloads=payloads)
                self._client.upsert(self._name, points=batch, wait=True)

    def drop(self, owner: str, tier: Tier, docs: Sequence[int]) -> None:
        from qdrant_client import models

        if not docs:
            return
        which = _of(owner, tier)
        which.must.append(models.FieldCondition(key="doc", match=models.MatchAny(any=[int(doc) for doc in docs])))
        with self._engine.using():
            self._client.delete(self._name, points_selector=models.FilterSelector(filter=which), wait=True)

    def search(self, owner: str, tier: Tier, query: Matrix, limit: int) -> list[tuple[int, float]]:
        from qdrant_client import models

        wanted = limit
        while True:
            with self._engine.using():
                answer = self._client.query_points(
                    self._name,
                    query=query.tolist(),
                    query_filter=_of(owner, tier),
                    search_params=models.SearchParams(hnsw_ef=max(_SEARCH_WIDTH, wanted)),
                    limit=wanted,
                    with_payload=["doc"],
                )
                found = [(int(point.payload["doc"]), float(point.score)) for point in answer.points]
            best = best_of(found, limit)
            if len(best) >= limit or len(found) < wanted:
                return best
            wanted *= 4

    def count(self, owner: str | None = None, tier: Tier | None = None) -> int:
        which = None if owner is None or tier is None else _of(owner, tier)
        with self._engine.using():
            return int(self._client.count(self._name, count_filter=which, exact=True).count)

    def scrub(self, owner: str, tier: Tier) -> str | None:
        return self._engine.scrub(self._name)

    def compact(self) -> None:
        """A server does so by itself; local mode has nothing to put together."""


def _scope(owner: str, tier: Tier) -> str:
    return f"{owner}/{tier}"


def _of(owner: str, tier: Tier) -> Any:
    from qdrant_client import models

    return models.Filter(must=[models.FieldCondition(key="scope", match=models.MatchValue(value=_scope(owner, tier)))])


def _point(item: Embedded, place: int) -> str:
    """The same name each time, so that a write repeated changes nothing."""
    told = f"{item.owner}/{item.tier}/{item.doc}/{place}".encode()
    return str(UUID(bytes=blake2b(told, digest_size=16).digest()))


@contextmanager
def _quiet() -> Iterator[None]:
    """Local mode warns that it is not for much data; `docs/vector-engines.md` says so too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
