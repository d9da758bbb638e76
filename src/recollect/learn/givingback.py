"""Memories that were merged into one that is gone, or that says something else by now: they are to hold again.

Memories come in; steps that give them back go out. What was merged is lost to recall when nothing says it any more.
What the other contradicts now stays as it is: whoever corrected the better wording corrected this one with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from recollect.distill.values.holding import MERGED
from recollect.distill.values.likeness import opposed
from recollect.distill.values.slots import slot_of
from recollect.learn.duplicates import duplicates
from recollect.model import Memory
from recollect.store.ports.relations import RELEASE, Step, fields_of, with_fields
from recollect.text import dedup_key, one_line

RELEASED = {"superseded_by": None, "superseded_at": None, f"meta.{MERGED}": None}  # the fields of one that holds again
_SHOWN = 90  # characters of a memory in words about it


def giving_back(memories: Iterable[Memory], refused: Collection[tuple[str, str, str]] = ()) -> Iterator[Step]:
    """What to give back of all that is there, superseded ones too; `refused` are changes that somebody took back."""
    there = {memory.id: memory for memory in memories}
    not_again = {subject for kind, subject, _ in refused if kind == RELEASE}
    said = {(one.project, dedup_key(one.content)) for one in there.values() if one.superseded_at is None}
    for one in there.values():
        text = (one.project, dedup_key(one.content))
        if one.id in not_again or text in said or not _is_lost(one, there):
            continue
        said.add(text)  # of several with one text, one
        what = f"“{one_line(one.content, _SHOWN)}” holds again: nothing else says it now"
        before, needs = fields_of(one, RELEASED), ((one.id, one.version),)
        yield Step(RELEASE, one.id, _into(one), before, RELEASED, needs, what, project=one.project)


def _is_lost(one: Memory, there: Mapping[str, Memory]) -> bool:
    """Whether a memory was merged, and what it was merged into does not say it any more."""
    mark = one.meta.get(MERGED)
    if not isinstance(mark, Mapping) or one.superseded_at is None or one.archived_at is not None:
        return False
    into = there.get(_into(one))
    if into is None:
        return True
    # What settling merged is held against the other when that is edited; a language model may have told it.
    return bool(mark.get("run")) and not is_covered(one, into)


def _into(one: Memory) -> str:
    mark = one.meta.get(MERGED)
    named = mark.get("into") if isinstance(mark, Mapping) else None
    return one.superseded_by or (named if isinstance(named, str) else "")


def is_covered(one: Memory, kept: Memory) -> bool:
    """Whether what a merged memory says is said, or contradicted, by the one that stayed, as that reads now."""
    if dedup_key(one.content) == dedup_key(kept.content) or opposed(one.content, kept.content):
        return True
    first, second = slot_of(one.content), slot_of(kept.content)
    if first is not None and second is not None and first.key == second.key:
        return True
    bare = replace(kept, meta={}, superseded_at=None, archived_at=None, deleted_at=None, expires_at=None, slot=None)
    return bool(duplicates([bare, replace(bare, id=one.id, content=one.content)], lambda *_: 1.0))


def released(one: Memory) -> Memory:
    """The memory as it holds again."""
    return with_fields(one, RELEASED)
