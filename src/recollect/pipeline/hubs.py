"""Memories that come up for everything: found by asking, put away with a note, and shown by `doctor`.

Somebody who can plant one text wants it recalled for every question: a vector in the middle of all others, or a list of
words to match them all. In come the memories of one owner; some of them, chosen the same way every time, are asked
about as if they were questions. What stands among the ten nearest far oftener than chance allows, and what is a mere
list of words and does so at all, is archived as `quarantined`. Only what is quoted can be: what a user said, and what
was checked, is never taken for an attack. One that a person put back stays.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from recollect.clock import Clock
from recollect.distill.vetting.shape import is_word_list
from recollect.errors import Conflict, NotFound
from recollect.model import Memory, Scope
from recollect.store.port import Store
from recollect.store.ports.memories import Filter
from recollect.store.searchtext import query_terms

QUARANTINED = "quarantined"  # in `meta`, and in the audit
PROBES, NEAREST = 200, 10
FEWEST = 50  # memories below which everything is near everything
_SHARE = 0.05  # of the probes
_FAR_MORE = 10  # times what chance allows; natural hubs reach about seven
_NEARLY_ALL = 0.75  # of the probes, where there are too few memories for that
_COPY = 0.97  # the cosine from which two vectors are one
_PAGE = 500
_SEED = 20_260_301


def quarantine_hubs(store: Store, scope: Scope, clock: Clock) -> int:
    """Put away what comes up for everything; returns how many memories that were."""
    scope, now = scope.within(None), clock()
    suspects = {
        one.id: one for one in _found(store, scope, Filter(now=now, trusts=("quoted",))) if QUARANTINED not in one.meta
    }
    if not suspects:
        return 0
    lists = {one.id for one in suspects.values() if is_word_list(one.content)}
    caught = [*_by_meaning(store, scope, now), *(_by_words(store, scope, now, lists) if lists else ())]
    done = 0
    for memory_id in dict.fromkeys(caught):
        if memory_id in suspects:
            old = suspects[memory_id]
            away = replace(old, archived_at=now, meta={**old.meta, QUARANTINED: True})
            with suppress(Conflict, NotFound):  # changed or forgotten meanwhile: looked at again the next time
                store.memories.update(scope, away, at=now, note=QUARANTINED)
                done += 1
    return done


def quarantined(store: Store, scope: Scope, now: datetime) -> list[Memory]:
    """What was put away for coming up for everything, and not put back."""
    everything = _found(store, scope.within(None), Filter(now=now, archived=True, history=True))
    return [one for one in everything if one.meta.get(QUARANTINED) and one.archived_at is not None]


def _by_meaning(store: Store, scope: Scope, now: datetime) -> list[str]:
    """The ids of memories whose vectors are near too many others."""
    import numpy as np

    model, known = store.vectors.model(), store.search.population(scope, "memory")
    if model is None or known < FEWEST:
        return []
    anywhere = np.zeros(model[1], dtype=np.float32)
    docs = sorted(match.doc for match in store.search.semantic(scope, "memory", anywhere, Filter(now=now), known))
    rows = store.search.vectors(scope, "memory", docs)
    docs = [doc for doc in docs if doc in rows]
    if len(docs) < FEWEST:
        return []
    vectors = np.concatenate([rows[doc][:1] for doc in docs])  # of a long text, what it begins with
    chosen = sorted(random.Random(_SEED).sample(range(len(docs)), min(PROBES, len(docs))))  # noqa: S311 - no secret
    cosines = vectors[chosen] @ vectors.T
    cosines[np.arange(len(chosen)), chosen] = -2.0
    nearest = np.argpartition(-cosines, NEAREST, axis=1)[:, :NEAREST]
    counts = np.bincount(nearest.ravel(), minlength=len(docs))
    limit = _too_often(len(chosen), len(docs))
    often = np.flatnonzero(counts > limit / NEAREST)  # so few for each, where ten copies share what one would have
    alike = vectors[often] @ vectors[often].T > _COPY
    caught = [
        docs[place]
        for place, copies in zip(often, alike, strict=True)
        if np.isin(nearest, often[copies]).any(axis=1).sum() > limit
    ]
    return _ids(store, scope, caught)


def _by_words(store: Store, scope: Scope, now: datetime, lists: set[str]) -> list[str]:
    """The ids of lists of words that match too many others."""
    texts = [one.content for one in _found(store, scope, Filter(now=now)) if one.id not in lists]
    if len(texts) < FEWEST:
        return []
    probes = random.Random(_SEED).sample(texts, min(PROBES, len(texts)))  # noqa: S311 - no secret
    counts: Counter[int] = Counter()
    for text in probes:
        matches = store.search.lexical(scope, "memory", query_terms(text), Filter(now=now), NEAREST + 1)
        counts.update(match.doc for match in matches[1:])  # the first is the text itself
    limit = max(_SHARE * len(probes), _by_chance(len(probes), len(texts)))
    often = [doc for doc, count in counts.items() if count > limit]
    return [memory_id for memory_id in _ids(store, scope, sorted(often)) if memory_id in lists]


def _by_chance(probes: int, memories: int) -> float:
    return NEAREST * probes / memories


def _too_often(probes: int, memories: int) -> float:
    """How many probes a memory may be near to."""
    return min(_NEARLY_ALL * probes, max(_SHARE * probes, _FAR_MORE * _by_chance(probes, memories)))


def _ids(store: Store, scope: Scope, docs: list[int]) -> list[str]:
    return [document.id for document in store.search.documents(scope, "memory", docs)]


def _found(store: Store, scope: Scope, where: Filter) -> Iterator[Memory]:
    offset = 0
    while page := store.memories.find(scope, where, limit=_PAGE, offset=offset):
        yield from page
        offset += len(page)
