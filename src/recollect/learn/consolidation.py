"""What consolidating would change: thought out from what is stored, before anything is touched.

Memories, gists, relations and roll-ups come in as values; a plan goes out: steps with what each changes as it is and as
it is to be, said in words. Near-duplicates are merged, what is stale is put away, relations and roll-ups are made
anew. The same state gives the same plan, and a plan that was carried out leaves nothing to plan.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from recollect.clock import age_label, iso
from recollect.distill.values.holding import APART, DISPUTES, MERGED
from recollect.learn.duplicates import Cosine, duplicates, unknown
from recollect.learn.relating import relations
from recollect.learn.rollups import due, told_of
from recollect.model import SAID, Gist, Memory
from recollect.recall.usefulness import WEIGHTS, usefulness
from recollect.store.ports.relations import OF_MEMORIES, Relation, Rollup, Step, in_words, with_fields
from recollect.store.ports.use import Verdict
from recollect.text import one_line

FEW = 3  # changes that are always allowed: in a small store one is a large share
PASSING = ("event", "topic", "skill_idea", "note")  # kinds that grow stale
WEIGHTY = 0.7  # an importance from which nothing does
_SHOWN = 90  # characters of a memory in words about it


@dataclass(frozen=True, slots=True)
class Stored:
    """What is there: memories (superseded and archived ones too), gists, relations, roll-ups, and what was undone."""

    memories: Sequence[Memory]
    gists: Sequence[Gist] = ()
    relations: Sequence[Relation] = ()
    rollups: Sequence[Rollup] = ()
    refused: Collection[tuple[str, str, str]] = ()  # kind, subject and other of changes that somebody took back
    helpful: Collection[str] = ()  # memories that proved of use of late, whoever read them


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps, and of how many memories that hold."""

    steps: tuple[Step, ...]
    memories: int
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def changed(self) -> int:
        """How many memories would be merged or put away."""
        return sum(step.kind in OF_MEMORIES for step in self.steps)

    @property
    def what(self) -> str:
        """What would be done, in words."""
        return in_words(self.counts)

    @property
    def share(self) -> float:
        return self.changed / self.memories if self.memories else 0.0

    def is_too_much(self, share: float) -> bool:
        """Whether more than this share of the memories would change."""
        return self.changed > max(FEW, share * self.memories)


def plan(stored: Stored, now: datetime, run: str, *, stale_days: int, cosine: Cosine = unknown) -> Plan:
    """What to change now; `run` names it in what it marks."""
    held = {memory.id: memory for memory in stored.memories if memory.deleted_at is None}
    live = [memory for memory in held.values() if _holds(memory, now)]
    steps = [*_merging(live, stored, run, cosine)]
    after = _after(held, steps)
    steps += _demoting(after, stored, now, timedelta(days=stale_days))
    steps += _relating(_after(held, steps), stored.relations, run, now)
    steps += _rolling(stored, now)
    return Plan(tuple(steps), len(live), dict(Counter(step.kind for step in steps)))


def _after(held: dict[str, Memory], steps: Iterable[Step]) -> dict[str, Memory]:
    """The memories as they are when these steps are taken."""
    return {**held, **{step.subject: with_fields(held[step.subject], step.after) for step in steps}}


def _holds(memory: Memory, now: datetime) -> bool:
    ended = memory.superseded_at is not None or memory.archived_at is not None
    return not ended and (memory.expires_at is None or memory.expires_at > now)


def _merging(live: list[Memory], stored: Stored, run: str, cosine: Cosine) -> Iterator[Step]:
    by_id = {memory.id: memory for memory in live}
    refused = [
        (by_id[subject], by_id[other])
        for kind, subject, other in stored.refused
        if kind == "merge" and subject in by_id and other in by_id
    ]
    both_ways = [*refused, *((kept, loser) for loser, kept in refused)]
    for loser, kept in duplicates(live, cosine, both_ways):
        if loser.pinned:
            continue  # a person wants these very words told
        after = {
            "superseded_by": kept.id,
            "superseded_at": iso(max(loser.occurred_at, kept.occurred_at)),
            f"meta.{MERGED}": {"into": kept.id, "lent": [], "run": run},
        }
        yield Step(
            "merge",
            loser.id,
            kept.id,
            dict.fromkeys(after),
            after,
            ((loser.id, loser.version), (kept.id, kept.version)),
            f"“{_short(loser)}” is said by “{_short(kept)}”",
            project=loser.project,
        )


