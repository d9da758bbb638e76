"""What a memory has to do with others: relations that consolidating found, and the memories they lead to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from recollect.model import Memory, Scope
from recollect.store.port import Store

_WORDS = {
    ("same_subject", True): "same subject",
    ("same_subject", False): "same subject",
    ("supersedes", True): "supersedes",
    ("supersedes", False): "superseded by",
    ("caused_by", True): "caused by",
    ("caused_by", False): "cause of",
    ("depends_on", True): "depends on",
    ("depends_on", False): "needed by",
    ("evidence_of", True): "evidence of",
    ("evidence_of", False): "has evidence",
}


@dataclass(frozen=True, slots=True)
class Related:
    """A memory that another has to do with, and how, in a word of RELATION_KINDS and said from that other one."""

    kind: str
    what: str
    memory: Memory
    run: str  # that found it
    at: datetime | None = None


def related(store: Store, scope: Scope, memory_id: str) -> tuple[Related, ...]:
    """What a memory has to do with others that are there."""
    found = []
    for one in store.consolidations.relations(scope, [memory_id]):
        begins = one.source == memory_id
        other = store.memories.get(scope, one.target if begins else one.source)
        if other is not None and other.deleted_at is None:
            found.append(Related(one.kind, _WORDS[one.kind, begins], other, one.run, one.at))
    return tuple(sorted(found, key=lambda one: (one.kind, one.what, one.memory.id)))
