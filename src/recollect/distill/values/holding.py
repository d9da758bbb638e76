"""Which of several statements hold, from when until when: told by their times and by how far each is trusted.

The memories of one thing come in, and perhaps a new one; how each of them stands goes out. The answer depends on what
was said when, never on the order in which it was learned: every saying is gone through in time, as if nothing had been
decided before. A statement ends those it contradicts if it is trusted at least as much; if it is trusted less, or both
were said at once, both stay and are disputed. What says the same in other words takes the place of the earlier. A text
that was said, ended and said again is a memory for each time it held.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import Any

from recollect.distill.values.sayings import Saying, rank_of, sayings_of, with_sayings
from recollect.ids import uuid7
from recollect.model import SAID, Evidence, Memory
from recollect.text import dedup_key

# What `meta` says of how a memory stands: with which others it is in dispute; into what it was merged; that it was
# ended by these rules; what a judge said of it and others; that it is to be left alone; that its source was revoked.
DISPUTES, MERGED, BY_RULE, JUDGED, APART, REVOKED = "disputes", "merged", "by_rule", "judged", "apart", "revoked"
RETIRED = "retired"  # made by rules from a session, and not any more when the session had gone on
_DECIDED = (DISPUTES, MERGED, BY_RULE)
MAX_EVIDENCE = 32
_WEIGHT = {"preference": 3, "decision": 2, "fact": 1, "lesson": 1, "reference": 1}

# How a memory stands to an older one: "same", "newer", "unrelated" or "contradiction"; None: nobody can say.
Judge = Callable[[Memory, Memory], str | None]


class Relation(Enum):
    """What two statements are to each other."""

    NONE = "none"
    AGREE = "agree"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class Relating:
    """How statements of some thing are held against each other, and which of two that agree is the better wording."""

    relate: Callable[[Memory, Memory], Relation]
    better: Callable[[Memory, Memory], bool] = lambda newer, older: True


@dataclass(slots=True)
class Held:
    """How every memory stands, the new ones among them; `new` is the one that stands for what was said now."""

    memories: list[Memory]
    new: Memory | None


def hold(rows: Sequence[Memory], relating: Relating, *, new: Memory | None = None, judge: Judge | None = None) -> Held:
    """Go through everything that was said of one thing, and tell how it stands."""
    return _Holding(rows, relating, new, judge).run()


def is_settled(memory: Memory, ids: Collection[str]) -> bool:
    """Whether a memory was ended by somebody, or by something that is not among these: it stays ended."""
    if memory.superseded_at is None:
        return False
    mark = memory.meta.get(MERGED)
    if isinstance(mark, dict) and mark.get("run"):  # consolidating saw more than two wordings: `undo` takes it back
        return True
    return memory.superseded_by not in ids or not any(mark in memory.meta for mark in (MERGED, BY_RULE))


@dataclass(slots=True, eq=False)
class _Standing:
    """One memory while it is gone through what was said."""

    memory: Memory
    key: str
    said: list[Saying] = field(default_factory=list)
    ender: _Standing | None = None
    ended_at: datetime | None = None
    until: datetime | None = None  # when somebody ended it
    merged: bool = False
    judged: dict[str, str] = field(default_factory=dict)
    rivals: list[_Standing] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    lent: list[Evidence] = field(default_factory=list)

    @property
    def rank(self) -> int:
        return max(saying.rank for saying in self.said)

    def holds(self, at: datetime) -> bool:
        ends = [end for end in (self.until, self.memory.expires_at) if end is not None]
        return self.ended_at is None and all(end > at for end in ends)

    def heard(self, saying: Saying) -> bool:
        """Whether this very saying is known.

        What somebody ended, people may say again; rules only what they themselves took back.
        """
        if self.until is not None and (saying.maker == SAID or self.memory.meta.get(RETIRED)):
            return False
        return saying in self.said

    def end(self, by: _Standing, at: datetime, *, merged: bool = False) -> None:
        self.ender, self.ended_at, self.merged = by, at, merged


class _Holding:
    def __init__(self, rows: Sequence[Memory], relating: Relating, new: Memory | None, judge: Judge | None) -> None:
        ids = {row.id for row in rows}
        self._settled = {row.id: row for row in rows if is_settled(row, ids)}
        self._rows = rows
        self._new = new
        self._relating = relating
        self._judge = judge
        self._standings: list[_Standing] = []
        open_ = [row for row in rows if row.id not in self._settled]
        self._free = {row.id: row for row in sorted(open_, key=lambda one: (one.occurred_at, one.id))}
        self._took_new: _Standing | None = None

    def run(self) -> Held:
        for saying, memory in self._statements():
            self._say(saying, memory)
        self._lend()
        left = [self._doubled(row) for row in self._free.values()]
        made = {id(one): self._made(one) for one in self._standings}
        new = made.get(id(self._took_new)) if self._took_new is not None else None
        return Held([*made.values(), *left], new)

    def _statements(self) -> list[tuple[Saying, Memory]]:
        """Everything that was said, in time; of what was said at once, the least trusted first."""
        told = [(saying, row) for row in self._rows for saying in sayings_of(row)]
        if self._new is not None:
            told += [(saying, self._new) for saying in sayings_of(self._new)]
        return sorted(told, key=lambda one: (one[0].at, one[0].rank, dedup_key(one[1].content), self._turn(one[1])))

    def _turn(self, memory: Memory) -> int:
        """Of what was said at once in the same words: what holds comes first, what is new last."""
        return 2 if memory is self._new else int(memory.id in self._settled)

    def _say(self, saying: Saying, memory: Memory) -> None:
        key = dedup_key(memory.content)
        heard = next((one for one in self._standings if one.key == key and one.heard(saying)), None)
        if heard is not None:  # the very same was read twice
            self._take_over(heard, memory)
            return
        if memory.id in self._settled:
            self._say_settled(saying, memory, key)
            return
        same = [one for one in self._standings if one.key == key and one.until is None]
        standing = next((one for one in same if one.ended_at is None), None)
        into = _survivor(same[-1]) if same and same[-1].merged else None
        if standing is None and into is not None and into.holds(saying.at) and saying.rank <= into.rank:
            standing = same[-1]  # said again in the words that were merged: the better wording is said again
        opened = standing is None
        if standing is None:
            standing = self._open(memory, key)
        standing.said.append(saying)
        self._take_over(standing, memory)
        self._meet(into if into is not None and standing.merged else standing, saying, opened=opened)

    def _say_settled(self, saying: Saying, memory: Memory, key: str) -> None:
        """What was ended by somebody held until then, and so ended what it contradicts; it is not changed itself."""
        standing = next((one for one in self._standings if one.memory is memory), None)
        if standing is None:
            standing = _Standing(memory, key, evidence=list(memory.evidence), until=memory.superseded_at)
            self._standings.append(standing)
        standing.said.append(saying)
        if standing.holds(saying.at):
            self._meet(standing, saying, opened=True)

    def _open(self, memory: Memory, key: str) -> _Standing:
        """The memory for a text that begins to hold: one that is there, the new one, or another like it."""
        there = memory.id if memory.id in self._free else None
        there = there or next((id_ for id_, row in self._free.items() if dedup_key(row.content) == key), None)
        if there is not None:
            found = self._free.pop(there)
        elif memory is self._new and all(one.memory is not memory for one in self._standings):
            found = memory
        else:
            found = replace(
                memory, id=uuid7(), version=1, superseded_by=None, superseded_at=None, accessed_at=None, access_count=0
            )
        own = [span for span in found.evidence if span not in self._borrowed(found)]
        standing = _Standing(found, key, evidence=own)
        self._standings.append(standing)
        return standing

    def _borrowed(self, memory: Memory) -> list[Evidence]:
        """The evidence a memory has only because others were merged into it."""
        return [
            span
            for row in self._rows
            for mark in [row.meta.get(MERGED)]
            if isinstance(mark, dict) and mark.get("into") == memory.id
            for span in spans_of(mark.get("lent"))
        ]

    def _take_over(self, standing: _Standing, new: Memory) -> None:
        """What a memory gains when it is said anew: the evidence, and of what is trusted more its kind and why.

        What is trusted less is no evidence for it: an agent that repeats what it was told proves nothing.
        """
        if new is not self._new:
            return
        self._took_new, kept = standing, standing.memory
        if kept is new:
            return
        if rank_of(new.trust) >= rank_of(kept.trust):
            standing.evidence += [span for span in new.evidence if span not in standing.evidence]
        if kept.expires_at is not None and (new.expires_at is None or new.expires_at > kept.expires_at):
            standing.memory = kept = replace(kept, expires_at=new.expires_at)
        if rank_of(new.trust) > rank_of(kept.trust):
            standing.memory = replace(
                kept,
                kind=max(new.kind, kept.kind, key=lambda kind: _WEIGHT.get(kind, 0)),
                why=kept.why or new.why,
                importance=max(kept.importance, new.importance),
            )

    # -- how statements meet -------------------------------------------------------------------------------------------

    def _meet(self, standing: _Standing, saying: Saying, *, opened: bool) -> None:
        """Hold what is said now against all that holds."""
        for other in [one for one in self._standings if one is not standing and one.holds(saying.at)]:
            if not standing.holds(saying.at):
                return
            relation = self._relating.relate(standing.memory, other.memory)
            if relation is Relation.CONFLICT:
                self._contradict(standing, other, saying)
            elif relation is Relation.AGREE and opened:
                self._agree(standing, other, saying)

    def _contradict(self, standing: _Standing, other: _Standing, saying: Saying) -> None:
        if saying.rank < other.rank:
            _dispute(standing, other)
        elif saying.rank > other.rank or saying.at > other.said[-1].at:
            other.end(standing, saying.at)
        else:
            self._undecided(standing, other, saying.at)

    def _undecided(self, one: _Standing, other: _Standing, at: datetime) -> None:
        """Both were said at once and are trusted alike: only a judge can tell, and is asked once."""
        older, newer = sorted((one, other), key=lambda each: (each.memory.recorded_at, each.memory.id))
        verdict = _verdicts(newer.memory).get(older.memory.id)
        if verdict is None and self._judge is not None:
            verdict = self._judge(older.memory, newer.memory)
            if verdict is not None:
                newer.judged[older.memory.id] = verdict
        if verdict in ("newer", "same"):
            older.end(newer, at, merged=verdict == "same")
        elif verdict != "unrelated":
            _dispute(one, other)

    def _agree(self, standing: _Standing, other: _Standing, saying: Saying) -> None:
        """One of two wordings stays: never one that is trusted less, else the better, else the newer."""
        newer, older = standing.memory, other.memory
        light = _WEIGHT.get(newer.kind, 0) < _WEIGHT.get(older.kind, 0)
        better = self._relating.better(newer, older) and not light
        if saying.rank > other.rank or (saying.rank == other.rank and better):
            other.end(standing, saying.at, merged=True)
        else:
            standing.end(other, saying.at, merged=True)
            self._meet(other, saying, opened=False)

    # -- what comes of it ----------------------------------------------------------------------------------------------

    def _lend(self) -> None:
        """What was merged gives its evidence to what it was merged into, unless that is trusted more."""
        for one in sorted((one for one in self._standings if one.merged and one.until is None), key=_ended):
            into = one.ender
            assert into is not None
            if one.rank >= into.rank:
                one.lent = [span for span in one.evidence if span not in into.evidence]
            into.evidence += one.lent[: max(0, MAX_EVIDENCE - len(into.evidence))]

    def _made(self, one: _Standing) -> Memory:
        if one.until is not None:
            return one.memory
        made = with_sayings(one.memory, one.said)
        marks: dict[str, Any] = {}
        if one.ended_at is None:
            rivals = sorted({rival.memory.id for rival in one.rivals if rival.ended_at is None and rival.until is None})
            if rivals:
                marks[DISPUTES] = rivals
        elif one.ender is not None and one.merged:
            marks[MERGED] = {"into": one.ender.memory.id, "lent": [written_span(span) for span in one.lent]}
        elif one.ender is not None:
            marks[BY_RULE] = True
        if one.judged:
            marks[JUDGED] = {**_verdicts(one.memory), **one.judged}
        meta = {name: value for name, value in made.meta.items() if name not in _DECIDED}
        return replace(
            made,
            evidence=tuple(one.evidence[:MAX_EVIDENCE]),
            superseded_by=one.ender.memory.id if one.ender is not None else None,
            superseded_at=one.ended_at,
            meta={**meta, **marks},
        )

    def _doubled(self, row: Memory) -> Memory:
        """A memory whose every saying is another's by now, with the same text: it is merged into that one."""
        said = sayings_of(row)
        into = next(one for one in self._standings if one.key == dedup_key(row.content) and said[0] in one.said)
        meta = {name: value for name, value in row.meta.items() if name not in _DECIDED}
        return replace(
            row,
            superseded_by=into.memory.id,
            superseded_at=row.occurred_at,
            meta={**meta, MERGED: {"into": into.memory.id, "lent": []}},
        )


def _survivor(standing: _Standing) -> _Standing:
    """What a merged statement ended up in."""
    seen = {id(standing)}
    while standing.merged and standing.ender is not None and id(standing.ender) not in seen:
        standing = standing.ender
        seen.add(id(standing))
    return standing


def _dispute(one: _Standing, other: _Standing) -> None:
    one.rivals.append(other)
    other.rivals.append(one)


def _ended(standing: _Standing) -> datetime:
    assert standing.ended_at is not None
    return standing.ended_at


def _verdicts(memory: Memory) -> dict[str, str]:
    """What a judge said of a memory and older ones, by their ids."""
    told = memory.meta.get(JUDGED)
    return {str(id_): str(verdict) for id_, verdict in told.items()} if isinstance(told, Mapping) else {}


def written_span(span: Evidence) -> list[Any]:
    """A span as `meta` holds it."""
    return [span.session, span.event, span.start, span.end]


def spans_of(value: object) -> list[Evidence]:
    """Spans out of `meta`, which may come from an import."""
    if not isinstance(value, list):
        return []
    return [Evidence(*item) for item in value if isinstance(item, list) and len(item) == 4]
