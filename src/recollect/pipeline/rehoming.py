"""A memory is put into another project, or into none, because it was kept in the wrong one.

In: a memory that holds, and the name of a project. Out: how it stands there. What it took the place of goes with it:
that is its history. Whoever it was in dispute with stays behind without the dispute, and what holds in the other
project is worked out again with it there.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from recollect.clock import Clock
from recollect.distill.values.holding import DISPUTES
from recollect.errors import Conflict, InvalidInput, ScopeError
from recollect.model import Memory, Scope, check_id
from recollect.pipeline.settling import ids_in, resettle
from recollect.store.port import Store

NOTE = "to_project"


def rehome(
    store: Store, scope: Scope, memory: Memory, project: str | None, clock: Clock, *, expected_version: int | None
) -> Memory:
    """Put it there; what says the same there already is a Conflict, and then nothing is changed."""
    if scope.project is not None:
        raise ScopeError("out of a project nothing is put into another", hint="Open the memory outside of any project.")
    name = None if project is None else check_id(project, "project")
    if memory.superseded_at is not None:
        raise InvalidInput("this memory was superseded", hint="Put the one that holds now there; this one goes along.")
    if expected_version not in (None, memory.version):
        raise Conflict("this memory was changed since you read it", hint="Read it again.")
    if memory.project == name:
        return memory
    there = [replace(one, project=name) for one in (_without_disputes(memory), *_before(store, scope, memory))]
    left = [_without_dispute(one, memory.id) for one in _rivals(store, scope, memory)]
    try:
        store.memories.change(scope, [*there, *left], at=clock(), note=NOTE, subject=memory.id)
    except Conflict:
        if any(one.superseded_at is None for one in store.memories.like(scope, there[0])):
            raise Conflict(
                "another memory there says the same", hint="Forget this one, or the one that is there."
            ) from None
        raise
    with suppress(Conflict):  # whoever made it one saw both
        return resettle(store, scope, memory.id, lambda one: one, clock, note="settle")
    return store.memories.get(scope, memory.id) or there[0]


def _before(store: Store, scope: Scope, memory: Memory) -> list[Memory]:
    """What it took the place of, and what that took the place of before, in the same project."""
    found = [memory]
    for one in found:  # grows while it is gone through
        ended = store.memories.replaced(scope, one.id)
        found += [each for each in ended if each.project == memory.project and each not in found]
    return found[1:]


def _rivals(store: Store, scope: Scope, memory: Memory) -> list[Memory]:
    """Those it is in dispute with."""
    found = [store.memories.get(scope, id_) for id_ in _disputed(memory)]
    return [one for one in found if one is not None and memory.id in _disputed(one)]


def _disputed(memory: Memory) -> list[str]:
    return ids_in(memory.meta.get(DISPUTES))


def _without_disputes(memory: Memory) -> Memory:
    return replace(memory, meta={name: value for name, value in memory.meta.items() if name != DISPUTES})


def _without_dispute(memory: Memory, id_: str) -> Memory:
    left = [one for one in _disputed(memory) if one != id_]
    return replace(memory, meta={**memory.meta, DISPUTES: left}) if left else _without_disputes(memory)
