"""What a store keeps of consolidating: relations between memories, a journal that can be undone, roll-ups of gists.

A port and its values. A run is what was changed at once; each of its steps holds what it changed as it was before, and
is taken away with its memory. Like every port it begins with a scope: in a project there are the runs that were made in
it, and relations between memories that can be seen from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from recollect.clock import from_iso, iso
from recollect.errors import InvalidInput
from recollect.model import Memory, Scope

if TYPE_CHECKING:
    from recollect.store.ports.memories import Filter

RELATION_KINDS = ("same_subject", "supersedes", "caused_by", "evidence_of", "depends_on")
RELEASE = "release"  # gives back what was merged into something that does not say it any more
STEP_KINDS = ("merge", "demote", RELEASE, "relate", "rollup")
KEPT = timedelta(days=30)  # how long it is noted how relations and roll-ups were before a run
OF_MEMORIES = ("merge", "demote")  # steps by which there are fewer memories that hold
REWRITING = (*OF_MEMORIES, RELEASE)  # steps that change a memory itself
_TIMES = ("superseded_at", "archived_at")
_CHANGED = (*_TIMES, "superseded_by", "importance")  # the fields of a memory that a step may change, beside `meta`
_META = "meta."

Fields = Mapping[str, Any]  # what a step changed, by name, in the form of JSON; `meta.x` is one entry of `meta`


@dataclass(frozen=True, slots=True, order=True)
class Relation:
    """What one memory is to another, by their ids: the first is of the same subject as, supersedes, was caused by, is
    evidence of or depends on the second. `run` found it."""

    source: str
    target: str
    kind: str  # one of RELATION_KINDS
    run: str = ""
    at: datetime | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        return self.source, self.target, self.kind


@dataclass(frozen=True, slots=True)
class Step:
    """One change. `subject` is the memory, or the period of a roll-up; `other` what it is merged into, or the project.

    `before` and `after` hold what is changed and nothing else. `needs` are the versions of memories it was thought out
    with: when one of them has another, it is not taken. `what` says it in words, and is never stored.
    """

    kind: str  # one of STEP_KINDS
    subject: str
    other: str = ""
    before: Fields = field(default_factory=dict)
    after: Fields = field(default_factory=dict)
    needs: tuple[tuple[str, int], ...] = ()
    what: str = ""
    number: int = 0
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """What was changed at once: of how many memories, what was done of each kind, and whether it was undone."""

    id: str
    made_at: datetime
    memories: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)  # by the kind of step
    project: str | None = None  # None: everywhere
    by: str | None = None
    undone_at: datetime | None = None

    @property
    def changed(self) -> int:
        """How many memories it merged or put away."""
        return sum(self.counts.get(kind, 0) for kind in OF_MEMORIES)

    @property
    def what(self) -> str:
        """What was done, in words."""
        return in_words(self.counts)


def in_words(counts: Mapping[str, int]) -> str:
    """So many steps of each kind: `2 merged, 1 put away`."""
    done = {"merge": "merged", "demote": "put away", RELEASE: "given back"}
    done |= {"relate": "related anew", "rollup": "roll-ups made"}
    return ", ".join(f"{counts[kind]:,} {word}" for kind, word in done.items() if counts.get(kind)) or "nothing"


@dataclass(frozen=True, slots=True)
class Undone:
    """What undoing a run gave back, and the subjects of steps that stay because others changed them since."""

    run: Run
    restored: int
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rollup:
    """What happened in a period, or in all of a project, made from gists; `covers` says from which and how far."""

    period: str  # 2026-W46, 2026-11, or profile
    content: str
    covers: Mapping[str, tuple[int, str]]  # session -> the last event its gist covers, and when that gist was made
    made_at: datetime
    project: str | None = None
    maker: str = "extractive"


def fields_of(memory: Memory, names: Fields) -> dict[str, Any]:
    """The values of these fields of a memory, in the form of JSON."""
    told: dict[str, Any] = {}
    for name in names:
        if name.startswith(_META):
            told[name] = memory.meta.get(name.removeprefix(_META))
        elif name in _CHANGED:
            value = getattr(memory, name)
            told[name] = iso(value) if isinstance(value, datetime) else value
        else:
            raise InvalidInput(f"a step cannot change {name[:40]!r}")
    return told


def with_fields(memory: Memory, told: Fields) -> Memory:
    """The memory with these values; an entry of `meta` that is None is taken out."""
    meta = dict(memory.meta)
    fields: dict[str, Any] = {}
    for name, value in told.items():
        if name.startswith(_META):
            meta.pop(name.removeprefix(_META), None)
            if value is not None:
                meta[name.removeprefix(_META)] = value
        else:
            fields[name] = from_iso(value) if name in _TIMES and value is not None else value
    return replace(memory, **fields, meta=meta)


class Consolidations(Protocol):
    """Relations, the journal of consolidating, and roll-ups."""

    def apply(self, scope: Scope, run: Run, steps: Sequence[Step], *, at: datetime) -> list[bool]:
        """Take these steps, and note them and the run, in one transaction; False for one that does not fit any more.

        A step does not fit when a memory it needs has another version by now, or is gone. A run may be given again with
        more steps; one none of whose steps was taken is not noted. How relations and roll-ups were before runs that are
        older than KEPT is let go; what those did to memories stays noted.
        """
        ...

    def runs(self, scope: Scope, *, limit: int, offset: int = 0) -> list[Run]:
        """What was done, the latest first."""
        ...

    def steps(self, scope: Scope, run_id: str) -> list[Step]:
        """What a run changed, in its order."""
        ...

    def undo(self, scope: Scope, run_id: str, *, at: datetime) -> Undone:
        """Give back what a run changed, in one step, but for what others changed since. NotFound, or Conflict when it
        was undone before."""
        ...

    def refused(self, scope: Scope) -> set[tuple[str, str, str]]:
        """Kind, subject and other of the changes of memories that were undone: they are not wanted."""
        ...

    def relations(self, scope: Scope, memory_ids: Sequence[str] | None = None) -> list[Relation]:
        """Relations between memories that are there; with ids, those that begin or end at one of them."""
        ...

    def beyond(self, scope: Scope, memory_ids: Sequence[str], where: Filter, limit: int) -> list[tuple[str, int]]:
        """What these memories depend on and the filter lets through: the id of each, and the document it leads to."""
        ...

    def rollups(self, scope: Scope) -> list[Rollup]:
        """Roll-ups, by project and period."""
        ...
