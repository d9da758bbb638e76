"""A new memory among those there are: it is added, known already, merged, supersedes, or is disputed. No model needed.

A memory comes in; it and whatever it changes are written in one step, and what became of it goes out. Two memories have
to do with each other when they tell a value of one slot, when their texts are nearly the same, or when one denies the
other; always within one project, or both outside of any. What holds is worked out anew from everything that was said
(`distill.holding`), so that it does not matter in which order it was learned. A language model may be given as a judge:
it is asked only where two statements were made at once, by equals.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from recollect.clock import Clock
from recollect.distill.draft import RULES
from recollect.distill.values.holding import (
    APART,
    BY_RULE,
    DISPUTES,
    JUDGED,
    MERGED,
    REVOKED,
    Judge,
    Relating,
    Relation,
    hold,
)
from recollect.distill.values.likeness import nearly_same, opposed
from recollect.distill.values.sayings import SAID_META, first_saying, rank_of, sayings_of, with_sayings
from recollect.distill.values.slots import Slot, slot_key, slot_of
from recollect.errors import Conflict, NotFound
from recollect.model import PINNED, SAID, Memory, Scope
from recollect.store.port import Store
from recollect.store.ports.memories import Filter
from recollect.store.searchtext import query_terms
from recollect.text import dedup_key

__all__ = ["Judge", "Settled", "rehold", "resettle", "retried", "settle", "slot_for"]

Outcome = Literal["added", "known", "merged", "superseding", "disputed", "withheld"]
TRIES = 4  # once, and three times again
_PAUSE = 0.005  # seconds, more each time: for whoever is writing
_TERMS = 12  # words of a new one that are looked at …
_RAREST = 4  # … and by how many of them others are found: what says the same lacks one at the most
_NEIGHBOURS = 16  # memories that share most words with a new one and are held against it
_RESERVED = (SAID_META, DISPUTES, MERGED, BY_RULE, JUDGED, APART, REVOKED, PINNED)
_SLOTTED = ("fact", "preference", "decision", "reference", "note")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Settled:
    """What stands for what was said, what became of it, and the other memories that this concerns.

    `withheld`: the user took it away before, so it was not kept.
    """

    memory: Memory
    outcome: Outcome
    others: tuple[Memory, ...] = ()


def settle(
    store: Store,
    scope: Scope,
    memory: Memory,
    clock: Clock,
    judge: Judge | None = None,
    *,
    replacing: Sequence[str] = (),
) -> Settled:
    """Keep a memory, and let what it says decide on what else holds; it also ends those it is `replacing`, by id.

    Settling the same memory twice changes nothing. Whoever changed one of them in between is not overwritten: all is
    read again; after three times, Conflict.
    """
    meta = {name: value for name, value in memory.meta.items() if name not in _RESERVED}
    settling = _Settling(store, scope, replace(memory, slot=slot_for(memory), meta=meta), clock, judge, replacing)
    return retried(settling.run)


def resettle(
    store: Store, scope: Scope, memory_id: str, edit: Callable[[Memory], Memory], clock: Clock, *, note: str
) -> Memory:
    """Change a memory, and work out again what holds around it; returns how it stands."""

    def once() -> Memory:
        stored = store.memories.get(scope, memory_id)
        if stored is None:
            raise NotFound(f"no memory {memory_id[:60]}", hint="`recollect list` shows ids.")
        return _Settling(store, scope, edit(stored), clock).again(stored, note)

    return retried(once)


def rehold(
    store: Store,
    scope: Scope,
    clock: Clock,
    changes: Mapping[str, Memory],
    *,
    note: str,
    subject: str | None = None,
) -> None:
    """Change or delete many memories, and what holds without them or with them again, all in one step.

    What they had ended by these rules, were merged into or in dispute with is gone through again.
    """
    result = dict(changes)
    for one in changes.values():
        for row in store.memories.replaced(scope, one.id):
            after = result.get(row.id, row)
            if _ended_by_rule(row) and after.deleted_at is None:
                result[row.id] = _released(after)
        beside = [store.memories.get(scope, id_) for id_ in (one.superseded_by, *ids_in(one.meta.get(DISPUTES))) if id_]
        beside += store.memories.in_slot(scope, one.slot) if one.slot is not None else []
        for other in beside:
            if other is not None and other.deleted_at is None and other.project == one.project:
                result.setdefault(other.id, other)
    stored: dict[str, Memory] = {}
    groups = _Groups()
    for one in [one for one in result.values() if one.deleted_at is None]:
        for row in _Settling(store, scope, one, clock).around():
            stored[row.id] = row
            groups.link(result.get(row.id, row), one)
    added = []
    for group in groups.of([one for one in {**stored, **result}.values() if one.deleted_at is None]):
        for row in hold(group, _RELATING).memories:
            if row.id in stored or row.id in result:
                result[row.id] = row
            else:
                added.append(replace(row, recorded_at=clock()))
    changed = [one for one in result.values() if one != stored.get(one.id)]
    store.memories.change(scope, changed, adding=added, at=clock(), note=note, subject=subject)


class _Groups:
    """Memories that have to do with each other, directly or over others."""

    def __init__(self) -> None:
        self._leaders: dict[object, object] = {}

    def link(self, one: Memory, other: Memory) -> None:
        self._join(one.id, other.id)

    def of(self, memories: Sequence[Memory]) -> list[list[Memory]]:
        """The memories in their groups: with one text, one slot, one succession or one dispute they are together."""
        for one in memories:
            self._join(one.id, (one.project, dedup_key(one.content)))
            if one.slot is not None:
                self._join(one.id, (one.project, one.slot))
            for id_ in (one.superseded_by, *ids_in(one.meta.get(DISPUTES))):
                self._join(one.id, id_ or one.id)
        groups: dict[object, list[Memory]] = {}
        for one in memories:
            groups.setdefault(self._leader(one.id), []).append(one)
        return list(groups.values())

    def _join(self, one: object, other: object) -> None:
        self._leaders[self._leader(one)] = self._leader(other)

    def _leader(self, one: object) -> object:
        leader = one
        while (above := self._leaders.get(leader, leader)) != leader:
            leader = above
        while one != leader:  # the next time it is one step
            self._leaders[one], one = leader, self._leaders[one]
        return leader


def _ended_by_rule(memory: Memory) -> bool:
    return any(mark in memory.meta for mark in (MERGED, BY_RULE))


def _released(memory: Memory) -> Memory:
    meta = {name: value for name, value in memory.meta.items() if name not in (MERGED, BY_RULE)}
    return replace(memory, superseded_by=None, superseded_at=None, meta=meta)


def slot_for(memory: Memory) -> str | None:
    """The key of the slot a memory tells the value of: by its text, else the one that rules or people named."""
    if memory.kind not in _SLOTTED or memory.meta.get(APART):
        return None
    told = slot_of(memory.content)
    if told is not None:
        return told.key
    return slot_key(memory.slot) if memory.slot and memory.maker in (SAID, RULES) else None


@dataclass(slots=True)
class _Settling:
    store: Store
    scope: Scope
    memory: Memory
    clock: Clock
    judge: Judge | None = None
    replacing: Sequence[str] = ()

    def run(self) -> Settled:
        with self.store.together(self.scope):
            known = self.store.memories.get(self.scope, self.memory.id)
            if known is not None:
                return Settled(known, "known")
            alike = self.store.memories.like(self.scope, self.memory)
            rows = {row.id: row for row in self._around(alike) if row.id not in self.replacing}
        if not self.replacing and (twin := self._nothing_new(rows)):
            return Settled(twin, "known")
        if not self.replacing and (apart := _apart(alike)) is not None:
            return Settled(self._said_again(apart), "known")
        held = hold(list(rows.values()), _RELATING, new=self.memory, judge=self.judge)
        assert held.new is not None
        standing = {one.id: one for one in held.memories}
        self._replace(held.new, rows, standing)
        if not self._write(rows, standing, "supersede" if self.replacing else "settle"):
            return Settled(self.memory, "withheld")
        self._check(held.new, standing)
        return self._settled(held.new, rows, standing)

    def again(self, stored: Memory, note: str) -> Memory:
        """As `run`, for a memory that is there and is to be changed."""
        rows = {row.id: row for row in self.around()} | {stored.id: stored}
        held = hold(list((rows | {stored.id: self.memory}).values()), _RELATING)
        self._write(rows, {one.id: one for one in held.memories}, note)
        return self.store.memories.get(self.scope, stored.id) or self.memory

    # -- what is around it ---------------------------------------------------------------------------------------------

    def around(self) -> list[Memory]:
        """Every memory of the same project that may have to do with this one."""
        with self.store.together(self.scope):
            return self._around(self.store.memories.like(self.scope, self.memory))

    def _around(self, alike: Sequence[Memory]) -> list[Memory]:
        """The same, where those with the same text are known."""
        memories, one = self.store.memories, self.memory
        found = {row.id: row for row in alike}
        if one.slot is not None:
            found |= {row.id: row for row in memories.in_slot(self.scope, one.slot, history=True)}
        found |= {row.id: row for row in self._neighbours() if _relate(one, row) is not Relation.NONE}
        asked = list(found.values())
        for row in asked:  # grows while it is gone through
            ids = [id_ for id_ in (row.superseded_by, *ids_in(row.meta.get(DISPUTES))) if id_ and id_ not in found]
            others = [other for id_ in ids if (other := memories.get(self.scope, id_))]
            others += [other for other in memories.replaced(self.scope, row.id) if _ended_by_rule(other)]
            fresh = [other for other in others if other.id not in found]
            found |= {other.id: other for other in fresh}
            asked += fresh
        return [row for row in found.values() if self._concerned(row)]

    def _concerned(self, row: Memory) -> bool:
        return row.project == self.memory.project and row.deleted_at is None and not row.meta.get(APART)

    def _neighbours(self) -> list[Memory]:
        """The memories that hold now and share most words with this one."""
        where = Filter(now=self.clock(), project=self.memory.project, archived=True)
        wide = self.scope.project is None and not where.narrows  # then it is quicker to leave out what is over here
        terms = sorted(dict.fromkeys(query_terms(self.memory.content)), key=len, reverse=True)[:_TERMS]
        search, asked = self.store.search, None if wide else where
        matches = search.lexical(self.scope, "memory", terms, asked, _NEIGHBOURS, rarest=_RAREST)
        documents = search.documents(self.scope, "memory", [match.doc for match in matches])
        return [one.memory for one in documents if one.memory is not None and where.holds(one.memory)]

    def _nothing_new(self, rows: Mapping[str, Memory]) -> Memory | None:
        """The memory that says the same, if it gains nothing by being said again."""
        key = dedup_key(self.memory.content)
        twins = [row for row in rows.values() if dedup_key(row.content) == key]
        twin = next((row for row in twins if _survivor(row, rows).superseded_at is None), None)
        if twin is None or rank_of(self.memory.trust) > rank_of(twin.trust):
            return None
        equal = rank_of(self.memory.trust) == rank_of(twin.trust)
        if equal and not set(self.memory.evidence) <= set(twin.evidence):
            return None
        return _survivor(twin, rows) if first_saying(self.memory) in sayings_of(twin) else None

    def _said_again(self, apart: Memory) -> Memory:
        """It stays as it is, but for being trusted as who says it now."""
        if rank_of(self.memory.trust) <= rank_of(apart.trust):
            return apart
        again = with_sayings(apart, [*sayings_of(apart), first_saying(self.memory)])
        return self.store.memories.update(self.scope, again, at=self.clock(), note="settle")

    # -- what comes of it ----------------------------------------------------------------------------------------------

    def _replace(self, new: Memory, rows: dict[str, Memory], standing: dict[str, Memory]) -> None:
        """End what somebody said this takes the place of."""
        for id_ in self.replacing:
            old = self.store.memories.get(self.scope, id_)
            if old is None or id_ == new.id or old.superseded_at is not None:
                continue
            rows[id_] = old
            meta = {name: value for name, value in old.meta.items() if name != DISPUTES}
            at = max(new.occurred_at, old.occurred_at)
            standing[id_] = replace(old, superseded_by=new.id, superseded_at=at, meta=meta)

    def _write(self, rows: Mapping[str, Memory], standing: Mapping[str, Memory], note: str) -> bool:
        changed = [one for one in standing.values() if one.id in rows and one != rows[one.id]]
        added = [one for one in standing.values() if one.id not in rows]
        if not changed and not added:
            return True
        now = self.clock()
        fresh = [one if one.id == self.memory.id else replace(one, recorded_at=now) for one in added]
        return self.store.memories.change(self.scope, changed, adding=fresh, at=now, note=note)

    def _check(self, new: Memory, standing: Mapping[str, Memory]) -> None:
        """Another process may have said something of the same slot meanwhile: whoever comes last puts it right."""
        if new.slot is None:
            return
        unknown = [row for row in self.store.memories.in_slot(self.scope, new.slot) if row.id not in standing]
        if any(self._concerned(row) for row in unknown):
            with suppress(Conflict):  # whoever makes it one sees both
                resettle(self.store, self.scope, new.id, lambda memory: memory, self.clock, note="settle")

    def _settled(self, new: Memory, rows: Mapping[str, Memory], standing: Mapping[str, Memory]) -> Settled:
        survivor = _survivor(new, standing)
        if new.id != self.memory.id:
            return Settled(survivor, "known")
        if survivor is not new:
            return Settled(survivor, "merged", (new,))
        if new.superseded_at is not None:
            return Settled(new, "added", tuple(one for one in standing.values() if one.id == new.superseded_by))
        ended = [one for one in standing.values() if one.superseded_by == new.id and one != rows.get(one.id)]
        disputed = tuple(standing[id_] for id_ in ids_in(new.meta.get(DISPUTES)) if id_ in standing)
        if any(MERGED not in one.meta for one in ended):
            return Settled(new, "superseding", tuple(ended))
        if disputed:
            return Settled(new, "disputed", disputed)
        return Settled(new, "merged" if ended else "added", tuple(ended))


# -- how two are held against each other -------------------------------------------------------------------------------


def _apart(alike: Sequence[Memory]) -> Memory | None:
    """Of those with the same text, the one that holds and was taken apart from all others, if there is one."""
    apart = (row for row in alike if row.meta.get(APART))
    return next((row for row in apart if row.superseded_at is None and row.deleted_at is None), None)


def _relate(one: Memory, other: Memory) -> Relation:
    first = _told(one)
    second = None if first is None else _told(other)
    if first is not None and second is not None:
        if first.agrees(second):
            return Relation.AGREE
        return Relation.CONFLICT if first.contradicts(second) else Relation.NONE
    if opposed(one.content, other.content):
        return Relation.CONFLICT
    alike = one.kind == other.kind or "note" in (one.kind, other.kind)
    return Relation.AGREE if alike and nearly_same(one.content, other.content) else Relation.NONE


def _better(newer: Memory, older: Memory) -> bool:
    """Of two that tell one value, the newer; of two that are merely alike, the longer, which says more."""
    return _told(newer) is not None or len(newer.content) >= len(older.content)


_RELATING = Relating(_relate, _better)


def _told(memory: Memory) -> Slot | None:
    """The slot of a memory with the value it tells; of a slot that somebody named, the text is the value."""
    if memory.kind not in _SLOTTED:
        return None
    told = slot_of(memory.content)
    if told is not None or memory.slot is None:
        return told
    subject, _, attribute = memory.slot.partition("|")
    return Slot(subject, attribute, dedup_key(memory.content))


def _survivor(memory: Memory, among: Mapping[str, Memory]) -> Memory:
    """The memory that a merged one ended up in."""
    seen: set[str] = set()
    while isinstance(memory.meta.get(MERGED), Mapping) and memory.id not in seen:
        seen.add(memory.id)
        memory = among.get(memory.superseded_by or "", memory)
    return memory


def ids_in(value: object) -> list[str]:
    """Ids out of `meta`, which may come from an import."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def retried(once: Callable[[], _T]) -> _T:
    """Do something that reads and then writes; when another writes in between, again."""
    for number in range(1, TRIES):
        try:
            return once()
        except Conflict:
            time.sleep(_PAUSE * number)
    return once()
