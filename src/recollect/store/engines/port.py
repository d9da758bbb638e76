"""What a vector engine must do to stand beside a store. It is a cache: the vectors themselves stay with the store.

An engine holds indexes, each made whole from the store under a name of its own. An index knows owners only as opaque
keys, and gives candidates: which documents may be near. How near they are, and whose, the store says itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from recollect.errors import RecollectError, StoreError
from recollect.model import Tier

if TYPE_CHECKING:
    from recollect.store.ports.search import Matrix


class EngineFailed(StoreError):
    """A vector engine cannot be used; the store answers without it."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A document's vectors, and whose they are."""

    owner: str
    tier: Tier
    doc: int
    vectors: Matrix


class VectorIndex(Protocol):
    """The vectors of every owner, to be asked for one owner's nearest. Every write may be repeated."""

    def put(self, items: Sequence[Embedded], *, fresh: bool = False) -> None:
        """Take documents in, each in the place of what was there of it; `fresh`: nothing was there of any."""
        ...

    def drop(self, owner: str, tier: Tier, docs: Sequence[int]) -> None: ...
    def search(self, owner: str, tier: Tier, query: Matrix, limit: int) -> list[tuple[int, float]]:
        """At most `limit` of this owner's documents and the cosine of their nearest vector, best first."""
        ...

    def count(self, owner: str | None = None, tier: Tier | None = None) -> int:
        """How many vectors there are, of everybody or of one owner and tier."""
        ...

    def scrub(self, owner: str, tier: Tier) -> str | None:
        """Leave no byte of what was dropped in any file; else where some may be left."""
        ...

    def compact(self) -> None:
        """Make it small and fast again: what was written in pieces is put together."""
        ...


class Engine(Protocol):
    """Where indexes are kept."""

    def make(self, name: str, dim: int) -> VectorIndex: ...
    def open(self, name: str, dim: int) -> VectorIndex:
        """The index of that name; EngineFailed when it is not there."""
        ...

    def names(self, prefix: str) -> list[str]: ...
    def remove(self, name: str) -> None: ...
    def size(self) -> int | None:
        """Bytes on this machine's disk; None when they are elsewhere."""
        ...

    def close(self) -> None: ...


@contextmanager
def failing(what: str) -> Iterator[None]:
    """Whatever an engine's library raises, as one error; a panic inside it is no ordinary exception."""
    try:
        yield
    except RecollectError:
        raise
    except Exception as error:
        raise EngineFailed(f"{what}: {type(error).__name__}: {_first_line(error)}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise EngineFailed(f"{what}: it panicked: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0][:200]


def disk_use(folder: Path) -> int:
    """What is in a folder, in bytes: as listed or as the disk holds it, whichever is more."""
    infos = [info for file in folder.rglob("*") if (info := _info(file)) is not None]
    return max(sum(info.st_size for info in infos), sum(getattr(info, "st_blocks", 0) * 512 for info in infos))


def _info(file: Path) -> os.stat_result | None:
    try:
        return file.stat() if file.is_file() else None
    except OSError:
        return None  # cleaned away by another process meanwhile


def best_of(found: Sequence[tuple[int, float]], limit: int) -> list[tuple[int, float]]:
    """Documents by their nearest vector, from (document, cosine) of vectors, best first."""
    best: dict[int, float] = {}
    for doc, cosine in found:
        if cosine > best.get(doc, -2.0):
            best[doc] = cosine
    return sorted(best.items(), key=lambda one: (-one[1], one[0]))[:limit]