def is_stale(memory: Memory, now: datetime, age: timedelta) -> bool:
    """Whether a memory is of a passing kind, nobody vouches for it, and nobody read it for so long."""
    if memory.kind not in PASSING or memory.trust != "quoted" or memory.maker == SAID or memory.importance >= WEIGHTY:
        return False
    if memory.pinned or memory.confirmed_at is not None or any(memory.meta.get(mark) for mark in (APART, DISPUTES)):
        return False
    return _is_old(memory, now, age)


def helpful(verdicts: Mapping[str, Sequence[Verdict]], now: datetime, age: timedelta) -> set[str]:
    """The memories that helped within this time, by what was said of them, and did not do more harm."""
    return {
        id_
        for id_, said in verdicts.items()
        if any(WEIGHTS[one.verdict] > 0 and now - age <= one.at <= now for one in said) and usefulness(said, now) > 0
    }


def _is_old(memory: Memory, now: datetime, age: timedelta) -> bool:
    times = (memory.occurred_at, memory.recorded_at, memory.accessed_at)
    return all(at is None or at < now - age for at in times)


def _demoting(after: dict[str, Memory], stored: Stored, now: datetime, age: timedelta) -> Iterator[Step]:
    """What is stale, as long as neither it nor another wording merged into it was said, read or of use of late."""
    spared = {subject for kind, subject, _ in stored.refused if kind == "demote"}
    merged = [one for one in after.values() if MERGED in one.meta]
    spared |= {one.superseded_by or "" for one in merged if one.id in stored.helpful or not _is_old(one, now, age)}
    spared |= set(stored.helpful)
    for memory in after.values():
        if _holds(memory, now) and memory.id not in spared and is_stale(memory, now, age):
            what = f"“{_short(memory)}” ({memory.kind}, {age_label(memory.occurred_at, now)}) is put away"
            needs = ((memory.id, memory.version),)
            away = {"archived_at": iso(now)}
            yield Step("demote", memory.id, "", {"archived_at": None}, away, needs, what, project=memory.project)


def _relating(after: dict[str, Memory], there: Iterable[Relation], run: str, now: datetime) -> Iterator[Step]:
    """What memories have to do with each other when all of that is done, held against what is noted."""
    known: dict[str, dict[tuple[str, str, str], list[str]]] = defaultdict(dict)
    for one in there:
        known[one.source][one.key] = [one.target, one.kind, one.run, iso(one.at or now)]
    wanted: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
    for key in relations(after.values()):
        wanted[key[0]].add(key)
    for source in sorted({*known, *wanted}):
        if wanted[source] == known[source].keys():
            continue
        before = [known[source][key] for key in sorted(known[source])]
        made = [known[source].get(key, [key[1], key[2], run, iso(now)]) for key in sorted(wanted[source])]
        what = _related(after, source, before, made)
        project = after[source].project if source in after else None
        yield Step("relate", source, "", {"relations": before}, {"relations": made}, (), what, project=project)


def _related(memories: dict[str, Memory], source: str, before: list[list[str]], after: list[list[str]]) -> str:
    """The relations of one memory that come and go, in words."""
    said = [
        f"{sign}{one[1].replace('_', ' ')} “{_short(memories[one[0]])}”" if one[0] in memories else f"{sign}{one[1]}"
        for sign, these, others in (("", after, before), ("no longer ", before, after))
        for one in these
        if one not in others
    ]
    about = _short(memories[source]) if source in memories else source
    return f"“{about}”: " + ", ".join(said)


def _rolling(stored: Stored, now: datetime) -> Iterator[Step]:
    there = {(one.project, one.period): one for one in stored.rollups}
    for (project, period), made in due(stored.gists, stored.rollups, now):
        old = there.get((project, period))
        sessions = len(made.covers) if made is not None else 0
        told = f"from {sessions:,} gist{'' if sessions == 1 else 's'}" if made is not None else "covers nothing now"
        what = f"{project or 'no project'}, {period}: {told}"
        yield Step("rollup", period, project or "", told_of(old), told_of(made), (), what, project=project)


def _short(memory: Memory) -> str:
    return one_line(memory.content, _SHOWN)
